// Methods of PyTreeDef.
#include "runtime/python/guard.h"
#include "pytree/node.h"

namespace nj::pytree {
namespace {

TreeDef* self_of(PyObject* self) { return reinterpret_cast<TreeDef*>(self); }

bool check_arguments(const char* name, Py_ssize_t n, Py_ssize_t least, Py_ssize_t most) {
  if (n >= least && n <= most) return true;
  PyErr_Format(PyExc_TypeError, "PyTreeDef.%s takes %zd to %zd arguments, got %zd", name, least, most, n);
  return false;
}

PyObject* method_unflatten(PyObject* self, PyObject* leaves) { return unflatten_iterable(self_of(self), leaves); }

// flatten_up_to(tree, caller=None, index=0)
PyObject* method_flatten_up_to(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (!check_arguments("flatten_up_to", n, 1, 3)) return nullptr;
  PyObject* caller = n > 1 && PyUnicode_Check(args[1]) ? args[1] : nullptr;
  Py_ssize_t index = n > 2 ? PyLong_AsSsize_t(args[2]) : 0;
  if (index == -1 && PyErr_Occurred()) return nullptr;
  return flatten_up_to(self_of(self), args[0], caller, index);
}

PyObject* method_prefix_counts(PyObject* self, PyObject* other) {
  TreeDef* full = as_treedef(other);
  if (!full) return nullptr;
  return prefix_counts(self_of(self), full);
}

PyObject* subtree(const Node* nodes, size_t end) {
  NodeBuffer buffer;
  size_t count = nodes[end].num_nodes;
  buffer.copy(nodes + end + 1 - count, count);
  return buffer.finish();
}

PyObject* method_children(PyObject* self, PyObject*) {
  const Node* nodes = self_of(self)->nodes();
  std::vector<size_t> ends;
  child_ends(nodes, size_t(Py_SIZE(self)) - 1, ends);
  return new_list(ends.size(), [&](size_t i) { return subtree(nodes, ends[i]); });
}

PyObject* method_child_keys(PyObject* self, PyObject*) {
  const Node& root = self_of(self)->root();
  std::vector<PyRef> keys;
  for (unsigned i = 0; i < root.arity; ++i) {
    keys.emplace_back(child_key(root.kind, root.registration, root.data, Py_ssize_t(i)));
    if (!keys.back()) return nullptr;
  }
  return to_list(std::move(keys));
}

PyObject* method_compose(PyObject* self, PyObject* other) {
  TreeDef *outer = self_of(self), *inner = as_treedef(other);
  if (!inner) return nullptr;
  NodeBuffer buffer;
  size_t leaves = inner->root().num_leaves, nodes = inner->root().num_nodes;
  for (Py_ssize_t i = 0; i < Py_SIZE(outer); ++i) {
    const Node& node = outer->nodes()[i];
    if (node.kind == Kind::Leaf) {
      buffer.copy(inner->nodes(), nodes);
      continue;
    }
    size_t own = node.num_nodes - node.num_leaves;
    buffer.add(node.kind, node.arity, node.num_leaves * leaves, own + node.num_leaves * nodes, node.data, node.registration);
  }
  return buffer.finish();
}

PyObject* method_walk(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (!check_arguments("walk", n, 3, 3)) return nullptr;
  return walk(self_of(self), args[0], args[1], args[2]);
}

PyObject* method_from_iterable_tree(PyObject* self, PyObject* tree) { return from_iterable_tree(self_of(self), tree); }

PyObject* method_node_data(PyObject* self, PyObject*) {
  const Node& node = self_of(self)->root();
  PyObject* type = node_type(node);
  if (!type) Py_RETURN_NONE;
  PyRef data(node.kind == Kind::NamedTuple ? Py_NewRef(Py_None) : walk_data(node));
  return data ? PyTuple_Pack(2, type, data.get()) : nullptr;
}

// The root of a treedef that is being made of parts: its kind, data and registration.
struct Root {
  Kind kind = Kind::Leaf;
  PyRef data;
  const Registration* registration = nullptr;
};

bool make_root(PyObject* type, PyObject* data, Root& root) {
  if (!PyType_Check(type)) {
    PyErr_Format(PyExc_TypeError, "expected a pytree node type, got %R", type);
    return false;
  }
  int kind = classify(reinterpret_cast<PyTypeObject*>(type), false, &root.registration);
  if (kind < 0) return false;
  root.kind = Kind(kind);
  if (root.kind == Kind::Leaf) {
    PyErr_Format(PyExc_ValueError, "%R is not registered as a pytree node type", type);
    return false;
  }
  if (root.kind == Kind::NamedTuple) root.data = PyRef::share(type);
  if (root.kind == Kind::Custom) root.data = PyRef::share(data);
  if (root.kind == Kind::Dict) root.data = PyRef(PySequence_Tuple(data));
  return root.kind != Kind::Dict || bool(root.data);
}

bool check_root(const Root& root, Py_ssize_t arity) {
  Py_ssize_t keys = root.kind == Kind::Dict ? PyTuple_GET_SIZE(root.data.get()) : arity;
  if (root.kind == Kind::None) keys = 0;
  if (root.kind == Kind::Custom && root.registration->data_fields) {
    keys = PyTuple_GET_SIZE(root.registration->data_fields);
    PyObject* meta = root.data.get();
    if (!PyTuple_Check(meta) || PyTuple_GET_SIZE(meta) != PyTuple_GET_SIZE(root.registration->meta_fields)) {
      PyErr_Format(PyExc_ValueError, "node data of %R must be a tuple of its metadata fields, got %R",
                   root.registration->type.get(), meta);
      return false;
    }
  }
  if (keys == arity) return true;
  PyErr_Format(PyExc_ValueError, "the node data is for %zd children, but %zd were given", keys, arity);
  return false;
}

// A treedef with the root given and `children` (a tuple of treedefs) below it.
PyObject* join(Root root, PyObject* children) {
  Py_ssize_t arity = PyTuple_GET_SIZE(children);
  if (!check_root(root, arity)) return nullptr;
  NodeBuffer buffer;
  size_t leaves = 0;
  for (Py_ssize_t i = 0; i < arity; ++i) {
    TreeDef* child = as_treedef(PyTuple_GET_ITEM(children, i));
    if (!child) return nullptr;
    buffer.copy(child->nodes(), size_t(Py_SIZE(child)));
    leaves += child->root().num_leaves;
  }
  size_t nodes = buffer.size() + 1;
  buffer.add(root.kind, size_t(arity), leaves, nodes, std::move(root.data), root.registration);
  return buffer.finish();
}

PyObject* from_parts(PyObject* data, PyObject* children) {
  PyRef items(PySequence_Tuple(children));
  if (!items) return nullptr;
  if (data == Py_None) {
    if (PyTuple_GET_SIZE(items.get()) != 0) {
      PyErr_SetString(PyExc_ValueError, "a leaf (node data None) has no children");
      return nullptr;
    }
    NodeBuffer buffer;
    buffer.add_leaf();
    return buffer.finish();
  }
  if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
    return PyErr_Format(PyExc_TypeError, "node data must be None or a tuple (type, data), got %R", data);
  }
  Root root;
  if (!make_root(PyTuple_GET_ITEM(data, 0), PyTuple_GET_ITEM(data, 1), root)) return nullptr;
  return join(std::move(root), items.get());
}

// from_node_data_and_children(registry, node_data, children); there is one registry.
PyObject* method_from_parts(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_arguments("from_node_data_and_children", n, 3, 3)) return nullptr;
  return from_parts(args[1], args[2]);
}

// Pickling: per node None (a leaf) or (type, data, arity); type None stands for NoneType, which does not pickle.
PyObject* node_state(const Node& node) {
  PyObject* type = node_type(node);
  if (!type) Py_RETURN_NONE;
  PyObject* data = node.data && node.kind != Kind::NamedTuple ? node.data.get() : Py_None;
  return Py_BuildValue("(OOI)", node.kind == Kind::None ? Py_None : type, data, unsigned(node.arity));
}

PyObject* method_reduce(PyObject* self, PyObject*) {
  PyRef states(new_tuple(size_t(Py_SIZE(self)), [&](size_t i) { return node_state(self_of(self)->nodes()[i]); }));
  if (!states) return nullptr;
  PyRef restore(PyObject_GetAttrString(reinterpret_cast<PyObject*>(treedef_type), "_from_state"));
  return restore ? Py_BuildValue("(O(O))", restore.get(), states.get()) : nullptr;
}

struct Subtree { size_t leaves, nodes; };

bool restore_node(PyObject* state, NodeBuffer& buffer, std::vector<Subtree>& stack) {
  if (state == Py_None) {
    buffer.add_leaf();
    stack.push_back({1, 1});
    return true;
  }
  PyObject *type, *data;
  unsigned arity;
  if (!PyTuple_Check(state) || !PyArg_ParseTuple(state, "OOI", &type, &data, &arity)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "invalid state of a PyTreeDef");
    return false;
  }
  Root root;
  if (type == Py_None) type = reinterpret_cast<PyObject*>(Py_TYPE(Py_None));
  if (!make_root(type, data, root) || !check_root(root, Py_ssize_t(arity))) return false;
  if (stack.size() < arity) {
    PyErr_SetString(PyExc_ValueError, "invalid state of a PyTreeDef: too few children");
    return false;
  }
  Subtree sum{0, 1};
  for (unsigned i = 0; i < arity; ++i, stack.pop_back()) {
    sum.leaves += stack.back().leaves;
    sum.nodes += stack.back().nodes;
  }
  buffer.add(root.kind, arity, sum.leaves, sum.nodes, std::move(root.data), root.registration);
  stack.push_back(sum);
  return true;
}

