// Vectors of this file's instruction set, for code that is compiled once per instruction set. NJ_SIMD names the one.
//
// Everything stands in a namespace of that name, and no inline function of a library is used: the linker would keep a
// single copy of it, maybe one with instructions that this processor lacks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX512F__)
#define NJ_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define NJ_VECTOR_BYTES 32
#else
#define NJ_VECTOR_BYTES 16
#endif

#define NJ_INLINE inline __attribute__((always_inline))

namespace nj::NJ_SIMD {

template <class T> struct VectorOf;
template <> struct VectorOf<float> { typedef float type __attribute__((vector_size(NJ_VECTOR_BYTES))); };
template <> struct VectorOf<double> { typedef double type __attribute__((vector_size(NJ_VECTOR_BYTES))); };
// 16 of narrow elements, so that a square of them fits into the registers.
template <> struct VectorOf<uint16_t> { typedef uint16_t type __attribute__((vector_size(NJ_VECTOR_BYTES < 32 ? 16 : 32))); };
template <> struct VectorOf<uint8_t> { typedef uint8_t type __attribute__((vector_size(16))); };
template <class T> using Vector = typename VectorOf<T>::type;

// Of float or double.
template <class T> constexpr T kSmallestNormal = static_cast<T>(sizeof(T) == 4 ? __FLT_MIN__ : __DBL_MIN__);

template <class T> constexpr int lanes_of = static_cast<int>(sizeof(Vector<T>) / sizeof(T));

template <class T> NJ_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T> NJ_INLINE void store(T* to, Vector<T> v) { __builtin_memcpy(to, &v, sizeof v); }

template <class V, std::size_t... I> NJ_INLINE V even_lanes(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <class V, std::size_t... I> NJ_INLINE V odd_lanes(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
template <class V, std::size_t... I> NJ_INLINE V reversed(V a, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, a, (sizeof...(I) - 1 - I)...);
}
// a0 b0 a1 b1 ... of one half of the lanes
template <int first, class V, std::size_t... I>
NJ_INLINE V alternate(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (first + I / 2 + (I % 2) * sizeof...(I))...);
}
template <int h, class V, std::size_t... I> NJ_INLINE V upper_blocks(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, ((I & h) ? I - h + sizeof...(I) : I)...);
}
template <int h, class V, std::size_t... I> NJ_INLINE V lower_blocks(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, ((I & h) ? I + sizeof...(I) : I + h)...);
}

// Exchanges the off-diagonal h x h blocks of the square matrix whose rows are v.
template <class T, int h> NJ_INLINE void exchange_blocks(Vector<T>* v) {
  constexpr std::make_index_sequence<lanes_of<T>> all{};
#pragma GCC unroll 16
  for (int i = 0; i < lanes_of<T>; ++i)
    if (!(i & h)) {
      Vector<T> a = v[i], b = v[i + h];
      v[i] = upper_blocks<h>(a, b, all);
      v[i + h] = lower_blocks<h>(a, b, all);
    }
}

template <class T> NJ_INLINE void transpose(Vector<T>* v) {
  if constexpr (lanes_of<T> > 8) exchange_blocks<T, 8>(v);
  if constexpr (lanes_of<T> > 4) exchange_blocks<T, 4>(v);
  if constexpr (lanes_of<T> > 2) exchange_blocks<T, 2>(v);
  exchange_blocks<T, 1>(v);
}

}  // namespace nj::NJ_SIMD
