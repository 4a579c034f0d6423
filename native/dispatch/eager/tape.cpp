// The steps of a tape. A loop or a reduction is an inner loop of a NumPy ufunc, run on whole contiguous arrays as the ufunc
// would, or a loop of our own with the same results; other steps share or copy parts of an operand's memory, select between two
// operands, or call a function of NumPy arrays. So a tape gives the bits that evaluating its operations one by one gives. Values
// that only steps without Python read lie in scratch memory of the run, which later values take over.
#include "dispatch/eager/tape.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "array/from_python.h"
#include "dispatch/eager/conversion.h"
#include "dispatch/eager/eager.h"
#include "dispatch/eager/moves.h"
#include "dispatch/eager/tape_plan.h"
#include "array/ufunc_api.h"
#include "pytree/pytree.h"
#include "runtime/python/guard.h"
#include "runtime/memory/blocks.h"
#include "runtime/memory/small_vector.h"
#include "runtime/python/sequence.h"

extern "C" void nj_gemm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_batch,
                        int64_t a_row, int64_t a_col, const char* b, int64_t b_batch, int64_t b_row, int64_t b_col, char* c,
                        int64_t add);

namespace nj {

namespace {

constexpr int64_t kLongProduct = 1 << 15;  // multiply-adds from which other Python threads may run meanwhile

}  // namespace

PyTypeObject* tape_type = nullptr;

namespace {

PyGlobal numpy_module, ufunc_type;  // numpy, numpy.ufunc
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
constexpr size_t kInlineScratch = 2048;

// The values of a run, by number: arrays, or scratch memory.
class Values {
 public:
  explicit Values(const TapePlan& plan)
      : places_(plan.places.data()), block_(plan.scratch > kInlineScratch ? plan.scratch : 0), failed(block_.failed) {
    arrays_.reserve(plan.places.size());
    for (size_t k = 0; k < plan.ins.size(); ++k) arrays_.push_back(nullptr);
    for (const ArrayRef& constant : plan.constants) arrays_.push_back(constant);
    while (arrays_.size() < plan.places.size()) arrays_.push_back(nullptr);
  }
  void set_array(uint32_t number, ArrayRef array) {
    arrays_[number] = array;
    owned_.push_back(std::move(array));
  }
  char* scratch() { return block_.data() ? block_.data() : inline_; }
  bool is_array(uint32_t number) const { return places_[number] < 0; }
  Array* array(uint32_t number) { return arrays_[number]; }
  char* data(uint32_t number) { return is_array(number) ? arrays_[number]->buffer->data : scratch() + places_[number]; }
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
  alignas(64) char inline_[kInlineScratch];
  Scratch block_;

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

int run_step(const Step& step, Values& values, PyObject* device) {
  if (step.kind == StepKind::Call) return run_call(step, values, device);
  if (step.kind == StepKind::Share) return run_share(step, values, device);
  if (values.is_array(step.number)) {
    ArrayRef array = array_empty(step.outs[0], device, false);
    if (!array) return -1;
    values.set_array(step.number, std::move(array));
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
    default: run_loop(step, values, out);
  }
  return 0;
}

// False where an operand was deleted.
bool run_quick(const QuickStep& step, Values& values, char* scratch) {
  const char* in[3];
  for (size_t k = 0; k < 3; ++k) {
    if (step.ins[k] >= 0) {
      in[k] = scratch + step.ins[k];
      continue;
    }
    const Array* array = values.array(uint32_t(~step.ins[k]));
    if (!array->buffer) return false;
    in[k] = array->buffer->data;
  }
  step.loop(scratch + step.place, in, step.count);
  return true;
}

int run_steps(const TapePlan& plan, Values& values, PyObject* device) {
  char* scratch = values.scratch();
  const Step* step = plan.steps.data();
  for (const QuickStep& quick : plan.quick) {
    if (!(quick.loop && run_quick(quick, values, scratch)) && run_step(*step, values, device) < 0) return -1;
    ++step;
  }
  return 0;
}

PyRef result_of(const Result& result, Values& values, PyObject* device) {
  Array* value = values.array(result.value);
  if (!result.info) return as(ArrayRef::share(value));
  return as(array_share(value, result.info, device, false));  // a handle of its own
}

}  // namespace

PyObject* run_tape(Tape* tape, PyObject* const* leaves, size_t count) {
  const Handle<Tape> alive = Handle<Tape>::share(tape);
  const TapePlan& plan = *tape->plan;
  if (count != plan.ins.size()) return nullptr;
  Values values(plan);
  if (values.failed) return raise_no_memory(plan.scratch), nullptr;
  if (collect(tape, leaves, values) == 0) return nullptr;
  {
    QuietErrors quiet(plan.calls);
    if (quiet.failed) return nullptr;
    if (run_steps(plan, values, tape->device) < 0) return nullptr;
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

bool read_numbers(PyObject* tuple, size_t values, std::vector<uint32_t>& numbers) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k) {
    const long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, k));
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < 0 || size_t(number) >= values) {
      PyErr_Format(PyExc_ValueError, "Tape: there are %zu values, and number %ld is read", values, number);
      return false;
    }
    numbers.push_back(uint32_t(number));
  }
  return true;
}

