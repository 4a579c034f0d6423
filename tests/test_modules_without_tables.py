"""Modules whose functions take functions, trees, matrices in parts or other libraries' arrays: files test these one by one.

What those files leave out is here: arrays of every kind in trees and to other libraries, dtypes and sizes of systems.
"""
from __future__ import annotations

import dataclasses
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import dlpack, tree
from numjet.experimental import rnn, sparse
from numjet.foundation.config import enable_x64
from tests.operands import KINDS, Elsewhere, check_complete, wide

_TREES = "functions of pytrees"
_HERE = "test_modules_without_tables.py"
_PUBLIC = {  # modules without __all__
    "experimental.rnn": "get_num_params_in_lstm init_lstm_weight lstm lstm_ref swap_lstm_gates unpack_lstm_weights",
    "experimental.sparse.linalg": "lobpcg_standard spsolve"}
MODULES: dict[str, dict[str, Elsewhere]] = {
    "tree": {
        **dict.fromkeys("all flatten flatten_with_path leaves leaves_with_path map map_with_path reduce reduce_associative "
                        "structure transpose unflatten".split(), Elsewhere("foundation/test_tree.py", _TREES)),
        "broadcast": Elsewhere("foundation/test_tree_prefix.py", _TREES), "static": Elsewhere(_HERE, "a field of a dataclass")},
    "dlpack": {"from_dlpack": Elsewhere(_HERE, "arrays of other libraries"),
               "is_supported_dtype": Elsewhere("numpy/core/test_from_files.py", "of dtypes")},
    "experimental.jet": dict.fromkeys(("fact", "jet"), Elsewhere("experimental/test_jet.py", "it takes functions")),
    "experimental.ode": {"odeint": Elsewhere("experimental/test_ode.py", "it takes a function")},
    "experimental.rnn": {
        **dict.fromkeys(("init_lstm_weight", "lstm", "swap_lstm_gates", "unpack_lstm_weights"),
                        Elsewhere("experimental/test_rnn.py", "weights of shapes that go together")),
        **dict.fromkeys(("get_num_params_in_lstm", "lstm_ref"), Elsewhere(_HERE, "weights of shapes that go together"))},
    "experimental.sparse.linalg": dict.fromkeys(("lobpcg_standard", "spsolve"), Elsewhere(_HERE, "matrices in parts"))}


@pytest.mark.parametrize("name", MODULES)
def test_every_function_is_tested(name):
    module = importlib.import_module(f"numjet.{name}")
    if name in _PUBLIC:
        own = {n for n, f in vars(module).items() if not n.startswith("_") and not isinstance(f, type) and callable(f)
               and getattr(f, "__module__", "") == module.__name__ and not n.endswith("_p")}
        assert own <= {*_PUBLIC[name].split()}
        module = SimpleNamespace(**{n: getattr(module, n) for n in _PUBLIC[name].split()})
    check_complete(module, {}, MODULES[name])


EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@EVERY_KIND
def test_trees_of_arrays(kind):
    with wide(KINDS[kind]):
        x = jnp.asarray(KINDS[kind])
        nodes = {"a": [x, None], "b": (x[None],)}
        same = lambda p, q: p.shape == q.shape and p.dtype == q.dtype and np.array_equal(p, q, equal_nan=p.dtype.kind in "fc")
        assert tree.all(tree.map(same, nodes, tree.unflatten(tree.structure(nodes), tree.leaves(nodes))))
        assert tree.all(tree.map(same, nodes, nj.jit(lambda t: tree.map(lambda v: v, t))(nodes)))
        twice = tree.map(lambda v: jnp.stack([v, v]), nodes)
        rows = nj.vmap(lambda t: tree.reduce(lambda p, q: p + q.reshape(p.shape), t))(twice)
        assert rows.shape == (2, *x.shape)
        turned = tree.transpose(tree.structure(nodes), tree.structure([0, 0]), tree.map(lambda v: [v, v], nodes))
        assert len(turned) == 2 and tree.all(tree.map(same, turned[1], nodes))
        paths = [[path for path, _ in found] for found in (tree.leaves_with_path(nodes), tree.flatten_with_path(nodes)[0])]
        assert paths[0] == paths[1] and len(paths[0]) == 2


def test_slopes_of_trees():
    product = lambda t: tree.reduce_associative(lambda p, q: p * q, tree.map(jnp.sum, t))
    slopes = nj.grad(product)({"a": 2.0, "b": jnp.array([3.0, 1])})
    assert slopes["a"] == 4 and slopes["b"].tolist() == [2, 2]


