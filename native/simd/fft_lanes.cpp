// See lanes.h. Compiled once per instruction set; see vectors.h.
#include "kernels/fft/lanes.h"

#include "simd/vectors.h"

namespace nj::NJ_SIMD {

namespace {

using fft::Stage;

template <class T> struct Pair {  // complex numbers, one per lane
  Vector<T> re, im;
};
template <class T> NJ_INLINE Pair<T> operator+(Pair<T> a, Pair<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> NJ_INLINE Pair<T> operator-(Pair<T> a, Pair<T> b) { return {a.re - b.re, a.im - b.im}; }
// a times the complex number at w
template <class T> NJ_INLINE Pair<T> times(Pair<T> a, const T* w) {
  return {a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}
template <class T> NJ_INLINE Pair<T> times(Pair<T> a, Pair<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// -i a
template <class T> NJ_INLINE Pair<T> turned_back(Pair<T> a) { return {a.im, -a.re}; }

template <class T> constexpr int64_t width_of = 2 * lanes_of<T>;  // numbers per element of a lane array
template <class T> NJ_INLINE Pair<T> get(const T* from, int64_t k) {
  return {load(from + k * width_of<T>), load(from + k * width_of<T> + lanes_of<T>)};
}
template <class T> NJ_INLINE void put(T* to, int64_t k, Pair<T> value) {
  store(to + k * width_of<T>, value.re);
  store(to + k * width_of<T> + lanes_of<T>, value.im);
}

// lanes_of<T> complex numbers that stand side by side
template <class T> NJ_INLINE Pair<T> get_complex(const T* from) {
  constexpr std::make_index_sequence<lanes_of<T>> all{};
  Vector<T> a = load(from), b = load(from + lanes_of<T>);
  return {even_lanes(a, b, all), odd_lanes(a, b, all)};
}
template <class T> NJ_INLINE void put_complex(T* to, Pair<T> value) {
  constexpr std::make_index_sequence<lanes_of<T>> all{};
  store(to, alternate<0>(value.re, value.im, all));
  store(to + lanes_of<T>, alternate<lanes_of<T> / 2>(value.re, value.im, all));
}

// ------------------------------------------------------------------------------------------- butterflies

template <class T> NJ_INLINE void butterfly4(Pair<T>& a, Pair<T>& b, Pair<T>& c, Pair<T>& d) {
  Pair<T> even = a + c, odd = b + d, low = a - c, high = turned_back(b - d);
  a = even + odd;
  b = low + high;
  c = even - odd;
  d = low - high;
}

template <class T> struct Roots {  // cos and sin of 2 pi r / P
  static constexpr T of3[6] = {1, 0, T(-0.5), T(0.86602540378443864676), T(-0.5), T(-0.86602540378443864676)};
  static constexpr T c51 = T(0.30901699437494742410), c52 = T(-0.80901699437494742410);
  static constexpr T s51 = T(0.95105651629515357212), s52 = T(0.58778525229247312917);
  static constexpr T of5[10] = {1, 0, c51, s51, c52, s52, c52, -s52, c51, -s51};
  static constexpr T c71 = T(0.62348980185873353053), c72 = T(-0.22252093395631440429), c73 = T(-0.90096886790241912624);
  static constexpr T s71 = T(0.78183148246802980871), s72 = T(0.97492791218182360702), s73 = T(0.43388373911755812048);
  static constexpr T of7[14] = {1, 0, c71, s71, c72, s72, c73, s73, c73, -s73, c72, -s72, c71, -s71};
};

// The transform of an odd number of values; sums and differences of mirror images share their products.
template <int P, class T> NJ_INLINE void butterfly_odd(Pair<T>* x, const T* roots, int64_t radix) {
  const int p = P ? P : static_cast<int>(radix), half = p / 2;
  Pair<T> sum[P ? P : fft::kMaxRadix / 2 + 1], difference[P ? P : fft::kMaxRadix / 2 + 1];
  Pair<T> total = x[0], first = x[0];
#pragma GCC unroll 4
  for (int r = 1; r <= half; ++r) {
    sum[r] = x[r] + x[p - r];
    difference[r] = x[r] - x[p - r];
    total = total + sum[r];
  }
  x[0] = total;
#pragma GCC unroll 4
  for (int k = 1; k <= half; ++k) {
    Pair<T> even = first, odd{};
#pragma GCC unroll 4
    for (int r = 1; r <= half; ++r) {
      const T c = roots[2 * (r * k % p)], s = roots[2 * (r * k % p) + 1];
      even.re += sum[r].re * c;
      even.im += sum[r].im * c;
      odd.re += difference[r].re * s;
      odd.im += difference[r].im * s;
    }
    x[k] = even + turned_back(odd);
    x[p - k] = even - turned_back(odd);
  }
}

template <int P, class T> NJ_INLINE void butterfly(Pair<T>* x, const T* roots, int64_t radix) {
  if constexpr (P == 2) {
    Pair<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (P == 4) {
    butterfly4(x[0], x[1], x[2], x[3]);
  } else if constexpr (P == 8) {
    butterfly4(x[0], x[2], x[4], x[6]);
    butterfly4(x[1], x[3], x[5], x[7]);
    const T half = T(0.70710678118654752440);
    Pair<T> b = x[3], d = x[7], c = turned_back(x[5]);
    b = {(b.re + b.im) * half, (b.im - b.re) * half};
    d = {(d.im - d.re) * half, (d.re + d.im) * -half};
    Pair<T> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], a = x[1];
    x[0] = e0 + a, x[4] = e0 - a;
    x[1] = e1 + b, x[5] = e1 - b;
    x[2] = e2 + c, x[6] = e2 - c;
    x[3] = e3 + d, x[7] = e3 - d;
  } else {
    const T* fixed = P == 3 ? Roots<T>::of3 : P == 5 ? Roots<T>::of5 : P == 7 ? Roots<T>::of7 : roots;
    butterfly_odd<P>(x, fixed, radix);
  }
}

template <int P, class T> void run_stage(const Stage<T>& stage, const T* in, T* out) {
  const int64_t p = P ? P : stage.radix, m = stage.m, s = stage.s;
  Pair<T> x[P ? P : fft::kMaxRadix];
  for (int64_t q = 0; q < m; ++q) {
    const T* from = in + q * s * width_of<T>;
    T* to = out + p * q * s * width_of<T>;
    const T* w = stage.twiddles + 2 * (p - 1) * q;
    for (int64_t j = 0; j < s; ++j) {
#pragma GCC unroll 8
      for (int64_t r = 0; r < p; ++r) x[r] = get(from, r * m * s + j);
      butterfly<P>(x, stage.roots, p);
      put(to, j, x[0]);
      if (q == 0) {
#pragma GCC unroll 8
        for (int64_t k = 1; k < p; ++k) put(to, k * s + j, x[k]);
      } else {
#pragma GCC unroll 8
        for (int64_t k = 1; k < p; ++k) put(to, k * s + j, times(x[k], w + 2 * (k - 1)));
      }
    }
  }
}

template <class T> const T* transform(const Stage<T>* stages, int64_t count, const T* in, T* a, T* b) {
  for (int64_t k = 0; k < count; ++k) {
    T* out = k % 2 == 0 ? b : a;
    switch (stages[k].radix) {
      case 2: run_stage<2>(stages[k], in, out); break;
      case 3: run_stage<3>(stages[k], in, out); break;
      case 4: run_stage<4>(stages[k], in, out); break;
      case 5: run_stage<5>(stages[k], in, out); break;
      case 7: run_stage<7>(stages[k], in, out); break;
      case 8: run_stage<8>(stages[k], in, out); break;
      default: run_stage<0>(stages[k], in, out);
    }
    in = out;
  }
  return in;
}

// ------------------------------------------------------------------------------------------- in and out

template <class T> void load_columns(const T* from, int64_t n, int64_t stride, int64_t width, bool swapped, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  if (width == lanes) {
    for (int64_t k = 0; k < n; ++k) {
      Pair<T> x = get_complex(from + 2 * k * stride);
      put(to, k, swapped ? Pair<T>{x.im, x.re} : x);
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k, to += 2 * lanes)
    for (int64_t l = 0; l < lanes; ++l) {
      const T* at = from + 2 * (k * stride + (l < width ? l : 0));
      to[l] = at[swapped];
      to[lanes + l] = at[!swapped];
    }
}

template <class T> void store_columns(const T* from, int64_t n, int64_t stride, int64_t width, bool swapped, T scale, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  if (width == lanes) {
    for (int64_t k = 0; k < n; ++k) {
      Pair<T> x = get(from, k);
      x = {x.re * scale, x.im * scale};
      put_complex(to + 2 * k * stride, swapped ? Pair<T>{x.im, x.re} : x);
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k, from += 2 * lanes)
    for (int64_t l = 0; l < width; ++l) {
      T* at = to + 2 * (k * stride + l);
      at[swapped] = from[l] * scale;
      at[!swapped] = from[lanes + l] * scale;
    }
}

template <class T> void load_rows(const T* const* rows, int64_t n, bool swapped, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    Vector<T> re[lanes], im[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) {
      Pair<T> x = get_complex(rows[l] + 2 * k);
      re[l] = x.re;
      im[l] = x.im;
    }
    transpose<T>(re);
    transpose<T>(im);
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) put(to, k + l, swapped ? Pair<T>{im[l], re[l]} : Pair<T>{re[l], im[l]});
  }
  for (; k < n; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      to[2 * lanes * k + l] = rows[l][2 * k + swapped];
      to[2 * lanes * k + lanes + l] = rows[l][2 * k + !swapped];
    }
}

template <class T> void store_rows(const T* from, int64_t n, int64_t width, bool swapped, T scale, T* const* rows) {
  constexpr int64_t lanes = lanes_of<T>;
  int64_t k = 0;
  for (; width == lanes && k + lanes <= n; k += lanes) {
    Vector<T> re[lanes], im[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) {
      Pair<T> x = get(from, k + l);
      re[l] = x.re * scale;
      im[l] = x.im * scale;
    }
    transpose<T>(re);
    transpose<T>(im);
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) put_complex(rows[l] + 2 * k, swapped ? Pair<T>{im[l], re[l]} : Pair<T>{re[l], im[l]});
  }
  for (; k < n; ++k)
    for (int64_t l = 0; l < width; ++l) {
      rows[l][2 * k + swapped] = from[2 * lanes * k + l] * scale;
      rows[l][2 * k + !swapped] = from[2 * lanes * k + lanes + l] * scale;
    }
}

template <class T>
void turn(const T* from, int64_t n1, int64_t n2, int64_t width, const T* lane_roots, const T* group_roots, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  for (int64_t first = 0; first < n1; first += lanes, to += n2 * width_of<T>) {
    Vector<T> re[lanes], im[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) {
      const int64_t k = first + l < n1 ? first + l : 0;
      Pair<T> x = times(times(get(from, k), get(lane_roots, k)), group_roots + 2 * k);
      re[l] = x.re;
      im[l] = x.im;
    }
    transpose<T>(re);
    transpose<T>(im);
    if (width == lanes) {
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) put(to, l, Pair<T>{re[l], im[l]});
    } else {
      for (int64_t l = 0; l < width; ++l) put(to, l, Pair<T>{re[l], im[l]});
    }
  }
}

// ------------------------------------------------------------------------------------------- real sequences

template <class T> NJ_INLINE Pair<T> mirrored(Pair<T> a) { return {a.re, -a.im}; }

template <class T> void untangle(const T* from, int64_t m, const T* roots, T* to) {
  for (int64_t k = 0; k <= m; ++k) {
    Pair<T> a = get(from, k == m ? 0 : k), b = mirrored(get(from, k == 0 ? 0 : m - k));
    Pair<T> value = (a + b) + times(turned_back(a - b), roots + 2 * k);
    put(to, k, Pair<T>{value.re * T(0.5), value.im * T(0.5)});
  }
  put(to, 0, Pair<T>{get(to, 0).re, Vector<T>{}});
  put(to, m, Pair<T>{get(to, m).re, Vector<T>{}});
}

template <class T> void tangle_swapped(const T* from, int64_t m, const T* roots, T* to) {
  const Vector<T> none{};
  for (int64_t k = 0; k < m; ++k) {
    Pair<T> a = get(from, k), b = mirrored(get(from, m - k));
    if (k == 0) a.im = none, b.im = none;
    const T back[2] = {roots[2 * k], -roots[2 * k + 1]};
    Pair<T> value = (a + b) - times(turned_back(a - b), back);
    put(to, k, Pair<T>{value.im, value.re});
  }
}

// The same for one row of interleaved numbers, `lanes` coefficients at a time; the first ones one by one.
template <class T> NJ_INLINE Pair<T> get_backwards(const T* from) {
  constexpr std::make_index_sequence<lanes_of<T>> all{};
  const Pair<T> x = get_complex(from);
  return {reversed(x.re, all), reversed(x.im, all)};
}

template <class T> void untangle_row(const T* from, int64_t m, const T* roots, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  const auto one = [=](int64_t k) {
    const T *a = from + 2 * (k == m ? 0 : k), *b = from + 2 * (k == 0 ? 0 : m - k), *w = roots + 2 * k;
    const T x = a[1] + b[1], y = b[0] - a[0];  // -i (a - conj b)
    to[2 * k] = T(0.5) * ((a[0] + b[0]) + (x * w[0] - y * w[1]));
    to[2 * k + 1] = T(0.5) * ((a[1] - b[1]) + (x * w[1] + y * w[0]));
  };
  one(0);
  int64_t k = 1;
  for (; k + lanes <= m; k += lanes) {
    const Pair<T> a = get_complex(from + 2 * k), b = mirrored(get_backwards(from + 2 * (m - k - lanes + 1)));
    const Pair<T> value = (a + b) + times(turned_back(a - b), get_complex(roots + 2 * k));
    put_complex(to + 2 * k, Pair<T>{value.re * T(0.5), value.im * T(0.5)});
  }
  for (; k <= m; ++k) one(k);
  to[1] = to[2 * m + 1] = T(0);
}

template <class T> void tangle_row(const T* from, int64_t m, const T* roots, T* to) {
  constexpr int64_t lanes = lanes_of<T>;
  const auto one = [=](int64_t k) {
    const T *a = from + 2 * k, *b = from + 2 * (m - k), *w = roots + 2 * k;
    const T a1 = k == 0 ? T(0) : a[1], b1 = k == 0 ? T(0) : b[1];
    const T x = a1 + b1, y = b[0] - a[0];
    to[2 * k] = (a[0] + b[0]) - (x * w[0] + y * w[1]);
    to[2 * k + 1] = (a1 - b1) - (y * w[0] - x * w[1]);
  };
  one(0);
  int64_t k = 1;
  for (; k + lanes <= m; k += lanes) {
    const Pair<T> a = get_complex(from + 2 * k), b = mirrored(get_backwards(from + 2 * (m - k - lanes + 1)));
    put_complex(to + 2 * k, (a + b) - times(turned_back(a - b), mirrored(get_complex(roots + 2 * k))));
  }
  for (; k < m; ++k) one(k);
}

// ------------------------------------------------------------------------------------------- products with tables

template <class T> void multiply(T* x, const T* table, int64_t n) {
  for (int64_t k = 0; k < n; ++k) put(x, k, times(get(x, k), table + 2 * k));
}

template <class T> void multiply_conjugate(T* x, const T* table, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const T mirror[2] = {table[2 * k], -table[2 * k + 1]};
    put(x, k, times(get(x, k), mirror));
  }
}

template <class T> void multiply_swapped(T* x, const T* table, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const Pair<T> value = times(get(x, k), table + 2 * k);
    put(x, k, Pair<T>{value.im, value.re});
  }
}

template <class T> void multiply_row(T* x, const T* table, int64_t n) {
  int64_t k = 0;
  for (; k + lanes_of<T> <= n; k += lanes_of<T>)
    put_complex(x + 2 * k, times(get_complex(x + 2 * k), get_complex(table + 2 * k)));
  for (; k < n; ++k) {
    const T re = x[2 * k], im = x[2 * k + 1];
    x[2 * k] = re * table[2 * k] - im * table[2 * k + 1];
    x[2 * k + 1] = re * table[2 * k + 1] + im * table[2 * k];
  }
}

}  // namespace

#define NJ_LANE_FUNCTIONS(T)                                                                    \
  {lanes_of<T>,   load_columns<T>, store_columns<T>,      load_rows<T>,        store_rows<T>,   \
   transform<T>,  turn<T>,         untangle<T>,           tangle_swapped<T>,   untangle_row<T>, \
   tangle_row<T>, multiply<T>,     multiply_conjugate<T>, multiply_swapped<T>, multiply_row<T>}

extern const fft::LaneFunctions<float> float_lanes;
const fft::LaneFunctions<float> float_lanes = NJ_LANE_FUNCTIONS(float);
extern const fft::LaneFunctions<double> double_lanes;
const fft::LaneFunctions<double> double_lanes = NJ_LANE_FUNCTIONS(double);

}  // namespace nj::NJ_SIMD
