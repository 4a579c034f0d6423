// Exact keys of caches. Python's == takes 1 for True and 0.0 for -0.0, which give different programs.
#include "dispatch/call/exact_keys.h"

#include <cstring>

#include "runtime/python/guard.h"
#include "array/numpy_api.h"
#include "pytree/pytree.h"

namespace nj {

namespace {

PyGlobal mark;         // begins every key that is not the value itself; nobody else has it
PyGlobal bool_keys[2];
PyGlobal method_name;  // __exact_key__

// (mark, type, a, b), of which b may be absent; null where a is.
PyObject* marked(PyTypeObject* type, const PyRef& a, const PyRef& b = PyRef()) {
  if (!a) return nullptr;
  return b ? PyTuple_Pack(4, mark.get(), type, a.get(), b.get()) : PyTuple_Pack(3, mark.get(), type, a.get());
}

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

bool same_bits(double a, double b) { return bits(a) == bits(b); }

PyRef number(double value) { return PyRef(PyLong_FromUnsignedLongLong(bits(value))); }

PyObject* complex_key(PyObject* value) {
  const PyRef imaginary = number(PyComplex_ImagAsDouble(value));
  return imaginary ? marked(&PyComplex_Type, number(PyComplex_RealAsDouble(value)), imaginary) : nullptr;
}

// Those whose == is identity, and those that are equal to nothing of another type.
bool stands_for_itself(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  return type == &PyLong_Type || type == &PyUnicode_Type || value == Py_None || type == &PyBytes_Type || PyType_Check(value) ||
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare || PyArray_DescrCheck(value);
}

// A sequence's keys as a tuple: `value` itself where it is a tuple and all keys are the elements.
PyObject* keys_of(PyObject* value) {
  PyRef items(PySequence_Tuple(value));
  if (!items) return nullptr;
  PyRef changed;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.get()); ++k) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), k);
    PyRef key(exact_key(item));
    if (!key) return nullptr;
    if (key.get() == item && !changed) continue;
    if (!changed) {
      changed = PyRef(PyTuple_New(PyTuple_GET_SIZE(items.get())));
      if (!changed) return nullptr;
      for (Py_ssize_t j = 0; j < k; ++j) PyTuple_SET_ITEM(changed.get(), j, Py_NewRef(PyTuple_GET_ITEM(items.get(), j)));
    }
    PyTuple_SET_ITEM(changed.get(), k, key.release());
  }
  return changed ? changed.release() : items.release();
}

PyObject* set_key(PyObject* value) {
  PyRef keys(keys_of(value));
  return keys ? marked(Py_TYPE(value), PyRef(PyFrozenSet_New(keys))) : nullptr;
}

PyObject* dict_key(PyObject* value) {
  PyRef items(PyDict_Items(value));
  return items ? marked(Py_TYPE(value), PyRef(keys_of(items))) : nullptr;
}

PyObject* slice_key(PyObject* value) {
  auto* slice = reinterpret_cast<PySliceObject*>(value);
  PyRef parts(PyTuple_Pack(3, slice->start, slice->stop, slice->step));
  return parts ? marked(&PySlice_Type, PyRef(keys_of(parts))) : nullptr;
}

PyObject* scalar_key(PyObject* value) {
  PyRef dtype(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(value)));
  if (!dtype) return nullptr;
  return marked(Py_TYPE(value), PyRef(PyObject_CallMethod(value, "tobytes", nullptr)), dtype);
}

// Metadata of nodes may be of any kind: those without a hash are left to the treedef's own ==.
PyObject* treedef_key(PyObject* value) {
  PyRef data(pytree_data(value));
  PyRef keys(data ? keys_of(data.get()) : nullptr);
  if (!keys) return nullptr;
  if (keys.get() == data.get()) return Py_NewRef(value);
  if (PyObject_Hash(keys.get()) == -1) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
    PyErr_Clear();
    return Py_NewRef(value);
  }
  return marked(Py_TYPE(value), PyRef::share(value), keys);
}

// Classes that say what they are made of; others are compared as they want to be.
PyObject* object_key(PyObject* value) {
  PyRef method(_PyType_Lookup(Py_TYPE(value), method_name.get()) ? PyObject_GetAttr(value, method_name.get()) : nullptr);
  if (!method) return PyErr_Occurred() ? nullptr : marked(Py_TYPE(value), PyRef::share(value));
  PyRef parts(PyObject_CallNoArgs(method.get()));
  return parts ? marked(Py_TYPE(value), PyRef(exact_key(parts))) : nullptr;
}