bool set_strides(Step& step, const Infos& infos, size_t operands) {
  const AvalInfo* out = step.outs[0];
  if (step.ins.size() != operands || operands > kMostOperands) {
    PyErr_SetString(PyExc_ValueError, "Tape: a step has another number of operands");
    return false;
  }
  for (size_t k = 0; k < operands; ++k) {
    const AvalInfo* in = infos[step.ins[k]];
    if (in->dims != out->dims && in->size != 1) {
      PyErr_Format(PyExc_ValueError, "Tape: an operand %s of a step that gives %s", describe(in).c_str(), describe(out).c_str());
      return false;
    }
    step.strides[k] = in->dims == out->dims ? in->itemsize : 0;
  }
  step.strides[operands] = out->itemsize;
  return true;
}

// Sets the inner loop of a ufunc, for operands of these dtypes and a result of the last one.
bool set_loop(Step& step, PyObject* object, int number, const std::vector<const AvalInfo*>& operands) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != ufunc_type.get()) {
    PyErr_Format(PyExc_TypeError, "Tape: expected a ufunc, got %R", object);
    return false;
  }
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  if (number < 0 || number >= ufunc->ntypes || ufunc->nout != 1 || size_t(ufunc->nargs) != operands.size()) {
    PyErr_Format(PyExc_ValueError, "Tape: %R has no inner loop %d for %zu operands", object, number, operands.size() - 1);
    return false;
  }
  const char* types = ufunc->types + number * ufunc->nargs;
  for (size_t k = 0; k < operands.size(); ++k) {
    const int type = operands[k]->dtype->type_num;
    if (types[k] == type && type != NPY_OBJECT) continue;
    PyErr_Format(PyExc_TypeError, "Tape: inner loop %d of %R is not for %s", number, object, describe(operands[k]).c_str());
    return false;
  }
  step.loop = ufunc->functions[number];
  step.data = ufunc->data ? const_cast<void*>(static_cast<const void*>(ufunc->data[number])) : nullptr;
  step.function = PyRef::share(object);
  return step.loop != nullptr;
}

// Sets the loop that stands for NumPy's own, if there is one: for contiguous operands of one dtype, one of which may be a number.
bool set_exact_loop(Step& step, int type) {
  const size_t count = step.ins.size();
  const char* name = reinterpret_cast<PyUFuncObject*>(step.function.get())->name;
  const npy_intp item = step.strides[0] ? step.strides[0] : step.strides[count - 1];
  if (count > 2 || !item) return true;
  const PyRef numpys(PyObject_GetAttrString(numpy_module.get(), name));
  if (!numpys) PyErr_Clear();
  if (numpys.get() != step.function.get()) return true;
  const Operands operands = !step.strides[0] ? scalar_left : !step.strides[count - 1] ? scalar_right : both_arrays;
  step.own = exact_loop(name, type, int(count), operands);
  return true;
}

