// A pool of memory blocks in size classes (four per power of two), so that results reuse warm pages.
// Blocks of 4 MiB and more are 2 MiB-aligned mappings with huge pages. Free blocks are kept up to a
// cap; beyond it the least recently used ones go back to the system.
#include "runtime/memory/pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/process/cgroup.h"
#include "runtime/python/guard.h"
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

struct Block {
  explicit Block(SizeClass wanted) : capacity(wanted.capacity), size_class(wanted.index) {}
  ~Block() {
    if (buffer.data) system_release(buffer.data, capacity);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Buffer buffer;  // handed out with the block, so that one allocation serves both
  size_t capacity;
  int size_class;
  Block *older, *newer;  // all free blocks by time of return
  Block *below, *above;  // the free blocks of this class, a stack
};

namespace {

struct Pool {
  SpinLock lock;
  Block* free_blocks[kClasses] = {};
  Block *oldest = nullptr, *newest = nullptr;
  size_t cap = 0, live = 0, cached = 0, peak = 0, window_peak = 0;
  uint64_t allocations = 0, reuses = 0;
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
  pool.cached -= block->capacity;
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
  pool.cached += block->capacity;
}

void count_live(size_t capacity) {
  pool.live += capacity;
  pool.peak = std::max(pool.peak, pool.live);
  pool.window_peak = std::max(pool.window_peak, pool.live);
  ++pool.allocations;
}

// Gives the oldest free blocks back to the system until at most `limit` bytes are cached.
void shrink_cache(size_t limit) {
  Block* victims = nullptr;
  {
    SpinGuard guard(pool.lock);
    while (pool.cached > limit) {
      Block* block = pool.oldest;
      unlink(block);
      block->below = victims;
      victims = block;
    }
  }
  while (victims) delete std::exchange(victims, victims->below);
}

Block* new_block(SizeClass wanted) {
  std::unique_ptr<Block> block(new (std::nothrow) Block(wanted));
  if (!block) return nullptr;
  block->buffer.data = system_allocate(wanted.capacity);
  if (!block->buffer.data) {
    shrink_cache(0);
    block->buffer.data = system_allocate(wanted.capacity);
    if (!block->buffer.data) return nullptr;
  }
  block->buffer.block = block.get();
  SpinGuard guard(pool.lock);
  count_live(wanted.capacity);
  return block.release();
}

Block* take_block(size_t nbytes) {
  if (nbytes > kLargest) return nullptr;
  SizeClass wanted = size_class_of(nbytes);
  {
    SpinGuard guard(pool.lock);
    Block* block = pool.free_blocks[wanted.index];
    if (block) {
      unlink(block);
      count_live(block->capacity);
      ++pool.reuses;
      return block;
    }
  }
  return new_block(wanted);
}

void return_block(Block* block) {
  bool full;
  {
    SpinGuard guard(pool.lock);
    pool.live -= block->capacity;
    link_free(block);
    full = pool.cached > pool.cap;
  }
  if (full) shrink_cache(pool.cap);
}

size_t default_cap() {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return size_t(1) << 30;
  return std::min(std::min(size_t(pages) * size_t(page), cgroup_limits("").memory_bytes) / 4, kMaxCache);
}

}  // namespace

BufferRef buffer_new(size_t nbytes) {
  Block* block = take_block(nbytes);
  if (!block) return BufferRef();
  Buffer* buffer = &block->buffer;
  buffer->refs.store(1, std::memory_order_relaxed);
  buffer->queued.store(0, std::memory_order_relaxed);
  buffer->nbytes = nbytes;
  return BufferRef(buffer);
}

BufferRef buffer_promise(size_t nbytes) {
  BufferRef buffer(new (std::nothrow) Buffer);
  if (buffer) buffer->nbytes = nbytes;
  return buffer;
}

bool buffer_allocate(Buffer* buffer) {
  if (buffer->data) return true;
  Block* block = take_block(buffer->nbytes);
  if (!block) return false;
  buffer->block = block;
  buffer->data = block->buffer.data;
  return true;
}

BufferRef buffer_wrap(PyObject* owner, char* data, size_t nbytes) {
  BufferRef buffer = buffer_promise(nbytes);
  if (!buffer) return buffer;
  buffer->data = data;
  buffer->owner = PyRef::share(owner);
  return buffer;
}

void buffer_destroy(Buffer* buffer) {
  Block* block = buffer->block;
  const bool within = block && &block->buffer == buffer;
  if (block) return_block(block);
  if (within) return;
  if (buffer->owner && !holds_gil()) return defer_decref(buffer);
  delete buffer;
}

uint64_t pool_allocations() {
  SpinGuard guard(pool.lock);
  return pool.allocations;
}

size_t pool_capacity(size_t nbytes) { return size_class_of(nbytes).capacity; }

PyObject* out_of_memory(size_t nbytes) {
  return PyErr_Format(PyExc_MemoryError,
                      "out of memory: could not allocate %zu bytes for a result; delete arrays that are no longer "
                      "needed (numjet.live_arrays() lists them) or work on smaller pieces",
                      nbytes);
}

namespace {

PyObject* pool_stats(PyObject*, PyObject*) {
  size_t live, cached, peak, cap;
  uint64_t allocations, reuses;
  {
    SpinGuard guard(pool.lock);
    live = pool.live, cached = pool.cached, peak = pool.peak, cap = pool.cap;
    allocations = pool.allocations, reuses = pool.reuses;
  }
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:K,s:K}", "live_bytes", Py_ssize_t(live), "cached_bytes", Py_ssize_t(cached),
                       "peak_bytes", Py_ssize_t(peak), "cache_limit", Py_ssize_t(cap), "allocations",
                       static_cast<unsigned long long>(allocations), "reuses", static_cast<unsigned long long>(reuses));
}

