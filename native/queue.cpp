// The execution queue: a thread that never takes the GIL itself, waiting that Ctrl-C interrupts, fork and exit.
#include "queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "fork.h"
#include "guard.h"
#include "stopwatch.h"

namespace nj {

namespace {

constexpr size_t kMaxQueued = 32;
constexpr auto kSlice = std::chrono::milliseconds(50);
constexpr auto kForkPatience = std::chrono::milliseconds(250);  // of a fork with the job that is running

struct Queue {
  std::mutex mutex;
  std::condition_variable work, done;
  std::deque<Job*> jobs;
  Job* running = nullptr;
  std::thread thread;
  bool started = false;
  uint64_t generation = 0;     // a thread of an older one ends
  int parked = 0;              // forks under way: meanwhile no job begins, and no thread
  std::vector<Job*> finished;  // to be destroyed under the GIL

  bool idle() const { return jobs.empty() && !running; }

  bool has_next() const { return !parked && !running && !jobs.empty(); }

  // With the lock held, and something to run.
  Job* take() {
    running = jobs.front();
    jobs.pop_front();
    return running;
  }

  // With the lock held: the thread, which ends after its job. `work` is to be notified.
  std::thread dismiss() {
    ++generation;
    started = false;
    return std::move(thread);
  }
};

// Never destroyed: the thread may outlive main().
Queue* queue = new Queue;
__thread bool is_queue_thread = false;
bool closed = false;
uint64_t pushed = 0;

// The part of a job that may fail; leaves its outcome in job->done.
State run_job(Job* job) {
  Execution* outcome = job->done;
  if (job->stop.load(std::memory_order_relaxed)) {
    outcome->failure = Failure::Interrupted;
    return State::Failed;
  }
  for (Execution*& dependency : job->waits_for) {
    if (execution_state(dependency) == State::Failed) {
      outcome->failure = Failure::Cause;
      outcome->cause = reinterpret_cast<PyObject*>(dependency);  // takes over the job's reference
      dependency = nullptr;
      return State::Failed;
    }
  }
  outcome->failure = Failure::OutOfMemory;
  std::vector<char*> ins, outs;
  for (Buffer* buffer : job->ins) ins.push_back(buffer->data);
  for (Buffer* buffer : job->outs) {
    outcome->wanted_bytes = buffer->nbytes;
    if (!buffer_allocate(buffer)) return State::Failed;
    outs.push_back(buffer->data);
  }
  Scratch scratch(job->scratch_bytes);
  outcome->wanted_bytes = job->scratch_bytes;
  if (scratch.failed) return State::Failed;
  outcome->failure = Failure::Status;
  {
    StopScope watched({&job->stop, false});
    Stopwatch stopwatch(job->took_ns);
    outcome->status = job->code(ins.data(), outs.data(), scratch.data(), outcome->info);
  }
  if (outcome->status == kInterrupted) outcome->failure = Failure::Interrupted;
  return outcome->status == 0 ? State::Done : State::Failed;
}

void release_queued(std::vector<Buffer*>& buffers) {
  for (Buffer* buffer : buffers) {
    buffer->queued.fetch_sub(1, std::memory_order_release);
    buffer_release(buffer);
  }
  buffers.clear();
}

int destroy_finished_callback(void*);

void finish(Queue* q, Job* job, State state) {
  // Memory goes back first: whoever waits for this job may want it.
  release_queued(job->ins);
  release_queued(job->outs);
  bool first;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    job->done->state.store(state, std::memory_order_release);
    q->running = nullptr;
    first = q->finished.empty();
    q->finished.push_back(job);
  }
  q->done.notify_all();
  if (first) (void)Py_AddPendingCall(destroy_finished_callback, nullptr);
}

void thread_main(Queue* q, uint64_t generation) {
  is_queue_thread = true;
  for (;;) {
    Job* job;
    {
      std::unique_lock<std::mutex> lock(q->mutex);
      q->work.wait(lock, [=] { return q->generation != generation || q->has_next(); });
      if (q->generation != generation) return;
      job = q->take();
    }
    finish(q, job, run_job(job));
  }
}

void destroy_finished() {
  std::vector<Job*> jobs;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    jobs.swap(queue->finished);
  }
  for (Job* job : jobs) delete job;
}

int destroy_finished_callback(void*) {
  destroy_finished();
  return 0;
}

// With the lock held, which whoever ends threads holds, too: no thread begins with a generation that has ended already.
std::error_code start_thread_locked(Queue* q) {
  if (q->started || q->parked) return {};
  std::error_code failure;
  // Signals are for the interpreter's threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    q->thread = std::thread(thread_main, q, q->generation);
    q->started = true;
  } catch (const std::system_error& error) {
    failure = error.code();
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return failure;
}

