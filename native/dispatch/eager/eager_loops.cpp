// The loops of eager.cpp, in a file of their own to be compiled for speed.
#include "dispatch/eager/eager.h"

#include <functional>

namespace nj {

namespace {

// The result is always fresh memory, so that it may be declared unaliased. Integers wrap (-fwrapv).
template <template <class> class Op, class T, Operands kOperands>
void loop(char* out_bytes, const char* a_bytes, const char* b_bytes, Py_ssize_t n) {
  using Out = decltype(Op<T>()(T(), T()));
  Out* __restrict out = reinterpret_cast<Out*>(out_bytes);
  const T* a = reinterpret_cast<const T*>(a_bytes);
  const T* b = reinterpret_cast<const T*>(b_bytes);
  const T a0 = n ? a[0] : T(), b0 = n ? b[0] : T();
  for (Py_ssize_t i = 0; i < n; ++i) {
    out[i] = Op<T>()(kOperands == scalar_left ? a0 : a[i], kOperands == scalar_right ? b0 : b[i]);
  }
}

template <class T>
void negate(char* out_bytes, const char* a_bytes, const char*, Py_ssize_t n) {
  T* __restrict out = reinterpret_cast<T*>(out_bytes);
  const T* a = reinterpret_cast<const T*>(a_bytes);
  for (Py_ssize_t i = 0; i < n; ++i) out[i] = -a[i];
}

template <template <class> class Op, class T>
EagerLoop pick_operands(Operands operands) {
  switch (operands) {
    case both_arrays: return loop<Op, T, both_arrays>;
    case scalar_right: return loop<Op, T, scalar_right>;
    default: return loop<Op, T, scalar_left>;
  }
}

template <template <class> class Op>
EagerLoop pick_kind(Kind kind, Operands operands) {
  switch (kind) {
    case Kind::Float32: return pick_operands<Op, float>(operands);
    case Kind::Float64: return pick_operands<Op, double>(operands);
    case Kind::Int32: return pick_operands<Op, int32_t>(operands);
    case Kind::Int64: return pick_operands<Op, int64_t>(operands);
    default: return nullptr;
  }
}

EagerLoop pick_division(Kind kind, Operands operands) {
  switch (kind) {
    case Kind::Float32: return pick_operands<std::divides, float>(operands);
    case Kind::Float64: return pick_operands<std::divides, double>(operands);
    default: return nullptr;
  }
}

}  // namespace

EagerLoop eager_loop(EagerOp op, Kind kind, Operands operands) {
  switch (op) {
    case op_add: return pick_kind<std::plus>(kind, operands);
    case op_sub: return pick_kind<std::minus>(kind, operands);
    case op_mul: return pick_kind<std::multiplies>(kind, operands);
    case op_div: return pick_division(kind, operands);
    case op_lt: return pick_kind<std::less>(kind, operands);
    case op_le: return pick_kind<std::less_equal>(kind, operands);
    case op_eq: return pick_kind<std::equal_to>(kind, operands);
    case op_ne: return pick_kind<std::not_equal_to>(kind, operands);
    case op_gt: return pick_kind<std::greater>(kind, operands);
    case op_ge: return pick_kind<std::greater_equal>(kind, operands);
    default: return nullptr;
  }
}

EagerLoop negative_loop(Kind kind) {
  switch (kind) {
    case Kind::Float32: return negate<float>;
    case Kind::Float64: return negate<double>;
    case Kind::Int32: return negate<int32_t>;
    case Kind::Int64: return negate<int64_t>;
    default: return nullptr;
  }
}

}  // namespace nj
