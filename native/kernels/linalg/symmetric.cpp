// Eigenvalues and eigenvectors of Hermitian matrices, and their tridiagonal form, of batches of row-major matrices.
// See lapack.cpp for the conventions. No Python here.
//
// Eigenvectors of large real matrices: LAPACK finds the tridiagonal form, and its eigenvectors by divide and conquer (M. Gu,
// S. Eisenstat, 1995); the reflections between the two forms are applied to these in blocks (reflections.h), on all threads.
#include <algorithm>
#include <optional>

#include "kernels/linalg/reflections.h"
#include "kernels/registry.h"

using nj::Workspace;
using namespace nj::lapack;

namespace {
constexpr int64_t kFewRows = 64;  // up to which LAPACK's driver is as fast

// Ascending eigenvalues, and with `vectors` the eigenvectors, of row-major matrices of n rows, by LAPACK's driver.
template <class T, class I> class Driver {
 public:
  Driver(int64_t n, bool lower, bool vectors)
      : n_(n), vectors_(vectors), triangle_(lower ? "L" : "U"), order_(length<I>(n)) {
    T size{};
    Real<T> rsize{};
    I isize{};
    run(nullptr, nullptr, &size, &rsize, &isize);
    // A query may count in 32-bit integers, which wrap around: what is needed at least is counted here, too.
    const int64_t square = vectors ? n * n : 0, least = is_complex<T> ? 2 * n + square : 1 + 6 * n + 2 * square;
    lwork_ = length<I>(std::max(answered(size), least) + 1);
    lrwork_ = length<I>(std::max(answered(rsize), 1 + 5 * n + 2 * square) + 1), liwork_ = length<I>(int64_t{isize} + 1);
  }

  int64_t bytes() const {
    return Workspace<T>::taken(n_ * n_) + Workspace<T>::taken(lwork_) + Workspace<Real<T>>::taken(lrwork_) +
           Workspace<I>::taken(liwork_);
  }

  // False where LAPACK fails.
  bool operator()(const T* from, Real<T>* values, T* to) {
    if (!memory_) memory_.emplace(n_, lwork_, lrwork_, liwork_);
    flip(from, memory_->columns.data(), n_, n_);
    if (run(memory_->columns.data(), values, memory_->work.data(), memory_->rwork.data(), memory_->iwork.data()) != 0)
      return false;
    if (vectors_) flip(memory_->columns.data(), to, n_, n_);
    return true;
  }

 private:
  struct Memory {
    const Workspace<T> columns, work;
    const Workspace<Real<T>> rwork;
    const Workspace<I> iwork;
    Memory(int64_t n, int64_t lwork, int64_t lrwork, int64_t liwork)
        : columns(n * n), work(lwork), rwork(lrwork), iwork(liwork) {}
  };

  I run(T* columns, Real<T>* values, T* work, Real<T>* rwork, I* iwork) {
    const char* job = vectors_ ? "V" : "N";
    I info = 0;
    if constexpr (is_complex<T>)
      call<T>(syevd, job, triangle_, &order_, columns, &order_, values, work, &lwork_, rwork, &lrwork_, iwork, &liwork_, &info);
    else call<T>(syevd, job, triangle_, &order_, columns, &order_, values, work, &lwork_, iwork, &liwork_, &info);
    return info;
  }

  const int64_t n_;
  const bool vectors_;
  const char* const triangle_;
  const I order_;
  I lwork_ = -1, lrwork_ = -1, liwork_ = -1;
  std::optional<Memory> memory_;  // for all matrices
};

// The tridiagonal form of a column-major matrix, in place: its diagonals, and vectors and factors of the reflections.
template <class T, class I> bool reduce(T* columns, int64_t n, const char* triangle, Real<T>* d, Real<T>* e, T* taus) {
  I order = length<I>(n), info = 0, lwork = -1;
  const auto run = [&](T* work) { call<T>(sytrd, triangle, &order, columns, &order, d, e, taus, work, &lwork, &info); };
  const Workspace<T> work = asked_workspace<T>(lwork, run);
  run(work.data());
  return info == 0;
}

// Bytes that it takes.
template <class T, class I> int64_t reduce_bytes(int64_t n) {
  I order = length<I>(n), info = 0, lwork = -1;
  T* const none = nullptr;
  T size{};
  call<T>(sytrd, "L", &order, none, &order, none, none, none, &size, &lwork, &info);
  return Workspace<T>::taken(answered(size) + 1);
}

// Eigenvectors (columns of z, column-major) and ascending eigenvalues d of a tridiagonal matrix.
template <class T, class I> bool divide(int64_t n, T* d, T* e, T* z) {
  I order = length<I>(n), info = 0, lwork = length<I>(1 + 4 * n + n * n), liwork = length<I>(3 + 5 * n);
  const Workspace<T> work(lwork);
  const Workspace<I> iwork(liwork);
  call<T>(stedc, "I", &order, d, e, z, &order, work.data(), &lwork, iwork.data(), &liwork, &info);
  return info == 0;
}

// Whether eigenvectors are found by blocks, if numbers are neither huge nor tiny.
template <class T> bool large(int64_t n, bool vectors) { return !is_complex<T> && vectors && n > kFewRows; }

// Bytes that by_blocks takes.
template <class T, class I> int64_t blocks_bytes(int64_t n, int64_t threads) {
  const int64_t dividing = Workspace<T>::taken(1 + 4 * n + n * n) + Workspace<I>::taken(3 + 5 * n);
  const int64_t applying = Blocks<T>::bytes(n - 1, n - 1) + applying_bytes<T>(n - 1, n, threads);
  return 2 * Workspace<T>::taken(n * n) + 2 * Workspace<T>::taken(n) + std::max({reduce_bytes<T, I>(n), dividing, applying});
}

// Of a row-major real matrix, from one triangle.
template <class T, class I> bool by_blocks(const T* from, int64_t n, bool lower, T* to, T* values) {
  const Workspace<T> memory(n * n), off_diagonals(n), taus(n), rows(n * n);
  T* const columns = memory.data();
  if (lower) flip(from, columns, n, n);
  else std::copy_n(from, n * n, columns);  // column-major, it is the lower one
  if (!reduce<T, I>(columns, n, "L", values, off_diagonals.data(), taus.data())) return false;
  flip(columns, rows.data(), n, n);
  if (!divide<T, I>(n, values, off_diagonals.data(), columns)) return false;
  flip(columns, to, n, n);
  const Blocks<T> blocks(n - 1, n - 1);
  read_blocks(blocks, View<const T>{rows.data(), n}.at(1, 0), taus.data());
  apply_blocks(blocks, View<T>{to, n}.at(1, 0), n);
  return true;
}
}  // namespace

// Ascending eigenvalues w, and with `vectors` eigenvectors (columns of v), of Hermitian matrices, from one triangle.
extern "C" int64_t nj_syevd(int64_t code, int64_t batch, int64_t n, int64_t lower, int64_t vectors, const char* in, char* v,
                            char* w) {
  return dispatch(syevd, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    if (n == 0) return;
    for_parts(batch, n * n, [=](int64_t first, int64_t count) {
      const auto* from = reinterpret_cast<const T*>(in) + first * n * n;
      auto* to = reinterpret_cast<T*>(v) + (vectors ? first * n * n : 0);
      auto* values = reinterpret_cast<Real<T>*>(w) + first * n;
      Driver<T, I> driver(n, lower != 0, vectors != 0);
      const auto decomposed = [&] {
        if constexpr (!is_complex<T>)
          if (large<T>(n, vectors != 0) && well_scaled(from, n * n)) return by_blocks<T, I>(from, n, lower != 0, to, values);
        return driver(from, values, to);
      };
      for (int64_t b = 0; b < count; ++b, from += n * n, to += vectors ? n * n : 0, values += n) {
        if (all_finite(from, n * n) && decomposed()) continue;
        fill_nan(values, n);
        if (vectors) fill_nan(to, n * n);
      }
    });
  });
}
NJ_KERNEL(nj_syevd);

extern "C" int64_t nj_syevd_bytes(int64_t threads, int64_t code, int64_t batch, int64_t n, int64_t lower, int64_t vectors,
                                  const char*, char*, char*) {
  if (n == 0) return 0;
  return bytes_for_parts(syevd, code, threads, batch, n * n, [=](auto t, auto i, int64_t sharing) {
    using T = decltype(t);
    using I = decltype(i);
    if constexpr (!is_complex<T>)
      if (large<T>(n, vectors != 0)) return blocks_bytes<T, I>(n, sharing);
    return Driver<T, I>(n, lower != 0, vectors != 0).bytes();
  });
}
NJ_KERNEL(nj_syevd_bytes);

// Tridiagonal form of Hermitian matrices, of which one triangle is read: packed, diagonals, off-diagonals, factors.
extern "C" int64_t nj_sytrd(int64_t code, int64_t batch, int64_t n, int64_t lower, const char* in, char* out, char* diagonals,
                            char* off_diagonals, char* taus) {
  return dispatch(sytrd, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    if (n == 0) return;
    for_parts(batch, n * n, [=](int64_t first, int64_t count) {
      const Workspace<T> columns(n * n);
      const auto* from = reinterpret_cast<const T*>(in) + first * n * n;
      auto *to = reinterpret_cast<T*>(out) + first * n * n, *tau = reinterpret_cast<T*>(taus) + first * (n - 1);
      auto* d = reinterpret_cast<Real<T>*>(diagonals) + first * n;
      auto* e = reinterpret_cast<Real<T>*>(off_diagonals) + first * (n - 1);
      for (int64_t b = 0; b < count; ++b, from += n * n, to += n * n, d += n, e += n - 1, tau += n - 1) {
        flip(from, columns.data(), n, n);
        const bool found = reduce<T, I>(columns.data(), n, lower ? "L" : "U", d, e, tau);
        flip(columns.data(), to, n, n);
        if (!found) fill_nan(to, n * n), fill_nan(d, n), fill_nan(e, n - 1), fill_nan(tau, n - 1);
      }
    });
  });
}
NJ_KERNEL(nj_sytrd);
