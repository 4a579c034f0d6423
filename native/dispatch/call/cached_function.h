// What the callables with a cache of signatures have in common: JitFunction and EagerFunction, which behave as Python functions.
#pragma once
#include <memory>

#include "dispatch/call/signature.h"
#include "runtime/python/native.h"

namespace nj {

struct CachedState {
  Statics statics;
  SignatureCache cache;
  SignatureCache linear;  // of calls with tangents: see dispatch/eager/linear_call.h
};

struct CachedFunction {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  std::unique_ptr<CachedState> state;
  PyRef function;  // that runs where the cache has no answer
  PyRef more;      // what else the type needs
  PyObject* dict;  // which Python's own code fills
  PyObject* weakrefs;
};

inline CachedFunction* as_cached(PyObject* self) { return reinterpret_cast<CachedFunction*>(self); }

// The flags are as they were when the signature was built: what was found while they changed belongs to no signature.
bool as_it_was(const Signature& signature);
// The same of a call that another trace than the evaluating one may have.
bool flags_as_they_were(const Signature& signature);

// A new one of a type, still without its vectorcall, whose static arguments are those of two tuples; TypeError for what is no
// name.
Handle<CachedFunction> new_cached_function(PyTypeObject* type, PyObject* function, PyObject* more, PyObject* argnums,
                                           PyObject* argnames);

// For the slots of the types.
int cached_traverse(PyObject* self, visitproc visit, void* arg);
int cached_clear(PyObject* self);
void cached_dealloc(PyObject* self);
// On an instance: a bound method, as functions give.
PyObject* cached_descr_get(PyObject* self, PyObject* instance, PyObject* owner);
extern PyGetSetDef cached_properties[];
extern PyMemberDef cached_members[];
constexpr unsigned long kCachedFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;

// For their methods.
PyObject* cached_forget(PyObject* self, PyObject*);
// Like a function: pickled by qualified name, copied as itself.
PyObject* cached_reduce(PyObject* self, PyObject*);
PyObject* cached_copy(PyObject* self, PyObject*);

}  // namespace nj
