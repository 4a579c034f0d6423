// Flattening: one recursive visit that appends leaves, and nodes in post-order.
#include "pytree/node.h"

namespace nj::pytree {
namespace {

class Flattener {
 public:
  Flattener(const FlattenOptions& options, std::vector<PyRef>& leaves, NodeBuffer& nodes)
      : options_(options), leaves_(leaves), nodes_(nodes) {
    if (options_.is_leaf == Py_None) options_.is_leaf = nullptr;
    plain_ = !options_.is_leaf && !options_.with_path;
  }

  bool visit(PyObject* object) {
    if (options_.is_leaf) {
      int stop = ask_is_leaf(object);
      if (stop < 0) return false;
      if (stop) return add_leaf(object);
    }
    PyTypeObject* type = Py_TYPE(object);
    // Leaves of one type come in runs.
    if (type == leaf_type()) return add_leaf(object);
    const Registration* registration = nullptr;
    int kind = classify(type, options_.none_is_leaf, &registration);
    if (kind < 0) return false;
    if (kind == int(Kind::Leaf)) {
      leaf_type_ = PyRef::share(reinterpret_cast<PyObject*>(type));
      return add_leaf(object);
    }
    Level level;
    return level && visit_node(object, Kind(kind), registration);
  }

 private:
  PyTypeObject* leaf_type() const { return reinterpret_cast<PyTypeObject*>(leaf_type_.get()); }

  bool visit_node(PyObject* object, Kind kind, const Registration* registration) {
    size_t first_leaf = leaves_.size(), first_node = nodes_.size();
    size_t arity = 0;
    PyRef data;
    if (kind != Kind::None && !visit_children(object, kind, registration, data, arity)) return false;
    nodes_.add(kind, arity, leaves_.size() - first_leaf, nodes_.size() - first_node + 1, std::move(data), registration);
    return true;
  }

  bool visit_children(PyObject* object, Kind kind, const Registration* registration, PyRef& data, size_t& arity) {
    PyRef children, keys;
    if (!expand(object, kind, registration, children, data, options_.with_path ? &keys : nullptr)) return false;
    Py_ssize_t n = PyTuple_GET_SIZE(children.get());
    arity = size_t(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* child = PyTuple_GET_ITEM(children.get(), i);
      if (Py_TYPE(child) == leaf_type() && plain_) {
        leaves_.push_back(PyRef::share(child));
        nodes_.add_leaf();
        continue;
      }
      if (keys) path_.push_back(PyRef::share(PyTuple_GET_ITEM(keys.get(), i)));
      if (!visit(child)) return false;
      if (keys) path_.pop_back();
    }
    return true;
  }

  bool add_leaf(PyObject* object) {
    PyRef leaf = options_.with_path ? PyRef(with_path(object)) : PyRef::share(object);
    if (!leaf) return false;
    leaves_.push_back(std::move(leaf));
    nodes_.add_leaf();
    return true;
  }

  PyObject* path_tuple() {
    return new_tuple(path_.size(), [this](size_t i) { return Py_NewRef(path_[i]); });
  }

  PyObject* with_path(PyObject* object) {
    PyRef path(path_tuple());
    return path ? PyTuple_Pack(2, path.get(), object) : nullptr;
  }

  int ask_is_leaf(PyObject* object) {
    PyRef answer(call_is_leaf(object));
    if (!answer) return -1;
    if (PyBool_Check(answer.get())) return answer.get() == Py_True;
    PyErr_Format(PyExc_ValueError, "is_leaf must return True or False, but it returned %R", answer.get());
    return -1;
  }

  PyObject* call_is_leaf(PyObject* object) {
    if (!options_.is_leaf_takes_path) return PyObject_CallOneArg(options_.is_leaf, object);
    PyRef path(path_tuple());
    return path ? PyObject_CallFunctionObjArgs(options_.is_leaf, path.get(), object, nullptr) : nullptr;
  }

  FlattenOptions options_;
  std::vector<PyRef>& leaves_;
  NodeBuffer& nodes_;
  std::vector<PyRef> path_;
  PyRef leaf_type_;  // of the last leaf; owned: user code may take that from its instances
  bool plain_;                         // neither is_leaf nor paths
};

}  // namespace

bool flatten(PyObject* tree, const FlattenOptions& options, std::vector<PyRef>& leaves, NodeBuffer& nodes) {
  return Flattener(options, leaves, nodes).visit(tree);
}

}  // namespace nj::pytree
