// Running an entry: convert leaves, forward inputs, execute, unflatten.
#include "dispatch/call/entry.h"

#include "array/from_python.h"
#include "pytree/pytree.h"
#include "runtime/python/sequence.h"

namespace nj {

namespace {

using Objects = SmallVector<PyRef, 16>;

// The leaves of one call as arrays: converted when first asked for.
class LeafArrays {
 public:
  LeafArrays(Entry* entry, const Signature& signature) : entry_(entry), signature_(signature) {}

  // Borrowed; null with an error set.
  Array* get(uint32_t leaf) {
    PyObject* object = signature_.leaves[leaf];
    if (is_array(object)) return reinterpret_cast<Array*>(object);
    while (converted_.size() < signature_.leaves.size()) converted_.push_back(ArrayRef());
    ArrayRef& array = converted_[leaf];
    if (!array) array = array_from_leaf(object, entry_->plan->infos[leaf], entry_->device);
    if (!array && PyErr_ExceptionMatches(PyExc_OverflowError)) refused_ = true;
    return array;
  }

  // Whether a number was too large for the type of its leaf.
  bool refused() const { return refused_; }

 private:
  bool refused_ = false;
  Entry* entry_;
  const Signature& signature_;
  SmallVector<ArrayRef, 16> converted_;
};

// Results get handles of their own, so that deleting a result never deletes an argument or a constant.
PyRef own_handle(Array* array, AvalInfo* info) { return as(array_share(array, info, array->device, array->committed)); }

int collect_inputs(const EntryPlan* plan, LeafArrays& leaves, SmallVector<Array*, 16>& ins) {
  for (uint32_t leaf : plan->kept) {
    const size_t count = plan->infos.size();
    Array* array = leaf < count ? leaves.get(leaf) : plan->fixed[leaf - count].get();
    if (!array) return -1;
    ins.push_back(array);
  }
  return 0;
}

// Fills in the results that need no execution; outputs stay null.
int collect_forwarded(const EntryPlan* plan, LeafArrays& leaves, Objects& results) {
  for (const OutLeaf& leaf : plan->out) {
    PyRef result;
    if (leaf.source == Source::Input) {
      Array* array = leaves.get(leaf.index);
      if (array) result = own_handle(array, plan->infos[leaf.index]);
      if (!result) return -1;
    } else if (leaf.source == Source::Constant) {
      auto* array = reinterpret_cast<Array*>(leaf.constant.get());
      result = is_array(leaf.constant) ? own_handle(array, array->info) : leaf.constant;
      if (!result) return -1;
    }
    results.push_back(std::move(result));
  }
  return 0;
}

// Calls an executable of another machine: foreign(arrays, donated, committed) -> list of arrays.
int run_foreign(Entry* entry, const Signature& signature, const SmallVector<Array*, 16>& ins, Objects& outputs) {
  PyRef arrays(new_list(ins.size(), [&ins](size_t k) { return Py_NewRef(reinterpret_cast<PyObject*>(ins[k])); }));
  const std::vector<char>& flags = entry->plan->donated;
  PyRef donated(new_list(ins.size(), [&flags](size_t k) { return PyBool_FromLong(flags[k]); }));
  if (!arrays || !donated) return -1;
  PyObject* arguments[] = {arrays.get(), donated.get(), signature.committed ? Py_True : Py_False};
  PyRef results(PyObject_Vectorcall(entry->foreign, arguments, 3, nullptr));
  if (!results) return -1;
  if (!PyList_Check(results.get()) || size_t(PyList_GET_SIZE(results.get())) != entry->plan->num_outputs) {
    PyErr_Format(PyExc_TypeError, "an executable gave %R for %zu outputs", results.get(), entry->plan->num_outputs);
    return -1;
  }
  for (size_t k = 0; k < entry->plan->num_outputs; ++k) {
    PyObject* result = PyList_GET_ITEM(results.get(), Py_ssize_t(k));
    if (!is_array(result)) {
      PyErr_Format(PyExc_TypeError, "an executable gave %R for output %zu, which is no array", result, k);
      return -1;
    }
    outputs[k] = PyRef::share(result);
  }
  return 0;
}

int run_executable(Entry* entry, const Signature& signature, LeafArrays& leaves, Objects& outputs) {
  for (size_t k = 0; k < entry->plan->num_outputs; ++k) outputs.push_back(PyRef());
  if (!entry->executable && !entry->foreign) return 0;
  SmallVector<Array*, 16> ins;
  if (collect_inputs(entry->plan.get(), leaves, ins) < 0) return -1;
  if (entry->foreign) return run_foreign(entry, signature, ins, outputs);
  const char* donated = entry->plan->any_donated ? entry->plan->donated.data() : nullptr;
  return execute(entry->executable, ins.begin(), donated, signature.committed, outputs.begin());
}

// Puts the outputs where the plan wants them; one used twice gets a second handle.
int place_outputs(const EntryPlan* plan, Objects& outputs, Objects& results) {
  SmallVector<PyObject*, 16> first;
  for (size_t k = 0; k < plan->num_outputs; ++k) first.push_back(nullptr);
  for (size_t k = 0; k < plan->out.size(); ++k) {
    if (plan->out[k].source != Source::Output) continue;
    uint32_t index = plan->out[k].index;
    if (!first[index]) {
      first[index] = outputs[index];
      results[k] = std::move(outputs[index]);
      continue;
    }
    auto* array = reinterpret_cast<Array*>(first[index]);
    results[k] = own_handle(array, array->info);
    if (!results[k]) return -1;
  }
  return 0;
}

PyObject* unflatten(Entry* entry, Objects& results) {
  size_t count = results.size();
  if (entry->plan->structure == Structure::Tree) return pytree_unflatten(entry->treedef, results.begin(), Py_ssize_t(count));
  if (entry->plan->structure == Structure::Leaf) return Py_NewRef(results[0]);
  return new_tuple(count, [&](size_t k) { return results[k].release(); });
}

}  // namespace

PyObject* run_entry(Entry* entry, const Signature& signature, bool& refused) {
  const Handle<Entry> alive = Handle<Entry>::share(entry);
  LeafArrays leaves(entry, signature);
  Objects results, outputs;
  // Forwarded inputs first: execution may delete donated ones.
  const bool ran = collect_forwarded(entry->plan.get(), leaves, results) == 0 &&
                   run_executable(entry, signature, leaves, outputs) == 0;
  refused = leaves.refused();
  if (!ran || place_outputs(entry->plan.get(), outputs, results) < 0) return nullptr;
  return unflatten(entry, results);
}

int check_entry(const Entry* entry, const Signature& signature) {
  const EntryPlan* plan = entry->plan.get();
  if (plan->infos.size() != signature.leaves.size()) {
    PyErr_Format(PyExc_TypeError, "Entry: in_avals has %zu avals for a call with %zu dynamic leaves", plan->infos.size(),
                 signature.leaves.size());
    return -1;
  }
  for (size_t k = 0; k < plan->infos.size(); ++k) {
    if (!is_array(signature.leaves[k])) continue;
    const AvalInfo* got = reinterpret_cast<Array*>(signature.leaves[k])->info;
    if (same_layout(got, plan->infos[k])) continue;
    PyErr_Format(PyExc_TypeError, "Entry: in_avals[%zu] is %s for an argument of %s", k, describe(plan->infos[k]).c_str(),
                 describe(got).c_str());
    return -1;
  }
  return 0;
}

}  // namespace nj