// 0, or -1 with RuntimeError set. During a fork, which will start one, it does nothing.
int start_thread() {
  std::error_code failure;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    failure = start_thread_locked(queue);
  }
  if (!failure) return 0;
  PyErr_Format(PyExc_RuntimeError, "could not start the execution thread: %s", failure.message().c_str());
  return -1;
}

bool some_queued() {
  std::lock_guard<std::mutex> guard(queue->mutex);
  return !queue->jobs.empty();
}

// Nobody wants the results of these any more: loops that run end, what has not begun never will, and their results say so.
void stop_job(Job* job) { job->stop.store(true, std::memory_order_relaxed); }

// Stops one computation and what it waits for; what others wait for goes on.
void stop_with_inputs(const Execution* execution) {
  std::lock_guard<std::mutex> guard(queue->mutex);
  const auto& jobs = queue->jobs;
  const auto unwanted = [&](const Job* job) {
    return job->done == execution || std::any_of(jobs.begin(), jobs.end(), [&](const Job* later) {
             const auto& inputs = later->waits_for;
             return later->stop.load() && std::find(inputs.begin(), inputs.end(), job->done) != inputs.end();
           });
  };
  const auto stop_unwanted = [&](Job* job) {
    if (unwanted(job)) stop_job(job);
  };
  // From the last one on, as inputs are queued before what waits for them.
  std::for_each(jobs.rbegin(), jobs.rend(), stop_unwanted);
  if (queue->running) stop_unwanted(queue->running);
}

void stop_all() {
  std::lock_guard<std::mutex> guard(queue->mutex);
  std::for_each(queue->jobs.begin(), queue->jobs.end(), stop_job);
  if (queue->running) stop_job(queue->running);
}

void stop_nothing() {}

// Waits in slices without the GIL until `ready` (called with the lock held): 0, or -1 when a signal handler raised, after
// `stop` has told what nobody wants any more.
template <class Ready, class Stop>
int wait_until(Ready ready, Stop stop) {
  // A forked child inherits jobs, but not the thread.
  if (some_queued() && start_thread() < 0) return -1;
  for (;;) {
    bool is_ready;
    Py_BEGIN_ALLOW_THREADS;
    {
      std::unique_lock<std::mutex> lock(queue->mutex);
      is_ready = queue->done.wait_for(lock, kSlice, ready);
    }
    Py_END_ALLOW_THREADS;
    if (is_ready) break;
    if (PyErr_CheckSignals() < 0) {
      stop();
      return -1;
    }
  }
  destroy_finished();
  return 0;
}

// Runs all that is queued, then ends the thread; the next job starts a new one.
int quiesce() {
  Queue* q = queue;
  if (is_queue_thread) return 0;
  {
    // What an earlier close_queue() gave up.
    std::lock_guard<std::mutex> guard(q->mutex);
    if (!q->started && q->jobs.empty()) return 0;
  }
  std::thread ending;
  if (wait_until([q, &ending] {
        if (!q->idle()) return false;
        if (q->started) ending = q->dismiss();
        return true;
      }, stop_all) < 0) {
    return -1;
  }
  q->work.notify_all();
  Py_BEGIN_ALLOW_THREADS;
  if (ending.joinable()) ending.join();
  Py_END_ALLOW_THREADS;
  return 0;
}

void fail_queued(Job* job, Failure failure) {
  job->done->failure = failure;
  job->done->state.store(State::Failed, std::memory_order_release);
}

}  // namespace

Job::~Job() {
  release_queued(ins);
  release_queued(outs);
  for (Execution* dependency : waits_for) Py_XDECREF(reinterpret_cast<PyObject*>(dependency));
  Py_XDECREF(reinterpret_cast<PyObject*>(done));
  Py_XDECREF(keepalive);
}

void Job::add_input(Buffer* buffer) {
  buffer->queued.fetch_add(1, std::memory_order_relaxed);
  ins.push_back(buffer_retain(buffer));
}

void Job::add_output(Buffer* buffer) {
  buffer->queued.fetch_add(1, std::memory_order_relaxed);
  outs.push_back(buffer_retain(buffer));
}

void queue_push(std::unique_ptr<Job> job) {
  destroy_finished();
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    queue->jobs.push_back(job.release());
  }
  ++pushed;
  // A fork in between may have ended the thread of queue_admit().
  if (start_thread() < 0) PyErr_WriteUnraisable(nullptr);
  queue->work.notify_one();
}

int queue_admit() {
  Queue* q = queue;
  if (start_thread() < 0) return -1;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    if (q->jobs.size() < kMaxQueued) return 0;
  }
  if (wait_until([q] { return q->jobs.size() < kMaxQueued; }, stop_nothing) < 0) return -1;
  // Another thread may have ended ours meanwhile (before a fork).
  return start_thread();
}

void queue_park() {
  Queue* q = queue;
  std::thread ending;
  Py_BEGIN_ALLOW_THREADS;
  {
    std::unique_lock<std::mutex> lock(q->mutex);
    ++q->parked;
    // A callback that forks is part of what runs.
    const bool ended = !is_queue_thread && q->done.wait_for(lock, kForkPatience, [q] { return !q->running; });
    if (ended && q->started) ending = q->dismiss();
  }
  q->work.notify_all();
  if (ending.joinable()) ending.join();
  Py_END_ALLOW_THREADS;
}

void queue_unpark() {
  std::error_code failure;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    if (--queue->parked == 0 && !queue->jobs.empty()) failure = start_thread_locked(queue);
  }
  queue->work.notify_all();
  if (failure) PySys_WriteStderr("numjet: could not start the execution thread after a fork: %s\n", failure.message().c_str());
}

void queue_adopt() {
  if (some_queued() && !is_queue_thread && start_thread() < 0) PyErr_WriteUnraisable(nullptr);
}

bool on_queue_thread() { return is_queue_thread; }
bool queue_open() { return !closed; }
uint64_t queue_pushed() { return pushed; }

// Runs the computation here if it is the next one and brief: that saves waking one thread and being woken by it.
void run_if_next(const Execution* execution) {
  Queue* q = queue;
  Job* job;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    if (!q->has_next()) return;
    const Job* next = q->jobs.front();
    if (next->done != execution || !next->brief) return;
    job = q->take();
  }
  Py_BEGIN_ALLOW_THREADS;
  is_queue_thread = true;
  finish(q, job, run_job(job));
  is_queue_thread = false;
  q->work.notify_one();
  Py_END_ALLOW_THREADS;
}

int execution_wait(Execution* execution) {
  if (execution_state(execution) == State::Pending && !is_queue_thread) {
    Ref alive = Ref::borrow(reinterpret_cast<PyObject*>(execution));
    run_if_next(execution);
  }
  if (execution_state(execution) == State::Pending) {
    if (is_queue_thread) {
      PyErr_SetString(PyExc_RuntimeError,
                      "a callback waits for a computation that is queued behind the one that called it, which would "
                      "never end; pass the value to the callback as an argument instead");
      return -1;
    }
    Ref alive = Ref::borrow(reinterpret_cast<PyObject*>(execution));
    const auto ended = [execution] { return execution_state(execution) != State::Pending; };
    if (wait_until(ended, [execution] { stop_with_inputs(execution); }) < 0) return -1;
  }
  return execution_state(execution) == State::Failed ? execution_raise(execution) : 0;
}

namespace {

PyObject* synchronize(PyObject*, PyObject*) {
  if (is_queue_thread) {
    return PyErr_Format(PyExc_RuntimeError, "synchronize() was called from a callback of a queued computation");
  }
  Queue* q = queue;
  if (wait_until([q] { return q->idle(); }, stop_all) < 0) return nullptr;
  Py_RETURN_NONE;
}

// At exit: what was asked for is computed, unless Ctrl-C says otherwise; later work runs inline.
PyObject* close_queue(PyObject*, PyObject*) {
  closed = true;
  if (quiesce() == 0) Py_RETURN_NONE;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    // Their references stay: the interpreter ends anyway.
    for (Job* job : queue->jobs) fail_queued(job, Failure::Cancelled);
    queue->jobs.clear();
  }
  // What runs may have no loop that stops, but nobody waits for it any more.
  if (queue->thread.joinable()) queue->thread.detach();
  queue->started = false;
  return nullptr;
}

// Of any fork, by os.fork or below Python. The child has the jobs, but no other thread. What another thread was running is
// lost; a callback that forks goes on in the child with the job that called it, and the thread ends after that.
void before_any_fork() { queue->mutex.lock(); }
void after_any_fork_in_parent() { queue->mutex.unlock(); }
void after_any_fork_in_child() {
  Queue* q = queue;
  new (&q->mutex) std::mutex;
  new (&q->work) std::condition_variable;
  new (&q->done) std::condition_variable;
  new (&q->thread) std::thread;
  q->started = false;
  q->parked = 0;
  ++q->generation;
  if (!q->running || is_queue_thread) return;
  fail_queued(q->running, Failure::Lost);
  q->finished.push_back(q->running);
  q->running = nullptr;
}

PyMethodDef functions[] = {
    {"synchronize", method<synchronize>(), METH_NOARGS, PyDoc_STR("Waits until every queued computation has run.")},
    {"close_queue", method<close_queue>(), METH_NOARGS,
     PyDoc_STR("Waits like synchronize() and closes the queue: from now on everything runs inline.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int queue_init(PyObject* module) {
  using namespace nj;
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  Ref close_function(PyObject_GetAttrString(module, "close_queue"));
  Ref atexit(PyImport_ImportModule("atexit"));
  if (!close_function || !atexit) return -1;
  Ref registered(PyObject_CallMethod(atexit.get(), "register", "O", close_function.get()));
  if (!registered) return -1;
  return pthread_atfork(before_any_fork, after_any_fork_in_parent, after_any_fork_in_child);
}
