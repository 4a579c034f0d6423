// Tapes: what an eager call of a library function does for arguments of certain types, as steps that need no Python.
#pragma once
#include <memory>
#include <vector>

#include "array/array.h"

namespace nj {

struct TapePlan;

struct Tape {
  PyObject_HEAD
  std::unique_ptr<TapePlan> plan;
  PyRef device, treedef;  // of the results; the treedef is null for a single one
};

extern PyTypeObject* tape_type;

// The result for the leaves of a call: a new reference. Null without an error: these values are for the function itself.
PyObject* run_tape(Tape* tape, PyObject* const* leaves, size_t count);

int tape_init(PyObject* module);

}  // namespace nj
