// Common ground of the native core: Python, an owning reference, and the init function of every part.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>

#include <atomic>

namespace nj {

// Python ends daemon threads when the interpreter ends: where they ask for the GIL, their stacks are unwound without it.
extern std::atomic<bool> interpreter_ends;  // set by the hook at exit
bool holds_gil();
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

// Owns one reference; null when empty.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* stolen) : object_(stolen) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.release();
    drop(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { drop(object_); }

  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

// tp_dealloc's last step for heap types: frees the memory, drops the instance's reference to its type.
inline void free_instance(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace nj

// Each adds its types and functions to the module; 0, or -1 with a Python error set.
int trace_init(PyObject* module);
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
int threads_init(PyObject* module);
int simd_init(PyObject* module);
int fork_init(PyObject* module);
int cgroup_init(PyObject* module);
