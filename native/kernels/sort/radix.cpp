// See radix.h: least significant digit first; digits that all words share are left out. Each part of a row counts its digits
// and gets places of its own, behind those of equal digits in earlier parts, so that threads move words without meeting.
#include "kernels/sort/radix.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nj::sorting {

namespace {

constexpr int kDigitBits = 8, kDigits = 4;
constexpr int64_t kValues = 1 << kDigitBits, kPart = 1 << 16, kMostParts = 8;

struct Counts {
  uint32_t of[kMostParts][kValues];
};

int shift_of(int digit) { return 32 + digit * kDigitBits; }

void count(const uint64_t* words, int64_t first, int64_t last, int shift, uint32_t* counts) {
  uint32_t other[kValues] = {};  // neighbours count in different tables, so that none waits for the one before
  std::memset(counts, 0, sizeof(uint32_t) * kValues);
  int64_t i = first;
  for (; i + 1 < last; i += 2) {
    ++counts[words[i] >> shift & (kValues - 1)];
    ++other[words[i + 1] >> shift & (kValues - 1)];
  }
  if (i < last) ++counts[words[i] >> shift & (kValues - 1)];
  for (int64_t value = 0; value < kValues; ++value) counts[value] += other[value];
}

void move(const uint64_t* from, int64_t first, int64_t last, int shift, uint32_t* places, uint64_t* to) {
  for (int64_t i = first; i < last; ++i) to[places[from[i] >> shift & (kValues - 1)]++] = from[i];
}

// Counts become places. False if all words have the same digit.
bool place(Counts& counts, int64_t parts, int64_t n) {
  uint32_t before = 0;
  for (int64_t value = 0; value < kValues; ++value) {
    const uint32_t start = before;
    for (int64_t part = 0; part < parts; ++part) {
      const uint32_t here = counts.of[part][value];
      counts.of[part][value] = before;
      before += here;
    }
    if (before - start == uint64_t(n)) return false;
  }
  return true;
}

}  // namespace

int differing_digits(const uint64_t* words, int64_t n) {
  uint64_t different = 0;
  for (int64_t i = 1; i < n; ++i) different |= words[i] ^ words[0];
  int found = 0;
  for (int digit = 0; digit < kDigits; ++digit) found += (different >> shift_of(digit) & (kValues - 1)) != 0;
  return found;
}

int64_t part_count(int64_t n, bool shared) { return shared ? std::clamp<int64_t>(n / kPart, 1, kMostParts) : 1; }

void radix_sort(uint64_t* words, int64_t n, uint64_t* spare, bool shared) {
  const int64_t parts = part_count(n, shared);
  uint64_t *from = words, *to = spare;
  Counts counts;
  for (int digit = 0; digit < kDigits; ++digit) {
    const int shift = shift_of(digit);
    each_part(n, shared, [&](int64_t part, int64_t first, int64_t last) { count(from, first, last, shift, counts.of[part]); });
    if (!place(counts, parts, n)) continue;
    each_part(n, shared, [&](int64_t part, int64_t first, int64_t last) {
      move(from, first, last, shift, counts.of[part], to);
    });
    std::swap(from, to);
  }
  if (from != words) std::memcpy(words, from, size_t(n) * sizeof(uint64_t));
}

}  // namespace nj::sorting
