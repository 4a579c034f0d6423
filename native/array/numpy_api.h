// NumPy's C API, shared by all files of the native core (module.cpp imports it, see NJ_IMPORT_NUMPY).
#pragma once
#include "runtime/python/native.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL numjet_numpy_api
#ifndef NJ_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
