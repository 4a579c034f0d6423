// Matching a treedef against a tree (flatten_up_to) or against a deeper treedef (prefix_counts), with errors that
// name the key path.
#include <cstdarg>

#include "pytree/node.h"
#include "runtime/python/error.h"

namespace nj::pytree {
namespace {

constexpr const char* kMetadataHint =
    "Exception raised while checking equality of metadata fields of pytree. The nodes have type %R. Metadata must be "
    "hashable and have a simple ==; arrays belong among the children";

PyObject* type_name(PyObject* type) { return PyType_GetName(reinterpret_cast<PyTypeObject*>(type)); }

// "list of length 2", "dict with keys ['a']"...
PyObject* describe(const Node& node) {
  switch (node.kind) {
    case Kind::Leaf: return PyUnicode_FromString("a leaf");
    case Kind::None: return PyUnicode_FromString("None");
    case Kind::Tuple: return PyUnicode_FromFormat("tuple of length %u", unsigned(node.arity));
    case Kind::List: return PyUnicode_FromFormat("list of length %u", unsigned(node.arity));
    case Kind::Dict: {
      PyRef keys(PySequence_List(node.data));
      return keys ? PyUnicode_FromFormat("dict with keys %.400R", keys.get()) : nullptr;
    }
    case Kind::NamedTuple: {
      PyRef name(type_name(node.data));
      return name ? PyUnicode_FromFormat("namedtuple %U of length %u", name.get(), unsigned(node.arity)) : nullptr;
    }
    case Kind::Custom: {
      PyRef name(type_name(node.registration->type));
      if (!name) return nullptr;
      return PyUnicode_FromFormat("%U with %u %s and metadata %.400R", name.get(), unsigned(node.arity),
                                  node.arity == 1 ? "child" : "children", node.data.get());
    }
  }
  return nullptr;
}

PyObject* describe_leaf(PyTypeObject* type) {
  PyRef name(PyType_GetName(type));
  return name ? PyUnicode_FromFormat("a leaf of type %U", name.get()) : nullptr;
}

const char* kind_name(const Node& node) {
  switch (node.kind) {
    case Kind::None: return "None";
    case Kind::Tuple: return "tuple";
    case Kind::List: return "list";
    case Kind::Dict: return "dict";
    case Kind::NamedTuple: return "named tuple";
    default: return nullptr;
  }
}

// The difference in a few words, by which people search for it: "Expected list, got (1, 2).".
PyObject* headline(const Node& expected, const Node& got, PyObject* tree) {
  if (expected.kind == Kind::Custom) {
    PyObject* type = expected.registration->type.get();
    if (expected.registration != got.registration) {
      return PyUnicode_FromFormat("Custom node type mismatch: expected type: %R, value: %.200R.", type, tree);
    }
    if (expected.arity != got.arity) {
      return PyUnicode_FromFormat("Mismatch custom node arity: %u != %u; value: %.200R.", unsigned(expected.arity),
                                  unsigned(got.arity), tree);
    }
    return PyUnicode_FromFormat("Mismatch custom node data: %.200R != %.200R; value: %.200R.", expected.data.get(),
                                got.data.get(), tree);
  }
  if (expected.kind != got.kind) return PyUnicode_FromFormat("Expected %s, got %.200R.", kind_name(expected), tree);
  if (expected.kind == Kind::Dict) {
    PyRef keys(PySequence_List(expected.data)), present(PySequence_List(got.data));
    if (!keys || !present) return nullptr;
    return PyUnicode_FromFormat("Dict key mismatch; expected keys: %.80R; present keys: %.80R.", keys.get(), present.get());
  }
  if (expected.kind == Kind::NamedTuple && expected.data != got.data) {
    return PyUnicode_FromFormat("Named tuple type mismatch: expected type: %R, tuple: %.200R.", expected.data.get(), tree);
  }
  const char* name = expected.kind == Kind::List ? "List" : expected.kind == Kind::Tuple ? "Tuple" : "Named tuple";
  return PyUnicode_FromFormat("%s arity mismatch: %u != %u; %s: %.200R.", name, unsigned(got.arity), unsigned(expected.arity),
                              kind_name(expected), tree);
}

// The first difference that was met, and the way down to it.
class Mismatch {
 public:
  bool found() const { return bool(expected_); }

