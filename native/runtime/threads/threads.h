// Thread pool of compiled programs, one per process. No Python in here.
#pragma once
#include <cstdint>

namespace nj {

// Processors that this process may run on.
int available_processors();

// How many threads work on a region, including the caller: 1 ... available_processors(). Takes effect at the next region.
void set_thread_count(int count);
int thread_count();

// Ends the threads, unless a region is running; the next region starts new ones. Never waits for a region.
void end_idle_threads();

// A chunk waited so long for the chunk of another thread.
void note_wait(int64_t nanoseconds);

// Regions whose chunks were offered to several threads, or would have been while no other process takes the processors.
uint64_t shared_regions();

// Called once; registers a handler that gives a forked child a pool without threads.
int prepare_threads_for_fork();

}  // namespace nj

// Parallel loop: calls body(context, begin, end) for ranges that together are 0 ... chunks, and returns when all have
// returned. No chunk is ever skipped, even after a cancellation. The caller works, too; inside of another region, or while
// another thread's region is running, it does all the work.
extern "C" void nj_parallel_for(int64_t chunks, void (*body)(void* context, int64_t begin_chunk, int64_t end_chunk),
                                void* context);

// Cancellable parallel loop, for machine code (see interrupt.h): body returns 0, or a status if it left early. Returns 0 if all
// chunks are done, otherwise the status of one that is not; the output of the region is then incomplete.
extern "C" [[nodiscard]] int64_t nj_parallel_until_stopped(
    int64_t chunks, int64_t (*body)(void* context, int64_t begin_chunk, int64_t end_chunk), void* context);
