// nj_sort: stable lexicographic sort of several operands along the middle axis. No Python in here.
#include <algorithm>
#include <atomic>

#include "kernels/registry.h"
#include "kernels/sort/buckets.h"
#include "kernels/sort/order.h"
#include "kernels/sort/radix.h"
#include "kernels/sort/rows.h"

namespace nj::sorting {

namespace {

constexpr int64_t kCounted = 512;  // bytes in a row from which they are counted

struct Strides { int64_t outer, axis, inner; };

struct Problem {
  int64_t num_operands, num_keys;
  const int64_t* codes;
  char* const* ins;
  char* const* outs;
  int64_t outer, axis, inner;
  const int64_t *in_strides, *out_strides;  // null: C-contiguous

  int item_size(int64_t operand) const { return kItemSizes[codes[operand]]; }
  Strides strides(const int64_t* given, int64_t operand) const {
    if (given) return {given[3 * operand], given[3 * operand + 1], given[3 * operand + 2]};
    int64_t size = item_size(operand);
    return {axis * inner * size, inner * size, size};
  }
};

// One operand's part of one row.
struct Row {
  const char* in;
  char* out;
  int64_t in_stride, out_stride;
  int size;
};

Row row_of(const Problem& p, int64_t operand, int64_t row) {
  const int64_t o = row / p.inner, i = row % p.inner;
  Strides in = p.strides(p.in_strides, operand), out = p.strides(p.out_strides, operand);
  return {p.ins[operand] + o * in.outer + i * in.inner, p.outs[operand] + o * out.outer + i * out.inner, in.axis, out.axis,
          p.item_size(operand)};
}

template <int kSize>
void copy_items(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, kSize);
}

void copy_row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int size, int64_t n) {
  if (to_stride == size && from_stride == size) {
    std::memmove(to, from, size_t(size * n));
    return;
  }
  switch (size) {
    case 1: return copy_items<1>(to, to_stride, from, from_stride, n);
    case 2: return copy_items<2>(to, to_stride, from, from_stride, n);
    case 4: return copy_items<4>(to, to_stride, from, from_stride, n);
    case 8: return copy_items<8>(to, to_stride, from, from_stride, n);
    default: return copy_items<16>(to, to_stride, from, from_stride, n);
  }
}

template <int kSize>
void gather_items(char* to, int64_t stride, const char* from, const uint32_t* order, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, from + int64_t(order[i]) * kSize, kSize);
}

void gather_row(char* to, int64_t stride, const char* from, int size, const uint32_t* order, int64_t n) {
  switch (size) {
    case 1: return gather_items<1>(to, stride, from, order, n);
    case 2: return gather_items<2>(to, stride, from, order, n);
    case 4: return gather_items<4>(to, stride, from, order, n);
    case 8: return gather_items<8>(to, stride, from, order, n);
    default: return gather_items<16>(to, stride, from, order, n);
  }
}

// What an unstable sort of floats loses: the bits of NaNs, and the order of -0 and 0.
template <class Bits>
struct FloatRow {
  static constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  static constexpr Bits infinity = sizeof(Bits) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000u);
  static bool is_nan(Bits bits) { return (bits & ~sign) > infinity; }
  static bool is_zero(Bits bits) { return (bits & ~sign) == 0; }
  static bool below_zero(Bits bits) { return (bits & sign) && !is_zero(bits); }

  std::atomic<int64_t> nans{0}, zeros{0}, negative_zeros{0};

  FloatRow(const Bits* row, int64_t n, bool shared) {
    each_part(n, shared, [&](int64_t, int64_t first, int64_t last) {
      int64_t nan = 0, zero = 0, negative = 0;
      for (int64_t i = first; i < last; ++i) {
        nan += is_nan(row[i]);
        zero += is_zero(row[i]);
        negative += row[i] == sign;
      }
      nans += nan;
      zeros += zero;
      negative_zeros += negative;
    });
  }

  // How many numbers have to be kept, 0 if nothing is lost.
  int64_t kept() const {
    const bool mixed = negative_zeros != 0 && negative_zeros != zeros;
    return nans || mixed ? nans + zeros : 0;
  }
  void keep(const Bits* row, int64_t n, Bits* memory) const {
    Bits *nan = memory, *zero = memory + nans;
    for (int64_t i = 0; i < n; ++i) {
      if (is_nan(row[i])) *nan++ = row[i];
      else if (is_zero(row[i])) *zero++ = row[i];
    }
  }
  void put_back(Bits* row, int64_t n, const Bits* memory) const {
    std::copy(memory, memory + nans, row + (n - nans));
    Bits* first_zero = std::partition_point(row, row + (n - nans), below_zero);
    std::copy(memory + nans, memory + nans + zeros, first_zero);
  }
};

