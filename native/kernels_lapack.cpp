// Cholesky, LU and triangular systems of batches of row-major matrices, by LAPACK. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128. Where LAPACK fails the result is NaN.
#include "lapack.h"

#include <algorithm>
#include <cstring>

#include "kernels.h"

namespace nj::lapack {
const void* routines[num_routines][4] = {};
int64_t int_bytes = 4;
}  // namespace nj::lapack

using namespace nj::lapack;

extern "C" int64_t nj_lapack_set(int64_t routine, int64_t code, int64_t bytes, const void* address) {
  if (routine < 0 || routine >= num_routines || code < 0 || code > 3) return 2;
  int_bytes = bytes;
  routines[routine][code] = address;
  return 0;
}
NJ_KERNEL(nj_lapack_set);

// out = L with L L^H = in, from the lower triangles: as column-major matrices, upper triangles of the transposes.
extern "C" int64_t nj_potrf(int64_t code, int64_t batch, int64_t n, const char* in, char* out) {
  return dispatch(potrf, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    auto* to = reinterpret_cast<T*>(out);
    std::memcpy(to, in, sizeof(T) * batch * n * n);
    I size = static_cast<I>(n), info = 0;
    for (int64_t b = 0; b < batch && n > 0; ++b, to += n * n) {
      call<T>(potrf, "U", &size, to, &size, &info);
      if (info != 0) fill_nan(to, n * n);
      for (int64_t r = 0; r < n; ++r) std::fill(to + r * n + r + 1, to + (r + 1) * n, T(0));
    }
  });
}
NJ_KERNEL(nj_potrf);

// op(A) X = B (left) or X op(A) = B. trans: 0 A, 1 A^T, 2 A^H. B and X are m x n. Row-major is column-major of the
// transposes: sides and triangles swap.
extern "C" int64_t nj_trsm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t left, int64_t lower, int64_t trans,
                           int64_t unit, const char* a, const char* b, char* out) {
  return dispatch(trsm, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    const auto* matrix = reinterpret_cast<const T*>(a);
    auto* to = reinterpret_cast<T*>(out);
    std::memcpy(to, b, sizeof(T) * batch * m * n);
    int64_t order = left ? m : n;
    I rows = static_cast<I>(n), columns = static_cast<I>(m), lda = static_cast<I>(order);
    T one(1);
    if (m == 0 || n == 0) return;
    for (int64_t k = 0; k < batch; ++k, to += m * n, matrix += order * order) {
      call<T>(trsm, left ? "R" : "L", lower ? "U" : "L", trans == 0 ? "N" : trans == 1 ? "T" : "C", unit ? "U" : "N",
              &rows, &columns, &one, matrix, &lda, to, &rows);
    }
  });
}
NJ_KERNEL(nj_trsm);

static void permute(const int32_t* pivots, int64_t count, int64_t size, int32_t* out) {
  for (int64_t k = 0; k < size; ++k) out[k] = static_cast<int32_t>(k);
  for (int64_t k = 0; k < count; ++k)
    if (pivots[k] >= 0 && pivots[k] < size) std::swap(out[k], out[pivots[k]]);
}

// LU with partial pivoting; pivots from 0, and the permutation of rows that they make.
extern "C" int64_t nj_getrf(int64_t code, int64_t batch, int64_t m, int64_t n, const char* in, char* out, char* pivots,
                            char* permutation) {
  return dispatch(getrf, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    int64_t k = std::min(m, n);
    auto columns = block<T>(m * n);
    auto found = block<I>(k);
    const auto* from = reinterpret_cast<const T*>(in);
    auto* to = reinterpret_cast<T*>(out);
    auto* pivot = reinterpret_cast<int32_t*>(pivots);
    auto* order = reinterpret_cast<int32_t*>(permutation);
    I rows = static_cast<I>(m), cols = static_cast<I>(n), lda = std::max<I>(1, rows), info = 0;
    for (int64_t b = 0; b < batch; ++b, from += m * n, to += m * n, pivot += k, order += m) {
      flip(from, columns.get(), m, n);
      if (k > 0) call<T>(getrf, &rows, &cols, columns.get(), &lda, found.get(), &info);
      for (int64_t r = 0; r < k; ++r) pivot[r] = static_cast<int32_t>(found[r]) - 1;
      flip(columns.get(), to, n, m);
      if (info < 0) fill_nan(to, m * n);
      permute(pivot, k, m, order);
    }
  });
}
NJ_KERNEL(nj_getrf);

// The permutation of `size` rows that exchanging row k with row pivots[k], in order, makes.
extern "C" int64_t nj_permutation(int64_t batch, int64_t count, int64_t size, const char* pivots, char* out) {
  for (int64_t b = 0; b < batch; ++b)
    permute(reinterpret_cast<const int32_t*>(pivots) + b * count, count, size, reinterpret_cast<int32_t*>(out) + b * size);
  return 0;
}
NJ_KERNEL(nj_permutation);

// Tridiagonal systems: dl, d, du of length n (dl[0] and du[n-1] unused), b and out n x k.
extern "C" int64_t nj_gtsv(int64_t code, int64_t batch, int64_t n, int64_t k, const char* dl, const char* d,
                           const char* du, const char* b, char* out) {
  return dispatch(gtsv, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    auto low = block<T>(n), middle = block<T>(n), up = block<T>(n), columns = block<T>(n * k);
    I size = static_cast<I>(n), count = static_cast<I>(k), info = 0;
    if (n == 0 || k == 0) return;
    for (int64_t c = 0; c < batch; ++c) {
      const auto* from = reinterpret_cast<const T*>(b) + c * n * k;
      auto* to = reinterpret_cast<T*>(out) + c * n * k;
      std::copy_n(reinterpret_cast<const T*>(dl) + c * n + 1, n - 1, low.get());
      std::copy_n(reinterpret_cast<const T*>(d) + c * n, n, middle.get());
      std::copy_n(reinterpret_cast<const T*>(du) + c * n, n - 1, up.get());
      flip(from, columns.get(), n, k);
      call<T>(gtsv, &size, &count, low.get(), middle.get(), up.get(), columns.get(), &size, &info);
      flip(columns.get(), to, k, n);
      if (info != 0) fill_nan(to, n * k);
    }
  });
}
NJ_KERNEL(nj_gtsv);
