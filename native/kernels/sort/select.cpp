// See select.h.
#include "kernels/sort/select.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/threads/parallel.h"

namespace nj::select {

namespace {

struct Problem {
  const uint8_t* mask;
  int64_t size;
  int64_t* counts;
  const char* rows;
  int64_t row_bytes;
  char* to;

  int64_t stop(int64_t chunk) const { return std::min(size, (chunk + 1) * kChunk); }

  void count(int64_t chunk) const {
    int64_t total = 0;
    for (int64_t k = chunk * kChunk; k < stop(chunk); ++k) total += mask[k] != 0;
    counts[chunk] = total;
  }

  // Every row is written to where the next one belongs, and stays there if it is chosen: nothing depends on the mask but
  // an addition. counts: how many rows come before each chunk.
  template <class T> void items(int64_t chunk) const {
    int64_t place = counts[chunk];
    const int64_t end = counts[chunk + 1];
    const auto* from = reinterpret_cast<const T*>(rows);
    auto* target = reinterpret_cast<T*>(to);
    for (int64_t k = chunk * kChunk; place < end; ++k) {
      target[place] = from[k];
      place += mask[k] != 0;
    }
  }

  void wide_rows(int64_t chunk) const {
    int64_t place = counts[chunk];
    for (int64_t k = chunk * kChunk; k < stop(chunk); ++k)
      if (mask[k]) std::memcpy(to + place++ * row_bytes, rows + k * row_bytes, size_t(row_bytes));
  }

  void write(int64_t chunk) const {
    switch (row_bytes) {
      case 1: return items<uint8_t>(chunk);
      case 2: return items<uint16_t>(chunk);
      case 4: return items<uint32_t>(chunk);
      case 8: return items<uint64_t>(chunk);
      default: return wide_rows(chunk);
    }
  }
};

}  // namespace

int64_t count(const uint8_t* mask, int64_t size, int64_t* before) {
  const Problem problem{mask, size, before, nullptr, 0, nullptr};
  parallel_for(chunk_count(size), [&](int64_t chunk) { problem.count(chunk); });
  int64_t total = 0;
  for (int64_t chunk = 0; chunk < chunk_count(size); ++chunk) total += std::exchange(before[chunk], total);
  before[chunk_count(size)] = total;
  return total;
}

void gather(const uint8_t* mask, int64_t size, int64_t* before, const char* rows, int64_t row_bytes, char* to) {
  const Problem problem{mask, size, before, rows, row_bytes, to};
  parallel_for(chunk_count(size), [&](int64_t chunk) { problem.write(chunk); });
}

}  // namespace nj::select
