// The boundary to Python's C code, which no exception may cross: std::bad_alloc becomes MemoryError, others RuntimeError with
// their text. Every function in a table of methods, properties or slots goes through here, and so do functions that other C
// code calls back (tests/native/test_guards.py reads the tables). The boundary to machine code is in kernels/registry.h.
#pragma once
#include <exception>
#include <new>
#include <type_traits>

#include "runtime/code_address.h"
#include "runtime/python/error.h"

namespace nj {

// Sets the Python error that the C++ exception being handled stands for.
inline void raise_caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

// For what cannot fail, as deallocations: says so and goes on.
inline void report_caught() {
  PyRef before = fetch_error();
  raise_caught();
  PyErr_WriteUnraisable(nullptr);
  restore_error(std::move(before));
}

template <auto function>
struct Guarded;

// Not noexcept, and other exceptions pass: a daemon thread at exit is unwound by one that nobody may catch.
template <class Result, class... Args, Result (*function)(Args...)>
struct Guarded<function> {
  static Result call(Args... args) {
    try {
      return function(args...);
    } catch (const std::exception&) {
      if constexpr (std::is_void_v<Result>) report_caught();
      else raise_caught();
    }
    if constexpr (std::is_pointer_v<Result>) return nullptr;
    else if constexpr (!std::is_void_v<Result>) return Result(-1);
  }
};

// As a getter or setter, and for other places that take a function of this type.
template <auto function>
constexpr auto guarded = &Guarded<function>::call;

// As an entry of PyMethodDef.
template <auto function>
PyCFunction method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded<function>));
}

// As an entry of PyType_Slot.
template <auto function>
PyType_Slot slot(int id) {
  return {id, code_address(guarded<function>)};
}

inline PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
  return nullptr;
}

// For types that only this module makes objects of: neither a call nor object.__new__ does. (The flag
// Py_TPFLAGS_DISALLOW_INSTANTIATION does not refuse the latter, whose objects hold null pointers.)
inline PyType_Slot no_instances() { return slot<refuse_new>(Py_tp_new); }

}  // namespace nj
