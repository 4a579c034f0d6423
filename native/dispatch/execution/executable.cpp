// The Python type Executable.
#include "dispatch/execution/execute.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"
#include "runtime/memory/small_vector.h"

namespace nj {

PyTypeObject* executable_type = nullptr;

namespace {

Executable* as_executable(PyObject* self) { return reinterpret_cast<Executable*>(self); }

bool read_alias(PyObject* pair, ExecutablePlan* plan) {
  int out, in;
  if (!PyArg_ParseTuple(pair, "ii;Executable: aliases must be pairs (output, input)", &out, &in)) return false;
  if (out < 0 || in < 0 || size_t(out) >= plan->outs.size() || size_t(in) >= plan->ins.size()) {
    PyErr_Format(PyExc_ValueError, "Executable: alias (%d, %d) does not fit %zu outputs and %zu inputs", out, in,
                 plan->outs.size(), plan->ins.size());
    return false;
  }
  if (plan->outs[out]->nbytes > plan->ins[in]->nbytes) {
    PyErr_Format(PyExc_ValueError, "Executable: output %d (%s) does not fit into the buffer of input %d (%s)", out,
                 describe(plan->outs[out]).c_str(), in, describe(plan->ins[in]).c_str());
    return false;
  }
  for (int taken : plan->alias) {
    if (taken != in && plan->alias[out] < 0) continue;
    PyErr_Format(PyExc_ValueError, "Executable: alias (%d, %d) shares its output or input with another one", out, in);
    return false;
  }
  plan->alias[out] = in;
  return true;
}

bool read_aliases(PyObject* aliases, ExecutablePlan* plan) {
  plan->alias.assign(plan->outs.size(), -1);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(aliases); ++k) {
    PyObject* pair = PyTuple_GET_ITEM(aliases, k);
    if (!PyTuple_Check(pair)) {
      PyErr_Format(PyExc_TypeError, "Executable: aliases must be pairs (output, input), got %R", pair);
      return false;
    }
    if (!read_alias(pair, plan)) return false;
  }
  return true;
}

void set_room(ExecutablePlan* plan) {
  for (const AvalRef& out : plan->outs) plan->room.push_back(out->nbytes);
}

// An executable of which all is still to be filled in; null with an error set if there is no memory.
PyRef empty_executable(PyTypeObject* type) {
  PyRef self(type->tp_alloc(type, 0));
  if (!self) return self;
  Executable* executable = as_executable(self.get());
  construct(executable->plan, executable->on_error, executable->keepalive, executable->device, executable->name,
            executable->on_second_call, executable->base);
  executable->plan = std::make_unique<ExecutablePlan>();
  return self;
}

PyObject* new_executable(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"address",  "in_avals",  "out_avals", "scratch_bytes", "aliases", "cost_ns",
                                "on_error", "keepalive", "device",    "name",          nullptr};
  unsigned long long address;
  PyObject *in_avals, *out_avals, *aliases, *on_error, *keepalive, *device, *name;
  Py_ssize_t scratch_bytes;
  double cost_ns;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KO!O!nO!dOOOU:Executable", const_cast<char**>(names), &address, &PyTuple_Type,
                                   &in_avals, &PyTuple_Type, &out_avals, &scratch_bytes, &PyTuple_Type, &aliases, &cost_ns,
                                   &on_error, &keepalive, &device, &name)) {
    return nullptr;
  }
  if (!address) return PyErr_Format(PyExc_ValueError, "Executable: the address of %R is 0", name);
  if (scratch_bytes < 0) return PyErr_Format(PyExc_ValueError, "Executable: scratch_bytes is negative: %zd", scratch_bytes);
  if (!PyCallable_Check(on_error)) {
    return PyErr_Format(PyExc_TypeError, "Executable: on_error must be callable, got %R", on_error);
  }
  PyRef self = empty_executable(type);
  if (!self) return nullptr;
  Executable* executable = as_executable(self.get());
  ExecutablePlan* plan = executable->plan.get();
  plan->code = reinterpret_cast<MachineCode>(static_cast<uintptr_t>(address));
  plan->scratch_bytes = size_t(scratch_bytes);
  plan->cost_ns = cost_ns;
  executable->on_error = PyRef::share(on_error);
  executable->keepalive = PyRef::share(keepalive);
  executable->device = PyRef::share(device);
  executable->name = PyRef::share(name);
  if (!read_avals(in_avals, plan->ins) || !read_avals(out_avals, plan->outs) || !read_aliases(aliases, plan)) {
    return nullptr;
  }
  set_room(plan);
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Executable* executable = as_executable(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(executable->on_error);
  Py_VISIT(executable->keepalive);
  Py_VISIT(executable->device);
  Py_VISIT(executable->on_second_call);
  Py_VISIT(executable->base.get());
  return 0;
}

