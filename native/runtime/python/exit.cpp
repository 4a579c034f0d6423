// The end of the interpreter, as other threads see it: see native.h.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "runtime/python/native.h"

namespace nj {

std::atomic<bool> interpreter_ends{false};

bool holds_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* current = PyThreadState_GetUnchecked();
#else
  PyThreadState* current = _PyThreadState_UncheckedGet();
#endif
  return current && current == PyGILState_GetThisThreadState();
}

bool interpreter_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

namespace {

std::thread::id ending_thread;  // that which leaves the interpreter

}  // namespace

void end_interpreter() {
  ending_thread = std::this_thread::get_id();
  interpreter_ends = true;
}

void let_interpreter_end() {
  if (!interpreter_ends || std::this_thread::get_id() == ending_thread) return;
  Py_BEGIN_ALLOW_THREADS;
  std::this_thread::sleep_for(std::chrono::seconds(5));
  Py_END_ALLOW_THREADS;
}

void sleep_for_good() {
  for (;;) pause();
}

}  // namespace nj
