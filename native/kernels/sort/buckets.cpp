// See buckets.h. Each part of a row counts the numbers of each bucket, and gets places of its own in it, so that threads move
// numbers without meeting.
#include "kernels/sort/buckets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/sort/order.h"
#include "runtime/threads/parallel.h"
#include "simd/choice.h"

namespace nj {
NJ_EACH_SIMD(extern const sorting::BucketIds bucket_id_loops[6])
}

namespace nj::sorting {

namespace {

constexpr int64_t kFewThreads = 4, kFewBuckets = 16, kMostBuckets = 64;
constexpr int64_t kSamples = 32;  // per bucket
constexpr int64_t kPart = 1 << 15, kMostParts = 64;
constexpr int64_t kBlock = 1024;  // numbers whose buckets are kept at a time

template <class T> T next_above(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::nextafter(x, std::numeric_limits<T>::infinity());
  else return x == std::numeric_limits<T>::max() ? x : T(x + 1);
}

// One row. T: its numbers; Bits: integers as wide, as which they are moved.
template <class T, class Bits> struct Row {
  const char* from;
  char* to;
  const int64_t n;
  const RowSort row_sort;
  const BucketIds ids_of;
  const int64_t buckets = thread_count() > kFewThreads ? kMostBuckets : kFewBuckets;
  const int64_t parts = std::clamp<int64_t>(n / kPart, 1, kMostParts);
  T splitters[kMostBuckets] = {};
  int64_t starts[kMostBuckets + 1] = {};

  // Numbers at places of a multiplicative sequence, so that no period of the row is met. A number that is sampled for several
  // splitters gets a bucket of its own: the next splitter is the next number above.
  void choose_splitters() {
    const Workspace<T> samples(buckets * kSamples);
    uint64_t place = 0;
    for (int64_t i = 0; i < buckets * kSamples; ++i) {
      place += 0x9e3779b97f4a7c15u;  // of a full period, near 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4)
      const auto index = static_cast<int64_t>(static_cast<double>(place >> 11) * 0x1p-53 * static_cast<double>(n));
      std::memcpy(samples.data() + i, from + std::min(index, n - 1) * int64_t(sizeof(T)), sizeof(T));
    }
    row_sort(samples.data(), buckets * kSamples, nullptr);
    for (int64_t k = 0; k + 1 < buckets; ++k) {
      splitters[k] = samples.data()[(k + 1) * kSamples];
      if (k && splitters[k] <= splitters[k - 1]) splitters[k] = next_above(splitters[k - 1]);
    }
  }

  // body(number, its bucket) for each number of a part.
  template <class Body> void each_number(int64_t part, Body body) const {
    uint8_t ids[kBlock];
    const int64_t last = n * (part + 1) / parts;
    for (int64_t first = n * part / parts; first < last; first += kBlock) {
      const int64_t count = std::min(kBlock, last - first);
      const char* block = from + first * int64_t(sizeof(T));
      ids_of(block, count, reinterpret_cast<const char*>(splitters), buckets - 1, ids);
      for (int64_t i = 0; i < count; ++i) body(block + i * int64_t(sizeof(T)), ids[i]);
    }
  }

  void fill() {
    const Workspace<int64_t> memory(parts * buckets);
    int64_t* const places = memory.data();
    parallel_for(parts, [&](int64_t part) {
      int64_t* counts = places + part * buckets;
      std::fill_n(counts, buckets, 0);
      each_number(part, [counts](const char*, uint8_t bucket) { ++counts[bucket]; });
    });
    int64_t before = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      starts[bucket] = before;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t here = places[part * buckets + bucket];
        places[part * buckets + bucket] = before;
        before += here;
      }
    }
    starts[buckets] = n;
    parallel_for(parts, [&](int64_t part) {
      int64_t* next = places + part * buckets;
      each_number(part, [&](const char* number, uint8_t bucket) {
        std::memcpy(to + next[bucket]++ * int64_t(sizeof(Bits)), number, sizeof(Bits));
      });
    });
  }

  void sort() {
    choose_splitters();
    fill();
    parallel_for(buckets, [&](int64_t bucket) {
      row_sort(to + starts[bucket] * int64_t(sizeof(T)), starts[bucket + 1] - starts[bucket], nullptr);
    });
  }
};

template <class T, class Bits> void sort_row(int64_t code, const char* from, char* to, int64_t n, BucketIds ids_of) {
  Row<T, Bits>{from, to, n, row_sorts[code], ids_of}.sort();
}

struct Kind {
  void (*sort)(int64_t code, const char* from, char* to, int64_t n, BucketIds ids_of);
  int loop;
};

Kind kind_of(int64_t code) {
  switch (code) {
    case code_int32: return {sort_row<int32_t, uint32_t>, 0};
    case code_int64: return {sort_row<int64_t, uint64_t>, 1};
    case code_uint32: return {sort_row<uint32_t, uint32_t>, 2};
    case code_uint64: return {sort_row<uint64_t, uint64_t>, 3};
    case code_float32: return {sort_row<float, uint32_t>, 4};
    case code_float64: return {sort_row<double, uint64_t>, 5};
    default: return {nullptr, 0};
  }
}

}  // namespace

bool has_buckets(int64_t code, int64_t n) {
  return n >= kBucketed && thread_count() > 1 && row_sorts[code] && kind_of(code).sort;
}

void bucket_sort(int64_t code, const char* from, char* to, int64_t n) {
  const Kind kind = kind_of(code);
  kind.sort(code, from, to, n, NJ_CHOSEN_SIMD(bucket_id_loops)[kind.loop]);
}

}  // namespace nj::sorting
