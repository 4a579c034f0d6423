// LU factors with partial pivoting, and inverses by them, of batches of row-major matrices. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128.
//
// Strips of columns are factored by halves (S. Toledo, "Locality of reference in LU decomposition with partial pivoting",
// 1997), so that nearly all work is products, while other threads update the strips to their right.
#include <algorithm>

#include "runtime/threads/task_graph.h"
#include "kernels/registry.h"
#include "kernels/linalg/panels.h"
#include "kernels/linalg/blocks.h"

namespace nj::lapack {

namespace {

constexpr int64_t kStripWidth = 96;
constexpr int64_t kInverseWidth = 64;

template <class T> void exchange_rows(View<T> a, int64_t columns, const int64_t* pivots, int64_t count) {
  for (int64_t k = 0; k < count; ++k)
    if (pivots[k] != k) std::swap_ranges(a.row(k), a.row(k) + columns, a.row(pivots[k]));
}

// A panel of complex numbers by LAPACK, column-major.
template <class T, class I> void factor_by_library(View<T> a, int64_t m, int64_t n, int64_t* pivots) {
  Workspace<T> columns(m * n);
  Workspace<I> found(n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) columns.data()[j * m + i] = a(i, j);
  const I rows = static_cast<I>(m), cols = static_cast<I>(n);
  I info = 0;
  call<T>(getrf, &rows, &cols, columns.data(), &rows, found.data(), &info);
  for (int64_t j = 0; j < n; ++j) pivots[j] = static_cast<int64_t>(found.data()[j]) - 1;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) a(i, j) = columns.data()[j * m + i];
}

// At most kPanelWidth columns, m >= n.
template <class T> void factor_panel(View<T> a, int64_t m, int64_t n, int64_t* pivots) {
  if constexpr (is_complex<T>) {
    int_bytes == 8 ? factor_by_library<T, int64_t>(a, m, n, pivots) : factor_by_library<T, int32_t>(a, m, n, pivots);
  } else {
    Workspace<T> panel(m * kPanelWidth);
    if (n < kPanelWidth) std::fill_n(panel.data(), m * kPanelWidth, T(0));
    for (int64_t i = 0; i < m; ++i) std::copy_n(a.row(i), n, panel.data() + i * kPanelWidth);
    panel_functions<T>().lu(panel.data(), m, n, pivots);
    for (int64_t i = 0; i < m; ++i) std::copy_n(panel.data() + i * kPanelWidth, n, a.row(i));
  }
}

// b after the elimination of the n columns left of it, whose factors are a[m, n].
template <class T> void eliminate(View<T> a, int64_t m, int64_t n, const int64_t* pivots, View<T> b, int64_t columns) {
  exchange_rows(b, columns, pivots, n);
  const auto product = [](auto... args) { multiply(args...); };
  solve_by_halves<T>(true, {a, true, true, Op::none}, n, columns, b, product);
  multiply(Op::none, Op::none, m - n, columns, n, a.at(n, 0), b, Into::subtract, b.at(n, 0));
}

// m >= n; pivots count from the first row of a. The columns are halved until a panel is left.
template <class T> void factor_strip(View<T> a, int64_t m, int64_t n, int64_t* pivots) {
  if (n <= kPanelWidth) return factor_panel(a, m, n, pivots);
  const int64_t half = (n / 2 + kPanelWidth - 1) / kPanelWidth * kPanelWidth, rest = n - half;
  factor_strip(a, m, half, pivots);
  eliminate(a, m, half, pivots, a.at(0, half), rest);
  factor_strip(a.at(half, half), m - half, rest, pivots + half);
  exchange_rows(a.at(half, 0), half, pivots + half, rest);
  for (int64_t k = half; k < n; ++k) pivots[k] += half;
}

// Rows left of a panel are exchanged in the end, when nobody reads them any more.
template <class T> void factor(View<T> a, int64_t m, int64_t n, int64_t* pivots) {
  const Strips strips(std::min(m, n), n, kStripWidth);
  factor_strips(
      strips,
      [&](int64_t s) {
        const int64_t first = strips.first(s);
        factor_strip(a.at(first, first), m - first, strips.size(s), pivots + first);
      },
      [&](int64_t s, int64_t p) {
        const int64_t top = strips.first(p);
        eliminate(a.at(top, top), m - top, strips.size(p), pivots + top, a.at(top, strips.first(s)), strips.size(s));
      });
  parallel_for(strips.panels, [&](int64_t s) {
    for (int64_t p = s + 1; p < strips.panels; ++p)
      exchange_rows(a.at(strips.first(p), strips.first(s)), strips.size(s), pivots + strips.first(p), strips.size(p));
  });
  for (int64_t p = 1; p < strips.panels; ++p)
    for (int64_t k = 0; k < strips.size(p); ++k) pivots[strips.first(p) + k] += strips.first(p);
}

// Bytes that factor takes: a panel at a time.
template <class T> int64_t factor_bytes(int64_t m, int64_t k) {
  if (k == 0) return 0;
  if (!is_complex<T>) return Workspace<T>::taken(m * kPanelWidth);
  const int64_t n = std::min(k, kPanelWidth);
  return Workspace<T>::taken(m * n) + Workspace<char>::taken(n * int_bytes);
}

// The permutation of `size` rows that exchanging row k with row pivots[k], in order, makes.
template <class P> void permute(const P* pivots, int64_t count, int64_t size, int32_t* out) {
  for (int64_t k = 0; k < size; ++k) out[k] = static_cast<int32_t>(k);
  for (int64_t k = 0; k < count; ++k)
    if (pivots[k] >= 0 && pivots[k] < size) std::swap(out[k], out[pivots[k]]);
}

// out = U^-1 L^-1 P by strips of columns of L^-1, which start at the diagonal and do not depend on each other. Column j of
// U^-1 L^-1 is column order[j] of the inverse.
template <class T> void invert(View<T> lu, int64_t n, const int32_t* order, T* out) {
  const Strips strips(n, n, kInverseWidth);
  parallel_for(strips.count, [&](int64_t s) {
    const int64_t first = strips.first(s), width = strips.size(s);
    Workspace<T> memory(n * width);
    const View<T> x{memory.data(), width};
    std::fill_n(memory.data(), n * width, T(0));
    for (int64_t j = 0; j < width; ++j) x(first + j, j) = T(1);
    const auto product = [](auto... args) { multiply(args...); };
    solve_by_halves<T>(true, {lu.at(first, first), true, true, Op::none}, n - first, width, x.at(first, 0), product);
    solve_by_halves<T>(true, {lu, false, false, Op::none}, n, width, x, product);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) out[i * n + order[first + j]] = x(i, j);
  });
}

}  // namespace
}  // namespace nj::lapack

