// The trace that is current in this thread, and what native code needs to know of the configuration.
#pragma once
#include <atomic>

#include "runtime/python/native.h"

namespace nj {

struct TraceState {
  PyGlobal current;   // null: the evaluating trace
  uint64_t serial;    // stands for the flags that programs depend on, as this thread sees them
  uint64_t seen;      // the epoch in which they were read; 0: they have to be read again
  uint64_t quick;     // the same, or 0 while this thread is not to take the fast path
  bool here;          // results that no argument places belong on this host
};

extern __thread TraceState trace_state;
extern PyGlobal eval_trace;
// Counts the changes of process-wide flags, so that every thread finds out by one comparison.
extern std::atomic<uint64_t> config_epoch;

// Reads the flags if they have changed: whether this thread takes the fast path. False with an error set when reading raised.
bool read_config();

// Whether nobody asked this thread for the slow path. May set an error, when false.
inline bool fast_paths_allowed() {
  return trace_state.quick == config_epoch.load(std::memory_order_acquire) || read_config();
}

// True when operations are to be computed at once, by the fast path. May set an error, when false.
inline bool evaluating() {
  if (trace_state.current && trace_state.current.get() != eval_trace.get()) return false;
  return fast_paths_allowed();
}

// Whether the current trace is one that records what functions do to values and tangents: see dispatch/eager/linear_call.h.
bool in_linear_trace();

// As evaluating(), of operations on arrays alone: values without tangents are evaluated in derivatives, too.
inline bool evaluating_arrays() {
  if (trace_state.current && trace_state.current.get() != eval_trace.get() && !in_linear_trace()) return false;
  return fast_paths_allowed();
}

// As evaluating(), where results that no argument places are arrays of this host.
inline bool evaluating_here() { return evaluating() && trace_state.here; }

// A block in which operations are computed at once.
class Evaluating {
 public:
  Evaluating() : before_(trace_state.current.exchange(PyRef())) {}
  ~Evaluating() { const PyRef own = trace_state.current.exchange(std::move(before_)); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  PyRef before_;
};

}  // namespace nj