  // Both are false always, for `return report(...)`. `tree` is what the node `got` was made of, if it is known.
  bool report(const Node& expected, const Node& got, PyObject* tree = nullptr) {
    none_expected_ = expected.kind == Kind::None;
    PyRef first(describe(expected));
    if (!first) return false;
    if (tree && !(headline_ = PyRef(headline(expected, got, tree)))) return false;
    got_ = PyRef(got.kind == Kind::Leaf && tree ? describe_leaf(Py_TYPE(tree)) : describe(got));
    if (got_) expected_ = std::move(first);
    return false;
  }
  bool below(const PyRef& key) {
    PyRef text(key ? PyObject_Str(key.get()) : nullptr);
    if (!text) {
      expected_ = PyRef();  // the Python error that is set wins
      return false;
    }
    steps_.push_back(std::move(text));
    return false;
  }

  // `first` says which tree does not match which; may be null.
  void raise(const PyRef& first) {
    PyRef empty(PyUnicode_FromString(""));
    PyRef steps(to_list(std::move(steps_)));
    if (!empty || !steps || PyList_Reverse(steps.get()) < 0) return;
    PyRef path(PyUnicode_Join(empty.get(), steps.get()));
    if (!path) return;
    PyRef where(PyUnicode_GET_LENGTH(path.get()) ? PyUnicode_FromFormat("at key path %U", path.get())
                                                 : PyUnicode_FromString("at the root"));
    if (!where) return;
    const char* remedy = none_expected_ ? "\nNone is a node without children; pass is_leaf=lambda x: x is None to have "
                                          "it treated as a leaf."
                                        : "";
    PyErr_Format(PyExc_ValueError, "%V%s%V%sExpected %U but got %U %U.%s", first.get(), "", first ? "\n" : "",
                 headline_.get(), "", headline_ ? " " : "", expected_.get(), got_.get(), where.get(), remedy);
  }

 private:
  PyRef expected_, got_, headline_;
  std::vector<PyRef> steps_;
  bool none_expected_ = false;
};

bool same_type(const Node& a, const Node& b) {
  return a.kind == b.kind && a.registration == b.registration && (a.kind != Kind::NamedTuple || a.data == b.data);
}

class UpTo {
 public:
  UpTo(const Node* nodes, std::vector<PyRef>& leaves) : nodes_(nodes), leaves_(leaves) {}
  Mismatch mismatch;

  bool match(size_t end, PyObject* tree) {
    const Node& node = nodes_[end];
    if (node.kind == Kind::Leaf) {
      leaves_.push_back(PyRef::share(tree));
      return true;
    }
    Node got;
    int kind = classify(Py_TYPE(tree), false, &got.registration);
    if (kind < 0) return false;
    got.kind = Kind(kind);
    PyRef children, data;
    if (!expand(tree, got.kind, got.registration, children, data, nullptr)) return false;
    got.data = std::move(data);
    got.arity = uint32_t(PyTuple_GET_SIZE(children.get()));
    if (!same_type(node, got) || node.arity != got.arity) return mismatch.report(node, got, tree);
    int same = same_data(node, got.data);
    if (same < 0) return false;
    if (!same) return mismatch.report(node, got, tree);
    if (node.num_nodes == node.arity + 1 && node.num_leaves == node.arity) return take_all(children.get());
    Level level;
    return level && match_children(end, tree, children.get());
  }

 private:
  bool take_all(PyObject* children) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(children); ++i) {
      leaves_.push_back(PyRef::share(PyTuple_GET_ITEM(children, i)));
    }
    return true;
  }

  bool match_children(size_t end, PyObject* tree, PyObject* children) {
    size_t first = ends_.size();
    child_ends(nodes_, end, ends_);
    bool done = true;
    for (size_t i = 0; done && i < nodes_[end].arity; ++i) {
      done = match(ends_[first + i], PyTuple_GET_ITEM(children, Py_ssize_t(i)));
      if (!done && mismatch.found()) mismatch.below(step(nodes_[end], tree, Py_ssize_t(i)));
    }
    ends_.resize(first);
    return done;
  }

