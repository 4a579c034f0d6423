// Out-of-order execution of queued computations while a Python callback blocks the current one. No Python.
//
// Computations run in FIFO order. A callback of the running one may wait for another thread, which may wait for a computation
// further back in the queue. To avoid that deadlock, a second thread runs computations that do not depend on the running one.
#pragma once
#include <deque>
#include <vector>

#include "runtime/queue/queue.h"

namespace nj {

// All unfinished computations, each list in FIFO order. With the queue's lock held.
struct Unfinished {
  Job* running = nullptr;     // in FIFO order
  std::vector<Job*> ahead;    // running out of order
  std::deque<Job*> jobs;      // not started

  bool none() const { return !running && ahead.empty() && jobs.empty(); }
  bool has_effects() const;
  // Whether all started computations are in callbacks, and the next one may not start.
  bool held_up() const;
  // Whether the next one may start: none runs in order, and it does not depend on those out of order.
  bool has_next() const;
  // The first computation to run of the dependences of `wanted` (any, if null) and itself; null if it depends on one that has
  // started. The caller removes it from `jobs`.
  Job* before_turn(const Execution* wanted) const;
  // Deadlock test: whether `wanted` ends only after `waiting`, a computation whose callback is about to wait for it.
  bool waits_for_itself(Job* waiting, const Execution* wanted);
  // Stops `unwanted` and its dependences.
  void stop(const Execution* unwanted);
  void stop_all();

 private:
  template <class Visit> void each(Visit visit) const;
  bool leads_to(Job* from, const Job* to);
  Job* find(const Execution* execution) const;
};

}  // namespace nj
