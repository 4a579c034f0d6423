// The addresses of LAPACK's routines, and tridiagonal systems. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128. Where LAPACK fails the result is NaN.
#include "kernels/linalg/lapack.h"

#include <algorithm>
#include <cstring>

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

// Tridiagonal systems: dl, d, du of length n (dl[0] and du[n-1] unused), b and out n x k.
extern "C" int64_t nj_gtsv(int64_t code, int64_t batch, int64_t n, int64_t k, const char* dl, const char* d, const char* du,
                           const char* b, char* out) {
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
      flip(from, columns.data(), n, k);
      call<T>(gtsv, &size, &count, low.data(), middle.data(), up.data(), columns.data(), &size, &info);
      flip(columns.data(), to, k, n);
      if (info != 0) fill_nan(to, n * k);
    }
  });
}
NJ_KERNEL(nj_gtsv);
