// The addresses of LAPACK's routines, and tridiagonal systems. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128. Where LAPACK fails the result is NaN.
#include "kernels/linalg/lapack.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "kernels/registry.h"

namespace nj::lapack {
const void* routines[num_routines][4] = {};
int64_t int_bytes = 4;
}  // namespace nj::lapack

using nj::Workspace;
using namespace nj::lapack;

extern "C" int64_t nj_lapack_set(int64_t routine, int64_t code, int64_t bytes, const void* address) {
  if (routine < 0 || routine >= num_routines || code < 0 || code > 3) return 2;
  int_bytes = bytes;
  routines[routine][code] = address;
  return 0;
}
NJ_KERNEL(nj_lapack_set);

namespace {
// Gaussian elimination with row exchanges, in place; pivots that are zero become `least`. n > 0, columns are n x k.
template <class T>
void eliminate(int64_t n, int64_t k, T* low, T* middle, T* up, T* second, T* x, T least) {
  const auto nonzero = [&](T pivot) {
    if (pivot != T(0)) return pivot;
    return std::signbit(std::real(pivot)) ? -least : least;
  };
  for (int64_t r = 0; r + 1 < n; ++r) {
    T *upper = x + r * k, *lower = upper + k;
    second[r] = T(0);
    if (std::abs(low[r]) > std::abs(middle[r])) {
      std::swap_ranges(upper, lower, lower);
      std::swap(low[r], middle[r]);
      std::swap(up[r], middle[r + 1]);
      if (r + 2 < n) std::swap(second[r], up[r + 1]);
    }
    middle[r] = nonzero(middle[r]);
    const T factor = low[r] / middle[r];
    middle[r + 1] -= factor * up[r];
    if (r + 2 < n) up[r + 1] -= factor * second[r];
    for (int64_t c = 0; c < k; ++c) lower[c] -= factor * upper[c];
  }
  middle[n - 1] = nonzero(middle[n - 1]);
  for (int64_t r = n - 1; r >= 0; --r)
    for (int64_t c = 0; c < k; ++c) {
      T value = x[r * k + c];
      if (r + 1 < n) value -= up[r] * x[(r + 1) * k + c];
      if (r + 2 < n) value -= second[r] * x[(r + 2) * k + c];
      x[r * k + c] = value / middle[r];
    }
}

template <class T>
void solve_perturbed(int64_t n, int64_t k, T* low, T* middle, T* up, const T* b, T* out) {
  using Real = decltype(std::abs(T()));
  Real largest = 0;
  for (int64_t r = 0; r < n; ++r) largest = std::max(largest, std::abs(middle[r]));
  for (int64_t r = 0; r + 1 < n; ++r) largest = std::max({largest, std::abs(low[r]), std::abs(up[r])});
  const Real least = std::max(std::numeric_limits<Real>::epsilon() * largest, std::numeric_limits<Real>::min());
  const Workspace<T> second(n);
  std::copy_n(b, n * k, out);
  eliminate(n, k, low, middle, up, second.data(), out, T(least));
}
}  // namespace

// Tridiagonal systems: dl, d, du of length n (dl[0] and du[n-1] unused), b and out n x k.
// perturb: pivots that are zero become the smallest relative to the matrix's entries, where otherwise the result is NaN.
extern "C" int64_t nj_gtsv(int64_t code, int64_t perturb, int64_t batch, int64_t n, int64_t k, const char* dl, const char* d,
                           const char* du, const char* b, char* out) {
  return dispatch(gtsv, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    const Workspace<T> low(n), middle(n), up(n), columns(n * k);
    I size = length<I>(n), count = length<I>(k), info = 0;
    if (n <= 0 || k <= 0) return;
    for (int64_t c = 0; c < batch; ++c) {
      const auto* from = reinterpret_cast<const T*>(b) + c * n * k;
      auto* to = reinterpret_cast<T*>(out) + c * n * k;
      std::copy_n(reinterpret_cast<const T*>(dl) + c * n + 1, n - 1, low.data());
      std::copy_n(reinterpret_cast<const T*>(d) + c * n, n, middle.data());
      std::copy_n(reinterpret_cast<const T*>(du) + c * n, n - 1, up.data());
      if (perturb) {
        solve_perturbed(n, k, low.data(), middle.data(), up.data(), from, to);
        continue;
      }
      flip(from, columns.data(), n, k);
      call<T>(gtsv, &size, &count, low.data(), middle.data(), up.data(), columns.data(), &size, &info);
      flip(columns.data(), to, k, n);
      if (info != 0) fill_nan(to, n * k);
    }
  });
}
NJ_KERNEL(nj_gtsv);
