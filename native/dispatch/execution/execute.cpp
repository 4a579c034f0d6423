// Running executables: inline when short and the inputs are there, else on the queue.
#include "dispatch/execution/execute.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "array/numpy_api.h"
#include "runtime/python/guard.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/signals.h"
#include "runtime/memory/small_vector.h"
#include "runtime/queue/entry.h"
#include "runtime/queue/stopwatch.h"

namespace nj {

namespace {

// Below this machine code runs with the GIL held: giving it up and taking it again costs more.
constexpr double kHoldGil = 5e3;
constexpr double kNsPerCopiedByte = 0.1;
// Up to this, whoever waits may run it: being interrupted can wait that long, ten times over.
constexpr double kBriefNs = 20e6;

double inline_limit_ns = 100e3;  // 0: all is queued; negative: nothing
uint64_t executions = 0;

// One call: owns the outputs' buffers until they belong to arrays.
struct Call {
  Executable* executable;
  ExecutablePlan* plan;
  Array* const* ins;
  const char* donated;
  bool committed;
  double expected_ns;
  SmallVector<BufferRef, 8> outs;
};

// A JaxRuntimeError, as what XLA's runtime refuses is.
int raise_donated_twice(size_t input, bool both) {
  PyRef errors(PyImport_ImportModule("numjet.foundation.errors"));
  PyRef error(errors ? PyObject_GetAttrString(errors.get(), "JaxRuntimeError") : nullptr);
  if (!error) return -1;
  PyErr_Format(error.get(),
               "Attempt to %s previously donated in the same call (argument %zu of the "
               "executable). A donated array may be passed once only: f(donated(x), x) has to copy one of them.",
               both ? "donate the same buffer twice in Execute(): it was" : "use a buffer that was", input);
  return -1;
}

// No donated array may come twice. Marks make this linear; no Python code runs meanwhile.
int check_donation(const Call& call) {
  size_t count = call.plan->ins.size(), bad = count;
  for (size_t k = 0; k < count; ++k) {
    if (!call.donated[k]) continue;
    if (call.ins[k]->marked) bad = k;
    call.ins[k]->marked = true;
  }
  for (size_t k = 0; k < count; ++k) {
    if (!call.donated[k] && call.ins[k]->marked) bad = k;
  }
  for (size_t k = 0; k < count; ++k) call.ins[k]->marked = false;
  return bad == count ? 0 : raise_donated_twice(bad, call.donated[bad]);
}

int check_inputs(const Call& call) {
  for (size_t k = 0; k < call.plan->ins.size(); ++k) {
    Array* array = call.ins[k];
    if (!array->buffer) return raise_deleted(array);
    if (array->pending && execution_state(array->pending) == State::Failed) return execution_raise(array->pending);
  }
  return call.donated ? check_donation(call) : 0;
}

// Whether anybody else may read the memory of an object: not that of an array of NumPy's that only the buffer refers to.
bool known_to_others(PyObject* owner) {
  if (!PyArray_CheckExact(owner) || Py_REFCNT(owner) > 1) return true;
  constexpr int flags = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE;
  return (PyArray_FLAGS(reinterpret_cast<PyArrayObject*>(owner)) & flags) != flags;
}

// Whether output `out` may take over the buffer of its aliased input.
bool takes_over(const Call& call, size_t out, bool queued) {
  int in = call.plan->alias[out];
  if (in < 0 || !call.donated || !call.donated[in]) return false;
  const Buffer* buffer = call.ins[in]->buffer;
  if (buffer->owner && known_to_others(buffer->owner.get())) return false;
  // Read in this order: a computation that ends in between makes the sum too large, never too small.
  int64_t refs = buffer->refs.load(std::memory_order_acquire);
  int64_t harmless = queued ? buffer->queued.load(std::memory_order_acquire) : 0;
  return refs - harmless == 1;
}

// An open-ended program that never ran may take for ever; after that it is taken to repeat itself.
double program_ns(const ExecutablePlan* plan) {
  if (!plan->open_ended) return plan->cost_ns;
  double last = plan->last_ns.load(std::memory_order_relaxed);
  return last > 0 ? last : std::numeric_limits<double>::infinity();
}

// The program's estimate has no copies of donated inputs: they are needed only where the memory cannot be taken over.
double expected_ns(const Call& call) {
  double nanoseconds = program_ns(call.plan);
  for (size_t k = 0; k < call.plan->outs.size(); ++k) {
    int in = call.plan->alias[k];
    if (in < 0 || !call.ins[in]->buffer || takes_over(call, k, true)) continue;
    nanoseconds += kNsPerCopiedByte * double(call.plan->outs[k]->nbytes);
  }
  return nanoseconds;
}

// Effects happen in program order: after those of queued programs.
bool has_to_queue(const Call& call) {
  if (call.plan->has_effects && queue_has_effects()) return true;
  if (call.plan->in_call && inline_limit_ns > 0) return false;
  return call.expected_ns >= inline_limit_ns;
}

int prepare_outputs(Call& call, bool queued) {
  for (size_t k = 0; k < call.plan->outs.size(); ++k) {
    const size_t nbytes = call.plan->room[k];
    const bool over = takes_over(call, k, queued);
    if (call.plan->alias[k] >= 0 && !over) copy_counts.add(nbytes);  // the program begins by copying this input
    BufferRef buffer = over ? call.ins[call.plan->alias[k]]->buffer
                       : queued                    ? buffer_promise(nbytes)
                                                   : buffer_new(nbytes);
    if (!buffer) return raise_no_memory(nbytes);
    call.outs.push_back(std::move(buffer));
  }
  return 0;
}

// Hands the buffers to arrays.
int make_arrays(Call& call, Execution* pending, PyRef* results) {
  for (size_t k = 0; k < call.outs.size(); ++k) {
    results[k] = as(array_new(call.plan->outs[k], call.executable->device, std::move(call.outs[k]), call.committed, pending));
    if (!results[k]) return -1;
  }
  return 0;
}

void delete_donated(const Call& call) {
  if (!call.donated) return;
  for (size_t k = 0; k < call.plan->ins.size(); ++k) {
    if (call.donated[k]) array_delete(call.ins[k]);
  }
}

// The addresses of one inline run. Holds the inputs' memory: the arrays may be deleted meanwhile.
struct Addresses {
  SmallVector<char*, 8> ins, outs;
  SmallVector<BufferRef, 8> held;

