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

// out[i] = a[i] op b[i], where a scalar operand is not advanced. Null where the kind has no such operation.
enum Operands : int { both_arrays, scalar_right, scalar_left, operands_count };
using EagerLoop = void (*)(char* out, const char* a, const char* b, Py_ssize_t n);
EagerLoop eager_loop(EagerOp op, Kind kind, Operands operands);
EagerLoop negative_loop(Kind kind);

}  // namespace nj
