// NumPy's ufuncs as objects: their tables of inner loops.
#pragma once
#include "array/numpy_api.h"

#define PY_UFUNC_UNIQUE_SYMBOL numjet_ufunc_api
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>
