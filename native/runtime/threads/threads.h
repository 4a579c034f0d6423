// The threads of compiled programs: one pool for the process. No Python in here.
#pragma once
#include <cstdint>

namespace nj {

// Processors that this process may run on.
int available_processors();

// How many threads work on a region, the caller among them: 1 ... available_processors(). Holds from the next region on.
void set_thread_count(int count);
int thread_count();

// Ends the threads, unless a region is running; the next region starts new ones. Never waits for a region.
void end_idle_threads();

// Regions whose chunks were offered to several threads.
uint64_t shared_regions();

// To be called once: a forked child starts with a pool without threads.
int prepare_threads_for_fork();

}  // namespace nj

// Calls body(context, begin, end) for ranges that together are 0 ... chunks, and returns when all have returned: no chunk is
// ever left out, whoever wants to stop. The caller works too. Inside of another region, or while another thread's region is
// running, the caller does it all.
extern "C" void nj_parallel_for(int64_t chunks, void (*body)(void* context, int64_t begin_chunk, int64_t end_chunk),
                                void* context);

// The same for machine code, which may be stopped (see interrupt.h): body returns 0, or a status when it left early. Returns
// 0 when all chunks were done; else the status of one that was not, and what the region should have written is not there.
extern "C" [[nodiscard]] int64_t nj_parallel_until_stopped(
    int64_t chunks, int64_t (*body)(void* context, int64_t begin_chunk, int64_t end_chunk), void* context);
