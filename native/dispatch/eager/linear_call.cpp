// Calls of library functions in eager derivatives: what a function does to values and tangents, by what was recorded of it.
//
// Rules of derivatives depend on types alone. The first call of a signature (types of the values, which of them have tangents,
// values of everything else) runs the function, operation by operation. The second one has Python write down two things: the
// function that computes results and residuals of known values, and a pattern of linear equations. Later calls run these.
#include "dispatch/eager/linear_call.h"

#include "dispatch/trace.h"
#include "runtime/python/guard.h"

namespace nj {

bool go_on_unanswered() {
  if (!PyErr_Occurred()) return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyErr_Clear();
  return true;
}

PyObject* keywords_of(PyObject* const* values, PyObject* kwnames) {
  PyRef kwargs(PyDict_New());
  for (Py_ssize_t k = 0; kwargs && kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), values[k]) < 0) return nullptr;
  }
  return kwargs.release();
}

PyObject* run_first(CachedFunction* self, SignatureCache& cache, bool (*unchanged)(const Signature&), const Signature& signature,
                    PyObject* const* args, size_t flags, PyObject* kwnames) {
  PyRef result(run_itself(self, args, flags, kwnames));
  if (!result) return nullptr;
  if (unchanged(signature) && cache.assign(signature, seen_once()) < 0) return nullptr;
  return PyErr_Occurred() ? nullptr : result.release();
}

namespace {

// The classes of Python that take part, the function that records, and the names of attributes.
PyGlobal trace_type, tracer_type, tangent_type, recorder;
PyObject *name_trace, *name_primal, *name_tangent;

bool is_of(PyObject* object, const PyGlobal& type) { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.get(); }

constexpr size_t kMostPlaces = 64;

// The arguments of a call, with values in place of tracers.
class Operands {
 public:
  explicit Operands(PyObject* trace) : trace_(trace) {}

  // 1: taken. 0: of a kind that only the function itself knows. -1: error.
  int take(PyObject* argument) {
    PyObject* value = argument;
    const int taken = value_of(argument, &value);
    if (taken == 1) values.push_back(value);
    return taken;
  }

  SmallVector<PyObject*, 16> values;
  std::vector<PyRef> tangents;
  uint64_t mask = 0;  // of the places that have tangents

 private:
  int value_of(PyObject* argument, PyObject** value) {
    if (PyList_CheckExact(argument) || PyTuple_CheckExact(argument)) return values_of(argument, value);
    const size_t place = places_++;
    if (!is_of(argument, tracer_type)) return 1;
    const PyRef owner(PyObject_GetAttr(argument, name_trace));
    PyRef primal(PyObject_GetAttr(argument, name_primal)), tangent(PyObject_GetAttr(argument, name_tangent));
    if (!owner || !primal || !tangent) return -1;
    if (owner.get() != trace_ || !is_array(primal) || !is_of(tangent, tangent_type) || place >= kMostPlaces) return 0;
    mask |= uint64_t(1) << place;
    *value = primal;
    owned_.push_back(std::move(primal));
    tangents.push_back(std::move(tangent));
    return 1;
  }

  // A sequence with tracers among its items, as one of values.
  int values_of(PyObject* sequence, PyObject** value) {
    const size_t count = size_t(PySequence_Fast_GET_SIZE(sequence)), before = tangents.size();
    std::vector<PyRef> items;
    for (size_t k = 0; k < count && k < size_t(PySequence_Fast_GET_SIZE(sequence)); ++k) {
      items.push_back(PyRef::share(PySequence_Fast_GET_ITEM(sequence, k)));
      PyObject* item = items.back();
      const int taken = value_of(items.back(), &item);
      if (taken != 1) return taken;
      items.back() = PyRef::share(item);
    }
    if (tangents.size() == before) return 1;
    const auto item = [&items](size_t k) { return items[k].release(); };
    PyRef made(PyList_CheckExact(sequence) ? new_list(items.size(), item) : new_tuple(items.size(), item));
    if (!made) return -1;
    *value = made;
    owned_.push_back(std::move(made));
    return 1;
  }

  PyObject* trace_;
  std::vector<PyRef> owned_;
  size_t places_ = 0;
};

constexpr int kMostNested = 4;

// Whether an argument holds nothing that may lead to a value with a tangent: no function, no object of a class of users.
bool is_known(PyObject* x, int depth = 0) {
  if (is_array(x) || x == Py_None || PyBool_Check(x) || PyLong_CheckExact(x) || PyFloat_CheckExact(x) ||
      PyComplex_CheckExact(x) || PyUnicode_CheckExact(x) || PyArray_CheckExact(x) || PyArray_IsScalar(x, Generic) ||
      PyType_Check(x) || PyArray_DescrCheck(x)) {
    return true;
  }
  if ((!PyTuple_CheckExact(x) && !PyList_CheckExact(x)) || depth == kMostNested) return false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(x); ++k) {
    if (!is_known(PySequence_Fast_GET_ITEM(x, k), depth + 1)) return false;
  }
  return true;
}

// A call without tangents: of known values, which are evaluated as outside of derivatives.
PyObject* call_known(CachedFunction* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (Py_ssize_t k = 0; k < count; ++k) {
    if (!is_known(args[k])) return run_itself(self, args, flags, kwnames);
  }
  const Evaluating block;
  return PyObject_Vectorcall(reinterpret_cast<PyObject*>(self), args, flags, kwnames);
}

