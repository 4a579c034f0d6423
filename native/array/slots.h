// The parts of the Array type that stand in files of their own.
#pragma once
#include <vector>

#include "runtime/python/native.h"

namespace nj {

void add_operator_slots(std::vector<PyType_Slot>& slots);
void add_protocol_slots(std::vector<PyType_Slot>& slots);

// Python numbers from arrays (conversions.cpp).
int array_as_bool(PyObject* self);
PyObject* array_as_int(PyObject* self);
PyObject* array_as_float(PyObject* self);
PyObject* array_as_index(PyObject* self);
PyObject* array_as_complex(PyObject* self, PyObject*);

// Exports (export.cpp).
int views_init();
int array_get_buffer(PyObject* self, Py_buffer* view, int flags);
void array_release_buffer(PyObject* self, Py_buffer* view);
PyObject* array_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);

}  // namespace nj
