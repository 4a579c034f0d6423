// Key loops and the stable argsort of nj_sort. No Python in here.
//
// A stable argsort packs the upper 32 bits of the key and the position into one word, and sorts the words by the digits of the
// keys where few of them differ or rows are long, else with whatever is fastest for 64-bit integers; runs that agree in the upper bits are then
// sorted by the lower ones.
#include "kernels/sort/order.h"

#include <algorithm>
#include <utility>

#include "kernels/sort/buckets.h"
#include "kernels/sort/radix.h"

namespace nj::sorting {

RowSort row_sorts[code_count] = {};

namespace {

template <int64_t kCode>
void fill_keys(uint64_t* keys, const char* from, int64_t stride, int64_t n, int part) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of<kCode>(from + i * stride, part);
}

template <int64_t... kCodes>
KeyLoop pick(int64_t code, std::integer_sequence<int64_t, kCodes...>) {
  static const KeyLoop loops[] = {fill_keys<kCodes>...};
  return loops[code];
}

constexpr uint64_t kLow = 0xffffffffu;

void insertion_sort(uint64_t* words, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    uint64_t word = words[i];
    int64_t j = i;
    for (; j > 0 && words[j - 1] > word; --j) words[j] = words[j - 1];
    words[j] = word;
  }
}

// Sorts runs of equal upper key halves by the lower halves. words[i] = half << 32 | position.
void sort_runs(uint64_t* words, const uint32_t* order, const uint64_t* keys, int64_t n, uint64_t* spare, bool shared) {
  for (int64_t begin = 0; begin < n;) {
    int64_t end = begin + 1;
    while (end < n && words[end] >> 32 == words[begin] >> 32) ++end;
    if (end - begin > 1) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t position = words[i] & kLow;
        words[i] = (keys[order[position]] & kLow) << 32 | position;
      }
      sort_keyed(words + begin, end - begin, spare, shared);
    }
    begin = end;
  }
}

// One stable pass: reorders `order` by keys[order[i]].
void sort_pass(uint32_t* order, Keys keys, uint64_t* words, int64_t n, uint64_t* spare, bool shared) {
  int shift = keys.bits > 32 ? 32 : 0;
  for (int64_t i = 0; i < n; ++i) words[i] = (keys.values[order[i]] >> shift) << 32 | uint64_t(i);
  sort_keyed(words, n, spare, shared);
  if (shift) sort_runs(words, order, keys.values, n, spare, shared);
  for (int64_t i = 0; i < n; ++i) words[i] = order[words[i] & kLow];
  for (int64_t i = 0; i < n; ++i) order[i] = uint32_t(words[i]);
}

}  // namespace

KeyLoop key_loop(int64_t code) { return pick(code, std::make_integer_sequence<int64_t, code_count>()); }

void sort_words(uint64_t* words, int64_t n, uint64_t* spare) {
  if (spare && has_buckets(code_uint64, n)) {
    std::memcpy(spare, words, size_t(n) * sizeof(uint64_t));
    bucket_sort(code_uint64, reinterpret_cast<const char*>(spare), reinterpret_cast<char*>(words), n);
    return;
  }
  if (n <= 16) insertion_sort(words, n);
  else if (row_sorts[code_uint64]) row_sorts[code_uint64](words, n, nullptr);
  else std::sort(words, words + n);
}

void sort_keyed(uint64_t* words, int64_t n, uint64_t* spare, bool shared) {
  const bool quick = n >= kManyWords || (n >= kRadix && differing_digits(words, n) <= kFewDigits);
  if (spare && quick) radix_sort(words, n, spare, shared);
  else sort_words(words, n, shared ? spare : nullptr);
}

bool argsort(uint32_t* order, const Keys* keys, int64_t num_keys, uint64_t* words, int64_t n, uint64_t* spare,
             bool shared) {
  if (n > int64_t(kLow)) return false;
  for (int64_t i = 0; i < n; ++i) order[i] = uint32_t(i);
  // From the least to the most significant key: later passes keep the order of earlier ones among equals.
  for (int64_t k = num_keys; k-- > 0;) sort_pass(order, keys[k], words, n, spare, shared);
  return true;
}

}  // namespace nj::sorting
