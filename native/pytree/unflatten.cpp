// From treedefs to trees: unflatten, walk, from_iterable_tree.
#include "pytree/node.h"

namespace nj::pytree {
namespace {

PyObject* tuple_of(PyObject* const* items, Py_ssize_t n) {
  return new_tuple(size_t(n), [=](size_t i) { return Py_NewRef(items[i]); });
}

PyObject* dict_of(PyObject* keys, PyObject* const* items, Py_ssize_t n) {
  PyRef dict(PyDict_New());
  if (!dict) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys, i), items[i]) < 0) return nullptr;
  }
  return dict.release();
}

PyObject* dataclass_of(const Node& node, PyObject* const* items, Py_ssize_t n) {
  PyObject* meta = node.data;
  std::vector<PyObject*> values(items, items + n);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(meta); ++i) values.push_back(PyTuple_GET_ITEM(meta, i));
  return PyObject_Vectorcall(node.registration->type, values.data(), 0, node.registration->all_fields);
}

// Replaces the last `n` values by the node built of them.
template <class Build> bool reduce_top(std::vector<PyRef>& stack, size_t n, Build build) {
  PyRef built(build(lend(stack.data() + stack.size() - n)));
  if (!built) return false;
  stack.resize(stack.size() - n);
  stack.push_back(std::move(built));
  return true;
}

PyObject* wrong_count(bool few, Py_ssize_t expected, Py_ssize_t got) {
  if (few) {
    return PyErr_Format(PyExc_ValueError, "Too few leaves for PyTreeDef; expected %zd, got %zd", expected, got);
  }
  return PyErr_Format(PyExc_ValueError, "Too many leaves for PyTreeDef; expected %zd", expected);
}

// The items as a tuple; reads at most one more than `limit` from an iterator, which may be endless.
PyObject* bounded_tuple(PyObject* iterable, Py_ssize_t limit) {
  if (PyTuple_Check(iterable) || PyList_Check(iterable)) return PySequence_Tuple(iterable);
  PyRef iterator(PyObject_GetIter(iterable));
  if (!iterator) return nullptr;
  std::vector<PyRef> items;
  while (Py_ssize_t(items.size()) <= limit) {
    PyRef item(PyIter_Next(iterator.get()));
    if (!item) break;
    items.push_back(std::move(item));
  }
  if (PyErr_Occurred()) return nullptr;
  return tuple_of(lend(items.data()), Py_ssize_t(items.size()));
}

bool spread(TreeDef* treedef, size_t end, PyObject* tree, std::vector<PyRef>& leaves) {
  const Node& node = treedef->nodes()[end];
  if (node.kind == Kind::Leaf) {
    leaves.push_back(PyRef::share(tree));
    return true;
  }
  PyRef items(node.kind == Kind::None ? PyTuple_New(0) : PySequence_Tuple(tree));
  if (!items) return false;
  if (PyTuple_GET_SIZE(items.get()) != Py_ssize_t(node.arity)) {
    PyErr_Format(PyExc_ValueError, "from_iterable_tree: expected a node of %u children, got %zd", unsigned(node.arity),
                 PyTuple_GET_SIZE(items.get()));
    return false;
  }
  Level level;
  if (!level) return false;
  std::vector<size_t> ends;
  child_ends(treedef->nodes(), end, ends);
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!spread(treedef, ends[i], PyTuple_GET_ITEM(items.get(), Py_ssize_t(i)), leaves)) return false;
  }
  return true;
}

}  // namespace

PyObject* build_node(const Node& node, PyObject* const* children) {
  Py_ssize_t n = node.arity;
  switch (node.kind) {
    case Kind::Leaf: PyErr_SetString(PyExc_SystemError, "a leaf cannot be built from children"); return nullptr;
    case Kind::None: Py_RETURN_NONE;
    case Kind::Tuple: return tuple_of(children, n);
    case Kind::List: return new_list(size_t(n), [=](size_t i) { return Py_NewRef(children[i]); });
    case Kind::Dict: return dict_of(node.data, children, n);
    case Kind::NamedTuple: {
      PyRef arguments(tuple_of(children, n));
      return arguments ? PyObject_Call(node.data, arguments.get(), nullptr) : nullptr;
    }
    case Kind::Custom: {
      if (node.registration->data_fields) return dataclass_of(node, children, n);
      PyRef arguments(tuple_of(children, n));
      if (!arguments) return nullptr;
      return PyObject_CallFunctionObjArgs(node.registration->unflatten, node.data.get(), arguments.get(), nullptr);
    }
  }
  return nullptr;
}

PyObject* unflatten(TreeDef* treedef, PyObject* const* leaves, Py_ssize_t n) {
  Py_ssize_t expected = treedef->root().num_leaves;
  if (n != expected) return wrong_count(n < expected, expected, n);
  const Node* nodes = treedef->nodes();
  std::vector<PyRef> stack;
  stack.reserve(size_t(n) + 1);
  for (Py_ssize_t i = 0; i < Py_SIZE(treedef); ++i) {
    const Node& node = nodes[i];
    if (node.kind == Kind::Leaf) {
      stack.push_back(PyRef::share(*leaves++));
    } else if (!reduce_top(stack, node.arity, [&](PyObject* const* c) { return build_node(node, c); })) {
      return nullptr;
    }
  }
  return stack.back().release();
}

PyObject* unflatten_iterable(TreeDef* treedef, PyObject* leaves) {
  // A tuple of our own: user code that runs meanwhile cannot change it.
  PyRef items(bounded_tuple(leaves, treedef->root().num_leaves));
  if (!items) return nullptr;
  return unflatten(treedef, &PyTuple_GET_ITEM(items.get(), 0), PyTuple_GET_SIZE(items.get()));
}

PyObject* walk_data(const Node& node) {
  if (node.kind == Kind::Dict) return PySequence_List(node.data);
  return Py_NewRef(node.data ? node.data : Py_None);
}

PyObject* walk(TreeDef* treedef, PyObject* f_node, PyObject* f_leaf, PyObject* leaves) {
  Py_ssize_t expected = treedef->root().num_leaves;
  PyRef items(bounded_tuple(leaves, expected));
  if (!items) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  if (n != expected) return wrong_count(n < expected, expected, n);
  std::vector<PyRef> stack;
  Py_ssize_t next_leaf = 0;
  for (Py_ssize_t i = 0; i < Py_SIZE(treedef); ++i) {
    const Node& node = treedef->nodes()[i];
    if (node.kind == Kind::Leaf) {
      PyObject* leaf = PyTuple_GET_ITEM(items.get(), next_leaf++);
      PyRef value(f_leaf == Py_None ? Py_NewRef(leaf) : PyObject_CallOneArg(f_leaf, leaf));
      if (!value) return nullptr;
      stack.push_back(std::move(value));
      continue;
    }
    auto call = [&](PyObject* const* children) -> PyObject* {
      PyRef arguments(tuple_of(children, node.arity));
      PyRef data(walk_data(node));
      if (!arguments || !data) return nullptr;
      return PyObject_CallFunctionObjArgs(f_node, arguments.get(), data.get(), nullptr);
    };
    if (!reduce_top(stack, node.arity, call)) return nullptr;
  }
  return stack.back().release();
}

PyObject* from_iterable_tree(TreeDef* treedef, PyObject* tree) {
  std::vector<PyRef> leaves;
  if (!spread(treedef, size_t(Py_SIZE(treedef)) - 1, tree, leaves)) return nullptr;
  return unflatten(treedef, lend(leaves.data()), Py_ssize_t(leaves.size()));
}

}  // namespace nj::pytree
