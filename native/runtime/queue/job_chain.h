// Jobs in order, chained through themselves: nothing is allocated, so that to add one cannot fail. With the queue's lock held.
#pragma once
#include <utility>

#include "runtime/queue/queue.h"

namespace nj {

class JobChain {
 public:
  bool empty() const { return !first_; }
  void push_back(Job* job) {
    job->after = nullptr;
    (first_ ? last_->after : first_) = job;
    last_ = job;
  }
  Job* pop_front() { return std::exchange(first_, first_->after); }
  // All jobs, which are here no longer.
  JobChain take_all() { return std::exchange(*this, JobChain()); }

 private:
  Job *first_ = nullptr, *last_ = nullptr;
};

}  // namespace nj
