// Intrusive list that owns its jobs. It allocates nothing, so adding a job cannot fail. With the queue's lock held.
#pragma once
#include <memory>
#include <utility>

#include "runtime/queue/queue.h"

namespace nj {

class JobChain {
 public:
  JobChain() = default;
  JobChain(JobChain&& other) noexcept : first_(std::exchange(other.first_, nullptr)), last_(other.last_) {}
  JobChain& operator=(JobChain&&) = delete;
  ~JobChain() {
    while (!empty()) pop_front();
  }
  bool empty() const { return !first_; }
  void push_back(std::unique_ptr<Job> owned) {
    Job* job = owned.release();
    job->after = nullptr;
    (first_ ? last_->after : first_) = job;
    last_ = job;
  }
  std::unique_ptr<Job> pop_front() { return std::unique_ptr<Job>(std::exchange(first_, first_->after)); }

 private:
  Job *first_ = nullptr, *last_ = nullptr;
};

}  // namespace nj
