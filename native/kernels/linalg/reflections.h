// Householder reflections of row-major matrices: QR factors by them, and their products with matrices. No Python here.
//
// A block of reflections H_1 ... H_k is I - V T V^H (R. Schreiber, C. Van Loan, "A storage-efficient WY representation for
// products of Householder transformations", 1989), so that nearly all work is products. A block is factored by halves (E.
// Elmroth, F. Gustavson, "Applying recursion to serial and parallel QR factorization", 2000), while other
// threads update the columns to its right.
#pragma once
#include <algorithm>

#include "kernels/linalg/blocks.h"
#include "kernels/linalg/panels.h"
#include "runtime/threads/task_graph.h"

namespace nj::lapack {

constexpr int64_t kBlockWidth = 64;
constexpr int64_t kProductWidth = 96;
constexpr int64_t kSmallBytes = 4096;  // of a panel that is factored on the stack, without blocks
template <class T> constexpr int64_t small_rows = kSmallBytes / (kPanelWidth * sizeof(T));

// Whether a matrix is one panel of few rows: memory, triangles and products of blocks would take longer than its factors.
template <class T> bool one_panel(int64_t m, int64_t n) {
  return !is_complex<T> && n <= kPanelWidth && n <= m && m <= small_rows<T>;
}

// A copy of a[m, n], n <= kPanelWidth, as a panel.
template <class T> struct SmallPanel {
  alignas(64) T data[small_rows<T> * kPanelWidth];
  SmallPanel(View<const T> a, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; ++i) std::fill(std::copy_n(a.row(i), n, data + i * kPanelWidth), data + (i + 1) * kPanelWidth, T(0));
  }
};

// The first n columns of a panel.
template <class T> void copy_columns(const T* panel, int64_t m, int64_t n, T* out) {
  for (int64_t i = 0; i < m; ++i) std::copy_n(panel + i * kPanelWidth, n, out + i * n);
}

// T (upper triangular, zeros below) from the taus and the inner products g of the vectors (above the diagonal).
template <class T> void small_triangle(View<T> g, const T* taus, int64_t n, View<T> t) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) t(i, j) = T(0);
    for (int64_t i = 0; i < j; ++i) {
      T sum(0);
      for (int64_t k = i; k < j; ++k) sum += t(i, k) * g(k, j);
      t(i, j) = -taus[j] * sum;
    }
    t(j, j) = taus[j];
  }
}

// The upper right block of T: -T1 (V1^H V2) T2, for the products g = V1^H V2.
template <class T> void join_triangles(int64_t n1, int64_t n2, View<T> g, View<T> t) {
  Workspace<T> memory(n1 * n2);
  const View<T> half{memory.data(), n2};
  multiply(Op::none, Op::none, n1, n2, n1, t, g, Into::set, half);
  for (int64_t i = 0; i < n1; ++i) std::fill_n(t.row(i) + n1, n2, T(0));
  multiply(Op::none, Op::none, n1, n2, n2, half, t.at(n1, n1), Into::subtract, t.at(0, n1));
  for (int64_t i = n1; i < n1 + n2; ++i) std::fill_n(t.row(i), n1, T(0));
}

template <class T> void triangle(View<T> g, const T* taus, int64_t n, View<T> t) {
  if (n <= kPanelWidth) return small_triangle(g, taus, n, t);
  const int64_t half = n / 2;
  triangle(g, taus, half, t);
  triangle(g.at(half, half), taus + half, n - half, t.at(half, half));
  join_triangles(half, n - half, g.at(0, half), t);
}

// A panel of complex numbers by LAPACK, column-major.
template <class T, class I> void factor_by_library(T* panel, int64_t m, int64_t n, T* taus) {
  Workspace<T> columns(m * n), work(64 * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) columns.data()[j * m + i] = panel[i * kPanelWidth + j];
  const I rows = static_cast<I>(m), cols = static_cast<I>(n), size = static_cast<I>(64 * n);
  I info = 0;
  call<T>(geqrf, &rows, &cols, columns.data(), &rows, taus, work.data(), &size, &info);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) panel[i * kPanelWidth + j] = columns.data()[j * m + i];
}

// Factors v[m, n], m >= n <= kPanelWidth: v becomes V (ones on its diagonal, zeros above), r the triangle R.
template <class T> void factor_panel(View<T> v, int64_t m, int64_t n, View<T> r, T* taus, View<T> t) {
  Workspace<T> memory(m * kPanelWidth), products(kPanelWidth * kPanelWidth);
  T* panel = memory.data();
  if (n < kPanelWidth) std::fill_n(panel, m * kPanelWidth, T(0));
  for (int64_t i = 0; i < m; ++i) std::copy_n(v.row(i), n, panel + i * kPanelWidth);
  if constexpr (is_complex<T>) {
    int_bytes == 8 ? factor_by_library<T, int64_t>(panel, m, n, taus) : factor_by_library<T, int32_t>(panel, m, n, taus);
  } else {
    panel_functions<T>().qr(panel, m, n, taus, products.data());
  }
  for (int64_t i = 0; i < m; ++i) std::copy_n(panel + i * kPanelWidth, n, v.row(i));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j) r(i, j) = v(i, j), v(i, j) = T(i == j);
  const View<T> g{products.data(), kPanelWidth};
  if constexpr (is_complex<T>) multiply(Op::adjoint, Op::none, n, n, m, v, v, Into::set, g);
  small_triangle(g, taus, n, t);
}

