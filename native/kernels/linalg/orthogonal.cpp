// QR with pivoting, eigenvalues, Schur and Hessenberg forms of batches of row-major matrices, by LAPACK.
// See lapack.cpp for the conventions.
#include <algorithm>
#include <cstring>

#include "kernels/registry.h"
#include "kernels/linalg/blocks.h"
#include "kernels/linalg/lapack.h"

using nj::Workspace;
using namespace nj::lapack;

// A[:, pivots] = QR: R above, Householder vectors below the diagonal; pivots (int32) from 0.
template <class T, class I>
static void factor_pivoted(int64_t batch, int64_t m, int64_t n, const T* from, T* to, int32_t* pivots, T* tau) {
  const int64_t k = std::min(m, n);
  const Workspace<T> columns(m * n);
  const Workspace<I> chosen(n);
  const Workspace<Real<T>> rwork(2 * n);
  I rows = length<I>(m), cols = length<I>(n), lda = std::max<I>(1, rows), info = 0, lwork = -1;
  T size{};
  auto run = [&](T* work, T* taus) {
    if constexpr (is_complex<T>)
      call<T>(geqp3, &rows, &cols, columns.data(), &lda, chosen.data(), taus, work, &lwork, rwork.data(), &info);
    else call<T>(geqp3, &rows, &cols, columns.data(), &lda, chosen.data(), taus, work, &lwork, &info);
  };
  run(&size, tau);
  lwork = length<I>(std::max<int64_t>(answered(size), 4 * n + 4));
  const Workspace<T> work(lwork);
  for (int64_t b = 0; b < batch; ++b, from += m * n, to += m * n, tau += k) {
    flip(from, columns.data(), m, n);
    std::fill_n(chosen.data(), n, I(0));
    if (k > 0) run(work.data(), tau);
    flip(columns.data(), to, n, m);
    if (info != 0) fill_nan(to, m * n);
    for (int64_t j = 0; j < n; ++j)
      pivots[b * n + j] = k ? static_cast<int32_t>(chosen.data()[j]) - 1 : static_cast<int32_t>(j);
  }
}

extern "C" int64_t nj_geqp3(int64_t code, int64_t batch, int64_t m, int64_t n, const char* in, char* out, char* pivots,
                            char* taus) {
  return dispatch(geqp3, code, [=](auto t, auto i) {
    using T = decltype(t);
    const auto* from = reinterpret_cast<const T*>(in);
    auto *to = reinterpret_cast<T*>(out), *tau = reinterpret_cast<T*>(taus);
    auto* chosen = reinterpret_cast<int32_t*>(pivots);
    for_parts(batch, m * n, [=](int64_t first, int64_t count) {
      factor_pivoted<T, decltype(i)>(count, m, n, from + first * m * n, to + first * m * n, chosen + first * n,
                                     tau + first * std::min(m, n));
    });
  });
}
NJ_KERNEL(nj_geqp3);

// The complex eigenvectors that LAPACK packs into real columns: a pair of conjugate ones in two columns.
template <class R> static void unpack(const R* values, const R* packed, int64_t n, std::complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    bool pair = values[j] != 0 && j + 1 < n;
    for (int64_t r = 0; r < n; ++r) {
      R re = packed[j * n + r], im = pair ? packed[(j + 1) * n + r] : R(0);
      out[r * n + j] = {re, im};
      if (pair) out[r * n + j + 1] = {re, -im};
    }
    if (pair) ++j;
  }
}

