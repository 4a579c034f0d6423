// Python functions that stand in where native code has no fast path; filled by set_hook().
#pragma once
#include "runtime/python/native.h"

namespace nj {

// clang-format does not settle on the lines of this list.
// clang-format off
#define NJ_BINARY_HOOKS(X)                                                                                    \
  X(add) X(radd) X(sub) X(rsub) X(mul) X(rmul) X(truediv) X(rtruediv) X(floordiv) X(rfloordiv) X(mod) X(rmod) \
  X(pow) X(rpow) X(matmul) X(rmatmul) X(and) X(rand) X(or) X(ror) X(xor) X(rxor) X(lshift) X(rlshift)         \
  X(rshift) X(rrshift) X(divmod) X(rdivmod) X(lt) X(le) X(eq) X(ne) X(gt) X(ge)
// clang-format on
#define NJ_OTHER_HOOKS(X) X(neg) X(pos) X(abs) X(invert) X(getitem) X(setitem) X(iter) X(repr) X(str) X(round)

enum Hook : int {
#define NJ_ENUM(name) hook_##name,
  NJ_BINARY_HOOKS(NJ_ENUM) NJ_OTHER_HOOKS(NJ_ENUM)
#undef NJ_ENUM
      hook_reduce,  // self -> what pickle's __reduce__ returns
  hook_aval,    // (shape, dtype, weak_type) -> interned aval
  hook_new,     // (type, *args, **kwargs) -> an array, made of others
  hook_fetch,   // what holds an array's value on another device -> ndarray
  hook_count
};

// The function registered under a hook; null when there is none.
extern PyGlobal hooks[hook_count];

// hook(self, other); NotImplemented when the hook is not set.
PyObject* call_binary_hook(Hook hook, PyObject* self, PyObject* other);
// hook(*args); TypeError when the hook is not set.
PyObject* call_hook(Hook hook, PyObject* const* args, size_t count);

}  // namespace nj