PyObject* method_from_state(PyObject*, PyObject* states) {
  PyRef items(PySequence_Tuple(states));
  if (!items) return nullptr;
  NodeBuffer buffer;
  std::vector<Subtree> stack;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    if (!restore_node(PyTuple_GET_ITEM(items.get(), i), buffer, stack)) return nullptr;
  }
  if (stack.size() == 1) return buffer.finish();
  PyErr_SetString(PyExc_ValueError, "invalid state of a PyTreeDef: not one tree");
  return nullptr;
}

PyObject* method_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

}  // namespace

extern PyMethodDef treedef_methods[];
PyMethodDef treedef_methods[] = {
    {"unflatten", method<method_unflatten>(), METH_O,
     PyDoc_STR("unflatten(leaves): the tree of this structure with `leaves`.")},
    {"flatten_up_to", method<method_flatten_up_to>(), METH_FASTCALL,
     PyDoc_STR("flatten_up_to(tree, caller=None, index=0)\n\nThe subtrees of `tree` at this treedef's leaves, a list. "
               "ValueError naming the key path where `tree` is not as deep or differs.")},
    {"prefix_counts", method<method_prefix_counts>(), METH_O,
     PyDoc_STR("prefix_counts(full)\n\nFor each leaf of this treedef the number of leaves below it in the treedef "
               "`full`, of which this one must be a prefix; ValueError naming the key path where it is not.")},
    {"child_keys", method<method_child_keys>(), METH_NOARGS,
     PyDoc_STR("Key entries of the root's children, a list; positions where only instances know their keys.")},
    {"children", method<method_children>(), METH_NOARGS, PyDoc_STR("Treedefs of the root's children, a list.")},
    {"compose", method<method_compose>(), METH_O,
     PyDoc_STR("compose(inner): this treedef with every leaf replaced by `inner`.")},
    {"walk", method<method_walk>(), METH_FASTCALL,
     PyDoc_STR("walk(f_node, f_leaf, leaves)\n\nCalls f_leaf(leaf) (None: identity) at leaves and "
               "f_node(children, node_data) at nodes, children first; the result at the root.")},
    {"node_data", method<method_node_data>(), METH_NOARGS, PyDoc_STR("(type, data) of the root, or None for a leaf.")},
    {"from_iterable_tree", method<method_from_iterable_tree>(), METH_O,
     PyDoc_STR("from_iterable_tree(tree): the tree of this structure from nested iterables of children.")},
    {"from_node_data_and_children", method<method_from_parts>(), METH_FASTCALL | METH_STATIC,
     PyDoc_STR("from_node_data_and_children(registry, node_data, children)\n\nInverse of node_data() and children().")},
    {"_from_state", method<method_from_state>(), METH_O | METH_STATIC, PyDoc_STR("Inverse of pickling.")},
    {"__reduce__", method<method_reduce>(), METH_NOARGS, nullptr},
    {"__copy__", method<method_copy>(), METH_NOARGS, nullptr},
    {"__deepcopy__", method<method_copy>(), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace nj::pytree
