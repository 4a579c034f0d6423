// The Python type Entry: checks all indices once, so that calls need not.
#include "dispatch/call/entry.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "runtime/python/guard.h"
#include "pytree/pytree.h"

namespace nj {

PyTypeObject* entry_type = nullptr;

namespace {

Entry* as_entry(PyObject* self) { return reinterpret_cast<Entry*>(self); }

// An index below `limit`; -1 with an error set.
Py_ssize_t read_index(PyObject* number, size_t limit, const char* what) {
  Py_ssize_t index = PyNumber_AsSsize_t(number, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) return -1;
  if (index >= 0 && size_t(index) < limit) return index;
  PyErr_Format(PyExc_IndexError, "Entry: %s %zd is not below %zu", what, index, limit);
  return -1;
}

bool read_fixed(PyObject* fixed, EntryPlan* plan) {
  for (Py_ssize_t k = 0; fixed && k < PyTuple_GET_SIZE(fixed); ++k) {
    PyObject* item = PyTuple_GET_ITEM(fixed, k);
    if (!is_array(item)) {
      PyErr_Format(PyExc_TypeError, "Entry: fixed[%zd] is %R, which is no array", k, item);
      return false;
    }
    plan->fixed.push_back(as<Array>(PyRef::share(item)));
  }
  return true;
}

bool read_kept(PyObject* kept, PyObject* donated, EntryPlan* plan) {
  if (size_t(PyTuple_GET_SIZE(donated)) != plan->infos.size()) {
    PyErr_Format(PyExc_ValueError, "Entry: donated has %zd flags for %zu leaves", PyTuple_GET_SIZE(donated),
                 plan->infos.size());
    return false;
  }
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kept); ++k) {
    Py_ssize_t leaf = read_index(PyTuple_GET_ITEM(kept, k), plan->infos.size() + plan->fixed.size(), "kept leaf");
    if (leaf < 0) return false;
    const bool fixed = size_t(leaf) >= plan->infos.size();
    int flag = fixed ? 0 : PyObject_IsTrue(PyTuple_GET_ITEM(donated, leaf));
    if (flag < 0) return false;
    plan->kept.push_back(uint32_t(leaf));
    plan->donated.push_back(char(flag));
    plan->any_donated |= flag != 0;
  }
  return true;
}

// The length of a tuple attribute; -1 with an error set.
Py_ssize_t count_of(PyObject* object, const char* attribute) {
  PyRef tuple(PyObject_GetAttrString(object, attribute));
  return tuple ? PySequence_Size(tuple.get()) : -1;
}

// The executable's inputs have to be the kept leaves.
bool check_executable(const Entry* entry) {
  const Executable* executable = entry->executable;
  const EntryPlan* plan = entry->plan.get();
  if (entry->foreign) {
    Py_ssize_t ins = count_of(entry->foreign, "in_avals");
    if (ins < 0 || size_t(ins) == plan->kept.size()) return ins >= 0;
    PyErr_Format(PyExc_ValueError, "Entry: %zu leaves are kept for an executable of %zd inputs", plan->kept.size(), ins);
    return false;
  }
  size_t wanted = executable ? executable->plan->ins.size() : 0;
  if (plan->kept.size() != wanted) {
    PyErr_Format(PyExc_ValueError, "Entry: %zu leaves are kept for an executable of %zu inputs", plan->kept.size(), wanted);
    return false;
  }
  for (size_t k = 0; k < wanted; ++k) {
    const size_t from = plan->kept[k], count = plan->infos.size();
    const AvalInfo *input = executable->plan->ins[k],
                   *leaf = from < count ? plan->infos[from] : plan->fixed[from - count]->info;
    if (same_layout(input, leaf)) continue;
    PyErr_Format(PyExc_TypeError, "Entry: input %zu of %U is %s, but leaf %u is %s", k, executable->name.get(),
                 describe(input).c_str(), unsigned(plan->kept[k]), describe(leaf).c_str());
    return false;
  }
  return true;
}

bool read_out_leaf(PyObject* item, EntryPlan* plan) {
  const char* kind;
  PyObject* value;
  if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "sO", &kind, &value)) {
    PyErr_Format(PyExc_TypeError, "Entry: out_plan items are ('out', k), ('in', k) or ('const', object), got %R", item);
    return false;
  }
  std::string name = kind;
  if (name == "const") {
    plan->out.push_back({Source::Constant, 0, PyRef::share(value)});
    return true;
  }
  if (name != "out" && name != "in") {
    PyErr_Format(PyExc_ValueError, "Entry: out_plan items are ('out', k), ('in', k) or ('const', object), got %R", item);
    return false;
  }
  bool output = name == "out";
  Py_ssize_t index = read_index(value, output ? plan->num_outputs : plan->infos.size(), output ? "output" : "input leaf");
  if (index < 0) return false;
  plan->out.push_back({output ? Source::Output : Source::Input, uint32_t(index), PyRef()});
  return true;
}

bool read_out_plan(PyObject* out_plan, EntryPlan* plan) {
  plan->out.reserve(size_t(PyTuple_GET_SIZE(out_plan)));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(out_plan); ++k) {
    if (!read_out_leaf(PyTuple_GET_ITEM(out_plan, k), plan)) return false;
  }
  return true;
}

bool is_flat_tuple(PyObject* tree, const std::vector<PyRef>& leaves) {
  if (!PyTuple_CheckExact(tree) || size_t(PyTuple_GET_SIZE(tree)) != leaves.size()) return false;
  return std::equal(leaves.begin(), leaves.end(), PySequence_Fast_ITEMS(tree));
}

// Finds out by trial whether the result is a leaf or a flat tuple, which need no unflattening.
bool read_structure(PyObject* treedef, EntryPlan* plan) {
  size_t count = plan->out.size();
  if (treedef == Py_None) {
    plan->structure = Structure::Leaf;
    if (count == 1) return true;
    PyErr_Format(PyExc_ValueError, "Entry: out_treedef None stands for one leaf, but out_plan has %zu", count);
    return false;
  }
  if (!pytree_is_treedef(treedef)) {
    PyErr_Format(PyExc_TypeError, "Entry: expected a treedef or None, got %R", treedef);
    return false;
  }
  if (size_t(pytree_num_leaves(treedef)) != count) {
    PyErr_Format(PyExc_ValueError, "Entry: out_treedef has %zd leaves, out_plan %zu", pytree_num_leaves(treedef), count);
    return false;
  }
  // Strings and ints might be equal to one another; these objects are only themselves.
  std::vector<PyRef> leaves(count);
  for (PyRef& leaf : leaves) {
    leaf = PyRef(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
    if (!leaf) return false;
  }
  PyRef tree(pytree_unflatten(treedef, leaves.data(), Py_ssize_t(count)));
  if (!tree) {
    // A custom node that cannot hold such leaves is no tuple.
    PyErr_Clear();
    return true;
  }
  if (count == 1 && tree.get() == leaves[0].get()) plan->structure = Structure::Leaf;
  else if (is_flat_tuple(tree, leaves)) plan->structure = Structure::FlatTuple;
  return true;
}

// An executable of another machine is any callable with attributes in_avals, out_avals and device.
bool read_foreign(PyObject* executable, Entry* entry) {
  if (!PyCallable_Check(executable)) {
    PyErr_Format(PyExc_TypeError, "Entry: expected an Executable, a callable or None, got %R", executable);
    return false;
  }
  Py_ssize_t outs = count_of(executable, "out_avals");
  if (outs < 0) return false;
  entry->foreign = PyRef::share(executable);
  entry->plan->num_outputs = size_t(outs);
  return true;
}

bool read_executable(PyObject* executable, Entry* entry) {
  if (executable == Py_None) return true;
  if (Py_TYPE(executable) != executable_type) return read_foreign(executable, entry);
  entry->executable = as<Executable>(PyRef::share(executable));
  entry->plan->num_outputs = entry->executable->plan->outs.size();
  return true;
}

// The device of converted leaves; null with the error set.
PyRef device_of(const Entry* entry, PyObject* given) {
  if (given != Py_None) return PyRef::share(given);
  if (entry->foreign) return PyRef(PyObject_GetAttrString(entry->foreign, "device"));
  return entry->executable ? entry->executable->device : PyRef::share(given);
}

PyObject* new_entry(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"executable", "kept",   "donated", "in_avals", "out_treedef",
                                "out_plan",   "device", "fixed",   nullptr};
  PyObject *executable, *kept, *donated, *avals, *treedef, *out_plan, *device = Py_None, *fixed = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!O!OO!|OO!:Entry", const_cast<char**>(names), &executable, &PyTuple_Type,
                                   &kept, &PyTuple_Type, &donated, &PyTuple_Type, &avals, &treedef, &PyTuple_Type, &out_plan,
                                   &device, &PyTuple_Type, &fixed)) {
    return nullptr;
  }
  PyRef self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  Entry* entry = as_entry(self.get());
  construct(entry->plan, entry->executable, entry->foreign, entry->treedef, entry->device);
  entry->plan = std::make_unique<EntryPlan>();
  if (!read_executable(executable, entry)) return nullptr;
  entry->device = device_of(entry, device);
  if (!entry->device) return nullptr;
  entry->treedef = PyRef::share(treedef == Py_None ? nullptr : treedef);
  EntryPlan* plan = entry->plan.get();
  bool good = read_avals(avals, plan->infos) && read_fixed(fixed, plan) && read_kept(kept, donated, plan) &&
              check_executable(entry) && read_out_plan(out_plan, plan) && read_structure(treedef, plan);
  return good ? self.release() : nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Entry* entry = as_entry(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(entry->executable.get());
  Py_VISIT(entry->foreign);
  Py_VISIT(entry->treedef);
  Py_VISIT(entry->device);
  if (!entry->plan) return 0;
  for (const OutLeaf& leaf : entry->plan->out) Py_VISIT(leaf.constant);
  for (const ArrayRef& array : entry->plan->fixed) Py_VISIT(reinterpret_cast<PyObject*>(array.get()));
  return 0;
}

int clear(PyObject*) {
  // Nothing: a call may be running; cycles go through the JitFunction, which lets go of its entries.
  return 0;
}

void dealloc(PyObject* self) {
  Entry* entry = as_entry(self);
  PyObject_GC_UnTrack(self);
  destroy(entry->plan, entry->executable, entry->foreign, entry->treedef, entry->device);
  free_instance(self);
}

PyObject* get_executable(PyObject* self, void*) {
  Entry* entry = as_entry(self);
  return or_none(entry->foreign ? entry->foreign.get() : reinterpret_cast<PyObject*>(entry->executable.get()));
}

PyGetSetDef properties[] = {{"executable", guarded<get_executable>, nullptr, PyDoc_STR("The executable, or None."), nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"out_treedef", T_OBJECT, offsetof(Entry, treedef), READONLY, PyDoc_STR("The treedef of the result, or None.")},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<new_entry>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("How a jit cache hit runs a program and builds the result.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.Entry", sizeof(Entry), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

int entry_type_init(PyObject* module) {
  entry_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!entry_type) return -1;
  return PyModule_AddObjectRef(module, "Entry", reinterpret_cast<PyObject*>(entry_type));
}

}  // namespace nj
