// See triangles.h.
#include "kernels/linalg/triangles.h"

#include "simd/choice.h"

namespace nj {

NJ_EACH_SIMD(extern const lapack::SolveTriangle<float> solve_float_triangle)
NJ_EACH_SIMD(extern const lapack::SolveTriangle<double> solve_double_triangle)

template <> lapack::SolveTriangle<float> lapack::solve_triangle() { return NJ_CHOSEN_SIMD(solve_float_triangle); }
template <> lapack::SolveTriangle<double> lapack::solve_triangle() { return NJ_CHOSEN_SIMD(solve_double_triangle); }

}  // namespace nj
