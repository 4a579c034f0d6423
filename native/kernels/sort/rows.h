// Kernels that treat every row of an array alike: statuses, and rows shared among threads. No Python in here.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/memory/pool.h"
#include "runtime/threads/threads.h"

namespace nj::sorting {

enum Status : int64_t { status_good = 0, status_no_memory = 1, status_bad_argument = 2, status_row_too_long = 3 };

// Memory of the pool; data is null when there is none.
template <class T>
struct Array {
  explicit Array(int64_t n)
      : scratch(size_t(std::max<int64_t>(n, 1)) * sizeof(T)), data(reinterpret_cast<T*>(scratch.data())) {}
  Scratch scratch;
  T* data;
};

constexpr int64_t kChunkElements = 32768;  // of the rows that one chunk of a parallel region takes

// run(problem, first, last) for runs of rows, some at the same time; the status of one that failed, if any did.
template <class Problem>
int64_t share_rows(const Problem& problem, Status (*run)(const Problem&, int64_t first, int64_t last), int64_t rows,
                   int64_t row_size) {
  struct Shared {
    const Problem* problem;
    Status (*run)(const Problem&, int64_t, int64_t);
    int64_t rows, per_chunk;
    std::atomic<int64_t> status;
  };
  const int64_t per_chunk = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, row_size));
  Shared shared{&problem, run, rows, per_chunk, {status_good}};
  auto work = [](void* context, int64_t begin, int64_t end) {
    Shared& of = *static_cast<Shared*>(context);
    const Status status = of.run(*of.problem, begin * of.per_chunk, std::min(end * of.per_chunk, of.rows));
    if (status != status_good) of.status.store(status);
  };
  nj_parallel_for((rows + per_chunk - 1) / per_chunk, work, &shared);
  return shared.status.load();
}

}  // namespace nj::sorting
