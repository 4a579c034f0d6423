// current_trace(), set_eval_trace(), set_config_reader(), config_changed(), config_changed_here().
#include "dispatch/trace.h"

#include "runtime/python/guard.h"

namespace nj {

__thread TraceState trace_state = {{}, 0, 0, 0, true};
PyGlobal eval_trace;
std::atomic<uint64_t> config_epoch{1};

namespace {

PyGlobal config_reader;

// (serial, fast, here) of the reader's answer.
bool take_apart(PyObject* answer, uint64_t* serial, bool* fast, bool* here) {
  if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) < 2 || PyTuple_GET_SIZE(answer) > 3) {
    PyErr_Format(PyExc_TypeError, "the reader of the configuration must return (serial, fast) or (serial, fast, here), got %R",
                 answer);
    return false;
  }
  *serial = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(answer, 0));
  if (PyErr_Occurred()) return false;
  int on = PyObject_IsTrue(PyTuple_GET_ITEM(answer, 1));
  *fast = on > 0;
  const int local = PyTuple_GET_SIZE(answer) == 3 ? PyObject_IsTrue(PyTuple_GET_ITEM(answer, 2)) : 1;
  *here = local > 0;
  return on >= 0 && local >= 0;
}

}  // namespace

bool read_config() {
  while (trace_state.seen != config_epoch.load(std::memory_order_acquire)) {
    // What changes from here on is read in the next round, in which `seen` is found to be out of date.
    const uint64_t epoch = config_epoch.load(std::memory_order_acquire);
    uint64_t serial = 0;
    bool fast = true, here = true;
    if (config_reader) {
      PyRef answer(PyObject_CallNoArgs(config_reader.get()));
      if (!answer || !take_apart(answer.get(), &serial, &fast, &here)) return false;
    }
    trace_state.serial = serial;
    trace_state.seen = epoch;
    trace_state.quick = fast ? epoch : 0;
    trace_state.here = here;
  }
  return trace_state.quick != 0;
}

namespace {

// Puts `value` (None: nothing) into `slot`, returns what was there.
PyRef exchange(PyGlobal& slot, PyObject* value) { return slot.exchange(PyRef::share(value == Py_None ? nullptr : value)); }

PyObject* current_trace(PyObject*, PyObject*) {
  return or_none(trace_state.current ? trace_state.current.get() : eval_trace.get());
}

PyObject* set_eval_trace(PyObject*, PyObject* trace) { return or_none(exchange(eval_trace, trace).get()); }

PyObject* config_changed_here(PyObject*, PyObject*) {
  trace_state.seen = trace_state.quick = 0;
  Py_RETURN_NONE;
}

PyObject* config_epoch_now(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(config_epoch.load()); }

PyObject* config_changed(PyObject*, PyObject*) {
  config_epoch.fetch_add(1, std::memory_order_acq_rel);
  Py_RETURN_NONE;
}

PyObject* set_config_reader(PyObject*, PyObject* reader) {
  if (reader != Py_None && !PyCallable_Check(reader)) {
    return PyErr_Format(PyExc_TypeError, "set_config_reader: expected a callable or None, got %R", reader);
  }
  config_epoch.fetch_add(1, std::memory_order_acq_rel);
  return or_none(exchange(config_reader, reader).get());
}

PyMethodDef functions[] = {
    {"current_trace", method<current_trace>(), METH_NOARGS,
     PyDoc_STR("The trace of this thread; the evaluating trace when none was set.")},
    {"set_eval_trace", method<set_eval_trace>(), METH_O,
     PyDoc_STR("Sets the evaluating trace, the default of every thread; returns the one that was.")},
    {"set_config_reader", method<set_config_reader>(), METH_O,
     PyDoc_STR(
         "Sets the reader of a thread's configuration, () -> (serial, fast, here): a number that is part of every jit cache key, "
         "whether native eager operations and the native jit cache are on, and whether results that no argument places are arrays "
         "of this host (default: they are). None: (0, True). Returns what was.")},
    {"config_epoch", method<config_epoch_now>(), METH_NOARGS, PyDoc_STR("How often process-wide flags have changed.")},
    {"config_changed", method<config_changed>(), METH_NOARGS,
     PyDoc_STR("Every thread reads its configuration again when it next needs it.")},
    {"config_changed_here", method<config_changed_here>(), METH_NOARGS,
     PyDoc_STR("This thread reads its configuration again when it next needs it.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int trace_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
