// Arrays divided over several devices: a call takes the parts of hundreds of them, and gives as many, without Python code for
// each.
#include "array/array.h"

#include <structmember.h>

#include <cstddef>

#include "array/slots.h"
#include "runtime/python/guard.h"
#include "runtime/python/sequence.h"

namespace nj {

namespace {

// What such an Array has as its remote: the buffer is another library's array of all parts.
struct Parts {
  PyObject_HEAD
  PyRef buffer, aval, sharding, shown;
};

PyTypeObject* parts_type = nullptr;

Parts* as_parts(PyObject* object) { return reinterpret_cast<Parts*>(object); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  const Parts* parts = as_parts(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(parts->buffer);
  Py_VISIT(parts->aval);
  Py_VISIT(parts->sharding);
  Py_VISIT(parts->shown);
  return 0;
}

int clear(PyObject* self) {
  as_parts(self)->shown.reset();
  return 0;
}

void dealloc(PyObject* self) {
  Parts* parts = as_parts(self);
  PyObject_GC_UnTrack(self);
  destroy(parts->buffer, parts->aval, parts->sharding, parts->shown);
  free_instance(self);
}

PyRef new_parts(PyTypeObject* type, PyObject* buffer, PyObject* aval, PyObject* sharding) {
  PyRef made(type->tp_alloc(type, 0));
  if (!made) return made;
  Parts* parts = as_parts(made);
  construct(parts->buffer, parts->aval, parts->sharding, parts->shown);
  parts->buffer = PyRef::share(buffer);
  parts->aval = PyRef::share(aval);
  parts->sharding = PyRef::share(sharding);
  return made;
}

PyObject* new_from_python(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"buffer", "aval", "sharding", nullptr};
  PyObject *buffer, *aval, *sharding;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:Parts", const_cast<char**>(names), &buffer, &aval, &sharding)) {
    return nullptr;
  }
  return new_parts(type, buffer, aval, sharding).release();
}

// False with ValueError unless a list or tuple has one item for each of `count`.
bool check_count(PyObject* sequence, Py_ssize_t count, const char* what) {
  if (PySequence_Fast_GET_SIZE(sequence) == count) return true;
  PyErr_Format(PyExc_ValueError, "%zd %s for %zd arrays", PySequence_Fast_GET_SIZE(sequence), what, count);
  return false;
}

PyObject* divided_buffers(PyObject*, PyObject* args) {
  PyObject *arrays, *shardings, *otherwise;
  if (!PyArg_ParseTuple(args, "O!O!O:divided_buffers", &PyList_Type, &arrays, &PyTuple_Type, &shardings, &otherwise)) {
    return nullptr;
  }
  const Py_ssize_t count = PyList_GET_SIZE(arrays);
  if (!check_count(shardings, count, "shardings")) return nullptr;
  PyRef buffers(PyList_New(count));
  for (Py_ssize_t k = 0; buffers && k < count; ++k) {
    const PyRef object = PyRef::share(PyList_GET_ITEM(arrays, k));
    PyObject* remote = is_array(object) ? reinterpret_cast<Array*>(object.get())->remote.get() : nullptr;
    const bool as_wanted = remote && PyObject_TypeCheck(remote, parts_type) &&
                           as_parts(remote)->sharding.get() == PyTuple_GET_ITEM(shardings, k);
    PyObject* buffer = as_wanted ? Py_NewRef(as_parts(remote)->buffer.get()) : PyObject_CallFunction(otherwise, "On", object.get(), k);
    if (!buffer) return nullptr;
    PyList_SET_ITEM(buffers.get(), k, buffer);
    if (PyList_GET_SIZE(arrays) != count) return PyErr_Format(PyExc_RuntimeError, "the list of arrays changed");
  }
  return buffers.release();
}

PyObject* divided_arrays(PyObject*, PyObject* args) {
  PyObject *type, *buffers, *avals, *shardings;
  if (!PyArg_ParseTuple(args, "O!O!O!O!:divided_arrays", &PyType_Type, &type, &PyList_Type, &buffers, &PyTuple_Type, &avals,
                        &PyTuple_Type, &shardings)) {
    return nullptr;
  }
  auto* made_of = reinterpret_cast<PyTypeObject*>(type);
  if (!PyType_IsSubtype(made_of, parts_type)) return PyErr_Format(PyExc_TypeError, "%R is no type of Parts", type);
  const Py_ssize_t count = PyList_GET_SIZE(buffers);
  if (!check_count(avals, count, "avals") || !check_count(shardings, count, "shardings")) return nullptr;
  return new_list(size_t(count), [&](size_t at) -> PyObject* {
    const auto k = Py_ssize_t(at);
    PyObject *aval = PyTuple_GET_ITEM(avals, k), *sharding = PyTuple_GET_ITEM(shardings, k);
    if (k >= PyList_GET_SIZE(buffers)) return PyErr_Format(PyExc_RuntimeError, "the list of buffers changed");
    const PyRef parts = new_parts(made_of, PyList_GET_ITEM(buffers, k), aval, sharding);
    const AvalRef info = parts ? aval_info(aval) : AvalRef();
    return info ? give(array_of_remote(parts, info, sharding, true)) : nullptr;
  });
}

PyMemberDef members[] = {{"buffer", T_OBJECT_EX, offsetof(Parts, buffer), READONLY, nullptr},
                         {"aval", T_OBJECT_EX, offsetof(Parts, aval), READONLY, nullptr},
                         {"sharding", T_OBJECT_EX, offsetof(Parts, sharding), READONLY, nullptr},
                         {"shown", T_OBJECT, offsetof(Parts, shown), 0, PyDoc_STR("The parts as Arrays, once they are made.")},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {slot<new_from_python>(Py_tp_new),
                       slot<dealloc>(Py_tp_dealloc),
                       slot<traverse>(Py_tp_traverse),
                       slot<clear>(Py_tp_clear),
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("The parts of an Array on several devices.")},
                       {0, nullptr}};
PyType_Spec spec = {"numjet._native.Parts", sizeof(Parts), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                    slots};

PyMethodDef functions[] = {
    {"divided_buffers", method<divided_buffers>(), METH_VARARGS,
     PyDoc_STR("divided_buffers(arrays, shardings, otherwise): the buffer of each Array whose parts are as the sharding beside "
               "it says, by identity; otherwise(array, k) of others.")},
    {"divided_arrays", method<divided_arrays>(), METH_VARARGS,
     PyDoc_STR("divided_arrays(type, buffers, avals, shardings): a committed Array for each buffer, which a `type` of Parts "
               "holds.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int array_divided_init(PyObject* module) {
  parts_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!parts_type) return -1;
  if (PyModule_AddObjectRef(module, "Parts", reinterpret_cast<PyObject*>(parts_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace nj
