// kernel_address(), kernel_names() and kernel_types(): the registry of kernels seen from Python.
#include "kernels/registry.h"

#include <cstring>

#include "runtime/python/guard.h"
#include "array/numpy_api.h"
#include "kernels/sort/order.h"

namespace nj {

namespace {

PyObject* kernel_address(PyObject*, PyObject* name) {
  const char* wanted = PyUnicode_AsUTF8(name);
  if (!wanted) return nullptr;
  for (const KernelEntry* entry = first_kernel(); entry; entry = entry->next) {
    if (std::strcmp(entry->name, wanted) == 0) return PyLong_FromVoidPtr(const_cast<void*>(entry->address));
  }
  return PyErr_Format(PyExc_KeyError, "no kernel named %R in the native core; kernel_names() lists them", name);
}

PyObject* kernel_names(PyObject*, PyObject*) {
  PyRef names(PyList_New(0));
  if (!names) return nullptr;
  for (const KernelEntry* entry = first_kernel(); entry; entry = entry->next) {
    PyRef name(PyUnicode_FromString(entry->name));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
  }
  if (PyList_Sort(names.get()) < 0) return nullptr;
  return names.release();
}

PyObject* kernel_types(PyObject*, PyObject*) {
  PyRef types(PyDict_New());
  if (!types) return nullptr;
  for (const KernelEntry* entry = first_kernel(); entry; entry = entry->next) {
    PyRef type(PyUnicode_FromString(entry->type));
    if (!type || PyDict_SetItemString(types.get(), entry->name, type.get()) < 0) return nullptr;
  }
  return types.release();
}

PyMethodDef functions[] = {
    {"kernel_address", method<kernel_address>(), METH_O,
     PyDoc_STR("Address of a native kernel; KeyError for an unknown name.")},
    {"kernel_names", method<kernel_names>(), METH_NOARGS, PyDoc_STR("Sorted names of all native kernels.")},
    {"kernel_types", method<kernel_types>(), METH_NOARGS, PyDoc_STR("C types of all native kernels by name, as letters.")},
    {nullptr, nullptr, 0, nullptr}};

// NumPy's sorts of plain numbers are vectorized, and take nothing but the address of the data.
int borrow_row_sorts() {
  using namespace sorting;
  static const struct {
    DtypeCode code;
    int type;
  } table[] = {{code_int8, NPY_INT8},       {code_int16, NPY_INT16},     {code_int32, NPY_INT32},   {code_int64, NPY_INT64},
               {code_uint8, NPY_UINT8},     {code_uint16, NPY_UINT16},   {code_uint32, NPY_UINT32}, {code_uint64, NPY_UINT64},
               {code_float32, NPY_FLOAT32}, {code_float64, NPY_FLOAT64}, {code_bool, NPY_UINT8}};
  for (const auto& [code, type] : table) {
    PyRef dtype(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type)));
    if (!dtype) return -1;
    auto* functions = PyDataType_GetArrFuncs(reinterpret_cast<PyArray_Descr*>(dtype.get()));
    row_sorts[code] = functions ? reinterpret_cast<RowSort>(functions->sort[NPY_QUICKSORT]) : nullptr;
  }
  return 0;
}

}  // namespace
}  // namespace nj

int kernels_init(PyObject* module) {
  if (nj::borrow_row_sorts() < 0) return -1;
  return PyModule_AddFunctions(module, nj::functions);
}
