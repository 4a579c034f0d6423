// x[index] and x.at[index].set(value) of small arrays, where the index is made of known ints, slices, None and `...`: the part
// is copied, or the array with the part changed. Results are those of numjet/numpy/fastpath/index.py.
#include "dispatch/eager/eager.h"

#include <algorithm>
#include <cstring>

#include "dispatch/hooks.h"
#include "dispatch/trace.h"
#include "runtime/memory/small_vector.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"

namespace nj {

namespace {

constexpr Py_ssize_t kMostElements = 65536;  // larger parts are copied by all threads
constexpr size_t kMostBytes = 1 << 18;
constexpr int kMostAxes = 16;

// Where the elements of a part are: from `offset` on, in bytes.
struct Part {
  npy_intp offset = 0, size = 1;
  int rank = 0;
  npy_intp dims[kMostAxes], strides[kMostAxes];

  void add(npy_intp length, npy_intp stride) {
    dims[rank] = length;
    strides[rank++] = stride;
    size *= length;
  }
};

// The axes of an array, taken one by one.
struct Axes {
  const std::vector<npy_intp>& dims;
  npy_intp stride;  // of the axis before the next one, in bytes
  size_t next = 0;

  explicit Axes(const AvalInfo* info) : dims(info->dims), stride(info->itemsize) {
    for (npy_intp length : dims) stride *= length;
  }
  bool take(npy_intp* length, npy_intp* step) {
    if (next >= dims.size() || !dims[next]) return false;
    *length = dims[next++];
    *step = stride = stride / *length;
    return true;
  }
};

bool is_number_or_none(PyObject* object) { return object == Py_None || PyLong_CheckExact(object); }

// One entry of an index; false where the general path has to look.
bool add_entry(PyObject* entry, Axes& axes, Part& part) {
  if (entry == Py_None) {
    part.add(1, 0);
    return true;
  }
  npy_intp length, stride;
  if (PyLong_CheckExact(entry)) {
    int overflow;
    long long at = PyLong_AsLongLongAndOverflow(entry, &overflow);
    if (overflow || !axes.take(&length, &stride) || at < -length || at >= length) return false;
    part.offset += (at < 0 ? at + length : at) * stride;
    return true;
  }
  if (!PySlice_Check(entry)) return false;
  auto* slice = reinterpret_cast<PySliceObject*>(entry);
  if (!is_number_or_none(slice->start) || !is_number_or_none(slice->stop) || !is_number_or_none(slice->step)) return false;
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(entry, &start, &stop, &step) < 0) return PyErr_Clear(), false;
  if (!axes.take(&length, &stride)) return false;
  const Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
  if (count > 0) part.offset += start * stride;
  part.add(count, stride * step);
  return true;
}

// The part that a basic index means; false for other indices, and those that the general path refuses.
bool find_part(PyObject* index, const AvalInfo* info, Part& part) {
  PyObject* const* entries = &index;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(index)) {
    entries = reinterpret_cast<PyTupleObject*>(index)->ob_item;
    count = PyTuple_GET_SIZE(index);
  }
  if (info->dims.size() > 8 || count > 8) return false;
  Py_ssize_t named = 0;
  for (Py_ssize_t k = 0; k < count; ++k) named += entries[k] != Py_None && entries[k] != Py_Ellipsis;
  if (named > Py_ssize_t(info->dims.size())) return false;
  const Py_ssize_t rest = Py_ssize_t(info->dims.size()) - named;
  Axes axes(info);
  bool gap = false;
  const auto take_rest = [&] {
    npy_intp length, stride;
    for (Py_ssize_t k = 0; k < rest; ++k) {
      if (!axes.take(&length, &stride)) return false;
      part.add(length, stride);
    }
    return true;
  };
  for (Py_ssize_t k = 0; k < count; ++k) {
    if (entries[k] == Py_Ellipsis) {
      if (gap || !take_rest()) return false;
      gap = true;
    } else if (!add_entry(entries[k], axes, part)) {
      return false;
    }
  }
  return gap || take_rest();
}

// Whether every element is in its place.
bool is_whole(const Part& part, const AvalInfo* info) {
  if (part.offset || size_t(part.rank) != info->dims.size()) return false;
  npy_intp stride = info->itemsize;
  for (int axis = part.rank; axis-- > 0; stride *= part.dims[axis]) {
    if (part.dims[axis] != info->dims[size_t(axis)] || part.strides[axis] != stride) return false;
  }
  return true;
}

// visit(address of the first element, number, stride) for each row of a part.
template <class Visit>
void each_row(const Part& part, char* data, Visit visit) {
  const int last = part.rank - 1;
  const npy_intp length = part.rank ? part.dims[last] : 1, stride = part.rank ? part.strides[last] : 0;
  npy_intp at[kMostAxes] = {};
  char* row = data + part.offset;
  if (!part.size) return;
  for (;;) {
    visit(row, length, stride);
    int axis = last;
    while (axis > 0) {
      --axis;
      row += part.strides[axis];
      if (++at[axis] < part.dims[axis]) break;
      row -= part.strides[axis] * part.dims[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (last <= 0) return;
  }
}

template <class T>
void copy_rows(const Part& part, char* from, char* to) {
  each_row(part, from, [&to](const char* row, npy_intp length, npy_intp stride) {
    for (npy_intp k = 0; k < length; ++k, to += sizeof(T)) std::memcpy(to, row + k * stride, sizeof(T));
  });
}

struct Wide { char bytes[16]; };

bool copy_part(const Part& part, char* from, char* to, npy_intp itemsize) {
  switch (itemsize) {
    case 1: return copy_rows<uint8_t>(part, from, to), true;
    case 2: return copy_rows<uint16_t>(part, from, to), true;
    case 4: return copy_rows<uint32_t>(part, from, to), true;
    case 8: return copy_rows<uint64_t>(part, from, to), true;
    case 16: return copy_rows<Wide>(part, from, to), true;
    default: return false;
  }
}

// What was asked last: parts of one shape of arrays of one aval have the same one.
struct Known { AvalRef base, out; };
constexpr size_t kKnown = 256;
Known* known = new Known[kKnown];  // never destroyed

bool has_dims(const AvalInfo* info, const Part& part) {
  return info->dims.size() == size_t(part.rank) && std::equal(info->dims.begin(), info->dims.end(), part.dims);
}

// The aval of a part. Null without an error when nobody provides it.
AvalRef info_of(AvalInfo* base, const Part& part) {
  uint64_t hash = reinterpret_cast<uintptr_t>(base) / 16;
  for (int axis = 0; axis < part.rank; ++axis) hash = hash * 31 + uint64_t(part.dims[axis]);
  Known& place = known[hash % kKnown];
  if (place.base == base && has_dims(place.out, part)) return place.out;
  if (!hooks[hook_aval]) return AvalRef();
  PyRef shape(new_tuple(size_t(part.rank), [&part](size_t k) { return PyLong_FromSsize_t(part.dims[k]); }));
  if (!shape) return AvalRef();
  PyObject* args[] = {shape.get(), reinterpret_cast<PyObject*>(base->dtype.get()), base->weak ? Py_True : Py_False};
  PyRef aval(call_hook(hook_aval, args, 3));
  if (!aval) return AvalRef();
  AvalRef out = aval_info(aval);
  if (!out) return out;
  // The old ones go last: that may run anything.
  const Known old = std::exchange(place, {AvalRef::share(base), out});
  return out;
}

bool is_plain(const PyArray_Descr* dtype) {
  const int type = dtype->type_num;
  return PyTypeNum_ISNUMBER(type) || type == NPY_BOOL || PyTypeNum_ISUSERDEF(type);
}

bool suits(Array* array) {
  return evaluating_arrays() && trace_state.here && !array->committed && !array->sharding && !array->remote &&
         !array->info->placed && is_plain(array->info->dtype) && array_ready(array);
}

}  // namespace

PyObject* eager_part(Array* array, PyObject* index) {
  Part part;
  if (!suits(array) || !find_part(index, array->info, part) || part.size >= kMostElements) return nullptr;
  if (is_whole(part, array->info)) return Py_NewRef(reinterpret_cast<PyObject*>(array));
  const AvalRef info = info_of(array->info, part);
  if (!info) return nullptr;
  ArrayRef out = array_empty(info, array->device, false);
  if (!out || !array->buffer) return nullptr;  // which Python code may have deleted
  return copy_part(part, array->buffer->data, out->buffer->data, info->itemsize) ? give(std::move(out)) : nullptr;
}

namespace {

enum class Change : int { Set, Add, Subtract, Multiply };

union Scalar {
  bool b;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
};

constexpr long long kSafeInt = 1 << 24;  // exact in every dtype

// A Python number as an element; false when promotion rules need more thought.
bool as_element(PyObject* number, Kind kind, Scalar* element) {
  const bool is_bool = PyBool_Check(number);
  if (kind == Kind::Bool) {
    element->b = number == Py_True;
    return is_bool;
  }
  double real = 0;
  long long whole = 0;
  if (PyFloat_CheckExact(number)) {
    if (kind != Kind::Float32 && kind != Kind::Float64) return false;
    real = PyFloat_AS_DOUBLE(number);
  } else if (is_bool || PyLong_CheckExact(number)) {
    int overflow;
    whole = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || whole < -kSafeInt || whole > kSafeInt) return false;
    real = double(whole);
  } else {
    return false;
  }
  switch (kind) {
    case Kind::Int32: element->i32 = int32_t(whole); return true;
    case Kind::Int64: element->i64 = whole; return true;
    case Kind::Float32: element->f32 = float(real); return true;
    case Kind::Float64: element->f64 = real; return true;
    default: return false;
  }
}

// Changes a part of fresh memory; `values` advances by `advance` bytes per element.
template <class T>
void change_part(const Part& part, char* data, const char* values, npy_intp advance, Change change) {
  each_row(part, data, [&](char* row, npy_intp length, npy_intp stride) {
    for (npy_intp k = 0; k < length; ++k, values += advance) {
      T old, given;
      std::memcpy(&old, row + k * stride, sizeof(T));
      std::memcpy(&given, values, sizeof(T));
      switch (change) {
        case Change::Add: given = T(old + given); break;
        case Change::Subtract: given = T(old - given); break;
        case Change::Multiply: given = T(old * given); break;
        default: break;
      }
      std::memcpy(row + k * stride, &given, sizeof(T));
    }
  });
}

bool change_elements(const Part& part, char* data, const char* values, npy_intp advance, Change change, Kind kind) {
  switch (kind) {
    case Kind::Bool: return change == Change::Set && (change_part<uint8_t>(part, data, values, advance, change), true);
    case Kind::Int32: return change_part<int32_t>(part, data, values, advance, change), true;
    case Kind::Int64: return change_part<int64_t>(part, data, values, advance, change), true;
    case Kind::Float32: return change_part<float>(part, data, values, advance, change), true;
    case Kind::Float64: return change_part<double>(part, data, values, advance, change), true;
    default: return false;
  }
}

// What a part is changed by: an array of its shape, or one element.
struct Given {
  const Array* array = nullptr;
  Scalar element;
  npy_intp advance = 0;
  const char* data() const { return array ? array->buffer->data : reinterpret_cast<const char*>(&element); }
};

bool read_values(PyObject* values, const AvalInfo* info, const Part& part, Given& given) {
  if (!is_array(values)) return as_element(values, info->kind, &given.element);
  auto* array = reinterpret_cast<Array*>(values);
  if (!suits(array) || array->info->kind != info->kind) return false;
  if (!array->info->dims.empty() && !has_dims(array->info, part)) return false;
  given.array = array;
  given.advance = array->info->dims.empty() ? 0 : info->itemsize;
  return true;
}

// updated_part(array, index, values, change) -> Array, or None for the general path.
PyObject* updated_part(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "updated_part takes 4 arguments, got %zd", count);
  const long change = PyLong_AsLong(args[3]);
  if (change == -1 && PyErr_Occurred()) return nullptr;
  if (change < 0 || change > 3) return PyErr_Format(PyExc_ValueError, "updated_part: no change is called %ld", change);
  if (!is_array(args[0])) Py_RETURN_NONE;
  auto* array = reinterpret_cast<Array*>(args[0]);
  const AvalInfo* info = array->info;
  Part part;
  Given given;
  if (info->nbytes > kMostBytes || !suits(array) || !find_part(args[1], info, part) || !part.size ||
      !read_values(args[2], info, part, given)) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
  }
  ArrayRef out = array_empty(array->info, array->device, false);
  if (!out) return nullptr;
  if (!array->buffer || (given.array && !given.array->buffer)) Py_RETURN_NONE;  // Python code may have deleted one
  std::memcpy(out->buffer->data, array->buffer->data, info->nbytes);
  if (!change_elements(part, out->buffer->data, given.data(), given.advance, Change(change), info->kind)) Py_RETURN_NONE;
  return give(std::move(out));
}

PyMethodDef functions[] = {
    {"updated_part", method<updated_part>(), METH_FASTCALL,
     PyDoc_STR("updated_part(array, index, values, change): a copy with array[index] set to values (0), or values added (1), "
               "subtracted (2) or multiplied (3); None for what the general path has to do.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int basic_index_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace nj
