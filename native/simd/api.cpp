// The instruction set of kernels seen from Python: a limit, for results as on another processor.
#include "runtime/python/guard.h"
#include "simd/choice.h"

namespace nj {

namespace {

PyObject* limit_instruction_set(PyObject*, PyObject* level) {
  const long widest = PyLong_AsLong(level);
  if (widest == -1 && PyErr_Occurred()) return nullptr;
  if (widest < 0 || widest > 2) {
    return PyErr_Format(PyExc_ValueError, "expected 0 (portable), 1 (AVX2) or 2 (AVX-512), got %ld", widest);
  }
  return PyBool_FromLong(limit_simd(static_cast<Simd>(widest)));
}

PyMethodDef functions[] = {
    {"limit_instruction_set", method<limit_instruction_set>(), METH_O,
     PyDoc_STR(
         "Has kernels use no wider instruction set: 0 portable, 1 AVX2, 2 AVX-512. False: the processor does not have it, "
         "or a kernel has been used already.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int simd_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
