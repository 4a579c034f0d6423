// The module's functions for pytrees, and the entry points for the rest of the native core.
#include "runtime/python/guard.h"
#include "pytree/node.h"

namespace nj::pytree {
namespace {

// The leaves as a list, the treedef, or both, as a tree is flattened once.
struct Flat {
  Flat() { leaves.reserve(64); }
  std::vector<PyRef> leaves;
  NodeBuffer nodes;
};

bool run(PyObject* tree, const FlattenOptions& options, Flat& flat) { return flatten(tree, options, flat.leaves, flat.nodes); }

PyObject* both(Flat& flat) {
  PyRef leaves(to_list(std::move(flat.leaves)));
  if (!leaves) return nullptr;
  PyRef treedef(flat.nodes.finish());
  return treedef ? PyTuple_Pack(2, leaves.get(), treedef.get()) : nullptr;
}

// (tree, is_leaf=None, none_is_leaf=False)
bool parse(PyObject* const* args, Py_ssize_t n, FlattenOptions& options) {
  if (n < 1 || n > 3) {
    PyErr_Format(PyExc_TypeError, "expected (tree, is_leaf=None, none_is_leaf=False), got %zd arguments", n);
    return false;
  }
  if (n > 1) options.is_leaf = args[1];
  int none_is_leaf = n > 2 ? PyObject_IsTrue(args[2]) : 0;
  options.none_is_leaf = none_is_leaf > 0;
  return none_is_leaf >= 0;
}

PyObject* py_flatten(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FlattenOptions options;
  Flat flat;
  if (!parse(args, n, options) || !run(args[0], options, flat)) return nullptr;
  return both(flat);
}

PyObject* py_leaves(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FlattenOptions options;
  Flat flat;
  if (!parse(args, n, options) || !run(args[0], options, flat)) return nullptr;
  return to_list(std::move(flat.leaves));
}

PyObject* py_structure(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FlattenOptions options;
  Flat flat;
  if (!parse(args, n, options) || !run(args[0], options, flat)) return nullptr;
  return flat.nodes.finish();
}

// (tree, is_leaf=None, is_leaf_takes_path=False)
PyObject* py_flatten_with_path(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FlattenOptions options;
  Flat flat;
  if (!parse(args, n, options)) return nullptr;
  options.is_leaf_takes_path = options.none_is_leaf;
  options.none_is_leaf = false;
  options.with_path = true;
  return run(args[0], options, flat) ? both(flat) : nullptr;
}

// One level: None for a leaf, or (children, node data), or ((key, child) pairs, node data).
PyObject* one_level(PyObject* tree, bool with_keys) {
  const Registration* registration = nullptr;
  int kind = classify(Py_TYPE(tree), false, &registration);
  if (kind < 0) return nullptr;
  if (kind == int(Kind::Leaf)) Py_RETURN_NONE;
  PyRef children, data, keys;
  if (!expand(tree, Kind(kind), registration, children, data, with_keys ? &keys : nullptr)) return nullptr;
  if (!data) data = PyRef::share(Py_None);
  if (!with_keys) {
    const bool listed = kind == int(Kind::List) || kind == int(Kind::NamedTuple) || kind == int(Kind::Custom);
    if (listed) children = PyRef(PySequence_List(children.get()));
    return children ? PyTuple_Pack(2, children.get(), data.get()) : nullptr;
  }
  PyRef pairs(new_tuple(size_t(PyTuple_GET_SIZE(children.get())), [&](size_t i) {
    const auto at = Py_ssize_t(i);
    return PyTuple_Pack(2, PyTuple_GET_ITEM(keys.get(), at), PyTuple_GET_ITEM(children.get(), at));
  }));
  return pairs ? PyTuple_Pack(2, pairs.get(), data.get()) : nullptr;
}

PyObject* py_one_level(PyObject*, PyObject* tree) { return one_level(tree, false); }

PyObject* py_one_level_with_keys(PyObject*, PyObject* tree) { return one_level(tree, true); }

PyObject* py_is_node(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "expected a class, got %R", type);
  const Registration* registration = nullptr;
  int kind = classify(reinterpret_cast<PyTypeObject*>(type), false, &registration);
  return kind < 0 ? nullptr : PyBool_FromLong(kind != int(Kind::Leaf));
}

PyObject* none_if(bool done) { return done ? Py_NewRef(Py_None) : nullptr; }

PyObject* py_register_node(PyObject*, PyObject* args) {
  PyObject *type, *flatten_function, *unflatten_function, *with_keys = nullptr;
  if (!PyArg_ParseTuple(args, "OOO|O", &type, &flatten_function, &unflatten_function, &with_keys)) return nullptr;
  return none_if(register_node(type, flatten_function, unflatten_function, with_keys));
}

PyObject* py_register_dataclass(PyObject*, PyObject* args) {
  PyObject *type, *data_fields, *meta_fields;
  if (!PyArg_ParseTuple(args, "OOO", &type, &data_fields, &meta_fields)) return nullptr;
  return none_if(register_dataclass(type, data_fields, meta_fields));
}

PyObject* py_set_key_types(PyObject*, PyObject* args) {
  PyObject *sequence, *dict, *attribute, *flat;
  if (!PyArg_ParseTuple(args, "OOOO", &sequence, &dict, &attribute, &flat)) return nullptr;
  return none_if(set_key_types(sequence, dict, attribute, flat));
}

PyMethodDef functions[] = {
    {"pytree_flatten", method<py_flatten>(), METH_FASTCALL,
     PyDoc_STR("pytree_flatten(tree, is_leaf=None, none_is_leaf=False) -> (leaves, treedef)")},
    {"pytree_leaves", method<py_leaves>(), METH_FASTCALL,
     PyDoc_STR("pytree_leaves(tree, is_leaf=None, none_is_leaf=False) -> leaves")},
    {"pytree_structure", method<py_structure>(), METH_FASTCALL,
     PyDoc_STR("pytree_structure(tree, is_leaf=None, none_is_leaf=False) -> treedef")},
    {"pytree_flatten_with_path", method<py_flatten_with_path>(), METH_FASTCALL,
     PyDoc_STR("pytree_flatten_with_path(tree, is_leaf=None, is_leaf_takes_path=False) -> ([(path, leaf)], treedef)")},
    {"pytree_one_level", method<py_one_level>(), METH_O,
     PyDoc_STR("pytree_one_level(tree) -> (children, node data), or None for a leaf")},
    {"pytree_one_level_with_keys", method<py_one_level_with_keys>(), METH_O,
     PyDoc_STR("pytree_one_level_with_keys(tree) -> ((key, child) pairs, node data), or None for a leaf")},
    {"pytree_is_node", method<py_is_node>(), METH_O, PyDoc_STR("pytree_is_node(type) -> bool")},
    {"pytree_register_node", method<py_register_node>(), METH_VARARGS,
     PyDoc_STR("pytree_register_node(type, flatten, unflatten, flatten_with_keys=None)")},
    {"pytree_register_dataclass", method<py_register_dataclass>(), METH_VARARGS,
     PyDoc_STR("pytree_register_dataclass(type, data_fields, meta_fields)")},
    {"pytree_set_key_types", method<py_set_key_types>(), METH_VARARGS,
     PyDoc_STR("pytree_set_key_types(SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey)")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj::pytree

using namespace nj::pytree;

nj::PyRef pytree_flatten_leaves(PyObject* tree, std::vector<nj::PyRef>& leaves) {
  NodeBuffer nodes;
  return nj::PyRef(flatten(tree, FlattenOptions(), leaves, nodes) ? nodes.finish() : nullptr);
}

PyObject* pytree_unflatten(PyObject* treedef, const nj::PyRef* leaves, Py_ssize_t n) {
  return unflatten(reinterpret_cast<TreeDef*>(treedef), nj::lend(leaves), n);
}

int pytree_init(PyObject* module) {
  if (registry_init() < 0 || treedef_type_init(module) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
