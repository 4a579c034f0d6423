// set_hook().
#include "dispatch/hooks.h"

#include <string>

#include "array/array.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"

namespace nj {

PyGlobal hooks[hook_count];

namespace {

const char* const kNames[hook_count] = {
#define NJ_NAME(name) "__" #name "__",
    NJ_BINARY_HOOKS(NJ_NAME) NJ_OTHER_HOOKS(NJ_NAME)
#undef NJ_NAME
        "reduce",
    "aval", "__new__", "fetch"};

PyObject* set_hook(PyObject*, PyObject* args) {
  const char* name;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "sO:set_hook", &name, &function)) return nullptr;
  if (function != Py_None && !PyCallable_Check(function)) {
    return PyErr_Format(PyExc_TypeError, "set_hook: expected a function or None for %s, got %R", name, function);
  }
  for (int hook = 0; hook < hook_count; ++hook) {
    if (std::string(kNames[hook]) != name) continue;
    const PyRef previous = hooks[hook].exchange(PyRef::share(function == Py_None ? nullptr : function));
    return or_none(previous);
  }
  return PyErr_Format(PyExc_ValueError, "set_hook: there is no hook named %s; hook_names() lists them", name);
}

PyObject* hook_names(PyObject*, PyObject*) {
  return new_list(hook_count, [](size_t hook) { return PyUnicode_FromString(kNames[hook]); });
}

PyMethodDef functions[] = {
    {"set_hook", method<set_hook>(), METH_VARARGS,
     PyDoc_STR("set_hook(name, function): what an Array slot calls when it has no native path; returns the old one.")},
    {"hook_names", method<hook_names>(), METH_NOARGS, PyDoc_STR("The names that set_hook() knows.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* call_binary_hook(Hook hook, PyObject* self, PyObject* other) {
  if (!hooks[hook]) Py_RETURN_NOTIMPLEMENTED;
  PyObject* args[] = {self, other};
  return call_hook(hook, args, 2);
}

PyObject* call_hook(Hook hook, PyObject* const* args, size_t count) {
  if (!hooks[hook]) {
    return PyErr_Format(PyExc_TypeError, "arrays have no %s until numjet.numpy is imported", kNames[hook]);
  }
  PyRef function = PyRef::share(hooks[hook].get());
  return PyObject_Vectorcall(function.get(), args, count, nullptr);
}

int hooks_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace nj
