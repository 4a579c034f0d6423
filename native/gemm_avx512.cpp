// Micro-kernels for x86 CPUs with AVX-512 (F, BW, DQ, VL). The build gives this file their flags.
#if defined(__x86_64__)
#include <immintrin.h>

#include "gemm_vector.h"

namespace nj::gemm {
namespace {

inline __mmask16 mask16(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
inline __mmask8 mask8(int64_t count) { return static_cast<__mmask8>((1u << count) - 1); }

struct F32 {
  using Element = float;
  using Result = float;
  using Register = __m512;
  using Mask = __mmask16;
  static constexpr int lanes = 16;
  static Mask mask(int64_t columns) { return mask16(columns); }
  static Register zero() { return _mm512_setzero_ps(); }
  static Register broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Register load(const float* p) { return _mm512_loadu_ps(p); }
  static Register load(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
  static Register negative_multiply_add(Register a, Register b, Register c) { return _mm512_fnmadd_ps(a, b, c); }
  static Register get(const float* p) { return load(p); }
  static Register get(const float* p, Mask mask) { return load(p, mask); }
  static void put(float* p, Register r) { _mm512_storeu_ps(p, r); }
  static void put(float* p, Register r, Mask mask) { _mm512_mask_storeu_ps(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm512_add_ps(a, b); }
};

struct F64 {
  using Element = double;
  using Result = double;
  using Register = __m512d;
  using Mask = __mmask8;
  static constexpr int lanes = 8;
  static Mask mask(int64_t columns) { return mask8(columns); }
  static Register zero() { return _mm512_setzero_pd(); }
  static Register broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static Register load(const double* p) { return _mm512_loadu_pd(p); }
  static Register load(const double* p, Mask mask) { return _mm512_maskz_loadu_pd(mask, p); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_pd(a, b, c); }
  static Register negative_multiply_add(Register a, Register b, Register c) { return _mm512_fnmadd_pd(a, b, c); }
  static Register get(const double* p) { return load(p); }
  static Register get(const double* p, Mask mask) { return load(p, mask); }
  static void put(double* p, Register r) { _mm512_storeu_pd(p, r); }
  static void put(double* p, Register r, Mask mask) { _mm512_mask_storeu_pd(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm512_add_pd(a, b); }
};

struct I32 {
  using Element = int32_t;
  using Result = int32_t;
  using Register = __m512i;
  using Mask = __mmask16;
  static constexpr int lanes = 16;
  static Mask mask(int64_t columns) { return mask16(columns); }
  static Register zero() { return _mm512_setzero_si512(); }
  static Register broadcast(const int32_t* p) { return _mm512_set1_epi32(*p); }
  static Register load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static Register load(const int32_t* p, Mask mask) { return _mm512_maskz_loadu_epi32(mask, p); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm512_add_epi32(_mm512_mullo_epi32(a, b), c);
  }
  static Register get(const int32_t* p) { return load(p); }
  static Register get(const int32_t* p, Mask mask) { return load(p, mask); }
  static void put(int32_t* p, Register r) { _mm512_storeu_si512(p, r); }
  static void put(int32_t* p, Register r, Mask mask) { _mm512_mask_storeu_epi32(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm512_add_epi32(a, b); }
};

struct I64 {
  using Element = int64_t;
  using Result = int64_t;
  using Register = __m512i;
  using Mask = __mmask8;
  static constexpr int lanes = 8;
  static Mask mask(int64_t columns) { return mask8(columns); }
  static Register zero() { return _mm512_setzero_si512(); }
  static Register broadcast(const int64_t* p) { return _mm512_set1_epi64(*p); }
  static Register load(const int64_t* p) { return _mm512_loadu_si512(p); }
  static Register load(const int64_t* p, Mask mask) { return _mm512_maskz_loadu_epi64(mask, p); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm512_add_epi64(_mm512_mullo_epi64(a, b), c);
  }
  static Register get(const int64_t* p) { return load(p); }
  static Register get(const int64_t* p, Mask mask) { return load(p, mask); }
  static void put(int64_t* p, Register r) { _mm512_storeu_si512(p, r); }
  static void put(int64_t* p, Register r, Mask mask) { _mm512_mask_storeu_epi64(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm512_add_epi64(a, b); }
};

// A step is two products of int16 and their sum, modulo 2^32.
struct Pairs : I32 {
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm512_add_epi32(_mm512_madd_epi16(a, b), c);
  }
};

// --- packing through registers: squares of 16 x 16 words or 8 x 8 double words are turned round ---

struct Words {
  using To = float;
  using Register = __m512;
  static constexpr int side = 16;
  static void put(float* p, Register r, int64_t count) { _mm512_mask_storeu_ps(p, mask16(count), r); }
  static Register zero() { return _mm512_setzero_ps(); }
};

struct FromFloat32 : Words {
  using From = float;
  static Register get(const char* p, int64_t count) { return _mm512_maskz_loadu_ps(mask16(count), p); }
};

struct FromBfloat16 : Words {
  using From = uint16_t;
  static Register get(const char* p, int64_t count) {
    const __m256i half = _mm256_maskz_loadu_epi16(mask16(count), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
};

struct FromFloat16 : Words {
  using From = uint16_t;
  static Register get(const char* p, int64_t count) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask16(count), p));
  }
};

struct FromFloat64 {
  using From = double;
  using To = double;
  using Register = __m512d;
  static constexpr int side = 8;
  static Register get(const char* p, int64_t count) { return _mm512_maskz_loadu_pd(mask8(count), p); }
  static void put(double* p, Register r, int64_t count) { _mm512_mask_storeu_pd(p, mask8(count), r); }
  static Register zero() { return _mm512_setzero_pd(); }
};

inline void turn(__m512d (&r)[8]) {
  __m512d t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      r[i + j] = _mm512_shuffle_f64x2(t[i + j], t[i + j + 2], 0x88);
      r[i + j + 2] = _mm512_shuffle_f64x2(t[i + j], t[i + j + 2], 0xdd);
    }
  }
  // r[0]: columns 0, 4 of rows 0 ... 3; r[1]: 1, 5; r[2]: 2, 6; r[3]: 3, 7.
  for (int j = 0; j < 4; ++j) {
    t[j] = _mm512_shuffle_f64x2(r[j], r[j + 4], 0x88);
    t[j + 4] = _mm512_shuffle_f64x2(r[j], r[j + 4], 0xdd);
  }
  for (int j = 0; j < 8; ++j) r[j] = t[j];
}

inline void turn(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto d = [](__m512 x) { return _mm512_castps_pd(x); };
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(d(t[i + j]), d(t[i + j + 2])));
      r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(d(t[i + j]), d(t[i + j + 2])));
    }
  }
  // r[4 q + j]: columns j, j + 4, j + 8, j + 12 of rows 4 q ... 4 q + 3.
  for (int j = 0; j < 4; ++j) {
    const __m512 low = _mm512_shuffle_f32x4(r[j], r[j + 4], 0x88), high = _mm512_shuffle_f32x4(r[j], r[j + 4], 0xdd);
    const __m512 low2 = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], 0x88);
    const __m512 high2 = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], 0xdd);
    t[j] = _mm512_shuffle_f32x4(low, low2, 0x88);
    t[j + 4] = _mm512_shuffle_f32x4(high, high2, 0x88);
    t[j + 8] = _mm512_shuffle_f32x4(low, low2, 0xdd);
    t[j + 12] = _mm512_shuffle_f32x4(high, high2, 0xdd);
  }
  for (int j = 0; j < 16; ++j) r[j] = t[j];
}

template <class S>
void pack_lines(const char* from, int64_t sp, int64_t count, int64_t height, int64_t k, typename S::To* out) {
  constexpr int64_t item = sizeof(typename S::From);
  for (int64_t p = 0; p < k; ++p, from += sp * item, out += height) {
    for (int64_t i = 0; i < height; i += S::side) {
      const int64_t there = fewer(S::side, count - i);
      S::put(out + i, there > 0 ? S::get(from + i * item, there) : S::zero(), fewer(S::side, height - i));
    }
  }
}

template <class S>
void pack_turned(const char* from, int64_t si, int64_t count, int64_t height, int64_t k, typename S::To* out) {
  constexpr int64_t item = sizeof(typename S::From);
  for (int64_t p = 0; p < k; p += S::side) {
    const int64_t wide = fewer(S::side, k - p);
    for (int64_t i = 0; i < height; i += S::side) {
      typename S::Register square[S::side];
      for (int64_t r = 0; r < S::side; ++r) {
        const char* line = from + ((i + r) * si + p) * item;
        __builtin_prefetch(line + height * si * item);  // of what is packed next
        square[r] = i + r < count ? S::get(line, wide) : S::zero();
      }
      turn(square);
      const int64_t there = fewer(S::side, height - i);
      if (wide == S::side) {
        for (int64_t q = 0; q < S::side; ++q) S::put(out + (p + q) * height + i, square[q], there);
      } else {
        for (int64_t q = 0; q < wide; ++q) S::put(out + (p + q) * height + i, square[q], there);
      }
    }
  }
}

template <class S, class From>
void pack_wide(const char* from, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* out = reinterpret_cast<typename S::To*>(out_bytes);
  if (si == 1) pack_lines<S>(from, sp, count, height, k, out);
  else if (sp == 1) pack_turned<S>(from, si, count, height, k, out);
  else pack<From, typename S::To>(from, si, sp, count, height, k, out_bytes);
}

template <class V, class S, class From>
constexpr Kernel float_kernel() {
  return real_kernel<V, 14, 2, From>(pack_wide<S, From>, pack_wide<S, From>, sizeof(From) == sizeof(typename V::Element));
}

template <class V, class From>
constexpr Kernel integer_kernel() {
  using To = typename V::Element;
  return real_kernel<V, 8, 2, From>(pack<From, To>, pack<From, To>, sizeof(From) == sizeof(To));
}

template <class From>
constexpr Kernel pairs() {
  return real_kernel<Pairs, 12, 2, From>(pack_pairs<From, int16_t>, pack_pairs<From, int16_t>, false, 2);
}

constexpr Kernel float32 = with_vectors<F32>(float_kernel<F32, FromFloat32, float>()),
                 float64 = with_vectors<F64>(float_kernel<F64, FromFloat64, double>()),
                 bfloat16 = float_kernel<F32, FromBfloat16, Bfloat16>(),
                 float16 = float_kernel<F32, FromFloat16, Float16>(), int8 = pairs<int8_t>(), uint8 = pairs<uint8_t>(),
                 int16 = pairs<int16_t>(), uint16 = integer_kernel<I32, uint16_t>(),
                 int32 = integer_kernel<I32, int32_t>(), int64 = integer_kernel<I64, int64_t>(),
                 complex64 = complex_kernel<F32, 12>(), complex128 = complex_kernel<F64, 12>();

}  // namespace

const Kernel* avx512_kernel(Code code) {
  switch (code) {
    case code_float32: return &float32;
    case code_float64: return &float64;
    case code_bfloat16: return &bfloat16;
    case code_float16: return &float16;
    case code_int8: return &int8;
    case code_uint8: return &uint8;
    case code_int16: return &int16;
    case code_uint16: return &uint16;
    case code_int32: return &int32;
    case code_int64: return &int64;
    case code_complex64: return &complex64;
    case code_complex128: return &complex128;
    default: return nullptr;
  }
}

}  // namespace nj::gemm
#endif
