// Blocks of row-major matrices, and what the blocked algorithms of linear algebra do with them: products and triangular
// systems, in this thread, or as tiles over all threads. How work is cut depends on its shape only. No Python here.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>

#include "kernels/copy/transpose.h"
#include "kernels/gemm/gemm.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/triangles.h"
#include "runtime/threads/parallel.h"

namespace nj::lapack {

// A block of a row-major matrix; rows start `ld` elements apart.
template <class T> struct View {
  T* data;
  int64_t ld;
  T& operator()(int64_t i, int64_t j) const { return data[i * ld + j]; }
  View at(int64_t i, int64_t j) const { return {data + i * ld + j, ld}; }
  T* row(int64_t i) const { return data + i * ld; }
};

using gemm::Into;

enum class Op : char { none = 'N', transposed = 'T', adjoint = 'C' };

// The numbers of a dtype among the kernels of matrix products.
template <class T> constexpr DtypeCode product_code = sizeof(T) == 8 ? code_float64 : code_float32;

// c = beta c + alpha a b of complex numbers, by BLAS.
template <class T>
void multiply_by_library(Op ta, Op tb, int64_t m, int64_t n, int64_t k, T alpha, View<T> a, View<T> b, T beta, View<T> c) {
  const auto run = [&](auto zero) {  // row-major is column-major of the transposes
    using I = decltype(zero);
    const char first = static_cast<char>(tb), second = static_cast<char>(ta);
    const I rows = static_cast<I>(n), columns = static_cast<I>(m), inner = static_cast<I>(k);
    const I lda = static_cast<I>(a.ld), ldb = static_cast<I>(b.ld), ldc = static_cast<I>(c.ld);
    call<T>(gemm, &first, &second, &rows, &columns, &inner, &alpha, b.data, &ldb, a.data, &lda, &beta, c.data, &ldc);
  };
  int_bytes == 8 ? run(int64_t{}) : run(int32_t{});
}

// c =, += or -= a b, of op(a)[m, k] and op(b)[k, n], in this thread. All products of this folder go through here.
template <class T>
void multiply(Op ta, Op tb, int64_t m, int64_t n, int64_t k, View<T> a, View<T> b, Into into, View<T> c) {
  if (m == 0 || n == 0) return;
  if constexpr (is_complex<T>) {
    const T alpha(into == Into::subtract ? -1 : 1), beta(into == Into::set ? 0 : 1);
    multiply_by_library(ta, tb, m, n, k, alpha, a, b, beta, c);
  } else {
    const auto bytes = [](const View<T>& x) { return reinterpret_cast<char*>(x.data); };
    const int64_t a_row = ta == Op::none ? a.ld : 1, a_col = ta == Op::none ? 1 : a.ld;
    const int64_t b_row = tb == Op::none ? b.ld : 1, b_col = tb == Op::none ? 1 : b.ld;
    gemm::multiply_alone({product_code<T>, m, n, k, bytes(a), a_row, a_col, bytes(b), b_row, b_col, bytes(c), c.ld, into});
  }
}

// The same as tiles over all threads.
template <class T>
void multiply_shared(Op ta, Op tb, int64_t m, int64_t n, int64_t k, View<T> a, View<T> b, Into into, View<T> c) {
  constexpr int64_t worth = 1 << 20;  // multiplications below which threads do not pay
  if (m * n * k < worth) return multiply(ta, tb, m, n, k, a, b, into, c);
  const auto cut = [](int64_t size) { return std::max<int64_t>(1, (size + 128) / 256); };
  const int64_t down = cut(m), across = std::max(cut(n), down == 1 && n >= 64 ? int64_t{2} : int64_t{1});
  const auto edge = [](int64_t size, int64_t parts, int64_t part) { return size * part / parts / 16 * 16; };
  parallel_for(down * across, [&](int64_t tile) {
    const int64_t r = tile / across, s = tile % across;
    const int64_t i0 = edge(m, down, r), i1 = r + 1 == down ? m : edge(m, down, r + 1);
    const int64_t j0 = edge(n, across, s), j1 = s + 1 == across ? n : edge(n, across, s + 1);
    const View<T> rows = ta == Op::none ? a.at(i0, 0) : a.at(0, i0), columns = tb == Op::none ? b.at(0, j0) : b.at(j0, 0);
    multiply(ta, tb, i1 - i0, j1 - j0, k, rows, columns, into, c.at(i0, j0));
  });
}

// A triangular matrix as the operand of a system of equations.
template <class T> struct Triangle {
  View<T> a;
  bool lower, unit;
  Op op;
  bool down() const { return lower == (op == Op::none); }  // op(a) is lower triangular
  Triangle at(int64_t i) const { return {a.at(i, i), lower, unit, op}; }
  // Elements (i.., j..) of op(a), as the operand of a product with op.
  View<T> block(int64_t i, int64_t j) const { return op == Op::none ? a.at(i, j) : a.at(j, i); }
};

// Of complex numbers, by BLAS.
template <class T> void solve_by_library(bool left, const Triangle<T>& t, int64_t m, int64_t n, View<T> b) {
  const auto run = [&](auto zero) {  // of the transposes: sides and triangles swap
    using I = decltype(zero);
    const I rows = static_cast<I>(n), columns = static_cast<I>(m), lda = static_cast<I>(t.a.ld), ldb = static_cast<I>(b.ld);
    const char op = static_cast<char>(t.op);
    const T one(1);
    call<T>(trsm, left ? "R" : "L", t.lower ? "U" : "L", &op, t.unit ? "U" : "N", &rows, &columns, &one, t.a.data, &lda, b.data,
            &ldb);
  };
  int_bytes == 8 ? run(int64_t{}) : run(int32_t{});
}

// op(a) x = b, or op(a)^T x = b if `transposed`, for n rows of `columns` numbers.
template <class T> void substitute(bool transposed, const Triangle<T>& t, int64_t n, T* b, int64_t b_row, int64_t columns) {
  const bool flat = (t.op == Op::none) != transposed, down = t.down() != transposed;
  const int64_t row = flat ? t.a.ld : 1, column = flat ? 1 : t.a.ld, end = n - 1;
  if (down) solve_triangle<T>()(n, t.a.data, row, column, t.unit, b, b_row, columns);
  else solve_triangle<T>()(n, &t.a(end, end), -row, -column, t.unit, b + end * b_row, -b_row, columns);
}

// x op(a) = b for `rows` rows of n numbers, by way of a copy of the transpose, whose n lines are `width` apart; it becomes x^T.
template <class T> void solve_turned(const Triangle<T>& t, int64_t n, View<T> b, int64_t rows, T* copy, int64_t width) {
  constexpr int64_t item = sizeof(T);
  const squares::Turn turn = squares::turn_of(item);
  char *const from = reinterpret_cast<char*>(b.data), *const to = reinterpret_cast<char*>(copy);
  turn(from, b.ld * item, to, width * item, n, rows);
  substitute(true, t, n, copy, width, rows);
  turn(to, width * item, from, b.ld * item, rows, n);
}

template <class T> void solve_leaf(bool left, const Triangle<T>& t, int64_t m, int64_t n, View<T> b) {
  if constexpr (is_complex<T>) {
    solve_by_library(left, t, m, n, b);
  } else if (left) {
    substitute(false, t, m, b.data, b.ld, n);
  } else {
    constexpr int64_t width = 128 / sizeof(T);
    alignas(64) T copy[kTriangleRows * width];
    for (int64_t i = 0; i < m; i += width) solve_turned(t, n, b.at(i, 0), std::min(width, m - i), copy, width);
  }
}

// op(a) x = b (left) or x op(a) = b, in place; b is m x n. By halves, so that nearly all work is products, which are
// `product` (multiply or multiply_shared).
template <class T, class Product>
void solve_by_halves(bool left, const Triangle<T>& t, int64_t m, int64_t n, View<T> b, Product product) {
  const int64_t order = left ? m : n;
  if (order <= kTriangleRows) return solve_leaf(left, t, m, n, b);
  const int64_t half = (order / 2 + 15) / 16 * 16, rest = order - half;
  const bool first_half_first = t.down() == left;
  const int64_t done = first_half_first ? 0 : half, open = first_half_first ? half : 0;
  const int64_t size = first_half_first ? half : rest, other = order - size;
  if (left) {
    solve_by_halves(left, t.at(done), size, n, b.at(done, 0), product);
    product(t.op, Op::none, other, n, size, t.block(open, done), b.at(done, 0), Into::subtract, b.at(open, 0));
    solve_by_halves(left, t.at(open), other, n, b.at(open, 0), product);
  } else {
    solve_by_halves(left, t.at(done), m, size, b.at(0, done), product);
    product(Op::none, t.op, m, other, size, b.at(0, done), t.block(done, open), Into::subtract, b.at(0, open));
    solve_by_halves(left, t.at(open), m, other, b.at(0, open), product);
  }
}

// Strips of b, which do not depend on each other, where there are enough of them for all threads; 1: b as a whole.
template <class T> struct SharedSystem {
  bool left;
  int64_t m, n, order = left ? m : n, across = left ? n : m;

  int64_t strips() const {
    constexpr int64_t width = 64, least = 32;
    const int64_t worth = across < 2 * width ? 1 << 20 : 1 << 18;
    if (across < 2 * least || order * order * across < worth) return 1;
    return std::max<int64_t>(2, across / width);
  }
  int64_t edge(int64_t k) const { return k == strips() ? across : across * k / strips() / 16 * 16; }
  // Of a copy of a strip of columns.
  int64_t copied(int64_t k) const { return order * ((edge(k + 1) - edge(k) + 15) / 16 * 16); }

  // Columns are copied: strips side by side would share lines of the caches.
  void solve(const Triangle<T>& t, View<T> b, int64_t k) const {
    const auto serial = [](auto... args) { multiply(args...); };
    const int64_t first = edge(k), size = edge(k + 1) - first;
    if (!left) return solve_by_halves(left, t, size, n, b.at(first, 0), serial);
    const Workspace<T> memory(copied(k));
    const View<T> x{memory.data(), copied(k) / order};
    for (int64_t i = 0; i < order; ++i) std::copy_n(b.row(i) + first, size, x.row(i));
    solve_by_halves(left, t, m, size, x, serial);
    for (int64_t i = 0; i < order; ++i) std::copy_n(x.row(i), size, b.row(i) + first);
  }

  int64_t bytes(int64_t threads) const {
    if (!left || m == 0 || n == 0 || strips() == 1) return 0;
    int64_t most = 0;
    for (int64_t k = 0; k < strips(); ++k) most = std::max(most, copied(k));
    return std::min(threads, strips()) * Workspace<T>::taken(most);
  }
};

// The same over all threads.
template <class T> void solve_shared(bool left, const Triangle<T>& t, int64_t m, int64_t n, View<T> b) {
  if (m == 0 || n == 0) return;
  const SharedSystem<T> system{left, m, n};
  const auto shared = [](auto... args) { multiply_shared(args...); };
  if (system.strips() == 1) return solve_by_halves(left, t, m, n, b, shared);
  parallel_for(system.strips(), [&](int64_t k) { system.solve(t, b, k); });
}

// How many matrices of a batch one thread takes: small ones are shared among threads, large ones share their own work.
inline int64_t matrices_per_chunk(int64_t batch, int64_t elements) {
  constexpr int64_t large = 256 * 256, worth = 1 << 13;
  return elements >= large ? std::max<int64_t>(1, batch) : std::max<int64_t>(1, worth / std::max<int64_t>(1, elements));
}

// How many matrices of a batch one part of for_parts takes.
inline int64_t matrices_per_part(int64_t batch, int64_t elements) {
  constexpr int64_t small = 64 * 64, worth = 128, most = 32;
  if (elements > small || batch * elements < 2 * worth) return std::max<int64_t>(1, batch);
  return std::max((batch + most - 1) / most, worth / std::max<int64_t>(1, elements));
}

// body(first, count) for parts of a batch, shared among threads where a matrix is too small for a library's own threads. Each
// part has workspaces of its own, so there are few.
template <class Body> void for_parts(int64_t batch, int64_t elements, Body body) {
  const int64_t each = matrices_per_part(batch, elements);
  if (each >= batch) return body(0, batch);
  parallel_for((batch + each - 1) / each, [&](int64_t part) { body(part * each, std::min(each, batch - part * each)); });
}

// Bytes that for_parts takes of the pool, if a part with so many threads at work on it takes of(T{}, I{}, threads).
template <class Of>
int64_t bytes_for_parts(Routine routine, int64_t code, int64_t threads, int64_t batch, int64_t elements, Of of) {
  const int64_t each = matrices_per_part(batch, elements), parts = std::max<int64_t>(1, (batch + each - 1) / each);
  const int64_t together = std::min(threads, parts);
  int64_t bytes = 0;
  dispatch(routine, code, [&](auto t, auto i) { bytes = together * of(t, i, parts > 1 ? 1 : threads); });
  return bytes;
}

// body(k) for each matrix of a batch.
template <class Body> void for_batch(int64_t batch, int64_t elements, Body body) {
  const int64_t each = matrices_per_chunk(batch, elements);
  parallel_for((batch + each - 1) / each, [&](int64_t c) {
    for (int64_t k = c * each; k < std::min(batch, (c + 1) * each); ++k) body(k);
  });
}

// Bytes that for_batch takes of the pool, if one matrix with so many threads at work on it takes of(T{}, threads).
template <class Of>
int64_t bytes_for_batch(Routine routine, int64_t code, int64_t threads, int64_t batch, int64_t elements, Of of) {
  const int64_t each = matrices_per_chunk(batch, elements), together = std::min(threads, (batch + each - 1) / each);
  int64_t bytes = 0;
  dispatch(routine, code, [&](auto zero, auto) { bytes = together * of(zero, together > 1 ? 1 : threads); });
  return bytes;
}

}  // namespace nj::lapack
