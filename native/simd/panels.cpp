// See panels.h. Compiled once per instruction set; see vectors.h.
#include "kernels/linalg/panels.h"

#include <type_traits>

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

namespace {

constexpr int64_t kWidth = lapack::kPanelWidth;
template <class T> constexpr int parts = kWidth / lanes_of<T>;

template <class T> struct Limits;
template <> struct Limits<float> {
  static constexpr float low = 1e-25f, high = 1e30f;  // squares whose sums are accurate
};
template <> struct Limits<double> {
  static constexpr double low = 1e-280, high = 1e280;
};

NJ_INLINE float size_of(float x) { return __builtin_fabsf(x); }
NJ_INLINE double size_of(double x) { return __builtin_fabs(x); }
NJ_INLINE float length_of(float x, float y) { return __builtin_hypotf(x, y); }
NJ_INLINE double length_of(double x, double y) { return __builtin_hypot(x, y); }
NJ_INLINE float shifted(float x, int by) { return __builtin_scalbnf(x, by); }
NJ_INLINE double shifted(double x, int by) { return __builtin_scalbn(x, by); }
NJ_INLINE int exponent_of(float x) { return __builtin_ilogbf(x); }
NJ_INLINE int exponent_of(double x) { return __builtin_ilogb(x); }

template <class T> struct Row { Vector<T> v[parts<T>]; };
template <class T> NJ_INLINE Row<T> get(const T* from) {
  Row<T> row;
#pragma GCC unroll 8
  for (int p = 0; p < parts<T>; ++p) row.v[p] = load(from + p * lanes_of<T>);
  return row;
}
template <class T> NJ_INLINE void put(T* to, const Row<T>& row) {
#pragma GCC unroll 8
  for (int p = 0; p < parts<T>; ++p) store(to + p * lanes_of<T>, row.v[p]);
}

// ------------------------------------------------------------------------------------------- LU

// The largest element of each column so far, the first of equal ones; a NaN is never larger.
template <class T> struct Largest {
  using Index = decltype(Vector<T>{} > Vector<T>{});
  using Number = std::remove_reference_t<decltype(Index{}[0])>;
  Vector<T> size[parts<T>];
  Index row[parts<T>];
  NJ_INLINE void start(int64_t i) {
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) {
      size[p] = Vector<T>{} - T(1);
      row[p] = Index{} + static_cast<Number>(i);
    }
  }
  NJ_INLINE void see(const Row<T>& values, int64_t i) {
    const Index magnitude = Index{} + (static_cast<Number>(-1) ^ (Number(1) << (8 * sizeof(T) - 1)));
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) {
      const Vector<T> sizes = (Vector<T>)((Index)values.v[p] & magnitude);
      const Index larger = sizes > size[p];
      size[p] = larger ? sizes : size[p];
      row[p] = larger ? Index{} + static_cast<Number>(i) : row[p];
    }
  }
  NJ_INLINE void join(const Largest& other) {
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) {
      const Index better = (other.size[p] > size[p]) | ((other.size[p] == size[p]) & (other.row[p] < row[p]));
      size[p] = better ? other.size[p] : size[p];
      row[p] = better ? other.row[p] : row[p];
    }
  }
  NJ_INLINE int64_t of(int64_t column) const { return row[column / lanes_of<T>][column % lanes_of<T>]; }
};

// The largest of rows first ... m - 1 after body(row number), which returns a row; in two parts, as each comparison waits
// for the one before.
template <class T, class Body> NJ_INLINE Largest<T> largest_rows(int64_t first, int64_t m, Body body) {
  Largest<T> even, odd;
  even.start(first);
  odd.start(first);
  int64_t i = first;
  for (; i + 4 <= m; i += 4) {
    even.see(body(i), i);
    odd.see(body(i + 1), i + 1);
    even.see(body(i + 2), i + 2);
    odd.see(body(i + 3), i + 3);
  }
  for (; i < m; ++i) even.see(body(i), i);
  even.join(odd);
  return even;
}

template <class T> void lu(T* panel, int64_t m, int64_t n, int64_t* pivots) {
  Largest<T> largest = largest_rows<T>(0, m, [&](int64_t i) __attribute__((always_inline)) { return get(panel + i * kWidth); });
  for (int64_t j = 0; j < n; ++j) {
    T* top = panel + j * kWidth;
    const int64_t p = largest.of(j);
    pivots[j] = p;
    const Row<T> pivot_row = get(panel + p * kWidth);
    put(panel + p * kWidth, get(top));
    put(top, pivot_row);
    const T pivot = top[j];
    const bool divide = !(size_of(pivot) >= kSmallestNormal<T>), zero = pivot == T(0);
    const T inverse = divide ? T(1) : T(1) / pivot, divisor = divide && !zero ? pivot : T(1);
    T right[kWidth];  // the row of U, from the next column on
    for (int64_t c = 0; c < kWidth; ++c) right[c] = c > j ? top[c] : T(0);
    const Row<T> u = get(right);
    largest = largest_rows<T>(j + 1, m, [&](int64_t i) __attribute__((always_inline)) {
      T* at = panel + i * kWidth;
      const T factor = divide ? at[j] / divisor : at[j] * inverse;
      Row<T> row = get(at);
#pragma GCC unroll 8
      for (int q = 0; q < parts<T>; ++q) row.v[q] -= factor * u.v[q];
      put(at, row);
      at[j] = factor;
      return row;
    });
  }
}

// ------------------------------------------------------------------------------------------- QR

// The size of the largest number of a column; NaN if there is one.
template <class T> T largest_of(const T* column, int64_t count) {
  T largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T size = size_of(column[i * kWidth]);
    if (size != size) return size;
    if (size > largest) largest = size;
  }
  return largest;
}

template <class T> T norm_of(const T* column, int64_t count) {
  T norm = 0;
  for (int64_t i = 0; i < count; ++i) norm = length_of(norm, column[i * kWidth]);
  return norm;
}

// Sums over rows: blocks of rows have sums of their own, so that errors grow little with their number.
template <class T> struct Sums {
  static constexpr int64_t block = 128;
  Row<T> total{}, part[4]{};
  NJ_INLINE void flush() {
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) {
      total.v[p] += (part[0].v[p] + part[1].v[p]) + (part[2].v[p] + part[3].v[p]);
      part[0].v[p] = part[1].v[p] = part[2].v[p] = part[3].v[p] = Vector<T>{};
    }
  }
};

// body(row number, sums of that row's kind) for rows first ... m - 1
template <class T, class Body> NJ_INLINE Row<T> sum_rows(int64_t first, int64_t m, Body body) {
  Sums<T> sums;
  for (int64_t start = first; start < m; start += Sums<T>::block) {
    const int64_t end = start + Sums<T>::block < m ? start + Sums<T>::block : m;
    int64_t i = start;
    for (; i + 4 <= end; i += 4) {
      body(i, sums.part[0]);
      body(i + 1, sums.part[1]);
      body(i + 2, sums.part[2]);
      body(i + 3, sums.part[3]);
    }
    for (; i < end; ++i) body(i, sums.part[0]);
    sums.flush();
  }
  return sums.total;
}

// The reflection that makes zeros below the diagonal of column j, as LAPACK's larfg; `factor` makes v of the column.
template <class T> struct Reflection { T tau, factor, beta; };
template <class T> NJ_INLINE Reflection<T> reflection_of(T alpha, T norm) {
  if (norm == T(0)) return {T(0), T(0), alpha};
  const T length = length_of(alpha, norm), beta = __builtin_signbit(alpha) ? length : -length;
  return {(beta - alpha) / beta, T(1) / (alpha - beta), beta};
}

// squares: the sum of those below the diagonal. Where it or its root would be inaccurate, the column is brought near 1.
template <class T> Reflection<T> reflection(T* panel, int64_t m, int64_t j, T squares) {
  T* column = panel + j * kWidth + j;
  const T alpha = column[0], square = alpha * alpha;
  if (m - j <= 1) return {T(0), T(0), alpha};
  if (squares > Limits<T>::low && squares < Limits<T>::high && square < Limits<T>::high)
    return reflection_of(alpha, T(__builtin_sqrt(squares)));
  const T below = largest_of(column + kWidth, m - j - 1), top = size_of(alpha), largest = below > top ? below : top;
  if (below == T(0) || largest - largest != T(0)) return reflection_of(alpha, below);
  const int exponent = exponent_of(largest);
  for (int64_t i = 0; i < m - j; ++i) column[i * kWidth] = shifted(column[i * kWidth], -exponent);
  Reflection<T> found = reflection_of(column[0], norm_of(column + kWidth, m - j - 1));
  found.beta = shifted(found.beta, exponent);
  return found;
}

