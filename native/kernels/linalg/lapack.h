// Routines of LAPACK by address, and what every call of one needs: the integer width of the library, row-major to
// column-major copies, workspaces. No Python in here.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <exception>
#include <limits>
#include <type_traits>

#include "runtime/threads/parallel.h"

namespace nj::lapack {

// The order of these names is that of numjet/cpu/kernels/lapack.py; each has four versions: s, d, c, z.
enum Routine { potrf, trsm, getrf, geqrf, orgqr, syevd, gesdd, geev, gees, gehrd, geqp3, sytrd, gemm, stedc, gebrd, bdsdc,
               num_routines };
extern const void* routines[num_routines][4];
extern int64_t int_bytes;  // of the library's integers

template <class T> struct RealOf { using type = T; };
template <class T> struct RealOf<std::complex<T>> { using type = T; };
template <class T> using Real = typename RealOf<T>::type;
template <class T> constexpr bool is_complex = !std::is_same_v<T, Real<T>>;
template <class T> constexpr int code_of = (is_complex<T> ? 2 : 0) + (sizeof(Real<T>) == 8 ? 1 : 0);

// Calls a routine. Lengths of its (one-letter) strings follow all other arguments, as Fortran compilers pass them.
template <class T, class... Args> void call(Routine routine, Args... args) {
  auto function =
      reinterpret_cast<void (*)(Args..., size_t, size_t, size_t, size_t)>(const_cast<void*>(routines[routine][code_of<T>]));
  function(args..., size_t{1}, size_t{1}, size_t{1}, size_t{1});
}

// A size beyond what the library's integers can hold.
struct TooLarge : std::exception {};

// A size as an argument of a routine.
template <class I> I length(int64_t size) {
  if (size > std::numeric_limits<I>::max()) throw TooLarge();
  return static_cast<I>(size);
}

// Size of a workspace as a query (lwork = -1) answers it: as a float, which may have been rounded down.
template <class T> int64_t answered(T value) {
  if constexpr (is_complex<T>) return answered(value.real());
  else return static_cast<int64_t>(std::ceil(std::nextafter(value, std::numeric_limits<T>::infinity())));
}

// The workspace that `run` asks for in a query; lwork, -1 before, becomes its size.
template <class T, class I, class Run> Workspace<T> asked_workspace(I& lwork, Run run) {
  T size{};
  run(&size);
  lwork = length<I>(answered(size) + 1);
  return Workspace<T>(lwork);
}

template <class T> T not_a_number() {
  auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (is_complex<T>) return T(nan, nan);
  else return nan;
}

template <class T> void fill_nan(T* x, int64_t size) {
  for (int64_t k = 0; k < size; ++k) x[k] = not_a_number<T>();
}

// out[j, i] = in[i, j]: between row-major and column-major, by tiles whose lines stay in the cache.
template <class T> void flip(const T* in, T* out, int64_t rows, int64_t columns) {
  constexpr int64_t tile = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += tile)
    for (int64_t j0 = 0; j0 < columns; j0 += tile)
      for (int64_t j = j0; j < std::min(columns, j0 + tile); ++j)
        for (int64_t i = i0; i < std::min(rows, i0 + tile); ++i) out[j * rows + i] = in[i * columns + j];
}

// Whether no number is NaN or infinite.
template <class T> bool all_finite(const T* x, int64_t size) {
  return std::all_of(x, x + size, [](T one) { return one - one == T(0); });
}

// Whether the squares of all numbers, and their sums, are normal numbers: LAPACK's drivers scale other matrices.
template <class T> bool well_scaled(const T* x, int64_t size) {
  static const T least = std::sqrt(std::numeric_limits<T>::min()) / std::numeric_limits<T>::epsilon();
  T largest = 0;
  for (int64_t k = 0; k < size; ++k) largest = std::max(largest, std::abs(x[k]));
  return largest >= least && largest <= 1 / least;
}

template <class I, class Body> int64_t by_code(int64_t code, Body& body) {
  switch (code) {
    case 0: body(float{}, I{}); return 0;
    case 1: body(double{}, I{}); return 0;
    case 2: body(std::complex<float>{}, I{}); return 0;
    case 3: body(std::complex<double>{}, I{}); return 0;
    default: return 2;
  }
}

// body(T{}, I{}) for the element type of that code and the library's integers. Status: 2 bad code,
// 3 too large for the library's integers, 4 no library.
template <class Body> int64_t dispatch(Routine routine, int64_t code, Body body) {
  if (code < 0 || code > 3) return 2;
  if (!routines[routine][code]) return 4;
  try {
    return int_bytes == 8 ? by_code<int64_t>(code, body) : by_code<int32_t>(code, body);
  } catch (const TooLarge&) {
    return 3;
  }
}

}  // namespace nj::lapack
