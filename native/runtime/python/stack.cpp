// See stack.h.
#include "runtime/python/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>

#include "runtime/python/native.h"

namespace nj {

__thread const char* stack_end = nullptr;

namespace {

// For what runs next: a call into Python and back, and the making of an exception. Small stacks give up a quarter.
constexpr size_t kReserve = 128 * 1024;

}  // namespace

const char* find_stack_end() {
  stack_end = reinterpret_cast<const char*>(1);  // not known: never low
#ifdef __linux__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack_end;
  void* lowest;
  size_t size;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0)
    stack_end = static_cast<const char*>(lowest) + std::min(kReserve, size / 4);
  pthread_attr_destroy(&attributes);
#endif
  return stack_end;
}

bool require_stack(const char* what) {
  if (!stack_is_low()) return true;
  PyErr_Format(PyExc_RecursionError,
               "%s: this thread's stack is used up; recurse less deeply, or start the thread with a "
               "larger stack (threading.stack_size)",
               what);
  return false;
}

}  // namespace nj