// loop: (ufunc, number of its inner loop)
bool read_loop(Step& step, PyObject* more, const Infos& infos) {
  PyObject* object;
  int number;
  if (!PyArg_ParseTuple(more, "Oi:Tape", &object, &number) || !set_strides(step, infos, step.ins.size())) return false;
  std::vector<const AvalInfo*> operands;
  for (uint32_t in : step.ins) operands.push_back(infos[in]);
  operands.push_back(step.outs[0]);
  return set_loop(step, object, number, operands) && set_exact_loop(step, operands[0]->dtype->type_num);
}

// reduce: (ufunc, number of its inner loop, bytes of the first value or None, parts, rows in each, elements in a row)
bool read_reduce(Step& step, PyObject* more, const Infos& infos) {
  PyObject *object, *initial;
  int number;
  if (!PyArg_ParseTuple(more, "OiOnnn:Tape", &object, &number, &initial, &step.parts, &step.rows, &step.length)) return false;
  const AvalInfo* out = step.outs[0];
  if (initial != Py_None) {
    if (!PyBytes_Check(initial)) return PyErr_Format(PyExc_TypeError, "Tape: expected bytes, got %R", initial), false;
    step.initial.assign(PyBytes_AS_STRING(initial), size_t(PyBytes_GET_SIZE(initial)));
  }
  const bool good = step.ins.size() == 1 && step.parts > 0 && step.rows > 0 && step.length > 0 &&
                    step.parts * step.length == out->size && step.parts * step.rows * step.length == infos[step.ins[0]]->size &&
                    (step.initial.empty() || step.initial.size() == size_t(out->itemsize));
  if (!good) return PyErr_SetString(PyExc_ValueError, "Tape: a reduction that does not fit its operand and its result"), false;
  return set_loop(step, object, number, {out, infos[step.ins[0]], out});
}

bool read_select(Step& step, const Infos& infos) {
  if (!set_strides(step, infos, 3)) return false;
  const AvalInfo* out = step.outs[0];
  step.own = selection(out->itemsize, step.strides);
  const bool good = infos[step.ins[0]]->kind == Kind::Bool && step.own &&
                    infos[step.ins[1]]->itemsize == out->itemsize && infos[step.ins[2]]->itemsize == out->itemsize;
  if (!good) PyErr_SetString(PyExc_TypeError, "Tape: a selection takes bools and two operands of the result's dtype");
  return good;
}

bool read_share(const Step& step, const Infos& infos) {
  if (step.ins.size() == 1 && infos[step.ins[0]]->nbytes == step.outs[0]->nbytes) return true;
  PyErr_SetString(PyExc_ValueError, "Tape: a step shares memory of another size");
  return false;
}

bool read_convert(Step& step, const Infos& infos) {
  const AvalInfo* out = step.outs[0];
  if (step.ins.size() == 1 && infos[step.ins[0]]->size == out->size) {
    step.own = conversion(infos[step.ins[0]]->dtype->type_num, out->dtype->type_num);
  }
  if (!step.own) PyErr_SetString(PyExc_TypeError, "Tape: no conversion between these operands");
  return step.own;
}

// part: (offset in bytes, strides), inside of the operand.
bool read_part(Step& step, PyObject* more, const Infos& infos) {
  PyObject* strides;
  if (!PyArg_ParseTuple(more, "nO!:Tape", &step.offset, &PyTuple_Type, &strides)) return false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(strides); ++k) {
    step.part_strides.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, k)));
  }
  if (PyErr_Occurred()) return false;
  const AvalInfo* out = step.outs[0];
  npy_intp low = step.offset, high = step.offset + out->itemsize;
  bool good = step.ins.size() == 1 && step.part_strides.size() == out->dims.size();
  for (size_t k = 0; good && k < out->dims.size(); ++k) {
    const npy_intp far = step.part_strides[k] * std::max<npy_intp>(out->dims[k] - 1, 0);
    (far < 0 ? low : high) += far;
  }
  good = good && part_copy(out->itemsize);
  if (good && (!out->size || (low >= 0 && size_t(high) <= infos[step.ins[0]]->nbytes))) return true;
  PyErr_SetString(PyExc_ValueError, "Tape: a part outside of its operand");
  return false;
}

