// Micro-kernels for x86 CPUs with AVX2 and FMA. The build gives this file their flags.
#if defined(__x86_64__)
#include <immintrin.h>

#include "gemm_vector.h"

namespace nj::gemm {
namespace {

inline __m256i first_words(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

struct F32 {
  using Element = float;
  using Result = float;
  using Register = __m256;
  using Mask = __m256i;
  static constexpr int lanes = 8;
  static Mask mask(int64_t columns) { return first_words(columns); }
  static Register zero() { return _mm256_setzero_ps(); }
  static Register broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Register load(const float* p) { return _mm256_loadu_ps(p); }
  static Register load(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
  static Register negative_multiply_add(Register a, Register b, Register c) { return _mm256_fnmadd_ps(a, b, c); }
  static Register get(const float* p) { return load(p); }
  static Register get(const float* p, Mask mask) { return load(p, mask); }
  static void put(float* p, Register r) { _mm256_storeu_ps(p, r); }
  static void put(float* p, Register r, Mask mask) { _mm256_maskstore_ps(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm256_add_ps(a, b); }
};

struct F64 {
  using Element = double;
  using Result = double;
  using Register = __m256d;
  using Mask = __m256i;
  static constexpr int lanes = 4;
  static Mask mask(int64_t columns) { return first_words(2 * columns); }
  static Register zero() { return _mm256_setzero_pd(); }
  static Register broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Register load(const double* p) { return _mm256_loadu_pd(p); }
  static Register load(const double* p, Mask mask) { return _mm256_maskload_pd(p, mask); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_pd(a, b, c); }
  static Register negative_multiply_add(Register a, Register b, Register c) { return _mm256_fnmadd_pd(a, b, c); }
  static Register get(const double* p) { return load(p); }
  static Register get(const double* p, Mask mask) { return load(p, mask); }
  static void put(double* p, Register r) { _mm256_storeu_pd(p, r); }
  static void put(double* p, Register r, Mask mask) { _mm256_maskstore_pd(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm256_add_pd(a, b); }
};

struct I32 {
  using Element = int32_t;
  using Result = int32_t;
  using Register = __m256i;
  using Mask = __m256i;
  static constexpr int lanes = 8;
  static Mask mask(int64_t columns) { return first_words(columns); }
  static Register zero() { return _mm256_setzero_si256(); }
  static Register broadcast(const int32_t* p) { return _mm256_set1_epi32(*p); }
  static Register load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Register load(const int32_t* p, Mask mask) { return _mm256_maskload_epi32(p, mask); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c);
  }
  static Register get(const int32_t* p) { return load(p); }
  static Register get(const int32_t* p, Mask mask) { return load(p, mask); }
  static void put(int32_t* p, Register r) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), r); }
  static void put(int32_t* p, Register r, Mask mask) { _mm256_maskstore_epi32(p, mask, r); }
  static Register sum(Register a, Register b) { return _mm256_add_epi32(a, b); }
};

// A step is two products of int16 and their sum, modulo 2^32.
struct Pairs : I32 {
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm256_add_epi32(_mm256_madd_epi16(a, b), c);
  }
};

template <class V, class From>
constexpr Kernel kernel() {
  using To = typename V::Element;
  return real_kernel<V, 6, 2, From>(pack<From, To>, pack<From, To>, sizeof(From) == sizeof(To));
}

template <class From>
constexpr Kernel pairs() {
  return real_kernel<Pairs, 6, 2, From>(pack_pairs<From, int16_t>, pack_pairs<From, int16_t>, false, 2);
}

constexpr Kernel float32 = with_vectors<F32>(kernel<F32, float>()), float64 = with_vectors<F64>(kernel<F64, double>()),
                 bfloat16 = kernel<F32, Bfloat16>(),
                 float16 = kernel<F32, Float16>(), int8 = pairs<int8_t>(), uint8 = pairs<uint8_t>(),
                 int16 = pairs<int16_t>(), uint16 = kernel<I32, uint16_t>(), int32 = kernel<I32, int32_t>(),
                 complex64 = complex_kernel<F32, 4>(), complex128 = complex_kernel<F64, 4>();

}  // namespace

const Kernel* avx2_kernel(Code code) {
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
    case code_complex64: return &complex64;
    case code_complex128: return &complex128;
    default: return nullptr;
  }
}

}  // namespace nj::gemm
#endif
