// Discrete Fourier transforms of rows and columns, of any length, in float and double. No Python here.
//
// Lengths whose prime factors are at most max_radix: Stockham's self-sorting algorithm of mixed radix, which reads with
// the stride of the transformed axis, so that columns are transformed side by side (C. Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", 1992, sections 1.7 and 2.1). Other lengths: Bluestein's algorithm, a
// convolution with a chirp of a power-of-two length (L. Bluestein, 1970), computed in double. Real rows of even length:
// a complex transform of half the length (Van Loan, section 4.3). Roots of unity are computed in double from angles of
// at most an eighth of a turn, reduced in integers, so their errors do not grow with the length.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "kernels.h"

namespace {

constexpr int64_t max_radix = 31;

template <class T> struct Complex {
  T re, im;
};
template <class T> inline Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> inline Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> inline Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> inline Complex<T> conjugate(Complex<T> a) { return {a.re, -a.im}; }
template <class T> inline Complex<T> scaled(Complex<T> a, T by) { return {a.re * by, a.im * by}; }
// a times the imaginary unit
template <class T> inline Complex<T> turned(Complex<T> a) { return {-a.im, a.re}; }

// exp(2 pi i t / n) for 0 <= t < n.
Complex<double> unit(int64_t t, int64_t n) {
  int64_t octant = 8 * t / n, rest = 8 * t - octant * n;
  if (octant & 1) rest = n - rest;
  double angle = 0.78539816339744830962 * (static_cast<double>(rest) / static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

// The transform of n elements that stand `stride` apart, for each of `stride` neighbours.
template <class T> struct Smooth {
  using C = Complex<T>;
  int64_t n;
  bool inverse;
  std::vector<int64_t> radices;
  std::vector<C> roots;  // exp(-+ 2 pi i t / n)

  Smooth(int64_t size, bool back) : n(size), inverse(back), roots(size) {
    int64_t rest = n;
    for (int64_t p : {4, 2, 3, 5})
      for (; rest % p == 0; rest /= p) radices.push_back(p);
    for (int64_t p = 7; rest > 1; p += 2)
      for (; rest % p == 0; rest /= p) radices.push_back(p);
    for (int64_t t = 0; t < n; ++t) {
      Complex<double> w = unit(t, n);
      roots[t] = {static_cast<T>(w.re), static_cast<T>(inverse ? w.im : -w.im)};
    }
  }

  // y[p q + k] = (sum over r of x[q + m r] exp(-2 pi i r k / p)) exp(-2 pi i q k / (p m)), all with stride s.
  void stage2(const C* x, C* y, int64_t m, int64_t s, int64_t step) const {
    for (int64_t q = 0; q < m; ++q) {
      const C w = roots[q * step];
      const C *a = x + q * s, *b = a + m * s;
      C* to = y + 2 * q * s;
      for (int64_t j = 0; j < s; ++j) {
        C u = a[j], v = b[j];
        to[j] = u + v;
        to[s + j] = (u - v) * w;
      }
    }
  }

  void stage4(const C* x, C* y, int64_t m, int64_t s, int64_t step) const {
    const T sign = inverse ? T(1) : T(-1);
    for (int64_t q = 0; q < m; ++q) {
      const C w1 = roots[q * step], w2 = roots[2 * q * step], w3 = roots[3 * q * step];
      const C *a = x + q * s, *b = a + m * s, *c = b + m * s, *d = c + m * s;
      C* to = y + 4 * q * s;
      for (int64_t j = 0; j < s; ++j) {
        C even = a[j] + c[j], odd = b[j] + d[j], low = a[j] - c[j], high = scaled(turned(b[j] - d[j]), sign);
        to[j] = even + odd;
        to[s + j] = (low + high) * w1;
        to[2 * s + j] = (even - odd) * w2;
        to[3 * s + j] = (low - high) * w3;
      }
    }
  }

  template <int64_t P> void stage(const C* x, C* y, int64_t m, int64_t s, int64_t step, int64_t radix) const {
    const int64_t p = P ? P : radix;
    for (int64_t q = 0; q < m; ++q)
      for (int64_t k = 0; k < p; ++k) {
        const C* from = x + q * s;
        C* to = y + (p * q + k) * s;
        const C w = roots[q * k * step];
        C weights[max_radix];
        for (int64_t r = 1; r < p; ++r) weights[r] = roots[(r * k % p) * (n / p)];
        for (int64_t j = 0; j < s; ++j) {
          C total = from[j];
          for (int64_t r = 1; r < p; ++r) total = total + from[r * m * s + j] * weights[r];
          to[j] = total * w;
        }
      }
  }

  // in, out and scratch hold n * stride elements; in is neither of the others.
  void run(const C* in, C* out, C* scratch, int64_t stride) const {
    if (radices.empty()) {
      std::memcpy(out, in, sizeof(C) * stride);
      return;
    }
    int64_t left = n, s = stride;
    for (size_t k = 0; k < radices.size(); ++k) {
      int64_t p = radices[k], m = left / p, step = n / left;
      C* to = (radices.size() - 1 - k) % 2 == 0 ? out : scratch;
      switch (p) {
        case 2: stage2(in, to, m, s, step); break;
        case 4: stage4(in, to, m, s, step); break;
        case 3: stage<3>(in, to, m, s, step, 3); break;
        case 5: stage<5>(in, to, m, s, step, 5); break;
        default: stage<0>(in, to, m, s, step, p);
      }
      in = to;
      left = m;
      s *= p;
    }
  }
};

// The transform of one row of any length, as a convolution with exp(-pi i k k / n).
struct Bluestein {
  using C = Complex<double>;
  int64_t n, m;
  Smooth<double> forward, backward;
  std::vector<C> chirp, filter, a, b, c;

  static int64_t power_of_two(int64_t least) {
    int64_t m = 1;
    while (m < least) m *= 2;
    return m;
  }

  Bluestein(int64_t size, bool inverse)
      : n(size), m(power_of_two(2 * size - 1)), forward(m, false), backward(m, true), chirp(n), filter(m), a(m), b(m), c(m) {
    for (int64_t k = 0; k < n; ++k) {
      int64_t square = static_cast<int64_t>(static_cast<uint64_t>(k) * static_cast<uint64_t>(k) % static_cast<uint64_t>(2 * n));
      C w = unit(square, 2 * n);
      chirp[k] = inverse ? w : conjugate(w);
    }
    for (int64_t k = 0; k < n; ++k) a[k] = conjugate(chirp[k]);
    for (int64_t k = 1; k < n; ++k) a[m - k] = a[k];
    forward.run(a.data(), filter.data(), c.data(), 1);
    for (C& f : filter) f = scaled(f, 1.0 / static_cast<double>(m));
  }

  template <class T> void run(const Complex<T>* in, Complex<T>* out, int64_t stride) {
    for (int64_t k = 0; k < n; ++k) a[k] = C{in[k * stride].re, in[k * stride].im} * chirp[k];
    for (int64_t k = n; k < m; ++k) a[k] = {0, 0};
    forward.run(a.data(), b.data(), c.data(), 1);
    for (int64_t k = 0; k < m; ++k) b[k] = b[k] * filter[k];
    backward.run(b.data(), a.data(), c.data(), 1);
    for (int64_t k = 0; k < n; ++k) {
      C value = a[k] * chirp[k];
      out[k * stride] = {static_cast<T>(value.re), static_cast<T>(value.im)};
    }
  }
};

bool is_smooth(int64_t n) {
  for (int64_t p = 2; p <= max_radix; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

template <class T> struct Plan {
  int64_t n;
  std::unique_ptr<Smooth<T>> smooth;
  std::unique_ptr<Bluestein> other;
  std::vector<Complex<T>> scratch;

  Plan(int64_t size, bool inverse, int64_t stride) : n(size) {
    if (is_smooth(n)) {
      smooth = std::make_unique<Smooth<T>>(n, inverse);
      scratch.resize(n * stride);
    } else {
      other = std::make_unique<Bluestein>(n, inverse);
    }
  }

  void run(const Complex<T>* in, Complex<T>* out, int64_t stride) {
    if (smooth) return smooth->run(in, out, scratch.data(), stride);
    for (int64_t j = 0; j < stride; ++j) other->run(in + j, out + j, stride);
  }
};

// Complex to complex along the middle of three axes.
template <class T> void complex_axis(bool inverse, int64_t outer, int64_t n, int64_t inner, const char* in, char* out) {
  Plan<T> plan(n, inverse, inner);
  auto* from = reinterpret_cast<const Complex<T>*>(in);
  auto* to = reinterpret_cast<Complex<T>*>(out);
  for (int64_t k = 0; k < outer; ++k, from += n * inner, to += n * inner) {
    plan.run(from, to, inner);
    if (inverse)
      for (int64_t j = 0; j < n * inner; ++j) to[j] = scaled(to[j], T(1) / static_cast<T>(n));
  }
}

// exp(-2 pi i k / n) for k up to n / 2.
template <class T> std::vector<Complex<T>> half_roots(int64_t n) {
  std::vector<Complex<T>> roots(n / 2 + 1);
  for (int64_t k = 0; k <= n / 2; ++k) {
    Complex<double> w = unit(k, n);
    roots[k] = {static_cast<T>(w.re), static_cast<T>(-w.im)};
  }
  return roots;
}

// Rows of n real numbers to their first n / 2 + 1 coefficients.
template <class T> void real_rows(int64_t rows, int64_t n, const char* in, char* out) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2;
  Plan<T> plan(m, false, 1);
  auto* from = reinterpret_cast<const T*>(in);
  auto* to = reinterpret_cast<Complex<T>*>(out);
  std::vector<Complex<T>> z(m), f(m), roots = half_roots<T>(n);
  for (int64_t row = 0; row < rows; ++row, from += n, to += half + 1) {
    for (int64_t k = 0; k < m; ++k) z[k] = even ? Complex<T>{from[2 * k], from[2 * k + 1]} : Complex<T>{from[k], T(0)};
    plan.run(z.data(), f.data(), 1);
    for (int64_t k = 0; k <= half; ++k) {
      if (!even) {
        to[k] = f[k];
        continue;
      }
      Complex<T> a = f[k == m ? 0 : k], b = conjugate(f[k == 0 ? 0 : m - k]);
      to[k] = scaled((a + b) - turned(a - b) * roots[k], T(0.5));
    }
    to[0].im = T(0);
    if (even) to[half].im = T(0);
  }
}

// n / 2 + 1 coefficients to rows of n real numbers; the imaginary parts of the first, and of the one at n / 2, count as 0.
template <class T> void hermitian_rows(int64_t rows, int64_t n, const char* in, char* out) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2;
  Plan<T> plan(m, true, 1);
  auto* from = reinterpret_cast<const Complex<T>*>(in);
  auto* to = reinterpret_cast<T*>(out);
  std::vector<Complex<T>> x(half + 1), z(m), f(m), roots = half_roots<T>(n);
  const T scale = T(1) / static_cast<T>(n);
  for (int64_t row = 0; row < rows; ++row, from += half + 1, to += n) {
    for (int64_t k = 0; k <= half; ++k) x[k] = from[k];
    x[0].im = T(0);
    if (even) x[half].im = T(0);
    for (int64_t k = 0; k < m; ++k) {
      if (even) {
        Complex<T> a = x[k], b = conjugate(x[m - k]);
        z[k] = (a + b) + turned((a - b) * conjugate(roots[k]));
      } else {
        z[k] = k <= half ? x[k] : conjugate(x[n - k]);
      }
    }
    plan.run(z.data(), f.data(), 1);
    for (int64_t k = 0; k < m; ++k) {
      if (even) to[2 * k + 1] = f[k].im * scale;
      to[even ? 2 * k : k] = f[k].re * scale;
    }
  }
}

template <class Body> int64_t guarded(Body body) {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

}  // namespace

// out = the transform of in[outer, n, inner] along n; `wide`: double; inverse ones are divided by n.
extern "C" int64_t nj_fft_complex(int64_t wide, int64_t inverse, int64_t outer, int64_t n, int64_t inner, const char* in,
                                  char* out) {
  return guarded([=] {
    wide ? complex_axis<double>(inverse, outer, n, inner, in, out) : complex_axis<float>(inverse, outer, n, inner, in, out);
  });
}
NJ_KERNEL(nj_fft_complex);

extern "C" int64_t nj_fft_real(int64_t wide, int64_t rows, int64_t n, const char* in, char* out) {
  return guarded([=] { wide ? real_rows<double>(rows, n, in, out) : real_rows<float>(rows, n, in, out); });
}
NJ_KERNEL(nj_fft_real);

extern "C" int64_t nj_fft_hermitian(int64_t wide, int64_t rows, int64_t n, const char* in, char* out) {
  return guarded([=] { wide ? hermitian_rows<double>(rows, n, in, out) : hermitian_rows<float>(rows, n, in, out); });
}
NJ_KERNEL(nj_fft_hermitian);
