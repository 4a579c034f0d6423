// References given up by the execution thread, which never takes the GIL.
#include <pthread.h>

#include <atomic>
#include <vector>

#include "pool.h"
#include "spinlock.h"

namespace nj {

namespace {

struct Retired {
  SpinLock lock;
  std::vector<PyObject*> objects;
  std::atomic<bool> some{false};
};
Retired& retired = *new Retired;

int drain_callback(void*) {
  drain_retired();
  return 0;
}

}  // namespace

void retire(PyObject* object) {
  bool first;
  {
    SpinGuard guard(retired.lock);
    retired.objects.push_back(object);
    first = !retired.some.exchange(true);
  }
  // The interpreter's list of pending calls may be full; then the next allocation drains.
  if (first) (void)Py_AddPendingCall(drain_callback, nullptr);
}

void drain_retired() {
  if (!retired.some.load(std::memory_order_relaxed)) return;
  std::vector<PyObject*> objects;
  {
    SpinGuard guard(retired.lock);
    objects.swap(retired.objects);
    retired.some.store(false);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

namespace {
void before_fork() { retired.lock.lock(); }
void after_fork() { retired.lock.unlock(); }
const int registered = pthread_atfork(before_fork, after_fork, after_fork);
}  // namespace

}  // namespace nj
