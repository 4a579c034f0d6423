// Native paths of the commonest eager operations on small arrays.
#pragma once
#include "array/array.h"

namespace nj {

enum EagerOp : int { op_add, op_sub, op_mul, op_div, op_lt, op_le, op_eq, op_ne, op_gt, op_ge, op_count };

// The result of a op b, where at least one is an Array. Null without an error: no native path, ask the hook.
// Null with an error: failed.
PyObject* eager_binary(EagerOp op, PyObject* a, PyObject* b);
PyObject* eager_negative(Array* a);
// array[index] for an index of known ints, slices, None and `...`; null as above.
PyObject* eager_part(Array* array, PyObject* index);
// left @ right of two matrices of one dtype; null as above.
PyObject* eager_matmul(PyObject* left, PyObject* right);

// The code of a dtype whose products are summed in itself, for nj_gemm; -1 for others.
int64_t matrix_code(const PyArray_Descr* dtype);

// A loop over the elements of contiguous arrays: out[i] of in[0][i], in[1][i] and so on, where a number is not advanced.
using EagerLoop = void (*)(char* out, const char* const* in, Py_ssize_t n);
// in[0] op in[1]; null where the kind has no such operation.
enum Operands : int { both_arrays, scalar_right, scalar_left, operands_count };
EagerLoop eager_loop(EagerOp op, Kind kind, Operands operands);
EagerLoop negative_loop(Kind kind);
// The same for a ufunc of NumPy, by its name, of `count` operands of a NumPy type number, where IEEE 754 or two's complement
// leave one result: it is NumPy's to the bit, but for which of two NaNs a sum or a product is. NumPy's own inner loops, which
// look for overlaps, choose between kernels and clear the processor's flags, take three times as long for a few elements. Null
// for all other ufuncs and types.
EagerLoop exact_loop(const char* ufunc, int type, int count, Operands operands);

}  // namespace nj
