// Calls from machine code into Python, through ctypes: no exception gets back to ctypes, which would print it and give machine
// code any status. A signal handler may raise wherever Python code runs, so Python code cannot see to that itself: the
// handler may run before its first statement.
#include "kernels/registry.h"
#include "runtime/python/error.h"
#include "runtime/python/guard.h"
#include "runtime/python/native.h"
#include "runtime/queue/queue.h"

namespace nj {

namespace {

constexpr int kMostInterruptions = 1000;  // of the function that keeps an error

// self: (function, record). The status of function(*pointers), or what record(error) makes of its exception.
PyObject* run(PyObject* self, PyObject* const* pointers, Py_ssize_t count) {
  queue_note_callback(1);
  PyRef status(PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), pointers, size_t(count), nullptr));
  for (int k = 0; !status && k < kMostInterruptions; ++k) {
    const PyRef error = fetch_error();
    if (error) status = PyRef(PyObject_CallOneArg(PyTuple_GET_ITEM(self, 1), error.get()));
  }
  queue_note_callback(-1);
  if (status) return status.release();
  PyErr_Clear();
  return PyLong_FromLong(long(kNoMemory));  // needs no memory
}

PyMethodDef run_definition = {"callback", method<run>(), METH_FASTCALL, nullptr};

PyObject* callback(PyObject*, PyObject* args) {
  PyObject *function, *record;
  if (!PyArg_ParseTuple(args, "OO:callback", &function, &record)) return nullptr;
  PyRef both(PyTuple_Pack(2, function, record));
  return both ? PyCFunction_New(&run_definition, both.get()) : nullptr;
}

PyMethodDef functions[] = {
    {"callback", method<callback>(), METH_VARARGS,
     PyDoc_STR("callback(function, record): a function for ctypes that never raises: function's status, or record(error).")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int callback_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
