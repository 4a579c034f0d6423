// The micro-kernels, written once: every file of a kind of CPU includes this with its flags and its vectors. All names are
// local to that file, as code for one kind of CPU must not be taken for another.
//
// A vector type V has: Element (packed, of A and B), Result (of C), lanes, Register, Mask, mask(columns), zero(),
// broadcast(p), load(p), load(p, mask), multiply_add(a, b, c), and for C: get(p), get(p, mask), put, sum.
#pragma once
#include <cstdint>
#include <cstring>

#include "gemm.h"

namespace nj::gemm {
namespace {

inline int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }

template <class V, int R, int C, bool Edge>
void micro(int64_t steps, const char* a_bytes, const char* b_bytes, int64_t b_step, char* c_bytes, int64_t c_row,
           int64_t columns, bool add) {
  auto* a = reinterpret_cast<const typename V::Element*>(a_bytes);
  typename V::Mask last{};
  if constexpr (Edge) last = V::mask(columns - (C - 1) * V::lanes);
  typename V::Register acc[R][C];
  for (int i = 0; i < R; ++i) {
    // C is read and written at the end; its rows are often far apart.
    for (int j = 0; j < C; ++j) {
      acc[i][j] = V::zero();
      __builtin_prefetch(c_bytes + i * c_row + j * V::lanes * sizeof(typename V::Result), 1);
    }
  }
  for (int64_t p = 0; p < steps; ++p, a += R, b_bytes += b_step) {
    auto* b = reinterpret_cast<const typename V::Element*>(b_bytes);
    typename V::Register row[C];
    for (int j = 0; j < C; ++j) {
      if constexpr (Edge) row[j] = j == C - 1 ? V::load(b + j * V::lanes, last) : V::load(b + j * V::lanes);
      else row[j] = V::load(b + j * V::lanes);
    }
    for (int i = 0; i < R; ++i) {
      const auto x = V::broadcast(a + i);
      for (int j = 0; j < C; ++j) acc[i][j] = V::multiply_add(x, row[j], acc[i][j]);
    }
  }
  for (int i = 0; i < R; ++i) {
    auto* c = reinterpret_cast<typename V::Result*>(c_bytes + i * c_row);
    for (int j = 0; j < C; ++j) {
      auto* to = c + j * V::lanes;
      if (Edge && j == C - 1) V::put(to, add ? V::sum(V::get(to, last), acc[i][j]) : acc[i][j], last);
      else V::put(to, add ? V::sum(V::get(to), acc[i][j]) : acc[i][j]);
    }
  }
}

// Complex numbers: A as pairs, a row of B as the vector of its real and that of its imaginary parts.
template <class V, int R>
void micro_complex(int64_t steps, const char* a_bytes, const char* b_bytes, int64_t b_step, char* c_bytes, int64_t c_row,
                   int64_t columns, bool add) {
  using T = typename V::Element;
  auto* a = reinterpret_cast<const T*>(a_bytes);
  typename V::Register re[R], im[R];
  for (int i = 0; i < R; ++i) re[i] = im[i] = V::zero();
  for (int64_t p = 0; p < steps; ++p, a += 2 * R, b_bytes += b_step) {
    auto* b = reinterpret_cast<const T*>(b_bytes);
    const auto br = V::load(b), bi = V::load(b + V::lanes);
    for (int i = 0; i < R; ++i) {
      const auto ar = V::broadcast(a + 2 * i), ai = V::broadcast(a + 2 * i + 1);
      re[i] = V::negative_multiply_add(ai, bi, V::multiply_add(ar, br, re[i]));
      im[i] = V::multiply_add(ai, br, V::multiply_add(ar, bi, im[i]));
    }
  }
  for (int i = 0; i < R; ++i) {
    T real[V::lanes], imaginary[V::lanes];
    V::put(real, re[i]);
    V::put(imaginary, im[i]);
    auto* c = reinterpret_cast<T*>(c_bytes + i * c_row);
    for (int64_t j = 0; j < columns; ++j) {
      c[2 * j] = add ? c[2 * j] + real[j] : real[j];
      c[2 * j + 1] = add ? c[2 * j + 1] + imaginary[j] : imaginary[j];
    }
  }
}

// --- packing, for any strides ---

template <class From, class To>
inline To widened(From x) { return static_cast<To>(x); }

struct Bfloat16 {
  uint16_t bits;
  operator float() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

struct Float16 {
  uint16_t bits;
  operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, rest = bits & 0x7fffu;
    // Exponents 1 ... 30 move to their place; 2^112 makes up for the difference of the biases, subnormals included.
    uint32_t wide = rest << 13;
    float value;
    if (rest >= 0x7c00u) {
      wide |= 0x7f800000u;
      std::memcpy(&value, &wide, sizeof value);
    } else {
      std::memcpy(&value, &wide, sizeof value);
      value *= 0x1p112f;
    }
    std::memcpy(&wide, &value, sizeof wide);
    wide |= sign;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

template <class From, class To>
void pack(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* out = reinterpret_cast<To*>(out_bytes);
  if (si == 1) {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < count; ++i) out[p * height + i] = static_cast<To>(from[p * sp + i]);
  } else {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t p = 0; p < k; ++p) out[p * height + i] = static_cast<To>(from[i * si + p * sp]);
  }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = count; i < height; ++i) out[p * height + i] = To{};
}

