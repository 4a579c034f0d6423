// bool(), int(), float(), complex() and operator.index() of arrays.
#include <cmath>

#include "array/array.h"
#include "array/slots.h"

namespace nj {

namespace {

Array* as_array(PyObject* self) { return reinterpret_cast<Array*>(self); }

// The only element as NumPy's Python object of it. Only for arrays of one element.
PyObject* element(Array* array) {
  if (!array_data(array)) return nullptr;
  // NumPy's getitem wants an array for byte order and alignment; the view is one.
  PyRef view(array_view(array));
  if (!view) return nullptr;
  auto* ndarray = reinterpret_cast<PyArrayObject*>(view.get());
  return PyArray_GETITEM(ndarray, static_cast<char*>(PyArray_DATA(ndarray)));
}

bool require_scalar(Array* array) {
  if (array->info->dims.empty()) return true;
  PyErr_Format(PyExc_TypeError, "Only scalar arrays can be converted to Python scalars; got arr.ndim=%zd",
               Py_ssize_t(array->info->dims.size()));
  return false;
}

// Random keys are the only arrays of records: they have no value as a number or truth value.
bool require_number(Array* array, const char* wanted) {
  if (array->info->dtype->type_num != NPY_VOID) return true;
  PyErr_Format(PyExc_TypeError, "key array cannot be converted to %s: random.key_data(key) gives its words", wanted);
  return false;
}

template <class T>
T load(Array* array) {
  return *reinterpret_cast<const T*>(array->buffer->data);
}

}  // namespace

int array_as_bool(PyObject* self) {
  Array* array = as_array(self);
  if (!require_number(array, "boolean")) return -1;
  if (array->info->size == 0) {
    PyErr_SetString(PyExc_ValueError,
                    "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is "
                    "not empty.");
    return -1;
  }
  if (array->info->size > 1) {
    PyErr_SetString(PyExc_ValueError,
                    "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()");
    return -1;
  }
  if (!array_data(array)) return -1;
  if (array->info->kind == Kind::Bool) return load<uint8_t>(array) != 0;
  PyRef value(element(array));
  return value ? PyObject_IsTrue(value.get()) : -1;
}

PyObject* array_as_float(PyObject* self) {
  Array* array = as_array(self);
  if (!require_number(array, "float") || !require_scalar(array) || !array_data(array)) return nullptr;
  if (array->info->kind == Kind::Float32) return PyFloat_FromDouble(load<float>(array));
  if (array->info->kind == Kind::Float64) return PyFloat_FromDouble(load<double>(array));
  PyRef value(element(array));
  return value ? PyNumber_Float(value.get()) : nullptr;
}

PyObject* array_as_int(PyObject* self) {
  Array* array = as_array(self);
  if (!require_number(array, "int") || !require_scalar(array) || !array_data(array)) return nullptr;
  if (array->info->kind == Kind::Int32) return PyLong_FromLong(load<int32_t>(array));
  PyRef value(element(array));
  return value ? PyNumber_Long(value.get()) : nullptr;
}

PyObject* array_as_index(PyObject* self) {
  Array* array = as_array(self);
  // Integers of ml_dtypes (int4) are user-defined types, and so known by their kind only.
  bool integer = PyDataType_ISINTEGER(array->info->dtype) || array->info->dtype->kind == 'i' || array->info->dtype->kind == 'u';
  if (!array->info->dims.empty() || !integer) {
    PyErr_SetString(PyExc_TypeError, "Only integer scalar arrays can be converted to a scalar index.");
    return nullptr;
  }
  return array_as_int(self);
}

PyObject* array_as_complex(PyObject* self, PyObject*) {
  Array* array = as_array(self);
  if (!require_number(array, "complex") || !require_scalar(array) || !array_data(array)) return nullptr;
  PyRef value(element(array));
  if (!value) return nullptr;
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), value.get());
}

}  // namespace nj
