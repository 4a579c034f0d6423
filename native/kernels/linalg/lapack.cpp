// The addresses of LAPACK's routines. No Python here. `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128.
#include "kernels/linalg/lapack.h"

#include "kernels/registry.h"

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
