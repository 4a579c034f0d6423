// The conversion of jit arguments that are no Arrays yet.
#include "array/from_python.h"

#include <algorithm>

#include "runtime/python/guard.h"

namespace nj {

namespace {

template <class T>
int store(Array* array, T value) {
  *reinterpret_cast<T*>(array->buffer->data) = value;
  return 0;
}

int raise_overflow(PyObject* number, const AvalInfo* info) {
  PyRef name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(info->dtype.get()), "name"));
  if (!name) return -1;
  PyErr_Format(PyExc_OverflowError,
               "Python int %S too large to convert to %S. Pass a float, or a NumPy integer with the flag jax_enable_x64 "
               "switched on.",
               number, name.get());
  return -1;
}

// Any number into any dtype, by NumPy's rules.
int store_general(Array* array, PyObject* number) {
  if (PyArray_Pack(array->info->dtype, array->buffer->data, number) == 0) return 0;
  // NumPy names its own dtypes but not the value for some of them.
  if (!PyLong_CheckExact(number) || !PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
  PyErr_Clear();
  return raise_overflow(number, array->info);
}

int store_int(Array* array, PyObject* number) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow) return store_general(array, number);
  switch (array->info->kind) {
    case Kind::Int32: return value == int32_t(value) ? store(array, int32_t(value)) : raise_overflow(number, array->info);
    case Kind::Int64: return store(array, int64_t(value));
    default: return store_general(array, number);
  }
}

int store_float(Array* array, PyObject* number) {
  double value = PyFloat_AS_DOUBLE(number);
  switch (array->info->kind) {
    case Kind::Float32: return store(array, float(value));
    case Kind::Float64: return store(array, value);
    default: return store_general(array, number);
  }
}

// 1: filled, 0: not a Python number, -1: error.
int fill_from_number(Array* array, PyObject* leaf) {
  bool is_int = PyLong_CheckExact(leaf), is_float = PyFloat_CheckExact(leaf);
  if (!is_int && !is_float && !PyBool_Check(leaf) && !PyComplex_CheckExact(leaf)) return 0;
  if (!array->info->dims.empty()) {
    PyErr_Format(PyExc_TypeError, "a Python number has no shape %R", array->info->shape.get());
    return -1;
  }
  int status = is_int ? store_int(array, leaf) : is_float ? store_float(array, leaf) : store_general(array, leaf);
  return status < 0 ? -1 : 1;
}

int fill_from_ndarray(Array* array, PyArrayObject* source) {
  const AvalInfo* info = array->info;
  if (size_t(PyArray_NDIM(source)) != info->dims.size() ||
      !std::equal(info->dims.begin(), info->dims.end(), PyArray_DIMS(source))) {
    PyRef shape(PyObject_GetAttrString(reinterpret_cast<PyObject*>(source), "shape"));
    PyErr_Format(PyExc_TypeError, "expected an ndarray of shape %R, got %R", info->shape.get(), shape.get());
    return -1;
  }
  return array_fill(array, source);
}

int fill(Array* array, PyObject* leaf) {
  int filled = fill_from_number(array, leaf);
  if (filled != 0) return filled < 0 ? -1 : 0;
  if (PyArray_Check(leaf)) return fill_from_ndarray(array, reinterpret_cast<PyArrayObject*>(leaf));
  if (PyArray_IsScalar(leaf, Generic)) {
    PyRef source(PyArray_FromScalar(leaf, nullptr));
    return source ? fill_from_ndarray(array, reinterpret_cast<PyArrayObject*>(source.get())) : -1;
  }
  PyErr_Format(PyExc_TypeError, "expected a number or an ndarray for an array of %s, got %R", describe(array->info).c_str(),
               Py_TYPE(leaf));
  return -1;
}

}  // namespace

ArrayRef array_from_leaf(PyObject* leaf, AvalInfo* info, PyObject* device, bool committed) {
  ArrayRef array = array_empty(info, device, committed);
  if (array && fill(array, leaf) < 0) array.reset();
  return array;
}

namespace {

PyObject* to_array(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"value", "aval", "device", "committed", nullptr};
  PyObject *value, *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|p:to_array", const_cast<char**>(names), &value, &aval, &device,
                                   &committed)) {
    return nullptr;
  }
  const AvalRef info = aval_info(aval);
  if (!info) return nullptr;
  return give(array_from_leaf(value, info, device, committed));
}

PyMethodDef functions[] = {
    {"to_array", method<to_array>(), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("to_array(value, aval, device, committed=False): a fresh Array with a copy of a Python number, NumPy "
               "scalar or ndarray, converted to the aval's dtype.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int convert_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace nj
