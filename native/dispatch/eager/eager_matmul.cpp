// Matrix products outside of compiled programs: a @ b of two arrays, and products of NumPy arrays.
#include "dispatch/eager/eager.h"

#include <utility>

#include "kernels/dtypes.h"
#include "runtime/python/guard.h"
#include "dispatch/hooks.h"
#include "dispatch/trace.h"

extern "C" void nj_gemm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_batch,
                        int64_t a_row, int64_t a_col, const char* b, int64_t b_batch, int64_t b_row, int64_t b_col, char* c,
                        int64_t add);

namespace nj {

int64_t matrix_code(const PyArray_Descr* dtype) {
  if (!PyArray_ISNBO(dtype->byteorder)) return -1;
  switch (dtype->type_num) {
    case NPY_FLOAT: return code_float32;
    case NPY_DOUBLE: return code_float64;
    case NPY_INT:
    case NPY_UINT: return code_int32;
    case NPY_LONG:
    case NPY_ULONG: return sizeof(long) == 8 ? code_int64 : code_int32;
    case NPY_LONGLONG:
    case NPY_ULONGLONG: return code_int64;
    case NPY_CFLOAT: return code_complex64;
    case NPY_CDOUBLE: return code_complex128;
    default: return -1;
  }
}

namespace {

constexpr int64_t kLong = 1 << 15;  // multiply-adds from which other Python threads may run meanwhile

// What was asked last: products of the same two avals have the same one.
struct Known { AvalRef left, right, out; };
constexpr size_t kKnown = 64;
Known* known = new Known[kKnown];  // never destroyed

Known& known_place(const AvalInfo* left, const AvalInfo* right) {
  const auto mixed = reinterpret_cast<uintptr_t>(left) / 64 * 31 + reinterpret_cast<uintptr_t>(right) / 64;
  return known[mixed % kKnown];
}

// The aval of a product of matrices. Null without an error when nobody provides it.
AvalRef result_info(AvalInfo* left, AvalInfo* right) {
  Known& place = known_place(left, right);
  if (place.left == left && place.right == right) return place.out;
  if (!hooks[hook_aval]) return AvalRef();
  PyRef shape(Py_BuildValue("(nn)", left->dims[0], right->dims[1]));
  if (!shape) return AvalRef();
  PyObject* args[] = {shape.get(), reinterpret_cast<PyObject*>(left->dtype.get()), Py_False};
  PyRef aval(call_hook(hook_aval, args, 3));
  if (!aval) return AvalRef();
  AvalRef out = aval_info(aval);
  if (!out) return out;
  // The old ones go last: that may run anything.
  const Known old = std::exchange(place, {AvalRef::share(left), AvalRef::share(right), out});
  return out;
}

bool suits(const Array* a) { return a->info->dims.size() == 2 && !a->info->weak && !a->info->placed; }

// The memory of a matrix, kept alive, with its strides in elements: of a transposed one that is not copied, where it lies.
struct Matrix {
  explicit Matrix(Array* a)
      : lazy_transpose(a->lazy_transpose), buffer(a->buffer), data(buffer->data), row(a->info->dims[1]), column(1) {
    if (!lazy_transpose) return;
    auto* view = reinterpret_cast<PyArrayObject*>(lazy_transpose.get());
    data = PyArray_BYTES(view);
    row = PyArray_STRIDE(view, 0) / a->info->itemsize;
    column = PyArray_STRIDE(view, 1) / a->info->itemsize;
  }

  const PyRef lazy_transpose;
  const BufferRef buffer;
  char* data;
  int64_t row, column;
};

bool readable(Array* a) { return array_ready(a) || (a->buffer && a->lazy_transpose); }

}  // namespace

PyObject* eager_matmul(PyObject* left, PyObject* right) {
  if (!evaluating_arrays() || !is_array(left) || !is_array(right)) return nullptr;
  auto *a = reinterpret_cast<Array*>(left), *b = reinterpret_cast<Array*>(right);
  if (!suits(a) || !suits(b) || a->info->dtype != b->info->dtype || a->info->dims[1] != b->info->dims[0]) return nullptr;
  if (a->device != b->device || a->sharding != b->sharding || !readable(a) || !readable(b)) return nullptr;
  const int64_t code = matrix_code(a->info->dtype), m = a->info->dims[0], k = a->info->dims[1], n = b->info->dims[1];
  if (code < 0) return nullptr;
  // Owned, as are both memories: what runs meanwhile may ask for other products, and delete any array.
  const AvalRef info = result_info(a->info, b->info);
  if (!info) return nullptr;
  ArrayRef out = array_empty(info, a->device, a->committed || b->committed);
  if (!out) return nullptr;
  out->sharding = a->sharding;
  // The calls above may run Python code, which may delete arrays; so may other threads.
  if (!a->buffer || !b->buffer) return nullptr;
  const Matrix x(a), y(b), z(out);
  const auto multiply = [&] { nj_gemm(code, 1, m, n, k, x.data, 0, x.row, x.column, y.data, 0, y.row, y.column, z.data, 0); };
  if (m * n * k < kLong) {
    multiply();
  } else {
    Py_BEGIN_ALLOW_THREADS
    multiply();
    Py_END_ALLOW_THREADS
  }
  return give(std::move(out));
}

namespace {

// Strides in elements of an array of three axes; false where they are no whole numbers.
bool element_strides(PyArrayObject* array, int64_t* strides) {
  const int64_t item = PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t bytes = PyArray_STRIDE(array, axis);
    if (bytes % item != 0) return false;
    strides[axis] = bytes / item;
  }
  return PyArray_ISALIGNED(array);
}

PyObject* multiply_matrices(PyObject*, PyObject* args) {
  PyArrayObject *x, *y, *out;
  if (!PyArg_ParseTuple(args, "O!O!O!:multiply_matrices", &PyArray_Type, &x, &PyArray_Type, &y, &PyArray_Type, &out))
    return nullptr;
  const int64_t code = matrix_code(PyArray_DESCR(out));
  const bool alike =
      PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(out)) && PyArray_EquivTypes(PyArray_DESCR(y), PyArray_DESCR(out));
  if (code < 0 || !alike || PyArray_NDIM(x) != 3 || PyArray_NDIM(y) != 3 || PyArray_NDIM(out) != 3) {
    PyErr_SetString(PyExc_TypeError,
                    "multiply_matrices: expected three arrays of rank 3 and of one dtype, which is a float, a "
                    "complex or an integer of at least 32 bits");
    return nullptr;
  }
  const npy_intp *xs = PyArray_DIMS(x), *ys = PyArray_DIMS(y), *os = PyArray_DIMS(out);
  const int64_t batch = os[0], m = os[1], n = os[2], k = xs[2];
  int64_t a[3], b[3];
  if (xs[0] != batch || ys[0] != batch || xs[1] != m || ys[1] != k || ys[2] != n || !PyArray_ISCARRAY(out) ||
      !element_strides(x, a) || !element_strides(y, b)) {
    PyErr_SetString(PyExc_ValueError,
                    "multiply_matrices: expected shapes (b, m, k), (b, k, n) and (b, m, n), aligned, the "
                    "last one writable and contiguous");
    return nullptr;
  }
  Py_BEGIN_ALLOW_THREADS
  nj_gemm(code, batch, m, n, k, PyArray_BYTES(x), a[0], a[1], a[2], PyArray_BYTES(y), b[0], b[1], b[2], PyArray_BYTES(out), 0);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"multiply_matrices", method<multiply_matrices>(), METH_VARARGS,
     PyDoc_STR("multiply_matrices(x, y, out): writes the matrix products of ndarrays of rank 3, of any strides, to a "
               "contiguous one that overlaps neither.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

}  // namespace nj

namespace nj {
int tape_init(PyObject* module);
int eager_function_init(PyObject* module);
int basic_index_init(PyObject* module);
int linear_call_init(PyObject* module);
}  // namespace nj

int eager_init(PyObject* module) {
  if (PyModule_AddFunctions(module, nj::functions) < 0 || nj::tape_init(module) < 0) return -1;
  if (nj::basic_index_init(module) < 0 || nj::linear_call_init(module) < 0) return -1;
  return nj::eager_function_init(module);
}
