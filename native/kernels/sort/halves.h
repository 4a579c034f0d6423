// Parallel merge sort of one long row: two threads sort its halves, and merge them, from either end. No Python in here.
#pragma once
#include <cstdint>
#include <cstring>

#include "runtime/threads/parallel.h"

namespace nj::sorting {

constexpr int64_t kHalved = 1 << 16;  // elements from which a row is worth two threads

// Integers as they are, floats in memory as integers of their size.
template <class T, class Number> bool before(T a, T b) {
  Number x, y;
  std::memcpy(&x, &a, sizeof(T));
  std::memcpy(&y, &b, sizeof(T));
  return x < y;
}

// The first `count` elements of two ascending rows together, without branches. b begins where a ends, and is not shorter: so
// that once a is used up, its end is the next element of b.
template <class T, class Number> void merge_front(const T* a, const T* b, T* to, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const bool second = before<T, Number>(*b, *a);
    to[k] = second ? *b : *a;
    a += !second;
    b += second;
  }
}

// The last `count` elements of rows that end at a_end and b_end, neither of which is shorter than that.
template <class T, class Number> void merge_back(const T* a_end, const T* b_end, T* to_end, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const bool first = before<T, Number>(b_end[-1], a_end[-1]);
    *--to_end = first ? a_end[-1] : b_end[-1];
    a_end -= first;
    b_end -= !first;
  }
}

// Sorts a row in place by `sort(row, n)` of its halves. Numbers that are equal must have equal bits, so that the result is the
// same whatever the number of threads. spare: memory for n elements.
template <class T, class Number, class Sort> void sort_halves(T* row, int64_t n, T* spare, Sort sort) {
  const int64_t half = n / 2, rest = n - half;
  parallel_for(2, [&](int64_t k) { k ? sort(row + half, rest) : sort(row, half); });
  parallel_for(2, [&](int64_t k) {
    if (k) merge_back<T, Number>(row + half, row + n, spare + n, half);
    else merge_front<T, Number>(row, row + half, spare, rest);
  });
  std::memcpy(row, spare, size_t(n) * sizeof(T));
}

}  // namespace nj::sorting
