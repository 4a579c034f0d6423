// What of a call decides which compiled program serves it.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "array/array.h"
#include "runtime/memory/small_vector.h"

namespace nj {

// Which arguments of a jitted function are static.
struct Statics {
  std::vector<Py_ssize_t> argnums;   // negative ones count from the end
  std::vector<PyRef> argnames;       // interned
};

// The words begin with the number of positional arguments, the number of the configuration, and the kind of the call.
constexpr size_t kSerialWord = 1;

// Built for one call; the words hold addresses of things that the call's arguments keep alive.
struct Signature {
  SmallVector<uint64_t, 64> words;
  SmallVector<PyObject*, 8> objects;  // treedefs, static values, keyword names: compared exactly
  SmallVector<PyObject*, 32> leaves;  // the dynamic leaves, in the order of tree_flatten((args, kwargs))
  SmallVector<AvalInfo*, 32> infos;   // of the leaves that are Arrays
  SmallVector<PyObject*, 32> pointees;  // devices and the like whose addresses are among the words
  std::vector<PyRef> owned;           // what only the signature keeps alive
  uint64_t hash = 0;
  uint64_t epoch = 0;                 // of the configuration that is among the words
  bool committed = false;

  Signature() = default;
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;
};

// 1: built. 0: the call is one for the slow path. -1: error. kind: what tells calls apart beside their arguments.
int build_signature(Signature& signature, const Statics& statics, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                    uint64_t kind = 0);

// From signatures to entries.
class SignatureCache {
 public:
  ~SignatureCache() { clear(); }
  // 1: found, in `entry`. 0: not found. -1: comparing raised.
  int find(const Signature& signature, PyRef& entry);
  int insert(const Signature& signature, PyObject* entry);
  // As insert, in place of an entry that is there: 0, or -1.
  int assign(const Signature& signature, PyObject* entry);
  void clear();
  size_t size() const { return items_.size(); }
  // How many entries are of a type.
  size_t count(PyTypeObject* type) const;
  int traverse(visitproc visit, void* arg) const;

 private:
  struct Item;
  static bool same_words(const Item& item, const Signature& signature);
  static int same_objects(const Item& item, const Signature& signature);
  int find_item(const Signature& signature, std::shared_ptr<Item>& found);
  std::unordered_multimap<uint64_t, std::shared_ptr<Item>> items_;
  uint64_t version_ = 0;  // changes with the items
};

}  // namespace nj
