// Products with a vector.
#include "gemm.h"

namespace nj::gemm {

bool multiply_vector(const Product&) { return false; }

}  // namespace nj::gemm
