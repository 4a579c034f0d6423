// Pytrees for the rest of the native core: flatten nested containers to leaves and a treedef, and back.
#pragma once
#include <vector>

#include "runtime/python/native.h"

// Appends the leaves of `tree` and gives its treedef; null with a Python error set: some leaves may have been appended.
nj::PyRef pytree_flatten_leaves(PyObject* tree, std::vector<nj::PyRef>& leaves);

// The tree of shape `treedef` over `n` leaves; null with a Python error set.
PyObject* pytree_unflatten(PyObject* treedef, const nj::PyRef* leaves, Py_ssize_t n);

bool pytree_is_treedef(PyObject* object);
Py_ssize_t pytree_num_leaves(PyObject* treedef);

// Hash and equality of treedefs, for native hash maps. -1: a Python error is set.
Py_hash_t pytree_hash(PyObject* treedef);
int pytree_equal(PyObject* a, PyObject* b);

// What the nodes hold besides their children (keys, classes, metadata), as a tuple: a new reference.
PyObject* pytree_data(PyObject* treedef);