  explicit Addresses(const Call& call) {
    for (size_t k = 0; k < call.plan->ins.size(); ++k) {
      ins.push_back(call.ins[k]->buffer->data);
      held.push_back(call.ins[k]->buffer);
    }
    for (const BufferRef& buffer : call.outs) outs.push_back(buffer->data);
  }
};

int64_t run_code(const Call& call, Addresses& addresses, char* scratch, int64_t* info) {
  char **ins = addresses.ins.begin(), **outs = addresses.outs.begin();
  MachineCode code = with_code(call.executable)->plan->code.load();
  bool open_ended = call.plan->open_ended;
  // What a callback of another program calls ends with that program.
  StopFlag own{false}, *outer = current_stop().flag;
  StopScope watched({outer ? outer : &own, call.expected_ns > kHoldGil || open_ended});
  if (call.expected_ns <= kHoldGil && !open_ended) return code(ins, outs, scratch, info);
  int64_t status;
  PyThreadState* before = give_gil_up();
  {
    Stopwatch stopwatch(open_ended ? &call.plan->last_ns : nullptr);
    status = code(ins, outs, scratch, info);
  }
  take_gil_back(before);
  return status;
}

int run_inline(Call& call, PyRef* results) {
  if (check_inputs(call) < 0 || prepare_outputs(call, false) < 0) return -1;
  Scratch scratch(call.plan->scratch_bytes);
  if (scratch.failed) return raise_no_memory(call.plan->scratch_bytes);
  int64_t info[8] = {};
  int64_t status;
  {
    Addresses addresses(call);
    // Before the run: no other thread shall meet an array that is being overwritten.
    delete_donated(call);
    status = run_code(call, addresses, scratch.data(), info);
  }
  // Machine code may have called back into Python, and an error of that comes first.
  if (PyErr_Occurred() || raise_kept_error() < 0) return -1;
  if (status == kInterrupted) return raise_interrupted();
  if (status == 0) return make_arrays(call, nullptr, results);
  PyRef error(status_error(call.executable->on_error, status, info));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return -1;
}

int run_queued(Call& call, PyRef* results) {
  // Comes first: to make an object may collect garbage, and finalizers may delete arrays.
  const Handle<Execution> execution = execution_new(call.executable->on_error);
  if (!execution || check_inputs(call) < 0) return -1;
  if (prepare_outputs(call, true) < 0) return -1;
  auto job = std::make_unique<Job>();
  job->code = with_code(call.executable)->plan->code.load();
  job->scratch_bytes = call.plan->scratch_bytes;
  job->brief = call.expected_ns <= kBriefNs && !call.plan->open_ended;
  job->has_effects = call.plan->has_effects;
  if (call.plan->open_ended) job->took_ns = &call.plan->last_ns;
  job->keepalive = as(Handle<Executable>::share(call.executable));
  for (size_t k = 0; k < call.plan->ins.size(); ++k) {
    Array* array = call.ins[k];
    const bool ready = array_ready(array);
    if (!array->buffer) return raise_deleted(array);  // to find out may have run anything
    job->add_input(array->buffer);
    if (!ready) job->waits_for.push_back(array->pending);
  }
  for (size_t k = 0; k < call.outs.size(); ++k) {
    job->add_output(call.outs[k]);
    const int in = call.plan->alias[k];
    if (in >= 0 && call.outs[k] == call.ins[in]->buffer) job->overwrites.push_back(call.outs[k]);
  }
  job->done = execution;
  if (make_arrays(call, execution, results) < 0) return -1;
  queue_push(std::move(job));
  delete_donated(call);
  return 0;
}

bool any_pending(const Call& call) {
  return std::any_of(call.ins, call.ins + call.plan->ins.size(),
                     [](Array* array) { return array->buffer && !array_ready(array); });
}

// Brings inputs whose values are on another device only, or in another order.
int fetch_inputs(const Executable* executable, Array* const* ins) {
  for (size_t k = 0; k < executable->plan->ins.size(); ++k) {
    if ((ins[k]->remote || ins[k]->lazy_transpose) && array_wait(ins[k]) < 0) return -1;
  }
  return 0;
}

using Arrays = SmallVector<Array*, 16>;
using OwnArrays = SmallVector<ArrayRef, 8>;

// Copies inputs whose code reads more than they have to the front of memory of their own.
int copy_inputs(const Executable* executable, Array* const* ins, Arrays& all, OwnArrays& own) {
  const ExecutablePlan* plan = executable->plan.get();
  for (size_t k = 0; k < plan->ins.size(); ++k) {
    all.push_back(ins[k]);
    const size_t room = plan->copied[k];
    if (!room) continue;
    if (array_wait(ins[k]) < 0) return -1;
    if (!ins[k]->buffer) return raise_deleted(ins[k]);
    BufferRef buffer = buffer_new(room);
    if (!buffer) return raise_no_memory(room);
    memcpy(buffer->data, ins[k]->buffer->data, ins[k]->info->nbytes);
    ArrayRef made = array_new(ins[k]->info, executable->device, std::move(buffer), false);
    if (!made) return -1;
    all[k] = made;
    own.push_back(std::move(made));
  }
  return 0;
}

// Without a queue (in its own thread, at exit) the inputs are waited for here.
int wait_for_inputs(const Call& call) {
  for (size_t k = 0; k < call.plan->ins.size(); ++k) {
    if (array_wait(call.ins[k]) < 0) return -1;
  }
  return 0;
}

// An error is that of a signal's handler, as what is called reports its own: it ends the call, and the next one tells again.
int report_second_call(Executable* executable) {
  PyRef callback = std::move(executable->on_second_call);
  PyRef result(PyObject_CallOneArg(callback, reinterpret_cast<PyObject*>(executable)));
  if (result) return 0;
  if (!executable->on_second_call) executable->on_second_call = std::move(callback);
  return -1;
}

}  // namespace

int execute(Executable* executable, Array* const* ins, const char* donated, bool committed, PyRef* outs) {
  Executable* counted = with_code(executable);
  if (counted->on_second_call && counted->call_count == 1 && report_second_call(counted) < 0) return -1;
  run_deferred_decrefs();
  if (fetch_inputs(executable, ins) < 0) return -1;
  Arrays all;
  OwnArrays own;
  if (!executable->plan->copied.empty() && copy_inputs(executable, ins, all, own) < 0) return -1;
  Call call{executable, executable->plan.get(), own.size() ? all.begin() : ins, donated, committed, 0, {}};
  bool can_queue = inline_limit_ns >= 0 && queue_open() && !on_queue_thread();
  bool pending = any_pending(call);
  call.expected_ns = expected_ns(call);
  bool queued = can_queue && (pending || has_to_queue(call));
  // Waiting comes first: it lets other threads run, and with them anything may change.
  if (queued && queue_admit() < 0) return -1;
  if (pending && !can_queue && wait_for_inputs(call) < 0) return -1;
  ++counted->call_count;
  ++executions;
  return queued ? run_queued(call, outs) : run_inline(call, outs);
}

namespace {

PyObject* set_inline_limit(PyObject*, PyObject* value) {
  double limit = PyFloat_AsDouble(value);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  PyObject* previous = PyFloat_FromDouble(inline_limit_ns);
  inline_limit_ns = limit;
  return previous;
}

PyObject* counters(PyObject*, PyObject*) {
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "executions", static_cast<unsigned long long>(executions), "enqueued",
                       static_cast<unsigned long long>(queue_pushed()), "allocations",
                       static_cast<unsigned long long>(pool_stats().allocations), "copies",
                       static_cast<unsigned long long>(copy_counts.copies), "copied_bytes",
                       static_cast<unsigned long long>(copy_counts.bytes));
}

PyMethodDef functions[] = {
    {"set_inline_limit", method<set_inline_limit>(), METH_O,
     PyDoc_STR("Sets the cost in ns from which executables are queued instead of run inline; returns the old one.")},
    {"counters", method<counters>(), METH_NOARGS, PyDoc_STR("How many executions, queued executions, pool allocations, copies and copied bytes.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int executable_type_init(PyObject* module);

}  // namespace nj

int execute_init(PyObject* module) {
  if (PyModule_AddFunctions(module, nj::functions) < 0) return -1;
  return nj::executable_type_init(module);
}
