// The error indicator of Python as a handle.
#pragma once
#include "runtime/python/native.h"

namespace nj {

// Takes the error that is set, as an instance with its traceback; null when there is none.
inline PyRef fetch_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (!type) return PyRef();
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef owned_type(type), owned_traceback(traceback);
  PyRef error(value);
  if (error && traceback && PyException_SetTraceback(value, traceback) < 0) PyErr_Clear();
  return error;
}

// Sets an error again, in place of any other; null sets none.
inline void restore_error(PyRef error) {
  if (!error) return PyErr_Clear();
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(error.get()));
  PyObject* traceback = PyException_GetTraceback(error.get());
  PyErr_Restore(Py_NewRef(type), error.release(), traceback);  // which takes all three
}

}  // namespace nj
