// EagerFunction: a library function that answers repeated calls outside of transformations from tapes.
//
// The first call of a signature (types of arrays and numbers, values of everything else) runs the function. The second one has
// it recorded as a tape, if it consists of operations on small arrays only, or compiled as a program, where arrays are large.
// Later ones run that. In transformations other than eager derivatives (linear_call.cpp), with debugging flags, and for arguments
// that are no arrays, the function runs as if it stood here itself. Its `more` is the recorder.
#include "dispatch/call/cached_function.h"
#include "dispatch/eager/linear_call.h"
#include "dispatch/eager/tape.h"
#include "dispatch/trace.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"

namespace nj {

namespace {

PyTypeObject* eager_type = nullptr;

bool is_program(PyObject* entry) { return entry != seen_once() && entry != never() && Py_TYPE(entry) != tape_type; }

// record(args, kwargs) -> (result, Tape, or a callable that does the same, or None).
PyObject* run_recorded(CachedFunction* self, const Signature& signature, PyObject* const* args, Py_ssize_t count,
                       PyObject* kwnames) {
  PyRef tuple(tuple_of(args, size_t(count)));
  PyRef kwargs(tuple ? keywords_of(args + count, kwnames) : nullptr);
  if (!kwargs) return nullptr;
  PyObject* pair[] = {tuple.get(), kwargs.get()};
  PyRef answer(PyObject_Vectorcall(self->more, pair, 2, nullptr));
  if (!answer) return nullptr;
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    return PyErr_Format(PyExc_TypeError, "the recorder of %R must return (result, Tape, callable or None), got %R",
                        self->function.get(), answer.get());
  }
  PyObject* found = PyTuple_GET_ITEM(answer.get(), 1);
  const bool usable = Py_TYPE(found) == tape_type || PyCallable_Check(found);
  if (as_it_was(signature) && self->state->cache.assign(signature, usable ? found : never()) < 0) return nullptr;
  return PyErr_Occurred() ? nullptr : Py_NewRef(PyTuple_GET_ITEM(answer.get(), 0));
}

PyObject* call(PyObject* self_object, PyObject* const* args, size_t flags, PyObject* kwnames) {
  CachedFunction* self = as_cached(self_object);
  const PyRef alive = PyRef::share(self_object);
  if (!evaluating_here()) {
    if (PyErr_Occurred()) return nullptr;
    return in_linear_trace() ? call_linear(self, args, flags, kwnames) : run_itself(self, args, flags, kwnames);
  }
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  Signature signature;
  const int built = build_signature(signature, self->state->statics, args, count, kwnames);
  PyRef entry;
  const int found = built == 1 ? self->state->cache.find(signature, entry) : -1;
  if (!go_on_unanswered()) return nullptr;
  if (found < 0 || entry.get() == never()) return run_itself(self, args, flags, kwnames);
  if (found == 0) return run_first(self, self->state->cache, as_it_was, signature, args, flags, kwnames);
  if (entry.get() == seen_once()) return run_recorded(self, signature, args, count, kwnames);
  if (is_program(entry)) return PyObject_Vectorcall(entry, args, flags, kwnames);
  PyObject* result = run_tape(reinterpret_cast<Tape*>(entry.get()), signature.leaves.begin(), signature.leaves.size());
  return result || PyErr_Occurred() ? result : run_itself(self, args, flags, kwnames);
}

PyObject* new_eager(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *record, *argnums, *argnames;
  if (!PyArg_ParseTuple(args, "OOO!O!:EagerFunction", &function, &record, &PyTuple_Type, &argnums, &PyTuple_Type, &argnames)) {
    return nullptr;
  }
  if (!PyCallable_Check(function) || !PyCallable_Check(record)) {
    return PyErr_Format(PyExc_TypeError, "EagerFunction: expected callables, got %R and %R", function, record);
  }
  Handle<CachedFunction> made = new_cached_function(type, function, record, argnums, argnames);
  if (!made) return nullptr;
  made->vectorcall = guarded<call>;
  return give(std::move(made));
}

PyObject* repr(PyObject* self) { return PyObject_Repr(as_cached(self)->function); }

PyObject* tape_count(PyObject* self, PyObject*) { return PyLong_FromSize_t(as_cached(self)->state->cache.count(tape_type)); }

// `inspect.isfunction` is true of it, as of the Python function that it runs: libraries look for functions of a module that way,
// and then read what functions have.
PyObject* class_of_functions(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyFunction_Type)); }

PyObject* of_function(PyObject* self, void* name) {
  return PyObject_GetAttrString(as_cached(self)->function, static_cast<const char*>(name));
}

PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {"__class__", guarded<class_of_functions>, nullptr, nullptr, nullptr},
                            {"__code__", guarded<of_function>, nullptr, nullptr, const_cast<char*>("__code__")},
                            {"__globals__", guarded<of_function>, nullptr, nullptr, const_cast<char*>("__globals__")},
                            {"__defaults__", guarded<of_function>, nullptr, nullptr, const_cast<char*>("__defaults__")},
                            {"__kwdefaults__", guarded<of_function>, nullptr, nullptr, const_cast<char*>("__kwdefaults__")},
                            {"__closure__", guarded<of_function>, nullptr, nullptr, const_cast<char*>("__closure__")},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"_clear_cache", method<cached_forget>(), METH_NOARGS, PyDoc_STR("Forgets all tapes.")},
    {"_tape_count", method<tape_count>(), METH_NOARGS, PyDoc_STR("The number of tapes at hand.")},
    {"__reduce__", method<cached_reduce>(), METH_NOARGS, PyDoc_STR("Pickles by qualified name, as functions do.")},
    {"__copy__", method<cached_copy>(), METH_NOARGS, PyDoc_STR("The function itself.")},
    {"__deepcopy__", method<cached_copy>(), METH_O, PyDoc_STR("The function itself.")},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {slot<new_eager>(Py_tp_new),
                       slot<cached_dealloc>(Py_tp_dealloc),
                       slot<cached_traverse>(Py_tp_traverse),
                       slot<cached_clear>(Py_tp_clear),
                       {Py_tp_call, code_address(PyVectorcall_Call)},
                       slot<cached_descr_get>(Py_tp_descr_get),
                       slot<repr>(Py_tp_repr),
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, cached_members},
                       {Py_tp_doc, const_cast<char*>("A library function with a native path for small arrays.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.EagerFunction", sizeof(CachedFunction), 0, kCachedFlags, slots};

}  // namespace

int eager_function_init(PyObject* module) {
  eager_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!eager_type) return -1;
  return PyModule_AddObjectRef(module, "EagerFunction", reinterpret_cast<PyObject*>(eager_type));
}

}  // namespace nj
