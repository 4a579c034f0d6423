// Radix sort of words by their upper halves. No Python in here.
#pragma once
#include <cstdint>

#include "runtime/threads/parallel.h"

namespace nj::sorting {

constexpr int64_t kRadix = 1 << 12;  // words from which counting digits can be faster than comparing
constexpr int kFewDigits = 2;        // digits up to which it is so for words whose lower halves are in order
constexpr int64_t kManyWords = 1 << 19;  // from which it is so however many digits differ
constexpr int64_t kMostWords = 0xffffffff;

// Sorts at most kMostWords words stably by their upper 32 bits. spare: memory for n words. shared: other threads may help, with
// the same result.
void radix_sort(uint64_t* words, int64_t n, uint64_t* spare, bool shared);

// How many digits of the upper halves are not the same in all words, n > 0.
int differing_digits(const uint64_t* words, int64_t n);

// How many parts a row of n elements has for threads, which depends on its length only; one is not shared.
int64_t part_count(int64_t n, bool shared);

// body(part, first, last) for each part of a row.
template <class Body> void each_part(int64_t n, bool shared, Body body) {
  const int64_t parts = part_count(n, shared);
  if (parts == 1) body(int64_t(0), int64_t(0), n);
  else parallel_for(parts, [&](int64_t part) { body(part, n * part / parts, n * (part + 1) / parts); });
}

}  // namespace nj::sorting