// a = (I - V T' V^H) a for a[m, n] and k reflections, T' being T or its adjoint; work: 2 k n numbers.
template <class T> void reflect(int64_t m, int64_t n, int64_t k, View<T> v, View<T> t, Op op, View<T> a, T* work) {
  const View<T> inner{work, n}, turned{work + k * n, n};
  multiply(Op::adjoint, Op::none, k, n, m, v, a, Into::set, inner);
  multiply(op, Op::none, k, n, k, t, inner, Into::set, turned);
  multiply(Op::none, Op::none, m, n, k, v, turned, Into::subtract, a);
}

inline int64_t left_half(int64_t n) { return (n / 2 + kPanelWidth - 1) / kPanelWidth * kPanelWidth; }

// The same as factor_panel for any n.
template <class T> void factor_block(View<T> v, int64_t m, int64_t n, View<T> r, T* taus, View<T> t) {
  if (n <= kPanelWidth) return factor_panel(v, m, n, r, taus, t);
  const int64_t n1 = left_half(n), n2 = n - n1;
  factor_block(v, m, n1, r, taus, t);
  Workspace<T> work(2 * n1 * n2);
  const View<T> right = v.at(0, n1);
  reflect(m, n2, n1, v, t, Op::adjoint, right, work.data());
  for (int64_t i = 0; i < n1; ++i)
    for (int64_t j = 0; j < n2; ++j) r(i, n1 + j) = right(i, j), right(i, j) = T(0);
  factor_block(v.at(n1, n1), m - n1, n2, r.at(n1, n1), taus + n1, t.at(n1, n1));
  const View<T> g{work.data(), n2};
  multiply(Op::adjoint, Op::none, n1, n2, m - n1, v.at(n1, 0), v.at(n1, n1), Into::set, g);
  join_triangles(n1, n2, g, t);
}

// Bytes that the functions above take.
template <class T> int64_t triangle_bytes(int64_t n) { return n <= kPanelWidth ? 0 : Workspace<T>::taken(n / 2 * (n - n / 2)); }

template <class T> int64_t panel_bytes(int64_t m, int64_t n) {
  const int64_t own = Workspace<T>::taken(m * kPanelWidth) + Workspace<T>::taken(kPanelWidth * kPanelWidth);
  return is_complex<T> ? own + Workspace<T>::taken(m * n) + Workspace<T>::taken(64 * n) : own;
}

template <class T> int64_t block_bytes(int64_t m, int64_t n) {
  if (n <= kPanelWidth) return panel_bytes<T>(m, n);
  const int64_t n1 = left_half(n), n2 = n - n1, within = std::max(block_bytes<T>(m - n1, n2), Workspace<T>::taken(n1 * n2));
  return std::max(block_bytes<T>(m, n1), Workspace<T>::taken(2 * n1 * n2) + within);
}

// V and T of the blocks of k reflections of m numbers.
template <class T> struct Blocks {
  int64_t m, k, count;
  Workspace<T> vectors, triangles;
  Blocks(int64_t rows, int64_t reflections)
      : m(rows),
        k(reflections),
        count((k + kBlockWidth - 1) / kBlockWidth),
        vectors(count * m * kBlockWidth),
        triangles(count * kBlockWidth * kBlockWidth) {}
  static int64_t bytes(int64_t m, int64_t k) {
    const int64_t count = (k + kBlockWidth - 1) / kBlockWidth;
    return Workspace<T>::taken(count * m * kBlockWidth) + Workspace<T>::taken(count * kBlockWidth * kBlockWidth);
  }
  int64_t width(int64_t b) const { return std::min(kBlockWidth, k - b * kBlockWidth); }
  View<T> v(int64_t b) const { return {vectors.data() + b * m * kBlockWidth, width(b)}; }
  View<T> t(int64_t b) const { return {triangles.data() + b * kBlockWidth * kBlockWidth, kBlockWidth}; }

  // Factors the columns of block b; they become R above and V below the diagonal.
  void factor(int64_t b, View<T> a, T* taus) const {
    const int64_t first = b * kBlockWidth, n = width(b);
    Workspace<T> memory(kBlockWidth * kBlockWidth);
    const View<T> r{memory.data(), kBlockWidth}, to = v(b);
    for (int64_t i = first; i < m; ++i) std::copy_n(a.row(i) + first, n, to.row(i - first));
    factor_block(to, m - first, n, r, taus + first, t(b));
    for (int64_t i = first; i < m; ++i) std::copy_n(to.row(i - first), n, a.row(i) + first);
    for (int64_t i = 0; i < n; ++i) std::copy_n(r.row(i) + i, n - i, a.row(first + i) + first + i);
  }

  // V and T of block b from factors.
  void read(int64_t b, View<const T> a, const T* taus) const {
    const int64_t first = b * kBlockWidth, n = width(b);
    for (int64_t i = first; i < m; ++i) {
      T* to = v(b).row(i - first);
      for (int64_t j = 0; j < n; ++j) to[j] = i - first > j ? a(i, first + j) : T(i - first == j);
    }
    Workspace<T> products(n * n);
    const View<T> g{products.data(), n};
    multiply(Op::adjoint, Op::none, n, n, m - first, v(b), v(b), Into::set, g);
    triangle(g, taus + first, n, t(b));
  }

  // Applies block b, or its adjoint, to columns whose first row is the block's; work: 2 kBlockWidth columns numbers.
  void apply(int64_t b, Op op, View<T> a, int64_t columns, T* work) const {
    reflect(m - b * kBlockWidth, columns, width(b), v(b), t(b), op, a, work);
  }
};

