// Scope and RareCollections: blocks that change a state and restore it, whatever moment a signal handler raises at.
//
// Python runs handlers between its instructions, also when the call that changed a state has just returned and no block
// protects it yet, or before a restoring function has begun. Around `with` and an object whose methods are C there is no such
// moment.
#include <mutex>

#include "dispatch/trace.h"
#include "runtime/python/guard.h"

namespace nj {
namespace {

// -- an attribute with another value for a block

struct Scope {
  PyObject_HEAD
  PyRef owner, name, value, before;
};

Scope* scope_of(PyObject* self) { return reinterpret_cast<Scope*>(self); }

PyObject* scope_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *owner, *name, *value;
  if (!PyArg_ParseTuple(args, "OUO:Scope", &owner, &name, &value)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&scope_of(self)->owner) PyRef(PyRef::share(owner));
  new (&scope_of(self)->name) PyRef(PyRef::share(name));
  new (&scope_of(self)->value) PyRef(PyRef::share(value));
  new (&scope_of(self)->before) PyRef();
  return self;
}

PyObject* scope_enter(PyObject* self, PyObject*) {
  Scope* scope = scope_of(self);
  if (scope->before) {
    PyErr_SetString(PyExc_RuntimeError, "a Scope is entered once; make another one");
    return nullptr;
  }
  PyRef before(PyObject_GetAttr(scope->owner.get(), scope->name.get()));
  if (!before || PyObject_SetAttr(scope->owner.get(), scope->name.get(), scope->value.get()) < 0) return nullptr;
  scope->before = std::move(before);
  return Py_NewRef(scope->value.get());
}

PyObject* scope_exit(PyObject* self, PyObject*) {
  Scope* scope = scope_of(self);
  if (!scope->before) {
    PyErr_SetString(PyExc_RuntimeError, "a Scope was left that had not been entered");
    return nullptr;
  }
  if (PyObject_SetAttr(scope->owner.get(), scope->name.get(), scope->before.get()) < 0) return nullptr;
  Py_RETURN_NONE;
}

int scope_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  for (PyRef* part : {&scope_of(self)->owner, &scope_of(self)->value, &scope_of(self)->before}) Py_VISIT(part->get());
  return 0;
}

int scope_clear(PyObject* self) {
  for (PyRef* part : {&scope_of(self)->owner, &scope_of(self)->value, &scope_of(self)->before}) part->reset();
  return 0;
}

void scope_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Scope* scope = scope_of(self);
  destroy(scope->owner, scope->name, scope->value, scope->before);
  free_instance(self);
}

PyMethodDef scope_methods[] = {
    {"__enter__", method<scope_enter>(), METH_NOARGS, PyDoc_STR("Sets the attribute; returns the value.")},
    {"__exit__", method<scope_exit>(), METH_VARARGS, PyDoc_STR("Sets the attribute to what it was.")},
    {nullptr, nullptr, 0, nullptr}};

char scope_doc[] = "Scope(owner, name, value): an attribute has another value for one `with` block, whatever signals arrive.";
PyType_Slot scope_slots[] = {slot<scope_new>(Py_tp_new),
                             slot<scope_dealloc>(Py_tp_dealloc),
                             slot<scope_traverse>(Py_tp_traverse),
                             slot<scope_clear>(Py_tp_clear),
                             {Py_tp_methods, scope_methods},
                             {Py_tp_doc, scope_doc},
                             {0, nullptr}};
PyType_Spec scope_spec = {"numjet._native.Scope", sizeof(Scope), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, scope_slots};

// -- the state of the calling thread as attributes, for Scope

PyObject* get_trace(PyObject*, void*) { return or_none(trace_state.current ? trace_state.current.get() : eval_trace.get()); }

int set_trace(PyObject*, PyObject* trace, void*) {
  if (!trace) {
    PyErr_SetString(PyExc_AttributeError, "the trace of a thread cannot be deleted");
    return -1;
  }
  trace_state.current.exchange(PyRef::share(trace));
  return 0;
}

