// Failures of computations: made into exceptions when somebody looks, in a thread that has the GIL.
#include "dispatch/execution/execution.h"

#include <algorithm>
#include <new>

#include "array/array.h"
#include "runtime/python/error.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"
#include "runtime/queue/queue.h"

namespace nj {

namespace {

PyTypeObject* execution_type = nullptr;

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* execution = reinterpret_cast<Execution*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(execution->on_error);
  Py_VISIT(execution->error);
  // `cause` is written by the execution thread, which may be at it.
  if (execution_state(execution) != State::Pending) Py_VISIT(execution->cause.get());
  return 0;
}

int clear(PyObject* self) {
  auto* execution = reinterpret_cast<Execution*>(self);
  // on_error and cause stay: a failure is raised from them.
  execution->error.reset();
  return 0;
}

void dealloc(PyObject* self) {
  auto* execution = reinterpret_cast<Execution*>(self);
  PyObject_GC_UnTrack(self);
  destroy(execution->on_error, execution->cause, execution->error);
  free_instance(self);
}

PyType_Slot slots[] = {slot<dealloc>(Py_tp_dealloc), slot<traverse>(Py_tp_traverse), slot<clear>(Py_tp_clear), no_instances(),
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.Execution", sizeof(Execution), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

PyObject* make_error(Execution* execution) {
  switch (execution->failure) {
    case Failure::Status: return status_error(execution->on_error, execution->status, execution->info);
    case Failure::OutOfMemory: return out_of_memory(execution->wanted_bytes);
    case Failure::Lost:
      return PyErr_Format(PyExc_RuntimeError,
                          "this computation was still running in the parent process when it forked; compute it "
                          "again here, or wait for results (block_until_ready) before forking");
    case Failure::Cancelled:
      let_interpreter_end();
      return PyErr_Format(PyExc_RuntimeError, "this computation was abandoned because the process ends");
    case Failure::Interrupted: raise_interrupted(); return nullptr;
    case Failure::Cause: break;
  }
  return PyErr_Format(PyExc_SystemError, "a failed computation lost its cause");
}

}  // namespace

int raise_interrupted() {
  let_interpreter_end();
  PyErr_SetString(PyExc_RuntimeError,
                  "this computation was interrupted (Ctrl-C, or a signal handler that raised, while something waited for "
                  "it), so there is no result; call the function again to compute it");
  return -1;
}

Handle<Execution> execution_new(PyObject* on_error) {
  Execution* execution = PyObject_GC_New(Execution, execution_type);
  if (!execution) return Handle<Execution>();
  new (&execution->state) std::atomic<State>(State::Pending);
  execution->failure = Failure::Status;
  execution->status = 0;
  std::fill(execution->info, execution->info + 8, 0);
  execution->wanted_bytes = 0;
  construct(execution->on_error, execution->cause, execution->error);
  execution->on_error = PyRef::share(on_error);
  PyObject_GC_Track(execution);
  return Handle<Execution>(execution);
}

PyObject* status_error(PyObject* on_error, int64_t status, const int64_t* info) {
  PyRef words(new_list(8, [=](size_t k) { return PyLong_FromLongLong(info[k]); }));
  if (!words) return nullptr;
  PyRef error(PyObject_CallFunction(on_error, "LO", static_cast<long long>(status), words.get()));
  if (!error) return nullptr;
  if (PyExceptionInstance_Check(error.get())) return error.release();
  return PyErr_Format(PyExc_TypeError, "on_error must return an exception, got %R for status %lld", error.get(),
                      static_cast<long long>(status));
}

int execution_raise(Execution* execution) {
  while (execution->failure == Failure::Cause) execution = execution->cause;
  const Handle<Execution> alive = Handle<Execution>::share(execution);
  if (!execution->error) {
    PyRef error(make_error(execution));
    if (!error) error = fetch_error();
    // on_error runs Python code: another thread may have been here meanwhile.
    if (!execution->error) execution->error = std::move(error);
  }
  const PyRef error = execution->error;
  // Every raise would add its frames to the old ones, and keep all of them alive.
  if (PyException_SetTraceback(error.get(), Py_None) < 0) return -1;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return -1;
}

int execution_init() {
  execution_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return execution_type ? 0 : -1;
}

}  // namespace nj
