// JitFunction: a callable that answers repeated calls from a native cache of compiled programs.

#include "dispatch/call/entry.h"

#include <structmember.h>

#include <cstddef>
#include <memory>

#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"
#include "runtime/python/stack.h"
#include "dispatch/trace.h"

namespace nj {

namespace {

struct JitState {
  Statics statics;
  SignatureCache cache;
};

struct JitFunction {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  std::unique_ptr<JitState> state;
  PyRef slow_path, name;
  PyObject* dict;  // which Python's own code fills
  PyObject* weakrefs;
};

PyTypeObject* jit_type = nullptr;

JitFunction* as_jit(PyObject* self) { return reinterpret_cast<JitFunction*>(self); }

PyObject* make_kwargs(PyObject* const* values, PyObject* kwnames) {
  PyRef kwargs(PyDict_New());
  if (!kwargs) return nullptr;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), values[k]) < 0) return nullptr;
  }
  return kwargs.release();
}

// Whether the flags have stayed as they are in the signature: what was traced while they changed belongs to no signature.
bool as_it_was(const Signature& signature) {
  return evaluating() && trace_state.seen == signature.epoch && trace_state.serial == signature.words[kSerialWord];
}

// slow_path(args, kwargs) -> (result, Entry or None); keeps the entry if there is a signature for it.
PyObject* call_slow(JitFunction* self, const Signature* signature, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (!require_stack("a jitted function")) return nullptr;
  PyRef tuple(new_tuple(size_t(count), [=](size_t k) { return Py_NewRef(args[k]); }));
  if (!tuple) return nullptr;
  PyRef kwargs(make_kwargs(args + count, kwnames));
  if (!kwargs) return nullptr;
  PyObject* pair[] = {tuple.get(), kwargs.get()};
  PyRef answer(PyObject_Vectorcall(self->slow_path, pair, 2, nullptr));
  if (!answer) return nullptr;
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    return PyErr_Format(PyExc_TypeError, "the slow path of %U must return (result, Entry or None), got %R", self->name.get(),
                        answer.get());
  }
  PyObject* entry = PyTuple_GET_ITEM(answer.get(), 1);
  if (entry != Py_None && Py_TYPE(entry) != entry_type) {
    return PyErr_Format(PyExc_TypeError, "the slow path of %U must return an Entry or None, got %R", self->name.get(), entry);
  }
  if (entry != Py_None && signature && as_it_was(*signature)) {
    if (check_entry(reinterpret_cast<Entry*>(entry), *signature) < 0) return nullptr;
    if (self->state->cache.insert(*signature, entry) < 0) return nullptr;
  }
  if (PyErr_Occurred()) return nullptr;  // of reading the flags
  return Py_NewRef(PyTuple_GET_ITEM(answer.get(), 0));
}

// The slow path meets the error that is set again, and says which argument it is about.
PyObject* explain(JitFunction* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyErr_Clear();
  return call_slow(self, nullptr, args, count, kwnames);
}

PyObject* call(PyObject* self_object, PyObject* const* args, size_t flags, PyObject* kwnames) {
  JitFunction* self = as_jit(self_object);
  const PyRef alive = PyRef::share(self_object);
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (!evaluating()) return PyErr_Occurred() ? nullptr : call_slow(self, nullptr, args, count, kwnames);
  Signature signature;
  int built = build_signature(signature, self->state->statics, args, count, kwnames);
  if (built < 0) return nullptr;
  if (built == 0) return call_slow(self, nullptr, args, count, kwnames);
  PyRef entry;
  int found = self->state->cache.find(signature, entry);
  if (found < 0) return explain(self, args, count, kwnames);
  if (found == 0) return call_slow(self, &signature, args, count, kwnames);
  bool refused = false;
  PyObject* result = run_entry(reinterpret_cast<Entry*>(entry.get()), signature, refused);
  return result || !refused ? result : explain(self, args, count, kwnames);
}

bool read_statics(PyObject* argnums, PyObject* argnames, Statics& statics) {
  statics.argnames.reserve(size_t(PyTuple_GET_SIZE(argnames)));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnums); ++k) {
    Py_ssize_t argnum = PyNumber_AsSsize_t(PyTuple_GET_ITEM(argnums, k), PyExc_OverflowError);
    if (argnum == -1 && PyErr_Occurred()) return false;
    statics.argnums.push_back(argnum);
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(argnames, k);
    if (!PyUnicode_CheckExact(name)) {
      PyErr_Format(PyExc_TypeError, "JitFunction: static_argnames must be strings, got %R", name);
      return false;
    }
    statics.argnames.push_back(interned(name));
  }
  return true;
}