def test_static_fields_are_no_leaves():
    @tree_node
    class Scaled:
        value: object
        unit: str = tree.static(default="mV")
    assert tree.leaves(Scaled(1.0)) == [1.0]
    assert nj.jit(lambda s: tree.map(lambda v: v + 1, s))(Scaled(1.0, "V")).unit == "V"


def tree_node(cls):
    return nj.tree_util.register_dataclass(dataclasses.dataclass(cls))


@EVERY_KIND
def test_arrays_to_and_from_other_libraries(kind):
    with wide(KINDS[kind]):
        x = jnp.asarray(KINDS[kind])
        assert dlpack.is_supported_dtype(x.dtype)
        back = dlpack.from_dlpack(x)
        assert (back.dtype, back.shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(back, x)
        if kind != "bfloat16":  # NumPy has none
            np.testing.assert_array_equal(np.from_dlpack(x), KINDS[kind])
            lent = KINDS[kind].copy(order="K")  # which may be written: arrays that may not be are not lent
            np.testing.assert_array_equal(dlpack.from_dlpack(lent), KINDS[kind])


# ------------------------------------------------------------------------------------------------ sparse systems

@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_systems_of_every_dtype(dtype):
    a = np.array([[4, 1, 0], [0, 3, 1], [1, 0, 2]]) + (1j * np.eye(3) if "complex" in dtype else 0)
    with enable_x64():
        m, b = sparse.CSR.fromdense(jnp.asarray(a, dtype)), jnp.asarray([1, 2, 3], dtype)
        solve = lambda data, b: sparse.linalg.spsolve(data, m.indices, m.indptr, b)
        want, tolerance = np.linalg.solve(a, [1, 2, 3]), 8 * float(jnp.finfo(dtype).eps)
        for found in (solve(m.data, b), nj.jit(solve)(m.data, b), nj.vmap(solve, (None, 0))(m.data, b[None])[0]):
            assert found.dtype == b.dtype
            np.testing.assert_allclose(np.asarray(found).astype(want.dtype), want, rtol=tolerance, atol=tolerance)
        with pytest.raises(ValueError, match="data types do not match"):
            solve(m.data, jnp.ones(3, "float32" if dtype != "float32" else "float64"))
        with pytest.raises(TypeError, match="inexact"):
            sparse.linalg.spsolve(np.ones(1, int), np.zeros(1, np.int32), np.array([0, 1], np.int32), np.ones(1, int))


def test_systems_of_one_and_of_no_equation():
    for n in (0, 1):
        found = sparse.linalg.spsolve(np.full(n, 4.0), np.zeros(n, np.int32), np.arange(n + 1, dtype=np.int32), np.full(n, 2.0))
        assert found.tolist() == [0.5] * n


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_eigenvalues_of_every_dtype(dtype):
    with enable_x64():
        a, start = jnp.asarray(np.diag(np.arange(1.0, 21)), dtype), jnp.asarray(np.eye(20)[:, :2] + 0.1, dtype)
        largest = nj.jit(lambda a: sparse.linalg.lobpcg_standard(a, start)[0])
        assert largest(a).dtype == jnp.finfo(dtype).dtype
        np.testing.assert_allclose(largest(a), [20, 19], rtol=1e-4)
        np.testing.assert_allclose(nj.vmap(largest)(jnp.stack([a, 2 * a])), [[20, 19], [40, 38]], rtol=1e-4)
        for refused, error in (("float16", NotImplementedError), ("int32", ValueError)):
            with pytest.raises(error):
                sparse.linalg.lobpcg_standard(a.real.astype(refused), start.real.astype(refused))


# ------------------------------------------------------------------------------------------------ recurrent networks

@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_recurrent_networks_of_every_dtype(dtype):
    rng = np.random.default_rng(0)
    with enable_x64():
        make = lambda *shape: jnp.asarray(rng.standard_normal(shape) / 2, dtype)
        assert rnn.get_num_params_in_lstm(3, 2, 2, True) == 240
        x, state, weights = make(2, 4, 3), make(1, 2, 2), make(rnn.get_num_params_in_lstm(3, 2, 1, False))
        rest = (jnp.array([4, 3], jnp.int32), 3, 2, 1, 0.0, False)
        found = rnn.lstm(x, state, state, weights, *rest)
        parts = rnn.lstm_ref(x, state, state, *rnn.unpack_lstm_weights(weights, 3, 2, 1, False), *rest)
        exact = rnn.lstm(*(a.astype("float64") for a in (x, state, state, weights)), *rest)
        for got, part, want in zip(found, parts, exact, strict=True):
            assert got.dtype == part.dtype == dtype
            tolerance = 16 * float(jnp.finfo(dtype).eps)
            np.testing.assert_allclose(np.asarray(got, "float64"), want, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(np.asarray(part, "float64"), want, rtol=tolerance, atol=tolerance)
