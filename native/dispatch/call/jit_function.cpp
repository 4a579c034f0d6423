// JitFunction: a callable that answers repeated calls from a native cache of compiled programs. Its `function` is the slow path,
// its `more` the name.

#include "dispatch/call/cached_function.h"
#include "dispatch/call/entry.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"
#include "runtime/python/stack.h"
#include "dispatch/trace.h"

namespace nj {

namespace {

PyTypeObject* jit_type = nullptr;

PyObject* make_kwargs(PyObject* const* values, PyObject* kwnames) {
  PyRef kwargs(PyDict_New());
  if (!kwargs) return nullptr;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), values[k]) < 0) return nullptr;
  }
  return kwargs.release();
}

// slow_path(args, kwargs) -> (result, Entry or None); keeps the entry if there is a signature for it.
PyObject* call_slow(CachedFunction* self, const Signature* signature, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (!require_stack("a jitted function")) return nullptr;
  PyRef tuple(new_tuple(size_t(count), [=](size_t k) { return Py_NewRef(args[k]); }));
  if (!tuple) return nullptr;
  PyRef kwargs(make_kwargs(args + count, kwnames));
  if (!kwargs) return nullptr;
  PyObject* pair[] = {tuple.get(), kwargs.get()};
  PyRef answer(PyObject_Vectorcall(self->function, pair, 2, nullptr));
  if (!answer) return nullptr;
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    return PyErr_Format(PyExc_TypeError, "the slow path of %U must return (result, Entry or None), got %R", self->more.get(),
                        answer.get());
  }
  PyObject* entry = PyTuple_GET_ITEM(answer.get(), 1);
  if (entry != Py_None && Py_TYPE(entry) != entry_type) {
    return PyErr_Format(PyExc_TypeError, "the slow path of %U must return an Entry or None, got %R", self->more.get(), entry);
  }
  if (entry != Py_None && signature && as_it_was(*signature)) {
    if (check_entry(reinterpret_cast<Entry*>(entry), *signature) < 0) return nullptr;
    if (self->state->cache.insert(*signature, entry) < 0) return nullptr;
  }
  if (PyErr_Occurred()) return nullptr;  // of reading the flags
  return Py_NewRef(PyTuple_GET_ITEM(answer.get(), 0));
}

// The slow path meets the error that is set again, and says which argument it is about.
PyObject* explain(CachedFunction* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyErr_Clear();
  return call_slow(self, nullptr, args, count, kwnames);
}

PyObject* call(PyObject* self_object, PyObject* const* args, size_t flags, PyObject* kwnames) {
  CachedFunction* self = as_cached(self_object);
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
  Handle<CachedFunction> made = new_cached_function(type, slow_path, name, argnums, argnames);
  if (!made) return nullptr;
  made->vectorcall = guarded<call>;
  return give(std::move(made));
}

// As JAX shows it; without the function where that is gone, has no text, or is too deep a nest of such functions.
PyObject* repr(PyObject* self) {
  if (stack_is_low()) return PyUnicode_FromString("<PjitFunction>");
  PyRef wrapped(PyObject_GetAttrString(self, "__wrapped__"));
  PyRef text(wrapped ? PyUnicode_FromFormat("<PjitFunction of %R>", wrapped.get()) : nullptr);
  if (text) return text.release();
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
  PyErr_Clear();
  return PyUnicode_FromString("<PjitFunction>");
}

PyObject* cache_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(as_cached(self)->state->cache.size()); }

PyMethodDef methods[] = {
    {"cache_size", method<cache_size>(), METH_NOARGS, PyDoc_STR("The number of compiled programs at hand.")},
    {"_cache_size", method<cache_size>(), METH_NOARGS, PyDoc_STR("The same, under the name that JAX's users know.")},
    {"clear_cache", method<cached_forget>(), METH_NOARGS, PyDoc_STR("Forgets all compiled programs.")},
    {"__reduce__", method<cached_reduce>(), METH_NOARGS, PyDoc_STR("Pickles by qualified name, as functions do.")},
    {"__copy__", method<cached_copy>(), METH_NOARGS, PyDoc_STR("The function itself.")},
    {"__deepcopy__", method<cached_copy>(), METH_O, PyDoc_STR("The function itself.")},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {slot<new_jit>(Py_tp_new),
                       slot<cached_dealloc>(Py_tp_dealloc),
                       slot<cached_traverse>(Py_tp_traverse),
                       slot<cached_clear>(Py_tp_clear),
                       {Py_tp_call, code_address(PyVectorcall_Call)},
                       slot<cached_descr_get>(Py_tp_descr_get),
                       slot<repr>(Py_tp_repr),
                       {Py_tp_methods, methods},
                       {Py_tp_getset, cached_properties},
                       {Py_tp_members, cached_members},
                       {Py_tp_doc, const_cast<char*>("A compiled function.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.JitFunction", sizeof(CachedFunction), 0, kCachedFlags, slots};

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
