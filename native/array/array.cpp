// The Array type: making, sharing, deleting and waiting.
#include "array/array.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "array/properties.h"
#include "array/slots.h"
#include "runtime/python/guard.h"
#include "dispatch/hooks.h"
#include "kernels/copy/strided_copy.h"
#include "runtime/queue/queue.h"

namespace nj {

PyTypeObject* array_type = nullptr;

namespace {

constexpr size_t kLazyTransposeBytes = 1 << 18;  // from which on transposed arrays are copied when their value is first read

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
  Py_VISIT(array->pending.get());
  Py_VISIT(array->remote);
  Py_VISIT(array->lazy_transpose);
  Py_VISIT(array->sharding);
  return 0;
}

int clear(PyObject* self) {
  auto* array = reinterpret_cast<Array*>(self);
  array_delete(array);
  array->sharding.reset();
  return 0;
}

void dealloc(PyObject* self) {
  auto* array = reinterpret_cast<Array*>(self);
  PyObject_GC_UnTrack(self);
  if (array->weakrefs) PyObject_ClearWeakRefs(self);
  unlink(array);
  array_delete(array);
  destroy(array->info, array->sharding, array->device, array->buffer, array->shown, array->pending, array->remote,
          array->lazy_transpose);
  free_instance(self);
}

}  // namespace

ArrayRef array_new(AvalInfo* info, PyObject* device, BufferRef buffer, bool committed, Execution* pending) {
  Array* array = PyObject_GC_New(Array, array_type);
  if (!array) return ArrayRef();
  construct(array->info, array->device, array->buffer, array->shown, array->pending, array->remote, array->lazy_transpose,
            array->sharding);
  array->info = AvalRef::share(info);
  array->device = PyRef::share(device);
  array->buffer = std::move(buffer);
  array->weakrefs = nullptr;
  array->committed = committed;
  array->marked = false;
  link(array);
  if (pending) {
    array->pending = Handle<Execution>::share(pending);
    // Only through an error's traceback can an array be part of a cycle.
    PyObject_GC_Track(array);
  }
  return ArrayRef(array);
}

ArrayRef array_empty(AvalInfo* info, PyObject* device, bool committed) {
  run_deferred_decrefs();
  BufferRef buffer = buffer_new(info->nbytes);
  if (!buffer) return raise_no_memory(info->nbytes), ArrayRef();
  return array_new(info, device, std::move(buffer), committed);
}

ArrayRef array_share(Array* array, AvalInfo* info, PyObject* device, bool committed) {
  if (!array->buffer) return raise_deleted(array), ArrayRef();
  if (array->lazy_transpose && array_wait(array) < 0) return ArrayRef();
  ArrayRef shared = array_new(info, device, array->buffer, committed, array->pending);
  if (!shared) return shared;
  shared->sharding = array->sharding;
  shared->remote = array->remote;
  return shared;
}

ArrayRef array_of_remote(PyObject* remote, AvalInfo* info, PyObject* device, bool committed) {
  run_deferred_decrefs();
  BufferRef buffer = buffer_wrap(remote, nullptr, info->nbytes);
  if (!buffer) return out_of_memory(sizeof(Buffer)), ArrayRef();
  ArrayRef array = array_new(info, device, std::move(buffer), committed);
  if (array) array->remote = PyRef::share(remote);
  return array;
}

void array_delete(Array* array) {
  const BufferRef buffer = std::move(array->buffer);  // given up last
  array->pending.reset();
  array->remote.reset();
  array->lazy_transpose.reset();
}

int raise_deleted(const Array* array) {
  PyRef errors(PyImport_ImportModule("numjet.foundation.errors"));
  PyRef error(errors ? PyObject_GetAttrString(errors.get(), "DeletedArrayError") : nullptr);
  if (error) {
    PyErr_Format(error.get(), "Array has been deleted with shape=%s. Buffer has been deleted or donated.",
                 describe(array->info).c_str());
  }
  return -1;
}

namespace {

int check_same(PyArrayObject* ndarray, const AvalInfo* info);

// Brings the value of a remote array into the host's memory, where it stays as long as the array.
int fetch(Array* array) {
  const PyRef remote = array->remote;
  PyObject* argument = remote.get();
  PyRef value(call_hook(hook_fetch, &argument, 1));
  if (!value) return -1;
  auto* ndarray = reinterpret_cast<PyArrayObject*>(value.get());
  if (!PyArray_Check(value.get()) || !PyArray_IS_C_CONTIGUOUS(ndarray) || !PyArray_ISALIGNED(ndarray)) {
    PyErr_Format(PyExc_TypeError, "hook fetch: expected a contiguous ndarray, got %R", Py_TYPE(value.get()));
    return -1;
  }
  if (check_same(ndarray, array->info) < 0) return -1;
  if (!array->buffer) return raise_deleted(array);  // the hook may run anything
  if (array->buffer->data) return 0;
  BufferRef buffer = buffer_wrap(value.get(), PyArray_BYTES(ndarray), array->info->nbytes);
  if (!buffer) return raise_no_memory(sizeof(Buffer));
  array->buffer = std::move(buffer);
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
  PyRef target(PyArray_NewFromDescr(&PyArray_Type, Handle(info->dtype).release(), int(info->dims.size()), info->dims.data(),
                                    nullptr, array->buffer->data, NPY_ARRAY_CARRAY, nullptr));
  return target ? PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target.get()), ndarray) : -1;
}

}  // namespace

CopyCounts copy_counts;

int array_fill(Array* array, PyArrayObject* ndarray) {
  const AvalInfo* info = array->info;
  copy_counts.add(info->nbytes);
  const bool same = PyArray_EquivTypes(PyArray_DESCR(ndarray), info->dtype);
  PyRef header;
  if (!same || info->nbytes >= kCopyAlone) {
    // One of our own: while the GIL is not held, other threads may change the shape of the one given.
    header = PyRef(PyArray_View(ndarray, nullptr, &PyArray_Type));
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
int copy_transposed(Array* array) {
  const PyRef view = array->lazy_transpose;
  ArrayRef copy = array_copied(reinterpret_cast<PyArrayObject*>(view.get()), array->info, array->device, array->committed);
  if (!copy) return -1;
  if (array->lazy_transpose) {  // other threads ran meanwhile
    std::swap(array->buffer, copy->buffer);
    array->lazy_transpose.reset();
  }
  return array->buffer ? 0 : raise_deleted(array);
}

// Whether the elements are those of a contiguous array in another order of axes, and worth not being copied at once.
bool is_transposed(PyArrayObject* ndarray, const AvalInfo* info) {
  if (info->nbytes < kLazyTransposeBytes || !shows_array(reinterpret_cast<PyObject*>(ndarray))) return false;
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

ArrayRef array_copied(PyArrayObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  run_deferred_decrefs();
  if (check_same(ndarray, info) < 0) return ArrayRef();
  ArrayRef array = array_empty(info, device, committed);
  if (array && array_fill(array, ndarray) < 0) array.reset();
  return array;
}

int array_wait(Array* array) {
  if (!array->buffer) return raise_deleted(array);
  if (array->pending && execution_wait(array->pending) < 0) return -1;
  // Others ran while this thread waited.
  if (!array->buffer) return raise_deleted(array);
  array->pending.reset();
  if (array->lazy_transpose) return copy_transposed(array);
  return array->remote && !array->buffer->data ? fetch(array) : 0;
}

namespace {

// 0 when `ndarray` holds elements of `info`, else -1 with TypeError.
int check_same(PyArrayObject* ndarray, const AvalInfo* info) {
  bool same = PyArray_NDIM(ndarray) == int(info->dims.size()) &&
              std::equal(info->dims.begin(), info->dims.end(), PyArray_DIMS(ndarray)) &&
              PyArray_EquivTypes(PyArray_DESCR(ndarray), info->dtype);
  if (same) return 0;
  PyRef shape(PyObject_GetAttrString(reinterpret_cast<PyObject*>(ndarray), "shape"));
  PyErr_Format(PyExc_TypeError, "from_numpy: expected an ndarray like the aval %s, got dtype %R and shape %R",
               describe(info).c_str(), PyArray_DESCR(ndarray), shape.get());
  return -1;
}

// A view of memory that nobody writes, in an order that the array has when its value is first read.
ArrayRef array_lazy_transpose(PyObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  BufferRef buffer = buffer_wrap(ndarray, nullptr, info->nbytes);
  if (!buffer) return raise_no_memory(sizeof(Buffer)), ArrayRef();
  ArrayRef array = array_new(info, device, std::move(buffer), committed);
  if (array) array->lazy_transpose = PyRef::share(ndarray);
  return array;
}

ArrayRef array_from_numpy(PyArrayObject* ndarray, AvalInfo* info, PyObject* device, bool committed) {
  run_deferred_decrefs();
  if (check_same(ndarray, info) < 0) return ArrayRef();
  if (PyArray_IS_C_CONTIGUOUS(ndarray) && PyArray_ISALIGNED(ndarray)) {
    BufferRef buffer = buffer_wrap(reinterpret_cast<PyObject*>(ndarray), PyArray_BYTES(ndarray), info->nbytes);
    if (!buffer) return raise_no_memory(sizeof(Buffer)), ArrayRef();
    return array_new(info, device, std::move(buffer), committed);
  }
  if (is_transposed(ndarray, info)) {
    return array_lazy_transpose(reinterpret_cast<PyObject*>(ndarray), info, device, committed);
  }
  return array_copied(ndarray, info, device, committed);
}

}  // namespace

ArrayRef array_of_ndarray(PyArrayObject* ndarray, AvalInfo* info, PyObject* device) {
  return array_from_numpy(ndarray, info, device, false);
}

namespace {

PyObject* from_numpy(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"ndarray", "aval", "device", "committed", nullptr};
  PyObject *ndarray, *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO|p:from_numpy", const_cast<char**>(names), &PyArray_Type, &ndarray, &aval,
                                   &device, &committed)) {
    return nullptr;
  }
  const AvalRef info = aval_info(aval);
  if (!info) return nullptr;
  return give(array_from_numpy(reinterpret_cast<PyArrayObject*>(ndarray), info, device, committed));
}

PyObject* from_remote(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"remote", "aval", "device", "committed", nullptr};
  PyObject *remote, *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|p:from_remote", const_cast<char**>(names), &remote, &aval, &device,
                                   &committed)) {
    return nullptr;
  }
  const AvalRef info = aval_info(aval);
  return info ? give(array_of_remote(remote, info, device, committed)) : nullptr;
}

PyObject* empty(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"aval", "device", "committed", nullptr};
  PyObject *aval, *device;
  int committed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:empty", const_cast<char**>(names), &aval, &device, &committed)) {
    return nullptr;
  }
  const AvalRef info = aval_info(aval);
  if (!info) return nullptr;
  return give(array_empty(info, device, committed));
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
  const AvalRef info = aval == Py_None ? array->info : aval_info(aval);
  if (!info) return nullptr;
  if (info->nbytes != array->info->nbytes) {
    return PyErr_Format(PyExc_TypeError, "rewrap: %s has not as many bytes as %s", describe(info).c_str(),
                        describe(array->info).c_str());
  }
  const PyRef on = device == Py_None ? array->device : PyRef::share(device);
  return give(array_share(array, info, on, is_committed));
}

PyObject* resized(PyObject*, PyObject* args) {
  PyObject *object, *aval;
  if (!PyArg_ParseTuple(args, "O!O:resized", array_type, &object, &aval)) return nullptr;
  auto* array = reinterpret_cast<Array*>(object);
  const AvalRef info = aval_info(aval);
  if (!info) return nullptr;
  return give(array_share(array, info, array->device, int(array->committed)));
}

PyObject* live_arrays(PyObject*, PyObject*) {
  // Adding to a list may collect garbage, which may remove arrays from the chain: reserve first.
  Py_ssize_t count = 0;
  for (Array* array = first_array; array; array = array->next) count += bool(array->buffer);
  PyRef list(PyList_New(count));
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
    {"resized", method<resized>(), METH_VARARGS,
     PyDoc_STR("resized(array, aval): a new Array on the same memory, under an aval with another number of rows. One with more "
               "rows than the memory has must only be given to programs that do not read them. Does not wait.")},
    {"live_arrays", method<live_arrays>(), METH_NOARGS, PyDoc_STR("All Arrays that are not deleted, latest first.")},
    {nullptr, nullptr, 0, nullptr}};

// By the hook, which knows shardings. Were it a method that Python sets, object.__new__ would make arrays without memory.
PyObject* new_array(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (!hooks[hook_new]) return refuse_new(type, args, kwargs);
  PyRef front(PyTuple_Pack(1, type)), all(front ? PySequence_Concat(front.get(), args) : nullptr);
  PyRef function = PyRef::share(hooks[hook_new].get());
  return all ? PyObject_Call(function.get(), all.get(), kwargs) : nullptr;
}

}  // namespace

int array_type_init(PyObject* module) {
  PyType_Slot base[] = {slot<dealloc>(Py_tp_dealloc),
                        slot<new_array>(Py_tp_new),
                        slot<traverse>(Py_tp_traverse),
                        slot<clear>(Py_tp_clear),
                        {Py_tp_doc, const_cast<char*>("An immutable array of one device. Made by numjet.numpy's "
                                                      "functions, not by calling the type.")}};
  std::vector<PyType_Slot> slots(std::begin(base), std::end(base));
  add_operator_slots(slots);
  add_protocol_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"numjet.ArrayImpl", sizeof(Array), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots.data()};
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!array_type) return -1;
  if (array_properties_init(module) < 0 || show_getters_as_properties(array_type) < 0) return -1;
  PyObject* type = reinterpret_cast<PyObject*>(array_type);
  // Makes NumPy's operators leave the work to ours.
  PyRef priority(PyLong_FromLong(100));
  if (!priority || PyObject_SetAttrString(type, "__array_priority__", priority.get()) < 0) return -1;
  if (PyModule_AddObjectRef(module, "Array", type) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj

int array_init(PyObject* module) {
  using namespace nj;
  if (execution_init() < 0 || views_init() < 0 || hooks_init(module) < 0) return -1;
  return array_type_init(module) < 0 || array_parts_init(module) < 0 ? -1 : array_divided_init(module);
}