PyObject* new_jit(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"slow_path", "static_argnums", "static_argnames", "name", nullptr};
  PyObject *slow_path, *argnums, *argnames, *name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!U:JitFunction", const_cast<char**>(names), &slow_path, &PyTuple_Type,
                                   &argnums, &PyTuple_Type, &argnames, &name)) {
    return nullptr;
  }
  if (!PyCallable_Check(slow_path)) {
    return PyErr_Format(PyExc_TypeError, "JitFunction: slow_path must be callable, got %R", slow_path);
  }
  PyRef self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  JitFunction* jit = as_jit(self.get());
  construct(jit->state, jit->slow_path, jit->name);
  jit->vectorcall = guarded<call>;
  jit->state = std::make_unique<JitState>();
  jit->slow_path = PyRef::share(slow_path);
  jit->name = PyRef::share(name);
  if (!read_statics(argnums, argnames, jit->state->statics)) return nullptr;
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  JitFunction* jit = as_jit(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(jit->slow_path);
  Py_VISIT(jit->dict);
  return jit->state ? jit->state->cache.traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  JitFunction* jit = as_jit(self);
  // The slow path stays, so that a finalizer can still call the function.
  if (jit->state) jit->state->cache.clear();
  PyRef dict(std::exchange(jit->dict, nullptr));
  return 0;
}

void dealloc(PyObject* self) {
  JitFunction* jit = as_jit(self);
  PyObject_GC_UnTrack(self);
  if (jit->weakrefs) PyObject_ClearWeakRefs(self);
  PyRef dict(std::exchange(jit->dict, nullptr));
  destroy(jit->state, jit->slow_path, jit->name);
  free_instance(self);
}

// On an instance: a bound method, as functions give.
PyObject* descr_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

// As JAX shows it; without the function where that is gone, or has no text.
PyObject* repr(PyObject* self) {
  PyRef wrapped(PyObject_GetAttrString(self, "__wrapped__"));
  PyRef text(wrapped ? PyUnicode_FromFormat("<PjitFunction of %R>", wrapped.get()) : nullptr);
  if (text) return text.release();
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyErr_Clear();
  return PyUnicode_FromString("<PjitFunction>");
}

PyObject* cache_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(as_jit(self)->state->cache.size()); }

PyObject* clear_cache(PyObject* self, PyObject*) {
  as_jit(self)->state->cache.clear();
  Py_RETURN_NONE;
}

// Like a function: pickled by name, copied as itself.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }
PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef methods[] = {
    {"cache_size", method<cache_size>(), METH_NOARGS, PyDoc_STR("The number of compiled programs at hand.")},
    {"_cache_size", method<cache_size>(), METH_NOARGS, PyDoc_STR("The same, under the name that JAX's users know.")},
    {"clear_cache", method<clear_cache>(), METH_NOARGS, PyDoc_STR("Forgets all compiled programs.")},
    {"__reduce__", method<reduce>(), METH_NOARGS, PyDoc_STR("Pickles by qualified name, as functions do.")},
    {"__copy__", method<copy>(), METH_NOARGS, PyDoc_STR("The function itself.")},
    {"__deepcopy__", method<copy>(), METH_O, PyDoc_STR("The function itself.")},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(JitFunction, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(JitFunction, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(JitFunction, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<new_jit>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       {Py_tp_call, code_address(PyVectorcall_Call)},
                       slot<descr_get>(Py_tp_descr_get),
                       slot<repr>(Py_tp_repr),
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("A compiled function.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.JitFunction", sizeof(JitFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};

}  // namespace

int entry_type_init(PyObject* module);
int convert_init(PyObject* module);

int jit_type_init(PyObject* module) {
  jit_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!jit_type) return -1;
  return PyModule_AddObjectRef(module, "JitFunction", reinterpret_cast<PyObject*>(jit_type));
}

}  // namespace nj

int jitcall_init(PyObject* module) {
  using namespace nj;
  if (convert_init(module) < 0 || entry_type_init(module) < 0) return -1;
  return jit_type_init(module);
}
