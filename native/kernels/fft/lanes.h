// Discrete Fourier transforms of several sequences side by side, one per lane of a vector register. No Python here.
//
// A lane array holds n complex vectors: for each element the real parts of all lanes, then the imaginary parts. The
// functions are compiled once per instruction set (native/simd/fft_lanes.cpp); lane_functions() picks the widest one that
// this processor has. All transforms are forward ones: exchanging real and imaginary parts before and after makes them
// inverse (`swapped`).
#pragma once
#include <cstdint>

namespace nj::fft {

// One step of Stockham's self-sorting algorithm: y[p q + k] = (sum over r of x[q + m r] w_p^(r k)) w_(p m)^(q k), every
// element standing for s neighbours.
template <class T> struct Stage {
  int64_t radix, m, s;
  const T* twiddles;  // w_(p m)^(q k) for each q, then each k from 1 (complex)
  const T* roots;     // of radices without code of their own: cos and sin of 2 pi t / p
};

constexpr int64_t kMaxRadix = 61;
constexpr int64_t kMaxLanes = 16;

template <class T> struct LaneFunctions {
  int64_t lanes;

  // Between lane arrays and complex numbers whose lanes are neighbours and whose elements stand `stride` apart.
  void (*load_columns)(const T* from, int64_t n, int64_t stride, int64_t width, bool swapped, T* to);
  void (*store_columns)(const T* from, int64_t n, int64_t stride, int64_t width, bool swapped, T scale, T* to);

  // Between lane arrays and one contiguous row of complex numbers per lane. load_rows reads all rows: there must be
  // as many as lanes, though they may be the same one.
  void (*load_rows)(const T* const* rows, int64_t n, bool swapped, T* to);
  void (*store_rows)(const T* from, int64_t n, int64_t width, bool swapped, T scale, T* const* rows);

  // Transforms `in`; the result lies in the array that is returned: in, a or b. `in` may be a.
  const T* (*transform)(const Stage<T>* stages, int64_t count, const T* in, T* a, T* b);

  // The middle of a transform of n1 * n2 elements. `from`: n1 elements, lanes being neighbouring columns. Each element is
  // multiplied by lane_roots[k] (a lane array) and group_roots[k] (complex numbers); then lanes and elements change places:
  // elements k of a block of `lanes` become lanes, and block b, column j is written to element b * n2 + j of `to`.
  void (*turn)(const T* from, int64_t n1, int64_t n2, int64_t width, const T* lane_roots, const T* group_roots, T* to);

  // Coefficients 0 ... m of a real sequence of length 2 m from the transform of its even and odd elements as complex
  // numbers, and back (with real and imaginary parts exchanged, and not divided by 2 m). roots: exp(-2 pi i k / (2 m)).
  void (*untangle)(const T* from, int64_t m, const T* roots, T* to);
  void (*tangle_swapped)(const T* from, int64_t m, const T* roots, T* to);

  // The same for one row of complex numbers; nothing is exchanged.
  void (*untangle_row)(const T* from, int64_t m, const T* roots, T* to);
  void (*tangle_row)(const T* from, int64_t m, const T* roots, T* to);

  // Element k of a lane array times the complex number table[k], or its conjugate; and times the number itself, with real
  // and imaginary parts exchanged afterwards.
  void (*multiply)(T* x, const T* table, int64_t n);
  void (*multiply_conjugate)(T* x, const T* table, int64_t n);
  void (*multiply_swapped)(T* x, const T* table, int64_t n);
  // The same for a row of complex numbers; nothing is exchanged.
  void (*multiply_row)(T* x, const T* table, int64_t n);
};

template <class T> const LaneFunctions<T>& lane_functions();

}  // namespace nj::fft
