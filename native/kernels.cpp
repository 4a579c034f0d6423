// kernel_address() and kernel_names(): the registry of kernels seen from Python.
#include "kernels.h"

#include <cstring>

#include "native.h"

namespace nj {

namespace {
KernelEntry*& first_entry() {
  static KernelEntry* first = nullptr;
  return first;
}
}  // namespace

KernelEntry::KernelEntry(const char* kernel_name, const void* kernel_address)
    : name(kernel_name), address(kernel_address), next(first_entry()) {
  first_entry() = this;
}

namespace {

PyObject* kernel_address(PyObject*, PyObject* name) {
  const char* wanted = PyUnicode_AsUTF8(name);
  if (!wanted) return nullptr;
  for (KernelEntry* entry = first_entry(); entry; entry = entry->next) {
    if (std::strcmp(entry->name, wanted) == 0) return PyLong_FromVoidPtr(const_cast<void*>(entry->address));
  }
  return PyErr_Format(PyExc_KeyError, "no kernel named %R in the native core; kernel_names() lists them", name);
}

PyObject* kernel_names(PyObject*, PyObject*) {
  Ref names(PyList_New(0));
  if (!names) return nullptr;
  for (KernelEntry* entry = first_entry(); entry; entry = entry->next) {
    Ref name(PyUnicode_FromString(entry->name));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
  }
  if (PyList_Sort(names.get()) < 0) return nullptr;
  return names.release();
}

PyMethodDef functions[] = {
    {"kernel_address", kernel_address, METH_O, PyDoc_STR("Address of a native kernel; KeyError for an unknown name.")},
    {"kernel_names", kernel_names, METH_NOARGS, PyDoc_STR("Sorted names of all native kernels.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int kernels_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
