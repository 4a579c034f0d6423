// The trace that is current in this thread, and the token of trace-affecting flags.
#pragma once
#include "native.h"

namespace nj {

struct TraceState {
  PyObject* current;  // null: the evaluating trace
  PyObject* token;    // null: no flag was changed in this thread
};

extern __thread TraceState trace_state;
extern PyObject* eval_trace;
extern bool fast_path_on;

// True when operations are to be computed at once, and nobody asked for the slow path.
inline bool evaluating() {
  return fast_path_on && (trace_state.current == nullptr || trace_state.current == eval_trace);
}

}  // namespace nj
