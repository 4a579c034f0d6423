// Probes of profiles: machine code calls them around its loops and library calls. They count runs and nanoseconds, and list
// the first runs one by one. Only one thread at a time runs a program that has probes, and its parallel loops have none inside.
#include <chrono>
#include <cstdint>

#include "kernels/registry.h"

namespace {

// The record, an array of int64 that Python owns: the head, per probe a Probe, then up to `capacity` Runs.
struct Head { int64_t probes, capacity, listed; };
struct Probe { int64_t runs, nanoseconds, began; };
struct Run { int64_t probe, began, ended; };

Head* head_of(int64_t record) { return reinterpret_cast<Head*>(record); }
Probe* probe_of(Head* head, int64_t index) { return reinterpret_cast<Probe*>(head + 1) + index; }
Run* run_of(Head* head, int64_t index) { return reinterpret_cast<Run*>(probe_of(head, head->probes)) + index; }

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

extern "C" void nj_probe_enter(int64_t record, int64_t index) { probe_of(head_of(record), index)->began = now(); }

extern "C" void nj_probe_leave(int64_t record, int64_t index) {
  const int64_t ended = now();
  Head* head = head_of(record);
  Probe* probe = probe_of(head, index);
  probe->runs += 1;
  probe->nanoseconds += ended - probe->began;
  if (head->listed < head->capacity) *run_of(head, head->listed++) = {index, probe->began, ended};
}

NJ_KERNEL(nj_probe_enter);
NJ_KERNEL(nj_probe_leave);
