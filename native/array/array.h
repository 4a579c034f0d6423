// numjet's Array: an immutable array of one device.
#pragma once
#include "array/aval.h"
#include "dispatch/execution/execution.h"
#include "runtime/memory/pool.h"

namespace nj {

struct Array {
  PyObject_HEAD
  AvalRef info;
  PyRef device;
  BufferRef buffer;  // null once deleted; without data while the value is on another device only
  // The memory that the buffer protocol showed, kept as long as the array: NumPy's ndarray(buffer=x) gives its view back at
  // once and goes on reading, with x as its base.
  BufferRef shown;
  PyRef remote;      // what holds the value on a device whose memory is not the host's; null for host arrays
  // An ndarray of the value in memory of another array of ours, in another order; null once it is copied.
  PyRef lazy_transpose;
  Handle<Execution> pending;  // null when the value is there
  PyRef sharding;
  PyObject* weakrefs;
  Array *previous, *next;  // all arrays there are
  bool committed;
  bool marked;  // scratch of donation checks, false otherwise
};
using ArrayRef = Handle<Array>;

extern PyTypeObject* array_type;
inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }

// An array on a buffer; null with the error set. `pending` may be null.
ArrayRef array_new(AvalInfo* info, PyObject* device, BufferRef buffer, bool committed, Execution* pending = nullptr);
// A pool-backed uninitialised array; null with MemoryError.
ArrayRef array_empty(AvalInfo* info, PyObject* device, bool committed);
// Another handle on the same memory, under another aval with as many bytes.
ArrayRef array_share(Array* array, AvalInfo* info, PyObject* device, bool committed);
// An array with a copy of an ndarray's elements, made by all threads; null with TypeError when they are not those of `info`.
ArrayRef array_copied(PyArrayObject* ndarray, AvalInfo* info, PyObject* device, bool committed);
// An array on an ndarray's memory, which nobody may write any more; a copy of what is not contiguous. Null with TypeError when
// its elements are not those of `info`.
ArrayRef array_of_ndarray(PyArrayObject* ndarray, AvalInfo* info, PyObject* device);
// An array whose value an object holds on other devices.
ArrayRef array_of_remote(PyObject* remote, AvalInfo* info, PyObject* device, bool committed);
// How often elements of arrays were copied, and how many bytes: under the GIL.
struct CopyCounts {
  uint64_t copies = 0, bytes = 0;
  void add(size_t nbytes) {
    ++copies;
    bytes += nbytes;
  }
};
extern CopyCounts copy_counts;
// Copies the elements of an ndarray of the array's shape into its memory, in the array's dtype: 0, or -1 with the error set.
int array_fill(Array* array, PyArrayObject* ndarray);
// Forgets the memory; later looks raise.
void array_delete(Array* array);

// Ready means: not deleted, not waiting, and in the host's memory. Failed computations are not ready.
inline bool array_ready(Array* array) {
  if (!array->buffer) return false;
  if (!array->pending) return array->buffer->data || (!array->remote && !array->lazy_transpose);
  if (execution_state(array->pending) != State::Done) return false;
  array->pending.reset();  // which may run anything
  return bool(array->buffer);
}
// Waits for the value, and fetches it from another device: 0, or -1 with the error set (also when deleted).
int array_wait(Array* array);
// Sets RuntimeError "Array has been deleted ..."; returns -1.
int raise_deleted(const Array* array);
// A read-only ndarray on the array's memory, which it keeps alive. Waits.
PyObject* array_view(Array* array);
// The data for reading; null with the error set. Waits.
inline const char* array_data(Array* array) {
  if (!array_ready(array) && array_wait(array) < 0) return nullptr;
  return array->buffer->data;
}

// Whether an ndarray shows memory of an array of ours, which nobody writes.
bool shows_array(PyObject* ndarray);

int execution_init();
int array_type_init(PyObject* module);
int array_parts_init(PyObject* module);
int array_divided_init(PyObject* module);
int hooks_init(PyObject* module);

}  // namespace nj
