// Arrays from Python numbers, NumPy scalars and ndarrays.
#pragma once
#include "array/array.h"

namespace nj {

// A fresh array with the value of `leaf` in info's dtype, copied. Null with an error: OverflowError for
// an int that does not fit, TypeError for something else than a number or ndarray.
ArrayRef array_from_leaf(PyObject* leaf, AvalInfo* info, PyObject* device, bool committed = false);

}  // namespace nj
