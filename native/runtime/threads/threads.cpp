// Thread pool of the process. The caller and the workers claim chunks of work one by one (self-scheduling), so that a worker
// that the system does not schedule claims nothing and delays nobody.
#include "runtime/threads/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/process/cgroup.h"
#include "runtime/process/interrupt.h"
#include "kernels/registry.h"
#include "runtime/process/signals_blocked.h"
#include "runtime/threads/placement.h"

namespace nj {

namespace {

using Body = void (*)(void* context, int64_t begin_chunk, int64_t end_chunk);
using Clock = std::chrono::steady_clock;

// A pause takes 10 to 40 ns; waiting threads give up their processor after about 20 us.
constexpr int kSpins = 700;
constexpr auto kSpinTime = std::chrono::microseconds(20);
constexpr auto kBetweenSignals = std::chrono::milliseconds(100);
constexpr uint64_t kLeftMask = 0xffffffffu;
constexpr int64_t kMostChunks = kLeftMask;
constexpr int64_t kLooks = 64;  // checks of the stop flag by a caller that runs a region alone

// Where other processes take the processors, a worker may be put aside for milliseconds with a chunk in its hands. A caller that
// waited so long, and several times as long as it worked, runs the next regions alone: so many times as long as it had waited
// that trying again costs a small part of the time, but not longer than it takes to notice that the processors are free again.
constexpr auto kLongWait = std::chrono::microseconds(200);
constexpr int kWaitToWork = 3, kAloneToWait = 4;
constexpr auto kLongestAlone = std::chrono::seconds(1);

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct Region {
  Body body = nullptr;
  void* context = nullptr;
  int64_t chunks = 0;
  StopFlag* stop = nullptr;  // the caller's, where chunks are machine code that looks at it
};

struct Worker {
  Placement placement;
  std::thread thread;
};

struct Pool {
  std::mutex entry;  // held while a region runs, or threads start or end; only try_lock
  Clock::time_point alone_until{};  // with `entry` held

