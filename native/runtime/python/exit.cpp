// The end of the interpreter, as other threads see it: see native.h.
#include <unistd.h>

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

void sleep_for_good() {
  for (;;) pause();
}

}  // namespace nj
