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

// Whether the flag of this thread is set.
inline bool stop_asked() {
  const StopFlag* flag = current_stop().flag;
  return flag && flag->load(std::memory_order_relaxed);
}

// The same; lets signal handlers run where they may. If one raises, sets the flag and keeps the error for raise_kept_error
// (signals.h): machine code may still call Python functions on its way out, which must not find an error set.
bool stop_wanted();

// Who lets signal handlers run, and says whether one raised. Without a check, nobody does.
void check_signals_by(bool (*check)());

}  // namespace nj

// For loops. *period: how many iterations there were since the loop asked last; changed so that it asks about ten times a
// second. Returns the number of iterations until it has to ask again, or a negative one: leave.
extern "C" int64_t nj_poll(int64_t* period);
