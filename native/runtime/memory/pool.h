// Buffers: reference-counted memory, from the pool or owned by a Python object.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/python/native.h"

namespace nj {

struct Block;

struct Buffer {
  std::atomic<int64_t> refs{1};
  // How many of `refs` belong to queued computations. Those run in order on one thread, so they never
  // stand in the way of a later queued computation that overwrites the buffer.
  std::atomic<int64_t> queued{0};
  char* data = nullptr;
  size_t nbytes = 0;
  Block* block = nullptr;     // the pool's memory, if any
  PyObject* owner = nullptr;  // the object that owns the memory otherwise
  Buffer* after = nullptr;    // in the chain of those that wait for the GIL to be destroyed
};

// A buffer with memory from the pool (64-byte aligned, uninitialised); null when there is none.
Buffer* buffer_new(size_t nbytes);
// A buffer whose memory buffer_allocate() brings later; null when out of memory.
Buffer* buffer_promise(size_t nbytes);
bool buffer_allocate(Buffer* buffer);
// A buffer over memory that belongs to `owner` (a reference is taken). Needs the GIL.
Buffer* buffer_wrap(PyObject* owner, char* data, size_t nbytes);

void buffer_destroy(Buffer* buffer);
inline Buffer* buffer_retain(Buffer* buffer) {
  buffer->refs.fetch_add(1, std::memory_order_relaxed);
  return buffer;
}
// May be called without the GIL.
inline void buffer_release(Buffer* buffer) {
  if (buffer->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer_destroy(buffer);
}

// Memory for the run of one computation: no count, no owner. Null when out of memory.
struct Scratch {
  explicit Scratch(size_t nbytes) : buffer(nbytes ? buffer_new(nbytes) : nullptr), failed(nbytes && !buffer) {}
  ~Scratch() {
    if (buffer) buffer_release(buffer);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  char* data() const { return buffer ? buffer->data : nullptr; }
  Buffer* buffer;
  bool failed;
};

uint64_t pool_allocations();
// Bytes of the block that a buffer of `nbytes` gets.
size_t pool_capacity(size_t nbytes);

// Leaves a buffer without users, whose memory belongs to a Python object, to the next thread that has the GIL.
void retire(Buffer* buffer);
void drain_retired();

// Sets MemoryError for `nbytes`; returns null.
PyObject* out_of_memory(size_t nbytes);

}  // namespace nj
