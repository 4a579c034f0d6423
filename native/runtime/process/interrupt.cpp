// Stop flags of threads, and what compiled loops call to look at them.
#include "runtime/process/interrupt.h"

#include <algorithm>
#include <chrono>

#include "kernels/registry.h"

namespace nj {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetween = 0.1;
constexpr double kLongest = 1099511627776.0;  // 2^40 iterations

thread_local StopWatch watched;
thread_local Clock::time_point last_asked;

bool (*signal_check)() = nullptr;

// The time since another loop asked counts, too: then the period is too short for once.
int64_t next_period(int64_t period) {
  Clock::time_point now = Clock::now();
  std::chrono::duration<double> passed = now - last_asked;
  last_asked = now;
  double factor = std::clamp(kSecondsBetween / std::max(passed.count(), 1e-9), 0.1, 8.0);
  return int64_t(std::clamp(factor * double(period), 1.0, kLongest));
}

}  // namespace

StopWatch current_stop() { return watched; }

StopScope::StopScope(StopWatch watch) : before_(watched) { watched = watch; }
StopScope::~StopScope() { watched = before_; }

bool stop_wanted() {
  if (!watched.flag) return false;
  if (stop_asked()) return true;
  if (!watched.hears_signals || !signal_check || !signal_check()) return false;
  watched.flag->store(true, std::memory_order_relaxed);
  return true;
}

void check_signals_by(bool (*check)()) { signal_check = check; }

}  // namespace nj

extern "C" int64_t nj_poll(int64_t* period) {
  if (nj::stop_wanted()) return -1;
  return *period = nj::next_period(*period);
}
NJ_KERNEL(nj_poll);
