// Systems with small triangular matrices, compiled once per instruction set (native/simd/triangles.cpp). Only real numbers:
// complex ones are a library's. No Python here.
#pragma once
#include <cstdint>

namespace nj::lapack {

constexpr int64_t kTriangleRows = 64;  // at most

// Overwrites x, n rows of `columns` numbers that are side by side, with the solution y of L y = x, n <= kTriangleRows. L's
// element (i, p), p <= i, is a[i * a_row + p * a_col]; `unit`: those of its diagonal are ones. Rows may lie in reverse order:
// an upper triangle is a lower one from its end.
template <class T>
using SolveTriangle = void (*)(int64_t n, const T* a, int64_t a_row, int64_t a_col, bool unit, T* x, int64_t x_row,
                               int64_t columns);

template <class T> SolveTriangle<T> solve_triangle();

}  // namespace nj::lapack
