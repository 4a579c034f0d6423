// Operators of Array: the native path first, then the Python hook.
#include <initializer_list>

#include "array_slots.h"
#include "eager.h"
#include "hooks.h"

namespace nj {

namespace {

PyObject* by_hook(Hook hook, Hook reflected, PyObject* a, PyObject* b) {
  return is_array(a) ? call_binary_hook(hook, a, b) : call_binary_hook(reflected, b, a);
}

// For operators with a native path.
template <EagerOp kOp, Hook kHook, Hook kReflected>
PyObject* fast_binary(PyObject* a, PyObject* b) {
  PyObject* result = eager_binary(kOp, a, b);
  if (result || PyErr_Occurred()) return result;
  return by_hook(kHook, kReflected, a, b);
}

template <Hook kHook, Hook kReflected>
PyObject* slow_binary(PyObject* a, PyObject* b) {
  return by_hook(kHook, kReflected, a, b);
}

PyObject* matmul(PyObject* a, PyObject* b) {
  PyObject* result = eager_matmul(a, b);
  if (result || PyErr_Occurred()) return result;
  return by_hook(hook_matmul, hook_rmatmul, a, b);
}

template <Hook kHook>
PyObject* unary(PyObject* self) {
  return call_hook(kHook, &self, 1);
}

PyObject* negative(PyObject* self) {
  PyObject* result = eager_negative(reinterpret_cast<Array*>(self));
  if (result || PyErr_Occurred()) return result;
  return unary<hook_neg>(self);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return PyErr_Format(PyExc_TypeError, "pow() of arrays takes no third argument");
  return by_hook(hook_pow, hook_rpow, a, b);
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  struct Comparison {
    EagerOp eager;
    Hook hook;
  };
  static const Comparison table[] = {{op_lt, hook_lt}, {op_le, hook_le}, {op_eq, hook_eq},
                                     {op_ne, hook_ne}, {op_gt, hook_gt}, {op_ge, hook_ge}};
  const Comparison& comparison = table[op];  // in the order of Py_LT ... Py_GE
  PyObject* result = eager_binary(comparison.eager, self, other);
  if (result || PyErr_Occurred()) return result;
  return call_binary_hook(comparison.hook, self, other);
}

PyObject* subscript(PyObject* self, PyObject* index) {
  PyObject* args[] = {self, index};
  return call_hook(hook_getitem, args, 2);
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "arrays are immutable: their items cannot be deleted");
    return -1;
  }
  PyObject* args[] = {self, index, value};
  Ref result(call_hook(hook_setitem, args, 3));
  return result ? 0 : -1;
}

Py_ssize_t length(PyObject* self) {
  const AvalInfo* info = reinterpret_cast<Array*>(self)->info;
  if (!info->dims.empty()) return info->dims[0];
  PyErr_SetString(PyExc_TypeError, "len() of unsized object");
  return -1;
}

PyObject* repr(PyObject* self) {
  if (hooks[hook_repr]) return unary<hook_repr>(self);
  return PyUnicode_FromFormat("<numjet.Array %s>", describe(reinterpret_cast<Array*>(self)->info).c_str());
}

PyObject* str(PyObject* self) { return hooks[hook_str] ? unary<hook_str>(self) : repr(self); }

template <class Function>
PyType_Slot slot(int id, Function function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

void add_operator_slots(std::vector<PyType_Slot>& slots) {
  for (PyType_Slot entry : std::initializer_list<PyType_Slot>{
           slot(Py_nb_add, fast_binary<op_add, hook_add, hook_radd>),
           slot(Py_nb_subtract, fast_binary<op_sub, hook_sub, hook_rsub>),
           slot(Py_nb_multiply, fast_binary<op_mul, hook_mul, hook_rmul>),
           slot(Py_nb_true_divide, fast_binary<op_div, hook_truediv, hook_rtruediv>),
           slot(Py_nb_floor_divide, slow_binary<hook_floordiv, hook_rfloordiv>),
           slot(Py_nb_remainder, slow_binary<hook_mod, hook_rmod>),
           slot(Py_nb_divmod, slow_binary<hook_divmod, hook_rdivmod>),
           slot(Py_nb_matrix_multiply, matmul),
           slot(Py_nb_and, slow_binary<hook_and, hook_rand>),
           slot(Py_nb_or, slow_binary<hook_or, hook_ror>),
           slot(Py_nb_xor, slow_binary<hook_xor, hook_rxor>),
           slot(Py_nb_lshift, slow_binary<hook_lshift, hook_rlshift>),
           slot(Py_nb_rshift, slow_binary<hook_rshift, hook_rrshift>),
           slot(Py_nb_power, power),
           slot(Py_nb_negative, negative),
           slot(Py_nb_positive, unary<hook_pos>),
           slot(Py_nb_absolute, unary<hook_abs>),
           slot(Py_nb_invert, unary<hook_invert>),
           slot(Py_nb_bool, array_as_bool),
           slot(Py_nb_int, array_as_int),
           slot(Py_nb_float, array_as_float),
           slot(Py_nb_index, array_as_index),
           slot(Py_mp_length, length),
           slot(Py_mp_subscript, subscript),
           slot(Py_mp_ass_subscript, assign_subscript),
           slot(Py_tp_iter, unary<hook_iter>),
           slot(Py_tp_richcompare, compare),
           slot(Py_tp_hash, PyObject_HashNotImplemented),
           slot(Py_tp_repr, repr),
           slot(Py_tp_str, str),
       }) {
    slots.push_back(entry);
  }
}

}  // namespace nj
