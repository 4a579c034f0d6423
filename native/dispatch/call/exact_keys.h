// Keys of caches: what may stand for one another in every program.
#pragma once
#include "runtime/python/native.h"

namespace nj {

// 1 where two objects are equal and of one type, all the way down: 1, 1.0 and True are three things, 0.0 and -0.0 two, a NaN
// is itself. Objects of other classes are what their == says. -1: comparing raised.
int exact_equal(PyObject* a, PyObject* b);

// An object whose == and hash are this equality; the value itself where its own are. A new reference.
PyObject* exact_key(PyObject* value);

}  // namespace nj
