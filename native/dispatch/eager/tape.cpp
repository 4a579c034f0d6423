// The steps of a tape. A loop or a reduction is an inner loop of a NumPy ufunc, run on whole contiguous arrays as the ufunc
// would, or a loop of our own with the same results; other steps share or copy parts of an operand's memory, select between two
// operands, or call a function of NumPy arrays. So a tape gives the bits that evaluating its operations one by one gives. Values
// that only steps without Python read lie in scratch memory, which later values take over: that of the plan, or else of the run.
#include "dispatch/eager/tape.h"

#include <algorithm>
#include <cstring>

#include "array/from_python.h"
#include "dispatch/eager/moves.h"
#include "dispatch/eager/tape_plan.h"
#include "pytree/pytree.h"
#include "runtime/python/guard.h"
#include "runtime/memory/blocks.h"
#include "runtime/memory/small_vector.h"
#include "runtime/python/sequence.h"

extern "C" void nj_gemm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_batch,
                        int64_t a_row, int64_t a_col, const char* b, int64_t b_batch, int64_t b_row, int64_t b_col, char* c,
                        int64_t add);
extern "C" int64_t nj_sort(int64_t num_operands, int64_t num_keys, const int64_t* codes, char* const* ins, char* const* outs,
                           int64_t outer, int64_t axis, int64_t inner, const int64_t* in_strides, const int64_t* out_strides);

namespace nj {

namespace {

constexpr int64_t kLongProduct = 1 << 15;  // multiply-adds from which other Python threads may run meanwhile

}  // namespace

PyTypeObject* tape_type = nullptr;

namespace {

PyGlobal error_state, ignoring;  // NumPy's context variable, and its value that ignores floating-point errors

Tape* as_tape(PyObject* self) { return reinterpret_cast<Tape*>(self); }

// Ignores floating-point errors while it lives.
class QuietErrors {
 public:
  explicit QuietErrors(bool needed) {
    if (needed && error_state) token_ = PyRef(PyContextVar_Set(error_state.get(), ignoring.get()));
    failed = needed && error_state && !token_;
  }
  ~QuietErrors() {
    if (!token_) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyContextVar_Reset(error_state.get(), token_) < 0) PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
  bool failed;

 private:
  PyRef token_;
};

constexpr size_t kInlineValues = 16;

// The values of a run, by number: arrays, or scratch memory.
class Values {
 public:
  explicit Values(const TapePlan& plan)
      : places_(plan.places.data()), block_(plan.memory ? 0 : plan.scratch), scratch_(plan.memory ? plan.memory.get() : block_.data()),
        failed(block_.failed) {
    arrays_.reserve(plan.places.size());
    for (size_t k = 0; k < plan.ins.size(); ++k) arrays_.push_back(nullptr);
    for (const ArrayRef& constant : plan.constants) arrays_.push_back(constant);
    while (arrays_.size() < plan.places.size()) arrays_.push_back(nullptr);
  }
  void set_array(uint32_t number, ArrayRef array) {
    arrays_[number] = array;
    owned_.push_back(std::move(array));
  }
  bool is_array(uint32_t number) const { return places_[number] < 0; }
  Array* array(uint32_t number) { return arrays_[number]; }
  char* data(uint32_t number) { return is_array(number) ? arrays_[number]->buffer->data : scratch_ + places_[number]; }
  // Null, or an operand that was deleted.
  Array* deleted(const std::vector<uint32_t>& numbers) {
    for (uint32_t number : numbers) {
      if (is_array(number) && !arrays_[number]->buffer) return arrays_[number];
    }
    return nullptr;
  }
  // What keeps the memory of a value while other threads run.
  BufferRef hold(uint32_t number) { return is_array(number) ? arrays_[number]->buffer : BufferRef(); }

 private:
  const npy_intp* places_;
  SmallVector<Array*, kInlineValues> arrays_;
  SmallVector<ArrayRef, kInlineValues> owned_;  // all of these but constants
  Scratch block_;
  char* const scratch_;

