// Address space that code which cannot fail is going to need.
#include <sys/mman.h>

#include "runtime/python/native.h"
#include "runtime/python/guard.h"

namespace {

// LLVM ends the process where an allocation fails, so what it will need is asked for before it is called, and given back.
PyObject* require_memory(PyObject*, PyObject* value) {
  const Py_ssize_t bytes = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  if (bytes <= 0) return PyErr_Format(PyExc_ValueError, "require_memory: expected a number of bytes above 0, got %zd", bytes);
  void* room = mmap(nullptr, size_t(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    return PyErr_Format(PyExc_MemoryError,
                        "compiling needs %zd MiB of address space that this process may not have: raise its limit "
                        "(ulimit -v, RLIMIT_AS), or free memory",
                        bytes >> 20);
  }
  munmap(room, size_t(bytes));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"require_memory", nj::method<require_memory>(), METH_O,
                            PyDoc_STR("MemoryError where the process may not have so many more bytes of address space.")},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

int headroom_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }
