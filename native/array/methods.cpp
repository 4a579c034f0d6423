// Properties and methods of Array.
#include "array/array.h"

#include <structmember.h>

#include <cstddef>

#include "array/slots.h"
#include "runtime/python/guard.h"
#include "dispatch/hooks.h"

namespace nj {

namespace {

Array* as_array(PyObject* self) { return reinterpret_cast<Array*>(self); }

PyObject* get_aval(PyObject* self, void*) { return Py_NewRef(as_array(self)->info->aval); }
PyObject* get_shape(PyObject* self, void*) { return Py_NewRef(as_array(self)->info->shape); }
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_array(self)->info->dtype.get())); }
PyObject* get_weak_type(PyObject* self, void*) { return PyBool_FromLong(as_array(self)->info->weak); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromSize_t(as_array(self)->info->dims.size()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSsize_t(as_array(self)->info->size); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromSize_t(as_array(self)->info->nbytes); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSsize_t(as_array(self)->info->itemsize); }
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(as_array(self)->device); }
PyObject* get_committed(PyObject* self, void*) { return PyBool_FromLong(as_array(self)->committed); }
PyObject* get_value(PyObject* self, void*) { return array_view(as_array(self)); }

PyObject* get_sharding(PyObject* self, void*) { return or_none(as_array(self)->sharding); }

int set_sharding(PyObject* self, PyObject* value, void*) {
  as_array(self)->sharding = PyRef::share(value == Py_None ? nullptr : value);
  return 0;
}

PyObject* get_remote(PyObject* self, void*) { return or_none(as_array(self)->remote); }

PyObject* get_lazy_transpose(PyObject* self, void*) { return or_none(as_array(self)->lazy_transpose); }

PyObject* block_until_ready(PyObject* self, PyObject*) {
  if (const PyRef remote = as_array(self)->remote) {
    PyRef waited(PyObject_CallMethod(remote, "block_until_ready", nullptr));
    return waited ? Py_NewRef(self) : nullptr;
  }
  return array_wait(as_array(self)) < 0 ? nullptr : Py_NewRef(self);
}

PyObject* is_ready(PyObject* self, PyObject*) {
  Array* array = as_array(self);
  if (!array->buffer) {
    raise_deleted(array);
    return nullptr;
  }
  if (array->remote) return PyObject_CallMethod(array->remote, "is_ready", nullptr);
  // Also a failed computation keeps nobody waiting.
  return PyBool_FromLong(!array->pending || execution_state(array->pending) != State::Pending);
}

PyObject* is_deleted(PyObject* self, PyObject*) { return PyBool_FromLong(!as_array(self)->buffer); }

PyObject* delete_method(PyObject* self, PyObject*) {
  array_delete(as_array(self));
  Py_RETURN_NONE;
}

PyObject* unsafe_buffer_pointer(PyObject* self, PyObject*) {
  if (const PyRef remote = as_array(self)->remote) return PyObject_CallMethod(remote, "unsafe_buffer_pointer", nullptr);
  const char* data = array_data(as_array(self));
  return data ? PyLong_FromVoidPtr(const_cast<char*>(data)) : nullptr;
}

PyObject* on_device_size_in_bytes(PyObject* self, PyObject*) { return get_nbytes(self, nullptr); }

// NumPy's array protocol: a read-only view, or a copy where one is asked for or the dtype differs.
PyObject* to_numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject *wanted = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &wanted, &copy)) {
    return nullptr;
  }
  const AvalInfo* info = as_array(self)->info;
  if (info->dtype->type_num == NPY_VOID && info->itemsize) {  // random keys are opaque; float0 has no bytes
    PyErr_SetString(PyExc_TypeError,
                    "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use random.key_data(keys) if you want "
                    "the words of the keys.");
    return nullptr;
  }
  PyRef view(array_view(as_array(self)));
  if (!view) return nullptr;
  auto* ndarray = reinterpret_cast<PyArrayObject*>(view.get());
  PyArray_Descr* dtype = nullptr;
  if (wanted != Py_None && !PyArray_DescrConverter(wanted, &dtype)) return nullptr;
  PyRef dtype_owner(reinterpret_cast<PyObject*>(dtype));
  bool same = !dtype || PyArray_EquivTypes(dtype, PyArray_DESCR(ndarray));
  if (same && copy != Py_True) return view.release();
  if (copy == Py_False) {
    return PyErr_Format(PyExc_ValueError, "Unable to avoid copy while creating an array of dtype %R from one of %R", dtype,
                        PyArray_DESCR(ndarray));
  }
  if (same) return PyArray_NewCopy(ndarray, NPY_CORDER);
  return PyArray_CastToType(ndarray, reinterpret_cast<PyArray_Descr*>(dtype_owner.release()), 0);
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

PyObject* item(PyObject* self, PyObject* args) {
  PyRef view(array_view(as_array(self)));
  if (!view) return nullptr;
  PyRef method(PyObject_GetAttrString(view.get(), "item"));
  return method ? PyObject_CallObject(method.get(), args) : nullptr;
}

PyObject* tolist(PyObject* self, PyObject*) {
  PyRef view(array_view(as_array(self)));
  return view ? PyArray_ToList(reinterpret_cast<PyArrayObject*>(view.get())) : nullptr;
}

// Scalars format like NumPy's; larger arrays know the empty format only, as in NumPy.
PyObject* format(PyObject* self, PyObject* spec) {
  PyRef view(array_view(as_array(self)));
  if (!view) return nullptr;
  if (!as_array(self)->info->dims.empty()) return PyObject_Format(view.get(), spec);
  PyRef empty(PyTuple_New(0));
  if (!empty) return nullptr;
  PyRef scalar(PyObject_GetItem(view.get(), empty.get()));
  return scalar ? PyObject_Format(scalar.get(), spec) : nullptr;
}

PyObject* reduce(PyObject* self, PyObject*) { return call_hook(hook_reduce, &self, 1); }
PyObject* round_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  PyObject* with_self[] = {self, count ? args[0] : nullptr};
  if (count > 1) return PyErr_Format(PyExc_TypeError, "__round__ takes at most one argument, got %zd", count);
  return call_hook(hook_round, with_self, size_t(1 + count));
}

// A handle of its own: deleting or donating the copy leaves the original alone.
PyObject* copy_method(PyObject* self, PyObject*) {
  Array* array = as_array(self);
  return give(array_share(array, array->info, array->device, array->committed));
}

PyGetSetDef properties[] = {
    {"aval", guarded<get_aval>, nullptr, PyDoc_STR("The array's ShapedArray."), nullptr},
    {"shape", guarded<get_shape>, nullptr, PyDoc_STR("The array's dimensions."), nullptr},
    {"dtype", guarded<get_dtype>, nullptr, PyDoc_STR("The dtype of the elements."), nullptr},
    {"weak_type", guarded<get_weak_type>, nullptr, PyDoc_STR("Whether the dtype yields to others in promotion."), nullptr},
    {"ndim", guarded<get_ndim>, nullptr, PyDoc_STR("The number of dimensions."), nullptr},
    {"size", guarded<get_size>, nullptr, PyDoc_STR("The number of elements."), nullptr},
    {"nbytes", guarded<get_nbytes>, nullptr, PyDoc_STR("The number of bytes of all elements."), nullptr},
    {"itemsize", guarded<get_itemsize>, nullptr, PyDoc_STR("The number of bytes of an element."), nullptr},
    {"device", guarded<get_device>, nullptr, PyDoc_STR("The device that holds the array."), nullptr},
    {"committed", guarded<get_committed>, nullptr, PyDoc_STR("Whether the array was put on its device on purpose."), nullptr},
    {"_value", guarded<get_value>, nullptr, PyDoc_STR("A read-only ndarray on the array's memory. Waits."), nullptr},
    {"_lazy_transpose", guarded<get_lazy_transpose>, nullptr,
     PyDoc_STR("A transposed ndarray on another array's memory, of an array that is not copied yet; else None."), nullptr},
    {"_remote", guarded<get_remote>, nullptr, PyDoc_STR("What holds the value on another device; None for arrays of the host."),
     nullptr},
    {"_sharding", guarded<get_sharding>, guarded<set_sharding>, PyDoc_STR("The sharding given to the array, or None."),
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"block_until_ready", method<block_until_ready>(), METH_NOARGS,
     PyDoc_STR("Waits for the value; raises its error, if any.")},
    {"is_ready", method<is_ready>(), METH_NOARGS, PyDoc_STR("Whether block_until_ready() would return at once.")},
    {"is_deleted", method<is_deleted>(), METH_NOARGS, PyDoc_STR("Whether the array was deleted or donated.")},
    {"delete", method<delete_method>(), METH_NOARGS, PyDoc_STR("Frees the memory now; later looks at the value raise.")},
    {"unsafe_buffer_pointer", method<unsafe_buffer_pointer>(), METH_NOARGS, PyDoc_STR("The address of the first element.")},
    {"on_device_size_in_bytes", method<on_device_size_in_bytes>(), METH_NOARGS, PyDoc_STR("Bytes taken on the device.")},
    {"__array__", method<to_numpy>(), METH_VARARGS | METH_KEYWORDS, PyDoc_STR("NumPy's array protocol.")},
    {"__dlpack__", method<array_dlpack>(), METH_VARARGS | METH_KEYWORDS, PyDoc_STR("The array as a DLPack capsule.")},
    {"__dlpack_device__", method<dlpack_device>(), METH_NOARGS, PyDoc_STR("DLPack's pair of device type and number.")},
    {"__complex__", method<array_as_complex>(), METH_NOARGS, PyDoc_STR("complex(x) of a scalar array.")},
    {"__format__", method<format>(), METH_O, PyDoc_STR("format(x, spec): of the value.")},
    {"__round__", method<round_method>(), METH_FASTCALL, PyDoc_STR("round(x, decimals).")},
    {"__reduce__", method<reduce>(), METH_NOARGS, PyDoc_STR("How to pickle the array.")},
    {"__copy__", method<copy_method>(), METH_NOARGS, PyDoc_STR("Another handle on the same, immutable memory.")},
    {"__deepcopy__", method<copy_method>(), METH_O, PyDoc_STR("Another handle on the same, immutable memory.")},
    {"item", method<item>(), METH_VARARGS, PyDoc_STR("One element as a Python number.")},
    {"tolist", method<tolist>(), METH_NOARGS, PyDoc_STR("The elements as nested lists of Python numbers.")},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(Array, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

}  // namespace

void add_protocol_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_tp_getset, properties});
  slots.push_back({Py_tp_methods, methods});
  slots.push_back({Py_tp_members, members});
  slots.push_back(slot<array_get_buffer>(Py_bf_getbuffer));
  slots.push_back(slot<array_release_buffer>(Py_bf_releasebuffer));
}

}  // namespace nj
