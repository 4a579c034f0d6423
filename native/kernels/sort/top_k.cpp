// nj_top_k: the k greatest elements along the middle axis and their positions. No Python in here.
//
// A row is read once, in blocks: the k-th greatest element so far is a threshold that most blocks do not reach anywhere.
// What exceeds it is gathered, and thinned out to the best k whenever the gathering place is full.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernels/registry.h"
#include "kernels/sort/order.h"
#include "kernels/sort/rows.h"

namespace nj::sorting {

namespace {

constexpr int64_t kBlock = 32;
constexpr int64_t kLeastRoom = 64, kRoomFactor = 4;  // entries for candidates, of which k stay
constexpr int64_t kSortFraction = 16;  // the row is sorted when k is more than this part of it

struct Problem {
  int64_t k, outer, axis, inner;
  const char* in;
  char* values;
  int32_t* positions;
};

// The greater Key comes first, and of equal ones that with the smaller position.
template <class Key, bool kWide = sizeof(Key) == 8>
struct Candidate {  // narrow keys: one number, so that comparing is cheap
  using Word = uint64_t;
  static constexpr Key kLowest = std::numeric_limits<Key>::min();
  static Word make(Key key, int64_t position) {
    return uint64_t(uint32_t(int32_t(key)) ^ 0x80000000u) << 32 | uint32_t(~uint32_t(position));
  }
  static Key key(Word word) { return Key(int32_t(uint32_t(word >> 32) ^ 0x80000000u)); }
  static int64_t position(Word word) { return int64_t(uint32_t(~uint32_t(word))); }
};

struct WideWord {
  int64_t key, position;
  bool operator>(const WideWord& other) const { return key != other.key ? key > other.key : position < other.position; }
};

template <class Key>
struct Candidate<Key, true> {
  using Word = WideWord;
  static constexpr Key kLowest = std::numeric_limits<Key>::min();
  static Word make(Key key, int64_t position) { return {key, position}; }
  static Key key(const Word& word) { return word.key; }
  static int64_t position(const Word& word) { return word.position; }
};

// Signed integers in the total order of the elements.
template <class T>
struct IntKeys {
  using Bits = T;
  using Key = T;
  static Key key(Bits bits) { return bits; }
};
template <class T>
struct UnsignedKeys {
  using Bits = T;
  using Key = std::make_signed_t<T>;
  static Key key(Bits bits) { return Key(bits ^ T(T(1) << (sizeof(T) * 8 - 1))); }
};
// A float's bits, read as an integer, are ordered as the float is, backwards where the sign is set.
template <class T>
struct FloatKeys {
  using Bits = T;
  using Key = T;
  static Key key(Bits bits) { return Key(bits ^ ((bits >> (sizeof(T) * 8 - 1)) & std::numeric_limits<T>::max())); }
};
struct BoolKeys {
  using Bits = uint8_t;
  using Key = int8_t;
  static Key key(Bits bits) { return Key(bits != 0); }
};

template <class Keys>
struct Selection {
  using Bits = typename Keys::Bits;
  using Key = typename Keys::Key;
  using Entry = Candidate<Key>;
  using Word = typename Entry::Word;
  static constexpr bool kSortable = std::is_same_v<Word, uint64_t>;

  static bool any_above(const Bits* row, Key threshold) {
    Key found = 0;
    for (int64_t i = 0; i < kBlock; ++i) found = Key(found | Key(-Key(Keys::key(row[i]) > threshold)));
    return found != 0;
  }

  static void keep_best(Word* words, int64_t count, int64_t k) {
    if (k < count) std::nth_element(words, words + (k - 1), words + count, std::greater<Word>());
  }

  // Puts the best k of a row into `words`, in order.
  static void select(const Bits* row, int64_t n, int64_t k, Word* words, int64_t room) {
    int64_t count = std::min(n, room), i = count;
    for (int64_t j = 0; j < count; ++j) words[j] = Entry::make(Keys::key(row[j]), j);
    keep_best(words, count, k);
    count = k;
    Key threshold = Entry::key(words[k - 1]);
    // Later elements that equal the threshold come after it.
    while (i < n) {
      if (i + kBlock <= n && !any_above(row + i, threshold)) {
        i += kBlock;
        continue;
      }
      // Without a branch per element: it cannot be predicted which ones exceed the threshold.
      const int64_t end = std::min(i + kBlock, n);
      for (; i < end; ++i) {
        const Key key = Keys::key(row[i]);
        words[count] = Entry::make(key, i);
        count += key > threshold;
      }
      if (count < room) continue;
      keep_best(words, count, k);
      count = k;
      threshold = Entry::key(words[k - 1]);
    }
    keep_best(words, count, k);
    std::sort(words, words + k, std::greater<Word>());
  }