// Sorts floats in place. spare: memory for n of them.
template <class Bits> void sort_floats(char* memory, int64_t n, RowSort row_sort, char* spare) {
  Bits *row = reinterpret_cast<Bits*>(memory), *kept = reinterpret_cast<Bits*>(spare);
  const FloatRow<Bits> lost(row, n, false);
  if (lost.kept()) lost.keep(row, n, kept);
  row_sort(row, n, nullptr);
  if (lost.kept()) lost.put_back(row, n, kept);
}

// The same by buckets, into other memory.
template <class Bits> void sort_many_floats(int64_t code, const char* from, char* to, int64_t n) {
  const auto* row = reinterpret_cast<const Bits*>(from);
  const FloatRow<Bits> lost(row, n, true);
  const Workspace<Bits> kept(lost.kept());
  if (lost.kept()) lost.keep(row, n, kept.data());
  bucket_sort(code, from, to, n);
  if (lost.kept()) lost.put_back(reinterpret_cast<Bits*>(to), n, kept.data());
}

void sort_many(int64_t code, const char* from, char* to, int64_t n) {
  if (code == code_float32) sort_many_floats<uint32_t>(code, from, to, n);
  else if (code == code_float64) sort_many_floats<uint64_t>(code, from, to, n);
  else bucket_sort(code, from, to, n);
}

// Bytes are counted. flip: 128 where they have a sign.
void sort_bytes(uint8_t* row, int64_t n, uint8_t flip) {
  int64_t counts[4][256] = {};  // neighbours count in different tables, so that none waits for the one before
  for (int64_t i = 0; i < n; ++i) ++counts[i & 3][row[i] ^ flip];
  for (int value = 0; value < 256; ++value) {
    const int64_t count = counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
    std::memset(row, value ^ flip, size_t(count));
    row += count;
  }
}

// In place. spare: memory for n elements.
void sort_contiguous(int64_t code, char* row, int64_t n, char* spare) {
  if (n >= kCounted && (code == code_int8 || code == code_uint8 || code == code_bool))
    return sort_bytes(reinterpret_cast<uint8_t*>(row), n, code == code_int8 ? 128 : 0);
  if (code == code_float32) return sort_floats<uint32_t>(row, n, row_sorts[code], spare);
  if (code == code_float64) return sort_floats<uint64_t>(row, n, row_sorts[code], spare);
  row_sorts[code](row, n, nullptr);
}

// Rows first ... last of one operand of a dtype that has a row sort.
Status sort_values(const Problem& p, int64_t first, int64_t last) {
  const int64_t code = p.codes[0], line = p.axis * p.item_size(0);
  const bool direct = p.strides(p.out_strides, 0).axis == p.item_size(0);
  const Workspace<char> spare(direct ? line : 2 * line);
  const bool many = p.outer * p.inner == 1 && has_buckets(code, p.axis);
  for (int64_t r = first; r < last; ++r) {
    Row row = row_of(p, 0, r);
    char* work = direct ? row.out : spare.data() + line;
    if (many) {
      const bool readable = row.in_stride == row.size && row.in != work;
      if (!readable) copy_row(spare.data(), row.size, row.in, row.in_stride, row.size, p.axis);
      sort_many(code, readable ? row.in : spare.data(), work, p.axis);
    } else {
      copy_row(work, row.size, row.in, row.in_stride, row.size, p.axis);
      sort_contiguous(code, work, p.axis, spare.data());
    }
    if (!direct) copy_row(row.out, row.out_stride, work, row.size, row.size, p.axis);
  }
  return status_good;
}

