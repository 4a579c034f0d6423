// How long a scope took.
#pragma once
#include <atomic>
#include <chrono>

namespace nj {

// Writes the nanoseconds from its making to its end; does nothing for null.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<double>* target) : target_(target) {
    if (target_) start_ = Clock::now();
  }
  ~Stopwatch() {
    if (!target_) return;
    std::chrono::duration<double, std::nano> passed = Clock::now() - start_;
    target_->store(passed.count(), std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<double>* target_;
  Clock::time_point start_;
};

}  // namespace nj
