// Common ground of the native core: Python, an owning reference, and the init function of every part.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>

#include <atomic>
#include <utility>

#include "runtime/memory/handle.h"

namespace nj {

// Python ends daemon threads when the interpreter ends: where they ask for the GIL, their stacks are unwound without it.
extern std::atomic<bool> interpreter_ends;  // set by the hook at exit
bool holds_gil();
// Whether the interpreter has begun to go: after all handlers at exit.
bool interpreter_is_ending();
// The calling thread begins to end the interpreter.
void end_interpreter();
// Gives the interpreter time to end before another thread raises what only the end caused. Bounded, for a hook at exit may
// wait for that thread.
void let_interpreter_end();
// Leaves such a thread where it is: the process is about to end.
[[noreturn]] void sleep_for_good();

// Py_XDECREF for destructors, which such unwinding may run, or run into.
inline void drop(PyObject* object) noexcept {
  if (!object) return;
  if (__builtin_expect(interpreter_ends.load(std::memory_order_relaxed), 0) && !holds_gil()) sleep_for_good();
  try {
    Py_DECREF(object);
  } catch (abi::__forced_unwind&) {
    sleep_for_good();
  }
}

// Python objects, and the structs of ours that begin with PyObject_HEAD.
template <class T> struct CountOf {
  static void retain(T* object) { Py_INCREF(reinterpret_cast<PyObject*>(object)); }
  static void release(T* object) { drop(reinterpret_cast<PyObject*>(object)); }
};

// Owns one reference; null when empty. Needs the GIL where it shares or drops one.
using PyRef = Handle<PyObject>;

// The same reference under another type: what a struct of ours is to Python, and back.
template <class To = PyObject, class From> Handle<To> as(Handle<From> object) {
  return Handle<To>(reinterpret_cast<To*>(object.release()));
}
// For functions that Python's C code calls: a new reference.
template <class T> PyObject* give(Handle<T> object) { return reinterpret_cast<PyObject*>(object.release()); }
// The object, or None for null.
inline PyObject* or_none(PyObject* object) { return Py_NewRef(object ? object : Py_None); }

// The objects of handles that lie side by side.
static_assert(sizeof(PyRef) == sizeof(PyObject*));
inline PyObject* const* lend(const PyRef* handles) { return reinterpret_cast<PyObject* const*>(handles); }

// A string that Python keeps once, so that attribute lookups compare addresses.
inline PyRef interned(PyObject* string) {
  PyObject* name = Py_NewRef(string);
  PyUnicode_InternInPlace(&name);
  return PyRef(name);
}

// A reference that the process keeps: nothing is dropped at exit, when there may be no interpreter any more.
class PyGlobal {
 public:
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyRef exchange(PyRef object) { return PyRef(std::exchange(object_, object.release())); }

 private:
  PyObject* object_ = nullptr;
};

// tp_dealloc's last step for heap types: frees the memory, drops the instance's reference to its type.
inline void free_instance(PyObject* self) {
  Handle<PyTypeObject> type(Py_TYPE(self));
  type->tp_free(self);
}

}  // namespace nj

// Each adds its types and functions to the module; 0, or -1 with a Python error set.
int trace_init(PyObject* module);
int scopes_init(PyObject* module);
int pytree_init(PyObject* module);
int pool_init(PyObject* module);
int aval_init(PyObject* module);
int exact_init(PyObject* module);
int headroom_init(PyObject* module);
int array_init(PyObject* module);
int eager_init(PyObject* module);
int queue_init(PyObject* module);
int callback_init(PyObject* module);
int execute_init(PyObject* module);
int jitcall_init(PyObject* module);
int kernels_init(PyObject* module);
int ir_init(PyObject* module);
int threads_init(PyObject* module);
int simd_init(PyObject* module);
int fork_init(PyObject* module);
int cgroup_init(PyObject* module);
int caches_init(PyObject* module);
int code_init(PyObject* module);
int signals_init(PyObject* module);
