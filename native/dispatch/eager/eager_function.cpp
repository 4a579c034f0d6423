// EagerFunction: a library function that answers repeated calls outside of transformations from tapes.
//
// The first call of a signature (types of arrays and numbers, values of everything else) runs the function. The second one has
// it recorded as a tape, if it consists of operations on small arrays only. Later ones run the tape. In transformations, with
// debugging flags, and for arguments that are no arrays, the function runs as if it stood here itself.
#include "dispatch/call/signature.h"
#include "dispatch/eager/tape.h"
#include "dispatch/trace.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"

#include <structmember.h>

#include <cstddef>
#include <memory>

namespace nj {

namespace {

struct EagerState {
  Statics statics;
  SignatureCache cache;
};

struct EagerFunction {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  std::unique_ptr<EagerState> state;
  PyRef function, record;
  PyObject* dict;  // which Python's own code fills
  PyObject* weakrefs;
};

PyTypeObject* eager_type = nullptr;

EagerFunction* as_eager(PyObject* self) { return reinterpret_cast<EagerFunction*>(self); }

// What the cache holds for a signature beside tapes.
PyObject* seen_once() { return Py_None; }
PyObject* never() { return Py_False; }

// The flags are as they were when the signature was built: what was found while they changed belongs to no signature.
bool as_it_was(const Signature& signature) {
  return evaluating() && trace_state.seen == signature.epoch && trace_state.serial == signature.words[kSerialWord];
}

PyObject* run_itself(EagerFunction* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return PyObject_Vectorcall(self->function, args, flags, kwnames);
}

// record(args, kwargs) -> (result, Tape or None).
PyObject* run_recorded(EagerFunction* self, const Signature& signature, PyObject* const* args, Py_ssize_t count,
                       PyObject* kwnames) {
  PyRef tuple(new_tuple(size_t(count), [=](size_t k) { return Py_NewRef(args[k]); }));
  PyRef kwargs(tuple ? PyDict_New() : nullptr);
  if (!kwargs) return nullptr;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), args[count + k]) < 0) return nullptr;
  }
  PyObject* pair[] = {tuple.get(), kwargs.get()};
  PyRef answer(PyObject_Vectorcall(self->record, pair, 2, nullptr));
  if (!answer) return nullptr;
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    return PyErr_Format(PyExc_TypeError, "the recorder of %R must return (result, Tape or None), got %R", self->function.get(),
                        answer.get());
  }
  PyObject* tape = PyTuple_GET_ITEM(answer.get(), 1);
  if (as_it_was(signature)) {
    if (self->state->cache.assign(signature, Py_TYPE(tape) == tape_type ? tape : never()) < 0) return nullptr;
  }
  return PyErr_Occurred() ? nullptr : Py_NewRef(PyTuple_GET_ITEM(answer.get(), 0));
}

PyObject* run_first(EagerFunction* self, const Signature& signature, PyObject* const* args, size_t flags, PyObject* kwnames) {
  PyRef result(run_itself(self, args, flags, kwnames));
  if (!result) return nullptr;
  if (as_it_was(signature) && self->state->cache.assign(signature, seen_once()) < 0) return nullptr;
  return PyErr_Occurred() ? nullptr : result.release();
}

PyObject* call(PyObject* self_object, PyObject* const* args, size_t flags, PyObject* kwnames) {
  EagerFunction* self = as_eager(self_object);
  const PyRef alive = PyRef::share(self_object);
  if (!evaluating_here()) return PyErr_Occurred() ? nullptr : run_itself(self, args, flags, kwnames);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  Signature signature;
  const int built = build_signature(signature, self->state->statics, args, count, kwnames);
  PyRef entry;
  const int found = built == 1 ? self->state->cache.find(signature, entry) : -1;
  if (PyErr_Occurred()) {  // of a hash or a comparison: the function may never look at these
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return nullptr;
    PyErr_Clear();
  }
  if (found < 0 || entry.get() == never()) return run_itself(self, args, flags, kwnames);
  if (found == 0) return run_first(self, signature, args, flags, kwnames);
  if (entry.get() == seen_once()) return run_recorded(self, signature, args, count, kwnames);
  PyObject* result = run_tape(reinterpret_cast<Tape*>(entry.get()), signature.leaves.begin(), signature.leaves.size());
  return result || PyErr_Occurred() ? result : run_itself(self, args, flags, kwnames);
}

bool read_statics(PyObject* argnums, PyObject* argnames, Statics& statics) {
  statics.argnames.reserve(size_t(PyTuple_GET_SIZE(argnames)));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnums); ++k) {
    const Py_ssize_t argnum = PyNumber_AsSsize_t(PyTuple_GET_ITEM(argnums, k), PyExc_OverflowError);
    if (argnum == -1 && PyErr_Occurred()) return false;
    statics.argnums.push_back(argnum);
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(argnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(argnames, k);
    if (!PyUnicode_CheckExact(name)) {
      PyErr_Format(PyExc_TypeError, "EagerFunction: static_argnames must be strings, got %R", name);
      return false;
    }
    statics.argnames.push_back(interned(name));
  }
  return true;
}

PyObject* new_eager(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *record, *argnums, *argnames;
  if (!PyArg_ParseTuple(args, "OOO!O!:EagerFunction", &function, &record, &PyTuple_Type, &argnums, &PyTuple_Type, &argnames)) {
    return nullptr;
  }
  if (!PyCallable_Check(function) || !PyCallable_Check(record)) {
    return PyErr_Format(PyExc_TypeError, "EagerFunction: expected callables, got %R and %R", function, record);
  }
  PyRef self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  EagerFunction* eager = as_eager(self.get());
  construct(eager->state, eager->function, eager->record);
  eager->vectorcall = guarded<call>;
  eager->state = std::make_unique<EagerState>();
  eager->function = PyRef::share(function);
  eager->record = PyRef::share(record);
  if (!read_statics(argnums, argnames, eager->state->statics)) return nullptr;
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  EagerFunction* eager = as_eager(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(eager->function);
  Py_VISIT(eager->record);
  Py_VISIT(eager->dict);
  return eager->state ? eager->state->cache.traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  EagerFunction* eager = as_eager(self);
  // The function stays, so that a finalizer can still call it.
  if (eager->state) eager->state->cache.clear();
  PyRef dict(std::exchange(eager->dict, nullptr));
  return 0;
}

void dealloc(PyObject* self) {
  EagerFunction* eager = as_eager(self);
  PyObject_GC_UnTrack(self);
  if (eager->weakrefs) PyObject_ClearWeakRefs(self);
  PyRef dict(std::exchange(eager->dict, nullptr));
  destroy(eager->state, eager->function, eager->record);
  free_instance(self);
}

// On an instance: a bound method, as functions give.
PyObject* descr_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(as_eager(self)->function); }

PyObject* clear_cache(PyObject* self, PyObject*) {
  as_eager(self)->state->cache.clear();
  Py_RETURN_NONE;
}

PyObject* tape_count(PyObject* self, PyObject*) { return PyLong_FromSize_t(as_eager(self)->state->cache.count(tape_type)); }

// Like a function: pickled by name, copied as itself.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }
PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef methods[] = {
    {"_clear_cache", method<clear_cache>(), METH_NOARGS, PyDoc_STR("Forgets all tapes.")},
    {"_tape_count", method<tape_count>(), METH_NOARGS, PyDoc_STR("The number of tapes at hand.")},
    {"__reduce__", method<reduce>(), METH_NOARGS, PyDoc_STR("Pickles by qualified name, as functions do.")},
    {"__copy__", method<copy>(), METH_NOARGS, PyDoc_STR("The function itself.")},
    {"__deepcopy__", method<copy>(), METH_O, PyDoc_STR("The function itself.")},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(EagerFunction, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(EagerFunction, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(EagerFunction, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<new_eager>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       {Py_tp_call, code_address(PyVectorcall_Call)},
                       slot<descr_get>(Py_tp_descr_get),
                       slot<repr>(Py_tp_repr),
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("A library function with a native path for small arrays.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.EagerFunction", sizeof(EagerFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};

}  // namespace

int eager_function_init(PyObject* module) {
  eager_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!eager_type) return -1;
  return PyModule_AddObjectRef(module, "EagerFunction", reinterpret_cast<PyObject*>(eager_type));
}

}  // namespace nj