PyObject* pool_trim(PyObject*, PyObject*) {
  shrink_cache(0);
  Py_RETURN_NONE;
}

PyObject* pool_peak_during(PyObject*, PyObject* function) {
  size_t before, outer, peak;
  {
    SpinGuard guard(pool.lock);
    before = pool.live, outer = pool.window_peak;
    pool.window_peak = before;
  }
  PyRef result(PyObject_CallNoArgs(function));
  {
    SpinGuard guard(pool.lock);
    peak = pool.window_peak;
    pool.window_peak = std::max(outer, peak);
  }
  if (!result) return nullptr;
  return PyLong_FromSize_t(peak - before);
}

PyObject* pool_capacity_of(PyObject*, PyObject* value) {
  Py_ssize_t nbytes = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (nbytes == -1 && PyErr_Occurred()) return nullptr;
  if (nbytes < 0 || size_t(nbytes) > kLargest)
    return PyErr_Format(PyExc_ValueError, "pool_capacity: expected a number of bytes the pool can give, got %zd", nbytes);
  return PyLong_FromSize_t(pool_capacity(size_t(nbytes)));
}

PyObject* set_pool_limit(PyObject*, PyObject* value) {
  Py_ssize_t limit = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  if (limit < 0) return PyErr_Format(PyExc_ValueError, "set_pool_limit: expected a number of bytes >= 0, got %zd", limit);
  size_t previous;
  {
    SpinGuard guard(pool.lock);
    previous = pool.cap;
    pool.cap = size_t(limit);
  }
  shrink_cache(size_t(limit));
  return PyLong_FromSize_t(previous);
}

PyMethodDef functions[] = {
    {"pool_stats", method<pool_stats>(), METH_NOARGS,
     PyDoc_STR("Bytes in use, cached and at the peak, and counts of allocations and reuses.")},
    {"pool_trim", method<pool_trim>(), METH_NOARGS, PyDoc_STR("Gives all cached memory back to the system.")},
    {"pool_peak_during", method<pool_peak_during>(), METH_O,
     PyDoc_STR("Calls a function; how many bytes more than before were in use at the peak, by all threads.")},
    {"pool_capacity", method<pool_capacity_of>(), METH_O, PyDoc_STR("The size of the block that a number of bytes gets.")},
    {"set_pool_limit", method<set_pool_limit>(), METH_O,
     PyDoc_STR("Sets how many bytes of free memory are kept; returns the previous limit.")},
    {nullptr, nullptr, 0, nullptr}};

void before_fork() { pool.lock.lock(); }
void after_fork() { pool.lock.unlock(); }

}  // namespace
}  // namespace nj

int pool_init(PyObject* module) {
  nj::pool.cap = nj::default_cap();
  pthread_atfork(nj::before_fork, nj::after_fork, nj::after_fork);
  return PyModule_AddFunctions(module, nj::functions);
}
