// Entry of machine code into Python, in whatever thread it runs and whenever: PyGILState_Ensure, which ctypes calls, reads
// what is gone once the interpreter has ended, and daemon threads run longer than that.
#pragma once
#include "runtime/python/native.h"

namespace nj {

// Gives the GIL up while machine code runs. Returns what take_gil_back needs. No destructor does that: taking the GIL may end
// the thread.
PyThreadState* give_gil_up();
void take_gil_back(PyThreadState* before);

}  // namespace nj

// Takes the GIL, unless this thread has it: what nj_leave_python is to undo, or a negative number where Python is not to be
// entered any more, and the machine code shall end. A thread of the interpreter is ended here if that has ended.
extern "C" int64_t nj_enter_python();
extern "C" void nj_leave_python(int64_t entered);
