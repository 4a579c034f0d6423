// Execution queue: one thread that runs computations in FIFO order.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "dispatch/execution/execution.h"
#include "runtime/process/interrupt.h"
#include "runtime/memory/pool.h"

namespace nj {

using MachineCode = int64_t (*)(char** ins, char** outs, char* scratch, int64_t* info);

// A reference of a queued computation, which also counts in Buffer::queued.
class QueuedBuffer {
 public:
  explicit QueuedBuffer(BufferRef buffer) : buffer_(std::move(buffer)) {
    buffer_->queued.fetch_add(1, std::memory_order_relaxed);
  }
  QueuedBuffer(QueuedBuffer&&) = default;
  QueuedBuffer& operator=(QueuedBuffer&&) = delete;
  ~QueuedBuffer() {
    if (buffer_) buffer_->queued.fetch_sub(1, std::memory_order_release);
  }
  Buffer* get() const { return buffer_; }

 private:
  BufferRef buffer_;
};

// A queued computation. Made and destroyed with the GIL; run without it.
struct Job {
  MachineCode code = nullptr;
  std::vector<QueuedBuffer> ins, outs;  // until the job has run
  std::vector<Buffer*> overwrites;      // those of `outs` that are inputs, too
  size_t scratch_bytes = 0;
  std::atomic<double>* took_ns = nullptr;  // where to store its duration, if not null
  StopFlag stop{false};
  std::atomic<bool> abandoned{false};  // stopped because the process ends
  bool brief = false;        // short enough for a waiting thread to run it itself, without checking for Ctrl-C
  bool has_effects = false;  // these happen in program order
  std::vector<Handle<Execution>> waits_for;  // computations that make the inputs
  Handle<Execution> done;
  PyRef keepalive;
  // With the queue's lock held:
  int in_python = 0;                       // depth of callbacks
  const Execution* waiting_for = nullptr;  // by its callback
  bool seen = false;
  Job* after = nullptr;           // link of a JobChain
  std::vector<char*> addresses;   // storage for those of ins, then of outs

  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  void add_input(BufferRef buffer);
  void add_output(BufferRef buffer);
};

// Starts the thread if there is none, and waits (without the GIL) until the queue is not too long:
// 0, or -1 with an error set (KeyboardInterrupt while waiting).
int queue_admit();
// Appends a job.
void queue_push(std::unique_ptr<Job> job);
// Whether an unfinished job has effects.
bool queue_has_effects();
// True in a thread that runs a job, which must never wait for one that has to follow it.
bool on_queue_thread();
// A new state with which this thread, which Python has not made, may take the GIL; null where nobody waits for what it does
// there, as the process ends.
PyThreadState* queue_thread_state();
// Notes that a callback of this thread's machine code begins (1) or ends (-1); it may wait for other threads meanwhile.
void queue_note_callback(int more);
// False once the interpreter ends; then everything runs inline.
bool queue_open();
uint64_t queue_pushed();

}  // namespace nj
