// Pytrees for the rest of the native core: flatten nested containers to leaves and a treedef, and back.
#pragma once
#include <vector>

#include "runtime/python/native.h"

// Appends the leaves of `tree` (new references) and gives its treedef (a new reference).
// False, or std::bad_alloc: some leaves may have been appended, which the caller owns. False: a Python error is set.
bool pytree_flatten_leaves(PyObject* tree, std::vector<PyObject*>& leaves_new_refs, PyObject** treedef_new_ref);

// The tree of shape `treedef` over `n` borrowed leaves; null with a Python error set.
PyObject* pytree_unflatten(PyObject* treedef, PyObject** leaves, Py_ssize_t n);

bool pytree_is_treedef(PyObject* object);
Py_ssize_t pytree_num_leaves(PyObject* treedef);

// Hash and equality of treedefs, for native hash maps. -1: a Python error is set.
Py_hash_t pytree_hash(PyObject* treedef);
int pytree_equal(PyObject* a, PyObject* b);

// What the nodes hold besides their children (keys, classes, metadata), as a tuple: a new reference.
PyObject* pytree_data(PyObject* treedef);
