// Eager arithmetic and comparisons without Python: two arrays of one aval, or an array and a Python number.
#include "dispatch/eager/eager.h"

#include "dispatch/hooks.h"
#include "dispatch/trace.h"

namespace nj {

namespace {

constexpr Py_ssize_t kMaxSize = 32768;

bool is_comparison(EagerOp op) { return op >= op_lt; }
bool is_float(Kind kind) { return kind == Kind::Float32 || kind == Kind::Float64; }

bool suits(Array* a) {
  return !a->info->weak && !a->info->placed && a->info->size <= kMaxSize && a->info->kind != Kind::Other && !a->remote && array_ready(a);
}

// The aval of comparisons, asked for once per aval. Null without an error when nobody provides it.
AvalInfo* bool_info(AvalInfo* info) {
  if (info->as_bool) return info->as_bool;
  if (!hooks[hook_aval]) return nullptr;
  PyRef dtype(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_BOOL)));
  PyObject* args[] = {info->shape, dtype.get(), Py_False};
  PyRef aval(call_hook(hook_aval, args, 3));
  if (!aval) return nullptr;
  AvalRef found = aval_info(aval);
  if (!found) return nullptr;
  if (found->kind != Kind::Bool || found->weak || found->dims != info->dims) {
    PyErr_Format(PyExc_TypeError, "hook aval: expected a bool aval of shape %R, got %R", info->shape.get(), aval.get());
    return nullptr;
  }
  if (!info->as_bool) info->as_bool = std::move(found);  // the hook may have come by here
  return info->as_bool;
}

union Scalar {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
};

// Python number -> element of an array of that kind; false when the promotion rules need more thought.
bool as_element(PyObject* number, Kind kind, Scalar* element) {
  if (PyFloat_CheckExact(number) && is_float(kind)) {
    double value = PyFloat_AS_DOUBLE(number);
    if (kind == Kind::Float32) element->f32 = float(value);
    else element->f64 = value;
    return true;
  }
  if (!PyLong_CheckExact(number)) return false;
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow) return false;
  if (kind == Kind::Int64) {
    element->i64 = value;
    return true;
  }
  // Beyond 32 bits an int is an error or not, depending on the x64 flag.
  if (value != int32_t(value)) return false;
  if (kind == Kind::Int32) element->i32 = int32_t(value);
  else if (kind == Kind::Float32) element->f32 = float(value);
  else if (kind == Kind::Float64) element->f64 = double(value);
  else return false;
  return true;
}

// An array for the result, like `array`.
ArrayRef result_like(Array* array, AvalInfo* info, bool committed) {
  ArrayRef out = array_empty(info, array->device, committed);
  if (out) out->sharding = array->sharding;
  return out;
}

// An array operand, or a number in `element`.
struct Operand {
  Array* array;
  Scalar element;
  const char* data() const { return array ? array->buffer->data : reinterpret_cast<const char*>(&element); }
};

PyObject* run(EagerOp op, const Operand& a, const Operand& b) {
  Array* like = a.array ? a.array : b.array;
  if (!like) return nullptr;
  Operands operands = !a.array ? scalar_left : !b.array ? scalar_right : both_arrays;
  EagerLoop loop = eager_loop(op, like->info->kind, operands);
  if (!loop) return nullptr;
  AvalInfo* info = is_comparison(op) ? bool_info(like->info) : like->info.get();
  if (!info) return nullptr;
  bool committed = (a.array && a.array->committed) || (b.array && b.array->committed);
  ArrayRef out = result_like(like, info, committed);
  if (!out) return nullptr;
  // Both calls above may run Python code, which may delete arrays.
  if ((a.array && !a.array->buffer) || (b.array && !b.array->buffer)) return nullptr;
  const char* const in[] = {a.data(), b.data()};
  loop(out->buffer->data, in, like->info->size);
  return give(std::move(out));
}

bool as_operand(PyObject* object, Array* other, Operand* operand) {
  if (is_array(object)) {
    operand->array = reinterpret_cast<Array*>(object);
    return suits(operand->array);
  }
  operand->array = nullptr;
  return as_element(object, other->info->kind, &operand->element);
}

bool alike(const Array* a, const Array* b) {
  return a->info == b->info && a->device == b->device && a->sharding == b->sharding;
}

}  // namespace

PyObject* eager_binary(EagerOp op, PyObject* a, PyObject* b) {
  if (!evaluating_arrays()) return nullptr;
  Operand left, right;
  if (!as_operand(a, reinterpret_cast<Array*>(b), &left)) return nullptr;
  if (!as_operand(b, reinterpret_cast<Array*>(a), &right)) return nullptr;
  if (left.array && right.array && !alike(left.array, right.array)) return nullptr;
  return run(op, left, right);
}

PyObject* eager_negative(Array* a) {
  if (!evaluating_arrays() || !suits(a)) return nullptr;
  EagerLoop loop = negative_loop(a->info->kind);
  if (!loop) return nullptr;
  ArrayRef out = result_like(a, a->info, a->committed);
  if (!out || !a->buffer) return nullptr;
  const char* const in[] = {a->buffer->data};
  loop(out->buffer->data, in, a->info->size);
  return give(std::move(out));
}

}  // namespace nj
