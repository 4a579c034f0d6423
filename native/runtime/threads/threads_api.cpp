// The threads of compiled programs seen from Python: how many, and what becomes of them at exit.
#include <algorithm>
#include <limits>

#include "runtime/python/guard.h"
#include "runtime/threads/threads.h"

namespace nj {

namespace {

// Counts above the number of processors are taken as that number.
PyObject* set_num_threads(PyObject*, PyObject* count) {
  const long wanted = PyLong_AsLong(count);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  if (wanted < 1) {
    return PyErr_Format(PyExc_ValueError, "expected a number of threads of at least 1, got %ld", wanted);
  }
  Py_BEGIN_ALLOW_THREADS;
  set_thread_count(static_cast<int>(std::min<long>(wanted, std::numeric_limits<int>::max())));
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* num_threads(PyObject*, PyObject*) { return PyLong_FromLong(thread_count()); }

PyObject* parallel_regions(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(shared_regions()); }

PyObject* stop_workers(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  end_idle_threads();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_num_threads", method<set_num_threads>(), METH_O,
     PyDoc_STR("Sets how many threads compiled programs share their loops among, at most one per processor.")},
    {"num_threads", method<num_threads>(), METH_NOARGS,
     PyDoc_STR("How many threads compiled programs share their loops among.")},
    {"parallel_regions", method<parallel_regions>(), METH_NOARGS,
     PyDoc_STR("How many loops have been shared among several threads so far.")},
    {"stop_threads", method<stop_workers>(), METH_NOARGS,
     PyDoc_STR("Ends the threads that loops are shared among, unless one is; the next such loop starts new ones.")},
    {nullptr, nullptr, 0, nullptr}};

int register_stop(PyObject* module) {
  PyRef stop(PyObject_GetAttrString(module, "stop_threads")), atexit(PyImport_ImportModule("atexit"));
  if (!stop || !atexit) return -1;
  return PyRef(PyObject_CallMethod(atexit.get(), "register", "O", stop.get())) ? 0 : -1;
}

}  // namespace
}  // namespace nj

int threads_init(PyObject* module) {
  using namespace nj;
  if (PyModule_AddFunctions(module, functions) < 0 || register_stop(module) < 0) return -1;
  return prepare_threads_for_fork();
}
