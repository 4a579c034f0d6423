// Executable: machine code with the avals it takes and gives.
#pragma once
#include <atomic>
#include <vector>

#include "array/array.h"
#include "runtime/queue/queue.h"

namespace nj {

struct ExecutablePlan {
  std::atomic<MachineCode> code;  // may be replaced by better code, which does the same; the old one stays valid
  std::vector<AvalInfo*> ins, outs;
  std::vector<int> alias;  // per output: the input whose buffer it may take over, or -1
  size_t scratch_bytes;
  double cost_ns;
  bool open_ended = false;  // how long it takes depends on values: the last run tells, and it may never end
  std::atomic<double> last_ns{0};  // of such a program
  bool has_effects = false;        // they happen in the order of the calls of all such programs
};

struct Executable {
  PyObject_HEAD
  ExecutablePlan* plan;
  PyObject *on_error, *keepalive, *device, *name;
  PyObject* again;  // called once, with the executable, when it is called for the second time; or null
  PyObject* weakrefs;
  uint64_t call_count;
};

extern PyTypeObject* executable_type;

// Runs or queues the executable. `ins` are arrays of its in_avals, `donated` a flag for each or null.
// Puts new references into `outs`: which hold null: 0, or -1 with an error set and nulls in `outs`.
int execute(Executable* executable, Array* const* ins, const char* donated, bool committed, PyObject** outs);

}  // namespace nj
