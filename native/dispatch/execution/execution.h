// The state of one queued computation, shared by all its outputs.
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/python/native.h"

namespace nj {

enum class State : int { Pending, Done, Failed };
enum class Failure : int { Status, OutOfMemory, Cause, Lost, Cancelled, Interrupted };

struct Execution {
  PyObject_HEAD
  std::atomic<State> state;
  // What follows is written before `state` leaves Pending, and only read afterwards.
  Failure failure;
  int64_t status;
  int64_t info[8];
  size_t wanted_bytes;
  PyRef on_error;           // (status, info) -> exception
  Handle<Execution> cause;  // whose failure this one inherits
  PyRef error;              // the exception, once somebody looked
};

Handle<Execution> execution_new(PyObject* on_error);
inline State execution_state(const Execution* execution) { return execution->state.load(std::memory_order_acquire); }
// Raises the error of a failed execution: the same exception object every time. Returns -1.
int execution_raise(Execution* execution);
// Raises the error of what was stopped (see interrupt.h). Returns -1.
int raise_interrupted();
// Waits until it is done: 0, or -1 with the execution's error (or KeyboardInterrupt) set.
int execution_wait(Execution* execution);
// The exception for a status other than 0 that machine code returned: a new reference, or null with an error set.
PyObject* status_error(PyObject* on_error, int64_t status, const int64_t* info);

}  // namespace nj
