// QR factors, and products of Householder reflections, of batches of row-major matrices. No Python here.
// `code` is the dtype: 0 float32, 1 float64, 2 complex64, 3 complex128.
#include "kernels/linalg/reflections.h"

#include <algorithm>

#include "kernels/registry.h"

namespace nj::lapack {

namespace {

// The first n columns of the product of the k reflections in a[m, n], by strips of columns: the identity, to which the
// blocks that touch these columns are applied, the last one first.
template <class T> void form_product(View<const T> a, const T* taus, int64_t m, int64_t n, int64_t k, T* out) {
  if constexpr (!is_complex<T>) {
    if (one_panel<T>(m, n)) {
      const SmallPanel<T> panel(a, m, k);
      alignas(64) T q[small_rows<T> * kPanelWidth];
      panel_functions<T>().reflections(panel.data, m, k, taus, q);
      return copy_columns(q, m, n, out);
    }
  }
  const Blocks<T> blocks(m, k);
  const Strips strips(n, n, kProductWidth);
  read_blocks(blocks, a, taus);
  parallel_for(strips.count, [&](int64_t s) {
    const int64_t first = strips.first(s), columns = strips.size(s);
    Workspace<T> memory(m * columns), work(2 * kBlockWidth * columns);
    const View<T> q{memory.data(), columns};
    std::fill_n(memory.data(), m * columns, T(0));
    for (int64_t j = 0; j < columns; ++j) q(first + j, j) = T(1);
    for (int64_t b = blocks.count - 1; b >= 0; --b)
      if (b * kBlockWidth < first + columns) blocks.apply(b, Op::none, q.at(b * kBlockWidth, 0), columns, work.data());
    for (int64_t i = 0; i < m; ++i) std::copy_n(q.row(i), columns, out + i * n + first);
  });
}

// Bytes that form_product takes: for products of vectors first, then for strips of columns.
template <class T> int64_t product_bytes(int64_t m, int64_t n, int64_t k, int64_t threads) {
  if (one_panel<T>(m, n)) return 0;
  const int64_t strip = Workspace<T>::taken(m * std::min(n, kProductWidth));
  return Blocks<T>::bytes(m, k) + applying_bytes<T>(k, n, threads, strip);
}

}  // namespace
}  // namespace nj::lapack

using namespace nj::lapack;

// Overwrites x with its QR factors: R above, Householder vectors below the diagonal.
extern "C" int64_t nj_geqrf(int64_t code, int64_t batch, int64_t m, int64_t n, char* x, char* taus) {
  return dispatch(geqrf, code, [=](auto t, auto) {
    using T = decltype(t);
    for_batch(batch, m * n, [=](int64_t b) {
      const View<T> a{reinterpret_cast<T*>(x) + b * m * n, n};
      factor(a, m, n, reinterpret_cast<T*>(taus) + b * std::min(m, n));
    });
  });
}
NJ_KERNEL(nj_geqrf);

extern "C" int64_t nj_geqrf_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, char*, char*) {
  return bytes_for_batch(geqrf, code, threads, batch, m * n,
                         [=](auto t, int64_t sharing) { return factor_bytes<decltype(t)>(m, n, sharing); });
}
NJ_KERNEL(nj_geqrf_bytes);

// The first n columns of the product of k Householder reflections; in and out are m x n, m >= n >= k. What stands above
// the diagonal of `in` is not read.
extern "C" int64_t nj_orgqr(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char* in, const char* taus,
                            char* out) {
  return dispatch(orgqr, code, [=](auto t, auto) {
    using T = decltype(t);
    for_batch(m * n == 0 ? 0 : batch, m * n, [=](int64_t b) {
      const View<const T> a{reinterpret_cast<const T*>(in) + b * m * n, n};
      form_product(a, reinterpret_cast<const T*>(taus) + b * k, m, n, k, reinterpret_cast<T*>(out) + b * m * n);
    });
  });
}
NJ_KERNEL(nj_orgqr);

extern "C" int64_t nj_orgqr_bytes(int64_t threads, int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k, const char*,
                                  const char*, char*) {
  return bytes_for_batch(orgqr, code, threads, m * n == 0 ? 0 : batch, m * n,
                         [=](auto t, int64_t sharing) { return product_bytes<decltype(t)>(m, n, k, sharing); });
}
NJ_KERNEL(nj_orgqr_bytes);
