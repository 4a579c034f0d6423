// ArrayProperty: a `property` whose getter is a C function, called without a Python call in between.
//
// Libraries ask `isinstance(value, property)` of the members of the array type to find what an array has, and C's own getters are
// none.
#include "array/properties.h"

#include "runtime/python/guard.h"

namespace nj {

namespace {

struct Getter {
  PyTypeObject* owner;  // borrowed: the type holds the property
  const PyGetSetDef* definition;
};

PyTypeObject* property_type = nullptr;

// Behind the fields of `property`, which Python's headers do not show.
Getter* getter_of(PyObject* self) {
  return reinterpret_cast<Getter*>(reinterpret_cast<char*>(self) + PyProperty_Type.tp_basicsize);
}

PyObject* descr_get(PyObject* self, PyObject* instance, PyObject* owner) {
  const Getter* found = getter_of(self);
  if (!instance || !found->owner) return PyProperty_Type.tp_descr_get(self, instance, owner);
  if (PyObject_TypeCheck(instance, found->owner)) return found->definition->get(instance, found->definition->closure);
  return PyErr_Format(PyExc_TypeError, "the property %s is one of %s, got an instance of %s", found->definition->name,
                      found->owner->tp_name, Py_TYPE(instance)->tp_name);
}

// What `property` keeps in fields that its constructor fills, which would want to write the text of a function.
PyObject* get_doc(PyObject* self, void*) {
  const Getter* found = getter_of(self);
  return found->owner ? PyUnicode_FromString(found->definition->doc) : Py_NewRef(Py_None);
}

PyObject* get_fget(PyObject* self, void*) { return PyObject_GetAttrString(self, "__get__"); }

PyObject* property_from(PyGetSetDescrObject* descriptor) {
  PyObject* made = property_type->tp_alloc(property_type, 0);
  if (made) *getter_of(made) = {PyDescr_TYPE(descriptor), descriptor->d_getset};
  return made;
}

PyGetSetDef own_properties[] = {{"__doc__", guarded<get_doc>, nullptr, nullptr, nullptr},
                                {"fget", guarded<get_fget>, nullptr, nullptr, nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {slot<descr_get>(Py_tp_descr_get), no_instances(), {Py_tp_getset, own_properties}, {0, nullptr}};

}  // namespace

int show_getters_as_properties(PyTypeObject* type) {
  PyRef items(PyDict_Items(type->tp_dict));
  for (Py_ssize_t k = 0; items && k < PyList_GET_SIZE(items.get()); ++k) {
    PyObject* item = PyList_GET_ITEM(items.get(), k);
    PyObject *name = PyTuple_GET_ITEM(item, 0), *value = PyTuple_GET_ITEM(item, 1);
    if (Py_TYPE(value) != &PyGetSetDescr_Type || PyUnicode_READ_CHAR(name, 0) == '_') continue;
    PyRef property(property_from(reinterpret_cast<PyGetSetDescrObject*>(value)));
    if (!property || PyObject_SetAttr(reinterpret_cast<PyObject*>(type), name, property) < 0) return -1;
    PyRef named(PyObject_CallMethod(property, "__set_name__", "OO", type, name));  // for the error of an assignment
    if (!named) return -1;
  }
  return items ? 0 : -1;
}

int array_properties_init(PyObject* module) {
  PyType_Spec spec = {"numjet._native.ArrayProperty", int(PyProperty_Type.tp_basicsize + sizeof(Getter)), 0,
                      Py_TPFLAGS_DEFAULT, slots};
  PyRef bases(PyTuple_Pack(1, &PyProperty_Type));
  property_type = bases ? reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases)) : nullptr;
  if (!property_type) return -1;
  return PyModule_AddObjectRef(module, "ArrayProperty", reinterpret_cast<PyObject*>(property_type));
}

}  // namespace nj