 public:
  const bool failed;
};

// Beyond 32 bits an int is rounded once by the function, twice here.
bool fits(PyObject* leaf) {
  if (!PyLong_CheckExact(leaf)) return true;
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(leaf, &overflow);
  return !overflow && value == int32_t(value);
}

// 1: all inputs are there. 0: one is not ready, or no number of its type.
int collect(const Tape* tape, PyObject* const* leaves, Values& values) {
  const TapePlan& plan = *tape->plan;
  for (size_t k = 0; k < plan.ins.size(); ++k) {
    if (is_array(leaves[k])) {
      auto* array = reinterpret_cast<Array*>(leaves[k]);
      if (array->remote || !array_ready(array)) return 0;
      values.set_array(uint32_t(k), ArrayRef::share(array));
      continue;
    }
    if (!fits(leaves[k])) return 0;
    ArrayRef made = array_from_leaf(leaves[k], plan.ins[k], tape->device);
    if (!made) return PyErr_Clear(), 0;  // the function says what is wrong
    values.set_array(uint32_t(k), std::move(made));
  }
  return 1;
}

void run_loop(const Step& step, Values& values, char* out) {
  char* data[kMostOperands + 1];
  for (size_t k = 0; k < step.ins.size(); ++k) data[k] = values.data(step.ins[k]);
  npy_intp count = step.outs[0]->size;
  if (step.own) return step.own(out, data, count);
  data[step.ins.size()] = out;
  if (count) step.loop(data, &count, step.strides, step.data);
}

void run_part(const Step& step, Values& values, char* out) {
  const AvalInfo* info = step.outs[0];
  if (info->size) part_copy(info->itemsize)(out, values.data(step.ins[0]) + step.offset, info->dims, step.part_strides);
}

void run_take(const Step& step, Values& values, char* out) {
  taking(step.outs[0]->itemsize)(out, values.data(step.ins[0]), values.data(step.ins[1]), step.table);
}

// The place of the element that an index vector means, which is moved into bounds; -1 if it is out of bounds and not moved.
template <class T> int64_t place_of(const Step& step, const char* vector) {
  int64_t place = 0;
  for (size_t k = 0; k < step.limits.size(); ++k) {
    const int64_t index = reinterpret_cast<const T*>(vector)[k];
    const int64_t inside = std::clamp<int64_t>(index, 0, step.limits[k]);
    if (step.fills && index != inside) return -1;
    place += inside * step.operand_strides[k];
  }
  return place;
}

void run_gather(const Step& step, Values& values, char* out) {
  const char* indices = values.data(step.ins[1]);
  const size_t width = step.limits.size() * (step.long_indices ? sizeof(int64_t) : sizeof(int32_t));
  std::vector<int64_t> table(step.table.size());
  for (size_t k = 0; k < table.size(); ++k) {
    const char* vector = indices + size_t(step.vectors[k]) * width;
    const int64_t place = step.long_indices ? place_of<int64_t>(step, vector) : place_of<int32_t>(step, vector);
    table[k] = place < 0 ? -1 : place + step.table[k];
  }
  taking(step.outs[0]->itemsize)(out, values.data(step.ins[0]), values.data(step.ins[2]), table);
}

void run_join(const Step& step, Values& values, char* out) {
  for (size_t block = 0; block < step.blocks; ++block) {
    for (size_t k = 0; k < step.ins.size(); ++k) {
      const size_t bytes = step.lengths[k];
      if (bytes) std::memcpy(out, values.data(step.ins[k]) + block * bytes, bytes);
      out += bytes;
    }
  }
}

// Calls the inner loop as the ufunc's `reduce` does for contiguous arrays: along rows of one element by one call with a result
// that stands still, else row by row.
void run_reduce(const Step& step, Values& values, char* result) {
  const npy_intp item = step.outs[0]->itemsize, row = step.length * item;
  char* in = values.data(step.ins[0]);
  for (npy_intp part = 0; part < step.parts; ++part, in += step.rows * row, result += row) {
    const npy_intp begin = step.initial.empty() ? 1 : 0;
    if (begin) std::memcpy(result, in, size_t(row));
    else for (npy_intp k = 0; k < step.length; ++k) std::memcpy(result + k * item, step.initial.data(), size_t(item));
    if (step.length == 1) {
      char* data[3] = {result, in + begin * item, result};
      npy_intp count = step.rows - begin;
      const npy_intp strides[3] = {0, item, 0};
      if (count) step.loop(data, &count, strides, step.data);
      continue;
    }
    for (npy_intp k = begin; k < step.rows; ++k) {
      char* data[3] = {result, in + k * row, result};
      npy_intp count = step.length;
      const npy_intp strides[3] = {item, item, item};
      step.loop(data, &count, strides, step.data);
    }
  }
}

void run_product(const Step& s, Values& values, char* out) {
  const BufferRef x_held = values.hold(s.ins[0]), y_held = values.hold(s.ins[1]);
  const char *x = values.data(s.ins[0]), *y = values.data(s.ins[1]);
  const auto multiply = [&] {
    nj_gemm(s.code, s.batch, s.m, s.n, s.k, x, s.left[0], s.left[1], s.left[2], y, s.right[0], s.right[1], s.right[2], out, 0);
  };
  if (s.batch * s.m * s.n * s.k < kLongProduct) {
    multiply();
  } else {
    Py_BEGIN_ALLOW_THREADS
    multiply();
    Py_END_ALLOW_THREADS
  }
}

int run_sort(const Step& step, Values& values) {
  SmallVector<char*, 8> ins, outs;
  for (uint32_t number : step.ins) ins.push_back(values.data(number));
  for (size_t k = 0; k < step.outs.size(); ++k) outs.push_back(values.data(step.number + uint32_t(k)));
  const int64_t status = nj_sort(int64_t(step.ins.size()), step.k, step.codes.data(), ins.begin(), outs.begin(), step.parts,
                                 step.rows, step.length, nullptr, nullptr);
  if (status) PyErr_Format(PyExc_RuntimeError, "Tape: nj_sort returned %lld", static_cast<long long>(status));
  return status ? -1 : 0;
}

// Whether the call is like the one that was recorded.
bool passes_guard(const Step& step, Values& values) {
  const char* data = values.data(step.ins[0]);
  return std::any_of(data, data + step.codes[0], [](char x) { return x != 0; }) == step.expected;
}

ArrayRef wrap(PyObject* result, AvalInfo* info, PyObject* device) {
  PyRef array(PyArray_Check(result) ? Py_NewRef(result) : PyArray_FROM_O(result));
  return array ? array_of_ndarray(reinterpret_cast<PyArrayObject*>(array.get()), info, device) : ArrayRef();
}

int run_call(const Step& step, Values& values, PyObject* device) {
  SmallVector<PyRef, 8> owned;
  SmallVector<PyObject*, 8> args;
  for (uint32_t number : step.ins) {
    PyRef view(array_view(values.array(number)));
    if (!view) return -1;
    args.push_back(view);
    owned.push_back(std::move(view));
  }
  for (const PyRef& parameter : step.parameters) args.push_back(parameter);
  PyRef result(PyObject_Vectorcall(step.function, args.begin(), step.ins.size(), step.names));
  if (!result) return -1;
  if (!step.multiple) {
    ArrayRef out = wrap(result, step.outs[0], device);
    if (!out) return -1;
    values.set_array(step.number, std::move(out));
    return 0;
  }
  PyRef items(PySequence_Tuple(result));
  if (!items) return -1;
  if (size_t(PyTuple_GET_SIZE(items.get())) != step.outs.size()) {
    PyErr_Format(PyExc_TypeError, "Tape: a step gave %zd results, not %zu", PyTuple_GET_SIZE(items.get()), step.outs.size());
    return -1;
  }
  for (size_t k = 0; k < step.outs.size(); ++k) {
    ArrayRef out = wrap(PyTuple_GET_ITEM(items.get(), Py_ssize_t(k)), step.outs[k], device);
    if (!out) return -1;
    values.set_array(step.number + uint32_t(k), std::move(out));
  }
  return 0;
}

int run_share(const Step& step, Values& values, PyObject* device) {
  if (!values.is_array(step.number)) return 0;
  ArrayRef out = array_share(values.array(step.ins[0]), step.outs[0], device, false);
  if (!out) return -1;
  values.set_array(step.number, std::move(out));
  return 0;
}

constexpr int kOtherCall = 1;  // than the one that was recorded: it is for the function itself

// 0, -1 with an error set, or kOtherCall.
int run_step(const Step& step, Values& values, PyObject* device) {
  if (step.kind == StepKind::Call) return run_call(step, values, device);
  if (step.kind == StepKind::Share) return run_share(step, values, device);
  for (size_t k = 0; k < step.outs.size(); ++k) {
    const uint32_t number = step.number + uint32_t(k);
    if (!values.is_array(number)) continue;
    ArrayRef array = array_empty(step.outs[k], device, false);
    if (!array) return -1;
    values.set_array(number, std::move(array));
  }
  // Python code of other steps, or of finalizers, may have deleted an array.
  if (Array* deleted = values.deleted(step.ins)) return raise_deleted(deleted);
  char* out = values.data(step.number);
  switch (step.kind) {
    case StepKind::Part: run_part(step, values, out); break;
    case StepKind::Take: run_take(step, values, out); break;
    case StepKind::Gather: run_gather(step, values, out); break;
    case StepKind::Join: run_join(step, values, out); break;
    case StepKind::Product: run_product(step, values, out); break;
    case StepKind::Reduce: run_reduce(step, values, out); break;
    case StepKind::Sort: return run_sort(step, values);
    case StepKind::Extreme: step.extreme(out, values.data(step.ins[0]), step.parts, step.rows, step.length); break;
    case StepKind::Guard: return passes_guard(step, values) ? 0 : kOtherCall;
    default: run_loop(step, values, out);
  }
  return 0;
}

// Whether the step is a quick one.
bool run_quick(const QuickStep& step) {
  if (step.loop) return step.loop(step.out, step.ins, step.count), true;
  if (!step.ufunc) return false;
  char* data[kMostOperands];
  const size_t operands = step.ufunc->ins.size();
  for (size_t k = 0; k < operands; ++k) data[k] = const_cast<char*>(step.ins[k]);
  data[operands] = step.out;
  npy_intp count = step.count;
  if (count) step.ufunc->loop(data, &count, step.ufunc->strides, step.ufunc->data);
  return true;
}

// Puts the inputs where quick steps read them.
int copy_inputs(const TapePlan& plan, Values& values) {
  for (size_t k = 0; k < plan.copied.size(); ++k) {
    if (plan.copied[k] < 0) continue;
    Array* array = values.array(uint32_t(k));
    if (!array->buffer) return raise_deleted(array);
    std::memcpy(plan.memory.get() + plan.copied[k], array->buffer->data, plan.ins[k]->nbytes);
  }
  return 0;
}

int run_steps(const TapePlan& plan, Values& values, PyObject* device) {
  if (plan.memory && copy_inputs(plan, values) < 0) return -1;
  const QuickStep* quick = plan.quick.data();
  for (const Step& step : plan.steps) {
    if (plan.memory && run_quick(*quick++)) continue;
    if (const int status = run_step(step, values, device)) return status;
  }
  return 0;
}

// Holds the memory of a plan for one run.
class InUse {
 public:
  explicit InUse(TapePlan& plan) : plan_(plan) { plan.busy = true; }
  ~InUse() { plan_.busy = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  TapePlan& plan_;
};

PyRef result_of(const Result& result, Values& values, PyObject* device) {
  Array* value = values.array(result.value);
  if (!result.info) return as(ArrayRef::share(value));
  return as(array_share(value, result.info, device, false));  // a handle of its own
}

}  // namespace

PyObject* run_tape(Tape* tape, PyObject* const* leaves, size_t count) {
  const Handle<Tape> alive = Handle<Tape>::share(tape);
  TapePlan& plan = *tape->plan;
  if (count != plan.ins.size() || (plan.busy && plan.memory)) return nullptr;
  const InUse using_plan(plan);
  Values values(plan);
  if (values.failed) return raise_no_memory(plan.scratch), nullptr;
  if (collect(tape, leaves, values) == 0) return nullptr;
  {
    QuietErrors quiet(plan.calls);
    if (quiet.failed) return nullptr;
    if (run_steps(plan, values, tape->device)) return nullptr;
  }
  if (!tape->treedef) return result_of(plan.results[0], values, tape->device).release();
  std::vector<PyRef> results;
  for (const Result& result : plan.results) {
    results.push_back(result_of(result, values, tape->device));
    if (!results.back()) return nullptr;
  }
  return pytree_unflatten(tape->treedef, results.data(), Py_ssize_t(results.size()));
}

namespace {

PyObject* new_tape(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *avals, *constants, *steps, *numbers, *outs, *handed, *treedef, *device;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!OO:Tape", &PyTuple_Type, &avals, &PyTuple_Type, &constants, &PyTuple_Type, &steps,
                        &PyTuple_Type, &numbers, &PyTuple_Type, &outs, &PyTuple_Type, &handed, &treedef, &device)) {
    return nullptr;
  }
  PyRef self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  Tape* tape = as_tape(self.get());
  construct(tape->plan, tape->device, tape->treedef);
  tape->plan = std::make_unique<TapePlan>();
  tape->device = PyRef::share(device);
  tape->treedef = PyRef::share(treedef == Py_None ? nullptr : treedef);
  if (!read_plan(*tape->plan, {avals, constants, steps, numbers, outs, handed})) return nullptr;
  const size_t leaves = tape->treedef ? size_t(pytree_num_leaves(tape->treedef)) : 1, results = tape->plan->results.size();
  if (leaves != results) {
    return PyErr_Format(PyExc_ValueError, "Tape: %zu results for a structure of %zu leaves", results, leaves);
  }
  return self.release();
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Tape* tape = as_tape(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(tape->device);
  Py_VISIT(tape->treedef);
  if (!tape->plan) return 0;
  for (const Step& step : tape->plan->steps) {
    Py_VISIT(step.function);
    for (const PyRef& parameter : step.parameters) Py_VISIT(parameter);
  }
  return 0;
}

int clear(PyObject*) {
  // Nothing: a call may be running; cycles go through the function, which lets go of its tapes.
  return 0;
}

void dealloc(PyObject* self) {
  Tape* tape = as_tape(self);
  PyObject_GC_UnTrack(self);
  destroy(tape->plan, tape->device, tape->treedef);
  free_instance(self);
}

PyObject* run(PyObject* self, PyObject* leaves) {
  if (!PyTuple_Check(leaves)) return PyErr_Format(PyExc_TypeError, "Tape.run: expected a tuple, got %R", leaves);
  PyObject* result = run_tape(as_tape(self), reinterpret_cast<PyTupleObject*>(leaves)->ob_item, size_t(PyTuple_GET_SIZE(leaves)));
  return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}

PyObject* kinds(PyObject* self, PyObject*) {
  const std::vector<Step>& steps = as_tape(self)->plan->steps;
  static const char* const names[] = {"loop", "share", "part", "take", "gather", "join", "select", "product", "convert", "reduce",
                                       "sort", "extreme", "guard", "call"};
  return new_tuple(steps.size(), [&](size_t k) { return PyUnicode_FromString(names[size_t(steps[k].kind)]); });
}

PyObject* set_error_state(PyObject*, PyObject* args) {
  PyObject *variable, *value;
  if (!PyArg_ParseTuple(args, "OO:set_error_state", &variable, &value)) return nullptr;
  if (!PyContextVar_CheckExact(variable)) return PyErr_Format(PyExc_TypeError, "expected a context variable, got %R", variable);
  error_state.exchange(PyRef::share(variable));
  ignoring.exchange(PyRef::share(value));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"run", method<run>(), METH_O, PyDoc_STR("run(leaves): the result; NotImplemented where the function itself is to be called.")},
    {"kinds", method<kinds>(), METH_NOARGS, PyDoc_STR("The kinds of its steps, in order.")},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {slot<new_tape>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>("The steps of an eager call.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.Tape", sizeof(Tape), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

PyMethodDef functions[] = {
    {"set_error_state", method<set_error_state>(), METH_VARARGS,
     PyDoc_STR("set_error_state(variable, value): NumPy's context variable of floating-point errors, and its value that ignores "
               "them, which steps that call Python functions set.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int tape_init(PyObject* module) {
  if (tape_read_init() < 0) return -1;
  tape_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tape_type || PyModule_AddObjectRef(module, "Tape", reinterpret_cast<PyObject*>(tape_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj
