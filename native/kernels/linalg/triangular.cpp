// Cholesky factors, and triangular systems, of batches of row-major matrices. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128.
#include <atomic>

#include "runtime/threads/task_graph.h"
#include "kernels/registry.h"
#include "kernels/linalg/blocks.h"

namespace nj::lapack {

namespace {

template <class T> bool factor_leaf(View<T> a, int64_t n) {  // column-major, it is the upper triangle of the transpose
  const auto run = [&](auto zero) {
    using I = decltype(zero);
    const I size = static_cast<I>(n), lda = static_cast<I>(a.ld);
    I info = 0;
    call<T>(potrf, "U", &size, a.data, &lda, &info);
    return info == 0;
  };
  if (!(int_bytes == 8 ? run(int64_t{}) : run(int32_t{}))) return false;
  for (int64_t i = 0; i < n; ++i) {
    const T pivot = *a.at(i, i).data;
    if (pivot != pivot) return false;  // some libraries go on with such a pivot
  }
  return true;
}

// L with L L^H = a, from a's lower triangle and into it. False where a is not positive definite. By tiles, column after
// column; each is finished by one product with all tiles to its left.
template <class T> bool factor(View<T> a, int64_t n) {
  constexpr int64_t tile = 64, small = 160;
  if (n <= small) return factor_leaf(a, n);
  const int64_t tiles = (n + tile - 1) / tile;
  Progress progress(tiles);  // of rows of tiles: how many are finished, from the left
  std::atomic<bool> positive{true};
  const auto product = [](auto... args) { multiply(args...); };
  const auto finish = [&](int64_t r, int64_t s) {
    const int64_t i = r * tile, j = s * tile, height = std::min(tile, n - i), width = std::min(tile, n - j);
    multiply(Op::none, Op::adjoint, height, width, j, a.at(i, 0), a.at(j, 0), Into::subtract, a.at(i, j));
    if (r != s) return solve_by_halves<T>(false, {a.at(j, j), true, false, Op::adjoint}, height, width, a.at(i, j), product);
    if (!factor_leaf(a.at(j, j), width)) positive.store(false);
  };
  progress.run(tiles * (tiles + 1) / 2, [&](int64_t task) {
    int64_t s = 0;
    while (task >= tiles - s) task -= tiles - s++;
    const int64_t r = s + task;
    progress.wait(r, s);
    if (r != s) progress.wait(s, s + 1);
    if (positive.load()) finish(r, s);
    progress.reach(r, s + 1);
  });
  return positive.load();
}

// Products write above the diagonal, too, where zeros belong in the end.
template <class T> void cholesky(T* a, int64_t n) {
  constexpr int64_t rows = 64;
  const bool positive = factor(View<T>{a, n}, n);
  parallel_for((n + rows - 1) / rows, [=](int64_t block) {
    for (int64_t i = block * rows; i < std::min(n, (block + 1) * rows); ++i) {
      if (!positive) fill_nan(a + i * n, i + 1);
      std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
    }
  });
}

}  // namespace
}  // namespace nj::lapack

using namespace nj::lapack;

// Overwrites x with L, L L^H = x, from its lower triangle; NaN where it is not positive definite.
extern "C" int64_t nj_potrf(int64_t code, int64_t batch, int64_t n, char* x) {
  return dispatch(potrf, code, [=](auto t, auto) {
    using T = decltype(t);
    for_batch(batch, n * n, [=](int64_t b) { cholesky(reinterpret_cast<T*>(x) + b * n * n, n); });
  });
}
NJ_KERNEL(nj_potrf);

// Overwrites x[m, n] with the solution y of op(A) y = x (left) or y op(A) = x. trans: 0 A, 1 A^T, 2 A^H.
extern "C" int64_t nj_trsm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t left, int64_t lower, int64_t trans,
                           int64_t unit, const char* a, char* x) {
  return dispatch(trsm, code, [=](auto t, auto) {
    using T = decltype(t);
    const int64_t order = left ? m : n;
    const Op op = trans == 0 ? Op::none : trans == 1 ? Op::transposed : Op::adjoint;
    for_batch(batch, order * std::max(m, n), [=](int64_t k) {
      T* matrix = const_cast<T*>(reinterpret_cast<const T*>(a)) + k * order * order;
      solve_shared<T>(left, {{matrix, order}, lower != 0, unit != 0, op}, m, n, {reinterpret_cast<T*>(x) + k * m * n, n});
    });
  });
}
NJ_KERNEL(nj_trsm);
