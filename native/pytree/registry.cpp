// Which types are nodes, and how an object is taken apart by one level.
#include <unordered_map>

#include "pytree/node.h"
#include "runtime/python/stack.h"

namespace nj::pytree {

namespace {

// Python's recursion limit can be raised beyond what the C stack holds; this one cannot.
constexpr int kMostLevels = 4000;
thread_local int levels = 0;
constexpr const char* kTooDeep = " in a pytree: it is nested too deeply, or a container holds itself";

// Never destroyed: nodes point to its items.
auto& registrations = *new std::unordered_map<PyTypeObject*, const Registration>;

enum KeyType { SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey, num_key_types };
PyGlobal key_types[num_key_types];
PyGlobal fields_name;  // "_fields"

bool is_builtin_node(PyTypeObject* type) {
  return type == &PyTuple_Type || type == &PyList_Type || type == &PyDict_Type || type == Py_TYPE(Py_None);
}

// 1, 0, or -1 with an error set. Any tuple subclass with `_fields` counts as a namedtuple.
int is_namedtuple(PyTypeObject* type) {
  if (!PyType_FastSubclass(type, Py_TPFLAGS_TUPLE_SUBCLASS)) return 0;
  PyRef fields(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), fields_name.get()));
  if (fields) return 1;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
  PyErr_Clear();
  return 0;
}

bool check_new_type(PyObject* type) {
  if (!PyType_Check(type)) {
    PyErr_Format(PyExc_TypeError, "a pytree node type must be a class, got %R", type);
    return false;
  }
  PyTypeObject* t = reinterpret_cast<PyTypeObject*>(type);
  if (!is_builtin_node(t) && !registrations.count(t)) return true;
  PyErr_Format(PyExc_ValueError,
               "Duplicate pytree node registration: %R is a pytree node already; a type can be registered only once", type);
  return false;
}

bool check_callable(PyObject* function, const char* role) {
  if (PyCallable_Check(function)) return true;
  PyErr_Format(PyExc_TypeError, "the %s function of a pytree node type must be callable, got %R", role, function);
  return false;
}

PyObject* make_key(KeyType type, PyObject* value) {
  if (!key_types[type]) {
    PyErr_SetString(PyExc_RuntimeError, "pytree key types are not set: import numjet.foundation.tree first");
    return nullptr;
  }
  PyObject* key = PyObject_CallOneArg(key_types[type].get(), value);
  if (!key && PyErr_ExceptionMatches(PyExc_RecursionError)) {
    PyErr_Format(PyExc_RecursionError, "maximum recursion depth exceeded%s", kTooDeep);
  }
  return key;
}

PyObject* make_index_key(KeyType type, Py_ssize_t i) {
  PyRef index(PyLong_FromSsize_t(i));
  return index ? make_key(type, index.get()) : nullptr;
}

PyObject* make_field_key(PyObject* fields, Py_ssize_t i) {
  PyRef name(PySequence_GetItem(fields, i));
  return name ? make_key(GetAttrKey, name.get()) : nullptr;
}

PyObject* namedtuple_key(PyObject* type, Py_ssize_t i) {
  PyRef fields(PyObject_GetAttr(type, fields_name.get()));
  return fields ? make_field_key(fields.get(), i) : nullptr;
}

bool default_keys(Kind kind, const Registration* registration, PyObject* data, Py_ssize_t n, PyRef& keys) {
  keys = PyRef(new_tuple(size_t(n), [=](size_t i) { return child_key(kind, registration, data, Py_ssize_t(i)); }));
  return bool(keys);
}

// Checks what a user's flatten function returned, and takes it apart.
bool take_flattened(const Registration* registration, PyObject* result, PyRef& children, PyRef& data) {
  const char* rule = "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple";
  if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 2) {
    PyErr_Format(PyExc_ValueError, "%s, got %R from that of the type %R", rule, result, registration->type.get());
    return false;
  }
  data = PyRef::share(PyTuple_GET_ITEM(result, 1));
  children = PyRef(PySequence_Tuple(PyTuple_GET_ITEM(result, 0)));
  if (children) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError) && !PyObject_HasAttrString(PyTuple_GET_ITEM(result, 0), "__iter__")) {
    PyErr_Format(PyExc_ValueError, "%s where 'children' is iterable, got %R from that of the type %R", rule, result,
                 registration->type.get());
  }
  return false;
}

// Splits a tuple of (key, child) pairs into keys and children.
bool split_pairs(const Registration* registration, PyRef& children, PyRef& keys) {
  PyRef pairs(children.release());
  Py_ssize_t n = PyTuple_GET_SIZE(pairs.get());
  children = PyRef(PyTuple_New(n));
  keys = PyRef(PyTuple_New(n));
  if (!children || !keys) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyRef pair(PySequence_Tuple(PyTuple_GET_ITEM(pairs.get(), i)));
    if (!pair || PyTuple_GET_SIZE(pair.get()) != 2) {
      PyErr_Format(PyExc_ValueError,
                   "the flatten-with-keys function of pytree node type %R must return a tuple "
                   "((key, child)..., aux_data), but child %zd is %R",
                   registration->type.get(), i, PyTuple_GET_ITEM(pairs.get(), i));
      return false;
    }
    PyTuple_SET_ITEM(keys.get(), i, Py_NewRef(PyTuple_GET_ITEM(pair.get(), 0)));
    PyTuple_SET_ITEM(children.get(), i, Py_NewRef(PyTuple_GET_ITEM(pair.get(), 1)));
  }
  return true;
}

PyObject* get_fields(PyObject* object, PyObject* names) {
  return new_tuple(size_t(PyTuple_GET_SIZE(names)),
                   [=](size_t i) { return PyObject_GetAttr(object, PyTuple_GET_ITEM(names, Py_ssize_t(i))); });
}

bool expand_dataclass(PyObject* object, const Registration* registration, PyRef& children, PyRef& data) {
  children = PyRef(get_fields(object, registration->data_fields));
  if (!children) return false;
  data = PyRef(get_fields(object, registration->meta_fields));
  return bool(data);
}

bool expand_custom(PyObject* object, const Registration* registration, PyRef& children, PyRef& data, PyRef* keys) {
  if (registration->data_fields) return expand_dataclass(object, registration, children, data);
  bool keyed = keys && registration->flatten_with_keys;
  PyRef result(PyObject_CallOneArg(keyed ? registration->flatten_with_keys : registration->flatten, object));
  if (!result || !take_flattened(registration, result.get(), children, data)) return false;
  return !keyed || split_pairs(registration, children, *keys);
}

// A tuple of the children of a tuple subclass, which may override iteration.
PyObject* namedtuple_children(PyObject* object) { return PyTuple_GetSlice(object, 0, PyTuple_GET_SIZE(object)); }

// A tuple of strings, interned so that attribute lookups are fast.
PyObject* name_tuple(PyObject* names) {
  PyRef tuple(PySequence_Tuple(names));
  if (!tuple) return nullptr;
  return new_tuple(size_t(PyTuple_GET_SIZE(tuple.get())), [&](size_t i) {
    PyObject* name = PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(i));
    if (PyUnicode_CheckExact(name)) return interned(name).release();
    return PyErr_Format(PyExc_TypeError, "field names of a pytree dataclass must be strings, got %R", name);
  });
}

}  // namespace

Level::Level() : entered_(false) {
  if (levels >= kMostLevels) {
    PyErr_Format(PyExc_RecursionError, "more than %d levels%s", kMostLevels, kTooDeep);
    return;
  }
  if (!require_stack("a pytree that is nested very deeply") || Py_EnterRecursiveCall(kTooDeep)) return;
  ++levels;
  entered_ = true;
}

Level::~Level() {
  if (!entered_) return;
  --levels;
  Py_LeaveRecursiveCall();
}

int registry_init() {
  fields_name.exchange(PyRef(PyUnicode_InternFromString("_fields")));
  return fields_name ? 0 : -1;
}

bool register_node(PyObject* type, PyObject* flatten, PyObject* unflatten, PyObject* flatten_with_keys) {
  if (!check_new_type(type)) return false;
  if (!check_callable(flatten, "flatten") || !check_callable(unflatten, "unflatten")) return false;
  bool keyed = flatten_with_keys && flatten_with_keys != Py_None;
  if (keyed && !check_callable(flatten_with_keys, "flatten-with-keys")) return false;
  Registration registration;
  registration.type = PyRef::share(type);
  registration.flatten = PyRef::share(flatten);
  registration.unflatten = PyRef::share(unflatten);
  if (keyed) registration.flatten_with_keys = PyRef::share(flatten_with_keys);
  return registrations.emplace(reinterpret_cast<PyTypeObject*>(type), std::move(registration)).second;
}