void read_table(PyObject* bytes, std::vector<int64_t>& table) {
  table.resize(size_t(PyBytes_GET_SIZE(bytes)) / sizeof(int64_t));
  if (!table.empty()) std::memcpy(table.data(), PyBytes_AS_STRING(bytes), table.size() * sizeof(int64_t));
}

// take: the numbers of elements, as bytes of int64
bool read_take(Step& step, PyObject* more, const Infos& infos) {
  if (!PyBytes_Check(more)) return PyErr_Format(PyExc_TypeError, "Tape: expected bytes, got %R", more), false;
  read_table(more, step.table);
  const AvalInfo* out = step.outs[0];
  bool good = step.ins.size() == 2 && npy_intp(step.table.size()) == out->size && taking(out->itemsize);
  good = good && infos[step.ins[0]]->dtype == out->dtype && infos[step.ins[1]]->dtype == out->dtype &&
         infos[step.ins[1]]->size == 1;
  for (size_t k = 0; good && k < step.table.size(); ++k) good = step.table[k] < infos[step.ins[0]]->size;
  if (!good) PyErr_SetString(PyExc_ValueError, "Tape: elements that an operand does not have");
  return good;
}

// gather: (limits, strides of the operand, offsets, numbers of index vectors: bytes of int64; whether it fills), see element_plan
bool read_gather(Step& step, PyObject* more, const Infos& infos) {
  PyObject *limits, *strides, *offsets, *vectors;
  int fills;
  if (!PyArg_ParseTuple(more, "SSSSp:Tape", &limits, &strides, &offsets, &vectors, &fills)) return false;
  read_table(limits, step.limits), read_table(strides, step.operand_strides);
  read_table(offsets, step.table), read_table(vectors, step.vectors);
  step.fills = fills;
  const AvalInfo* out = step.outs[0];
  const size_t size = size_t(out->size), width = step.limits.size();
  bool good = step.ins.size() == 3 && taking(out->itemsize) && step.table.size() == size && step.vectors.size() == size &&
              step.operand_strides.size() == width && width;
  const AvalInfo *in = infos[step.ins[0]], *indices = good ? infos[step.ins[1]] : nullptr;
  good = good && (indices->kind == Kind::Int32 || indices->kind == Kind::Int64) && in->dtype == out->dtype &&
         infos[step.ins[2]]->dtype == out->dtype && infos[step.ins[2]]->size == 1;
  step.long_indices = good && indices->kind == Kind::Int64;
  int64_t reach = 0;
  for (size_t k = 0; good && k < width; ++k) {
    good = step.limits[k] >= 0 && step.operand_strides[k] >= 0 && step.limits[k] < in->size && step.operand_strides[k] <= in->size;
    reach += step.limits[k] * step.operand_strides[k];
  }
  for (size_t k = 0; good && k < size; ++k) {
    good = step.table[k] >= 0 && step.table[k] + reach < in->size && step.vectors[k] >= 0 &&
           (step.vectors[k] + 1) * int64_t(width) <= indices->size;
  }
  if (!good) PyErr_SetString(PyExc_ValueError, "Tape: a gather of elements that its operands do not have");
  return good;
}

// join: how many blocks
bool read_join(Step& step, PyObject* more, const Infos& infos) {
  step.blocks = PyLong_AsSize_t(more);
  if (PyErr_Occurred()) return false;
  size_t total = 0;
  bool good = step.blocks > 0;
  for (uint32_t number : step.ins) {
    total += infos[number]->nbytes;
    step.lengths.push_back(infos[number]->nbytes / step.blocks);
    good = good && infos[number]->nbytes % step.blocks == 0 && infos[number]->dtype == step.outs[0]->dtype;
  }
  if (good && total == step.outs[0]->nbytes) return true;
  PyErr_SetString(PyExc_ValueError, "Tape: operands that do not fill their joint result");
  return false;
}

