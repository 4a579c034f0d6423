// Executable: machine code with the avals it takes and gives.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "array/array.h"
#include "runtime/queue/queue.h"

namespace nj {

struct ExecutablePlan {
  std::atomic<MachineCode> code;  // may be replaced by better code, which does the same; the old one stays valid
  std::vector<AvalRef> ins, outs;
  std::vector<int> alias;  // per output: the input whose buffer it may take over, or -1
  std::vector<size_t> room;  // per output: bytes that the code may write, at least those of its aval
  std::vector<size_t> copied;  // per input: 0, or the bytes of memory to whose front it is copied; empty: nothing is copied
  size_t scratch_bytes;
  double cost_ns;
  bool open_ended = false;  // its time depends on values: the last run is the estimate, and it may never end
  std::atomic<double> last_ns{0};  // of such a program
  bool has_effects = false;        // they happen in the order of the calls of all such programs
  bool in_call = false;            // it calls Python and takes little time beside that: the caller's thread runs it
};

struct Executable {
  PyObject_HEAD
  std::unique_ptr<ExecutablePlan> plan;
  PyRef on_error, keepalive, device, name;
  PyRef on_second_call;  // called once, with the executable, when it is called for the second time; or null
  Handle<Executable> base;  // of a view: the executable whose code it runs, and which counts its calls; or null
  PyObject* weakrefs;
  uint64_t call_count;
};

extern PyTypeObject* executable_type;

// The executable that owns the code.
inline Executable* with_code(Executable* executable) { return executable->base ? executable->base.get() : executable; }

// Runs or queues the executable. `ins` are arrays of its in_avals, `donated` a flag for each or null.
// Puts an array into each of `outs`: 0, or -1 with an error set.
int execute(Executable* executable, Array* const* ins, const char* donated, bool committed, PyRef* outs);

}  // namespace nj
