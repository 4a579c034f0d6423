// See placement.h.
#include "runtime/threads/placement.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace nj {

#ifdef __linux__

int current_processor() { return sched_getcpu(); }

// On all other processors that the calling thread may use. Refused, for whatever reason, the worker stays where it is.
void Placement::keep_off(pthread_t worker, int processor) {
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) == 0 || pthread_setaffinity_np(worker, sizeof others, &others) != 0) return;
  off_ = processor;
}

#else

int current_processor() { return -1; }
void Placement::keep_off(pthread_t, int) {}

#endif

}  // namespace nj
