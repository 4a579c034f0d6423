// Singular values and vectors of batches of row-major matrices. See lapack.cpp for the conventions. No Python here.
//
// Vectors of large real matrices: LAPACK finds the bidiagonal form, and its singular vectors by divide and conquer (M. Gu,
// S. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal SVD", 1995); the reflections between the two forms are
// applied to these in blocks (reflections.h), on all threads. Of matrices with many more rows than columns the triangle of
// their QR factors is taken (T. Chan, "An improved algorithm for computing the singular value decomposition", 1982).
#include <algorithm>
#include <optional>

#include "kernels/linalg/reflections.h"
#include "kernels/registry.h"

using nj::Workspace;
using namespace nj::lapack;

namespace {
constexpr int64_t kFewColumns = 48;  // up to which LAPACK's driver is as fast
constexpr int64_t kTall = 2;         // so many times as many rows as columns: QR first

// Sizes of a decomposition: of m x n matrices, u is m x left, vt right x n.
struct Sizes {
  int64_t m, n, left, right;
  int64_t values() const { return std::min(m, n); }
  int64_t most() const { return std::max(m, n); }
};

// Of row-major matrices, by LAPACK's driver.
template <class T, class I> class Driver {
 public:
  Driver(const Sizes& sizes, int64_t job) : sizes_(sizes), mode_(job == 2 ? "A" : job == 1 ? "S" : "N") {
    const int64_t k = sizes.values(), big = sizes.most();
    T size{};
    if (k > 0) run(nullptr, nullptr, nullptr, nullptr, &size, nullptr, nullptr);
    const int64_t least = is_complex<T> ? k * k + 2 * k + big : 4 * k * k + 6 * k + big;
    lwork_ = length<I>(std::max(answered(size), job == 0 ? 7 * k + big : least) + 1);
  }

  int64_t bytes() const {
    const Sizes& x = sizes_;
    return Workspace<T>::taken(x.m * x.n) + Workspace<T>::taken(x.m * x.left) + Workspace<T>::taken(x.right * x.n) +
           Workspace<T>::taken(lwork_) + Workspace<Real<T>>::taken(real_size(x)) + Workspace<I>::taken(8 * x.values());
  }

  // False where LAPACK fails.
  bool operator()(const T* from, Real<T>* s, T* u, T* vt) {
    if (!memory_) memory_.emplace(sizes_, lwork_);
    const Memory& x = *memory_;
    flip(from, x.columns.data(), sizes_.m, sizes_.n);
    if (run(x.columns.data(), s, x.lefts.data(), x.rights.data(), x.work.data(), x.rwork.data(), x.iwork.data()) != 0)
      return false;
    flip(x.lefts.data(), u, sizes_.left, sizes_.m);
    flip(x.rights.data(), vt, sizes_.n, sizes_.right);
    return true;
  }

 private:
  static int64_t real_size(const Sizes& x) {
    return std::max(5 * x.values() + 7, 2 * x.most() + 2 * x.values() + 1) * x.values() + 1;
  }

  struct Memory {
    const Workspace<T> columns, lefts, rights, work;
    const Workspace<Real<T>> rwork;
    const Workspace<I> iwork;
    Memory(const Sizes& x, int64_t lwork)
        : columns(x.m * x.n),
          lefts(x.m * x.left),
          rights(x.right * x.n),
          work(lwork),
          rwork(real_size(x)),
          iwork(8 * x.values()) {}
  };

  I run(T* columns, Real<T>* s, T* u, T* vt, T* work, Real<T>* rwork, I* iwork) {
    const I rows = length<I>(sizes_.m), cols = length<I>(sizes_.n), ldu = std::max<I>(1, rows);
    const I ldv = length<I>(std::max<int64_t>(1, sizes_.right));
    I info = 0;
    if constexpr (is_complex<T>)
      call<T>(gesdd, mode_, &rows, &cols, columns, &ldu, s, u, &ldu, vt, &ldv, work, &lwork_, rwork, iwork, &info);
    else call<T>(gesdd, mode_, &rows, &cols, columns, &ldu, s, u, &ldu, vt, &ldv, work, &lwork_, iwork, &info);
    return info;
  }

  const Sizes sizes_;
  const char* const mode_;
  I lwork_ = -1;
  std::optional<Memory> memory_;  // for all matrices
};

// The bidiagonal form of a column-major matrix, m >= n, in place: its diagonals, and the reflections of rows and columns.
template <class T> struct Bidiagonal {
  const Workspace<T> off_diagonal, row_taus, column_taus;
  bool found;
  template <class I> Bidiagonal(I, T* a, int64_t m, int64_t n, T* s) : off_diagonal(n), row_taus(n), column_taus(n) {
    I rows = length<I>(m), cols = length<I>(n), info = 0, lwork = -1;
    const auto run = [&](T* work) {
      call<T>(gebrd, &rows, &cols, a, &rows, s, off_diagonal.data(), row_taus.data(), column_taus.data(), work, &lwork, &info);
    };
    const Workspace<T> work = asked_workspace<T>(lwork, run);
    run(work.data());
    found = info == 0;
  }
};

// Singular vectors and descending values s of a bidiagonal matrix; u and vt: column-major.
template <class T, class I> bool divide(int64_t n, T* s, T* e, T* u, T* vt) {
  I order = length<I>(n), info = 0;
  const Workspace<T> work(3 * n * n + 4 * n);
  const Workspace<I> iwork(8 * n);
  call<T>(bdsdc, "U", "I", &order, s, e, u, &order, vt, &order, static_cast<T*>(nullptr), static_cast<I*>(nullptr), work.data(),
          iwork.data(), &info);
  return info == 0;
}

// u[m, left] = [top 0; 0 1], for the n x n block `top`, column-major.
template <class T> void extend(const T* top, int64_t m, int64_t n, int64_t left, T* u) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < left; ++j) u[i * left + j] = i < n && j < n ? top[j * n + i] : T(i == j);
}

