// nj_prefix: running sums, products and limits of rows, on all threads. No Python in here.
//
// Rows are cut into runs by their length alone. A thread first finds what its run adds up to, which brings it into the
// cache; waits until the run before has reported what is in front; reports to the next one; and then writes its results. So
// memory is read once, and the bits are the same for any number of threads (compare Merrill and Garland, "Single-pass parallel
// prefix scan with decoupled look-back", 2016).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "kernels/registry.h"
#include "kernels/prefix.h"
#include "simd/choice.h"
#include "runtime/threads/parallel.h"

namespace nj {

NJ_EACH_SIMD(extern const prefix::Scan prefix_scans[prefix::kind_count][kCommonCodes])

namespace prefix {

Scan scan_of(int64_t kind, int64_t code) {
  if (kind < 0 || kind >= kind_count || code < 0 || code >= kCommonCodes) return nullptr;
  return NJ_CHOSEN_SIMD(prefix_scans)[kind][code];
}

namespace {

template <class T> void write_neutral(int64_t kind, void* to, int words) {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::is_integer ? Limits::lowest() : T(-Limits::infinity());
  const T greatest = Limits::is_integer ? Limits::max() : Limits::infinity();
  const T value = kind == kind_add   ? (Limits::is_integer ? T(0) : T(-0.0))
                  : kind == kind_mul ? T(1)
                  : kind == kind_max ? least
                                     : greatest;
  for (int w = 0; w < words; ++w) static_cast<T*>(to)[w] = value;
}

}  // namespace

void neutral_of(int64_t kind, int64_t code, void* to) {
  switch (code) {
    case code_int8: return write_neutral<int8_t>(kind, to, 1);
    case code_int16: return write_neutral<int16_t>(kind, to, 1);
    case code_int32: return write_neutral<int32_t>(kind, to, 1);
    case code_int64: return write_neutral<int64_t>(kind, to, 1);
    case code_uint8: return write_neutral<uint8_t>(kind, to, 1);
    case code_uint16: return write_neutral<uint16_t>(kind, to, 1);
    case code_uint32: return write_neutral<uint32_t>(kind, to, 1);
    case code_uint64: return write_neutral<uint64_t>(kind, to, 1);
    case code_float32: return write_neutral<float>(kind, to, 1);
    case code_float64: return write_neutral<double>(kind, to, 1);
    case code_complex64: return write_neutral<float>(kind, to, 2);
    default: return write_neutral<double>(kind, to, 2);
  }
}

namespace {

constexpr int64_t kRun = 32768;       // elements of a run: they stay in the cache of a processor
constexpr int kSpins = 2000;          // before a waiting thread gives up its processor

struct Problem {
  Scan scan;
  int64_t item, rows, length;
  bool backwards;
  const char* in;
  char* out;
  char neutral[16];
  int64_t runs;      // of a row
  int64_t per_task;  // whole rows of a task, where rows are short
  bool alone;        // no other thread takes part
  // What is in front of run number `reported`, for the next one.
  alignas(64) std::atomic<int64_t> reported{0};
  char front[16];

  void short_rows(int64_t task) {
    const int64_t last = std::min(rows, (task + 1) * per_task);
    char total[16];
    for (int64_t row = task * per_task; row < last; ++row)
      scan(in + row * length * item, out + row * length * item, length, backwards, neutral, neutral, total);
  }

  void part_of_row(int64_t task) {
    const int64_t row = task / runs, run = task % runs, first = run * kRun, n = std::min(kRun, length - first);
    const int64_t offset = (row * length + (backwards ? length - first - n : first)) * item;
    char before[16], total[16];
    // A thread that is alone finds the sum while it writes the results: it is the same.
    if (!alone) scan(in + offset, nullptr, n, backwards, neutral, neutral, total);
    wait_for(task);
    std::memcpy(before, run == 0 ? neutral : front, sizeof before);
    if (alone) {
      scan(in + offset, out + offset, n, backwards, neutral, before, front);
      reported.store(task + 1, std::memory_order_relaxed);
      return;
    }
    report(task, before, total);
    scan(in + offset, out + offset, n, backwards, neutral, before, total);
  }

  void wait_for(int64_t task) {
    for (int k = 0; k < kSpins; ++k) {
      if (reported.load(std::memory_order_acquire) == task) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    yield_until([&] { return reported.load(std::memory_order_acquire) == task; });
  }

  // `total` alone, combined with what is in front, by a scan of one element.
  void report(int64_t task, const char* before, const char* total) {
    scan(total, nullptr, 1, false, neutral, before, front);
    reported.store(task + 1, std::memory_order_release);
  }
};

}  // namespace
}  // namespace prefix
}  // namespace nj

extern "C" int64_t nj_prefix(int64_t kind, int64_t code, int64_t backwards, int64_t rows, int64_t length, const char* in,
                             char* out) {
  using namespace nj::prefix;
  Problem problem;
  problem.scan = scan_of(kind, code);
  if (!problem.scan || rows < 0 || length < 0) return 1;
  if (rows == 0 || length == 0) return 0;
  problem.item = nj::kItemSizes[code], problem.rows = rows, problem.length = length, problem.backwards = backwards != 0;
  problem.in = in, problem.out = out;
  neutral_of(kind, code, problem.neutral);
  problem.runs = (length + kRun - 1) / kRun, problem.per_task = std::max<int64_t>(1, kRun / length);
  const bool whole = problem.runs == 1;
  const int64_t tasks = whole ? (rows + problem.per_task - 1) / problem.per_task : rows * problem.runs;
  problem.alone = nj::thread_count() == 1;
  // Tasks are claimed in order: whom a task waits for has been claimed before it.
  nj::parallel_for(tasks, [&](int64_t task) { whole ? problem.short_rows(task) : problem.part_of_row(task); });
  return 0;
}
NJ_KERNEL(nj_prefix);

extern "C" int64_t nj_prefix_in_place(int64_t kind, int64_t code, int64_t backwards, int64_t rows, int64_t length, char* data) {
  return nj_prefix(kind, code, backwards, rows, length, data, data);
}
NJ_KERNEL(nj_prefix_in_place);