  // Number of the region in the upper half, number of unclaimed chunks in the lower half. A thread that decrements it owns a
  // chunk, and `region` does not change before that chunk is done.
  alignas(64) std::atomic<uint64_t> claims{0};
  Region region;
  alignas(64) std::atomic<int64_t> unfinished{0};
  std::atomic<bool> caller_sleeps{false};

  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable work, done;
  std::deque<Worker> workers;
  int started_for = 0;  // thread_count() at their start; 0: there are no threads
  std::atomic<bool> orphaned{false};  // in a forked child, which has no workers
};

// Replaced in a forked child and never destroyed: threads may outlive main().
std::atomic<Pool*> current_pool{new Pool};
std::atomic<int> wanted{0};  // 0: one per processor
std::atomic<uint64_t> regions{0};
thread_local bool inside_region = false;
thread_local Clock::duration waited_inside{};  // for chunks of other threads, since the region began
thread_local bool holds_entry = false;  // a signal handler may run in the middle of a region, and change the number of threads

// Claims and runs chunks until none is left.
void work_on(Pool* pool) {
  inside_region = true;
  uint64_t seen = pool->claims.load(std::memory_order_acquire);
  while (seen & kLeftMask) {
    if (!pool->claims.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    const Region& region = pool->region;
    const int64_t chunk = region.chunks - static_cast<int64_t>(seen & kLeftMask);
    {
      StopScope watched({region.stop, current_stop().hears_signals});
      region.body(region.context, chunk, chunk + 1);
    }
    if (pool->unfinished.fetch_sub(1) == 1 && pool->caller_sleeps.load()) {
      std::lock_guard<std::mutex> guard(pool->mutex);
      pool->done.notify_one();
    }
    seen = pool->claims.load(std::memory_order_acquire);
  }
  inside_region = false;
}

bool has_work(const Pool* pool) { return (pool->claims.load() & kLeftMask) != 0 || pool->stopping.load(); }

// Spins for a short time; whether `ready` became true.
template <class Ready>
bool spin_until(Ready ready) {
  const auto start = Clock::now();
  for (int k = 1; k <= kSpins; ++k) {
    if (ready()) return true;
    pause_briefly();
    if (k % 32 == 0 && Clock::now() - start > kSpinTime) break;
  }
  return ready();
}

void worker_main(Pool* pool, Placement* placement) {
  while (!pool->stopping.load()) {
    placement->note();
    if (!spin_until([pool] { return has_work(pool); })) {
      std::unique_lock<std::mutex> lock(pool->mutex);
      ++pool->sleepers;
      pool->work.wait(lock, [pool] { return has_work(pool); });
      --pool->sleepers;
      placement->note();
    }
    work_on(pool);
  }
}

// With `entry` held.
void stop(Pool* pool) {
  {
    std::lock_guard<std::mutex> guard(pool->mutex);
    pool->stopping.store(true);
  }
  pool->work.notify_all();
  for (Worker& worker : pool->workers)
    if (worker.thread.joinable()) worker.thread.join();
  pool->workers.clear();
  pool->stopping.store(false);
  pool->started_for = 0;
  pool->alone_until = {};
}

// With `entry` held. Starts fewer threads than wanted if the system refuses more.
void start(Pool* pool) {
  const int count = thread_count();
  if (pool->started_for == count) return;
  if (pool->started_for) stop(pool);
  pool->started_for = count;
  SignalsBlocked blocked;
  try {
    for (int k = 1; k < count; ++k) {
      Worker& worker = pool->workers.emplace_back();
      worker.thread = std::thread(worker_main, pool, &worker.placement);
    }
  } catch (const std::exception&) {  // too many threads, or out of memory
  }
}

class Entry {
 public:
  explicit Entry(Pool* pool) : pool_(pool), taken(!holds_entry && pool->entry.try_lock()) {
    if (taken) holds_entry = true;
  }
  ~Entry() {
    if (!taken) return;
    holds_entry = false;
    pool_->entry.unlock();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Pool* pool_;

 public:
  const bool taken;
};

void wake(Pool* pool, int64_t chunks) {
  int sleeping = pool->sleepers.load();
  if (sleeping == 0) return;
  // With the lock, a worker that is about to sleep either sees this work or is notified.
  std::lock_guard<std::mutex> guard(pool->mutex);
  sleeping = std::min<int64_t>(sleeping, chunks - 1);
  for (int k = 0; k < sleeping; ++k) pool->work.notify_one();
}

void wait_for_workers(Pool* pool) {
  const auto finished = [pool] { return pool->unfinished.load() == 0 || pool->orphaned.load(); };
  if (spin_until(finished)) return;
  pool->caller_sleeps.store(true);
  for (;;) {
    std::unique_lock<std::mutex> lock(pool->mutex);
    if (pool->done.wait_for(lock, kBetweenSignals, finished)) break;
    lock.unlock();
    // Not within kernels, which run to completion: a signal handler may do anything.
    if (pool->region.stop) stop_wanted();
    if (pool->orphaned.load()) break;  // a signal handler forked, and this is the child
  }
  pool->caller_sleeps.store(false);
}

void make_way(Pool* pool) {
  const int here = current_processor();
  for (Worker& worker : pool->workers)
    if (worker.thread.joinable()) worker.placement.make_way(worker.thread.native_handle(), here);
}

// With `entry` held. worked, waited: the time of the caller.
void note_waiting(Pool* pool, Clock::time_point now, Clock::duration worked, Clock::duration waited) {
  if (waited < kLongWait || waited < kWaitToWork * worked) return;
  pool->alone_until = now + std::min<Clock::duration>(kAloneToWait * waited, kLongestAlone);
}

// With `entry` held.
void run_shared(Pool* pool, const Region& region) {
  const Clock::time_point began = Clock::now();
  waited_inside = {};
  pool->region = region;
  pool->unfinished.store(region.chunks);
  make_way(pool);
  const uint64_t number = (pool->claims.load(std::memory_order_relaxed) >> 32) + 1;
  pool->claims.store(number << 32 | static_cast<uint64_t>(region.chunks));
  wake(pool, region.chunks);
  work_on(pool);
  const Clock::time_point worked = Clock::now();
  wait_for_workers(pool);
  const Clock::time_point ended = Clock::now();
  note_waiting(pool, ended, worked - began - waited_inside, ended - worked + waited_inside);
}

// A forked child has no workers. If a signal handler forked in the middle of a region, the chunks of the workers are lost.
void after_fork_in_child() {
  Pool* old = current_pool.load();
  old->orphaned.store(true);
  if (holds_entry && current_stop().flag) current_stop().flag->store(true);
  current_pool.store(new Pool);
}

}  // namespace

namespace {

int processors_of_affinity() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

// With more threads than the CPU quota allows, the system would put all of them to sleep for a part of every period.
int available_processors() {
  const double quota = std::ceil(cgroup_limits("").processors);
  const int most = processors_of_affinity();
  return quota < most ? std::max(1, int(quota)) : most;
}

int thread_count() {
  static const int most = available_processors();
  const int count = wanted.load(std::memory_order_relaxed);
  return count == 0 ? most : std::min(count, most);
}

void set_thread_count(int count) {
  wanted.store(count);
  end_idle_threads();  // if a region is running, the next one restarts them
}

void end_idle_threads() {
  Pool* pool = current_pool.load();
  Entry entry(pool);
  if (entry.taken && pool->started_for) stop(pool);
}

void note_wait(int64_t nanoseconds) { waited_inside += std::chrono::nanoseconds(nanoseconds); }

uint64_t shared_regions() { return regions.load(std::memory_order_relaxed); }

int prepare_threads_for_fork() { return pthread_atfork(nullptr, nullptr, after_fork_in_child); }

namespace {

void run_region(int64_t chunks, Body body, void* context, StopFlag* stop) {
  if (chunks <= 0) return;
  Pool* pool = current_pool.load(std::memory_order_acquire);
  if (chunks == 1 || chunks > kMostChunks || inside_region || thread_count() == 1) {
    body(context, 0, chunks);
    return;
  }
  const Entry entry(pool);
  if (!entry.taken) {
    body(context, 0, chunks);
    return;
  }
  regions.fetch_add(1, std::memory_order_relaxed);
  if (Clock::now() < pool->alone_until) {
    body(context, 0, chunks);
    return;
  }
  start(pool);
  run_shared(pool, {body, context, chunks, stop});
}

// A region of machine code: once the flag is set, chunks are skipped, which the status reports.
struct Stoppable {
  int64_t (*body)(void* context, int64_t begin_chunk, int64_t end_chunk);
  void* context;
  std::atomic<int64_t> status{0};

  void run(int64_t begin, int64_t end) {
    // A range of more than one chunk means that the caller does all the work.
    const int64_t step = std::max<int64_t>(1, (end - begin) / kLooks);
    for (int64_t k = begin; k < end; k += step) {
      const int64_t left = stop_asked() ? kInterrupted : body(context, k, std::min(end, k + step));
      if (left == 0) continue;
      status.store(left, std::memory_order_relaxed);
      return;
    }
  }
};

}  // namespace
}  // namespace nj

extern "C" void nj_parallel_for(int64_t chunks, nj::Body body, void* context) {
  nj::run_region(chunks, body, context, nullptr);
}
NJ_KERNEL(nj_parallel_for);

extern "C" int64_t nj_parallel_until_stopped(int64_t chunks, int64_t (*body)(void*, int64_t, int64_t), void* context) {
  nj::Stoppable region{body, context};
  const auto run = [](void* raw, int64_t begin, int64_t end) { static_cast<nj::Stoppable*>(raw)->run(begin, end); };
  nj::run_region(chunks, run, &region, nj::current_stop().flag);
  const int64_t status = region.status.load(std::memory_order_relaxed);
  return status == 0 && nj::stop_asked() ? nj::kInterrupted : status;
}
NJ_KERNEL(nj_parallel_until_stopped);
