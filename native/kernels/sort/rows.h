// Kernels that treat every row of an array alike: statuses, and rows shared among threads. No Python in here.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/threads/parallel.h"

namespace nj::sorting {

enum Status : int64_t { status_good = 0, status_no_memory = 1, status_bad_argument = 2, status_row_too_long = 3 };

constexpr int64_t kChunkElements = 32768;  // of the rows that one chunk of a parallel region takes

// run(problem, first, last) for runs of rows, some at the same time; the status of one that failed, if any did.
template <class Problem>
int64_t share_rows(const Problem& problem, Status (*run)(const Problem&, int64_t first, int64_t last), int64_t rows,
                   int64_t row_size) {
  const int64_t per_chunk = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, row_size));
  std::atomic<int64_t> failed{status_good};
  parallel_for((rows + per_chunk - 1) / per_chunk, [&](int64_t chunk) {
    const Status status = run(problem, chunk * per_chunk, std::min((chunk + 1) * per_chunk, rows));
    if (status != status_good) failed.store(status);
  });
  return failed.load();
}

}  // namespace nj::sorting
