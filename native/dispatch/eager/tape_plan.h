// What a tape consists of: values by number, those of the inputs, of constants and of the steps in order.
#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "array/array.h"
#include "array/ufunc_api.h"
#include "dispatch/eager/conversion.h"
#include "dispatch/eager/eager.h"
#include "dispatch/eager/extremes.h"

namespace nj {

enum class StepKind : uint8_t {
  Loop, Share, Part, Take, Gather, Join, Select, Product, Convert, Reduce, Sort, Extreme, Guard, Call
};
constexpr size_t kMostOperands = 4;

struct Step {
  StepKind kind = StepKind::Call;
  bool multiple = false;
  std::vector<uint32_t> ins;  // numbers of values
  std::vector<AvalRef> outs;
  uint32_t number = 0;  // of the first result
  // Loop, Select: bytes from one element of an operand to the next, the result's last.
  npy_intp strides[kMostOperands + 1] = {};
  PyUFuncGenericFunction loop = nullptr;
  void* data = nullptr;
  EagerLoop own = nullptr;  // Loop: what gives the same bits in less time; Select, Convert: what runs
  // Products of (m, k) and (k, n) matrices, `batch` of each, whose strides are in elements.
  int64_t code = 0, batch = 1, m = 0, n = 0, k = 0, left[3] = {}, right[3] = {};
  size_t blocks = 1;  // Join: how many runs of bytes of each operand alternate in the result
  std::vector<size_t> lengths;  // Join: of these runs
  // Reduce: the loop joins the rows of each part, and begins with a value of these bytes, or with the first row. Sort, Extreme:
  // `rows` is the size of the axis.
  npy_intp parts = 1, rows = 1, length = 1;
  std::string initial;
  std::vector<int64_t> codes;  // Sort: of the dtypes; the first `k` operands are keys
  Extreme extreme = nullptr;
  bool expected = false;  // Guard: whether an element of its operand is true, as when the call was recorded
  // Part: where the elements of the result are in the operand.
  npy_intp offset = 0;
  std::vector<npy_intp> part_strides;
  // Take: the number of the element of the operand; negative: the second operand.
  std::vector<int64_t> table;
  // Gather: the element at table[e] plus the index vector vectors[e] times the strides of the operand.
  std::vector<int64_t> vectors, limits, operand_strides;
  bool fills = false, long_indices = false;
  // Call: function(*arrays, **parameters); Loop, Reduce: the ufunc.
  PyRef function, names;
  std::vector<PyRef> parameters;
};

// What a tape gives: a value, under an aval of its own where it is an input or a constant.
struct Result {
  uint32_t value;
  AvalRef info;
};

// A step that is one loop from memory to memory of the plan: all that a run reads of it, in one piece. No loop and no ufunc:
// another step.
struct QuickStep {
  EagerLoop loop = nullptr;
  const Step* ufunc = nullptr;  // whose inner loop runs
  Py_ssize_t count = 0;
  char* out = nullptr;
  const char* ins[3] = {};
};

// Memory that starts at a cache line.
struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char, FreeMemory>;

struct TapePlan {
  std::vector<AvalRef> ins;
  std::vector<ArrayRef> constants;
  std::vector<Step> steps;
  std::vector<QuickStep> quick;  // one for each step
  std::vector<npy_intp> places;  // of the values in scratch memory; negative: an array
  // Where all values are small, runs share this scratch memory, one at a time: addresses are known, and inputs copied there.
  Memory memory;
  std::vector<npy_intp> copied;  // the places of the inputs; negative: no quick step reads it
  bool busy = false;
  std::vector<Result> results;
  bool calls = false;  // whether a step calls Python
  size_t scratch = 0;  // bytes
};

// A plan as Python gives it: tuples.
struct PlanSource {
  PyObject *avals, *constants, *steps;  // of the inputs; arrays; (kind, numbers of the operands, avals of the results, more)
  PyObject *numbers, *outs, *handed;    // of the results; their avals; the positions of those that are an input itself
};

// False with an error set.
bool read_plan(TapePlan& plan, const PlanSource& from);
int tape_read_init();

// What is known of the values while a tape is read.
using Infos = std::vector<AvalInfo*>;

// Gives the values that no Python code sees places in scratch memory, which later ones take over, and finds the quick steps.
void place_values(TapePlan& plan, const Infos& infos);

}  // namespace nj
