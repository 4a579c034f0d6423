// Fork safety with several threads: a child has only the forking thread, so no other thread may be interrupted half-way.
// Before a fork the queue is parked, lazy imports are waited for, and the forking thread acquires all locks of the package and
// Python's import lock, which it holds until after the fork, in parent and child. One native function does all this: no
// signal handler runs between its steps, so none can skip a step.
#include "runtime/process/fork.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/python/guard.h"
#include "runtime/python/native.h"
#include "runtime/python/sequence.h"
#include "runtime/process/signals_blocked.h"
#include "runtime/threads/threads.h"

namespace nj {

namespace {

constexpr auto kNap = std::chrono::milliseconds(1);
constexpr int kMostNaps = 30'000;

// Locks are never removed.
PyGlobal acquire_name, release_name, lock_imports, unlock_imports, imports_locked;
auto& locks = *new std::vector<PyRef>;  // the first one is for the forking thread
auto& held = *new std::vector<PyRef>;   // in the order in which they were taken
bool holds_imports = false;

// Calls of call_whole() that have not returned; changed under the GIL.
int sections = 0;
thread_local int own_sections = 0;

void nap() {
  Py_BEGIN_ALLOW_THREADS;
  std::this_thread::sleep_for(kNap);
  Py_END_ALLOW_THREADS;
}

// Whether the lock was acquired; sets no error.
bool take(PyObject* lock, bool waiting) {
  PyObject* arguments[] = {lock, Py_False};
  PyRef taken(PyObject_VectorcallMethod(acquire_name.get(), arguments, waiting ? 1 : 2, nullptr));
  if (!taken) PyErr_WriteUnraisable(lock);
  if (!taken || taken.get() != Py_True) return false;
  held.push_back(PyRef::share(lock));
  return true;
}

// Null, with the error cleared, if it raised.
PyRef call(const PyGlobal& function) {
  PyRef result(PyObject_CallNoArgs(function.get()));
  if (!result) PyErr_WriteUnraisable(function.get());
  return result;
}

void release_all() {
  if (holds_imports) call(unlock_imports);
  holds_imports = false;
  for (; !held.empty(); held.pop_back()) {
    PyRef result(PyObject_CallMethodNoArgs(held.back(), release_name.get()));
    if (!result) PyErr_WriteUnraisable(held.back());
  }
}

// A successful try holds the GIL throughout, so that free locks stay free. Returns the lock to wait for before the next try, or
// null if all are held or, with `retry` set, another thread was importing.
PyObject* try_all(bool& retry, bool patient) {
  retry = patient && ((sections > own_sections && own_sections == 0) || call(imports_locked).get() == Py_True);
  if (retry) return nullptr;
  call(lock_imports);
  holds_imports = true;
  for (const PyRef& lock : locks) {
    const bool is_held = std::any_of(held.begin(), held.end(), [&](const PyRef& other) { return other.get() == lock.get(); });
    if (!is_held && !take(lock, false)) return lock;
  }
  return nullptr;
}

// Never waits with a lock held, so the locking order of other threads does not matter.
void hold_all() {
  // Python would run signal handlers in a thread interrupted while it waits for a lock; other threads still get signals.
  SignalsBlocked blocked;
  PyObject* first = locks.front();
  for (int naps = 0;;) {
    take(first, true);
    bool retry = false;
    PyObject* busy = try_all(retry, naps < kMostNaps);
    if (!busy && !retry) return;
    release_all();
    if (busy) first = busy;
    if (retry) nap(), ++naps;
  }
}

PyObject* before_fork(PyObject*, PyObject*) {
  queue_park();
  end_idle_threads();
  hold_all();
  Py_RETURN_NONE;
}

PyObject* after_fork_in_parent(PyObject*, PyObject*) {
  release_all();
  queue_unpark();
  Py_RETURN_NONE;
}

PyObject* after_fork_in_child(PyObject*, PyObject*) {
  sections = own_sections;
  release_all();
  queue_adopt();
  Py_RETURN_NONE;
}

PyObject* guard_at_fork(PyObject*, PyObject* lock) {
  locks.push_back(PyRef::share(lock));
  return Py_NewRef(lock);
}

PyObject* guarded_locks(PyObject*, PyObject*) {
  return new_list(locks.size(), [](size_t k) { return Py_NewRef(locks[k]); });
}

PyObject* call_whole(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "call_whole: expected a function and its arguments");
  ++sections, ++own_sections;
  PyObject* result = PyObject_Vectorcall(args[0], args + 1, size_t(count - 1), nullptr);
  --sections, --own_sections;
  return result;
}

PyMethodDef functions[] = {
    {"before_fork", method<before_fork>(), METH_NOARGS,
     PyDoc_STR("Brings everything into a state that a child can take over.")},
    {"after_fork_in_parent", method<after_fork_in_parent>(), METH_NOARGS,
     PyDoc_STR("Lets everything go on after before_fork().")},
    {"after_fork_in_child", method<after_fork_in_child>(), METH_NOARGS,
     PyDoc_STR("The same in the child, which has one thread.")},
    {"guard_at_fork", method<guard_at_fork>(), METH_O,
     PyDoc_STR("Has the forking thread hold a reentrant lock across every fork; returns the lock.")},
    {"guarded_locks", method<guarded_locks>(), METH_NOARGS, PyDoc_STR("The locks that are held across forks.")},
    {"call_whole", method<call_whole>(), METH_FASTCALL,
     PyDoc_STR("call_whole(function, *args): a call whose end forks in other threads wait for; for imports.")},
    {nullptr, nullptr, 0, nullptr}};

// Python's import lock. While we hold it, no other thread is inside an import, and the fork, which acquires it too, does not
// wait with our locks held.
bool find_import_lock() {
  PyRef imp(PyImport_ImportModule("_imp"));
  if (!imp) return false;
  lock_imports.exchange(PyRef(PyObject_GetAttrString(imp, "acquire_lock")));
  unlock_imports.exchange(PyRef(PyObject_GetAttrString(imp, "release_lock")));
  imports_locked.exchange(PyRef(PyObject_GetAttrString(imp, "lock_held")));
  return lock_imports && unlock_imports && imports_locked;
}

bool add_first_lock() {
  PyRef threading(PyImport_ImportModule("_thread"));
  if (!threading) return false;
  locks.push_back(PyRef(PyObject_CallMethod(threading, "RLock", nullptr)));
  return bool(locks.back());
}

bool register_hooks(PyObject* module) {
  PyRef os(PyImport_ImportModule("os")), no_args(PyTuple_New(0)), hooks(PyDict_New());
  if (!os || !no_args || !hooks) return false;
  PyRef at_fork(PyObject_GetAttrString(os.get(), "register_at_fork"));
  if (!at_fork) return false;
  const char* const names[][2] = {
      {"before", "before_fork"}, {"after_in_parent", "after_fork_in_parent"}, {"after_in_child", "after_fork_in_child"}};
  for (const auto& [when, name] : names) {
    PyRef hook(PyObject_GetAttrString(module, name));
    if (!hook || PyDict_SetItemString(hooks.get(), when, hook.get()) < 0) return false;
  }
  return bool(PyRef(PyObject_Call(at_fork.get(), no_args.get(), hooks.get())));
}

}  // namespace
}  // namespace nj

int fork_init(PyObject* module) {
  using namespace nj;
  acquire_name.exchange(PyRef(PyUnicode_InternFromString("acquire")));
  release_name.exchange(PyRef(PyUnicode_InternFromString("release")));
  if (!acquire_name || !release_name || !find_import_lock() || !add_first_lock()) return -1;
  return PyModule_AddFunctions(module, functions) < 0 || !register_hooks(module) ? -1 : 0;
}