using namespace nj::lapack;

// Overwrites x with its LU factors; pivots from 0, and the permutation of rows that they make.
extern "C" int64_t nj_getrf(int64_t code, int64_t batch, int64_t m, int64_t n, char* x, char* pivots, char* permutation) {
  return dispatch(getrf, code, [=](auto t, auto) {
    using T = decltype(t);
    const int64_t k = std::min(m, n);
    for_batch(batch, m * n, [=](int64_t b) {
      nj::Workspace<int64_t> found(k);
      if (k > 0) factor(View<T>{reinterpret_cast<T*>(x) + b * m * n, n}, m, n, found.data());
      std::copy_n(found.data(), k, reinterpret_cast<int32_t*>(pivots) + b * k);
      permute(found.data(), k, m, reinterpret_cast<int32_t*>(permutation) + b * m);
    });
  });
}
NJ_KERNEL(nj_getrf);

extern "C" int64_t nj_getrf_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, char*, char*, char*) {
  const int64_t k = std::min(m, n);
  return bytes_for_batch(getrf, code, threads, batch, m * n,
                         [=](auto t, int64_t) { return nj::Workspace<int64_t>::taken(k) + factor_bytes<decltype(t)>(m, k); });
}
NJ_KERNEL(nj_getrf_bytes);

// The inverses of n x n matrices from their LU factors and permutations of rows.
extern "C" int64_t nj_getri(int64_t code, int64_t batch, int64_t n, const char* lu, const char* permutation, char* out) {
  return dispatch(getrf, code, [=](auto t, auto) {
    using T = decltype(t);
    for_batch(batch, n * n, [=](int64_t b) {
      const View<T> factors{const_cast<T*>(reinterpret_cast<const T*>(lu)) + b * n * n, n};
      invert(factors, n, reinterpret_cast<const int32_t*>(permutation) + b * n, reinterpret_cast<T*>(out) + b * n * n);
    });
  });
}
NJ_KERNEL(nj_getri);

extern "C" int64_t nj_getri_bytes(int64_t threads, int64_t code, int64_t batch, int64_t n, const char*, const char*, char*) {
  return bytes_for_batch(getrf, code, threads, batch, n * n, [=](auto t, int64_t sharing) {
    const nj::Strips strips(n, n, kInverseWidth);
    return std::min(sharing, strips.count) * nj::Workspace<decltype(t)>::taken(n * std::min(n, kInverseWidth));
  });
}
NJ_KERNEL(nj_getri_bytes);

extern "C" int64_t nj_permutation(int64_t batch, int64_t count, int64_t size, const char* pivots, char* out) {
  for (int64_t b = 0; b < batch; ++b)
    permute(reinterpret_cast<const int32_t*>(pivots) + b * count, count, size, reinterpret_cast<int32_t*>(out) + b * size);
  return 0;
}
NJ_KERNEL(nj_permutation);