// record(function, trace, args, kwargs, values) -> (result, (known, pattern), or None). values: the arrays and numbers among
// the arguments.
PyObject* run_recorded(CachedFunction* self, PyObject* trace, const Signature& signature, PyObject* const* args,
                       Py_ssize_t count, PyObject* kwnames) {
  PyRef tuple(tuple_of(args, size_t(count)));
  PyRef kwargs(tuple ? keywords_of(args + count, kwnames) : nullptr);
  PyRef values(kwargs ? tuple_of(signature.leaves.begin(), signature.leaves.size()) : nullptr);
  if (!values) return nullptr;
  PyObject* given[] = {reinterpret_cast<PyObject*>(self), trace, tuple.get(), kwargs.get(), values.get()};
  PyRef answer(PyObject_Vectorcall(recorder.get(), given, 5, nullptr));
  if (!answer) return nullptr;
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    return PyErr_Format(PyExc_TypeError, "the recorder of derivatives must return a pair, got %R", answer.get());
  }
  PyObject* found = PyTuple_GET_ITEM(answer.get(), 1);
  const bool usable = PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 2;
  if (flags_as_they_were(signature) && self->state->linear.assign(signature, usable ? found : never()) < 0) return nullptr;
  return PyErr_Occurred() ? nullptr : Py_NewRef(PyTuple_GET_ITEM(answer.get(), 0));
}

// pattern(trace, values, results and residuals, tangents) -> the result of the call. Null without an error: these values are for
// the function itself, which says what is wrong with them.
PyObject* follow(PyObject* entry, PyObject* trace, const Signature& signature, const Operands& operands) {
  PyObject *known = PyTuple_GET_ITEM(entry, 0), *pattern = PyTuple_GET_ITEM(entry, 1);
  PyRef computed = PyRef::share(Py_None);
  if (known != Py_None) {
    const Evaluating block;
    computed = PyRef(PyObject_Vectorcall(known, signature.leaves.begin(), signature.leaves.size(), nullptr));
    if (!computed) {
      go_on_unanswered();
      return nullptr;
    }
  }
  PyRef values(tuple_of(signature.leaves.begin(), signature.leaves.size()));
  PyRef tangents(values ? tuple_of(lend(operands.tangents.data()), operands.tangents.size()) : nullptr);
  if (!tangents) return nullptr;
  PyObject* given[] = {trace, values.get(), computed.get(), tangents.get()};
  return PyObject_Vectorcall(pattern, given, 4, nullptr);
}

}  // namespace

bool in_linear_trace() {
  return trace_state.current && trace_type && is_of(trace_state.current.get(), trace_type);
}

PyObject* call_linear(CachedFunction* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  if (!fast_paths_allowed() || !trace_state.here) return PyErr_Occurred() ? nullptr : run_itself(self, args, flags, kwnames);
  const PyRef trace = PyRef::share(trace_state.current.get());
  const Py_ssize_t count = PyVectorcall_NARGS(flags), named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  Operands operands(trace);
  for (Py_ssize_t k = 0; k < count + named; ++k) {
    const int taken = operands.take(args[k]);
    if (taken != 1) return taken ? nullptr : run_itself(self, args, flags, kwnames);
  }
  if (operands.tangents.empty()) return call_known(self, args, flags, kwnames);
  Signature signature;
  const int built = build_signature(signature, self->state->statics, operands.values.begin(), count, kwnames, operands.mask);
  PyRef entry;
  const int found = built == 1 ? self->state->linear.find(signature, entry) : -1;
  if (!go_on_unanswered()) return nullptr;
  if (found < 0 || entry.get() == never()) return run_itself(self, args, flags, kwnames);
  if (found == 0) return run_first(self, self->state->linear, flags_as_they_were, signature, args, flags, kwnames);
  if (entry.get() == seen_once()) return run_recorded(self, trace, signature, args, count, kwnames);
  PyObject* result = follow(entry, trace, signature, operands);
  return result || PyErr_Occurred() ? result : run_itself(self, args, flags, kwnames);
}

namespace {

PyObject* set_linear_calls(PyObject*, PyObject* args) {
  PyObject *trace, *tracer, *tangent, *record;
  if (!PyArg_ParseTuple(args, "O!O!O!O:set_linear_calls", &PyType_Type, &trace, &PyType_Type, &tracer, &PyType_Type, &tangent,
                        &record)) {
    return nullptr;
  }
  if (!PyCallable_Check(record)) {
    return PyErr_Format(PyExc_TypeError, "set_linear_calls: expected a callable to record, got %R", record);
  }
  const PyRef old[] = {trace_type.exchange(PyRef::share(trace)), tracer_type.exchange(PyRef::share(tracer)),
                       tangent_type.exchange(PyRef::share(tangent)), recorder.exchange(PyRef::share(record))};
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_linear_calls", method<set_linear_calls>(), METH_VARARGS,
     PyDoc_STR("set_linear_calls(trace, tracer, tangent, record): the classes of the trace, its tracers and their tangents in "
               "whose calls library functions with tapes follow patterns, and the function that makes these: "
               "record(function, trace, args, kwargs, values) -> (result, (known, pattern), or None).")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int linear_call_init(PyObject* module) {
  name_trace = PyUnicode_InternFromString("_trace");
  name_primal = PyUnicode_InternFromString("primal");
  name_tangent = PyUnicode_InternFromString("tangent");
  if (!name_trace || !name_primal || !name_tangent) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj
