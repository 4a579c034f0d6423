// current_trace(), set_current_trace(), set_eval_trace(), config_token(), set_config_token(), set_fast_path().
#include "trace.h"

namespace nj {

__thread TraceState trace_state = {nullptr, nullptr};
PyObject* eval_trace = nullptr;
bool fast_path_on = true;

namespace {

PyObject* or_none(PyObject* object) { return Py_NewRef(object ? object : Py_None); }

// Puts `value` (None: nothing) into `slot`, returns what was there.
PyObject* exchange(PyObject*& slot, PyObject* value) {
  PyObject* previous = slot;
  slot = value == Py_None ? nullptr : Py_NewRef(value);
  return previous ? previous : Py_NewRef(Py_None);
}

PyObject* current_trace(PyObject*, PyObject*) {
  return or_none(trace_state.current ? trace_state.current : eval_trace);
}

PyObject* set_current_trace(PyObject*, PyObject* trace) {
  // The caller puts back what it got, so an unset slot has to come back as the default trace.
  Ref previous(exchange(trace_state.current, trace));
  return previous.get() == Py_None ? or_none(eval_trace) : previous.release();
}

PyObject* set_eval_trace(PyObject*, PyObject* trace) { return exchange(eval_trace, trace); }
PyObject* config_token(PyObject*, PyObject*) { return or_none(trace_state.token); }
PyObject* set_config_token(PyObject*, PyObject* token) { return exchange(trace_state.token, token); }

PyObject* set_fast_path(PyObject*, PyObject* value) {
  int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  bool previous = fast_path_on;
  fast_path_on = on;
  return PyBool_FromLong(previous);
}

PyMethodDef functions[] = {
    {"current_trace", current_trace, METH_NOARGS,
     PyDoc_STR("The trace of this thread; the evaluating trace when none was set.")},
    {"set_current_trace", set_current_trace, METH_O,
     PyDoc_STR("Makes a trace current in this thread (None: the default); returns the one that was.")},
    {"set_eval_trace", set_eval_trace, METH_O,
     PyDoc_STR("Sets the evaluating trace, the default of every thread; returns the one that was.")},
    {"config_token", config_token, METH_NOARGS, PyDoc_STR("This thread's token of trace-affecting flags, or None.")},
    {"set_config_token", set_config_token, METH_O,
     PyDoc_STR("Sets the object whose identity is part of every jit cache key of this thread; returns the old one.")},
    {"set_fast_path", set_fast_path, METH_O,
     PyDoc_STR("Turns native eager operations and the native jit cache on or off; returns what was.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int trace_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