  // All of a row in order: the fast sort of words is an ascending one.
  static void sort_all(const Bits* row, int64_t n, uint64_t* words) {
    for (int64_t j = 0; j < n; ++j) words[j] = ~Entry::make(Keys::key(row[j]), j);
    sort_words(words, n);
    for (int64_t j = 0; j < n; ++j) words[j] = ~words[j];
  }

  static int64_t room_for(const Problem& p) {
    const bool sorting = kSortable && p.k > 1 && kSortFraction * p.k > p.axis;
    return sorting ? p.axis : std::min(p.axis, std::max(kRoomFactor * p.k, kLeastRoom));
  }

  static void best_of(const Problem& p, const Bits* row, Word* words, int64_t room) {
    if constexpr (kSortable) {
      if (room == p.axis && p.k > 1) return sort_all(row, p.axis, words);
    }
    select(row, p.axis, p.k, words, room);
  }

  static Status rows(const Problem& p, int64_t first, int64_t last) {
    const int64_t room = room_for(p);
    const Workspace<Word> words(room + kBlock);  // a block more, as it is looked at after a block
    const Workspace<Bits> line(p.inner == 1 ? 0 : p.axis);
    for (int64_t row = first; row < last; ++row) {
      const int64_t o = row / p.inner, i = row % p.inner;
      const Bits* from = reinterpret_cast<const Bits*>(p.in) + o * p.axis * p.inner + i;
      const Bits* data = from;
      if (p.inner != 1) {
        for (int64_t j = 0; j < p.axis; ++j) line.data()[j] = from[j * p.inner];
        data = line.data();
      }
      best_of(p, data, words.data(), room);
      const int64_t start = o * p.k * p.inner + i;
      Bits* values = reinterpret_cast<Bits*>(p.values) + start;
      for (int64_t j = 0; j < p.k; ++j) {
        const int64_t position = Entry::position(words.data()[j]);
        values[j * p.inner] = data[position];
        p.positions[start + j * p.inner] = int32_t(position);
      }
    }
    return status_good;
  }
};

using Rows = Status (*)(const Problem&, int64_t first, int64_t last);

Rows rows_of(int64_t code) {
  switch (code) {
    case code_bool: return Selection<BoolKeys>::rows;
    case code_int8: return Selection<IntKeys<int8_t>>::rows;
    case code_int16: return Selection<IntKeys<int16_t>>::rows;
    case code_int32: return Selection<IntKeys<int32_t>>::rows;
    case code_int64: return Selection<IntKeys<int64_t>>::rows;
    case code_uint8: return Selection<UnsignedKeys<uint8_t>>::rows;
    case code_uint16: return Selection<UnsignedKeys<uint16_t>>::rows;
    case code_uint32: return Selection<UnsignedKeys<uint32_t>>::rows;
    case code_uint64: return Selection<UnsignedKeys<uint64_t>>::rows;
    case code_float16:
    case code_bfloat16: return Selection<FloatKeys<int16_t>>::rows;
    case code_float32: return Selection<FloatKeys<int32_t>>::rows;
    case code_float64: return Selection<FloatKeys<int64_t>>::rows;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace nj::sorting

extern "C" int64_t nj_top_k(int64_t code, int64_t k, int64_t outer, int64_t axis, int64_t inner, const char* in, char* values,
                            int32_t* positions) {
  using namespace nj::sorting;
  const Rows rows = rows_of(code);
  if (!rows || outer < 0 || axis < 0 || inner < 0 || k < 0 || k > axis) return status_bad_argument;
  if (axis > std::numeric_limits<int32_t>::max()) return status_row_too_long;
  if (inner == 0 || k == 0) return status_good;
  const Problem problem{k, outer, axis, inner, in, values, positions};
  if (outer == 0) return rows(problem, 0, 0);  // takes one thread's memory, which a caller measures
  return share_rows(problem, rows, outer * inner, axis);
}
NJ_KERNEL(nj_top_k);
