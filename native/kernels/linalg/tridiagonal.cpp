// Tridiagonal systems by Gaussian elimination with row exchanges: a row of right-hand sides at a time, side by side. No Python.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "kernels/linalg/blocks.h"
#include "kernels/registry.h"

using nj::Workspace;
using namespace nj::lapack;

namespace {
// One matrix, by its diagonals, and what row exchanges add: a second diagonal above. All are overwritten.
template <class T> struct Bands {
  T *low, *middle, *up, *second;
};

// Whether a pivot is not zero, or has become `least`, where that is not.
template <class T> bool usable(T& pivot, T least) {
  if (pivot == T(0)) pivot = std::signbit(std::real(pivot)) ? -least : least;
  return pivot != T(0);
}

// Upper triangular form. Whether all pivots are usable. x: n x k, n > 0.
template <class T> bool eliminate(int64_t n, int64_t k, Bands<T> a, T* x, T least) {
  for (int64_t r = 0; r + 1 < n; ++r) {
    T *upper = x + r * k, *lower = upper + k;
    a.second[r] = T(0);
    if (std::abs(a.low[r]) > std::abs(a.middle[r])) {
      std::swap_ranges(upper, lower, lower);
      std::swap(a.low[r], a.middle[r]);
      std::swap(a.up[r], a.middle[r + 1]);
      if (r + 2 < n) std::swap(a.second[r], a.up[r + 1]);
    }
    if (!usable(a.middle[r], least)) return false;
    const T factor = a.low[r] / a.middle[r];
    a.middle[r + 1] -= factor * a.up[r];
    if (r + 2 < n) a.up[r + 1] -= factor * a.second[r];
    for (int64_t c = 0; c < k; ++c) lower[c] -= factor * upper[c];
  }
  return usable(a.middle[n - 1], least);
}

// Back substitution: the last row, the one above it, and all others, which have three entries.
template <class T> void substitute(int64_t n, int64_t k, Bands<T> a, T* x) {
  T* row = x + (n - 1) * k;
  for (int64_t c = 0; c < k; ++c) row[c] /= a.middle[n - 1];
  if (n == 1) return;
  row -= k;
  for (int64_t c = 0; c < k; ++c) row[c] = (row[c] - a.up[n - 2] * row[c + k]) / a.middle[n - 2];
  for (int64_t r = n - 3; r >= 0; --r) {
    row -= k;
    const T pivot = a.middle[r], up = a.up[r], second = a.second[r];
    for (int64_t c = 0; c < k; ++c) row[c] = (row[c] - up * row[c + k] - second * row[c + 2 * k]) / pivot;
  }
}

// The least pivot: small relative to the matrix's entries.
template <class T> T least_pivot(int64_t n, Bands<T> a) {
  Real<T> largest = 0;
  for (int64_t r = 0; r < n; ++r) largest = std::max(largest, std::abs(a.middle[r]));
  for (int64_t r = 0; r + 1 < n; ++r) largest = std::max({largest, std::abs(a.low[r]), std::abs(a.up[r])});
  return T(std::max(std::numeric_limits<Real<T>>::epsilon() * largest, std::numeric_limits<Real<T>>::min()));
}

template <class T>
void solve(int64_t perturb, int64_t batch, int64_t n, int64_t k, const T* dl, const T* d, const T* du, const T* b, T* out) {
  const Workspace<T> low(n), middle(n), up(n), second(n);
  const Bands<T> a{low.data(), middle.data(), up.data(), second.data()};
  for (int64_t c = 0; c < batch; ++c) {
    std::copy_n(dl + c * n + 1, n - 1, a.low);
    std::copy_n(d + c * n, n, a.middle);
    std::copy_n(du + c * n, n - 1, a.up);
    T* x = std::copy_n(b + c * n * k, n * k, out + c * n * k) - n * k;
    if (eliminate(n, k, a, x, perturb ? least_pivot(n, a) : T(0))) substitute(n, k, a, x);
    else fill_nan(x, n * k);
  }
}
}  // namespace

// dl, d, du of length n (dl[0] and du[n-1] unused), b and out n x k. perturb: pivots that are zero become the smallest relative
// to the matrix's entries, where otherwise the result is NaN.
extern "C" int64_t nj_gtsv(int64_t code, int64_t perturb, int64_t batch, int64_t n, int64_t k, const char* dl, const char* d,
                           const char* du, const char* b, char* out) {
  const auto body = [=](auto t, auto) {
    using T = decltype(t);
    const auto of = [](const char* x) { return reinterpret_cast<const T*>(x); };
    if (n == 0 || k == 0) return;
    for_parts(batch, n * k, [=](int64_t first, int64_t count) {
      const int64_t diagonals = first * n, sides = first * n * k;
      solve<T>(perturb, count, n, k, of(dl) + diagonals, of(d) + diagonals, of(du) + diagonals, of(b) + sides,
               reinterpret_cast<T*>(out) + sides);
    });
  };
  return by_code<int64_t>(code, body);
}
NJ_KERNEL(nj_gtsv);
