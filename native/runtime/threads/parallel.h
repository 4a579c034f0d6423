// Loops in C++ over the threads of compiled programs. No Python in here.
#pragma once
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>

#include "runtime/memory/blocks.h"
#include "runtime/threads/threads.h"

namespace nj {

// body(chunk) for each chunk, in any order and any thread. The first exception of one of them is thrown when all have ended.
template <class Body> void parallel_for(int64_t chunks, Body body) {
  struct Context {
    Body& body;
    std::atomic<bool> failed;
    std::exception_ptr error;
  } context{body, {false}, nullptr};
  nj_parallel_for(
      chunks,
      [](void* raw, int64_t begin, int64_t end) {
        auto& shared = *static_cast<Context*>(raw);
        try {
          for (int64_t chunk = begin; chunk < end; ++chunk) shared.body(chunk);
        } catch (const std::exception&) {
          if (!shared.failed.exchange(true)) shared.error = std::current_exception();
        }
      },
      &context);
  if (context.error) std::rethrow_exception(context.error);
}

// Gives up the processor until another chunk has made `ready` true. The pool learns how long that took.
template <class Ready> void yield_until(Ready ready) {
  const auto began = std::chrono::steady_clock::now();
  while (!ready()) sched_yield();
  note_wait(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
}

// Memory for `size` numbers, uninitialised, aligned to 64 bytes, from the pool of buffers.
template <class T> class Workspace {
 public:
  explicit Workspace(int64_t size) : scratch_(nbytes(size)) {
    if (scratch_.failed) throw std::bad_alloc();
  }
  T* data() const { return reinterpret_cast<T*>(scratch_.data()); }
  static size_t nbytes(int64_t size) { return sizeof(T) * static_cast<size_t>(size > 0 ? size : 1); }
  // Bytes that one takes of the pool. By it kernels report their needs: nj_X_bytes(threads, arguments of nj_X), with so
  // many threads, reading none of the arrays.
  static int64_t taken(int64_t size) { return static_cast<int64_t>(pool_capacity(nbytes(size))); }

 private:
  Scratch scratch_;
};

}  // namespace nj