template <class T> void qr(T* panel, int64_t m, int64_t n, T* taus, T* products) {
  Row<T> squares = sum_rows<T>(1, m, [&](int64_t i, Row<T>& sum) __attribute__((always_inline)) {
    const Row<T> row = get(panel + i * kWidth);
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) sum.v[p] += row.v[p] * row.v[p];
  });
  for (int64_t j = 0; j < n; ++j) {
    T values[kWidth];
    put(values, squares);
    const Reflection<T> h = reflection(panel, m, j, values[j]);
    taus[j] = h.tau;
    T* top = panel + j * kWidth;
    const Row<T> inner = sum_rows<T>(j + 1, m, [&](int64_t i, Row<T>& sum) __attribute__((always_inline)) {
      T* at = panel + i * kWidth;
      const Row<T> row = get(at);  // before the store, which loads would have to wait for; lane j does not count
      const T v = at[j] * h.factor;
      at[j] = v;
#pragma GCC unroll 8
      for (int p = 0; p < parts<T>; ++p) sum.v[p] += v * row.v[p];
    });
    T dot[kWidth];
    put(dot, inner);
    for (int64_t c = 0; c < kWidth; ++c) {
      dot[c] += top[c];
      if (c < j) products[c * kWidth + j] = dot[c];
      dot[c] = c > j ? h.tau * dot[c] : T(0);
      if (c > j) top[c] -= dot[c];
    }
    top[j] = h.beta;
    const Row<T> change = get(dot);
    const auto update = [&](int64_t i) __attribute__((always_inline)) {
      T* at = panel + i * kWidth;
      const T v = at[j];
      Row<T> row = get(at);
#pragma GCC unroll 8
      for (int p = 0; p < parts<T>; ++p) row.v[p] -= v * change.v[p];
      put(at, row);
      return row;
    };
    if (j + 1 < m) update(j + 1);
    squares = sum_rows<T>(j + 2, m, [&](int64_t i, Row<T>& sum) __attribute__((always_inline)) {
      const Row<T> row = update(i);
#pragma GCC unroll 8
      for (int p = 0; p < parts<T>; ++p) sum.v[p] += row.v[p] * row.v[p];
    });
  }
}

// The identity, to which the reflections are applied, the last one first.
template <class T> void reflections(const T* panel, int64_t m, int64_t k, const T* taus, T* q) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t c = 0; c < kWidth; ++c) q[i * kWidth + c] = T(i == c);
  for (int64_t j = k - 1; j >= 0; --j) {
    T* top = q + j * kWidth;
    Row<T> change = sum_rows<T>(j + 1, m, [&](int64_t i, Row<T>& sum) __attribute__((always_inline)) {
      const T v = panel[i * kWidth + j];
      const Row<T> row = get(q + i * kWidth);
#pragma GCC unroll 8
      for (int p = 0; p < parts<T>; ++p) sum.v[p] += v * row.v[p];
    });
    Row<T> first = get(top);
#pragma GCC unroll 8
    for (int p = 0; p < parts<T>; ++p) {
      change.v[p] = taus[j] * (change.v[p] + first.v[p]);
      first.v[p] -= change.v[p];
    }
    put(top, first);
    for (int64_t i = j + 1; i < m; ++i) {
      const T v = panel[i * kWidth + j];
      Row<T> row = get(q + i * kWidth);
#pragma GCC unroll 8
      for (int p = 0; p < parts<T>; ++p) row.v[p] -= v * change.v[p];
      put(q + i * kWidth, row);
    }
  }
}

}  // namespace

extern const lapack::PanelFunctions<float> float_panels;
const lapack::PanelFunctions<float> float_panels = {lu<float>, qr<float>, reflections<float>};
extern const lapack::PanelFunctions<double> double_panels;
const lapack::PanelFunctions<double> double_panels = {lu<double>, qr<double>, reflections<double>};

}  // namespace nj::NJ_SIMD