bool register_dataclass(PyObject* type, PyObject* data_fields, PyObject* meta_fields) {
  if (!check_new_type(type)) return false;
  PyRef data(name_tuple(data_fields));
  if (!data) return false;
  PyRef meta(name_tuple(meta_fields));
  if (!meta) return false;
  PyRef all(PySequence_Concat(data.get(), meta.get()));
  if (!all) return false;
  Registration registration;
  registration.type = PyRef::share(type);
  registration.data_fields = std::move(data);
  registration.meta_fields = std::move(meta);
  registration.all_fields = std::move(all);
  return registrations.emplace(reinterpret_cast<PyTypeObject*>(type), std::move(registration)).second;
}

const Registration* find_registration(PyTypeObject* type) {
  auto found = registrations.find(type);
  return found == registrations.end() ? nullptr : &found->second;
}

int classify(PyTypeObject* type, bool none_is_leaf, const Registration** registration) {
  if (type == &PyList_Type) return int(Kind::List);
  if (type == &PyTuple_Type) return int(Kind::Tuple);
  if (type == &PyDict_Type) return int(Kind::Dict);
  if (type == Py_TYPE(Py_None)) return int(none_is_leaf ? Kind::Leaf : Kind::None);
  *registration = find_registration(type);
  if (*registration) return int(Kind::Custom);
  int named = is_namedtuple(type);
  if (named < 0) return -1;
  return int(named ? Kind::NamedTuple : Kind::Leaf);
}

bool expand(PyObject* object, Kind kind, const Registration* registration, PyRef& children, PyRef& data, PyRef* keys) {
  switch (kind) {
    case Kind::Leaf:
    case Kind::None: children = PyRef(PyTuple_New(0)); break;
    case Kind::Tuple: children = PyRef::share(object); break;
    case Kind::List:
      children = PyRef(PyList_AsTuple(object));  // a snapshot: user code may change the list meanwhile
      break;
    case Kind::Dict:
      if (!sorted_items(object, data, children)) return false;
      break;
    case Kind::NamedTuple:
      data = PyRef::share(reinterpret_cast<PyObject*>(Py_TYPE(object)));
      children = PyRef(namedtuple_children(object));
      break;
    case Kind::Custom:
      if (!expand_custom(object, registration, children, data, keys)) return false;
      break;
  }
  if (!children) return false;
  if (!keys || *keys) return true;
  return default_keys(kind, registration, data.get(), PyTuple_GET_SIZE(children.get()), *keys);
}

PyObject* child_key(Kind kind, const Registration* registration, PyObject* data, Py_ssize_t i) {
  switch (kind) {
    case Kind::Dict: return make_key(DictKey, PyTuple_GET_ITEM(data, i));
    case Kind::NamedTuple: return namedtuple_key(data, i);
    case Kind::Custom:
      if (registration->data_fields) return make_field_key(registration->data_fields, i);
      return make_index_key(FlattenedIndexKey, i);
    default: return make_index_key(SequenceKey, i);
  }
}

bool set_key_types(PyObject* sequence, PyObject* dict, PyObject* attribute, PyObject* flat) {
  PyObject* types[num_key_types] = {sequence, dict, attribute, flat};
  for (int i = 0; i < num_key_types; ++i) key_types[i].exchange(PyRef::share(types[i]));
  return true;
}

PyObject* node_type(const Node& node) {
  switch (node.kind) {
    case Kind::Leaf: return nullptr;
    case Kind::None: return reinterpret_cast<PyObject*>(Py_TYPE(Py_None));
    case Kind::Tuple: return reinterpret_cast<PyObject*>(&PyTuple_Type);
    case Kind::List: return reinterpret_cast<PyObject*>(&PyList_Type);
    case Kind::Dict: return reinterpret_cast<PyObject*>(&PyDict_Type);
    case Kind::NamedTuple: return node.data;
    case Kind::Custom: return node.registration->type;
  }
  return nullptr;
}

}  // namespace nj::pytree
