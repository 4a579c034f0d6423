// Execution queue: its thread, which never takes the GIL itself, waiting interruptible by Ctrl-C, fork and exit.
#include "runtime/queue/queue.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/process/fork.h"
#include "runtime/python/error.h"
#include "runtime/python/guard.h"
#include "runtime/queue/entry.h"
#include "runtime/queue/job_chain.h"
#include "runtime/process/signals_blocked.h"
#include "runtime/queue/stopwatch.h"
#include "runtime/queue/turns.h"

namespace nj {

namespace {

constexpr size_t kMaxQueued = 32;
constexpr size_t kMostHelpers = 64;
constexpr auto kSlice = std::chrono::milliseconds(50);
constexpr auto kExitPatience = std::chrono::milliseconds(250);  // at exit, for jobs that nobody needs
constexpr auto kForkPatience = std::chrono::milliseconds(250);  // at a fork, for the running job

struct Queue : Unfinished {
  std::mutex mutex;
  std::condition_variable work, done;
  std::thread thread;
  bool started = false;
  uint64_t generation = 0;     // threads of older generations end
  int parked = 0;              // number of forks in progress, during which no job and no thread starts
  bool closed = false;         // the process ends: only the first `to_finish` jobs run, unless somebody waits
  size_t to_finish = 0;
  int waiters = 0;
  JobChain finished;           // to be destroyed with the GIL held
  size_t helpers = 0;          // threads that run jobs out of order

  Queue() { ahead.reserve(kMostHelpers); }
  bool idle() const { return none(); }

  bool may_take() const { return !parked && Unfinished::has_next() && (!closed || to_finish > 0 || waiters > 0); }

  // With the lock held, if may_take().
  Job* take() {
    running = jobs.front();
    jobs.pop_front();
    if (to_finish > 0) --to_finish;
    return running;
  }

  // With the lock held: has the thread end after its job, and returns it. The caller notifies `work`.
  std::thread dismiss() {
    ++generation;
    started = false;
    return std::move(thread);
  }

  // With the lock held: whether to start a helper for jobs that the execution (any, if null) needs, out of order.
  bool needs_help(const Execution* wanted) const {
    return !parked && helpers < kMostHelpers && helpers == ahead.size() && held_up() && before_turn(wanted);
  }

  std::vector<Job*> under_way() const {
    std::vector<Job*> found(ahead.begin(), ahead.end());
    if (running) found.push_back(running);
    return found;
  }

  void end(Job* job) {
    if (running == job) running = nullptr;
    ahead.erase(std::remove(ahead.begin(), ahead.end(), job), ahead.end());
  }
};

// Never destroyed: the thread may outlive main().
Queue* queue = new Queue;
__thread Job* current_job = nullptr;  // the job that this thread runs
uint64_t pushed = 0;

Failure failure_of_stopped(const Job* job) { return job->abandoned ? Failure::Cancelled : Failure::Interrupted; }

// The part of a job that may fail; leaves its outcome in job->done. Does not throw: failed allocations return null.
State run_job(Job* job) {
  Execution* outcome = job->done;
  if (job->stop.load(std::memory_order_relaxed)) {
    outcome->failure = failure_of_stopped(job);
    return State::Failed;
  }
  for (Handle<Execution>& dependency : job->waits_for) {
    if (execution_state(dependency) == State::Failed) {
      outcome->failure = Failure::Cause;
      outcome->cause = std::move(dependency);
      return State::Failed;
    }
  }
  outcome->failure = Failure::OutOfMemory;
  char **ins = job->addresses.data(), **outs = ins + job->ins.size();
  for (size_t k = 0; k < job->ins.size(); ++k) ins[k] = job->ins[k].get()->data;
  for (size_t k = 0; k < job->outs.size(); ++k) {
    Buffer* out = job->outs[k].get();
    outcome->wanted_bytes = out->nbytes;
    if (!buffer_allocate(out)) return State::Failed;
    outs[k] = out->data;
  }
  Scratch scratch(job->scratch_bytes);
  outcome->wanted_bytes = job->scratch_bytes;
  if (scratch.failed) return State::Failed;
  outcome->failure = Failure::Status;
  {
    StopScope watched({&job->stop, false});
    Stopwatch stopwatch(job->took_ns);
    outcome->status = job->code(ins, outs, scratch.data(), outcome->info);
  }
  if (outcome->status == kInterrupted) outcome->failure = failure_of_stopped(job);
  return outcome->status == 0 ? State::Done : State::Failed;
}

int destroy_finished_callback(void*);

void finish(Queue* q, Job* job, State state) {
  std::vector<QueuedBuffer> ins, outs;
  {
    std::lock_guard<std::mutex> guard(q->mutex);  // other threads may be reading these lists
    ins.swap(job->ins);
    outs.swap(job->outs);
  }
  // Memory is released first: a thread that waits for this job may reuse it.
  ins.clear();
  outs.clear();
  bool first;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    job->done->state.store(state, std::memory_order_release);
    q->end(job);
    first = q->finished.empty();
    q->finished.push_back(std::unique_ptr<Job>(job));
  }
  q->done.notify_all();
  // Not while the interpreter ends.
  if (first && !interpreter_ends) (void)Py_AddPendingCall(guarded<destroy_finished_callback>, nullptr);
}

void run_and_finish(Queue* q, Job* job) {
  current_job = job;
  const State state = run_job(job);
  current_job = nullptr;
  finish(q, job, state);
}

// Helper thread: runs jobs that an execution (any, if null) needs out of order, while callbacks block the others.
void helper_main(Queue* q, const Execution* wanted) {
  for (;;) {
    Job* job;
    {
      std::lock_guard<std::mutex> guard(q->mutex);
      job = !q->parked && q->held_up() ? q->before_turn(wanted) : nullptr;
      if (!job) {
        --q->helpers;
        break;
      }
      const auto place = std::find(q->jobs.begin(), q->jobs.end(), job);
      if (size_t(place - q->jobs.begin()) < q->to_finish) --q->to_finish;
      q->jobs.erase(place);
      q->ahead.push_back(job);
    }
    run_and_finish(q, job);
    q->work.notify_one();
  }
}

// With the lock held: starts a helper thread. If that fails, the waiting thread tries again after its next slice.
void start_helper(Queue* q, const Execution* wanted) {
  SignalsBlocked blocked;
  try {
    std::thread(helper_main, q, wanted).detach();
    ++q->helpers;
  } catch (const std::exception&) {  // too many threads, or out of memory
  }
}

void thread_main(Queue* q, uint64_t generation) {
  for (;;) {
    Job* job;
    {
      std::unique_lock<std::mutex> lock(q->mutex);
      q->work.wait(lock, [=] { return q->generation != generation || q->may_take(); });
      if (q->generation != generation) return;
      job = q->take();
    }
    run_and_finish(q, job);
  }
}

void destroy_finished() {
  std::unique_lock<std::mutex> lock(queue->mutex);
  const JobChain jobs = std::move(queue->finished);
  lock.unlock();
}

int destroy_finished_callback(void*) {
  destroy_finished();
  return 0;
}

// With the lock held, as in dismiss(), so that no thread starts with a generation that has ended already.
std::error_code start_thread_locked(Queue* q) {
  if (q->started || q->parked) return {};
  std::error_code failure;
  SignalsBlocked blocked;
  try {
    q->thread = std::thread(thread_main, q, q->generation);
    q->started = true;
  } catch (const std::system_error& error) {
    failure = error.code();
  } catch (const std::bad_alloc&) {
    failure = std::make_error_code(std::errc::not_enough_memory);
  }
  return failure;
}

// 0, or -1 with RuntimeError set. Does nothing during a fork, whose end will start a thread.
int start_thread() {
  std::error_code failure;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    failure = start_thread_locked(queue);
  }
  if (!failure) return 0;
  if (failure == std::errc::not_enough_memory) PyErr_NoMemory();
  else PyErr_Format(PyExc_RuntimeError, "could not start the execution thread: %s", failure.message().c_str());
  return -1;
}

