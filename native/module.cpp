// The module numjet._native: calls the init function of every part.
#define NJ_IMPORT_NUMPY
#include "numpy_api.h"

#include <initializer_list>

#include "guard.h"

static PyModuleDef native_module = {PyModuleDef_HEAD_INIT, "numjet._native", nullptr, -1, nullptr,
                                    nullptr, nullptr, nullptr, nullptr};

static PyObject* create() {
  if (PyArray_ImportNumPyAPI() < 0) return nullptr;
  nj::Ref module(PyModule_Create(&native_module));
  if (!module) return nullptr;
  using Init = int (*)(PyObject*);
  // Threads before the queue: what runs at exit runs in the opposite order, and the queue uses threads.
  for (Init init : {trace_init, pytree_init, pool_init, aval_init, exact_init, headroom_init, array_init, eager_init, threads_init,
                    queue_init, fork_init, callback_init, execute_init, jitcall_init, kernels_init}) {
    if (init(module.get()) < 0) return nullptr;
  }
  return module.release();
}

PyMODINIT_FUNC PyInit__native(void) { return nj::guarded<create>(); }
