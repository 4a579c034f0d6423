// The parts of pytrees that its own files share: nodes, treedefs, registrations.
//
// A treedef is an immutable array of nodes in post-order (children before their parent, the root last), so that
// copying, comparing, hashing and unflattening are loops over an array; a subtree is a contiguous range.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "pytree/pytree.h"
#include "runtime/python/sequence.h"

namespace nj::pytree {

enum class Kind : uint8_t { Leaf, None, Tuple, List, Dict, NamedTuple, Custom };

// How instances of one type are taken apart and put together. Never freed: nodes point to it.
struct Registration {
  PyRef type;
  PyRef flatten;            // object -> (children, aux)
  PyRef unflatten;          // aux, children -> object
  PyRef flatten_with_keys;  // object -> ((key, child)..., aux); may be null
  // Dataclasses only: tuples of names; then the functions above are null.
  PyRef data_fields, meta_fields, all_fields;
};

struct Node {
  Kind kind = Kind::Leaf;
  uint32_t arity = 0;
  uint32_t num_leaves = 1;  // of the subtree
  uint32_t num_nodes = 1;   // of the subtree, this node included
  PyRef data;  // Dict: tuple of sorted keys; NamedTuple: the type; Custom: aux; otherwise null
  const Registration* registration = nullptr;  // Custom only
};

struct TreeDef {
  PyObject_VAR_HEAD
  Py_hash_t hash;  // -1 until asked for
  Node* nodes() { return reinterpret_cast<Node*>(this + 1); }
  const Node& root() { return nodes()[Py_SIZE(this) - 1]; }
};

// Nodes under construction; owns their data.
class NodeBuffer {
 public:
  NodeBuffer();
  ~NodeBuffer();
  NodeBuffer(const NodeBuffer&) = delete;
  NodeBuffer& operator=(const NodeBuffer&) = delete;

  size_t size() const { return nodes_.size(); }
  void add_leaf() { nodes_.push_back(Node()); }
  void add(Kind kind, size_t arity, size_t num_leaves, size_t num_nodes, PyRef data, const Registration* registration);
  void copy(const Node* begin, size_t count);
  // Gives the nodes to a new treedef and is empty afterwards.
  PyObject* finish();

 private:
  std::vector<Node> nodes_;
};

// Moves references into a new list.
PyObject* to_list(std::vector<PyRef> items);

extern PyTypeObject* treedef_type;
int treedef_type_init(PyObject* module);
TreeDef* as_treedef(PyObject* object);  // null with TypeError set when it is not one

// registry.cpp
int registry_init();
bool register_node(PyObject* type, PyObject* flatten, PyObject* unflatten, PyObject* flatten_with_keys);
bool register_dataclass(PyObject* type, PyObject* data_fields, PyObject* meta_fields);
const Registration* find_registration(PyTypeObject* type);
// What instances of `type` are, or -1 with an error set.
int classify(PyTypeObject* type, bool none_is_leaf, const Registration** registration);
// Children (a tuple) and node data of an object that is not a leaf; `keys` (may be null) gets a tuple of key entries.
bool expand(PyObject* object, Kind kind, const Registration* registration, PyRef& children, PyRef& data, PyRef* keys);
// Key entry of child i of a node whose instance is not at hand.
PyObject* child_key(Kind kind, const Registration* registration, PyObject* data, Py_ssize_t i);
bool set_key_types(PyObject* sequence, PyObject* dict, PyObject* attribute, PyObject* flat);
// The Python object that names a node's type: list, dict, a namedtuple class, a registered class...
PyObject* node_type(const Node& node);

// dict_items.cpp: values in the order of the sorted keys, as tuples.
bool sorted_items(PyObject* dict, PyRef& keys, PyRef& values);

// flatten.cpp
struct FlattenOptions {
  PyObject* is_leaf = nullptr;
  bool none_is_leaf = false;
  bool with_path = false;           // leaves are (path, leaf) pairs
  bool is_leaf_takes_path = false;  // is_leaf(path, node)
};
bool flatten(PyObject* tree, const FlattenOptions& options, std::vector<PyRef>& leaves, NodeBuffer& nodes);

// unflatten.cpp
PyObject* build_node(const Node& node, PyObject* const* children);
PyObject* unflatten(TreeDef* treedef, PyObject* const* leaves, Py_ssize_t n);
PyObject* unflatten_iterable(TreeDef* treedef, PyObject* leaves);
PyObject* walk(TreeDef* treedef, PyObject* f_node, PyObject* f_leaf, PyObject* leaves);
PyObject* from_iterable_tree(TreeDef* treedef, PyObject* tree);
PyObject* walk_data(const Node& node);

// match.cpp
PyObject* flatten_up_to(TreeDef* treedef, PyObject* tree, PyObject* caller, Py_ssize_t index);
PyObject* prefix_counts(TreeDef* prefix, TreeDef* full);
// Whether a node's data equal another's: 1, 0, or -1 with an error set.
int same_data(const Node& node, PyObject* other);

// For each child of nodes[end], the index of its own (last) node, appended to `ends` in order.
void child_ends(const Node* nodes, size_t end, std::vector<size_t>& ends);

// Guards one level of recursion; false with RecursionError set when a tree is nested too deeply.
class Level {
 public:
  Level();
  ~Level();
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

// Replaces the current exception by one of `type` that has it as its cause; formats as PyErr_Format does.
void raise_from_current(PyObject* type, const char* format, ...);

}  // namespace nj::pytree
