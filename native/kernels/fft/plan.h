// Plans of Fourier transforms: how a length is taken apart, and the roots of unity that its transform multiplies by.
// Made once per length and kept in a cache of bounded size. No Python here.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/fft/lanes.h"

namespace nj::fft {

struct Root { double re, im; };
// exp(2 pi i t / n) for 0 <= t < n: computed from angles of at most an eighth of a turn, reduced in integers, so that its
// error does not grow with the length.
Root unit(int64_t t, int64_t n);

// Whether all prime factors are at most kMaxRadix.
bool is_smooth(int64_t n);
int64_t power_of_two(int64_t least);
// The divisor of n that is nearest to its square root, from below.
int64_t middle_divisor(int64_t n);

// A smooth length, for lanes side by side: Stockham's self-sorting algorithm of mixed radix (C. Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", 1992, sections 1.7 and 2.1).
template <class T> struct LanePlan {
  int64_t n;
  std::vector<Stage<T>> stages;
  std::vector<std::vector<T>> tables;

  explicit LanePlan(int64_t size);
  int64_t bytes() const;  // of its tables
};

// A smooth length n1 n2, for one long sequence: transforms of n1 elements, multiplication by roots, transforms of n2
// elements (Van Loan, section 3.3), all for neighbours side by side.
template <class T> struct SplitPlan {
  int64_t n, n1, n2;
  std::shared_ptr<const LanePlan<T>> first, second;
  std::vector<T> lane_roots;   // a lane array: exp(-2 pi i k l / n) for element k and lane l
  std::vector<T> group_roots;  // exp(-2 pi i k g lanes / n) for each group g of columns, then k < n1

  explicit SplitPlan(int64_t size);
  int64_t bytes() const;  // of its tables
};

// Any length, as a convolution with a chirp of a power-of-two length (L. Bluestein, 1970), in double.
struct ChirpPlan {
  int64_t n, m;
  std::vector<double> chirp;   // exp(-pi i k k / n)
  std::vector<double> filter;  // the transform of its inverse, divided by m

  explicit ChirpPlan(int64_t size);
  int64_t bytes() const;  // of its tables
};

// exp(-2 pi i k / n) for k up to n / 2.
template <class T> struct HalfRoots {
  std::vector<T> roots;

  explicit HalfRoots(int64_t n);
  int64_t bytes() const;  // of its tables
};

// The plan of a length, from the cache or new. Any thread may ask.
template <class T> std::shared_ptr<const LanePlan<T>> lane_plan(int64_t n);
template <class T> std::shared_ptr<const SplitPlan<T>> split_plan(int64_t n);
std::shared_ptr<const ChirpPlan> chirp_plan(int64_t n);
template <class T> std::shared_ptr<const HalfRoots<T>> half_roots(int64_t n);

// The transform of one row by its plan (fft.cpp); in and out are interleaved complex numbers.
template <class T> void split_row(const SplitPlan<T>& plan, const T* in, T* out, bool inverse, T scale);

}  // namespace nj::fft
