// Forward substitution for rows of right-hand sides: some rows and vectors at a time stay in registers, from which first all
// rows above are subtracted. See triangles.h. Compiled once per instruction set; see vectors.h.
#include "kernels/linalg/triangles.h"

#include "simd/gemm_lanes.h"

namespace nj::NJ_SIMD {

namespace {

// Of registers: rows and vectors of numbers, beside which there is one vector each of a row above.
constexpr int kRows = NJ_VECTOR_BYTES == 64 ? 8 : 4, kVectors = 2;

// A triangle, and what its pivots do. Inverses that are subnormal or infinite would lose digits: there numbers are divided.
template <class T> struct Triangle {
  const T* a;
  int64_t row, column;
  bool unit;
  T inverse[lapack::kTriangleRows];
  bool divides[lapack::kTriangleRows];

  const T* at(int64_t i, int64_t p) const { return a + i * row + p * column; }
  void invert(int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T pivot = *at(i, i), size = pivot < 0 ? -pivot : pivot;
      divides[i] = !(size >= kSmallestNormal<T> && size <= T(0.25) / kSmallestNormal<T>);
      inverse[i] = divides[i] ? T(0) : T(1) / pivot;
    }
  }
};

template <class T, int C> NJ_INLINE void get(Vector<T>* v, const T* from, Mask<T> last) {
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) v[j] = j + 1 < C ? load(from + j * lanes_of<T>) : load(from + j * lanes_of<T>, last);
}
template <class T, int C> NJ_INLINE void put(T* to, const Vector<T>* v, Mask<T> last) {
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) j + 1 < C ? store(to + j * lanes_of<T>, v[j]) : store(to + j * lanes_of<T>, v[j], last);
}

// Rows i ... i + R of C vectors, of which the last one may be a part.
template <class T, int R, int C> void solve_rows(const Triangle<T>& t, int64_t i, T* x, int64_t x_row, Mask<T> last) {
  Vector<T> acc[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) get<T, C>(acc[r], x + (i + r) * x_row, last);
  const T* a = t.at(i, 0);
  const T* above = x;
  for (int64_t p = 0; p < i; ++p, a += t.column, above += x_row) {
    Vector<T> row[C];
    get<T, C>(row, above, last);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector<T> factor = in_all_lanes(a[r * t.row]);
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) acc[r][j] -= factor * row[j];
    }
  }
#pragma GCC unroll 8
  for (int q = 0; q < R; ++q, a += t.column) {
    if (!t.unit) {
      const Vector<T> pivot = in_all_lanes(a[q * t.row]), inverse = in_all_lanes(t.inverse[i + q]);
      const bool divides = t.divides[i + q];
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) acc[q][j] = divides ? acc[q][j] / pivot : acc[q][j] * inverse;
    }
#pragma GCC unroll 8
    for (int r = q + 1; r < R; ++r) {
      const Vector<T> factor = in_all_lanes(a[r * t.row]);
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) acc[r][j] -= factor * acc[q][j];
    }
    put<T, C>(x + (i + q) * x_row, acc[q], last);
  }
}

template <class T, int R, int C> void solve_rest(const Triangle<T>& t, int64_t i, int64_t rows, T* x, int64_t x_row,
                                                 Mask<T> last) {
  if (rows == R) return solve_rows<T, R, C>(t, i, x, x_row, last);
  if constexpr (R > 1) solve_rest<T, R - 1, C>(t, i, rows, x, x_row, last);
}

template <class T, int C> void solve_strip(const Triangle<T>& t, int64_t n, T* x, int64_t x_row, int64_t columns) {
  const Mask<T> last = first_lanes<T>(columns - (C - 1) * lanes_of<T>);
  int64_t i = 0;
  for (; i + kRows <= n; i += kRows) solve_rows<T, kRows, C>(t, i, x, x_row, last);
  if (i < n) solve_rest<T, kRows - 1, C>(t, i, n - i, x, x_row, last);
}

template <class T>
void solve(int64_t n, const T* a, int64_t a_row, int64_t a_col, bool unit, T* x, int64_t x_row, int64_t columns) {
  constexpr int64_t lanes = lanes_of<T>;
  Triangle<T> t;
  t.a = a;
  t.row = a_row;
  t.column = a_col;
  t.unit = unit;
  if (!unit) t.invert(n);
  for (; columns > lanes; columns -= kVectors * lanes, x += kVectors * lanes)
    solve_strip<T, kVectors>(t, n, x, x_row, fewer(columns, kVectors * lanes));
  if (columns > 0) solve_strip<T, 1>(t, n, x, x_row, columns);
}

}  // namespace

extern const lapack::SolveTriangle<float> solve_float_triangle;
const lapack::SolveTriangle<float> solve_float_triangle = solve<float>;
extern const lapack::SolveTriangle<double> solve_double_triangle;
const lapack::SolveTriangle<double> solve_double_triangle = solve<double>;

}  // namespace nj::NJ_SIMD