int64_t count_parts(const Problem& p) {
  int64_t parts = 0;
  for (int64_t k = 0; k < p.num_keys; ++k) parts += key_kind(p.codes[k]).parts;
  return parts;
}

// Fills the keys of one row, all parts of all key operands.
void fill_row_keys(const Problem& p, int64_t r, uint64_t* values, Keys* keys) {
  for (int64_t k = 0; k < p.num_keys; ++k) {
    Row row = row_of(p, k, r);
    KeyKind kind = key_kind(p.codes[k]);
    for (int part = 0; part < kind.parts; ++part) {
      key_loop(p.codes[k])(values, row.in, row.in_stride, p.axis, part);
      *keys++ = {values, kind.bits};
      values += p.axis;
    }
  }
}

int64_t largest_item(const Problem& p) {
  int64_t size = 1;
  for (int64_t k = 0; k < p.num_operands; ++k) size = std::max<int64_t>(size, p.item_size(k));
  return size;
}

// Rows first ... last of any operands: sort positions by the keys, then gather.
Status sort_by_keys(const Problem& p, int64_t first, int64_t last) {
  int64_t n = p.axis, parts = count_parts(p);
  const Workspace<uint64_t> values(n * parts), words(n), spare(n >= kRadix ? n : 0);
  const Workspace<uint32_t> order(n);
  const Workspace<char> line(n * largest_item(p));
  const Workspace<Keys> keys(parts);
  for (int64_t r = first; r < last; ++r) {
    fill_row_keys(p, r, values.data(), keys.data());
    uint64_t* const helper = n >= kRadix ? spare.data() : nullptr;
    if (!argsort(order.data(), keys.data(), parts, words.data(), n, helper, p.outer * p.inner == 1)) return status_row_too_long;
    for (int64_t operand = 0; operand < p.num_operands; ++operand) {
      Row row = row_of(p, operand, r);
      // Through a copy: an operand may be sorted in place.
      copy_row(line.data(), row.size, row.in, row.in_stride, row.size, n);
      gather_row(row.out, row.out_stride, line.data(), row.size, order.data(), n);
    }
  }
  return status_good;
}

// 32-bit keys as unsigned integers in the same order, and back.
struct PlainKey {
  static bool invertible(uint32_t) { return true; }
  static uint32_t key(uint32_t bits) { return bits; }
  static uint32_t bits(uint32_t key) { return key; }
};
struct SignedKey {
  static bool invertible(uint32_t) { return true; }
  static uint32_t key(uint32_t bits) { return bits ^ 0x80000000u; }
  static uint32_t bits(uint32_t key) { return key ^ 0x80000000u; }
};
struct FloatKey {  // without branches on signs, which nothing predicts
  // NaNs share a key, and so do both zeros.
  static bool invertible(uint32_t bits) { return ((bits & 0x7fffffffu) <= 0x7f800000u) & (bits != 0x80000000u); }
  static uint32_t key(uint32_t bits) { return bits ^ ((0u - (bits >> 31)) | 0x80000000u); }
  static uint32_t bits(uint32_t key) { return key ^ (((key >> 31) - 1u) | 0x80000000u); }
};

// Sorts a row of 32-bit keys with 32-bit companions, which travel in one word: nothing is gathered. False if a key does not
// tell its number, so that nothing was done.
template <class Kind> bool sort_pairs_of(const Row& keys, const Row& rest, int64_t n, bool alone) {
  const Workspace<uint64_t> memory(n), spare(n);
  uint64_t* const words = memory.data();
  std::atomic<bool> good{true}, ordered{true};
  each_part(n, alone, [&](int64_t, int64_t first, int64_t last) {
    bool invertible = true, ascending = true;
    uint32_t before = first ? load<uint32_t>(rest.in + (first - 1) * rest.in_stride) : 0;
    for (int64_t i = first; i < last; ++i) {
      const uint32_t bits = load<uint32_t>(keys.in + i * keys.in_stride), low = load<uint32_t>(rest.in + i * rest.in_stride);
      invertible &= Kind::invertible(bits);
      ascending &= before <= low;
      before = low;
      words[i] = uint64_t(Kind::key(bits)) << 32 | low;
    }
    if (!invertible) good.store(false);
    if (!ascending) ordered.store(false);
  });
  if (!good.load()) return false;
  if (ordered.load()) sort_keyed(words, n, spare.data(), alone);
  else radix_sort(words, n, spare.data(), alone);
  each_part(n, alone, [&](int64_t, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const uint32_t bits = Kind::bits(uint32_t(words[i] >> 32)), low = uint32_t(words[i]);
      std::memcpy(keys.out + i * keys.out_stride, &bits, sizeof bits);
      std::memcpy(rest.out + i * rest.out_stride, &low, sizeof low);
    }
  });
  return true;
}

bool are_pairs(const Problem& p) {
  const int64_t code = p.codes[0];
  return p.num_operands == 2 && p.num_keys == 1 && p.axis >= kRadix && p.axis <= kMostWords && p.item_size(1) == 4 &&
         (code == code_int32 || code == code_uint32 || code == code_float32);
}

// Rows first ... last of such pairs; with no row, takes the memory of the one way or the other.
Status sort_pairs(const Problem& p, int64_t first, int64_t last) {
  const auto run = p.codes[0] == code_float32 ? sort_pairs_of<FloatKey>
                   : p.codes[0] == code_int32 ? sort_pairs_of<SignedKey> : sort_pairs_of<PlainKey>;
  if (first == last) return sort_by_keys(p, first, last);
  for (int64_t r = first; r < last; ++r) {
    if (run(row_of(p, 0, r), row_of(p, 1, r), p.axis, p.outer * p.inner == 1)) continue;
    const Status status = sort_by_keys(p, r, r + 1);
    if (status != status_good) return status;
  }
  return status_good;
}

bool valid(const Problem& p) {
  if (p.num_keys < 1 || p.num_operands < p.num_keys || p.outer < 0 || p.axis < 0 || p.inner < 0) return false;
  return std::all_of(p.codes, p.codes + p.num_operands, [](int64_t code) { return code >= 0 && code < code_count; });
}

}  // namespace
}  // namespace nj::sorting

extern "C" int64_t nj_sort(int64_t num_operands, int64_t num_keys, const int64_t* codes, char* const* ins, char* const* outs,
                           int64_t outer, int64_t axis, int64_t inner, const int64_t* in_strides, const int64_t* out_strides) {
  using namespace nj::sorting;
  Problem problem{num_operands, num_keys, codes, ins, outs, outer, axis, inner, in_strides, out_strides};
  if (!valid(problem)) return status_bad_argument;
  if (axis == 0 || inner == 0) return status_good;
  const auto run = num_operands == 1 && row_sorts[codes[0]] ? sort_values : are_pairs(problem) ? sort_pairs : sort_by_keys;
  if (outer == 0) return run(problem, 0, 0);  // takes one thread's memory, which a caller measures
  if (outer * inner == 1) return run(problem, 0, 1);  // outside of a region of threads, so that it may have its own
  return share_rows(problem, run, outer * inner, axis);
}
NJ_KERNEL(nj_sort);
