// Orders of dtypes as unsigned integers. No Python in here.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/dtypes.h"

namespace nj::sorting {

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Sign and magnitude -> an unsigned integer in the same order; -0 counts as 0, all NaNs as the largest.
template <class T>
T order_float(T bits, T infinity) {
  constexpr T sign = T(T(1) << (sizeof(T) * 8 - 1));
  T magnitude = T(bits & T(~sign));
  if (magnitude > infinity) return T(~T(0));
  if (magnitude == 0) return sign;
  return bits & sign ? T(~bits) : T(bits | sign);
}

// Formats without -0, whose place is taken by the only NaN.
inline uint64_t order_fnuz(uint8_t bits) { return bits == 0x80 ? 0x100 : order_float<uint8_t>(bits, 0x7f); }

// Two's complement in the low bits of a byte.
inline uint8_t order_small_int(uint8_t bits, int width) {
  uint8_t mask = uint8_t((1 << width) - 1), sign = uint8_t(1 << (width - 1));
  return uint8_t((bits & mask) ^ sign);
}

inline uint32_t order_float32(uint32_t bits) { return order_float<uint32_t>(bits, 0x7f800000u); }
inline uint64_t order_float64(uint64_t bits) { return order_float<uint64_t>(bits, 0x7ff0000000000000u); }

// A dtype's elements are ordered by one unsigned integer; complex128 by two (`part` 0, then 1).
struct KeyKind {
  int parts;
  int bits;
};
inline KeyKind key_kind(int64_t code) {
  if (code == code_complex128) return {2, 64};
  return {1, kItemSizes[code] * 8};
}

// The key of the element at `from`. `kCode` is a template parameter so that loops have no branch inside.
template <int64_t kCode>
uint64_t key_of(const char* from, int part) {
  switch (kCode) {
    case code_bool: return load<uint8_t>(from) != 0;
    case code_int8: return uint8_t(load<uint8_t>(from) ^ 0x80u);
    case code_int16: return uint16_t(load<uint16_t>(from) ^ 0x8000u);
    case code_int32: return load<uint32_t>(from) ^ 0x80000000u;
    case code_int64: return load<uint64_t>(from) ^ (uint64_t(1) << 63);
    case code_uint8: return load<uint8_t>(from);
    case code_uint16: return load<uint16_t>(from);
    case code_uint32: return load<uint32_t>(from);
    case code_uint64: return load<uint64_t>(from);
    case code_float16: return order_float<uint16_t>(load<uint16_t>(from), 0x7c00);
    case code_bfloat16: return order_float<uint16_t>(load<uint16_t>(from), 0x7f80);
    case code_float32: return order_float32(load<uint32_t>(from));
    case code_float64: return order_float64(load<uint64_t>(from));
    case code_complex64: return uint64_t(order_float32(load<uint32_t>(from))) << 32 | order_float32(load<uint32_t>(from + 4));
    case code_complex128: return order_float64(load<uint64_t>(from + 8 * part));
    case code_float8_e4m3fn: return order_float<uint8_t>(load<uint8_t>(from), 0x7e);
    case code_float8_e5m2: return order_float<uint8_t>(load<uint8_t>(from), 0x7c);
    case code_float8_e4m3: return order_float<uint8_t>(load<uint8_t>(from), 0x78);
    case code_float8_e3m4: return order_float<uint8_t>(load<uint8_t>(from), 0x70);
    case code_float8_e4m3b11fnuz:
    case code_float8_e4m3fnuz:
    case code_float8_e5m2fnuz: return order_fnuz(load<uint8_t>(from));
    case code_float8_e8m0fnu: return load<uint8_t>(from);
    case code_int4: return order_small_int(load<uint8_t>(from), 4);
    case code_uint4: return load<uint8_t>(from) & 0xfu;
    case code_int2: return order_small_int(load<uint8_t>(from), 2);
    case code_uint2: return load<uint8_t>(from) & 3u;
    default: return 0;
  }
}

// Keys of `n` elements that lie `stride` bytes apart.
using KeyLoop = void (*)(uint64_t* keys, const char* from, int64_t stride, int64_t n, int part);
KeyLoop key_loop(int64_t code);

// Sorts n contiguous elements in place, unstable; NaNs come last. Null for codes without one.
using RowSort = int (*)(void* row, intptr_t n, void* unused);
extern RowSort row_sorts[code_count];

// Sorts packed (key, position) pairs, by two threads where there are many. spare: memory for as many, or null for one thread.
void sort_words(uint64_t* words, int64_t n, uint64_t* spare = nullptr);

// The same where pairs of equal keys are in order already. spare: memory for n words, or null; shared: see radix_sort.
void sort_keyed(uint64_t* words, int64_t n, uint64_t* spare, bool shared);

// Stable argsort by several arrays of keys, the first of which counts most: `order` gets the positions. words: memory for n;
// spare, shared: see radix_sort; rows of less than kRadix elements need no spare memory.
struct Keys {
  const uint64_t* values;
  int bits;
};
bool argsort(uint32_t* order, const Keys* keys, int64_t num_keys, uint64_t* words, int64_t n,
             uint64_t* spare, bool shared);

}  // namespace nj::sorting
