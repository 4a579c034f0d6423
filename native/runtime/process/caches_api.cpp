// Cache sizes seen from Python.
#include "runtime/process/caches.h"

#include "runtime/python/guard.h"
#include "runtime/python/native.h"

namespace nj {

namespace {

PyObject* caches_below(PyObject*, PyObject* root) {
  const char* path = PyUnicode_AsUTF8(root);
  if (!path) return nullptr;
  const Caches found = *path ? read_caches(path) : caches();
  return Py_BuildValue("LLLLL", static_cast<long long>(found.line), static_cast<long long>(found.l1),
                       static_cast<long long>(found.l2), static_cast<long long>(found.l2_way),
                       static_cast<long long>(found.last_level));
}

PyMethodDef functions[] = {
    {"caches", method<caches_below>(), METH_O,
     PyDoc_STR("(line, l1, l2, l2_way, last_level) in bytes: of this machine for \"\", else as files below a folder say.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int caches_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
