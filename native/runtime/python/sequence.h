// New tuples and lists, item by item.
#pragma once
#include "runtime/python/native.h"

namespace nj {

// item(0) ... item(count - 1), which are new references; null, with the error set, where one of them is null. Python's
// collector knows the unfinished one: where items run Python code, that must not look for it.
template <class Item> PyObject* new_tuple(size_t count, Item item) {
  PyRef tuple(PyTuple_New(Py_ssize_t(count)));
  for (size_t k = 0; tuple && k < count; ++k) {
    PyObject* object = item(k);
    if (!object) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(k), object);
  }
  return tuple.release();
}

template <class Item> PyObject* new_list(size_t count, Item item) {
  PyRef list(PyList_New(Py_ssize_t(count)));
  for (size_t k = 0; list && k < count; ++k) {
    PyObject* object = item(k);
    if (!object) return nullptr;
    PyList_SET_ITEM(list.get(), Py_ssize_t(k), object);
  }
  return list.release();
}

}  // namespace nj
