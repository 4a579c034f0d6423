// Parts of arrays as arrays of their own: copies of views, and rows that a mask selects. Memory comes from the pool, and all
// threads copy.
#include <cstring>
#include <vector>

#include "array/array.h"
#include "array/slots.h"
#include "runtime/python/guard.h"
#include "kernels/sort/select.h"

namespace nj {

namespace {

PyObject* copied(PyObject*, PyObject* args) {
  PyArrayObject* ndarray;
  PyObject *aval, *device;
  if (!PyArg_ParseTuple(args, "O!OO:copied", &PyArray_Type, &ndarray, &aval, &device)) return nullptr;
  const AvalRef info = aval_info(aval);
  if (!info) return nullptr;
  return give(array_copied(ndarray, info, device, false));
}

// A C-contiguous ndarray, and the mask over its leading axes; false with the error set.
bool check_selection(PyArrayObject* rows, PyArrayObject* mask) {
  bool good = PyArray_TYPE(mask) == NPY_BOOL && PyArray_IS_C_CONTIGUOUS(rows) && PyArray_IS_C_CONTIGUOUS(mask) &&
              PyArray_NDIM(mask) <= PyArray_NDIM(rows);
  for (int axis = 0; good && axis < PyArray_NDIM(mask); ++axis) good = PyArray_DIM(mask, axis) == PyArray_DIM(rows, axis);
  if (!good) {
    PyErr_SetString(PyExc_ValueError,
                    "selected: expected a C-contiguous ndarray, and a C-contiguous mask of bools of the shape "
                    "of its leading axes");
  }
  return good;
}

// The bytes of a mask where nobody writes them: it is read twice, and the second time decides where rows are written.
BufferRef fixed_mask(PyArrayObject* mask) {
  const size_t bytes = size_t(PyArray_NBYTES(mask));
  auto* object = reinterpret_cast<PyObject*>(mask);
  BufferRef buffer = shows_array(object) ? buffer_wrap(object, PyArray_BYTES(mask), bytes) : buffer_new(bytes);
  if (!buffer) raise_no_memory(bytes);
  else if (!shows_array(object)) std::memcpy(buffer->data, PyArray_DATA(mask), bytes);
  return buffer;
}

// Whether an Array holds the very bytes of a C-contiguous ndarray.
PyObject* holds(PyObject*, PyObject* args) {
  PyObject* object;
  PyArrayObject* ndarray;
  if (!PyArg_ParseTuple(args, "O!O!:holds", array_type, &object, &PyArray_Type, &ndarray)) return nullptr;
  auto* array = reinterpret_cast<Array*>(object);
  const char* data = array_data(array);
  if (!data) return nullptr;
  PyRef alive(array_view(array));
  PyRef header(PyArray_View(ndarray, nullptr, &PyArray_Type));
  if (!alive || !header) return nullptr;
  ndarray = reinterpret_cast<PyArrayObject*>(header.get());
  const size_t bytes = array->info->nbytes;
  if (size_t(PyArray_NBYTES(ndarray)) != bytes || !PyArray_IS_C_CONTIGUOUS(ndarray)) Py_RETURN_FALSE;
  bool same;
  Py_BEGIN_ALLOW_THREADS
  same = std::memcmp(data, PyArray_DATA(ndarray), bytes) == 0;
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(same);
}

PyObject* selected(PyObject*, PyObject* args) {
  PyArrayObject *rows, *mask;
  PyObject *make_aval, *device;
  if (!PyArg_ParseTuple(args, "O!O!OO:selected", &PyArray_Type, &rows, &PyArray_Type, &mask, &make_aval, &device))
    return nullptr;
  if (!check_selection(rows, mask)) return nullptr;
  const int64_t size = PyArray_SIZE(mask);
  const int64_t row_bytes = size ? PyArray_NBYTES(rows) / size : 0;
  const BufferRef fixed = fixed_mask(mask);
  if (!fixed) return nullptr;
  const auto* bits = reinterpret_cast<const uint8_t*>(fixed->data);
  std::vector<int64_t> before(size_t(select::chunk_count(size) + 1));
  int64_t count;
  Py_BEGIN_ALLOW_THREADS
  count = select::count(bits, size, before.data());
  Py_END_ALLOW_THREADS
  PyRef aval(PyObject_CallFunction(make_aval, "L", static_cast<long long>(count)));
  if (!aval) return nullptr;
  const AvalRef info = aval_info(aval.get());
  if (!info) return nullptr;
  if (info->nbytes != size_t(count * row_bytes)) {
    return PyErr_Format(PyExc_TypeError, "selected: %s has not the bytes of %lld rows", describe(info).c_str(),
                        static_cast<long long>(count));
  }
  ArrayRef array = array_empty(info, device, false);
  if (!array) return nullptr;
  Py_BEGIN_ALLOW_THREADS
  select::gather(bits, size, before.data(), PyArray_BYTES(rows), row_bytes, array->buffer->data);
  Py_END_ALLOW_THREADS
  return give(std::move(array));
}

PyObject* shows(PyObject*, PyObject* ndarray) { return PyBool_FromLong(PyArray_Check(ndarray) && shows_array(ndarray)); }

PyObject* shares_remote(PyObject*, PyObject* object) {
  if (!is_array(object)) return PyErr_Format(PyExc_TypeError, "shares_remote: expected an Array, got %R", Py_TYPE(object));
  const auto* array = reinterpret_cast<Array*>(object);
  const bool owned = array->buffer && array->buffer->owner == array->remote;  // until its value is fetched
  return PyBool_FromLong(array->remote && Py_REFCNT(array->remote.get()) > 1 + owned);
}

PyMethodDef functions[] = {
    {"copied", method<copied>(), METH_VARARGS,
     PyDoc_STR("copied(ndarray, aval, device): an Array with a copy of the elements, whatever the strides.")},
    {"selected", method<selected>(), METH_VARARGS,
     PyDoc_STR("selected(rows, mask, make_aval, device): an Array of the rows of a C-contiguous ndarray that a mask over its "
               "leading axes selects; make_aval(count) is its aval.")},
    {"shows_array", method<shows>(), METH_O,
     PyDoc_STR("shows_array(ndarray): whether an ndarray is a view of an Array's memory, which nobody can write.")},
    {"shares_remote", method<shares_remote>(), METH_O,
     PyDoc_STR("shares_remote(array): whether anybody but this handle refers to what holds its value on another device.")},
    {"holds", method<holds>(), METH_VARARGS,
     PyDoc_STR("holds(array, ndarray): whether an Array holds the very bytes of a C-contiguous ndarray.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int array_parts_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace nj
