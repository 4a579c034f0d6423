// Traversal of the compiler's loop IR, whose nodes are Python objects (numjet/cpu/ir/nodes.py): expressions in preorder and in
// postorder, and the statements of a block. Every pass goes through all expressions some times; here a step takes a few lookups
// of attributes instead of a step of a Python generator.
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/python/guard.h"
#include "runtime/python/native.h"

namespace nj {
namespace {

struct Names {
  PyObject *id = PyUnicode_InternFromString("id"), *args = PyUnicode_InternFromString("args"),
           *op = PyUnicode_InternFromString("op"), *select_rare = PyUnicode_InternFromString("select_rare");
};

const Names& names() {
  static const Names* found = new Names;
  return *found;
}

// Numbers of expressions: open addressing, at most half full.
class IdSet {
 public:
  bool contains(int64_t id) const {
    for (size_t slot = home(id);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] == id) return true;
      if (slots_[slot] == kFree) return false;
    }
  }
  void add(int64_t id) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    count_ += place(id);
  }

 private:
  static constexpr int64_t kFree = -1;

  size_t home(int64_t id) const { return (size_t(id) * size_t(0x9E3779B97F4A7C15) >> 32) & (slots_.size() - 1); }
  bool place(int64_t id) {
    size_t slot = home(id);
    while (slots_[slot] != kFree && slots_[slot] != id) slot = (slot + 1) & (slots_.size() - 1);
    return std::exchange(slots_[slot], id) == kFree;
  }
  void grow() {
    std::vector<int64_t> old(2 * slots_.size(), kFree);
    std::swap(old, slots_);
    for (int64_t id : old) {
      if (id != kFree) place(id);
    }
  }

  std::vector<int64_t> slots_ = std::vector<int64_t>(32, kFree);
  size_t count_ = 0;
};

// An expression that waits for its turn.
struct Waiting {
  PyRef expr, id;
  int64_t number = 0;
  bool expanded = false;  // its operands come before it
};

bool describe(PyRef expr, Waiting& waiting) {
  waiting.id = PyRef(PyObject_GetAttr(expr, names().id));
  if (!waiting.id) return false;
  waiting.number = PyLong_AsLongLong(waiting.id);
  if (waiting.number < 0) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expressions are numbered from 0 on");
    return false;
  }
  waiting.expr = std::move(expr);
  return true;
}

// The operands of an expression, a tuple.
PyRef operands_of(PyObject* expr) {
  PyRef args(PyObject_GetAttr(expr, names().args));
  if (args && !PyTuple_Check(args.get())) {
    PyErr_Format(PyExc_TypeError, "the operands of an expression are a tuple, got %R", args.get());
    return PyRef();
  }
  return args;
}

bool push(std::vector<Waiting>& stack, PyObject* expr) {
  Waiting waiting;
  if (!describe(PyRef::share(expr), waiting)) return false;
  stack.push_back(std::move(waiting));
  return true;
}

PyObject* expr_nodes(PyObject*, PyObject* roots) {
  PyRef first(PySequence_List(roots)), found(PyList_New(0));
  if (!first || !found) return nullptr;
  std::vector<Waiting> stack;
  IdSet seen;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(first.get()); ++k) {
    if (!push(stack, PyList_GET_ITEM(first.get(), k))) return nullptr;
  }
  while (!stack.empty()) {
    const Waiting top = std::move(stack.back());
    stack.pop_back();
    if (seen.contains(top.number)) continue;
    seen.add(top.number);
    const PyRef args = operands_of(top.expr);
    if (!args || PyList_Append(found, top.expr) < 0) return nullptr;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args.get()); ++k) {
      if (!push(stack, PyTuple_GET_ITEM(args.get(), k))) return nullptr;
    }
  }
  return found.release();
}

// Expressions that are visited now, or were before.
class Visited {
 public:
  explicit Visited(PyObject* known) : known_(known) {}

  // -1 with an error set.
  int contains(const Waiting& one) const {
    if (seen_.contains(one.number)) return 1;
    if (PyDict_Check(known_)) return PyDict_Contains(known_, one.id);
    return PySequence_Contains(known_, one.id);
  }
  void add(const Waiting& one) { seen_.add(one.number); }

 private:
  PyObject* known_;
  IdSet seen_;
};

