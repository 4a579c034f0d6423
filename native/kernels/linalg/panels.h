// Factorizations of narrow panels, compiled once per instruction set (native/simd/panels.cpp). Only real numbers: complex
// panels are LAPACK's. No Python here.
//
// A panel is row-major and contiguous, kPanelWidth columns wide; columns from n on are zeros.
#pragma once
#include <cstdint>

namespace nj::lapack {

constexpr int64_t kPanelWidth = 16;

template <class T> struct PanelFunctions {
  // LU with partial pivoting of m x n (m >= n): unit lower triangle below the diagonal, upper one above. pivots[k], from
  // k: the row exchanged with row k.
  void (*lu)(T* panel, int64_t m, int64_t n, int64_t* pivots);
  // QR by Householder reflections I - tau v v^T of m x n (m >= n): R above, v below the diagonal (1 on it is not stored).
  // products[k * kPanelWidth + j], for k < j: the inner product of vectors k and j.
  void (*qr)(T* panel, int64_t m, int64_t n, T* taus, T* products);
  // The first columns of the product of k reflections, whose vectors are in a panel as `qr` leaves it: all of q[m, kPanelWidth].
  void (*reflections)(const T* panel, int64_t m, int64_t k, const T* taus, T* q);
};

template <class T> const PanelFunctions<T>& panel_functions();

}  // namespace nj::lapack
