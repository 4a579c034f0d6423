// Limits of control groups seen from Python.
#include "runtime/process/cgroup.h"

#include "runtime/python/guard.h"
#include "runtime/python/native.h"

namespace nj {

namespace {

PyObject* limits_below(PyObject*, PyObject* root) {
  const char* path = PyUnicode_AsUTF8(root);
  if (!path) return nullptr;
  const CgroupLimits limits = cgroup_limits(path);
  return Py_BuildValue("dK", limits.processors, static_cast<unsigned long long>(limits.memory_bytes));
}

PyMethodDef functions[] = {
    {"cgroup_limits", method<limits_below>(), METH_O,
     PyDoc_STR("(processors, bytes of memory) that control groups allow, read from the files below a folder.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int cgroup_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
