// See entry.h.
#include "runtime/queue/entry.h"

#include <utility>

#include "kernels/registry.h"
#include "runtime/process/interrupt.h"
#include "runtime/queue/queue.h"

namespace nj {

namespace {

enum Entered : int64_t { kHadGil, kTookBack, kOwnState };

thread_local PyThreadState* given_up = nullptr;  // with which this thread will take the GIL back

}  // namespace

PyThreadState* give_gil_up() { return std::exchange(given_up, PyEval_SaveThread()); }

void take_gil_back(PyThreadState* before) { PyEval_RestoreThread(std::exchange(given_up, before)); }

}  // namespace nj

using namespace nj;

extern "C" int64_t nj_enter_python() {
  if (given_up) {
    // Looks whether the interpreter has ended before anything else, unlike PyGILState_Ensure.
    take_gil_back(nullptr);
    return kTookBack;
  }
  if (holds_gil()) return kHadGil;
  PyThreadState* own = queue_thread_state();
  if (!own) return kInterrupted;
  PyEval_RestoreThread(own);
  return kOwnState;
}

extern "C" void nj_leave_python(int64_t entered) {
  if (entered == kTookBack) {
    give_gil_up();
  } else if (entered == kOwnState) {
    PyThreadState_Clear(PyThreadState_Get());
    PyThreadState_DeleteCurrent();
  }
}

NJ_KERNEL(nj_enter_python);
NJ_KERNEL(nj_leave_python);