char trace_name[] = "trace", trace_doc[] = "The trace that is current in the calling thread.";
PyGetSetDef thread_properties[] = {{trace_name, guarded<get_trace>, guarded<set_trace>, trace_doc, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot thread_slots[] = {{Py_tp_getset, thread_properties}, {0, nullptr}};
PyType_Spec thread_spec = {"numjet._native.Thread", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, thread_slots};

// -- rare collections of cyclic garbage

constexpr int kRare[] = {200'000, 20, 100};
std::mutex collections_mutex;
int open_blocks = 0;
PyGlobal thresholds_before;  // a tuple while blocks are open that have changed them

PyRef call_gc(const char* name, PyObject* args) {
  PyRef gc(PyImport_ImportModule("gc"));
  PyRef function(gc ? PyObject_GetAttrString(gc.get(), name) : nullptr);
  return PyRef(function ? PyObject_CallObject(function.get(), args) : nullptr);
}

PyObject* collections_enter(PyObject*, PyObject*) {
  std::lock_guard<std::mutex> guard(collections_mutex);
  if (open_blocks == 0) {
    PyRef before = call_gc("get_threshold", nullptr);
    if (!before) return nullptr;
    const long first = PyLong_AsLong(PyTuple_GET_ITEM(before.get(), 0));
    if (first == -1 && PyErr_Occurred()) return nullptr;
    if (first > 0 && first < kRare[0]) {
      PyRef rare(Py_BuildValue("(iii)", kRare[0], kRare[1], kRare[2]));
      if (!rare || !call_gc("set_threshold", rare.get())) return nullptr;
      thresholds_before.exchange(std::move(before));
    }
  }
  ++open_blocks;
  Py_RETURN_NONE;
}

PyObject* collections_exit(PyObject*, PyObject*) {
  std::lock_guard<std::mutex> guard(collections_mutex);
  if (--open_blocks > 0 || !thresholds_before) Py_RETURN_NONE;
  const PyRef before = thresholds_before.exchange(PyRef());
  const PyRef now = call_gc("get_threshold", nullptr);
  const PyRef rare(Py_BuildValue("(iii)", kRare[0], kRare[1], kRare[2]));
  if (!now || !rare) return nullptr;
  const int ours = PyObject_RichCompareBool(now.get(), rare.get(), Py_EQ);  // else somebody has set others meanwhile
  if (ours < 0 || (ours && !call_gc("set_threshold", before.get()))) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef collections_methods[] = {
    {"__enter__", method<collections_enter>(), METH_NOARGS, PyDoc_STR("Raises the thresholds of the collector.")},
    {"__exit__", method<collections_exit>(), METH_VARARGS, PyDoc_STR("Lowers them when the last block ends.")},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot collections_slots[] = {{Py_tp_methods, collections_methods}, {0, nullptr}};
PyType_Spec collections_spec = {"numjet._native.RareCollections", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, collections_slots};

// -- blocks whose beginning and end are Python

constexpr int kMostInterruptions = 1000;  // of the function that ends a block

// Calls end(object, steps) until it returns, as a signal handler may raise anywhere in it. Returns the first error.
PyRef end_whole(PyObject* end, PyObject* object, PyObject* steps) {
  PyRef first;
  for (int k = 0; k < kMostInterruptions; ++k) {
    PyObject* args[] = {object, steps};
    if (PyRef(PyObject_Vectorcall(end, args, 2, nullptr))) break;
    PyRef error = fetch_error();
    if (!first) first = std::move(error);
  }
  return first;
}

// self: (begin, end).
PyObject* begin_block(PyObject* self, PyObject* object) {
  PyRef steps(PyList_New(0));
  if (!steps) return nullptr;
  PyObject* args[] = {object, steps.get()};
  PyRef result(PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), args, 2, nullptr));
  if (result) return result.release();
  PyRef error = fetch_error();
  if (PyList_GET_SIZE(steps.get()) > 0) end_whole(PyTuple_GET_ITEM(self, 1), object, steps.get());
  restore_error(std::move(error));
  return nullptr;
}

PyObject* end_block(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "__exit__: expected the object whose block ends");
  PyRef steps(PyList_New(0));
  if (!steps) return nullptr;
  PyRef error = end_whole(PyTuple_GET_ITEM(self, 1), args[0], steps.get());
  if (!error) Py_RETURN_NONE;
  restore_error(std::move(error));
  return nullptr;
}

PyMethodDef begin_definition = {"__enter__", method<begin_block>(), METH_O, nullptr};
PyMethodDef end_definition = {"__exit__", method<end_block>(), METH_FASTCALL, nullptr};

PyRef method_of(PyMethodDef* definition, PyObject* both) {
  PyRef function(PyCFunction_New(definition, both));
  return PyRef(function ? PyInstanceMethod_New(function.get()) : nullptr);
}

PyObject* block_methods(PyObject*, PyObject* args) {
  PyObject *begin, *end;
  if (!PyArg_ParseTuple(args, "OO:block_methods", &begin, &end)) return nullptr;
  PyRef both(PyTuple_Pack(2, begin, end));
  if (!both) return nullptr;
  PyRef enter = method_of(&begin_definition, both.get()), leave = method_of(&end_definition, both.get());
  return enter && leave ? PyTuple_Pack(2, enter.get(), leave.get()) : nullptr;
}

PyMethodDef functions[] = {
    {"block_methods", method<block_methods>(), METH_VARARGS,
     PyDoc_STR("block_methods(begin, end): __enter__ and __exit__ of a class, which call begin(self, steps) and end(self, steps).")},
    {nullptr, nullptr, 0, nullptr}};

// Adds the only instance of a type.
int add_instance(PyObject* module, const char* name, PyType_Spec* spec) {
  PyRef type(PyType_FromSpec(spec));
  PyRef instance(type ? PyObject_CallNoArgs(type.get()) : nullptr);
  return instance ? PyModule_AddObjectRef(module, name, instance.get()) : -1;
}

}  // namespace
}  // namespace nj

int scopes_init(PyObject* module) {
  using namespace nj;
  PyRef type(PyType_FromSpec(&scope_spec));
  if (!type || PyModule_AddObjectRef(module, "Scope", type.get()) < 0) return -1;
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  if (add_instance(module, "thread", &thread_spec) < 0) return -1;
  return add_instance(module, "rare_collections", &collections_spec);
}
