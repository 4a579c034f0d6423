// Flattening a call into a signature.
#include "dispatch/call/signature.h"

#include <algorithm>
#include <cstring>

#include "dispatch/call/exact_keys.h"
#include "pytree/pytree.h"
#include "dispatch/trace.h"

namespace nj {

namespace {

// First word of each part of a signature; a leaf's details sit in the upper bits.
enum Tag : uint64_t {
  tag_array = 1,
  tag_bool,
  tag_int,
  tag_float,
  tag_complex,
  tag_ndarray,
  tag_tree,
  tag_static,
  tag_keyword
};

uint64_t address(const void* pointer) { return uint64_t(reinterpret_cast<uintptr_t>(pointer)); }

void add_array(Signature& s, Array* array) {
  s.words.push_back(tag_array | uint64_t(array->committed) << 8 | uint64_t(array->sharding != nullptr) << 9);
  s.words.push_back(address(array->info));
  s.words.push_back(address(array->device));
  s.infos.push_back(array->info);
  s.pointees.push_back(array->device);
  s.committed |= array->committed;
  if (!array->sharding) return;
  s.words.push_back(address(array->sharding));
  s.pointees.push_back(array->sharding);
  s.owned.push_back(array->sharding);  // may be replaced while the call runs
}

// Numbers and what ml_dtypes adds to them; no objects, strings, dates or records.
bool is_number_type(const PyArray_Descr* dtype) {
  int type = dtype->type_num;
  return PyTypeNum_ISNUMBER(type) || type == NPY_BOOL || PyTypeNum_ISUSERDEF(type);
}

bool add_dtype(Signature& s, const PyArray_Descr* dtype, int ndim, const npy_intp* dims) {
  if (!is_number_type(dtype)) return false;
  uint64_t swapped = !PyArray_ISNBO(dtype->byteorder);
  s.words.push_back(tag_ndarray | swapped << 8 | uint64_t(ndim) << 16 | uint64_t(dtype->type_num) << 32);
  for (int axis = 0; axis < ndim; ++axis) s.words.push_back(uint64_t(dims[axis]));
  return true;
}

// 1: added. 0: a leaf of a kind that only the slow path knows. -1: error. `leaf` is alive as long as the signature.
int add_leaf(Signature& s, PyObject* leaf) {
  if (is_array(leaf)) add_array(s, reinterpret_cast<Array*>(leaf));
  else if (PyFloat_CheckExact(leaf)) s.words.push_back(tag_float);
  else if (PyLong_CheckExact(leaf)) s.words.push_back(tag_int);
  else if (PyBool_Check(leaf)) s.words.push_back(tag_bool);
  else if (PyComplex_CheckExact(leaf)) s.words.push_back(tag_complex);
  else if (PyArray_CheckExact(leaf)) {
    auto* ndarray = reinterpret_cast<PyArrayObject*>(leaf);
    if (!add_dtype(s, PyArray_DESCR(ndarray), PyArray_NDIM(ndarray), PyArray_DIMS(ndarray))) return 0;
  } else if (PyArray_CheckScalar(leaf) && !PyArray_Check(leaf)) {
    PyRef dtype(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(leaf)));
    if (!dtype) return -1;
    if (!add_dtype(s, reinterpret_cast<PyArray_Descr*>(dtype.get()), 0, nullptr)) return 0;
  } else {
    return 0;
  }
  s.leaves.push_back(leaf);
  return 1;
}

bool is_leaf(PyObject* object) {
  return is_array(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyArray_CheckExact(object) ||
         PyBool_Check(object) || PyComplex_CheckExact(object) || PyArray_IsScalar(object, Generic);
}

// The slow path meets the same error, and can say where: 0. What is no fault of the arguments (no memory, Ctrl-C in a user's
// function) is raised: -1.
int leave_to_slow_path() {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyErr_Clear();
  return 0;
}

int add_tree(Signature& s, PyObject* tree) {
  const size_t first = s.owned.size();
  PyRef treedef = pytree_flatten_leaves(tree, s.owned);
  if (!treedef) return leave_to_slow_path();
  const size_t last = s.owned.size();
  s.words.push_back(tag_tree | uint64_t(last - first) << 8);
  s.objects.push_back(treedef);
  s.owned.push_back(std::move(treedef));
  // By number: more may be owned meanwhile.
  for (size_t k = first; k < last; ++k) {
    int added = add_leaf(s, s.owned[k]);
    if (added != 1) return added;
  }
  return 1;
}

int add_argument(Signature& s, PyObject* argument) { return is_leaf(argument) ? add_leaf(s, argument) : add_tree(s, argument); }

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

// f(1), f(1.0) and f(True) are different programs, although the values are equal; so are f(0.0) and f(-0.0).
void add_static(Signature& s, PyObject* value) {
  s.words.push_back(tag_static);
  if (PyFloat_CheckExact(value)) {
    s.words.push_back(address(&PyFloat_Type));
    s.words.push_back(bits(PyFloat_AS_DOUBLE(value)));
    return;
  }
  s.words.push_back(address(Py_TYPE(value)));
  s.objects.push_back(value);
}

bool is_static_position(const Statics& statics, Py_ssize_t position, Py_ssize_t count) {
  for (Py_ssize_t argnum : statics.argnums) {
    if (position == (argnum < 0 ? argnum + count : argnum)) return true;
  }
  return false;
}

bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

bool is_static_name(const Statics& statics, PyObject* name) {
  return std::any_of(statics.argnames.begin(), statics.argnames.end(),
                     [name](const PyRef& other) { return same_name(name, other); });
}

// Keyword arguments count in the order of their names, as in a flattened dict.
void sort_by_name(SmallVector<Py_ssize_t, 16>& order, PyObject* kwnames) {
  std::sort(order.begin(), order.end(), [kwnames](Py_ssize_t a, Py_ssize_t b) {
    return PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, a), PyTuple_GET_ITEM(kwnames, b)) < 0;
  });
}

int add_keywords(Signature& s, const Statics& statics, PyObject* const* values, PyObject* kwnames) {
  SmallVector<Py_ssize_t, 16> order;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) order.push_back(k);
  sort_by_name(order, kwnames);
  for (Py_ssize_t k : order) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    s.words.push_back(tag_keyword);
    s.objects.push_back(name);
    if (is_static_name(statics, name)) {
      add_static(s, values[k]);
      continue;
    }
    int added = add_argument(s, values[k]);
    if (added != 1) return added;
  }
  return 1;
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

// 0 where something does not hash: the slow path explains that to the user. -1: error.
int finish(Signature& s) {
  uint64_t hash = s.words.size();
  for (uint64_t word : s.words) hash = mix(hash, word);
  for (PyObject* object : s.objects) {
    Py_hash_t part = PyObject_Hash(object);
    if (part == -1) return leave_to_slow_path();
    hash = mix(hash, uint64_t(part));
  }
  s.hash = hash;
  return 1;
}

}  // namespace

int build_signature(Signature& s, const Statics& statics, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                    uint64_t kind) {
  s.words.push_back(uint64_t(count));
  s.words.push_back(trace_state.serial);
  s.words.push_back(kind);
  s.epoch = trace_state.seen;
  for (Py_ssize_t k = 0; k < count; ++k) {
    if (!statics.argnums.empty() && is_static_position(statics, k, count)) {
      add_static(s, args[k]);
      continue;
    }
    int added = add_argument(s, args[k]);
    if (added != 1) return added;
  }
  if (kwnames) {
    int added = add_keywords(s, statics, args + count, kwnames);
    if (added != 1) return added;
  }
  return finish(s);
}

namespace {

template <class T> std::vector<Handle<T>> shared(T* const* begin, T* const* end) {
  std::vector<Handle<T>> handles;
  handles.reserve(size_t(end - begin));
  for (; begin != end; ++begin) handles.push_back(Handle<T>::share(*begin));
  return handles;
}

}  // namespace

struct SignatureCache::Item {
  std::vector<uint64_t> words;
  std::vector<PyRef> objects, pointees;
  std::vector<AvalRef> infos;
  PyRef entry;

  Item(const Signature& s, PyObject* new_entry)
      : words(s.words.begin(), s.words.end()),
        objects(shared(s.objects.begin(), s.objects.end())),
        pointees(shared(s.pointees.begin(), s.pointees.end())),
        infos(shared(s.infos.begin(), s.infos.end())),
        entry(PyRef::share(new_entry)) {}
};

namespace { constexpr size_t kMaxItems = 4096; }

bool SignatureCache::same_words(const Item& item, const Signature& s) {
  return item.words.size() == s.words.size() && item.objects.size() == s.objects.size() &&
         std::equal(s.words.begin(), s.words.end(), item.words.begin());
}

// Runs the objects' __eq__, which may do anything, to this cache too: the caller keeps the item alive.
int SignatureCache::same_objects(const Item& item, const Signature& s) {
  for (size_t k = 0; k < s.objects.size(); ++k) {
    int same = exact_equal(item.objects[k], s.objects[k]);
    if (same != 1) return same;
  }
  return 1;
}

int SignatureCache::find(const Signature& s, PyRef& entry) {
  auto [first, last] = items_.equal_range(s.hash);
  for (auto place = first; place != last; ++place) {  // mostly the first, by identity: without taking a count of it
    const Item& item = *place->second;
    if (!same_words(item, s) || !std::equal(s.objects.begin(), s.objects.end(), item.objects.begin())) continue;
    entry = item.entry;
    return 1;
  }
  std::shared_ptr<Item> found;
  const int status = find_item(s, found);
  if (status == 1) entry = found->entry;
  return status;
}

int SignatureCache::find_item(const Signature& s, std::shared_ptr<Item>& found) {
  auto [first, last] = items_.equal_range(s.hash);
  for (auto place = first; place != last; ++place) {
    if (!same_words(*place->second, s)) continue;
    const uint64_t version = version_;
    const std::shared_ptr<Item> alive = place->second;
    const int same = same_objects(*alive, s);
    if (same < 0) return -1;
    if (same == 1) {
      found = alive;
      return 1;
    }
    if (version != version_) return 0;  // the iterators are gone
  }
  return 0;
}

int SignatureCache::insert(const Signature& s, PyObject* entry) {
  PyRef present;
  int found = find(s, present);
  if (found != 0) return found < 0 ? -1 : 0;
  if (items_.size() >= kMaxItems) clear();
  ++version_;
  items_.emplace(s.hash, std::make_shared<Item>(s, entry));
  return 0;
}

int SignatureCache::assign(const Signature& s, PyObject* entry) {
  std::shared_ptr<Item> present;
  const int found = find_item(s, present);
  if (found < 0) return -1;
  if (found == 0) return insert(s, entry);
  const PyRef old = std::exchange(present->entry, PyRef::share(entry));  // which may run anything when it goes
  return 0;
}

size_t SignatureCache::count(PyTypeObject* type) const {
  return size_t(std::count_if(items_.begin(), items_.end(),
                              [type](const auto& item) { return Py_TYPE(item.second->entry.get()) == type; }));
}

void SignatureCache::clear() {
  // Dropping references runs Python code that may come back here.
  std::unordered_multimap<uint64_t, std::shared_ptr<Item>> old;
  old.swap(items_);
  ++version_;
}

int SignatureCache::traverse(visitproc visit, void* arg) const {
  for (const auto& [hash, item] : items_) {
    for (const PyRef& object : item->objects) Py_VISIT(object);
    for (const PyRef& object : item->pointees) Py_VISIT(object);
    Py_VISIT(item->entry);
  }
  return 0;
}

}  // namespace nj
