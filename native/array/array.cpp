// The Array type: making, sharing, deleting and waiting.
#include "array/array.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "array/slots.h"
#include "runtime/python/guard.h"
#include "dispatch/hooks.h"
#include "kernels/copy/strided_copy.h"
#include "runtime/queue/queue.h"

namespace nj {

PyTypeObject* array_type = nullptr;

namespace {

constexpr size_t kMovedFrom = 1 << 18;  // bytes from which transposed arrays are copied when they are looked at

Array* first_array = nullptr;

void link(Array* array) {
  array->previous = nullptr;
  array->next = first_array;
  if (first_array) first_array->previous = array;
  first_array = array;
}

void unlink(Array* array) {
  (array->previous ? array->previous->next : first_array) = array->next;
  if (array->next) array->next->previous = array->previous;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* array = reinterpret_cast<Array*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(array->device);
  Py_VISIT(array->pending);
  Py_VISIT(array->remote);
  Py_VISIT(array->moved);
  Py_VISIT(array->sharding);
  return 0;
}

int clear(PyObject* self) {
  auto* array = reinterpret_cast<Array*>(self);
  array_delete(array);
  Py_CLEAR(array->sharding);
  return 0;
}

void dealloc(PyObject* self) {
  auto* array = reinterpret_cast<Array*>(self);
  PyObject_GC_UnTrack(self);
  if (array->weakrefs) PyObject_ClearWeakRefs(self);
  unlink(array);
  array_delete(array);
  aval_release(array->info);
  Py_XDECREF(array->sharding);
  Py_DECREF(array->device);
  free_instance(self);
}

}  // namespace

Array* array_new(AvalInfo* info, PyObject* device, Buffer* buffer, bool committed, Execution* pending) {
  Array* array = PyObject_GC_New(Array, array_type);
  if (!array) {
    buffer_release(buffer);
    return nullptr;
  }
  array->info = aval_retain(info);
  array->device = Py_NewRef(device);
  array->buffer = buffer;
  array->pending = nullptr;
  array->remote = nullptr;
  array->moved = nullptr;
  array->sharding = nullptr;
  array->weakrefs = nullptr;
  array->committed = committed;
  array->marked = false;
  link(array);
  if (pending) {
    array->pending = reinterpret_cast<Execution*>(Py_NewRef(reinterpret_cast<PyObject*>(pending)));
    // Only through an error's traceback can an array be part of a cycle.
    PyObject_GC_Track(array);
  }
  return array;
}

Array* array_empty(AvalInfo* info, PyObject* device, bool committed) {
  drain_retired();
  Buffer* buffer = buffer_new(info->nbytes);
  if (!buffer) return reinterpret_cast<Array*>(out_of_memory(info->nbytes));
  return array_new(info, device, buffer, committed);
}

Array* array_share(Array* array, AvalInfo* info, PyObject* device, bool committed) {
  if (!array->buffer) {
    raise_deleted(array);
    return nullptr;
  }
  if (array->moved && array_wait(array) < 0) return nullptr;
  Array* shared = array_new(info, device, buffer_retain(array->buffer), committed, array->pending);
  if (shared && array->sharding) shared->sharding = Py_NewRef(array->sharding);
  if (shared && array->remote) shared->remote = Py_NewRef(array->remote);
  return shared;
}

Array* array_remote(PyObject* remote, AvalInfo* info, PyObject* device, bool committed) {
  Buffer* buffer = buffer_wrap(remote, nullptr, info->nbytes);
  if (!buffer) return reinterpret_cast<Array*>(out_of_memory(sizeof(Buffer)));
  Array* array = array_new(info, device, buffer, committed);
  if (array) array->remote = Py_NewRef(remote);
  return array;
}

Array* array_moved(PyObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  Buffer* buffer = buffer_wrap(ndarray, nullptr, info->nbytes);
  if (!buffer) return reinterpret_cast<Array*>(out_of_memory(sizeof(Buffer)));
  Array* array = array_new(info, device, buffer, committed);
  if (array) array->moved = Py_NewRef(ndarray);
  return array;
}

void array_delete(Array* array) {
  Buffer* buffer = array->buffer;
  array->buffer = nullptr;
  Py_CLEAR(array->pending);
  Py_CLEAR(array->remote);
  Py_CLEAR(array->moved);
  if (buffer) buffer_release(buffer);
}

int raise_deleted(const Array* array) {
  PyErr_Format(PyExc_RuntimeError, "Array has been deleted with shape=%s.", describe(array->info).c_str());
  return -1;
}

namespace {

int check_same(PyArrayObject* ndarray, const AvalInfo* info);

// Brings the value of a remote array into the host's memory, where it stays as long as the array.
int fetch(Array* array) {
  Ref remote = Ref::borrow(array->remote);
  PyObject* argument = remote.get();
  Ref value(call_hook(hook_fetch, &argument, 1));
  if (!value) return -1;
  auto* ndarray = reinterpret_cast<PyArrayObject*>(value.get());
  if (!PyArray_Check(value.get()) || !PyArray_IS_C_CONTIGUOUS(ndarray) || !PyArray_ISALIGNED(ndarray)) {
    PyErr_Format(PyExc_TypeError, "hook fetch: expected a contiguous ndarray, got %R", Py_TYPE(value.get()));
    return -1;
  }
  if (check_same(ndarray, array->info) < 0) return -1;
  if (!array->buffer) return raise_deleted(array);  // the hook may run anything
  if (array->buffer->data) return 0;
  Buffer* buffer = buffer_wrap(value.get(), PyArray_BYTES(ndarray), array->info->nbytes);
  if (!buffer) {
    out_of_memory(sizeof(Buffer));
    return -1;
  }
  buffer_release(array->buffer);
  array->buffer = buffer;
  return 0;
}

}  // namespace

namespace {

constexpr size_t kCopyAlone = 1 << 18;  // bytes from which elements are copied without the GIL

// Copies elements of the array's dtype; false where only NumPy can.
bool copy_elements(Array* array, PyArrayObject* ndarray) {
  const size_t bytes = array->info->nbytes;
  char* target = array->buffer->data;
  if (bytes < kCopyAlone && PyArray_IS_C_CONTIGUOUS(ndarray)) {
    std::memcpy(target, PyArray_DATA(ndarray), bytes);
    return true;
  }
  PyThreadState* state = bytes < kCopyAlone ? nullptr : PyEval_SaveThread();
  const bool copied = copy_strided(PyArray_BYTES(ndarray), target, PyArray_NDIM(ndarray), PyArray_DIMS(ndarray),
                                   PyArray_STRIDES(ndarray), array->info->itemsize);
  if (state) PyEval_RestoreThread(state);
  return copied;
}

// Copies elements of any dtype and order as NumPy does.
int convert_elements(Array* array, PyArrayObject* ndarray) {
  const AvalInfo* info = array->info;
  Py_INCREF(info->dtype);
  Ref target(PyArray_NewFromDescr(&PyArray_Type, info->dtype, int(info->dims.size()), info->dims.data(), nullptr,
                                  array->buffer->data, NPY_ARRAY_CARRAY, nullptr));
  return target ? PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target.get()), ndarray) : -1;
}

}  // namespace

int array_fill(Array* array, PyArrayObject* ndarray) {
  const AvalInfo* info = array->info;
  const bool same = PyArray_EquivTypes(PyArray_DESCR(ndarray), info->dtype);
  Ref header;
  if (!same || info->nbytes >= kCopyAlone) {
    // One of our own: while the GIL is not held, other threads may change the shape of the one given.
    header = Ref(PyArray_View(ndarray, nullptr, &PyArray_Type));
    if (!header) return -1;
    ndarray = reinterpret_cast<PyArrayObject*>(header.get());
  }
  if (!(same && copy_elements(array, ndarray)) && convert_elements(array, ndarray) < 0) return -1;
  // NumPy's bools may be any byte, in memory that was written as another dtype; machine code knows 0 and 1.
  char* bytes = array->buffer->data;
  if (info->kind == Kind::Bool)
    for (size_t k = 0; k < info->nbytes; ++k) bytes[k] = bytes[k] != 0;
  return 0;
}

namespace {

// Gives a transposed array memory of its own.
int settle(Array* array) {
  Ref moved = Ref::borrow(array->moved);
  Ref settled(reinterpret_cast<PyObject*>(
      array_copied(reinterpret_cast<PyArrayObject*>(moved.get()), array->info, array->device, array->committed)));
  if (!settled) return -1;
  if (array->moved) {  // other threads ran meanwhile
    std::swap(array->buffer, reinterpret_cast<Array*>(settled.get())->buffer);
    Py_CLEAR(array->moved);
  }
  return array->buffer ? 0 : raise_deleted(array);
}

// Whether the elements are those of a contiguous array in another order of axes, and worth not being copied at once.
bool is_transposed(PyArrayObject* ndarray, const AvalInfo* info) {
  if (info->nbytes < kMovedFrom || !shows_array(reinterpret_cast<PyObject*>(ndarray))) return false;
  std::vector<std::pair<npy_intp, npy_intp>> axes;
  for (int axis = 0; axis < PyArray_NDIM(ndarray); ++axis)
    if (PyArray_DIM(ndarray, axis) != 1) axes.push_back({PyArray_STRIDE(ndarray, axis), PyArray_DIM(ndarray, axis)});
  std::sort(axes.begin(), axes.end());
  npy_intp bytes = info->itemsize;
  for (const auto& [stride, length] : axes) {
    if (stride != bytes) return false;
    bytes *= length;
  }
  return true;
}

}  // namespace

Array* array_copied(PyArrayObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  drain_retired();
  if (check_same(ndarray, info) < 0) return nullptr;
  Ref array(reinterpret_cast<PyObject*>(array_empty(info, device, committed)));
  if (!array) return nullptr;
  if (array_fill(reinterpret_cast<Array*>(array.get()), ndarray) < 0) return nullptr;
  return reinterpret_cast<Array*>(array.release());
}

int array_wait(Array* array) {
  if (!array->buffer) return raise_deleted(array);
  if (array->pending && execution_wait(array->pending) < 0) return -1;
  // Others ran while this thread waited.
  if (!array->buffer) return raise_deleted(array);
  Py_CLEAR(array->pending);
  if (array->moved) return settle(array);
  return array->remote && !array->buffer->data ? fetch(array) : 0;
}

namespace {

// 0 when `ndarray` holds elements of `info`, else -1 with TypeError.
int check_same(PyArrayObject* ndarray, const AvalInfo* info) {
  bool same = PyArray_NDIM(ndarray) == int(info->dims.size()) &&
              std::equal(info->dims.begin(), info->dims.end(), PyArray_DIMS(ndarray)) &&
              PyArray_EquivTypes(PyArray_DESCR(ndarray), info->dtype);
  if (same) return 0;
  Ref shape(PyObject_GetAttrString(reinterpret_cast<PyObject*>(ndarray), "shape"));
  PyErr_Format(PyExc_TypeError, "from_numpy: expected an ndarray like the aval %s, got dtype %R and shape %R",
               describe(info).c_str(), PyArray_DESCR(ndarray), shape.get());
  return -1;
}

Array* array_from_numpy(PyArrayObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  drain_retired();
  if (check_same(ndarray, info) < 0) return nullptr;
  if (PyArray_IS_C_CONTIGUOUS(ndarray) && PyArray_ISALIGNED(ndarray)) {
    Buffer* buffer = buffer_wrap(reinterpret_cast<PyObject*>(ndarray), PyArray_BYTES(ndarray), info->nbytes);
    if (!buffer) return reinterpret_cast<Array*>(out_of_memory(sizeof(Buffer)));
    return array_new(info, device, buffer, committed);
  }
  if (is_transposed(ndarray, info)) return array_moved(reinterpret_cast<PyObject*>(ndarray), info, device, committed);
  return array_copied(ndarray, info, device, committed);
}

PyObject* from_numpy(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"ndarray", "aval", "device", "committed", nullptr};
  PyObject *ndarray, *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO|p:from_numpy", const_cast<char**>(names), &PyArray_Type, &ndarray, &aval,
                                   &device, &committed)) {
    return nullptr;
  }
  const InfoRef info(aval_info(aval));
  if (!info) return nullptr;
  return reinterpret_cast<PyObject*>(
      array_from_numpy(reinterpret_cast<PyArrayObject*>(ndarray), info.get(), device, committed));
}

PyObject* from_remote(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"remote", "aval", "device", "committed", nullptr};
  PyObject *remote, *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|p:from_remote", const_cast<char**>(names), &remote, &aval, &device,
                                   &committed)) {
    return nullptr;
  }
  drain_retired();
  const InfoRef info(aval_info(aval));
  if (!info) return nullptr;
  return reinterpret_cast<PyObject*>(array_remote(remote, info.get(), device, committed));
}

PyObject* empty(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"aval", "device", "committed", nullptr};
  PyObject *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:empty", const_cast<char**>(names), &aval, &device, &committed)) {
    return nullptr;
  }
  const InfoRef info(aval_info(aval));
  if (!info) return nullptr;
  return reinterpret_cast<PyObject*>(array_empty(info.get(), device, committed));
}

PyObject* rewrap(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"array", "aval", "device", "committed", nullptr};
  PyObject *object, *aval = Py_None, *device = Py_None, *committed = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OOO:rewrap", const_cast<char**>(names), array_type, &object, &aval,
                                   &device, &committed)) {
    return nullptr;
  }
  auto* array = reinterpret_cast<Array*>(object);
  int is_committed = committed == Py_None ? int(array->committed) : PyObject_IsTrue(committed);
  if (is_committed < 0) return nullptr;
  const InfoRef info(aval == Py_None ? aval_retain(array->info) : aval_info(aval));
  if (!info) return nullptr;
  if (info->nbytes != array->info->nbytes) {
    return PyErr_Format(PyExc_TypeError, "rewrap: %s has not as many bytes as %s", describe(info.get()).c_str(),
                        describe(array->info).c_str());
  }
  PyObject* on = device == Py_None ? array->device : device;
  return reinterpret_cast<PyObject*>(array_share(array, info.get(), on, is_committed));
}

PyObject* live_arrays(PyObject*, PyObject*) {
  // Adding to a list may collect garbage, which may remove arrays from the chain: reserve first.
  Py_ssize_t count = 0;
  for (Array* array = first_array; array; array = array->next) count += array->buffer != nullptr;
  Ref list(PyList_New(count));
  if (!list) return nullptr;
  Py_ssize_t k = 0;
  for (Array* array = first_array; array && k < count; array = array->next) {
    if (!array->buffer || Py_REFCNT(array) == 0) continue;
    PyList_SET_ITEM(list.get(), k++, Py_NewRef(reinterpret_cast<PyObject*>(array)));
  }
  if (k < count && PyList_SetSlice(list.get(), k, count, nullptr) < 0) return nullptr;
  return list.release();
}

PyMethodDef functions[] = {
    {"from_numpy", method<from_numpy>(), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("from_numpy(ndarray, aval, device, committed=False): an Array on the ndarray's memory, which nobody "
               "may write any more. Copies what is not C-contiguous and aligned; a large transposed view of an Array's "
               "memory when it is looked at.")},
    {"from_remote", method<from_remote>(), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("from_remote(remote, aval, device, committed=False): an Array whose value the object `remote` holds on a "
               "device. The first look at the value fetches it by the hook named fetch.")},
    {"empty", method<empty>(), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("empty(aval, device, committed=False): an Array of uninitialised memory from the pool.")},
    {"rewrap", method<rewrap>(), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("rewrap(array, aval=None, device=None, committed=None): a new Array on the same memory, under another "
               "aval of as many bytes (reshape, bitcast, weak type). Does not wait.")},
    {"live_arrays", method<live_arrays>(), METH_NOARGS, PyDoc_STR("All Arrays that are not deleted, latest first.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int array_type_init(PyObject* module) {
  PyType_Slot base[] = {slot<dealloc>(Py_tp_dealloc),
                        slot<traverse>(Py_tp_traverse),
                        slot<clear>(Py_tp_clear),
                        {Py_tp_doc, const_cast<char*>("An immutable array of one device. Made by numjet.numpy's "
                                                      "functions, not by calling the type.")}};
  std::vector<PyType_Slot> slots(std::begin(base), std::end(base));
  add_operator_slots(slots);
  add_protocol_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"numjet.ArrayImpl", sizeof(Array), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!array_type) return -1;
  PyObject* type = reinterpret_cast<PyObject*>(array_type);
  // Makes NumPy's operators leave the work to ours.
  Ref priority(PyLong_FromLong(100));
  if (!priority || PyObject_SetAttrString(type, "__array_priority__", priority.get()) < 0) return -1;
  if (PyModule_AddObjectRef(module, "Array", type) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj

int array_init(PyObject* module) {
  using namespace nj;
  if (execution_init() < 0 || views_init() < 0 || hooks_init(module) < 0) return -1;
  return array_type_init(module) < 0 ? -1 : array_parts_init(module);
}