int clear(PyObject*) {
  // Nothing: on_error and keepalive are needed as long as anything can still call; cycles through
  // them are broken at their other end.
  return 0;
}

void dealloc(PyObject* self) {
  Executable* executable = as_executable(self);
  PyObject_GC_UnTrack(self);
  if (executable->weakrefs) PyObject_ClearWeakRefs(self);
  destroy(executable->plan, executable->on_error, executable->keepalive, executable->device, executable->name,
          executable->on_second_call, executable->base);
  free_instance(self);
}

bool check_argument(Executable* executable, PyObject* item, size_t k) {
  const AvalInfo* wanted = executable->plan->ins[k];
  if (!is_array(item)) {
    PyErr_Format(PyExc_TypeError, "%U: expected an Array of %s as argument %zu, got %R", executable->name.get(),
                 describe(wanted).c_str(), k, Py_TYPE(item));
    return false;
  }
  const AvalInfo* got = reinterpret_cast<Array*>(item)->info;
  if (same_layout(got, wanted)) return true;
  PyErr_Format(PyExc_TypeError, "%U: expected %s as argument %zu, got %s", executable->name.get(), describe(wanted).c_str(), k,
               describe(got).c_str());
  return false;
}

// The arrays of a call from Python.
struct Arguments {
  SmallVector<Array*, 16> arrays;
  SmallVector<PyRef, 16> alive;
  SmallVector<char, 64> donated;
  bool committed = false;
};

bool read_arrays(Executable* executable, PyObject* list, Arguments& arguments) {
  PyRef items(PySequence_Fast(list, "an executable takes a list of arrays"));
  if (!items) return false;
  size_t count = executable->plan->ins.size();
  if (size_t(PySequence_Fast_GET_SIZE(items.get())) != count) {
    PyErr_Format(PyExc_TypeError, "%U: expected %zu arrays, got %zd", executable->name.get(), count,
                 PySequence_Fast_GET_SIZE(items.get()));
    return false;
  }
  for (size_t k = 0; k < count; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), Py_ssize_t(k));
    if (!check_argument(executable, item, k)) return false;
    arguments.arrays.push_back(reinterpret_cast<Array*>(item));
    arguments.alive.push_back(PyRef::share(item));
    arguments.committed |= arguments.arrays[k]->committed;
  }
  return true;
}

bool read_mask(Executable* executable, PyObject* mask, Arguments& arguments) {
  PyRef flags(PySequence_Tuple(mask));
  if (!flags) return false;
  size_t count = executable->plan->ins.size();
  if (size_t(PyTuple_GET_SIZE(flags.get())) != count) {
    PyErr_Format(PyExc_TypeError, "%U: donated_mask has %zd entries for %zu arrays", executable->name.get(),
                 PyTuple_GET_SIZE(flags.get()), count);
    return false;
  }
  for (size_t k = 0; k < count; ++k) {
    int flag = PyObject_IsTrue(PyTuple_GET_ITEM(flags.get(), Py_ssize_t(k)));
    if (flag < 0) return false;
    arguments.donated.push_back(char(flag));
  }
  return true;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"arrays", "donated_mask", nullptr};
  PyObject *list, *mask = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Executable", const_cast<char**>(names), &list, &mask)) {
    return nullptr;
  }
  Executable* executable = as_executable(self);
  Arguments arguments;
  if (!read_arrays(executable, list, arguments)) return nullptr;
  if (mask != Py_None && !read_mask(executable, mask, arguments)) return nullptr;
  size_t count = executable->plan->outs.size();
  std::vector<PyRef> outs(count);
  const char* donated = mask == Py_None ? nullptr : arguments.donated.begin();
  if (execute(executable, arguments.arrays.begin(), donated, arguments.committed, outs.data()) < 0) return nullptr;
  return new_list(count, [&](size_t k) { return outs[k].release(); });
}

PyObject* aval_tuple(const std::vector<AvalRef>& infos) {
  return new_tuple(infos.size(), [&](size_t k) { return Py_NewRef(infos[k]->aval); });
}

PyObject* get_in_avals(PyObject* self, void*) { return aval_tuple(as_executable(self)->plan->ins); }
PyObject* get_out_avals(PyObject* self, void*) { return aval_tuple(as_executable(self)->plan->outs); }
PyObject* get_scratch(PyObject* self, void*) { return PyLong_FromSize_t(as_executable(self)->plan->scratch_bytes); }
PyObject* get_cost(PyObject* self, void*) { return PyFloat_FromDouble(as_executable(self)->plan->cost_ns); }

PyObject* repr(PyObject* self) {
  Executable* executable = as_executable(self);
  return PyUnicode_FromFormat("<Executable %U: %zu inputs, %zu outputs>", executable->name.get(), executable->plan->ins.size(),
                              executable->plan->outs.size());
}

PyObject* replace(PyObject* self, PyObject* address) {
  unsigned long long place = PyLong_AsUnsignedLongLong(address);
  if (PyErr_Occurred()) return nullptr;
  if (!place) return PyErr_Format(PyExc_ValueError, "Executable: the new address of %R is 0", as_executable(self)->name.get());
  as_executable(self)->plan->code = reinterpret_cast<MachineCode>(static_cast<uintptr_t>(place));
  Py_RETURN_NONE;
}

PyObject* set_on_second_call(PyObject* self, PyObject* callback) {
  if (!PyCallable_Check(callback)) return PyErr_Format(PyExc_TypeError, "Executable: expected a callable, got %R", callback);
  as_executable(self)->on_second_call = PyRef::share(callback);
  Py_RETURN_NONE;
}

PyObject* set_open_ended(PyObject* self, PyObject*) {
  as_executable(self)->plan->open_ended = true;
  Py_RETURN_NONE;
}

PyObject* set_effects(PyObject* self, PyObject*) {
  as_executable(self)->plan->has_effects = true;
  Py_RETURN_NONE;
}

PyObject* set_in_call(PyObject* self, PyObject*) {
  as_executable(self)->plan->in_call = true;
  Py_RETURN_NONE;
}

// The bytes that the code writes to the outputs of a view: those of the new avals, or where `whole` says so those of the old.
bool set_view_room(PyObject* whole, const ExecutablePlan* base, ExecutablePlan* plan) {
  if (plan->ins.size() != base->ins.size() || plan->outs.size() != base->outs.size() ||
      size_t(PyTuple_GET_SIZE(whole)) != plan->outs.size()) {
    PyErr_Format(PyExc_ValueError, "Executable: a view has %zu inputs and %zu outputs, got %zu and %zu, and %zd flags",
                 base->ins.size(), base->outs.size(), plan->ins.size(), plan->outs.size(), PyTuple_GET_SIZE(whole));
    return false;
  }
  for (size_t k = 0; k < plan->outs.size(); ++k) {
    const int flag = PyObject_IsTrue(PyTuple_GET_ITEM(whole, Py_ssize_t(k)));
    if (flag < 0) return false;
    plan->room.push_back(flag ? std::max(base->room[k], plan->outs[k]->nbytes) : plan->outs[k]->nbytes);
  }
  return true;
}

// The bytes that the code reads of the inputs of a view, where those are more than an array has.
bool set_copied(PyObject* flags, const ExecutablePlan* base, ExecutablePlan* plan) {
  if (size_t(PyTuple_GET_SIZE(flags)) != plan->ins.size()) {
    PyErr_Format(PyExc_ValueError, "Executable: %zd flags for %zu inputs", PyTuple_GET_SIZE(flags), plan->ins.size());
    return false;
  }
  bool any = false;
  for (size_t k = 0; k < plan->ins.size(); ++k) {
    const int flag = PyObject_IsTrue(PyTuple_GET_ITEM(flags, Py_ssize_t(k)));
    if (flag < 0) return false;
    plan->copied.push_back(flag ? std::max(base->ins[k]->nbytes, plan->ins[k]->nbytes) : 0);
    any |= flag != 0;
  }
  if (!any) plan->copied.clear();
  return true;
}