bool is_inside(int64_t batch, int64_t rows, int64_t columns, const int64_t* strides, const AvalInfo* info) {
  const int64_t sizes[3] = {batch, rows, columns};
  int64_t last = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (!sizes[axis]) return true;
    if (strides[axis] < 0 || (sizes[axis] > 1 && (sizes[axis] > info->size || strides[axis] > info->size))) return false;
    last += (sizes[axis] - 1) * strides[axis];
  }
  return last < info->size;
}

// product: (batch, m, n, k, strides of the left matrices in elements, from one matrix, row and column to the next, of the right
// ones)
bool read_product(Step& step, PyObject* more, const Infos& infos) {
  long long batch, m, n, k, left[3], right[3];
  if (!PyArg_ParseTuple(more, "LLLL(LLL)(LLL):Tape", &batch, &m, &n, &k, &left[0], &left[1], &left[2], &right[0], &right[1],
                        &right[2])) {
    return false;
  }
  const AvalInfo* out = step.outs[0];
  step.batch = batch, step.m = m, step.n = n, step.k = k;
  for (int axis = 0; axis < 3; ++axis) step.left[axis] = left[axis], step.right[axis] = right[axis];
  step.code = matrix_code(out->dtype);
  const bool good = step.ins.size() == 2 && step.code >= 0 && batch >= 0 && m >= 0 && n >= 0 && k >= 0 && batch * m * n == out->size &&
                    infos[step.ins[0]]->dtype == out->dtype && infos[step.ins[1]]->dtype == out->dtype &&
                    is_inside(batch, m, k, step.left, infos[step.ins[0]]) &&
                    is_inside(batch, k, n, step.right, infos[step.ins[1]]);
  if (!good) PyErr_SetString(PyExc_ValueError, "Tape: operands that are no matrices of this product");
  return good;
}

// call: (function, parameters, whether it gives several results)
bool read_call(Step& step, PyObject* more) {
  PyObject *function, *parameters;
  int multiple;
  if (!PyArg_ParseTuple(more, "OO!p:Tape", &function, &PyDict_Type, &parameters, &multiple)) return false;
  step.function = PyRef::share(function);
  step.multiple = multiple;
  PyObject *name, *value;
  Py_ssize_t place = 0;
  PyRef names(PyList_New(0));
  if (!names) return false;
  while (PyDict_Next(parameters, &place, &name, &value)) {
    if (PyList_Append(names.get(), name) < 0) return false;
    step.parameters.push_back(PyRef::share(value));
  }
  if (!step.parameters.empty()) step.names = PyRef(PyList_AsTuple(names.get()));
  return step.parameters.empty() || step.names;
}

// (kind, numbers of the operands, avals of the results, more)
bool read_step(PyObject* item, TapePlan& plan, Infos& infos) {
  const char* kind;
  PyObject *ins, *outs, *more;
  if (!PyArg_ParseTuple(item, "sO!O!O:Tape", &kind, &PyTuple_Type, &ins, &PyTuple_Type, &outs, &more)) return false;
  Step step;
  if (!read_numbers(ins, infos.size(), step.ins) || !read_avals(outs, step.outs)) return false;
  const std::string name = kind;
  if (name != "call" && step.outs.size() != 1) {
    PyErr_SetString(PyExc_ValueError, "Tape: only calls give several results");
    return false;
  }
  bool good = true;
  if (name == "loop") step.kind = StepKind::Loop, good = read_loop(step, more, infos);
  else if (name == "select") step.kind = StepKind::Select, good = read_select(step, infos);
  else if (name == "share") step.kind = StepKind::Share, good = read_share(step, infos);
  else if (name == "part") step.kind = StepKind::Part, good = read_part(step, more, infos);
  else if (name == "take") step.kind = StepKind::Take, good = read_take(step, more, infos);
  else if (name == "gather") step.kind = StepKind::Gather, good = read_gather(step, more, infos);
  else if (name == "join") step.kind = StepKind::Join, good = read_join(step, more, infos);
  else if (name == "product") step.kind = StepKind::Product, good = read_product(step, more, infos);
  else if (name == "reduce") step.kind = StepKind::Reduce, good = read_reduce(step, more, infos);
  else if (name == "convert") step.kind = StepKind::Convert, good = read_convert(step, infos);
  else if (name == "call") good = read_call(step, more), plan.calls = true;
  else PyErr_Format(PyExc_ValueError, "Tape: no kind of step is called '%s'", kind), good = false;
  if (!good) return false;
  step.number = uint32_t(infos.size());
  for (const AvalRef& out : step.outs) infos.push_back(out);
  plan.steps.push_back(std::move(step));
  return true;
}

