// Micro-kernels in plain C++, for every CPU.
#include <cmath>

#include "gemm_vector.h"

namespace nj::gemm {
namespace {

inline float fused(float a, float b, float c) {
#ifdef FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

inline double fused(double a, double b, double c) {
#ifdef FP_FAST_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Integers wrap, so they are unsigned here.
inline uint32_t fused(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
inline uint64_t fused(uint64_t a, uint64_t b, uint64_t c) { return a * b + c; }

template <class T>
struct Plain {
  using Element = T;
  using Result = T;
  using Mask = int64_t;
  static constexpr int lanes = 16 / sizeof(T);
  struct Register {
    T x[lanes];
  };

  static Mask mask(int64_t columns) { return columns; }
  static Register zero() { return Register{}; }
  static Register broadcast(const T* p) {
    Register r;
    for (T& x : r.x) x = *p;
    return r;
  }
  static Register load(const T* p) {
    Register r;
    std::memcpy(&r, p, sizeof r);
    return r;
  }
  static Register load(const T* p, Mask mask) {
    Register r{};
    for (int64_t i = 0; i < mask; ++i) r.x[i] = p[i];
    return r;
  }
  static Register multiply_add(const Register& a, const Register& b, Register c) {
    for (int i = 0; i < lanes; ++i) c.x[i] = fused(a.x[i], b.x[i], c.x[i]);
    return c;
  }
  static Register negative_multiply_add(const Register& a, const Register& b, Register c) {
    for (int i = 0; i < lanes; ++i) c.x[i] = fused(-a.x[i], b.x[i], c.x[i]);
    return c;
  }
  static Register get(const T* p) { return load(p); }
  static Register get(const T* p, Mask mask) { return load(p, mask); }
  static void put(T* p, const Register& r) { std::memcpy(p, &r, sizeof r); }
  static void put(T* p, const Register& r, Mask mask) {
    for (int64_t i = 0; i < mask; ++i) p[i] = r.x[i];
  }
  static Register sum(Register a, const Register& b) {
    for (int i = 0; i < lanes; ++i) a.x[i] += b.x[i];
    return a;
  }
};

template <class From, class To>
constexpr Kernel kernel() {
  return real_kernel<Plain<To>, 4, 2, From>(pack<From, To>, pack<From, To>, sizeof(From) == sizeof(To));
}

}  // namespace

const Kernel* portable_kernel(Code code) {
  static constexpr Kernel kernels[code_count] = {
      with_vectors<Plain<float>>(kernel<float, float>()), with_vectors<Plain<double>>(kernel<double, double>()),
      kernel<Bfloat16, float>(), kernel<Float16, float>(),
      kernel<int8_t, uint32_t>(), kernel<uint8_t, uint32_t>(), kernel<int16_t, uint32_t>(), kernel<uint16_t, uint32_t>(),
      kernel<int32_t, uint32_t>(), kernel<int64_t, uint64_t>(), complex_kernel<Plain<float>, 4>(),
      complex_kernel<Plain<double>, 4>()};
  return &kernels[code];
}

}  // namespace nj::gemm
