// The table of conversions: one loop for each pair of types.
#include "dispatch/eager/conversion.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/small_floats.h"

namespace nj {
namespace {

template <class T> struct IsComplex : std::false_type {};
template <class T> struct IsComplex<std::complex<T>> : std::true_type {};
template <class T> constexpr bool kComplex = IsComplex<T>::value;

struct Half {
  uint16_t bits;
};

template <class To, class From> To converted(From x) {
  if constexpr (std::is_same_v<From, Half>) {
    if constexpr (std::is_same_v<To, Half>) return x;
    else return converted<To>(widened_half(x.bits));
  } else if constexpr (std::is_same_v<To, Half>) {
    return {uint16_t(narrowed(double(x), 5, 10))};
  } else if constexpr (kComplex<From>) {
    using Part = typename To::value_type;
    return To(Part(x.real()), Part(x.imag()));
  } else if constexpr (kComplex<To>) {
    return To(typename To::value_type(x), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The bounds are floats: the range of To ends before `end`, a power of two.
    constexpr From low = From(std::numeric_limits<To>::min());
    const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x >= end) return std::numeric_limits<To>::max();
    if (x < low) return std::numeric_limits<To>::min();
    return x == x ? To(x) : To(0);
  } else {
    return To(x);
  }
}

// Elements lie at multiples of their size, but for bools any byte but 0 is true.
template <class T> T element(const char* from, npy_intp k) {
  if constexpr (std::is_same_v<T, bool>) return from[k] != 0;
  else return reinterpret_cast<const T*>(from)[k];
}

template <class From, class To> void convert(char* out_bytes, const char* const* in, Py_ssize_t n) {
  To* __restrict out = reinterpret_cast<To*>(out_bytes);
  const char* from = in[0];
  for (Py_ssize_t k = 0; k < n; ++k) out[k] = converted<To>(element<From>(from, k));
}

// Calls f with a value of the C type of a NumPy type number; a null conversion for others.
template <class F> EagerLoop of_type(int type, F f) {
  switch (type) {
    case NPY_BOOL: return f(bool());
    case NPY_BYTE: return f(npy_byte());
    case NPY_UBYTE: return f(npy_ubyte());
    case NPY_SHORT: return f(npy_short());
    case NPY_USHORT: return f(npy_ushort());
    case NPY_INT: return f(npy_int());
    case NPY_UINT: return f(npy_uint());
    case NPY_LONG: return f(npy_long());
    case NPY_ULONG: return f(npy_ulong());
    case NPY_LONGLONG: return f(npy_longlong());
    case NPY_ULONGLONG: return f(npy_ulonglong());
    case NPY_HALF: return f(Half());
    case NPY_FLOAT: return f(npy_float());
    case NPY_DOUBLE: return f(npy_double());
    case NPY_CFLOAT: return f(std::complex<npy_float>());
    case NPY_CDOUBLE: return f(std::complex<npy_double>());
    default: return nullptr;
  }
}

}  // namespace

EagerLoop conversion(int from, int to) {
  return of_type(from, [to](auto x) {
    return of_type(to, [](auto y) -> EagerLoop {
      if constexpr (kComplex<decltype(x)> && !kComplex<decltype(y)>) return nullptr;  // it would drop a part
      else return convert<decltype(x), decltype(y)>;
    });
  });
}

}  // namespace nj