bool read_constants(PyObject* constants, TapePlan& plan, Infos& infos) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(constants); ++k) {
    PyObject* item = PyTuple_GET_ITEM(constants, k);
    if (!is_array(item) || !array_ready(reinterpret_cast<Array*>(item))) {
      PyErr_Format(PyExc_TypeError, "Tape: expected arrays as constants, got %R", item);
      return false;
    }
    plan.constants.push_back(ArrayRef::share(reinterpret_cast<Array*>(item)));
    infos.push_back(plan.constants.back()->info);
  }
  return true;
}

// handed: the positions of results that are an input, the object itself
bool read_results(PyObject* numbers, PyObject* avals, PyObject* handed, TapePlan& plan, const Infos& infos) {
  std::vector<uint32_t> found, same;
  std::vector<AvalRef> outs;
  if (!read_numbers(numbers, infos.size(), found) || !read_avals(avals, outs)) return false;
  if (!read_numbers(handed, outs.size(), same)) return false;
  if (found.size() != outs.size()) {
    PyErr_SetString(PyExc_ValueError, "Tape: one aval per result");
    return false;
  }
  const size_t first = plan.ins.size() + plan.constants.size();
  std::vector<bool> given(infos.size(), false);
  for (size_t k = 0; k < found.size(); ++k) {
    if (infos[found[k]]->nbytes != outs[k]->nbytes) {
      PyErr_SetString(PyExc_ValueError, "Tape: a result of another size than its value");
      return false;
    }
    const bool input = std::find(same.begin(), same.end(), uint32_t(k)) != same.end();
    if (input && (found[k] >= plan.ins.size() || infos[found[k]] != outs[k])) {
      PyErr_SetString(PyExc_ValueError, "Tape: a result that is handed back is no input");
      return false;
    }
    const bool own = input || (found[k] >= first && infos[found[k]] == outs[k] && !given[found[k]]);
    given[found[k]] = true;
    plan.results.push_back({found[k], own ? AvalRef() : outs[k]});
  }
  return true;
}

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
  TapePlan& plan = *tape->plan;
  Infos infos;
  if (!read_avals(avals, plan.ins)) return nullptr;
  for (const AvalRef& in : plan.ins) infos.push_back(in);
  if (!read_constants(constants, plan, infos)) return nullptr;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(steps); ++k) {
    if (!read_step(PyTuple_GET_ITEM(steps, k), plan, infos)) return nullptr;
  }
  if (!read_results(numbers, outs, handed, plan, infos)) return nullptr;
  place_values(plan, infos);
  const size_t leaves = tape->treedef ? size_t(pytree_num_leaves(tape->treedef)) : 1;
  if (leaves != plan.results.size()) {
    return PyErr_Format(PyExc_ValueError, "Tape: %zu results for a structure of %zu leaves", plan.results.size(), leaves);
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
  static const char* const names[] = {"loop", "share", "part", "take", "gather", "join", "select", "product", "convert", "reduce", "call"};
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
  PyRef numpy(PyImport_ImportModule("numpy"));
  if (!numpy) return -1;
  ufunc_type.exchange(PyRef(PyObject_GetAttrString(numpy, "ufunc")));
  numpy_module.exchange(PyRef::share(numpy.get()));
  tape_type = ufunc_type ? reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)) : nullptr;
  if (!tape_type || PyModule_AddObjectRef(module, "Tape", reinterpret_cast<PyObject*>(tape_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj
