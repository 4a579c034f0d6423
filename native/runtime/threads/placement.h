// Which processors threads run on: workers are kept off the one of the thread that they help.
//
// A scheduler may wake a worker on the processor of the thread that wakes it and leave both there, taking turns, while another
// one idles: Linux does where processors share no cache, as those of many virtual machines. No Python in here.
#pragma once
#include <pthread.h>

#include <atomic>

namespace nj {

// The processor that this thread runs on; -1: unknown.
int current_processor();

// Where one worker was last seen, and which processor it is kept off.
class Placement {
 public:
  // Called by the worker.
  void note() {
    const int here = current_processor();
    if (seen_.load(std::memory_order_relaxed) != here) seen_.store(here, std::memory_order_relaxed);
  }
  // Called by the thread to be helped, one at a time: keeps the worker off its processor from now on, if it was seen there.
  void make_way(pthread_t worker, int processor) {
    if (processor >= 0 && seen_.load(std::memory_order_relaxed) == processor && off_ != processor) keep_off(worker, processor);
  }

 private:
  void keep_off(pthread_t worker, int processor);
  std::atomic<int> seen_{-1};
  int off_ = -1;
};

}  // namespace nj