bool is_plain_tuple(PyObject* value) {
  return PyTuple_Check(value) && Py_TYPE(value)->tp_richcompare == PyTuple_Type.tp_richcompare;
}

PyObject* container_key(PyObject* value) {
  if (PyTuple_CheckExact(value)) return keys_of(value);
  if (is_plain_tuple(value) || PyList_CheckExact(value)) return marked(Py_TYPE(value), PyRef(keys_of(value)));
  if (PyFrozenSet_CheckExact(value) || PySet_CheckExact(value)) return set_key(value);
  if (PyDict_CheckExact(value)) return dict_key(value);
  if (PySlice_Check(value)) return slice_key(value);
  return object_key(value);
}

}  // namespace

PyObject* exact_key(PyObject* value) {
  if (stands_for_itself(value)) return Py_NewRef(value);
  if (PyBool_Check(value)) return Py_NewRef(bool_keys[value == Py_True].get());
  if (PyFloat_CheckExact(value)) return marked(&PyFloat_Type, number(PyFloat_AS_DOUBLE(value)));
  if (PyComplex_CheckExact(value)) return complex_key(value);
  if (PyArray_IsScalar(value, Generic)) return scalar_key(value);
  if (pytree_is_treedef(value)) return treedef_key(value);
  if (Py_EnterRecursiveCall(" while making a key for a cache")) return nullptr;
  PyObject* key = container_key(value);
  Py_LeaveRecursiveCall();
  return key;
}

int exact_equal(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (Py_TYPE(a) != Py_TYPE(b)) return 0;
  if (PyFloat_CheckExact(a)) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (stands_for_itself(a)) return PyObject_RichCompareBool(a, b, Py_EQ);
  if (pytree_is_treedef(a)) {
    int same = pytree_equal(a, b);
    if (same != 1) return same;
  }
  PyRef left(exact_key(a));
  PyRef right(left ? exact_key(b) : nullptr);
  return right ? PyObject_RichCompareBool(left.get(), right.get(), Py_EQ) : -1;
}

namespace {

PyObject* exact_key_of(PyObject*, PyObject* value) { return exact_key(value); }

PyObject* exact_items(PyObject*, PyObject* dict) {
  if (!PyDict_CheckExact(dict)) return PyErr_Format(PyExc_TypeError, "exact_items: expected a dict, got %R", dict);
  PyRef items(PyTuple_New(2 * PyDict_GET_SIZE(dict)));
  if (!items) return nullptr;
  PyObject *name, *value;
  Py_ssize_t position = 0, at = 0;
  while (at < PyTuple_GET_SIZE(items.get()) && PyDict_Next(dict, &position, &name, &value)) {
    PyTuple_SET_ITEM(items.get(), at++, Py_NewRef(name));
    PyRef alive = PyRef::share(value);
    PyObject* key = exact_key(value);
    if (!key) return nullptr;
    PyTuple_SET_ITEM(items.get(), at++, key);
  }
  if (at < PyTuple_GET_SIZE(items.get())) {
    return PyErr_Format(PyExc_RuntimeError, "exact_items: the dict changed meanwhile");
  }
  return items.release();
}

PyMethodDef functions[] = {
    {"exact_key", method<exact_key_of>(), METH_O,
     PyDoc_STR("What stands for a value in the key of a cache: 1, 1.0 and True differ, and 0.0 and -0.0, all the way down.")},
    {"exact_items", method<exact_items>(), METH_O,
     PyDoc_STR("Names and exact keys of a dict's items, in order, as one tuple.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int exact_init(PyObject* module) {
  using namespace nj;
  mark.exchange(PyRef(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))));
  method_name.exchange(PyRef(PyUnicode_InternFromString("__exact_key__")));
  if (!mark || !method_name) return -1;
  for (int value : {0, 1}) {
    bool_keys[value].exchange(PyRef(marked(&PyBool_Type, PyRef(PyLong_FromLong(value)))));
    if (!bool_keys[value]) return -1;
  }
  return PyModule_AddFunctions(module, functions);
}