  // The key of a child; asks the user's flatten-with-keys function where there is one.
  static PyRef step(const Node& node, PyObject* tree, Py_ssize_t i) {
    if (node.kind == Kind::Custom && node.registration->flatten_with_keys) {
      PyRef children, data, keys;
      if (!expand(tree, node.kind, node.registration, children, data, &keys)) return PyRef();
      if (i < PyTuple_GET_SIZE(keys.get())) return PyRef::share(PyTuple_GET_ITEM(keys.get(), i));
    }
    return PyRef(child_key(node.kind, node.registration, node.data, i));
  }

  const Node* nodes_;
  std::vector<PyRef>& leaves_;
  std::vector<size_t> ends_;  // of the children of the nodes on the way down
};

class Prefix {
 public:
  Prefix(const Node* prefix, const Node* full, std::vector<uint32_t>& counts) : prefix_(prefix), full_(full), counts_(counts) {}
  Mismatch mismatch;

  bool match(size_t end, size_t full_end) {
    const Node& node = prefix_[end];
    const Node& full = full_[full_end];
    if (node.kind == Kind::Leaf) {
      counts_.push_back(full.num_leaves);
      return true;
    }
    if (!same_type(node, full) || node.arity != full.arity) return mismatch.report(node, full);
    int same = same_data(node, full.data);
    if (same < 0) return false;
    if (!same) return mismatch.report(node, full);
    Level level;
    return level && match_children(end, full_end);
  }

 private:
  bool match_children(size_t end, size_t full_end) {
    std::vector<size_t> ends, full_ends;
    child_ends(prefix_, end, ends);
    child_ends(full_, full_end, full_ends);
    for (size_t i = 0; i < ends.size(); ++i) {
      if (match(ends[i], full_ends[i])) continue;
      const Node& node = prefix_[end];
      if (mismatch.found()) mismatch.below(PyRef(child_key(node.kind, node.registration, node.data, Py_ssize_t(i))));
      return false;
    }
    return true;
  }

  const Node *prefix_, *full_;
  std::vector<uint32_t>& counts_;
};

}  // namespace

int same_data(const Node& node, PyObject* other) {
  if (node.data == other) return 1;
  if (!node.data || !other) return 0;
  if (node.kind != Kind::Custom) return PyObject_RichCompareBool(node.data, other, Py_EQ);
  int same = PyObject_RichCompareBool(node.data, other, Py_EQ);
  if (same < 0 && PyErr_ExceptionMatches(PyExc_Exception)) {
    raise_from_current(PyExc_ValueError, kMetadataHint, node.registration->type.get());
  }
  return same;
}

void child_ends(const Node* nodes, size_t end, std::vector<size_t>& ends) {
  size_t first = ends.size(), arity = nodes[end].arity;
  ends.resize(first + arity);
  size_t child = end - 1;
  for (size_t i = arity; i-- > 0; child -= nodes[child].num_nodes) ends[first + i] = child;
}

PyObject* flatten_up_to(TreeDef* treedef, PyObject* tree, PyObject* caller, Py_ssize_t index) {
  std::vector<PyRef> leaves;
  UpTo walk(treedef->nodes(), leaves);
  if (walk.match(size_t(Py_SIZE(treedef)) - 1, tree)) return to_list(std::move(leaves));
  if (!walk.mismatch.found()) return nullptr;
  PyRef first;
  if (caller) {
    first = PyRef(PyUnicode_FromFormat("%U: pytree structure error: tree %zd does not match the structure of tree 0.", caller, index));
    if (!first) return nullptr;
  }
  walk.mismatch.raise(first);
  return nullptr;
}

PyObject* prefix_counts(TreeDef* prefix, TreeDef* full) {
  std::vector<uint32_t> counts;
  Prefix walk(prefix->nodes(), full->nodes(), counts);
  if (!walk.match(size_t(Py_SIZE(prefix)) - 1, size_t(Py_SIZE(full)) - 1)) {
    if (walk.mismatch.found()) walk.mismatch.raise(PyRef());
    return nullptr;
  }
  return new_list(counts.size(), [&](size_t i) { return PyLong_FromUnsignedLong(counts[i]); });
}

void raise_from_current(PyObject* type, const char* format, ...) {
  PyRef cause = fetch_error();
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  PyRef error = fetch_error();
  PyException_SetCause(error, PyRef(cause).release());  // which takes the reference, as the next does
  PyException_SetContext(error, cause.release());
  restore_error(std::move(error));
}

}  // namespace nj::pytree
