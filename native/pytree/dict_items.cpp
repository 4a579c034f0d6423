// Items of a dict in the order of its sorted keys.
//
// Most dicts that are flattened have string keys that were seen before, so a small cache maps the keys in their
// insertion order (compared by identity) to the sorted tuple of keys. It also makes treedefs share that tuple.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "pytree/node.h"

namespace nj::pytree {
namespace {

constexpr size_t kCacheSlots = 512;        // direct-mapped
constexpr Py_ssize_t kLongestCached = 512;  // keys

struct CachedOrder {
  PyRef inserted;                // tuple of keys in insertion order; null: unused
  PyRef sorted;                  // tuple of the same keys, sorted
  std::vector<uint32_t> order;  // sorted[i] is inserted[order[i]]; empty: they are the same
};

CachedOrder& slot_of(size_t hash) {
  // Never destroyed: at exit Python may be gone before static destructors run.
  static CachedOrder* cache = new CachedOrder[kCacheSlots];
  return cache[(hash >> 20) % kCacheSlots];
}

bool same_items(PyObject* a, PyObject* b) {
  Py_ssize_t n = PyTuple_GET_SIZE(a);
  if (n != PyTuple_GET_SIZE(b)) return false;
  return std::memcmp(&PyTuple_GET_ITEM(a, 0), &PyTuple_GET_ITEM(b, 0), n * sizeof(PyObject*)) == 0;
}

struct Snapshot {
  PyRef keys, values;      // tuples, in insertion order
  bool exact_strings = true;
  size_t hash = 0;       // of the keys' identities
};

// Runs no Python code, so the dict cannot change meanwhile.
bool take_snapshot(PyObject* dict, Snapshot& snapshot) {
  Py_ssize_t n = PyDict_GET_SIZE(dict);
  snapshot.keys = PyRef(PyTuple_New(n));
  snapshot.values = PyRef(PyTuple_New(n));
  if (!snapshot.keys || !snapshot.values) return false;
  // Making the tuples may have run the garbage collector and with it user code.
  if (PyDict_GET_SIZE(dict) != n) {
    PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was flattened as a pytree");
    return false;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  size_t hash = size_t(n);
  for (Py_ssize_t i = 0; PyDict_Next(dict, &position, &key, &value); ++i) {
    PyTuple_SET_ITEM(snapshot.keys.get(), i, Py_NewRef(key));
    PyTuple_SET_ITEM(snapshot.values.get(), i, Py_NewRef(value));
    snapshot.exact_strings &= bool(PyUnicode_CheckExact(key));
    hash = (hash ^ (reinterpret_cast<size_t>(key) >> 4)) * size_t(0x9E3779B97F4A7C15);
  }
  snapshot.hash = hash;
  return true;
}

void permute_into(PyObject* result, PyObject* tuple, const std::vector<uint32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    PyTuple_SET_ITEM(result, Py_ssize_t(i), Py_NewRef(PyTuple_GET_ITEM(tuple, order[i])));
  }
}

PyObject* permuted(PyObject* tuple, const std::vector<uint32_t>& order) {
  PyObject* result = PyTuple_New(Py_ssize_t(order.size()));
  if (result) permute_into(result, tuple, order);
  return result;
}

// Order of exact strings: by code points, as Python's `<`.
bool string_less(PyObject* a, PyObject* b) { return PyUnicode_Compare(a, b) < 0; }

std::vector<uint32_t> string_order(PyObject* keys) {
  auto key = [keys](size_t i) { return PyTuple_GET_ITEM(keys, Py_ssize_t(i)); };
  size_t n = size_t(PyTuple_GET_SIZE(keys));
  size_t ascending = 1;
  while (ascending < n && string_less(key(ascending - 1), key(ascending))) ++ascending;
  std::vector<uint32_t> order;
  if (ascending >= n) return order;
  order.resize(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return string_less(key(a), key(b)); });
  return order;
}

bool sort_strings(Snapshot& snapshot, PyRef& keys, PyRef& values) {
  std::vector<uint32_t> order = string_order(snapshot.keys.get());
  if (order.empty()) {
    keys = PyRef::share(snapshot.keys.get());
    values = std::move(snapshot.values);
  } else {
    keys = PyRef(permuted(snapshot.keys.get(), order));
    values = PyRef(permuted(snapshot.values.get(), order));
  }
  if (!keys || !values) return false;
  // Tuples of strings cannot take part in cycles.
  PyObject_GC_UnTrack(keys.get());
  if (PyTuple_GET_SIZE(keys.get()) > kLongestCached) return true;
  CachedOrder& slot = slot_of(snapshot.hash);
  CachedOrder fresh{std::move(snapshot.keys), PyRef::share(keys.get()), std::move(order)};
  std::swap(slot, fresh);  // what was there dies after the slot is whole again
  return true;
}

// The slot for these keys, or null. Any allocation may run the garbage collector, and with it code that replaces the
// slot: ask again after one.
const CachedOrder* find_cached(const Snapshot& snapshot) {
  const CachedOrder& slot = slot_of(snapshot.hash);
  return slot.inserted && same_items(slot.inserted.get(), snapshot.keys.get()) ? &slot : nullptr;
}

// 1 when the cache knew the keys, 0 when not, -1 with an error set.
int from_cache(Snapshot& snapshot, PyRef& keys, PyRef& values) {
  const CachedOrder* slot = find_cached(snapshot);
  if (!slot) return 0;
  if (slot->order.empty()) {
    keys = PyRef::share(slot->sorted.get());
    values = std::move(snapshot.values);
    return 1;
  }
  PyRef sorted_values(PyTuple_New(PyTuple_GET_SIZE(snapshot.keys.get())));
  if (!sorted_values) return -1;
  slot = find_cached(snapshot);
  if (!slot) return 0;
  permute_into(sorted_values.get(), snapshot.values.get(), slot->order);
  keys = PyRef::share(slot->sorted.get());
  values = std::move(sorted_values);
  return 1;
}

bool raise_unsortable(PyObject* keys) {
  raise_from_current(PyExc_ValueError,
                     "Comparator raised exception while sorting pytree dictionary keys: cannot flatten a dict whose keys "
                     "cannot be sorted. A pytree orders a dict by its keys, which must be comparable with `<`, but got "
                     "keys %.200R. Use keys of one type, or an OrderedDict, which keeps its own order.",
                     keys);
  return false;
}

// Keys of any type: sorted by Python's `<`, which may run user code; works on the snapshot alone.
bool sort_objects(Snapshot& snapshot, PyRef& keys, PyRef& values) {
  PyRef list(PySequence_List(snapshot.keys.get()));
  if (!list) return false;
  if (PyList_Sort(list.get()) < 0) {
    return PyErr_ExceptionMatches(PyExc_Exception) ? raise_unsortable(snapshot.keys.get()) : false;
  }
  keys = PyRef(PyList_AsTuple(list.get()));
  PyRef lookup(PyDict_New());
  if (!keys || !lookup) return false;
  Py_ssize_t n = PyTuple_GET_SIZE(keys.get());
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* key = PyTuple_GET_ITEM(snapshot.keys.get(), i);
    if (PyDict_SetItem(lookup.get(), key, PyTuple_GET_ITEM(snapshot.values.get(), i)) < 0) return false;
  }
  values = PyRef(PyTuple_New(n));
  if (!values) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* value = PyDict_GetItemWithError(lookup.get(), PyTuple_GET_ITEM(keys.get(), i));
    if (!value) {
      if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, PyTuple_GET_ITEM(keys.get(), i));
      return false;
    }
    PyTuple_SET_ITEM(values.get(), i, Py_NewRef(value));
  }
  return true;
}

}  // namespace

bool sorted_items(PyObject* dict, PyRef& keys, PyRef& values) {
  Snapshot snapshot;
  if (!take_snapshot(dict, snapshot)) return false;
  if (!snapshot.exact_strings) return sort_objects(snapshot, keys, values);
  int known = from_cache(snapshot, keys, values);
  return known < 0 ? false : known > 0 || sort_strings(snapshot, keys, values);
}

}  // namespace nj::pytree
