// Which queued computations may run before their turn, while a Python callback holds up the one whose turn it is. No Python.
//
// Computations run in the order in which they were queued. Where the running one calls Python, that may wait for another
// thread, which may wait for something further back in the queue: whatever does not have to come after the running one is
// then run by a second thread, so that neither waits for ever.
#pragma once
#include <deque>
#include <vector>

#include "runtime/queue/queue.h"

namespace nj {

// All computations that have not ended, each list in the order in which they were queued. With the queue's lock held.
struct Unfinished {
  Job* running = nullptr;     // the one whose turn it is
  std::vector<Job*> ahead;    // run before their turn
  std::deque<Job*> jobs;      // not begun

  bool none() const { return !running && ahead.empty() && jobs.empty(); }
  // Whether all that has begun is in callbacks, and nothing may begin in its turn.
  bool held_up() const;
  // Whether the next one may begin: nothing runs whose turn it is, and what runs ahead does not matter to it.
  bool has_next() const;
  // What to run first of all that the computation (any, if null) has to come after, itself included; null where that has to
  // wait for something that has begun. To be taken out of `jobs`.
  Job* before_turn(const Execution* wanted) const;
  // Whether `wanted` ends only after `waiting`, a computation whose callback is about to wait for it.
  bool waits_for_itself(Job* waiting, const Execution* wanted);
  // Stops `unwanted` and what it waits for.
  void stop(const Execution* unwanted);
  void stop_all();

 private:
  template <class Visit> void each(Visit visit) const;
  bool leads_to(Job* from, const Job* to);
  Job* find(const Execution* execution) const;
};

}  // namespace nj
