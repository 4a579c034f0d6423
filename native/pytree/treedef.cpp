// PyTreeDef, the Python type: storage, comparing, printing.
#include "runtime/python/guard.h"
#include "pytree/node.h"

namespace nj::pytree {

PyTypeObject* treedef_type = nullptr;
extern PyMethodDef treedef_methods[];  // methods.cpp

namespace {

// A buffer's memory, kept for the next one of this thread.
thread_local std::vector<Node> spare_nodes;
constexpr size_t kLargestSpare = 1 << 14;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

// Metadata that cannot be hashed do not contribute: equality, not the hash, distinguishes treedefs.
bool mix_metadata(uint64_t& hash, PyObject* data) {
  Py_hash_t data_hash = PyObject_Hash(data);
  if (data_hash == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_Clear();
    return true;
  }
  hash = mix(hash, uint64_t(data_hash));
  return true;
}

bool mix_node(uint64_t& hash, const Node& node) {
  hash = mix(hash, uint64_t(node.kind) | uint64_t(node.arity) << 8);
  switch (node.kind) {
    case Kind::Dict: {
      Py_hash_t keys = PyObject_Hash(node.data);
      if (keys == -1 && PyErr_Occurred()) return false;
      hash = mix(hash, uint64_t(keys));
      return true;
    }
    case Kind::NamedTuple: hash = mix(hash, reinterpret_cast<uintptr_t>(node.data.get())); return true;
    case Kind::Custom: hash = mix(hash, reinterpret_cast<uintptr_t>(node.registration)); return mix_metadata(hash, node.data);
    default: return true;
  }
}

// Untracked tuples hold nothing that can refer back, for good; an untracked dict may be tracked later.
bool may_be_in_cycle(const Node& node) {
  if (!node.data || !PyType_IS_GC(Py_TYPE(node.data))) return false;
  return !PyTuple_CheckExact(node.data) || PyObject_GC_IsTracked(node.data);
}

int treedef_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  TreeDef* treedef = reinterpret_cast<TreeDef*>(self);
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) Py_VISIT(treedef->nodes()[i].data);
  return 0;  // immutable, as a tuple is: cycles are broken at the object that metadata belong to
}

void treedef_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, guarded<treedef_dealloc>);  // as the type has it
  TreeDef* treedef = reinterpret_cast<TreeDef*>(self);
  const Handle<PyTypeObject> type(Py_TYPE(self));
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) destroy(treedef->nodes()[i]);
  PyObject_GC_Del(self);
  Py_TRASHCAN_END;
}

// The text of `object` appended to `text`; false with an error set.
bool append_text(std::string& text, PyObject* (*convert)(PyObject*), PyObject* object) {
  PyRef string(convert(object));
  if (!string) return false;
  // Lone surrogates cannot be UTF-8; they come out escaped.
  PyRef bytes(PyUnicode_AsEncodedString(string.get(), "utf-8", "backslashreplace"));
  if (!bytes) return false;
  text.append(PyBytes_AS_STRING(bytes.get()), size_t(PyBytes_GET_SIZE(bytes.get())));
  return true;
}

PyObject* name_of(PyObject* type) { return PyType_GetName(reinterpret_cast<PyTypeObject*>(type)); }

std::string joined(const std::string* items, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + items[i];
  return text;
}

bool dict_text(const Node& node, const std::string* children, std::string& text) {
  text = "{";
  for (size_t i = 0; i < node.arity; ++i) {
    if (i) text += ", ";
    if (!append_text(text, PyObject_Repr, PyTuple_GET_ITEM(node.data.get(), Py_ssize_t(i)))) return false;
    text += ": " + children[i];
  }
  text += '}';
  return true;
}

bool custom_text(const Node& node, const std::string* children, std::string& text) {
  bool named = node.kind == Kind::NamedTuple;
  text = "CustomNode(";
  if (!append_text(text, named ? [](PyObject*) { return PyUnicode_FromString("namedtuple"); } : name_of,
                   named ? node.data.get() : node.registration->type.get())) {
    return false;
  }
  text += '[';
  if (!append_text(text, named ? name_of : PyObject_Str, node.data)) return false;
  text += "], [" + joined(children, node.arity) + "])";
  return true;
}

bool node_text(const Node& node, const std::string* children, std::string& text) {
  switch (node.kind) {
    case Kind::Leaf: text = "*"; return true;
    case Kind::None: text = "None"; return true;
    case Kind::Tuple: text = "(" + joined(children, node.arity) + (node.arity == 1 ? ",)" : ")"); return true;
    case Kind::List: text = "[" + joined(children, node.arity) + "]"; return true;
    case Kind::Dict: return dict_text(node, children, text);
    default: return custom_text(node, children, text);
  }
}

PyObject* treedef_repr(PyObject* self) {
  TreeDef* treedef = reinterpret_cast<TreeDef*>(self);
  std::vector<std::string> stack;
  for (Py_ssize_t i = 0; i < Py_SIZE(treedef); ++i) {
    const Node& node = treedef->nodes()[i];
    std::string text;
    size_t first = stack.size() - node.arity;
    if (!node_text(node, stack.data() + first, text)) return nullptr;
    stack.resize(first);
    stack.push_back(std::move(text));
  }
  std::string all = "PyTreeDef(" + stack.back() + ")";
  return PyUnicode_FromStringAndSize(all.data(), Py_ssize_t(all.size()));
}

PyObject* treedef_richcompare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(b) != treedef_type) Py_RETURN_NOTIMPLEMENTED;
  int same = pytree_equal(a, b);
  if (same < 0) return nullptr;
  return PyBool_FromLong((same == 1) == (op == Py_EQ));
}

PyObject* get_num_leaves(PyObject* self, void*) { return PyLong_FromSsize_t(pytree_num_leaves(self)); }
PyObject* get_num_nodes(PyObject* self, void*) { return PyLong_FromSsize_t(Py_SIZE(self)); }

PyGetSetDef treedef_getset[] = {
    {"num_leaves", guarded<get_num_leaves>, nullptr, PyDoc_STR("Number of leaves."), nullptr},
    {"num_nodes", guarded<get_num_nodes>, nullptr, PyDoc_STR("Number of nodes, leaves included."), nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

NodeBuffer::NodeBuffer() { nodes_.swap(spare_nodes); }

NodeBuffer::~NodeBuffer() {
  nodes_.clear();
  if (nodes_.capacity() <= kLargestSpare && nodes_.capacity() > spare_nodes.capacity()) nodes_.swap(spare_nodes);
}

void NodeBuffer::add(Kind kind, size_t arity, size_t num_leaves, size_t num_nodes, PyRef data,
                     const Registration* registration) {
  nodes_.push_back(Node{kind, uint32_t(arity), uint32_t(num_leaves), uint32_t(num_nodes), std::move(data), registration});
}

void NodeBuffer::copy(const Node* begin, size_t count) { nodes_.insert(nodes_.end(), begin, begin + count); }

PyObject* NodeBuffer::finish() {
  if (nodes_.size() >= UINT32_MAX) {
    PyErr_SetString(PyExc_OverflowError, "a pytree may have at most 2**32 - 2 nodes");
    return nullptr;
  }
  TreeDef* treedef = PyObject_GC_NewVar(TreeDef, treedef_type, Py_ssize_t(nodes_.size()));
  if (!treedef) return nullptr;
  treedef->hash = -1;
  bool tracked = false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    tracked |= may_be_in_cycle(nodes_[i]);
    new (&treedef->nodes()[i]) Node(std::move(nodes_[i]));
  }
  nodes_.clear();
  if (tracked) PyObject_GC_Track(treedef);
  return reinterpret_cast<PyObject*>(treedef);
}

PyObject* to_list(std::vector<PyRef> items) {
  return new_list(items.size(), [&](size_t i) { return items[i].release(); });
}

TreeDef* as_treedef(PyObject* object) {
  if (Py_TYPE(object) == treedef_type) return reinterpret_cast<TreeDef*>(object);
  PyErr_Format(PyExc_TypeError, "expected a PyTreeDef (as tree_structure gives it), got %R", object);
  return nullptr;
}

int treedef_type_init(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The structure of a pytree: its containers without their leaves. Immutable.")},
      slot<treedef_dealloc>(Py_tp_dealloc),
      no_instances(),
      slot<treedef_traverse>(Py_tp_traverse),
      slot<treedef_repr>(Py_tp_repr),
      slot<pytree_hash>(Py_tp_hash),
      slot<treedef_richcompare>(Py_tp_richcompare),
      {Py_tp_methods, treedef_methods},
      {Py_tp_getset, treedef_getset},
      {0, nullptr}};
  static PyType_Spec spec = {
      "numjet.tree_util.PyTreeDef", int(sizeof(TreeDef)), int(sizeof(Node)),
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots};
  treedef_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!treedef_type) return -1;
  return PyModule_AddObjectRef(module, "PyTreeDef", reinterpret_cast<PyObject*>(treedef_type));
}

}  // namespace nj::pytree

using namespace nj::pytree;

bool pytree_is_treedef(PyObject* object) { return Py_TYPE(object) == treedef_type; }

Py_ssize_t pytree_num_leaves(PyObject* treedef) { return Py_ssize_t(reinterpret_cast<TreeDef*>(treedef)->root().num_leaves); }

Py_hash_t pytree_hash(PyObject* self) {
  TreeDef* treedef = reinterpret_cast<TreeDef*>(self);
  if (treedef->hash != -1) return treedef->hash;
  uint64_t hash = uint64_t(Py_SIZE(self));
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) {
    if (!mix_node(hash, treedef->nodes()[i])) return -1;
  }
  treedef->hash = Py_hash_t(hash) == -1 ? -2 : Py_hash_t(hash);
  return treedef->hash;
}

PyObject* pytree_data(PyObject* self) {
  TreeDef* treedef = reinterpret_cast<TreeDef*>(self);
  Py_ssize_t count = 0, at = 0;
  for (Py_ssize_t i = 0; i < Py_SIZE(self); ++i) count += bool(treedef->nodes()[i].data);
  PyObject* data = PyTuple_New(count);
  for (Py_ssize_t i = 0; data && i < Py_SIZE(self); ++i) {
    if (treedef->nodes()[i].data) PyTuple_SET_ITEM(data, at++, Py_NewRef(treedef->nodes()[i].data));
  }
  return data;
}

int pytree_equal(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  TreeDef *left = reinterpret_cast<TreeDef*>(a), *right = reinterpret_cast<TreeDef*>(b);
  if (Py_SIZE(a) != Py_SIZE(b)) return 0;
  for (Py_ssize_t i = Py_SIZE(a) - 1; i >= 0; --i) {
    const Node &x = left->nodes()[i], &y = right->nodes()[i];
    if (x.kind != y.kind || x.arity != y.arity || x.registration != y.registration) return 0;
    if (x.kind == Kind::NamedTuple && x.data != y.data) return 0;
    int same = same_data(x, y.data);
    if (same != 1) return same;
  }
  return 1;
}
