#include "dispatch/call/cached_function.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>

#include "dispatch/trace.h"
#include "runtime/python/guard.h"

namespace nj {

bool as_it_was(const Signature& signature) { return evaluating() && flags_as_they_were(signature); }

bool flags_as_they_were(const Signature& signature) {
  return fast_paths_allowed() && trace_state.seen == signature.epoch && trace_state.serial == signature.words[kSerialWord];
}

namespace {

const char* short_name(PyTypeObject* type) {
  const char* dot = std::strrchr(type->tp_name, '.');
  return dot ? dot + 1 : type->tp_name;
}

bool read_statics(PyTypeObject* type, PyObject* argnums, PyObject* argnames, Statics& statics) {
  statics.argnames.reserve(size_t(PyTuple_GET_SIZE(argnames)));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnums); ++k) {
    const Py_ssize_t argnum = PyNumber_AsSsize_t(PyTuple_GET_ITEM(argnums, k), PyExc_OverflowError);
    if (argnum == -1 && PyErr_Occurred()) return false;
    statics.argnums.push_back(argnum);
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(argnames, k);
    if (!PyUnicode_CheckExact(name)) {
      PyErr_Format(PyExc_TypeError, "%s: static_argnames must be strings, got %R", short_name(type), name);
      return false;
    }
    statics.argnames.push_back(interned(name));
  }
  return true;
}

}  // namespace

Handle<CachedFunction> new_cached_function(PyTypeObject* type, PyObject* function, PyObject* more, PyObject* argnums,
                                           PyObject* argnames) {
  Handle<CachedFunction> made(as_cached(type->tp_alloc(type, 0)));
  if (!made) return made;
  construct(made->state, made->function, made->more);
  made->state = std::make_unique<CachedState>();
  made->function = PyRef::share(function);
  made->more = PyRef::share(more);
  return read_statics(type, argnums, argnames, made->state->statics) ? made : Handle<CachedFunction>();
}

int cached_traverse(PyObject* self, visitproc visit, void* arg) {
  CachedFunction* cached = as_cached(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cached->function);
  Py_VISIT(cached->more);
  Py_VISIT(cached->dict);
  if (!cached->state) return 0;
  const int stopped = cached->state->cache.traverse(visit, arg);
  return stopped ? stopped : cached->state->linear.traverse(visit, arg);
}

int cached_clear(PyObject* self) {
  CachedFunction* cached = as_cached(self);
  // The function stays, so that a finalizer can still call it.
  if (cached->state) cached->state->cache.clear();
  if (cached->state) cached->state->linear.clear();
  PyRef dict(std::exchange(cached->dict, nullptr));
  return 0;
}

void cached_dealloc(PyObject* self) {
  CachedFunction* cached = as_cached(self);
  PyObject_GC_UnTrack(self);
  if (cached->weakrefs) PyObject_ClearWeakRefs(self);
  PyRef dict(std::exchange(cached->dict, nullptr));
  destroy(cached->state, cached->function, cached->more);
  free_instance(self);
}

PyObject* cached_descr_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyGetSetDef cached_properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef cached_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(CachedFunction, vectorcall), READONLY, nullptr},
                                {"__dictoffset__", T_PYSSIZET, offsetof(CachedFunction, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(CachedFunction, weakrefs), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};

PyObject* cached_forget(PyObject* self, PyObject*) {
  as_cached(self)->state->cache.clear();
  as_cached(self)->state->linear.clear();
  Py_RETURN_NONE;
}

PyObject* cached_reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }
PyObject* cached_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

}  // namespace nj