// Of a column-major matrix, m >= n, which is overwritten: u (m x left) and v (n x n), row-major.
template <class T, class I> bool decompose(T* a, int64_t m, int64_t n, int64_t left, T* s, T* u, T* v) {
  const Bidiagonal<T> form(I{}, a, m, n, s);
  const Workspace<T> top(n * n), rows(m * n);
  if (!form.found || !divide<T, I>(n, s, form.off_diagonal.data(), top.data(), v)) return false;
  extend(top.data(), m, n, left, u);
  flip(a, rows.data(), n, m);
  const Blocks<T> of_rows(m, n), of_columns(n - 1, n - 1);
  read_blocks(of_rows, View<const T>{rows.data(), n}, form.row_taus.data());
  apply_blocks(of_rows, View<T>{u, left}, left);
  read_blocks(of_columns, View<const T>{a, m}.at(1, 0), form.column_taus.data());
  apply_blocks(of_columns, View<T>{v, n}.at(1, 0), n);
  return true;
}

// The same of a row-major matrix with many rows.
template <class T, class I> bool decompose_tall(T* a, int64_t m, int64_t n, int64_t left, T* s, T* u, T* v) {
  const Workspace<T> taus(n), triangle(n * n), top(n * n);
  factor(View<T>{a, n}, m, n, taus.data());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) triangle.data()[j * n + i] = i <= j ? a[i * n + j] : T(0);
  if (!decompose<T, I>(triangle.data(), n, n, n, s, top.data(), v)) return false;
  flip(top.data(), triangle.data(), n, n);
  extend(triangle.data(), m, n, left, u);
  const Blocks<T> blocks(m, n);
  read_blocks(blocks, View<const T>{a, n}, taus.data());
  apply_blocks(blocks, View<T>{u, left}, left);
  return true;
}

// Bytes that decompose takes.
template <class T, class I> int64_t decompose_bytes(int64_t m, int64_t n, int64_t left, int64_t threads) {
  I rows = length<I>(m), cols = length<I>(n), info = 0, lwork = -1;
  T* const none = nullptr;
  T size{};
  call<T>(gebrd, &rows, &cols, none, &rows, none, none, none, none, &size, &lwork, &info);
  const int64_t dividing = Workspace<T>::taken(3 * n * n + 4 * n) + Workspace<I>::taken(8 * n);
  const int64_t applying = Blocks<T>::bytes(m, n) + Blocks<T>::bytes(n - 1, n - 1) +
                           std::max(applying_bytes<T>(n, left, threads), applying_bytes<T>(n - 1, n, threads));
  const int64_t after = Workspace<T>::taken(n * n) + Workspace<T>::taken(m * n) + std::max(dividing, applying);
  return 3 * Workspace<T>::taken(n) + std::max(Workspace<T>::taken(answered(size) + 1), after);
}

// Bytes that by_blocks takes.
template <class T, class I> int64_t blocks_bytes(const Sizes& sizes, int64_t threads) {
  const int64_t m = sizes.most(), n = sizes.values(), left = std::max(sizes.left, sizes.right);
  const int64_t own = Workspace<T>::taken(m * n) + Workspace<T>::taken(sizes.m <= sizes.n ? m * left : n * n);
  if (m < kTall * n) return own + decompose_bytes<T, I>(m, n, left, threads);
  const int64_t applying = Blocks<T>::bytes(m, n) + applying_bytes<T>(n, left, threads);
  return own + Workspace<T>::taken(n) + 2 * Workspace<T>::taken(n * n) +
         std::max({factor_bytes<T>(m, n, threads), decompose_bytes<T, I>(n, n, n, threads), applying});
}

// Whether vectors are found by blocks, if numbers are neither huge nor tiny.
template <class T> bool large(const Sizes& sizes, int64_t job) {
  return !is_complex<T> && job != 0 && sizes.values() > kFewColumns;
}

// What there is of the left and the right vectors.
Sizes sizes_of(int64_t m, int64_t n, int64_t job) {
  const int64_t k = std::min(m, n);
  return {m, n, job == 2 ? m : job == 1 ? k : 0, job == 2 ? n : job == 1 ? k : 0};
}

// Of a row-major real matrix: u and vt, row-major. A matrix with more columns than rows is that of its transpose.
template <class T, class I> bool by_blocks(const Sizes& sizes, const T* from, T* s, T* u, T* vt) {
  const int64_t m = sizes.most(), n = sizes.values(), left = std::max(sizes.left, sizes.right);
  const bool turned = sizes.m <= sizes.n, tall = m >= kTall * n;
  const Workspace<T> copy(m * n), turned_back(turned ? m * left : n * n);
  if (turned == tall) flip(from, copy.data(), sizes.m, sizes.n);
  else std::copy_n(from, m * n, copy.data());
  T *rows = turned ? turned_back.data() : u, *columns = turned ? u : turned_back.data();
  const bool found = (tall ? decompose_tall<T, I> : decompose<T, I>)(copy.data(), m, n, left, s, rows, columns);
  if (found) flip(turned_back.data(), vt, turned ? m : n, turned ? left : n);
  return found;
}
}  // namespace

// Singular values, and with job 1 (thin) or 2 (full) the vectors: in = u diag(s) vt. job 0: u and vt are not written.
extern "C" int64_t nj_gesdd(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t job, const char* in, char* s, char* u,
                            char* vt) {
  return dispatch(gesdd, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    for_parts(batch, m * n, [=](int64_t first, int64_t count) {
      const int64_t k = std::min(m, n);
      const Sizes sizes = sizes_of(m, n, job);
      const auto* from = reinterpret_cast<const T*>(in) + first * m * n;
      auto *to_u = reinterpret_cast<T*>(u) + first * m * sizes.left, *to_v = reinterpret_cast<T*>(vt) + first * sizes.right * n;
      auto* values = reinterpret_cast<Real<T>*>(s) + first * k;
      Driver<T, I> driver(sizes, job);
      const auto decomposed = [&] {
        if constexpr (!is_complex<T>)
          if (large<T>(sizes, job) && well_scaled(from, m * n)) return by_blocks<T, I>(sizes, from, values, to_u, to_v);
        return driver(from, values, to_u, to_v);
      };
      for (int64_t b = 0; b < count && k > 0; ++b, from += m * n, values += k, to_u += m * sizes.left, to_v += sizes.right * n) {
        if (all_finite(from, m * n) && decomposed()) continue;
        fill_nan(values, k), fill_nan(to_u, m * sizes.left), fill_nan(to_v, sizes.right * n);
      }
      for (int64_t b = 0; b < count && k == 0 && job == 2; ++b) {  // no values: the full vectors are the identity
        for (int64_t r = 0; r < m * m; ++r) to_u[b * m * m + r] = T(r % (m + 1) == 0);
        for (int64_t r = 0; r < n * n; ++r) to_v[b * n * n + r] = T(r % (n + 1) == 0);
      }
    });
  });
}
NJ_KERNEL(nj_gesdd);

extern "C" int64_t nj_gesdd_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, int64_t job, const char*,
                                  char*, char*, char*) {
  if (m * n == 0) return 0;
  return bytes_for_parts(gesdd, code, threads, batch, m * n, [=](auto t, auto i, int64_t sharing) {
    using T = decltype(t);
    using I = decltype(i);
    const Sizes sizes = sizes_of(m, n, job);
    if constexpr (!is_complex<T>)
      if (large<T>(sizes, job)) return blocks_bytes<T, I>(sizes, sharing);
    return Driver<T, I>(sizes, job).bytes();
  });
}
NJ_KERNEL(nj_gesdd_bytes);
