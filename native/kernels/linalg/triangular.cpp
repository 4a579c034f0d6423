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

// A matrix that becomes L, by tiles; (r, s) is that of rows r and columns s.
template <class T> struct Tiles {
  static constexpr int64_t side = kTriangleRows;
  const View<T> a;
  const int64_t n, count = count_of(n);
  static int64_t count_of(int64_t n) { return (n + side - 1) / side; }
  int64_t size(int64_t r) const { return std::min(side, n - r * side); }
  View<T> at(int64_t r, int64_t s) const { return a.at(r * side, s * side); }
};

// Tile by tile, without copies: for complex numbers, whose products are a library's.
template <class T> class TilesInPlace : public Tiles<T> {
 public:
  TilesInPlace(View<T> a, int64_t n) : Tiles<T>{a, n} {}
  static int64_t bytes(int64_t) { return 0; }

  // a(r, s) -= L(r, .) L(s, .)^H of all tiles to the left.
  void subtract_products(int64_t r, int64_t s) const {
    multiply(Op::none, Op::adjoint, this->size(r), this->size(s), s * this->side, this->at(r, 0), this->at(s, 0),
             Into::subtract, this->at(r, s));
  }
  // L(r, s) from L(r, s) L(s, s)^H = a(r, s).
  void solve(int64_t r, int64_t s) const {
    solve_leaf<T>(false, {this->at(s, s), true, false, Op::adjoint}, this->size(r), this->side, this->at(r, s));
  }
};

// With turned copies of finished tiles, in the order in which products read their transposes: each is copied once for all of
// them, and solved for in its copy. Of a row of tiles those left of the diagonal are copied.
template <class T> class TurnedTiles : public Tiles<T> {
 public:
  TurnedTiles(View<T> a, int64_t n) : Tiles<T>{a, n}, memory_(start(this->count)) {}
  static int64_t bytes(int64_t n) { return Workspace<T>::taken(start(Tiles<T>::count_of(n))); }

  void subtract_products(int64_t r, int64_t s) const {
    const auto bytes = [](T* x) { return reinterpret_cast<char*>(x); };
    const View<T> rows = this->at(r, 0), to = this->at(r, s);
    gemm::multiply_by_panels({product_code<T>, this->size(r), this->size(s), s * this->side, bytes(rows.data), rows.ld, 1,
                              nullptr, 0, 1, bytes(to.data), to.ld, Into::subtract},
                             bytes(turned(s)), panel_size(s) * static_cast<int64_t>(sizeof(T)));
  }
  void solve(int64_t r, int64_t s) const {
    const Triangle<T> l{this->at(s, s), true, false, Op::adjoint};
    const View<T> tile = this->at(r, s);
    for (int64_t first = 0; first < this->size(r); first += columns_) {
      const int64_t rows = std::min(columns_, this->size(r) - first), width = (rows + lanes_ - 1) / lanes_ * lanes_;
      T* const copy = turned(r) + first / columns_ * panel_size(r) + s * this->side * width;
      solve_turned(l, this->side, tile.at(first, 0), rows, copy, width);
    }
  }

 private:
  static int64_t start(int64_t r) { return Tiles<T>::side * Tiles<T>::side * (r * (r - 1) / 2); }
  T* turned(int64_t r) const { return memory_.data() + start(r); }
  int64_t panel_size(int64_t r) const { return r * this->side * columns_; }

  const int64_t columns_ = gemm::panel_columns(product_code<T>), lanes_ = columns_ / gemm::kMostVectors;
  const Workspace<T> memory_;
};

template <class T> using TilesOf = std::conditional_t<is_complex<T>, TilesInPlace<T>, TurnedTiles<T>>;
constexpr int64_t kSmallOrder = 160;  // up to which a library's factor is as fast

// L with L L^H = a, from a's lower triangle and into it. False where a is not positive definite. By tiles, column after
// column; each is finished by one product with all tiles to its left.
template <class T> bool factor(View<T> a, int64_t n) {
  if (n <= kSmallOrder) return factor_leaf(a, n);
  const TilesOf<T> tiles(a, n);
  Progress progress(tiles.count);  // of rows of tiles: how many are finished, from the left
  std::atomic<bool> positive{true};
  const auto finish = [&](int64_t r, int64_t s) {
    tiles.subtract_products(r, s);
    if (r == s && !factor_leaf(tiles.at(s, s), tiles.size(s))) positive.store(false);
    if (r == s) return;
    progress.wait(s, s + 1);
    tiles.solve(r, s);
  };
  progress.run(tiles.count * (tiles.count + 1) / 2, [&](int64_t task) {
    int64_t s = 0;
    while (task >= tiles.count - s) task -= tiles.count - s++;
    const int64_t r = s + task;
    progress.wait(r, s);
    progress.wait(s, s);
    if (positive.load()) finish(r, s);
    progress.reach(r, s + 1);
  });
  return positive.load();
}

template <class T> int64_t factor_bytes(int64_t n) { return n <= kSmallOrder ? 0 : TilesOf<T>::bytes(n); }

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

extern "C" int64_t nj_potrf_bytes(int64_t threads, int64_t code, int64_t batch, int64_t n, char*) {
  return bytes_for_batch(potrf, code, threads, batch, n * n, [=](auto t, int64_t) { return factor_bytes<decltype(t)>(n); });
}
NJ_KERNEL(nj_potrf_bytes);

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

extern "C" int64_t nj_trsm_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, int64_t left, int64_t,
                                 int64_t, int64_t, const char*, char*) {
  return bytes_for_batch(trsm, code, threads, batch, (left ? m : n) * std::max(m, n), [=](auto t, int64_t sharing) {
    return SharedSystem<decltype(t)>{left != 0, m, n}.bytes(sharing);
  });
}
NJ_KERNEL(nj_trsm_bytes);
