// Products with a vector, for the vectors of one kind of CPU: memory decides how long they take.
#pragma once
#include "gemm_micro.h"

namespace nj::gemm {
namespace {

// Bytes that are asked for ahead of time; rows mostly lie one after the other.
constexpr int64_t kAhead = 1024;

// out[i] = sum of x[p] m[i][p] for R rows at once.
template <class V, int R>
void dot_rows(int64_t k, const typename V::Element* x, const typename V::Element* m, int64_t row, typename V::Element* out,
              int64_t step, bool add) {
  typename V::Register even[R], odd[R];
  for (int r = 0; r < R; ++r) even[r] = odd[r] = V::zero();
  int64_t p = 0;
  for (; p + 2 * V::lanes <= k; p += 2 * V::lanes) {
    const auto first = V::load(x + p), second = V::load(x + p + V::lanes);
    for (int r = 0; r < R; ++r) {
      const auto* from = m + r * row + p;
      __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
      __builtin_prefetch(reinterpret_cast<const char*>(from + V::lanes) + kAhead);
      even[r] = V::multiply_add(first, V::load(from), even[r]);
      odd[r] = V::multiply_add(second, V::load(from + V::lanes), odd[r]);
    }
  }
  for (; p < k; p += V::lanes) {
    const auto mask = V::mask(fewer(V::lanes, k - p));
    const auto first = V::load(x + p, mask);
    for (int r = 0; r < R; ++r) even[r] = V::multiply_add(first, V::load(m + r * row + p, mask), even[r]);
  }
  for (int r = 0; r < R; ++r) {
    typename V::Element lanes[V::lanes];
    V::put(lanes, V::sum(even[r], odd[r]));
    for (int width = V::lanes / 2; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    out[r * step] = add ? out[r * step] + lanes[0] : lanes[0];
  }
}

// out[i] = sum of x[p] m[i][p], rows `row` apart and contiguous, results `step` apart.
template <class V>
void dots(int64_t count, int64_t k, const char* x_bytes, const char* m_bytes, int64_t row, char* out_bytes, int64_t step,
          bool add) {
  auto* x = reinterpret_cast<const typename V::Element*>(x_bytes);
  auto* m = reinterpret_cast<const typename V::Element*>(m_bytes);
  auto* out = reinterpret_cast<typename V::Element*>(out_bytes);
  // Four rows far apart: memory answers several streams faster than one.
  const int64_t far = count / 4;
  for (int64_t i = 0; i < far; ++i) dot_rows<V, 4>(k, x, m + i * row, far * row, out + i * step, far * step, add);
  for (int64_t i = 4 * far; i < count; ++i) dot_rows<V, 1>(k, x, m + i * row, row, out + i * step, step, add);
}

constexpr int64_t kColumns = 1024;  // whose sums are kept in the cache

// sums[i][j] += x[i][p] m[p][j] for R rows of m and M of x at once.
template <class V, int R, int M>
void add_rows(int64_t count, const typename V::Element* x, int64_t x_row, const typename V::Element* m, int64_t row,
              typename V::Element* sums) {
  typename V::Register factor[M][R];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < R; ++r) factor[i][r] = V::broadcast(x + i * x_row + r);
  const auto add = [&](int64_t j, const auto&... mask) {
    typename V::Register line[R];
    for (int r = 0; r < R; ++r) line[r] = V::load(m + r * row + j, mask...);
    for (int i = 0; i < M; ++i) {
      auto sum = V::load(sums + i * kColumns + j, mask...);
      for (int r = 0; r < R; ++r) sum = V::multiply_add(factor[i][r], line[r], sum);
      V::put(sums + i * kColumns + j, sum, mask...);
    }
  };
  int64_t j = 0;
  for (; j + V::lanes <= count; j += V::lanes) add(j);
  if (j < count) add(j, V::mask(count - j));
}

// `combination` for M vectors at once.
template <class V, int R, int M>
void combine(int64_t count, int64_t k, const typename V::Element* x, int64_t x_row, const typename V::Element* m, int64_t row,
             typename V::Element* out, int64_t out_row, int64_t step, bool add) {
  using T = typename V::Element;
  alignas(64) T sums[M * kColumns];
  for (int64_t j = 0; j < count; j += kColumns) {
    const int64_t columns = fewer(kColumns, count - j);
    std::memset(sums, 0, sizeof sums);
    int64_t p = 0;
    for (; p + R <= k; p += R) add_rows<V, R, M>(columns, x + p, x_row, m + p * row + j, row, sums);
    for (; p < k; ++p) add_rows<V, 1, M>(columns, x + p, x_row, m + p * row + j, row, sums);
    for (int i = 0; i < M; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        T& to = out[i * out_row + (j + c) * step];
        to = add ? to + sums[i * kColumns + c] : sums[i * kColumns + c];
      }
    }
  }
}

// out[i][j] = sum of x[i][p] m[p][j], rows of m `row` apart and contiguous, results `step` apart.
template <class V>
void combination(int64_t vectors, int64_t count, int64_t k, const char* x_bytes, int64_t x_row, const char* m_bytes,
                 int64_t row, char* out_bytes, int64_t out_row, int64_t step, bool add) {
  using T = typename V::Element;
  auto* x = reinterpret_cast<const T*>(x_bytes);
  auto* m = reinterpret_cast<const T*>(m_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
  int64_t i = 0;
  for (; i + 4 <= vectors; i += 4)
    combine<V, 4, 4>(count, k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
  for (; i + 2 <= vectors; i += 2)
    combine<V, 4, 2>(count, k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
  if (i < vectors) combine<V, 8, 1>(count, k, x + i * x_row, x_row, m, row, out + i * out_row, out_row, step, add);
}

// A kernel of floats that are stored as they are multiplied.
template <class V>
constexpr Kernel with_vectors(Kernel kernel) {
  kernel.dots = dots<V>;
  kernel.combination = combination<V>;
  return kernel;
}

}  // namespace
}  // namespace nj::gemm
