// Entry: how a jit cache hit runs a compiled program and puts its results together.
#pragma once
#include <memory>
#include <vector>

#include "dispatch/execution/execute.h"
#include "dispatch/call/signature.h"

namespace nj {

enum class Source : uint8_t { Output, Input, Constant };
enum class Structure : uint8_t { Leaf, FlatTuple, Tree };

struct OutLeaf {
  Source source;
  uint32_t index;  // of the executable's output or of the input leaf
  PyRef constant;  // null unless Constant
};

struct EntryPlan {
  std::vector<uint32_t> kept;    // leaf index of each of the executable's inputs; behind the leaves those of `fixed`
  std::vector<ArrayRef> fixed;   // inputs that are the same in all calls
  std::vector<char> donated;     // per executable input
  bool any_donated = false;
  std::vector<AvalRef> infos;    // per leaf
  std::vector<OutLeaf> out;
  Structure structure = Structure::Tree;
  size_t num_outputs = 0;        // of the executable
};

struct Entry {
  PyObject_HEAD
  std::unique_ptr<EntryPlan> plan;
  Handle<Executable> executable;  // null when nothing has to be computed, or by `foreign`
  PyRef foreign;  // an executable of another machine: foreign(arrays, donated, committed) -> list of arrays; may be null
  PyRef treedef;  // null for a single leaf
  PyRef device;
};

extern PyTypeObject* entry_type;

// The result of a call with that signature: a new reference, or null with an error set. refused: nothing ran, as a Python
// number is too large for its type; the error does not say which argument it is.
PyObject* run_entry(Entry* entry, const Signature& signature, bool& refused);
// 0 when calls with that signature may run the entry, else -1 with TypeError set.
int check_entry(const Entry* entry, const Signature& signature);

}  // namespace nj
