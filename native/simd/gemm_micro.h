// The micro-kernels: a tile of C in registers. See gemm.h and gemm_lanes.h.
//
// How a step of a product is computed, V, has: Element (packed, of A and B), Result (of C, as wide), multiply_add(a, b, c), and
// `bias`: what A's elements are too large by, 0 for most.
#pragma once
#include "kernels/gemm/gemm.h"
#include "simd/gemm_lanes.h"

namespace nj::NJ_SIMD {

using gemm::Into;

template <class T> struct Plain {
  using Element = T;
  using Result = T;
  static constexpr T bias = 0;
  NJ_INLINE static Vector<T> multiply_add(Vector<T> a, Vector<T> b, Vector<T> c) { return c + a * b; }
};

#if defined(__AVX512F__)
// A step is two products of int16 and their sum, modulo 2^32.
struct Pairs : Plain<uint32_t> {
  NJ_INLINE static Vector<uint32_t> multiply_add(Vector<uint32_t> a, Vector<uint32_t> b, Vector<uint32_t> c) {
    return c + (Vector<uint32_t>)_mm512_madd_epi16((__m512i)a, (__m512i)b);
  }
};
// The same as one instruction of AVX512-VNNI, written out as the other files of this set do without it.
struct FusedPairs : Plain<uint32_t> {
  NJ_INLINE static Vector<uint32_t> multiply_add(Vector<uint32_t> a, Vector<uint32_t> b, Vector<uint32_t> c) {
    asm("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};
// A step is four products of uint8 (A) and int8. A's numbers are signed, 128 is added to each.
struct Quads : Plain<uint32_t> {
  static constexpr uint32_t bias = 0x80808080u;
  NJ_INLINE static Vector<uint32_t> multiply_add(Vector<uint32_t> a, Vector<uint32_t> b, Vector<uint32_t> c) {
    asm("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};
// A step is two products of bfloat16, each added and rounded by itself, by an instruction of AVX512-BF16. It takes subnormal
// numbers as zeros, and sums that are subnormal become zeros.
struct BfloatPairs {
  using Element = uint32_t;
  using Result = float;
  static constexpr float bias = 0;
  NJ_INLINE static Vector<float> multiply_add(Vector<uint32_t> a, Vector<uint32_t> b, Vector<float> c) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};
#elif defined(__AVX2__)
struct Pairs : Plain<uint32_t> {
  NJ_INLINE static Vector<uint32_t> multiply_add(Vector<uint32_t> a, Vector<uint32_t> b, Vector<uint32_t> c) {
    return c + (Vector<uint32_t>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
  }
};
#endif

// What is added up, and what is there already.
template <class X> NJ_INLINE X joined(X there, X sum, Into into) { return into == Into::add ? there + sum : there - sum; }

// `lines`: columns of A are contiguous, a_apart elements apart; otherwise its rows are.
template <class V, int R, int C, bool Edge, bool lines>
NJ_INLINE void tile(int64_t steps, const typename V::Element* a, int64_t a_apart, const char* b_bytes, int64_t b_step,
                    char* c_bytes, int64_t c_row, int64_t columns, Into into) {
  using T = typename V::Element;
  using S = typename V::Result;
  constexpr int lanes = lanes_of<T>;
  Mask<T> last{};
  Mask<S> last_sums{};
  if constexpr (Edge) {
    last = first_lanes<T>(columns - (C - 1) * lanes);
    last_sums = first_lanes<S>(columns - (C - 1) * lanes);
  }
  Vector<S> acc[R][C], extra[C];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    // C is read and written at the end; its rows are often far apart.
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      acc[i][j] = Vector<S>{};
      __builtin_prefetch(c_bytes + i * c_row + j * NJ_VECTOR_BYTES, 1);
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) extra[j] = Vector<S>{};
  for (int64_t p = 0; p < steps; ++p, a += lines ? a_apart : 1, b_bytes += b_step) {
    auto* b = reinterpret_cast<const T*>(b_bytes);
    Vector<T> row[C];
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      __builtin_prefetch(b_bytes + (2 * C + j) * NJ_VECTOR_BYTES);  // of the panel after the next, if B is read as it lies
      row[j] = Edge && j == C - 1 ? load(b + j * lanes, last) : load(b + j * lanes);
      if constexpr (V::bias != 0) extra[j] = V::multiply_add(in_all_lanes(V::bias), row[j], extra[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vector<T> x = in_all_lanes(lines ? a[i] : a[i * a_apart]);
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) acc[i][j] = V::multiply_add(x, row[j], acc[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    auto* c = reinterpret_cast<S*>(c_bytes + i * c_row);
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      S* to = c + j * lanes;
      if constexpr (V::bias != 0) acc[i][j] -= extra[j];
      if (Edge && j == C - 1) {
        if (into != Into::set) acc[i][j] = joined(load(to, last_sums), acc[i][j], into);
        store(to, acc[i][j], last_sums);
      } else {
        store(to, into == Into::set ? acc[i][j] : joined(load(to), acc[i][j], into));
      }
    }
  }
}

template <class V, int R, int C, bool Edge>
void micro(int64_t steps, const char* a, int64_t a_step, const char* b, int64_t b_step, char* c, int64_t c_row, int64_t columns,
           Into into) {
  tile<V, R, C, Edge, true>(steps, reinterpret_cast<const typename V::Element*>(a), a_step, b, b_step, c, c_row, columns, into);
}

template <class V, int R, int C, bool Edge>
void micro_strided(int64_t steps, const char* a, int64_t a_row, const char* b, int64_t b_step, char* c, int64_t c_row,
                   int64_t columns, Into into) {
  tile<V, R, C, Edge, false>(steps, reinterpret_cast<const typename V::Element*>(a), a_row, b, b_step, c, c_row, columns, into);
}

// Complex numbers: A as pairs, a row of B as the vector of its real and that of its imaginary parts.
template <class T, int R>
void micro_complex(int64_t steps, const char* a_bytes, int64_t /* a_step */, const char* b_bytes, int64_t b_step,
                   char* c_bytes, int64_t c_row, int64_t columns, Into into) {
  auto* a = reinterpret_cast<const T*>(a_bytes);
  Vector<T> re[R], im[R];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) re[i] = im[i] = Vector<T>{};
  for (int64_t p = 0; p < steps; ++p, a += 2 * R, b_bytes += b_step) {
    auto* b = reinterpret_cast<const T*>(b_bytes);
    const Vector<T> br = load(b), bi = load(b + lanes_of<T>);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vector<T> ar = in_all_lanes(a[2 * i]), ai = in_all_lanes(a[2 * i + 1]);
      re[i] += ar * br;
      re[i] -= ai * bi;
      im[i] += ar * bi;
      im[i] += ai * br;
    }
  }
  for (int i = 0; i < R; ++i) {
    T real[lanes_of<T>], imaginary[lanes_of<T>];
    store(real, re[i]);
    store(imaginary, im[i]);
    auto* c = reinterpret_cast<T*>(c_bytes + i * c_row);
    for (int64_t j = 0; j < columns; ++j) {
      c[2 * j] = into == Into::set ? real[j] : joined(c[2 * j], real[j], into);
      c[2 * j + 1] = into == Into::set ? imaginary[j] : joined(c[2 * j + 1], imaginary[j], into);
    }
  }
}

}  // namespace nj::NJ_SIMD
