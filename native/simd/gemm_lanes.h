// Vectors for products of matrices: masks for the last columns, and numbers that are stored narrower than they are
// multiplied. See vectors.h.
#pragma once
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

template <> struct VectorOf<int32_t> { typedef int32_t type __attribute__((vector_size(NJ_VECTOR_BYTES))); };
template <> struct VectorOf<uint32_t> { typedef uint32_t type __attribute__((vector_size(NJ_VECTOR_BYTES))); };
template <> struct VectorOf<uint64_t> { typedef uint64_t type __attribute__((vector_size(NJ_VECTOR_BYTES))); };

NJ_INLINE int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }

// The first `count` lanes.
#if defined(__AVX512F__)
template <class T> struct Mask { std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8> bits; };
template <class T> NJ_INLINE Mask<T> first_lanes(int64_t count) {
  return {static_cast<decltype(Mask<T>::bits)>((1u << count) - 1)};
}
template <class T> NJ_INLINE Vector<T> load(const T* from, Mask<T> mask) {
  if constexpr (sizeof(T) == 4) return (Vector<T>)_mm512_maskz_loadu_epi32(mask.bits, from);
  else return (Vector<T>)_mm512_maskz_loadu_epi64(mask.bits, from);
}
template <class T> NJ_INLINE void store(T* to, Vector<T> v, Mask<T> mask) {
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, mask.bits, (__m512i)v);
  else _mm512_mask_storeu_epi64(to, mask.bits, (__m512i)v);
}
#elif defined(__AVX2__)
template <class T> struct Mask {
  __m256i bits;
  int words;  // of 32 bits
};
template <class T> NJ_INLINE Mask<T> first_lanes(int64_t count) {
  const auto words = static_cast<int>(count * (sizeof(T) / 4));
  return {_mm256_cmpgt_epi32(_mm256_set1_epi32(words), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), words};
}
template <class T> NJ_INLINE Vector<T> load(const T* from, Mask<T> mask) {
  return (Vector<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask.bits);
}
// In halves: a masked store is microcode on AMD's CPUs, of a dozen cycles.
template <class T> NJ_INLINE void store(T* to, Vector<T> v, Mask<T> mask) {
  auto* words = reinterpret_cast<int*>(to);
  if (mask.words >= 8) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), (__m256i)v);
  __m128i rest = _mm256_castsi256_si128((__m256i)v);
  if (mask.words & 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words), rest);
    rest = _mm256_extracti128_si256((__m256i)v, 1);
    words += 4;
  }
  if (mask.words & 2) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(words), rest);
    rest = _mm_unpackhi_epi64(rest, rest);
    words += 2;
  }
  if (mask.words & 1) *words = _mm_cvtsi128_si32(rest);
}
#else
template <class T> struct Mask { int64_t count; };
template <class T> NJ_INLINE Mask<T> first_lanes(int64_t count) { return {count}; }
template <class T> NJ_INLINE Vector<T> load(const T* from, Mask<T> mask) {
  Vector<T> v{};
  for (int64_t i = 0; i < mask.count; ++i) v[i] = from[i];
  return v;
}
template <class T> NJ_INLINE void store(T* to, Vector<T> v, Mask<T> mask) {
  for (int64_t i = 0; i < mask.count; ++i) to[i] = v[i];
}
#endif

template <class T> NJ_INLINE Vector<T> in_all_lanes(T x) { return x - Vector<T>{}; }  // -0.0, too

template <class From, int count> struct Narrow { typedef From type __attribute__((vector_size(count * sizeof(From)))); };

struct Bfloat16 { uint16_t bits; };
struct Float16 { uint16_t bits; };

// Elements of type From as vectors of T.
template <class From, class T> struct Reader {
  NJ_INLINE static Vector<T> load(const From* from) {
    typename Narrow<From, lanes_of<T>>::type v;
    __builtin_memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, Vector<T>);
  }
};
template <class T> struct Reader<T, T> {
  NJ_INLINE static Vector<T> load(const T* from) { return NJ_SIMD::load(from); }
};
#if defined(__AVX2__)
// Written out, as GCC 12 converts bytes one by one; with a mask of all lanes, as it warns of its own header without.
template <> struct Reader<uint8_t, uint32_t> {
  NJ_INLINE static Vector<uint32_t> load(const uint8_t* from) {
#if defined(__AVX512F__)
    return (Vector<uint32_t>)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    return (Vector<uint32_t>)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
#endif
  }
};
template <> struct Reader<int8_t, uint32_t> {
  NJ_INLINE static Vector<uint32_t> load(const int8_t* from) {
#if defined(__AVX512F__)
    return (Vector<uint32_t>)_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    return (Vector<uint32_t>)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
#endif
  }
};
#endif
template <> struct Reader<Bfloat16, float> {
  NJ_INLINE static Vector<float> load(const Bfloat16* from) {
    return (Vector<float>)(Reader<uint16_t, uint32_t>::load(&from->bits) << 16);
  }
};
template <> struct Reader<Float16, float> {
  // Exponents 1 ... 30 move to their place; 2^112 makes up for the difference of the biases, subnormals included.
  NJ_INLINE static Vector<float> load(const Float16* from) {
    const Vector<uint32_t> half = Reader<uint16_t, uint32_t>::load(&from->bits), rest = half & 0x7fffu;
    const Vector<uint32_t> usual = (Vector<uint32_t>)((Vector<float>)(rest << 13) * 0x1p112f);
    const Vector<uint32_t> special = rest << 13 | 0x7f800000u;
    const auto rare = (Vector<uint32_t>)(rest >= 0x7c00u);
    return (Vector<float>)((special & rare) | (usual & ~rare) | (half & 0x8000u) << 16);
  }
};

// The first `count` of them, zeros in the other lanes.
template <class From, class T> NJ_INLINE Vector<T> read(const From* from, int64_t count) {
  if constexpr (std::is_same_v<From, T>) {
    return load(from, first_lanes<T>(count));
  } else {
    From there[lanes_of<T>] = {};
    for (int64_t i = 0; i < count; ++i) there[i] = from[i];
    return Reader<From, T>::load(there);
  }
}

}  // namespace nj::NJ_SIMD
