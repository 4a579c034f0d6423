// Buffers: reference-counted memory, from the pool or owned by a Python object.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/memory/blocks.h"
#include "runtime/python/native.h"

namespace nj {

struct Buffer {
  std::atomic<int64_t> refs{1};
  // How many of `refs` belong to queued computations. Those run in order on one thread, so they never
  // stand in the way of a later queued computation that overwrites the buffer.
  std::atomic<int64_t> queued{0};
  char* data = nullptr;
  size_t nbytes = 0;
  Block* block = nullptr;   // the pool's memory, if any
  PyRef owner;              // the object that owns the memory otherwise
  Buffer* after = nullptr;  // in the chain of those that wait for the GIL to be destroyed
};

void buffer_destroy(Buffer* buffer);

// Neither needs the GIL.
template <> struct CountOf<Buffer> {
  static void retain(Buffer* buffer) { buffer->refs.fetch_add(1, std::memory_order_relaxed); }
  static void release(Buffer* buffer) {
    if (buffer->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer_destroy(buffer);
  }
};
using BufferRef = Handle<Buffer>;

// A buffer with memory from the pool (64-byte aligned, uninitialised); null when there is none.
BufferRef buffer_new(size_t nbytes);
// A buffer whose memory buffer_allocate() brings later; null when out of memory.
BufferRef buffer_promise(size_t nbytes);
bool buffer_allocate(Buffer* buffer);
// A buffer over memory that belongs to `owner`, which it keeps alive. Needs the GIL.
BufferRef buffer_wrap(PyObject* owner, char* data, size_t nbytes);

// Deferred decref: leaves a buffer without users, whose memory belongs to a Python object, to the next thread that has the GIL.
void defer_decref(Buffer* buffer);
void run_deferred_decrefs();

// Sets MemoryError for `nbytes`; returns null.
PyObject* out_of_memory(size_t nbytes);
inline int raise_no_memory(size_t nbytes) { return out_of_memory(nbytes), -1; }

}  // namespace nj
