// Deferred decref. The execution thread, which never takes the GIL, chains the buffers that it gives up through themselves, and
// a thread that has the GIL destroys them: nothing is allocated, so nothing can fail.
#include <pthread.h>

#include <atomic>

#include "runtime/memory/pool.h"
#include "runtime/python/guard.h"
#include "runtime/threads/spinlock.h"

namespace nj {

namespace {

struct Deferred {
  SpinLock lock;
  std::atomic<Buffer*> last{nullptr};
};
Deferred& deferred = *new Deferred;

int pending_call(void*) {
  run_deferred_decrefs();
  return 0;
}

}  // namespace

void defer_decref(Buffer* buffer) {
  bool first;
  {
    SpinGuard guard(deferred.lock);
    buffer->after = deferred.last.exchange(buffer);
    first = !buffer->after;  // the buffer may be gone as soon as the lock is
  }
  // The interpreter's list of pending calls may be full; then the next allocation destroys them.
  if (first && !interpreter_ends) (void)Py_AddPendingCall(guarded<pending_call>, nullptr);
}

void run_deferred_decrefs() {
  if (!deferred.last.load(std::memory_order_relaxed)) return;
  Buffer* buffer;
  {
    SpinGuard guard(deferred.lock);
    buffer = deferred.last.exchange(nullptr);
  }
  while (buffer) {
    Buffer* next = buffer->after;
    buffer_destroy(buffer);
    buffer = next;
  }
}

namespace {
void before_fork() { deferred.lock.lock(); }
void after_fork() { deferred.lock.unlock(); }
const int kRegistered = pthread_atfork(before_fork, after_fork, after_fork);
}  // namespace

}  // namespace nj