template <class T> void factor(View<T> a, int64_t m, int64_t n, T* taus) {
  if constexpr (!is_complex<T>) {
    if (one_panel<T>(m, n)) {
      SmallPanel<T> panel({a.data, a.ld}, m, n);
      T products[kPanelWidth * kPanelWidth];
      panel_functions<T>().qr(panel.data, m, n, taus, products);
      return copy_columns(panel.data, m, n, a.data);
    }
  }
  const Strips strips(std::min(m, n), n, kBlockWidth);
  const Blocks<T> blocks(m, strips.factored);
  factor_strips(
      strips, [&](int64_t s) { blocks.factor(s, a, taus); },
      [&](int64_t s, int64_t p) {
        Workspace<T> work(2 * kBlockWidth * strips.size(s));
        blocks.apply(p, Op::adjoint, a.at(strips.first(p), strips.first(s)), strips.size(s), work.data());
      });
}

// Bytes that factor takes: while one thread factors a panel but the first, others update strips.
template <class T> int64_t factor_bytes(int64_t m, int64_t n, int64_t threads) {
  const int64_t k = std::min(m, n);
  if (one_panel<T>(m, n)) return 0;
  if (k == 0) return Blocks<T>::bytes(m, 0);
  const Strips strips(k, n, kBlockWidth);
  const auto panel = [&](int64_t s) {
    return Workspace<T>::taken(kBlockWidth * kBlockWidth) + block_bytes<T>(m - strips.first(s), strips.size(s));
  };
  const auto updates = [&](int64_t at_once, int64_t left) {
    return std::clamp<int64_t>(left, 0, at_once) * Workspace<T>::taken(2 * kBlockWidth * kBlockWidth);
  };
  const int64_t later = strips.panels > 1 ? panel(1) + updates(threads - 1, strips.count - 2) : 0;
  return Blocks<T>::bytes(m, k) + std::max({panel(0), later, updates(threads, strips.count - 1)});
}

// V and T of all blocks of the k reflections in a[m, k], whose vectors are below its diagonal.
template <class T> void read_blocks(const Blocks<T>& blocks, View<const T> a, const T* taus) {
  parallel_for(blocks.count, [&](int64_t b) { blocks.read(b, a, taus); });
}

// Bytes that the reading of k reflections takes, and their application to so many columns, beyond the blocks. own: of a strip.
template <class T> int64_t applying_bytes(int64_t k, int64_t columns, int64_t threads, int64_t own = 0) {
  const int64_t width = std::min(k, kBlockWidth), across = std::min(columns, kProductWidth);
  const int64_t blocks = (k + kBlockWidth - 1) / kBlockWidth, strips = Strips(columns, columns, kProductWidth).count;
  const int64_t reading = Workspace<T>::taken(width * width) + triangle_bytes<T>(width);
  return std::max(std::min(threads, blocks) * reading,
                  std::min(threads, strips) * (own + Workspace<T>::taken(2 * kBlockWidth * across)));
}

// a = H_1 ... H_k a, by strips of columns.
template <class T> void apply_blocks(const Blocks<T>& blocks, View<T> a, int64_t columns) {
  const Strips strips(columns, columns, kProductWidth);
  parallel_for(strips.count, [&](int64_t s) {
    Workspace<T> work(2 * kBlockWidth * strips.size(s));
    for (int64_t b = blocks.count - 1; b >= 0; --b)
      blocks.apply(b, Op::none, a.at(b * kBlockWidth, strips.first(s)), strips.size(s), work.data());
  });
}

}  // namespace nj::lapack
