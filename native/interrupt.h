// Ending machine code from outside: long loops ask from time to time whether they are still wanted.
#pragma once
#include <atomic>
#include <cstdint>

namespace nj {

using StopFlag = std::atomic<bool>;

// The status of machine code that stopped because it was asked to; programs return no negative one by themselves.
constexpr int64_t kInterrupted = -1;

// What the machine code of this thread looks at.
struct StopWatch {
  StopFlag* flag = nullptr;
  bool hears_signals = false;  // a thread of the interpreter, without the GIL: signal handlers may run when it asks
};
StopWatch current_stop();

// Makes a flag the one that this thread looks at.
class StopScope {
 public:
  explicit StopScope(StopWatch watch);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  StopWatch before_;
};

// Whether the flag of this thread is set. Lets signal handlers run where they may; if one raises, sets the flag and leaves
// the error to whoever started the machine code.
bool stop_wanted();

}  // namespace nj

// For loops. *period: how many iterations there were since the loop asked last; changed so that it asks about ten times a
// second. Returns the number of iterations until it has to ask again, or a negative one: leave.
extern "C" int64_t nj_poll(int64_t* period);
// After a region of threads: whether its loops may have been left.
extern "C" int64_t nj_stopped();
