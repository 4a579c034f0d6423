// The table of avals in use.
#include "array/aval.h"

#include <memory>
#include <unordered_map>

#include "runtime/python/guard.h"

namespace nj {

namespace {

std::unordered_map<PyObject*, AvalInfo*>& table = *new std::unordered_map<PyObject*, AvalInfo*>;

Kind kind_of(const PyArray_Descr* dtype) {
  if (!PyArray_ISNBO(dtype->byteorder)) return Kind::Other;
  switch (dtype->type_num) {
    case NPY_BOOL: return Kind::Bool;
    case NPY_FLOAT: return Kind::Float32;
    case NPY_DOUBLE: return Kind::Float64;
    case NPY_INT:
    case NPY_LONG:
    case NPY_LONGLONG: return PyDataType_ELSIZE(dtype) == 4 ? Kind::Int32 : Kind::Int64;
    default: return Kind::Other;
  }
}

// Fills dims, size and nbytes from shape and dtype.
bool measure(AvalInfo* info) {
  info->itemsize = PyDataType_ELSIZE(info->dtype.get());
  for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(info->shape.get()); ++axis) {
    Py_ssize_t dim = PyNumber_AsSsize_t(PyTuple_GET_ITEM(info->shape.get(), axis), PyExc_OverflowError);
    if (dim == -1 && PyErr_Occurred()) return false;
    if (dim < 0) {
      PyErr_Format(PyExc_ValueError, "an array's dimensions must not be negative, got shape %R", info->shape.get());
      return false;
    }
    info->dims.push_back(dim);
    if (__builtin_mul_overflow(info->size, dim, &info->size)) {
      PyErr_Format(PyExc_OverflowError, "shape %R has more elements than can be counted", info->shape.get());
      return false;
    }
  }
  Py_ssize_t nbytes;
  if (__builtin_mul_overflow(info->size, info->itemsize, &nbytes)) {
    PyErr_Format(PyExc_OverflowError, "an array of shape %R has more bytes than can be counted", info->shape.get());
    return false;
  }
  info->nbytes = size_t(nbytes);
  return true;
}

bool fill(AvalInfo* info, PyObject* aval) {
  PyRef shape(PyObject_GetAttrString(aval, "shape"));
  if (!shape) return false;
  PyRef dtype(PyObject_GetAttrString(aval, "dtype"));
  if (!dtype) return false;
  PyRef weak(PyObject_GetAttrString(aval, "weak_type"));
  if (!weak) return false;
  if (!PyTuple_Check(shape.get()) || !PyArray_DescrCheck(dtype.get())) {
    PyErr_Format(PyExc_TypeError, "expected an aval with a tuple as shape and a numpy.dtype as dtype, got %R", aval);
    return false;
  }
  if (PyTuple_GET_SIZE(shape.get()) > NPY_MAXDIMS) {
    PyErr_Format(PyExc_ValueError, "arrays have at most %d dimensions, got shape %R", NPY_MAXDIMS, shape.get());
    return false;
  }
  int is_weak = PyObject_IsTrue(weak.get());
  if (is_weak < 0) return false;
  info->weak = is_weak;
  PyRef placement(PyObject_GetAttrString(aval, "placement"));
  if (!placement) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
  }
  info->placed = placement && placement.get() != Py_None;
  info->aval = PyRef::share(aval);
  info->shape = std::move(shape);
  info->dtype = as<PyArray_Descr>(std::move(dtype));
  info->kind = kind_of(info->dtype.get());
  return measure(info);
}

}  // namespace

AvalRef aval_info(PyObject* aval) {
  auto found = table.find(aval);
  if (found != table.end()) return AvalRef::share(found->second);
  auto info = std::make_unique<AvalInfo>();
  if (!fill(info.get(), aval)) return AvalRef();
  // Reading the attributes may have run Python code that asked for the same aval.
  auto [place, fresh] = table.emplace(aval, info.get());
  return fresh ? AvalRef(info.release()) : AvalRef::share(place->second);
}

void aval_destroy(AvalInfo* info) {
  table.erase(info->aval.get());
  delete info;
}

bool read_avals(PyObject* avals, std::vector<AvalRef>& infos) {
  infos.reserve(size_t(PyTuple_GET_SIZE(avals)));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(avals); ++k) {
    infos.push_back(aval_info(PyTuple_GET_ITEM(avals, k)));
    if (!infos.back()) return false;
  }
  return true;
}

bool same_layout(const AvalInfo* a, const AvalInfo* b) {
  if (a == b) return true;
  return a->dims == b->dims && (a->dtype == b->dtype || PyArray_EquivTypes(a->dtype.get(), b->dtype.get()));
}

std::string describe(const AvalInfo* info) {
  PyRef name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(info->dtype.get()), "name"));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  std::string result = text ? text : "?";
  if (!text) PyErr_Clear();
  result += '[';
  for (size_t axis = 0; axis < info->dims.size(); ++axis) {
    if (axis) result += ',';
    result += std::to_string(info->dims[axis]);
  }
  return result + "]";
}

}  // namespace nj

namespace {

// Deletes the items of a dictionary whose value nobody else refers to; how many. Nothing runs between looking and deleting:
// keys are tuples of numbers and dtypes, whose comparisons run no Python code.
PyObject* drop_unshared(PyObject*, PyObject* table) {
  using namespace nj;
  if (!PyDict_CheckExact(table)) return PyErr_Format(PyExc_TypeError, "drop_unshared: expected a dict, got %R", table);
  PyRef keys(PyDict_Keys(table));
  if (!keys) return nullptr;
  Py_ssize_t dropped = 0;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(keys.get()); ++k) {
    PyObject* key = PyList_GET_ITEM(keys.get(), k);
    PyObject* value = PyDict_GetItemWithError(table, key);
    if (!value && PyErr_Occurred()) return nullptr;
    if (!value || Py_REFCNT(value) != 1) continue;
    if (PyDict_DelItem(table, key) < 0) return nullptr;
    ++dropped;
  }
  return PyLong_FromSsize_t(dropped);
}

PyMethodDef functions[] = {
    {"drop_unshared", nj::method<drop_unshared>(), METH_O,
     PyDoc_STR("Deletes the items of a dictionary whose value nothing else refers to; returns how many.")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int aval_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }
