// Calls of library functions in eager derivatives, where operands have tangents.
#pragma once
#include "dispatch/call/cached_function.h"
#include "runtime/python/sequence.h"

namespace nj {

// What a cache of an EagerFunction holds for a signature beside what runs it.
inline PyObject* seen_once() { return Py_None; }
inline PyObject* never() { return Py_False; }

inline PyObject* run_itself(CachedFunction* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return PyObject_Vectorcall(self->function, args, flags, kwnames);
}

// After a look into a cache that may have raised, of a hash or a comparison, which the function may never make: whether the
// call goes on. False with the error set.
bool go_on_unanswered();

inline PyObject* tuple_of(PyObject* const* objects, size_t count) {
  return new_tuple(count, [=](size_t k) { return Py_NewRef(objects[k]); });
}
// The arguments by keyword, as a dict.
PyObject* keywords_of(PyObject* const* values, PyObject* kwnames);

// The first call of a signature: the function runs, which is noted in a cache unless the flags have changed meanwhile.
PyObject* run_first(CachedFunction* self, SignatureCache& cache, bool (*unchanged)(const Signature&), const Signature& signature,
                    PyObject* const* args, size_t flags, PyObject* kwnames);

// The result of a call in the trace that records what functions do to values and tangents.
PyObject* call_linear(CachedFunction* self, PyObject* const* args, size_t flags, PyObject* kwnames);

}  // namespace nj