PyObject* view(PyObject* self, PyObject* args) {
  PyObject *in_avals, *out_avals, *copied, *whole;
  double cost_ns;
  if (!PyArg_ParseTuple(args, "O!O!O!O!d:view", &PyTuple_Type, &in_avals, &PyTuple_Type, &out_avals, &PyTuple_Type, &copied,
                        &PyTuple_Type, &whole, &cost_ns)) {
    return nullptr;
  }
  Executable* base = with_code(as_executable(self));
  PyRef made = empty_executable(Py_TYPE(self));
  if (!made) return nullptr;
  Executable* executable = as_executable(made.get());
  ExecutablePlan* plan = executable->plan.get();
  plan->code = base->plan->code.load();
  plan->scratch_bytes = base->plan->scratch_bytes;
  plan->cost_ns = cost_ns;
  plan->open_ended = base->plan->open_ended;
  plan->has_effects = base->plan->has_effects;
  plan->in_call = base->plan->in_call;
  executable->on_error = base->on_error;
  executable->keepalive = base->keepalive;
  executable->device = base->device;
  executable->name = base->name;
  executable->base = Handle<Executable>::share(base);
  if (!read_avals(in_avals, plan->ins) || !read_avals(out_avals, plan->outs)) return nullptr;
  plan->alias.assign(plan->outs.size(), -1);
  return set_view_room(whole, base->plan.get(), plan) && set_copied(copied, base->plan.get(), plan) ? made.release() : nullptr;
}

PyMethodDef methods[] = {
    {"view", method<view>(), METH_VARARGS,
     PyDoc_STR(
         "view(in_avals, out_avals, copied, whole, cost_ns): an executable that runs the same code on arrays of other sizes, "
         "of "
         "which the code must neither read nor write more, but for inputs that are `copied` to the front of memory for what "
         "this one's have, and outputs that are `whole`, which get as much.")},
    {"set_effects", method<set_effects>(), METH_NOARGS,
     PyDoc_STR("Tells that a run can be seen from outside: such programs run in the order in which they were called.")},
    {"set_in_call", method<set_in_call>(), METH_NOARGS,
     PyDoc_STR("Tells that the caller's thread runs the program, however long it takes, if its inputs are ready.")},
    {"set_open_ended", method<set_open_ended>(), METH_NOARGS,
     PyDoc_STR("Tells that the running time depends on values: the last run is the estimate, the first one is queued.")},
    {"replace", method<replace>(), METH_O,
     PyDoc_STR("From the next call on, other code at this address, which does the same; the old code has to stay valid.")},
    {"set_on_second_call", method<set_on_second_call>(), METH_O,
     PyDoc_STR("Has a function called with the executable, once, before its second call.")},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"in_avals", guarded<get_in_avals>, nullptr, PyDoc_STR("The avals of the inputs."), nullptr},
    {"out_avals", guarded<get_out_avals>, nullptr, PyDoc_STR("The avals of the outputs."), nullptr},
    {"scratch_bytes", guarded<get_scratch>, nullptr, PyDoc_STR("Bytes of temporary memory per call."), nullptr},
    {"cost_ns", guarded<get_cost>, nullptr, PyDoc_STR("The estimated time of a call in ns."), nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"call_count", T_ULONGLONG, offsetof(Executable, call_count), READONLY, PyDoc_STR("How often it was called.")},
    {"device", T_OBJECT, offsetof(Executable, device), READONLY, PyDoc_STR("The device of the outputs.")},
    {"name", T_OBJECT, offsetof(Executable, name), READONLY, PyDoc_STR("The name of the program.")},
    {"keepalive", T_OBJECT, offsetof(Executable, keepalive), READONLY, PyDoc_STR("What owns the machine code.")},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Executable, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<new_executable>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       slot<call>(Py_tp_call),
                       slot<repr>(Py_tp_repr),
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("Machine code that takes and gives Arrays.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.Executable", sizeof(Executable), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

int executable_type_init(PyObject* module) {
  executable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!executable_type) return -1;
  return PyModule_AddObjectRef(module, "Executable", reinterpret_cast<PyObject*>(executable_type));
}

}  // namespace nj
