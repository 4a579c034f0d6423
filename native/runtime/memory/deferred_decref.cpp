// Buffers given up by the execution thread, which never takes the GIL. A chain through the buffers themselves: nothing is
// allocated, so nothing can fail.
#include <pthread.h>

#include <atomic>

#include "runtime/memory/pool.h"
#include "runtime/threads/spinlock.h"

namespace nj {

namespace {

struct Retired {
  SpinLock lock;
  std::atomic<Buffer*> last{nullptr};
};
Retired& retired = *new Retired;

int drain_callback(void*) {
  drain_retired();
  return 0;
}

}  // namespace

void retire(Buffer* buffer) {
  bool first;
  {
    SpinGuard guard(retired.lock);
    buffer->after = retired.last.exchange(buffer);
    first = !buffer->after;  // the buffer may be gone as soon as the lock is
  }
  // The interpreter's list of pending calls may be full; then the next allocation drains.
  if (first && !interpreter_ends) (void)Py_AddPendingCall(drain_callback, nullptr);
}

void drain_retired() {
  if (!retired.last.load(std::memory_order_relaxed)) return;
  Buffer* buffer;
  {
    SpinGuard guard(retired.lock);
    buffer = retired.last.exchange(nullptr);
  }
  while (buffer) {
    Buffer* next = buffer->after;
    buffer_destroy(buffer);
    buffer = next;
  }
}

namespace {
void before_fork() { retired.lock.lock(); }
void after_fork() { retired.lock.unlock(); }
const int registered = pthread_atfork(before_fork, after_fork, after_fork);
}  // namespace

}  // namespace nj
