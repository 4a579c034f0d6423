// Signal handlers of Python, which machine code lets run.
#include "runtime/process/signals.h"

#include "runtime/process/interrupt.h"
#include "runtime/python/error.h"
#include "runtime/queue/entry.h"

namespace nj {

namespace {

// What a signal handler raised while this thread ran machine code. No destructor runs: a thread that ends has no GIL.
thread_local PyGlobal kept;

bool signal_raised() {
  const int64_t entered = nj_enter_python();
  if (entered < 0) return false;
  bool raised = PyErr_CheckSignals() < 0;
  if (raised) kept.exchange(fetch_error());
  nj_leave_python(entered);
  return raised;
}

}  // namespace

int raise_kept_error() {
  if (!kept) return 0;
  restore_error(kept.exchange(PyRef()));
  return -1;
}

}  // namespace nj

int signals_init(PyObject*) {
  nj::check_signals_by(nj::signal_raised);
  return 0;
}
