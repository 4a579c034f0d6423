// Buffers: those of the pool live in their block, others by themselves. And the pool seen from Python.
#include "runtime/memory/pool.h"

#include <new>

#include "runtime/python/guard.h"

namespace nj {

static_assert(sizeof(Buffer) <= sizeof(Block::room) && alignof(Buffer) <= 8);

BufferRef buffer_new(size_t nbytes) {
  Block* block = take_block(nbytes);
  if (!block) return BufferRef();
  auto* buffer = new (block->room) Buffer;
  buffer->data = block->data;
  buffer->nbytes = nbytes;
  buffer->block = block;
  return BufferRef(buffer);
}

BufferRef buffer_promise(size_t nbytes) {
  BufferRef buffer(new (std::nothrow) Buffer);
  if (buffer) buffer->nbytes = nbytes;
  return buffer;
}

bool buffer_allocate(Buffer* buffer) {
  if (buffer->data) return true;
  Block* block = take_block(buffer->nbytes);
  if (!block) return false;
  buffer->block = block;
  buffer->data = block->data;
  return true;
}

BufferRef buffer_wrap(PyObject* owner, char* data, size_t nbytes) {
  BufferRef buffer = buffer_promise(nbytes);
  if (!buffer) return buffer;
  buffer->data = data;
  buffer->owner = PyRef::share(owner);
  return buffer;
}

void buffer_destroy(Buffer* buffer) {
  Block* block = buffer->block;
  const bool within = block && reinterpret_cast<char*>(buffer) == block->room;
  if (block) return_block(block);
  if (within) return;
  if (buffer->owner && !holds_gil()) return defer_decref(buffer);
  delete buffer;
}

PyObject* out_of_memory(size_t nbytes) {
  return PyErr_Format(PyExc_MemoryError,
                      "out of memory: could not allocate %zu bytes for a result; delete arrays that are no longer "
                      "needed (numjet.live_arrays() lists them) or work on smaller pieces",
                      nbytes);
}

namespace {

PyObject* stats(PyObject*, PyObject*) {
  const PoolStats now = pool_stats();
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:K,s:K}", "live_bytes", Py_ssize_t(now.live), "cached_bytes", Py_ssize_t(now.cached),
                       "peak_bytes", Py_ssize_t(now.peak), "cache_limit", Py_ssize_t(now.limit), "allocations",
                       static_cast<unsigned long long>(now.allocations), "reuses",
                       static_cast<unsigned long long>(now.reuses));
}

PyObject* trim(PyObject*, PyObject*) {
  trim_pool();
  Py_RETURN_NONE;
}

PyObject* peak_during(PyObject*, PyObject* function) {
  PoolWindow window;
  PyRef result(PyObject_CallNoArgs(function));
  const size_t peak = window.end();
  return result ? PyLong_FromSize_t(peak) : nullptr;
}

PyObject* capacity_of(PyObject*, PyObject* value) {
  Py_ssize_t nbytes = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (nbytes == -1 && PyErr_Occurred()) return nullptr;
  if (nbytes < 0 || !pool_gives(size_t(nbytes)))
    return PyErr_Format(PyExc_ValueError, "pool_capacity: expected a number of bytes the pool can give, got %zd", nbytes);
  return PyLong_FromSize_t(pool_capacity(size_t(nbytes)));
}

PyObject* set_limit(PyObject*, PyObject* value) {
  Py_ssize_t limit = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  if (limit < 0) return PyErr_Format(PyExc_ValueError, "set_pool_limit: expected a number of bytes >= 0, got %zd", limit);
  return PyLong_FromSize_t(limit_pool(size_t(limit)));
}

PyMethodDef functions[] = {
    {"pool_stats", method<stats>(), METH_NOARGS,
     PyDoc_STR("Bytes in use, cached and at the peak, and counts of allocations and reuses.")},
    {"pool_trim", method<trim>(), METH_NOARGS, PyDoc_STR("Gives all cached memory back to the system.")},
    {"pool_peak_during", method<peak_during>(), METH_O,
     PyDoc_STR("Calls a function; how many bytes more than before were in use at the peak, by all threads.")},
    {"pool_capacity", method<capacity_of>(), METH_O, PyDoc_STR("The size of the block that a number of bytes gets.")},
    {"set_pool_limit", method<set_limit>(), METH_O,
     PyDoc_STR("Sets how many bytes of free memory are kept; returns the previous limit.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace nj

int pool_init(PyObject* module) { return PyModule_AddFunctions(module, nj::functions); }