// Eigenvalues w, left and right eigenvectors of general matrices, always complex. Vectors not asked for are zeros.
extern "C" int64_t nj_geev(int64_t code, int64_t batch, int64_t n, int64_t left, int64_t right, const char* in, char* w,
                           char* vl, char* vr) {
  return dispatch(geev, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    using R = Real<T>;
    using C = std::complex<R>;
    if (n == 0) return;
    for_parts(batch, n * n, [=](int64_t first, int64_t count) {
      const Workspace<T> columns(n * n), lefts(n * n), rights(n * n), values(n);
      const Workspace<R> more(2 * n);
      const auto* from = reinterpret_cast<const T*>(in) + first * n * n;
      auto* to_w = reinterpret_cast<C*>(w) + first * n;
      auto *to_l = reinterpret_cast<C*>(vl) + first * n * n, *to_r = reinterpret_cast<C*>(vr) + first * n * n;
      I order = length<I>(n), info = 0, lwork = -1;
      auto run = [&](T* work) {
        const char *l = left ? "V" : "N", *r = right ? "V" : "N";
        if constexpr (is_complex<T>)
          call<T>(geev, l, r, &order, columns.data(), &order, values.data(), lefts.data(), &order, rights.data(), &order, work,
                  &lwork, more.data(), &info);
        else
          call<T>(geev, l, r, &order, columns.data(), &order, values.data(), more.data(), lefts.data(), &order, rights.data(),
                  &order, work, &lwork, &info);
      };
      const Workspace<T> work = asked_workspace<T>(lwork, run);
      for (int64_t b = 0; b < count; ++b, from += n * n, to_w += n, to_l += n * n, to_r += n * n) {
        flip(from, columns.data(), n, n);
        const bool finite = all_finite(columns.data(), n * n);
        if (finite) run(work.data());
        std::fill_n(to_l, n * n, C(0));
        std::fill_n(to_r, n * n, C(0));
        if (!finite || info != 0) {
          fill_nan(to_w, n), fill_nan(to_l, n * n), fill_nan(to_r, n * n);
        } else if constexpr (is_complex<T>) {
          std::copy_n(values.data(), n, to_w);
          if (left) flip(lefts.data(), to_l, n, n);
          if (right) flip(rights.data(), to_r, n, n);
        } else {
          for (int64_t k = 0; k < n; ++k) to_w[k] = {values.data()[k], more.data()[k]};
          if (left) unpack(more.data(), lefts.data(), n, to_l);
          if (right) unpack(more.data(), rights.data(), n, to_r);
        }
      }
    });
  });
}
NJ_KERNEL(nj_geev);

// Schur form: in = z form z^H. Without vectors z is zeros.
extern "C" int64_t nj_gees(int64_t code, int64_t batch, int64_t n, int64_t vectors, const char* in, char* form, char* z) {
  return dispatch(gees, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    if (n == 0) return;
    for_parts(batch, n * n, [=](int64_t first, int64_t count) {
      const Workspace<T> columns(n * n), basis(n * n), values(n);
      const Workspace<Real<T>> more(n);
      const auto* from = reinterpret_cast<const T*>(in) + first * n * n;
      auto *to = reinterpret_cast<T*>(form) + first * n * n, *to_z = reinterpret_cast<T*>(z) + first * n * n;
      I order = length<I>(n), info = 0, lwork = -1, sorted = 0;
      void* no_choice = nullptr;
      I* no_flags = nullptr;
      auto run = [&](T* work) {
        const char* job = vectors ? "V" : "N";
        if constexpr (is_complex<T>)
          call<T>(gees, job, "N", no_choice, &order, columns.data(), &order, &sorted, values.data(), basis.data(), &order, work,
                  &lwork, more.data(), no_flags, &info);
        else
          call<T>(gees, job, "N", no_choice, &order, columns.data(), &order, &sorted, values.data(), more.data(), basis.data(),
                  &order, work, &lwork, no_flags, &info);
      };
      const Workspace<T> work = asked_workspace<T>(lwork, run);
      for (int64_t b = 0; b < count; ++b, from += n * n, to += n * n, to_z += n * n) {
        flip(from, columns.data(), n, n);
        std::fill_n(basis.data(), n * n, T(0));
        const bool finite = all_finite(columns.data(), n * n);
        if (finite) run(work.data());
        flip(columns.data(), to, n, n);
        flip(basis.data(), to_z, n, n);
        if (!finite || info != 0) fill_nan(to, n * n), fill_nan(to_z, n * n);
      }
    });
  });
}
NJ_KERNEL(nj_gees);

// Hessenberg form, with Householder vectors below its first subdiagonal.
extern "C" int64_t nj_gehrd(int64_t code, int64_t batch, int64_t n, const char* in, char* out, char* taus) {
  return dispatch(gehrd, code, [=](auto t, auto i) {
    using T = decltype(t);
    using I = decltype(i);
    if (n == 0) return;
    for_parts(batch, n * n, [=](int64_t first, int64_t count) {
      const Workspace<T> columns(n * n), tau_block(n);
      const auto* from = reinterpret_cast<const T*>(in) + first * n * n;
      auto *to = reinterpret_cast<T*>(out) + first * n * n, *tau = reinterpret_cast<T*>(taus) + first * (n - 1);
      I order = length<I>(n), one = 1, info = 0, lwork = -1;
      const auto run = [&](T* work) {
        call<T>(gehrd, &order, &one, &order, columns.data(), &order, tau_block.data(), work, &lwork, &info);
      };
      const Workspace<T> work = asked_workspace<T>(lwork, run);
      for (int64_t b = 0; b < count; ++b, from += n * n, to += n * n, tau += n - 1) {
        flip(from, columns.data(), n, n);
        run(work.data());
        flip(columns.data(), to, n, n);
        std::copy_n(tau_block.data(), n - 1, tau);
        if (info != 0) fill_nan(to, n * n);
      }
    });
  });
}
NJ_KERNEL(nj_gehrd);
