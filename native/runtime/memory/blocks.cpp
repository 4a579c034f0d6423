// Size classes (four per power of two), so that results reuse warm pages. Blocks of 4 MiB and more are 2 MiB-aligned mappings
// with huge pages. Free blocks are kept up to a limit; beyond it the least recently used ones go back to the system.
#include "runtime/memory/blocks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/process/cgroup.h"
#include "runtime/threads/spinlock.h"

namespace nj {

namespace {

constexpr size_t kUnit = 64;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kHugeFrom = size_t(4) << 20;
constexpr size_t kLargest = size_t(1) << 46;
constexpr size_t kMaxCache = size_t(4) << 30;
constexpr int kClasses = 4 + 4 * 42;

struct SizeClass {
  int index;
  size_t capacity;
};

SizeClass size_class_of(size_t nbytes) {
  if (nbytes >= kHugeFrom) nbytes = (nbytes + kHugePage - 1) / kHugePage * kHugePage;
  size_t units = nbytes == 0 ? 1 : (nbytes + kUnit - 1) / kUnit;
  if (units <= 4) return {int(units) - 1, units * kUnit};
  int power = 63 - __builtin_clzll(units - 1);
  size_t step = size_t(1) << (power - 2), base = size_t(1) << power;
  size_t steps = (units - base + step - 1) / step;
  return {4 + (power - 2) * 4 + int(steps) - 1, (base + steps * step) * kUnit};
}

char* map_huge(size_t capacity) {
  size_t length = capacity + kHugePage;
  void* raw = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  uintptr_t start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > start) munmap(raw, aligned - start);
  uintptr_t end = start + length, used = aligned + capacity;
  if (end > used) munmap(reinterpret_cast<void*>(used), end - used);
#ifdef MADV_HUGEPAGE
  madvise(reinterpret_cast<void*>(aligned), capacity, MADV_HUGEPAGE);
#endif
  return reinterpret_cast<char*>(aligned);
}

char* system_allocate(size_t capacity) {
  if (capacity >= kHugeFrom) return map_huge(capacity);
  void* memory = nullptr;
  return posix_memalign(&memory, kUnit, capacity) == 0 ? static_cast<char*>(memory) : nullptr;
}

void system_release(char* memory, size_t capacity) {
  if (capacity >= kHugeFrom) {
    munmap(memory, capacity);
  } else {
    std::free(memory);
  }
}

}  // namespace

Block::~Block() {
  if (data) system_release(data, capacity);
}

namespace {

size_t default_cap() {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return size_t(1) << 30;
  return std::min(std::min(size_t(pages) * size_t(page), cgroup_limits("").memory_bytes) / 4, kMaxCache);
}

struct Pool {
  Pool() { stats.limit = default_cap(); }

  SpinLock lock;
  Block* free_blocks[kClasses] = {};
  Block *oldest = nullptr, *newest = nullptr;
  PoolStats stats;
  size_t window_peak = 0;
};

// Never destroyed: threads may still return blocks while the process ends.
Pool& pool = *new Pool;

// The three below need the lock.
void unlink(Block* block) {
  (block->older ? block->older->newer : pool.oldest) = block->newer;
  (block->newer ? block->newer->older : pool.newest) = block->older;
  if (block->above) {
    block->above->below = block->below;
  } else {
    pool.free_blocks[block->size_class] = block->below;
  }
  if (block->below) block->below->above = block->above;
  pool.stats.cached -= block->capacity;
}

void link_free(Block* block) {
  block->older = pool.newest;
  block->newer = nullptr;
  (pool.newest ? pool.newest->newer : pool.oldest) = block;
  pool.newest = block;
  Block*& top = pool.free_blocks[block->size_class];
  block->below = top;
  block->above = nullptr;
  if (top) top->above = block;
  top = block;
  pool.stats.cached += block->capacity;
}

void count_live(size_t capacity) {
  pool.stats.live += capacity;
  pool.stats.peak = std::max(pool.stats.peak, pool.stats.live);
  pool.window_peak = std::max(pool.window_peak, pool.stats.live);
  ++pool.stats.allocations;
}

// Gives the oldest free blocks back to the system until at most `limit` bytes are cached.
void shrink_cache(size_t limit) {
  Block* victims = nullptr;
  {
    SpinGuard guard(pool.lock);
    while (pool.stats.cached > limit) {
      Block* block = pool.oldest;
      unlink(block);
      block->below = victims;
      victims = block;
    }
  }
  while (victims) delete std::exchange(victims, victims->below);
}

Block* new_block(SizeClass wanted) {
  std::unique_ptr<Block> block(new (std::nothrow) Block(wanted.capacity, wanted.index));
  if (!block) return nullptr;
  block->data = system_allocate(wanted.capacity);
  if (!block->data) {
    shrink_cache(0);
    block->data = system_allocate(wanted.capacity);
    if (!block->data) return nullptr;
  }
  SpinGuard guard(pool.lock);
  count_live(wanted.capacity);
  return block.release();
}

}  // namespace

Block* take_block(size_t nbytes) {
  if (nbytes > kLargest) return nullptr;
  SizeClass wanted = size_class_of(nbytes);
  {
    SpinGuard guard(pool.lock);
    Block* block = pool.free_blocks[wanted.index];
    if (block) {
      unlink(block);
      count_live(block->capacity);
      ++pool.stats.reuses;
      return block;
    }
  }
  return new_block(wanted);
}

void return_block(Block* block) {
  bool full;
  {
    SpinGuard guard(pool.lock);
    pool.stats.live -= block->capacity;
    link_free(block);
    full = pool.stats.cached > pool.stats.limit;
  }
  if (full) shrink_cache(pool.stats.limit);
}

size_t pool_capacity(size_t nbytes) { return size_class_of(nbytes).capacity; }

bool pool_gives(size_t nbytes) { return nbytes <= kLargest; }

PoolStats pool_stats() {
  SpinGuard guard(pool.lock);
  return pool.stats;
}

void trim_pool() { shrink_cache(0); }

size_t limit_pool(size_t limit) {
  size_t previous;
  {
    SpinGuard guard(pool.lock);
    previous = std::exchange(pool.stats.limit, limit);
  }
  shrink_cache(limit);
  return previous;
}

PoolWindow::PoolWindow() {
  SpinGuard guard(pool.lock);
  before_ = pool.stats.live, outer_ = std::exchange(pool.window_peak, before_);
}

size_t PoolWindow::end() {
  SpinGuard guard(pool.lock);
  const size_t peak = pool.window_peak;
  pool.window_peak = std::max(outer_, peak);
  return peak - before_;
}

namespace {

void before_fork() { pool.lock.lock(); }
void after_fork() { pool.lock.unlock(); }
const int kRegistered = pthread_atfork(before_fork, after_fork, after_fork);

}  // namespace
}  // namespace nj