// Two neighbours along k side by side; a zero after the last one of an odd number.
template <class From, class To>
void pack_pairs(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* out = reinterpret_cast<To*>(out_bytes);
  for (int64_t p = 0; p < k; p += 2, out += 2 * height) {
    for (int64_t i = 0; i < height; ++i) {
      const From* x = from + i * si + p * sp;
      out[2 * i] = i < count ? static_cast<To>(x[0]) : To{};
      out[2 * i + 1] = i < count && p + 1 < k ? static_cast<To>(x[sp]) : To{};
    }
  }
}

// Complex columns of B: real parts, then imaginary parts.
template <class T>
void pack_parts(const char* from_bytes, int64_t si, int64_t sp, int64_t count, int64_t height, int64_t k, char* out_bytes) {
  auto* from = reinterpret_cast<const T*>(from_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  for (int64_t p = 0; p < k; ++p, out += 2 * height) {
    for (int64_t i = 0; i < height; ++i) {
      const T* x = from + 2 * (i * si + p * sp);
      out[i] = i < count ? x[0] : T{};
      out[height + i] = i < count ? x[1] : T{};
    }
  }
}

template <class T>
struct Twins {
  T re, im;
};

// --- tables ---

template <class V, int R, int C>
constexpr void fill_row(Kernel& kernel) {
  kernel.micro[R][C][0] = micro<V, R, C, false>;
  kernel.micro[R][C][1] = micro<V, R, C, true>;
  if constexpr (C > 1) fill_row<V, R, C - 1>(kernel);
}

template <class V, int R, int C>
constexpr void fill(Kernel& kernel) {
  fill_row<V, R, C>(kernel);
  if constexpr (R > 1) fill<V, R - 1, C>(kernel);
}

template <class V, int R>
constexpr void fill_complex(Kernel& kernel) {
  kernel.micro[R][1][0] = kernel.micro[R][1][1] = micro_complex<V, R>;
  if constexpr (R > 1) fill_complex<V, R - 1>(kernel);
}

// `From`: elements where they lie.
template <class V, int Rows, int Vectors, class From>
constexpr Kernel real_kernel(Pack pack_a, Pack pack_b, bool direct, int group = 1) {
  Kernel kernel{Rows, V::lanes, Vectors, group, sizeof(From), sizeof(typename V::Element), sizeof(typename V::Result),
                direct, pack_a, pack_b, nullptr, nullptr, {}};
  fill<V, Rows, Vectors>(kernel);
  return kernel;
}

template <class V, int Rows>
constexpr Kernel complex_kernel() {
  using T = typename V::Element;
  Kernel kernel{Rows, V::lanes, 1, 1, 2 * sizeof(T), 2 * sizeof(T), 2 * sizeof(T), false,
                pack<Twins<T>, Twins<T>>, pack_parts<T>, nullptr, nullptr, {}};
  fill_complex<V, Rows>(kernel);
  return kernel;
}

}  // namespace
}  // namespace nj::gemm