bool some_queued() {
  std::lock_guard<std::mutex> guard(queue->mutex);
  return !queue->jobs.empty();
}

// Cancels an execution: running loops end, queued jobs never start, and their results report that.
void stop_with_inputs(const Execution* execution) {
  std::lock_guard<std::mutex> guard(queue->mutex);
  queue->stop(execution);
}

void stop_all() {
  std::lock_guard<std::mutex> guard(queue->mutex);
  queue->stop_all();
}

void stop_nothing() {}

// What helpers may run while a thread waits: one execution with its dependencies, or any (null).
struct Helped {
  bool at_all;
  const Execution* wanted;
};
constexpr Helped kNothing{false, nullptr}, kAnything{true, nullptr};

// Waits in slices without the GIL until `ready` (called with the lock held): 0, or -1 if a signal handler raised, after
// `stop` has cancelled the jobs. Meanwhile the `helped` jobs may run out of order.
template <class Ready, class Stop>
int wait_until(Ready ready, Stop stop, Helped helped) {
  // A forked child inherits jobs, but not the thread.
  if (some_queued() && start_thread() < 0) return -1;
  for (;;) {
    bool is_ready;
    Py_BEGIN_ALLOW_THREADS;
    {
      Queue* q = queue;
      std::unique_lock<std::mutex> lock(q->mutex);
      const auto needs_help = [&] { return helped.at_all && q->needs_help(helped.wanted); };
      q->done.wait_for(lock, kSlice, [&] { return ready() || needs_help(); });
      is_ready = ready();
      if (!is_ready && needs_help()) start_helper(q, helped.wanted);
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

// Scope of a wait for a result, which lets jobs run although the process ends.
class Waiting {
 public:
  Waiting() {
    {
      std::lock_guard<std::mutex> guard(queue->mutex);
      ++queue->waiters;
    }
    queue->work.notify_one();
  }
  ~Waiting() {
    std::lock_guard<std::mutex> guard(queue->mutex);
    --queue->waiters;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

// With the lock held: fails a job that never runs. The caller removes it from its list.
void fail_queued(Job* job, Failure failure) {
  job->done->failure = failure;
  job->done->state.store(State::Failed, std::memory_order_release);
  queue->finished.push_back(std::unique_ptr<Job>(job));
}

}  // namespace

void Job::add_input(BufferRef buffer) {
  addresses.push_back(nullptr);
  ins.push_back(QueuedBuffer(std::move(buffer)));
}

void Job::add_output(BufferRef buffer) {
  addresses.push_back(nullptr);
  outs.push_back(QueuedBuffer(std::move(buffer)));
}

void queue_push(std::unique_ptr<Job> job) {
  destroy_finished();
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    queue->jobs.push_back(job.get());  // may throw; then the caller still owns the job
    (void)job.release();
  }
  ++pushed;
  // A fork in between may have ended the thread of queue_admit().
  if (start_thread() < 0) PyErr_WriteUnraisable(nullptr);
  queue->work.notify_one();
}

bool queue_has_effects() {
  std::lock_guard<std::mutex> guard(queue->mutex);
  return queue->has_effects();
}

int queue_admit() {
  Queue* q = queue;
  if (start_thread() < 0) return -1;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    if (q->jobs.size() < kMaxQueued) return 0;
  }
  // Not for long: a callback may be waiting for this thread.
  const auto enough = std::chrono::steady_clock::now() + kSlice;
  const auto room = [=] { return q->jobs.size() < kMaxQueued || (q->held_up() && std::chrono::steady_clock::now() >= enough); };
  if (wait_until(room, stop_nothing, kAnything) < 0) return -1;
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
    // Not in a callback that forks: it is itself part of a running job.
    const bool ended = !current_job && q->done.wait_for(lock, kForkPatience, [q] { return !q->running && q->ahead.empty(); });
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
  if (some_queued() && !current_job && start_thread() < 0) PyErr_WriteUnraisable(nullptr);
}

bool on_queue_thread() { return current_job; }

PyThreadState* queue_thread_state() {
  Queue* q = queue;
  std::lock_guard<std::mutex> guard(q->mutex);  // under which jobs are abandoned, before the interpreter ends
  if (interpreter_is_ending() || (current_job ? current_job->abandoned.load() : q->closed)) return nullptr;
  return PyThreadState_New(PyInterpreterState_Main());
}

void queue_note_callback(int more) {
  if (!current_job) return;
  {
    std::lock_guard<std::mutex> guard(queue->mutex);
    current_job->in_python += more;
  }
  queue->done.notify_all();  // a waiting thread may start a helper meanwhile
}

bool queue_open() { return !queue->closed; }
uint64_t queue_pushed() { return pushed; }

// Runs a computation in this thread if it is the next one and brief, which saves two thread switches.
void run_if_next(const Execution* execution) {
  Queue* q = queue;
  Job* job;
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    if (!q->may_take()) return;
    const Job* next = q->jobs.front();
    if (next->done != execution || !next->brief) return;
    job = q->take();
  }
  PyThreadState* before = give_gil_up();
  run_and_finish(q, job);
  q->work.notify_one();
  take_gil_back(before);
}

// Scope of a callback that waits for an execution; `can_end` is false for a deadlock, where that has to follow the job.
class WaitOfCallback {
 public:
  explicit WaitOfCallback(const Execution* execution) {
    std::lock_guard<std::mutex> guard(queue->mutex);
    ++current_job->in_python;
    current_job->waiting_for = execution;
    can_end = !queue->waits_for_itself(current_job, execution);
  }
  ~WaitOfCallback() {
    std::lock_guard<std::mutex> guard(queue->mutex);
    --current_job->in_python;
    current_job->waiting_for = nullptr;
  }
  WaitOfCallback(const WaitOfCallback&) = delete;
  WaitOfCallback& operator=(const WaitOfCallback&) = delete;
  bool can_end = false;
};

// 0 after its end, or -1 with an error set.
int wait_for_end(Execution* execution, const StopFlag* given_up) {
  const Waiting waiting;
  const auto ended = [=] { return execution_state(execution) != State::Pending || (given_up && given_up->load()); };
  if (wait_until(ended, [=] { stop_with_inputs(execution); }, {true, execution}) < 0) return -1;
  return execution_state(execution) == State::Pending ? raise_interrupted() : 0;
}

int wait_in_callback(Execution* execution) {
  const WaitOfCallback wait(execution);
  if (wait.can_end) return wait_for_end(execution, &current_job->stop);
  PyErr_SetString(PyExc_RuntimeError,
                  "a callback waits for a computation that is queued behind the one that called it, which would "
                  "never end; pass the value to the callback as an argument instead");
  return -1;
}

int execution_wait(Execution* execution) {
  // Another thread that waits for the same array may drop the array's reference first.
  const Handle<Execution> alive = Handle<Execution>::share(execution);
  if (execution_state(execution) == State::Pending) {
    if (current_job) {
      if (wait_in_callback(execution) < 0) return -1;
    } else {
      run_if_next(execution);
      if (wait_for_end(execution, nullptr) < 0) return -1;
    }
  }
  return execution_state(execution) == State::Failed ? execution_raise(execution) : 0;
}

namespace {

PyObject* synchronize(PyObject*, PyObject*) {
  if (current_job) {
    return PyErr_Format(PyExc_RuntimeError, "synchronize() was called from a callback of a queued computation");
  }
  Queue* q = queue;
  const Waiting waiting;
  if (wait_until([q] { return q->idle(); }, stop_all, kNothing) < 0) return nullptr;
  Py_RETURN_NONE;
}

// With the lock held, at exit. Jobs with effects are finished, with their dependencies. Other jobs in front of these are
// cancelled: run later, they might find their inputs overwritten. Those behind stay, and run if somebody waits for them.
void abandon_unneeded(Queue* q) {
  std::vector<const Execution*> needed;
  const auto is_needed = [&](const Job* job) {
    return job->has_effects || std::find(needed.begin(), needed.end(), job->done) != needed.end();
  };
  std::deque<Job*> left;
  for (; !q->jobs.empty(); q->jobs.pop_back()) {
    Job* job = q->jobs.back();
    if (is_needed(job)) {
      ++q->to_finish;
      for (const Handle<Execution>& input : job->waits_for) needed.push_back(input);
    } else if (q->to_finish > 0) {
      fail_queued(job, Failure::Cancelled);
      continue;
    }
    left.push_front(job);
  }
  q->jobs.swap(left);
  for (Job* job : q->under_way()) {
    if (is_needed(job)) continue;
    job->abandoned = true;
    job->stop.store(true, std::memory_order_relaxed);
  }
}

// Ends the thread after a bounded wait, as the running job may have no cancellation point.
void leave_thread() {
  Queue* q = queue;
  std::thread ending;
  bool idle;
  Py_BEGIN_ALLOW_THREADS;
  {
    std::unique_lock<std::mutex> lock(q->mutex);
    idle = q->done.wait_for(lock, kExitPatience, [q] { return q->under_way().empty(); });
    if (q->started) ending = q->dismiss();
  }
  q->work.notify_all();
  if (ending.joinable()) idle ? ending.join() : ending.detach();
  Py_END_ALLOW_THREADS;
}

// Cancels all queued jobs.
void cancel_all() {
  Queue* q = queue;
  std::lock_guard<std::mutex> guard(q->mutex);
  for (; !q->jobs.empty(); q->jobs.pop_front()) {
    fail_queued(q->jobs.front(), Failure::Cancelled);
  }
  q->to_finish = 0;
  for (Job* job : q->under_way()) job->abandoned = true;
}

// At exit: finishes jobs with effects, unless Ctrl-C interrupts that; later work runs inline.
PyObject* close_queue(PyObject*, PyObject*) {
  Queue* q = queue;
  if (current_job) Py_RETURN_NONE;
  end_interpreter();
  {
    std::lock_guard<std::mutex> guard(q->mutex);
    if (!q->closed) abandon_unneeded(q);
    q->closed = true;
  }
  const auto finished = [q] {
    const std::vector<Job*> jobs = q->under_way();
    return q->to_finish == 0 && std::all_of(jobs.begin(), jobs.end(), [](Job* job) { return job->abandoned.load(); });
  };
  const int ended = wait_until(finished, stop_all, kAnything);
  if (ended < 0) cancel_all();
  PyRef error = fetch_error();
  leave_thread();
  restore_error(std::move(error));
  return ended < 0 ? nullptr : Py_NewRef(Py_None);
}

// Handlers of every fork, by os.fork or below Python. The child has the jobs, but no other thread. Jobs that other threads
// were running are lost; a callback that forks continues in the child with its job, after which the thread ends.
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
  const auto lose = [q](Job* job) {
    if (!job || job == current_job) return false;
    fail_queued(job, Failure::Lost);
    return true;
  };
  if (lose(q->running)) q->running = nullptr;
  q->ahead.erase(std::remove_if(q->ahead.begin(), q->ahead.end(), lose), q->ahead.end());
  q->helpers = q->ahead.size();
}

PyMethodDef functions[] = {
    {"synchronize", method<synchronize>(), METH_NOARGS, PyDoc_STR("Waits until every queued computation has run.")},
    {"close_queue", method<close_queue>(), METH_NOARGS,
     PyDoc_STR("Finishes what has effects, and closes the queue: from now on all else runs inline, or when it is waited for.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int queue_init(PyObject* module) {
  using namespace nj;
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  PyRef close_function(PyObject_GetAttrString(module, "close_queue"));
  PyRef atexit(PyImport_ImportModule("atexit"));
  if (!close_function || !atexit) return -1;
  PyRef registered(PyObject_CallMethod(atexit.get(), "register", "O", close_function.get()));
  if (!registered) return -1;
  return pthread_atfork(before_any_fork, after_any_fork_in_parent, after_any_fork_in_child);
}
