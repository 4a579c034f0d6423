// Operators of Array: the native path first, then the Python hook.
#include <initializer_list>

#include "array/slots.h"
#include "dispatch/eager/eager.h"
#include "runtime/python/guard.h"
#include "dispatch/hooks.h"

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
  PyObject* part = eager_part(reinterpret_cast<Array*>(self), index);
  if (part || PyErr_Occurred()) return part;
  PyObject* args[] = {self, index};
  return call_hook(hook_getitem, args, 2);
}

// An item as C code asks for it that takes sequences, NumPy's `lexsort` among it.
PyObject* item(PyObject* self, Py_ssize_t position) {
  PyRef index(PyLong_FromSsize_t(position));
  return index ? subscript(self, index.get()) : nullptr;
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "arrays are immutable: their items cannot be deleted");
    return -1;
  }
  PyObject* args[] = {self, index, value};
  PyRef result(call_hook(hook_setitem, args, 3));
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

}  // namespace

void add_operator_slots(std::vector<PyType_Slot>& slots) {
  for (PyType_Slot entry : std::initializer_list<PyType_Slot>{
           slot<fast_binary<op_add, hook_add, hook_radd>>(Py_nb_add),
           slot<fast_binary<op_sub, hook_sub, hook_rsub>>(Py_nb_subtract),
           slot<fast_binary<op_mul, hook_mul, hook_rmul>>(Py_nb_multiply),
           slot<fast_binary<op_div, hook_truediv, hook_rtruediv>>(Py_nb_true_divide),
           slot<slow_binary<hook_floordiv, hook_rfloordiv>>(Py_nb_floor_divide),
           slot<slow_binary<hook_mod, hook_rmod>>(Py_nb_remainder),
           slot<slow_binary<hook_divmod, hook_rdivmod>>(Py_nb_divmod),
           slot<matmul>(Py_nb_matrix_multiply),
           slot<slow_binary<hook_and, hook_rand>>(Py_nb_and),
           slot<slow_binary<hook_or, hook_ror>>(Py_nb_or),
           slot<slow_binary<hook_xor, hook_rxor>>(Py_nb_xor),
           slot<slow_binary<hook_lshift, hook_rlshift>>(Py_nb_lshift),
           slot<slow_binary<hook_rshift, hook_rrshift>>(Py_nb_rshift),
           slot<power>(Py_nb_power),
           slot<negative>(Py_nb_negative),
           slot<unary<hook_pos>>(Py_nb_positive),
           slot<unary<hook_abs>>(Py_nb_absolute),
           slot<unary<hook_invert>>(Py_nb_invert),
           slot<array_as_bool>(Py_nb_bool),
           slot<array_as_int>(Py_nb_int),
           slot<array_as_float>(Py_nb_float),
           slot<array_as_index>(Py_nb_index),
           slot<length>(Py_mp_length),
           slot<length>(Py_sq_length),
           slot<item>(Py_sq_item),
           slot<subscript>(Py_mp_subscript),
           slot<assign_subscript>(Py_mp_ass_subscript),
           slot<unary<hook_iter>>(Py_tp_iter),
           slot<compare>(Py_tp_richcompare),
           {Py_tp_hash, code_address(PyObject_HashNotImplemented)},
           slot<repr>(Py_tp_repr),
           slot<str>(Py_tp_str),
       }) {
    slots.push_back(entry);
  }
}

}  // namespace nj
