// Loops in C++ over the threads of compiled programs. No Python in here.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include "runtime/memory/pool.h"
#include "runtime/threads/threads.h"

namespace nj {

// body(chunk) for each chunk, in any order and any thread. A std::bad_alloc of one of them is thrown when all have ended.
template <class Body> void parallel_for(int64_t chunks, Body body) {
  struct Context {
    Body& body;
    std::atomic<bool> failed;
  } context{body, {false}};
  nj_parallel_for(
      chunks,
      [](void* raw, int64_t begin, int64_t end) {
        auto& shared = *static_cast<Context*>(raw);
        try {
          for (int64_t chunk = begin; chunk < end; ++chunk) shared.body(chunk);
        } catch (const std::bad_alloc&) {
          shared.failed.store(true);
        }
      },
      &context);
  if (context.failed.load()) throw std::bad_alloc();
}

// Memory for `size` numbers, uninitialised, aligned to 64 bytes, from the pool of buffers.
template <class T> class Workspace {
 public:
  explicit Workspace(int64_t size) : scratch_(nbytes(size)) {
    if (scratch_.failed) throw std::bad_alloc();
  }
  T* data() const { return reinterpret_cast<T*>(scratch_.data()); }
  static size_t nbytes(int64_t size) { return sizeof(T) * static_cast<size_t>(size > 0 ? size : 1); }
  // What one takes of the pool. Kernels tell by it what they will take: nj_X_bytes(threads, arguments of nj_X), with so
  // many threads, reading none of the arrays.
  static int64_t taken(int64_t size) { return static_cast<int64_t>(pool_capacity(nbytes(size))); }

 private:
  Scratch scratch_;
};

}  // namespace nj
