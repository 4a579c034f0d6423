#include "runtime/queue/turns.h"

#include <algorithm>

namespace nj {

namespace {

Job* address(Job* job) { return job; }
template <class Owner> auto* address(const Owner& owner) { return owner.get(); }

template <class List, class Item> bool contains(const List& list, const Item* item) {
  return std::any_of(list.begin(), list.end(), [=](const auto& other) { return address(other) == item; });
}

// Dependence between two queued computations: the later one reads results of the earlier one (RAW), overwrites its inputs
// (WAR), or both have effects.
bool must_follow(const Job* later, const Job* earlier) {
  if (later->has_effects && earlier->has_effects) return true;
  return contains(later->waits_for, earlier->done.get()) ||
         std::any_of(later->overwrites.begin(), later->overwrites.end(), [=](Buffer* b) { return contains(earlier->ins, b); });
}

}  // namespace

// In FIFO order.
template <class Visit> void Unfinished::each(Visit visit) const {
  if (running) visit(running);
  for (Job* job : ahead) visit(job);
  for (Job* job : jobs) visit(job);
}

Job* Unfinished::find(const Execution* execution) const {
  Job* found = nullptr;
  each([&](Job* job) { found = job->done == execution ? job : found; });
  return found;
}

bool Unfinished::has_effects() const {
  bool found = false;
  each([&](const Job* job) { found |= job->has_effects; });
  return found;
}

bool Unfinished::held_up() const {
  const auto in_python = [](const Job* job) { return job->in_python > 0; };
  return (running ? in_python(running) : !has_next()) && std::all_of(ahead.begin(), ahead.end(), in_python);
}

bool Unfinished::has_next() const {
  return !running && !jobs.empty() &&
         std::none_of(ahead.begin(), ahead.end(), [this](const Job* job) { return must_follow(jobs.front(), job); });
}

Job* Unfinished::before_turn(const Execution* wanted) const {
  for (size_t k = 0; k < jobs.size(); ++k) {
    if (wanted && jobs[k]->done != wanted) continue;
    // Follow its dependences back to a computation that has none.
    for (size_t last = k;;) {
      const auto begun = [&](const Job* job) { return must_follow(jobs[last], job); };
      if ((running && begun(running)) || std::any_of(ahead.begin(), ahead.end(), begun)) break;
      size_t first = 0;
      while (first < last && !must_follow(jobs[last], jobs[first])) ++first;
      if (first == last) return jobs[last];
      last = first;
    }
    if (wanted) break;
  }
  return nullptr;
}

// Depth-first search over dependences and the waits of callbacks.
bool Unfinished::leads_to(Job* from, const Job* to) {
  if (from == to) return true;
  if (from->seen) return false;
  from->seen = true;
  if (from->waiting_for) {
    Job* next = find(from->waiting_for);
    return next && leads_to(next, to);
  }
  bool found = false, before = contains(jobs, from);
  each([&](Job* job) {
    before = before && job != from;
    found = found || (before && must_follow(from, job) && leads_to(job, to));
  });
  return found;
}

bool Unfinished::waits_for_itself(Job* waiting, const Execution* wanted) {
  each([](Job* job) { job->seen = false; });
  Job* job = find(wanted);
  return job && leads_to(job, waiting);
}

void Unfinished::stop(const Execution* unwanted) {
  const auto needless = [&](const Job* job) {
    return job->done == unwanted || std::any_of(jobs.begin(), jobs.end(), [=](const Job* later) {
             return later->stop.load() && contains(later->waits_for, job->done.get());
           });
  };
  const auto look = [&](Job* job) {
    if (needless(job)) job->stop.store(true, std::memory_order_relaxed);
  };
  // Backwards, as inputs are queued before their readers.
  std::for_each(jobs.rbegin(), jobs.rend(), look);
  std::for_each(ahead.begin(), ahead.end(), look);
  if (running) look(running);
}

void Unfinished::stop_all() {
  each([](Job* job) { job->stop.store(true, std::memory_order_relaxed); });
}

}  // namespace nj
