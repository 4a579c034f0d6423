// Reads the steps of a tape from Python, and checks that they stay inside of their operands and results.
#include <algorithm>
#include <cstring>
#include <string>

#include "array/ufunc_api.h"
#include "dispatch/eager/conversion.h"
#include "dispatch/eager/eager.h"
#include "dispatch/eager/moves.h"
#include "dispatch/eager/tape_plan.h"
#include "kernels/dtypes.h"
#include "runtime/python/sequence.h"

namespace nj {

namespace {

PyGlobal numpy_module, ufunc_type;  // numpy, numpy.ufunc

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

// sort: (number of keys, codes of the dtypes as bytes of int64, outer, axis, inner)
bool read_sort(Step& step, PyObject* more, const Infos& infos) {
  PyObject* codes;
  long long keys;
  if (!PyArg_ParseTuple(more, "LSnnn:Tape", &keys, &codes, &step.parts, &step.rows, &step.length)) return false;
  step.k = keys;
  read_table(codes, step.codes);
  const size_t count = step.ins.size();
  bool good = count && step.outs.size() == count && step.codes.size() == count && keys > 0 && size_t(keys) <= count &&
              step.parts > 0 && step.rows > 0 && step.length > 0;
  for (size_t k = 0; good && k < count; ++k) {
    const AvalInfo* in = infos[step.ins[k]];
    good = in->dtype == step.outs[k]->dtype && in->size == step.outs[k]->size && step.codes[k] >= 0 && step.codes[k] < code_count &&
           in->itemsize == kItemSizes[step.codes[k]] && step.parts * step.rows * step.length == in->size;
  }
  if (!good) PyErr_SetString(PyExc_ValueError, "Tape: a sort that does not fit its operands");
  return good;
}

// extreme: (whether the greatest, outer, axis, inner)
bool read_extreme(Step& step, PyObject* more, const Infos& infos) {
  int greatest;
  if (!PyArg_ParseTuple(more, "pnnn:Tape", &greatest, &step.parts, &step.rows, &step.length)) return false;
  const AvalInfo *out = step.outs[0], *in = step.ins.size() == 1 ? infos[step.ins[0]] : nullptr;
  step.extreme = in ? extreme_of(greatest, in->dtype->type_num, out->dtype->type_num) : nullptr;
  const bool good = step.extreme && step.parts >= 0 && step.rows > 0 && step.length >= 0 &&
                    step.parts * step.length == out->size && step.parts * step.rows * step.length == in->size;
  if (!good) PyErr_SetString(PyExc_ValueError, "Tape: positions of extremes that do not fit their operand");
  return good;
}

// guard: whether an element is true
bool read_guard(Step& step, PyObject* more, const Infos& infos) {
  const bool good = step.ins.size() == 1 && infos[step.ins[0]]->kind == Kind::Bool && PyBool_Check(more);
  if (!good) return PyErr_SetString(PyExc_TypeError, "Tape: a guard looks for true elements among bools"), false;
  step.codes = {infos[step.ins[0]]->size};
  step.expected = more == Py_True;
  return true;
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
  if (name != "call" && name != "sort" && step.outs.size() != 1) {
    PyErr_SetString(PyExc_ValueError, "Tape: only calls and sorts give several results");
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
  else if (name == "sort") step.kind = StepKind::Sort, good = read_sort(step, more, infos);
  else if (name == "extreme") step.kind = StepKind::Extreme, good = read_extreme(step, more, infos);
  else if (name == "guard") step.kind = StepKind::Guard, good = read_guard(step, more, infos);
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

}  // namespace

bool read_plan(TapePlan& plan, const PlanSource& from) {
  Infos infos;
  if (!read_avals(from.avals, plan.ins)) return false;
  for (const AvalRef& in : plan.ins) infos.push_back(in);
  if (!read_constants(from.constants, plan, infos)) return false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(from.steps); ++k) {
    if (!read_step(PyTuple_GET_ITEM(from.steps, k), plan, infos)) return false;
  }
  if (!read_results(from.numbers, from.outs, from.handed, plan, infos)) return false;
  place_values(plan, infos);
  return true;
}

int tape_read_init() {
  numpy_module.exchange(PyRef(PyImport_ImportModule("numpy")));
  ufunc_type.exchange(numpy_module ? PyRef(PyObject_GetAttrString(numpy_module.get(), "ufunc")) : PyRef());
  return ufunc_type ? 0 : -1;
}

}  // namespace nj
