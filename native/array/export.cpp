// An array's memory as seen by others: ndarray views, the buffer protocol, DLPack.
#include <algorithm>
#include <memory>

#include "array/array.h"
#include "array/slots.h"
#include "runtime/python/guard.h"

namespace nj {

namespace {

// Base object of ndarray views: holds the buffer, not the array, so that delete() frees no memory in use.
struct Storage {
  PyObject_HEAD
  BufferRef buffer;
};
PyTypeObject* storage_type = nullptr;

void storage_dealloc(PyObject* self) {
  destroy(reinterpret_cast<Storage*>(self)->buffer);
  free_instance(self);
}

PyType_Slot storage_slots[] = {slot<storage_dealloc>(Py_tp_dealloc), no_instances(), {0, nullptr}};
PyType_Spec storage_spec = {"numjet._native.Storage", sizeof(Storage), 0,
                            Py_TPFLAGS_DEFAULT, storage_slots};

PyObject* storage_new(BufferRef buffer) {
  Storage* storage = PyObject_New(Storage, storage_type);
  if (!storage) return nullptr;
  construct(storage->buffer);
  storage->buffer = std::move(buffer);
  return reinterpret_cast<PyObject*>(storage);
}

// struct's code of a dtype; null when it has none.
const char* format_of(const PyArray_Descr* dtype) {
  if (!PyArray_ISNBO(dtype->byteorder)) return nullptr;
  switch (dtype->type_num) {
    case NPY_BOOL: return "?";
    case NPY_BYTE: return "b";
    case NPY_UBYTE: return "B";
    case NPY_SHORT: return "h";
    case NPY_USHORT: return "H";
    case NPY_INT: return "i";
    case NPY_UINT: return "I";
    case NPY_LONG: return "l";
    case NPY_ULONG: return "L";
    case NPY_LONGLONG: return "q";
    case NPY_ULONGLONG: return "Q";
    case NPY_HALF: return "e";
    case NPY_FLOAT: return "f";
    case NPY_DOUBLE: return "d";
    case NPY_CFLOAT: return "Zf";
    case NPY_CDOUBLE: return "Zd";
    default: return nullptr;
  }
}

// What a Py_buffer of ours points to.
struct Export {
  BufferRef buffer;
  std::vector<Py_ssize_t> shape, strides;
};

std::vector<Py_ssize_t> contiguous_strides(const AvalInfo* info, Py_ssize_t unit) {
  std::vector<Py_ssize_t> strides(info->dims.size());
  for (size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = unit;
    unit *= info->dims[axis];
  }
  return strides;
}

}  // namespace

int views_init() {
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&storage_spec));
  return storage_type ? 0 : -1;
}

bool shows_array(PyObject* ndarray) {
  PyObject* base = ndarray;
  while (base && PyArray_Check(base)) base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base));
  return base && Py_TYPE(base) == storage_type;
}

PyObject* array_view(Array* array) {
  if (!array_data(array)) return nullptr;
  const AvalInfo* info = array->info;
  PyRef storage(storage_new(array->buffer));
  if (!storage) return nullptr;
  PyRef view(PyArray_NewFromDescr(&PyArray_Type, Handle(info->dtype).release(), int(info->dims.size()), info->dims.data(),
                                  nullptr, array->buffer->data, NPY_ARRAY_CARRAY_RO, nullptr));
  if (!view) return nullptr;
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view.get()), storage.release()) < 0) return nullptr;
  return view.release();
}

// BF16 of bfloat16, F8E5M2 of float8_e5m2: as XLA names dtypes.
PyObject* short_name(const PyArray_Descr* dtype) {
  PyRef name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(const_cast<PyArray_Descr*>(dtype)), "name"));
  PyRef brief(name ? PyObject_CallMethod(name, "replace", "ss", "float", "f") : nullptr);
  PyRef joined(brief ? PyObject_CallMethod(brief, "replace", "ss", "_", "") : nullptr);
  return joined ? PyObject_CallMethod(joined, "upper", nullptr) : nullptr;
}

int array_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* array = reinterpret_cast<Array*>(self);
  view->obj = nullptr;
  const AvalInfo* info = array->info;
  const char* format = format_of(info->dtype);
  if (!format) {
    PyRef name(short_name(info->dtype.get()));
    if (name)
      PyErr_Format(PyExc_BufferError,
                   "Buffers of type %U are not supported by the Python buffer protocol. The dtype is %R; use numpy.asarray(x)",
                   name.get(), info->dtype.get());
    return -1;
  }
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "arrays are immutable: no writable buffer; copy with numpy.array(x)");
    return -1;
  }
  if (!array_data(array)) return -1;
  auto exported = std::unique_ptr<Export>(
      new Export{array->buffer, {info->dims.begin(), info->dims.end()}, contiguous_strides(info, info->itemsize)});
  array->shown = array->buffer;
  view->buf = array->buffer->data;
  view->len = Py_ssize_t(info->nbytes);
  view->readonly = 1;
  view->itemsize = info->itemsize;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  view->ndim = int(info->dims.size());
  view->shape = flags & PyBUF_ND ? exported->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported.release();  // array_release_buffer() ends it
  view->obj = Py_NewRef(self);
  return 0;
}

void array_release_buffer(PyObject*, Py_buffer* view) {
  const std::unique_ptr<Export> exported(static_cast<Export*>(view->internal));
}

namespace {

// The structures of DLPack 1.0 (dmlc.github.io/dlpack).
struct DLDevice { int32_t device_type, device_id; };
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLVersion { uint32_t major, minor; };
struct DLManagedTensorVersioned {
  DLVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
enum : uint8_t { dl_int = 0, dl_uint = 1, dl_float = 2, dl_bfloat = 4, dl_complex = 5, dl_bool = 6 };
enum : uint64_t { dl_read_only = 1, dl_copied = 2 };
constexpr int32_t kCpu = 1;

template <class Managed>
struct Tensor {
  Managed managed;
  BufferRef buffer;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
void delete_tensor(Managed* managed) {
  const std::unique_ptr<Tensor<Managed>> tensor(static_cast<Tensor<Managed>*>(managed->manager_ctx));
}

void capsule_destructor(PyObject* capsule) {
  // A consumer renames the capsule, and then owns the tensor.
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    managed->deleter(managed);
  }
}

bool dlpack_dtype(const AvalInfo* info, DLDataType* dtype) {
  *dtype = {0, uint8_t(info->itemsize * 8), 1};
  const PyArray_Descr* descr = info->dtype;
  if (!PyArray_ISNBO(descr->byteorder)) return false;
  if (PyTypeNum_ISBOOL(descr->type_num)) dtype->code = dl_bool;
  else if (PyTypeNum_ISSIGNED(descr->type_num)) dtype->code = dl_int;
  else if (PyTypeNum_ISUNSIGNED(descr->type_num)) dtype->code = dl_uint;
  else if (PyTypeNum_ISFLOAT(descr->type_num)) dtype->code = dl_float;
  else if (PyTypeNum_ISCOMPLEX(descr->type_num)) dtype->code = dl_complex;
  else if (describe(info).rfind("bfloat16[", 0) == 0) dtype->code = dl_bfloat;
  else return false;
  return true;
}

template <class Managed>
Managed* new_tensor(const AvalInfo* info, BufferRef buffer, DLDataType dtype) {
  const std::vector<Py_ssize_t> strides = contiguous_strides(info, 1);
  char* data = buffer->data;
  auto* tensor =
      new Tensor<Managed>{{}, std::move(buffer), {info->dims.begin(), info->dims.end()}, {strides.begin(), strides.end()}};
  tensor->managed.manager_ctx = tensor;
  tensor->managed.deleter = delete_tensor<Managed>;
  tensor->managed.tensor = {data, {kCpu, 0}, int32_t(info->dims.size()), dtype, tensor->shape.data(), tensor->strides.data(),
                            0};
  return &tensor->managed;
}

PyObject* new_capsule(const AvalInfo* info, BufferRef buffer, DLDataType dtype, bool versioned, bool copied) {
  void* managed;
  if (versioned) {
    auto* tensor = new_tensor<DLManagedTensorVersioned>(info, std::move(buffer), dtype);
    tensor->version = {1, 0};
    tensor->flags = copied ? dl_copied : dl_read_only;
    managed = tensor;
  } else {
    managed = new_tensor<DLManagedTensor>(info, std::move(buffer), dtype);
  }
  PyObject* capsule = PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor", guarded<capsule_destructor>);
  if (capsule) return capsule;
  if (versioned) delete_tensor(static_cast<DLManagedTensorVersioned*>(managed));
  else delete_tensor(static_cast<DLManagedTensor*>(managed));
  return nullptr;
}

// dl_device of None or (1, 0).
bool wants_cpu(PyObject* device) {
  int type, id;
  if (device == Py_None) return true;
  if (!PyArg_ParseTuple(device, "ii;__dlpack__: dl_device must be a pair of ints", &type, &id)) return false;
  if (type == kCpu && id == 0) return true;
  PyErr_Format(PyExc_BufferError, "__dlpack__: the array is on device (1, 0), not on %R", device);
  return false;
}

}  // namespace

PyObject* array_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &version, &device,
                                   &copy)) {
    return nullptr;
  }
  unsigned major = 0, minor = 0;
  if (version != Py_None && !PyArg_ParseTuple(version, "II;__dlpack__: max_version must be a pair of ints", &major, &minor)) {
    return nullptr;
  }
  if (stream != Py_None) return PyErr_Format(PyExc_BufferError, "__dlpack__: a CPU array has no stream, got %R", stream);
  if (!wants_cpu(device)) return nullptr;
  auto* array = reinterpret_cast<Array*>(self);
  DLDataType dtype;
  if (!dlpack_dtype(array->info, &dtype)) {
    return PyErr_Format(PyExc_BufferError, "DLPack has no code for dtype %R", array->info->dtype.get());
  }
  if (!array_data(array)) return nullptr;
  // Before version 1.0 a capsule cannot say that its memory is read-only.
  const bool versioned = major >= 1;
  if (!versioned && copy == Py_False) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__: arrays are immutable, which a capsule of a version below 1.0 cannot say: "
                    "expected max_version=(1, 0) or higher, or copy=None, which copies");
    return nullptr;
  }
  const bool copied = copy == Py_True || !versioned;
  BufferRef buffer = copied ? buffer_new(array->info->nbytes) : array->buffer;
  if (!buffer) return out_of_memory(array->info->nbytes);
  if (copied) std::copy_n(array->buffer->data, array->info->nbytes, buffer->data);
  return new_capsule(array->info, std::move(buffer), dtype, versioned, copied);
}

}  // namespace nj
