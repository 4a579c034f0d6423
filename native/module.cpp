// The module numjet._native: calls the init function of every part.
#define NJ_IMPORT_NUMPY
#include "array/numpy_api.h"

#include <initializer_list>

#include "runtime/python/guard.h"

// The text of numjet/_native.pyi that this core was built with: CMake writes it.
static const unsigned char declarations[] = {
#include "declarations.inc"
};

static PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT, "numjet._native", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

// Its state belongs to the process: arrays, locks and types of one interpreter would be used by another.
static int check_interpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
  PyErr_SetString(PyExc_ImportError,
                  "numjet does not support sub-interpreters: import it in the main interpreter, and use threads or processes "
                  "(multiprocessing, concurrent.futures) instead");
  return -1;
}

static PyObject* check_interpreter_function(PyObject*, PyObject*) {
  if (check_interpreter() < 0) return nullptr;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"check_interpreter", nj::method<check_interpreter_function>(), METH_NOARGS,
     PyDoc_STR("Raises ImportError in a sub-interpreter, to which Python may give a copy of this module without asking it.")},
    {nullptr, nullptr, 0, nullptr}};

static PyObject* create() {
  if (check_interpreter() < 0) return nullptr;
  if (PyArray_ImportNumPyAPI() < 0) return nullptr;
  nj::PyRef module(PyModule_Create(&native_module));
  if (!module || PyModule_AddFunctions(module.get(), functions) < 0) return nullptr;
  using Init = int (*)(PyObject*);
  // Threads before the queue: what runs at exit runs in the opposite order, and the queue uses threads.
  for (Init init : {trace_init, scopes_init, pytree_init, pool_init, aval_init, exact_init, headroom_init, simd_init,
                    array_init, eager_init, threads_init, queue_init, fork_init, cgroup_init, caches_init, code_init,
                    callback_init, execute_init, jitcall_init, kernels_init, ir_init, signals_init}) {
    if (init(module.get()) < 0) return nullptr;
  }
  nj::PyRef text(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(declarations), sizeof declarations));
  if (!text || PyModule_AddObjectRef(module.get(), "declarations", text.get()) < 0) return nullptr;
  return module.release();
}

PyMODINIT_FUNC PyInit__native(void) { return nj::guarded<create>(); }
