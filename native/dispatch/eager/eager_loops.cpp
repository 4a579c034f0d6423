// The loops of eager.cpp and of the steps of tapes, in a file of their own to be compiled for speed.
#include "dispatch/eager/eager.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

namespace nj {

namespace {

// The result is always fresh memory, so that it may be declared unaliased. Integers wrap (-fwrapv).
template <template <class> class Op, class T, Operands kOperands>
void loop(char* out_bytes, const char* const* in, Py_ssize_t n) {
  using Out = decltype(Op<T>()(T(), T()));
  Out* __restrict out = reinterpret_cast<Out*>(out_bytes);
  const T* a = reinterpret_cast<const T*>(in[0]);
  const T* b = reinterpret_cast<const T*>(in[1]);
  const T a0 = n ? a[0] : T(), b0 = n ? b[0] : T();
  for (Py_ssize_t i = 0; i < n; ++i) {
    out[i] = Op<T>()(kOperands == scalar_left ? a0 : a[i], kOperands == scalar_right ? b0 : b[i]);
  }
}

template <template <class> class Op, class T>
void loop_of_one(char* out_bytes, const char* const* in, Py_ssize_t n) {
  using Out = decltype(Op<T>()(T()));
  Out* __restrict out = reinterpret_cast<Out*>(out_bytes);
  const T* a = reinterpret_cast<const T*>(in[0]);
  for (Py_ssize_t i = 0; i < n; ++i) out[i] = Op<T>()(a[i]);
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
    case Kind::Float32: return loop_of_one<std::negate, float>;
    case Kind::Float64: return loop_of_one<std::negate, double>;
    case Kind::Int32: return loop_of_one<std::negate, int32_t>;
    case Kind::Int64: return loop_of_one<std::negate, int64_t>;
    default: return nullptr;
  }
}

namespace {

// The bytes of bools may be others than 0 and 1.
enum class Truth : uint8_t {};
bool is(Truth x) { return uint8_t(x) != 0; }

template <class T> struct And {
  T operator()(T a, T b) const { return T(a & b); }
};
template <class T> struct Or {
  T operator()(T a, T b) const { return T(a | b); }
};
template <class T> struct Xor {
  T operator()(T a, T b) const { return T(a ^ b); }
};
template <class T> struct Not {
  T operator()(T a) const { return T(~a); }
};
template <> struct And<Truth> {
  bool operator()(Truth a, Truth b) const { return is(a) & is(b); }
};
template <> struct Or<Truth> {
  bool operator()(Truth a, Truth b) const { return is(a) | is(b); }
};
template <> struct Xor<Truth> {
  bool operator()(Truth a, Truth b) const { return is(a) != is(b); }
};
template <> struct Not<Truth> {
  bool operator()(Truth a) const { return !is(a); }
};
template <class T> struct Alike {
  bool operator()(T a, T b) const { return is(a) == is(b); }
};

// Shifts by the width of the type or more, or by negative numbers, move all bits out.
template <class T> constexpr uint64_t kWidth = sizeof(T) * 8;
template <class T> struct ShiftLeft {
  T operator()(T a, T b) const { return uint64_t(b) < kWidth<T> ? T(a << b) : T(0); }
};
template <class T> struct ShiftRight {
  T operator()(T a, T b) const { return T(a >> (uint64_t(b) < kWidth<T> ? b : T(kWidth<T> - 1))); }
};
template <> struct ShiftRight<uint32_t> {
  uint32_t operator()(uint32_t a, uint32_t b) const { return b < 32 ? a >> b : 0; }
};
template <> struct ShiftRight<uint64_t> {
  uint64_t operator()(uint64_t a, uint64_t b) const { return b < 64 ? a >> b : 0; }
};

template <class T> struct Square {
  T operator()(T a) const { return a * a; }
};
template <class T> struct Absolute {
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    else return a < 0 ? -a : a;
  }
};
template <class T> struct Root {
  T operator()(T a) const { return std::sqrt(a); }
};
template <class T> struct Reciprocal {
  T operator()(T a) const { return T(1) / a; }
};
template <class T> struct WithSign {
  T operator()(T a, T b) const { return std::copysign(a, b); }
};
template <class T> struct IsNan {
  bool operator()(T a) const { return a != a; }
};
template <class T> constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T> struct IsInfinite {
  bool operator()(T a) const { return std::fabs(a) == kInfinity<T>; }
};
template <class T> struct IsFinite {
  bool operator()(T a) const { return std::fabs(a) < kInfinity<T>; }
};

// Whole numbers: below `whole`, from which on all floats are whole, the sum with it rounds to the nearest one.
template <class T> T nearest(T a) {
  constexpr T whole = T(int64_t(1) << (std::numeric_limits<T>::digits - 1));
  const T size = std::fabs(a), rounded = (size + whole) - whole;
  return std::copysign(size < whole ? rounded : size, a);
}
template <class T> struct Nearest {
  T operator()(T a) const { return a == a ? nearest(a) : a; }
};
template <class T> struct Floor {
  T operator()(T a) const {
    const T r = nearest(a);
    return a == a ? std::copysign(r > a ? r - 1 : r, a) : a;
  }
};
template <class T> struct Ceil {
  T operator()(T a) const {
    const T r = nearest(a);
    return a == a ? std::copysign(r < a ? r + 1 : r, a) : a;
  }
};
template <class T> struct Truncated {
  T operator()(T a) const {
    const T size = std::fabs(a), r = nearest(size);
    return a == a ? std::copysign(r > size ? r - 1 : r, a) : a;
  }
};

template <template <class> class Op> EagerLoop pick_float(int type, Operands operands) {
  switch (type) {
    case NPY_FLOAT: return pick_operands<Op, float>(operands);
    case NPY_DOUBLE: return pick_operands<Op, double>(operands);
    default: return nullptr;
  }
}

template <template <class> class Op> EagerLoop pick_integer(int type, Operands operands) {
  switch (type) {
    case NPY_INT: return pick_operands<Op, int32_t>(operands);
    case NPY_UINT: return pick_operands<Op, uint32_t>(operands);
    case NPY_LONG: return pick_operands<Op, npy_long>(operands);
    case NPY_ULONG: return pick_operands<Op, npy_ulong>(operands);
    default: return nullptr;
  }
}

template <template <class> class Op> EagerLoop pick_number(int type, Operands operands) {
  const EagerLoop found = pick_float<Op>(type, operands);
  return found ? found : pick_integer<Op>(type, operands);
}

template <template <class> class Op> EagerLoop pick_bits(int type, Operands operands) {
  return type == NPY_BOOL ? pick_operands<Op, Truth>(operands) : pick_integer<Op>(type, operands);
}

template <template <class> class Op> EagerLoop pick_truth(int type, Operands operands) {
  return type == NPY_BOOL ? pick_operands<Op, Truth>(operands) : nullptr;
}

template <template <class> class Op> EagerLoop pick_equality(int type, Operands operands) {
  using Compared = Op<int>;
  if (type != NPY_BOOL) return pick_number<Op>(type, operands);
  return std::is_same_v<Compared, std::equal_to<int>> ? pick_operands<Alike, Truth>(operands) : pick_operands<Xor, Truth>(operands);
}

template <template <class> class Op> EagerLoop pick_float_of_one(int type, Operands) {
  switch (type) {
    case NPY_FLOAT: return loop_of_one<Op, float>;
    case NPY_DOUBLE: return loop_of_one<Op, double>;
    default: return nullptr;
  }
}

template <template <class> class Op> EagerLoop pick_number_of_one(int type, Operands operands) {
  switch (type) {
    case NPY_INT: return loop_of_one<Op, int32_t>;
    case NPY_LONG: return loop_of_one<Op, npy_long>;
    default: return pick_float_of_one<Op>(type, operands);
  }
}

template <template <class> class Op> EagerLoop pick_bits_of_one(int type, Operands) {
  switch (type) {
    case NPY_BOOL: return loop_of_one<Op, Truth>;
    case NPY_INT: return loop_of_one<Op, int32_t>;
    case NPY_UINT: return loop_of_one<Op, uint32_t>;
    case NPY_LONG: return loop_of_one<Op, npy_long>;
    case NPY_ULONG: return loop_of_one<Op, npy_ulong>;
    default: return nullptr;
  }
}

EagerLoop pick_not(int type, Operands) { return type == NPY_BOOL ? loop_of_one<Not, Truth> : nullptr; }

struct Exact {
  const char* ufunc;
  int operands;
  EagerLoop (*pick)(int type, Operands operands);
};

const Exact exact[] = {
    {"add", 2, pick_number<std::plus>},
    {"subtract", 2, pick_number<std::minus>},
    {"multiply", 2, pick_number<std::multiplies>},
    {"divide", 2, pick_float<std::divides>},
    {"equal", 2, pick_equality<std::equal_to>},
    {"not_equal", 2, pick_equality<std::not_equal_to>},
    {"less", 2, pick_number<std::less>},
    {"less_equal", 2, pick_number<std::less_equal>},
    {"greater", 2, pick_number<std::greater>},
    {"greater_equal", 2, pick_number<std::greater_equal>},
    {"bitwise_and", 2, pick_bits<And>},
    {"bitwise_or", 2, pick_bits<Or>},
    {"bitwise_xor", 2, pick_bits<Xor>},
    {"logical_and", 2, pick_truth<And>},
    {"logical_or", 2, pick_truth<Or>},
    {"logical_xor", 2, pick_truth<Xor>},
    {"left_shift", 2, pick_integer<ShiftLeft>},
    {"right_shift", 2, pick_integer<ShiftRight>},
    {"copysign", 2, pick_float<WithSign>},
    {"invert", 1, pick_bits_of_one<Not>},
    {"logical_not", 1, pick_not},
    {"negative", 1, pick_number_of_one<std::negate>},
    {"absolute", 1, pick_number_of_one<Absolute>},
    {"square", 1, pick_number_of_one<Square>},
    {"sqrt", 1, pick_float_of_one<Root>},
    {"reciprocal", 1, pick_float_of_one<Reciprocal>},
    {"isnan", 1, pick_float_of_one<IsNan>},
    {"isinf", 1, pick_float_of_one<IsInfinite>},
    {"isfinite", 1, pick_float_of_one<IsFinite>},
    {"rint", 1, pick_float_of_one<Nearest>},
    {"floor", 1, pick_float_of_one<Floor>},
    {"ceil", 1, pick_float_of_one<Ceil>},
    {"trunc", 1, pick_float_of_one<Truncated>},
};

}  // namespace

EagerLoop exact_loop(const char* ufunc, int type, int count, Operands operands) {
  for (const Exact& known : exact) {
    if (known.operands == count && !std::strcmp(known.ufunc, ufunc)) return known.pick(type, operands);
  }
  return nullptr;
}

}  // namespace nj