// Puts the operands that were not visited on the stack, the first one on top; false with an error set.
bool expand(std::vector<Waiting>& stack, const Visited& visited, bool usual) {
  stack.back().expanded = true;
  const PyRef expr = stack.back().expr, args = operands_of(expr);
  if (!args) return false;
  bool rare = false;
  if (usual && PyTuple_GET_SIZE(args.get()) == 3) {
    const PyRef op(PyObject_GetAttr(expr, names().op));
    if (!op) return false;
    rare = PyUnicode_Check(op.get()) && PyUnicode_Compare(op, names().select_rare) == 0;
  }
  for (Py_ssize_t k = PyTuple_GET_SIZE(args.get()) - 1; k >= 0; --k) {
    if (rare && k == 1) continue;
    Waiting operand;
    if (!describe(PyRef::share(PyTuple_GET_ITEM(args.get(), k)), operand)) return false;
    const int before = visited.contains(operand);
    if (before < 0) return false;
    if (!before) stack.push_back(std::move(operand));
  }
  return true;
}

PyObject* expr_postorder(PyObject*, PyObject* args) {
  PyObject *roots, *known;
  int usual = 0;
  if (!PyArg_ParseTuple(args, "OO|p:expr_postorder", &roots, &known, &usual)) return nullptr;
  PyRef first(PySequence_List(roots)), found(PyList_New(0));
  if (!first || !found) return nullptr;
  std::vector<Waiting> stack;
  Visited visited(known);
  for (Py_ssize_t k = PyList_GET_SIZE(first.get()) - 1; k >= 0; --k) {
    if (!push(stack, PyList_GET_ITEM(first.get(), k))) return nullptr;
  }
  while (!stack.empty()) {
    const int before = visited.contains(stack.back());
    if (before < 0) return nullptr;
    if (before) {
      stack.pop_back();
    } else if (!stack.back().expanded) {
      if (!expand(stack, visited, usual)) return nullptr;
    } else {
      visited.add(stack.back());
      if (PyList_Append(found, stack.back().expr) < 0) return nullptr;
      stack.pop_back();
    }
  }
  return found.release();
}

// Puts the statements of a block on the stack, the first one on top.
bool push_block(std::vector<PyRef>& stack, PyObject* block) {
  const PyRef statements(PySequence_Fast(block, "a block is a list of statements"));
  if (!statements) return false;
  for (Py_ssize_t k = PySequence_Fast_GET_SIZE(statements.get()) - 1; k >= 0; --k) {
    stack.push_back(PyRef::share(PySequence_Fast_GET_ITEM(statements.get(), k)));
  }
  return true;
}

PyObject* statements(PyObject*, PyObject* args) {
  PyObject *block, *plain, *blocks;
  if (!PyArg_ParseTuple(args, "OOO:statements", &block, &plain, &blocks)) return nullptr;
  PyRef found(PyList_New(0));
  std::vector<PyRef> stack;
  if (!found || !push_block(stack, block)) return nullptr;
  while (!stack.empty()) {
    const PyRef top = std::move(stack.back());
    stack.pop_back();
    if (PyList_Append(found, top) < 0) return nullptr;
    const int known = PySequence_Contains(plain, reinterpret_cast<PyObject*>(Py_TYPE(top.get())));
    if (known < 0) return nullptr;
    if (known) continue;
    const PyRef inside(PyObject_CallOneArg(blocks, top));
    const PyRef inner(inside ? PySequence_Fast(inside, "blocks are a list") : nullptr);
    if (!inner) return nullptr;
    for (Py_ssize_t k = PySequence_Fast_GET_SIZE(inner.get()) - 1; k >= 0; --k) {
      if (!push_block(stack, PySequence_Fast_GET_ITEM(inner.get(), k))) return nullptr;
    }
  }
  return found.release();
}

PyMethodDef functions[] = {
    {"expr_nodes", method<expr_nodes>(), METH_O,
     PyDoc_STR("expr_nodes(roots): every expression below, each once, users before operands.")},
    {"expr_postorder", method<expr_postorder>(), METH_VARARGS,
     PyDoc_STR("expr_postorder(roots, known, usual=False): every expression below that `known`, a container of numbers, does not "
               "have, each once, operands before users. usual: without rare values.")},
    {"statements", method<statements>(), METH_VARARGS,
     PyDoc_STR("statements(block, plain, blocks): every statement in preorder; blocks(statement): the blocks inside of those whose "
               "type is not in the set `plain`.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int ir_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
