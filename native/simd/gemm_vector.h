// Products of one or a few vectors with a matrix: memory decides how long they take, so it is read once and in order.
#pragma once
#include "kernels/gemm/gemm.h"
#include "simd/gemm_lanes.h"

namespace nj::NJ_SIMD {
constexpr int64_t kAhead = 1024;         // bytes that are asked for ahead of time; rows mostly lie one after the other
using gemm::kSumBytes;
constexpr int64_t kBlock = 64;           // rows of a matrix that are read for some vectors, then for the next
// Terms that are added up in one go: partial sums of more would round off a part of each term, for equal terms always the same.
template <class T> constexpr int64_t kMostAlong = 512 * lanes_of<T>;
constexpr int64_t kMostDown = 1 << 11;

template <class T> NJ_INLINE T sum_of(Vector<T> v) {
  T lanes[lanes_of<T>];
  store(lanes, v);
  for (int width = lanes_of<T> / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

// ------------------------------------------------------------- results are sums along rows

// out[i][r] = sum of x[i][p] m[r][p] for R rows and M vectors at once.
template <class From, class T, int R, int M>
void dot_rows(int64_t k, const T* x, int64_t x_row, const From* m, int64_t row, T* out, int64_t out_row, int64_t step,
              bool add) {
  constexpr int lanes = lanes_of<T>, chains = M == 1 ? 2 : 1;
  Vector<T> sums[chains][M][R] = {};
  int64_t p = 0;
  for (; p + chains * lanes <= k; p += chains * lanes) {
#pragma GCC unroll 2
    for (int c = 0; c < chains; ++c) {
      Vector<T> line[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const From* from = m + r * row + p + c * lanes;
        __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
        line[r] = Reader<From, T>::load(from);
      }
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
        const Vector<T> factor = load(x + i * x_row + p + c * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sums[c][i][r] += factor * line[r];
      }
    }
  }
  for (; p < k; p += lanes) {
    const int64_t there = fewer(lanes, k - p);
    for (int i = 0; i < M; ++i) {
      const Vector<T> factor = read<T, T>(x + i * x_row + p, there);
      for (int r = 0; r < R; ++r) sums[0][i][r] += factor * read<From, T>(m + r * row + p, there);
    }
  }
  for (int i = 0; i < M; ++i) {
    for (int r = 0; r < R; ++r) {
      T& to = out[i * out_row + r * step];
      const T total = sum_of<T>(chains == 2 ? sums[0][i][r] + sums[chains - 1][i][r] : sums[0][i][r]);
      to = add ? to + total : total;
    }
  }
}

template <class From, class T, int R>
void dots_of_part(int64_t vectors, int64_t k, const T* x, int64_t x_row, const From* m, int64_t row, T* out, int64_t out_row,
                  int64_t step, bool add) {
  int64_t i = 0;
  for (; i + 4 <= vectors; i += 4)
    dot_rows<From, T, R, 4>(k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
  for (; i + 2 <= vectors; i += 2)
    dot_rows<From, T, R, 2>(k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
  if (i < vectors) dot_rows<From, T, R, 1>(k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
}

template <class From, class T, int R>
void dots_of(int64_t vectors, int64_t k, const T* x, int64_t x_row, const From* m, int64_t row, T* out, int64_t out_row,
             int64_t step, bool add) {
  int64_t p = 0;
  do {
    dots_of_part<From, T, R>(vectors, fewer(kMostAlong<T>, k - p), x + p, x_row, m + p, row, out, out_row, step, add || p);
    p += kMostAlong<T>;
  } while (p < k);
}

template <class From, class T>
void dots(int64_t vectors, int64_t count, int64_t k, const char* x_bytes, int64_t x_row, const char* m_bytes, int64_t row,
          char* out_bytes, int64_t out_row, int64_t step, bool add) {
  auto* x = reinterpret_cast<const T*>(x_bytes);
  auto* m = reinterpret_cast<const From*>(m_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  // Four rows far apart: memory answers several streams faster than one.
  const int64_t far = count / 4;
  for (int64_t i = 0; i < far; ++i)
    dots_of<From, T, 4>(vectors, k, x, x_row, m + i * row, far * row, out + i * step, out_row, far * step, add);
  for (int64_t i = 4 * far; i < count; ++i)
    dots_of<From, T, 1>(vectors, k, x, x_row, m + i * row, row, out + i * step, out_row, step, add);
}

template <class V, std::size_t... I> NJ_INLINE V neighbours_exchanged(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I ^ 1)...);
}

// Complex numbers: elements and vectors of them are pairs of T.
template <class T, int R>
void dot_rows_complex_part(int64_t k, const T* x, const T* m, int64_t row, T* out, int64_t step, bool add) {
  constexpr int lanes = lanes_of<T>;
  Vector<T> straight[R] = {}, crossed[R] = {};
  for (int64_t p = 0; p < 2 * k; p += lanes) {
    const int64_t there = fewer(lanes, 2 * k - p);
    const Vector<T> factor = there == lanes ? load(x + p) : read<T, T>(x + p, there);
    const Vector<T> other = neighbours_exchanged(factor, std::make_index_sequence<lanes>{});
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const T* from = m + 2 * r * row + p;
      __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
      const Vector<T> line = there == lanes ? load(from) : read<T, T>(from, there);
      straight[r] += factor * line;
      crossed[r] += other * line;
    }
  }
  Vector<T> signs;
  for (int i = 0; i < lanes; ++i) signs[i] = i % 2 ? T(-1) : T(1);
  for (int r = 0; r < R; ++r) {
    T* to = out + 2 * r * step;
    const T re = sum_of<T>(straight[r] * signs), im = sum_of<T>(crossed[r]);
    to[0] = add ? to[0] + re : re;
    to[1] = add ? to[1] + im : im;
  }
}

template <class T, int R>
void dot_rows_complex(int64_t k, const T* x, const T* m, int64_t row, T* out, int64_t step, bool add) {
  int64_t p = 0;
  do {
    dot_rows_complex_part<T, R>(fewer(kMostAlong<T>, k - p), x + 2 * p, m + 2 * p, row, out, step, add || p);
    p += kMostAlong<T>;
  } while (p < k);
}

template <class T>
void dots_complex(int64_t vectors, int64_t count, int64_t k, const char* x_bytes, int64_t x_row, const char* m_bytes,
                  int64_t row, char* out_bytes, int64_t out_row, int64_t step, bool add) {
  auto* x = reinterpret_cast<const T*>(x_bytes);
  auto* m = reinterpret_cast<const T*>(m_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  const int64_t far = count / 4;
  for (int64_t v = 0; v < vectors; ++v, x += 2 * x_row, out += 2 * out_row) {
    for (int64_t i = 0; i < far; ++i)
      dot_rows_complex<T, 4>(k, x, m + 2 * i * row, far * row, out + 2 * i * step, far * step, add);
    for (int64_t i = 4 * far; i < count; ++i) dot_rows_complex<T, 1>(k, x, m + 2 * i * row, row, out + 2 * i * step, step, add);
  }
}

// ------------------------------------------------------------- results are combinations of rows

// Where the elements of vectors are: of vector i, `step` apart. Those of complex vectors are two, real and imaginary.
template <class T, bool complex> struct Vectors {
  const T* x;
  int64_t row;
  static constexpr int64_t step = complex ? 2 : 1;
  NJ_INLINE const T* of(int64_t i) const { return complex ? x + i / 2 * 2 * row + i % 2 : x + i * row; }
};

// sums[i][j] += x[i][p] m[p][j] for R rows of m and M vectors at once.
template <class From, class T, int R, int M, class X>
void add_rows(int64_t count, const X& x, int64_t i0, int64_t p, const From* m, int64_t row, T* sums) {
  constexpr int64_t width = kSumBytes / sizeof(T);
  constexpr int lanes = lanes_of<T>;
  Vector<T> factor[M][R];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < R; ++r) factor[i][r] = in_all_lanes(x.of(i0 + i)[(p + r) * X::step]);
  for (int64_t j = 0; j < count; j += lanes) {
    Vector<T> line[R];
    const int64_t there = fewer(lanes, count - j);
    if (there == lanes) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) line[r] = Reader<From, T>::load(m + r * row + j);
    } else {
      for (int r = 0; r < R; ++r) line[r] = read<From, T>(m + r * row + j, there);
    }
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      Vector<T> sum = load(sums + i * width + j);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum += factor[i][r] * line[r];
      store(sums + i * width + j, sum);
    }
  }
}

// Rows p ... end of m for M vectors from i0 on.
template <class From, class T, int R, int M, class X>
void add_block(int64_t count, const X& x, int64_t i0, int64_t p, int64_t end, const From* m, int64_t row, T* sums) {
  for (; p + R <= end; p += R) add_rows<From, T, R, M>(count, x, i0, p, m + p * row, row, sums);
  for (; p < end; ++p) add_rows<From, T, 1, M>(count, x, i0, p, m + p * row, row, sums);
}

// Whether there is code for M vectors at once: for any number of floating-point ones, pairs of parts of complex ones, and few
// numbers of integers, as each takes its time to compile.
template <class T, class X> constexpr bool at_once(int64_t vectors) {
  if constexpr (X::step == 2) return vectors % 2 == 0;
  else return static_cast<T>(0.5) != 0 || (vectors & (vectors - 1)) == 0;
}
template <class T, class X> NJ_INLINE int64_t most_at_once(int64_t vectors) {
  int64_t most = fewer(8, vectors);
  while (!at_once<T, X>(most)) --most;
  return most;
}

template <class From, class T, int M = 8, class X>
NJ_INLINE void add_block_of(int64_t vectors, int64_t count, const X& x, int64_t i0, int64_t p, int64_t end, const From* m,
                            int64_t row, T* sums) {
  if constexpr (at_once<T, X>(M))
    if (vectors == M) return add_block<From, T, M == 1 ? 8 : 4, M>(count, x, i0, p, end, m, row, sums);
  if constexpr (M > 1) add_block_of<From, T, M - 1>(vectors, count, x, i0, p, end, m, row, sums);
}

// The sums of `vectors` vectors for `count` columns, of the rows begin ... end of m.
template <class From, class T, class X>
void combine(int64_t vectors, int64_t count, int64_t begin, int64_t end, const X& x, const From* m, int64_t row, T* sums) {
  constexpr int64_t width = kSumBytes / sizeof(T);
  __builtin_memset(sums, 0, vectors * kSumBytes);
  for (int64_t p = begin; p < end; p += kBlock) {
    for (int64_t i = 0, taken; i < vectors; i += taken) {
      taken = most_at_once<T, X>(vectors - i);
      add_block_of<From, T>(taken, count, x, i, p, fewer(end, p + kBlock), m, row, sums + i * width);
    }
  }
}

// The rows of m in parts: part(begin, end, whether sums of parts in front of it are there).
template <class Part> NJ_INLINE void in_parts(int64_t k, Part part) {
  int64_t p = 0;
  do {
    part(p, fewer(k, p + kMostDown), p > 0);
    p += kMostDown;
  } while (p < k);
}

template <class From, class T>
void combination(int64_t vectors, int64_t count, int64_t k, const char* x_bytes, int64_t x_row, const char* m_bytes,
                 int64_t row, char* out_bytes, int64_t out_row, int64_t step, bool add, char* memory) {
  constexpr int64_t width = kSumBytes / sizeof(T);
  T* sums = reinterpret_cast<T*>(memory);
  const Vectors<T, false> x{reinterpret_cast<const T*>(x_bytes), x_row};
  auto* out = reinterpret_cast<T*>(out_bytes);
  for (int64_t j = 0; j < count; j += width) {
    const int64_t columns = fewer(width, count - j);
    in_parts(k, [&](int64_t begin, int64_t end, bool more) {
      combine(vectors, columns, begin, end, x, reinterpret_cast<const From*>(m_bytes) + j, row, sums);
      for (int64_t i = 0; i < vectors; ++i) {
        for (int64_t c = 0; c < columns; ++c) {
          T& to = out[i * out_row + (j + c) * step];
          to = add || more ? to + sums[i * width + c] : sums[i * width + c];
        }
      }
    });
  }
}

// Each complex vector is two real ones, with which the pairs of T that m consists of are combined.
template <class T>
void combination_complex(int64_t vectors, int64_t count, int64_t k, const char* x_bytes, int64_t x_row, const char* m_bytes,
                         int64_t row, char* out_bytes, int64_t out_row, int64_t step, bool add, char* memory) {
  constexpr int64_t width = kSumBytes / sizeof(T);
  T* sums = reinterpret_cast<T*>(memory);
  const Vectors<T, true> x{reinterpret_cast<const T*>(x_bytes), x_row};
  auto* out = reinterpret_cast<T*>(out_bytes);
  for (int64_t j = 0; j < 2 * count; j += width) {
    const int64_t columns = fewer(width, 2 * count - j);
    in_parts(k, [&](int64_t begin, int64_t end, bool more) {
      combine(2 * vectors, columns, begin, end, x, reinterpret_cast<const T*>(m_bytes) + j, 2 * row, sums);
      for (int64_t i = 0; i < vectors; ++i) {
        const T *re = sums + 2 * i * width, *im = re + width;
        for (int64_t c = 0; c < columns; c += 2) {
          T* to = out + 2 * (i * out_row + (j + c) / 2 * step);
          to[0] = (add || more ? to[0] : T(0)) + (re[c] - im[c + 1]);
          to[1] = (add || more ? to[1] : T(0)) + (re[c + 1] + im[c]);
        }
      }
    });
  }
}

}  // namespace nj::NJ_SIMD
