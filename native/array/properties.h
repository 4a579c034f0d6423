// Properties of arrays as instances of Python's `property`.
#pragma once
#include "runtime/python/native.h"

namespace nj {

// Puts an ArrayProperty in place of each public getter of a type.
int show_getters_as_properties(PyTypeObject* type);
int array_properties_init(PyObject* module);

}  // namespace nj
