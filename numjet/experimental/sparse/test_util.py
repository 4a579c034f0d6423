"""Helpers for tests with sparse arrays: random ones, layouts, and a test case that compares."""
from __future__ import annotations

import itertools
import unittest
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import jvp, vjp
from numjet.api.jit import jit
from numjet.api.vmap import vmap
from numjet.experimental.sparse.api import todense
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo import BCOO
from numjet.experimental.sparse.bcsr import BCSR
from numjet.foundation import dtypes, tree

MATMUL_TOL = {np.float32: 1e-5, np.float64: 1e-10, np.complex64: 1e-5, np.complex128: 1e-10}
_TOLERANCE = {np.dtype(name): eps for name, eps in (("float16", 1e-3), ("float32", 1e-6), ("float64", 1e-15),
                                                    ("complex64", 1e-6), ("complex128", 1e-15))}


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse array."""
    return isinstance(x, JAXSparse)


class SparseLayout(NamedTuple):
    """Numbers of axes by kind."""
    n_batch: int
    n_dense: int
    n_sparse: int


def iter_subsets(s: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """All subsets of a sequence as tuples, smaller ones first.

    >>> list(iter_subsets((2, 3)))
    [(), (2,), (3,), (2, 3)]
    """
    for count in range(len(s) + 1):
        yield from itertools.combinations(s, count)


def iter_sparse_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """All layouts of BCOO arrays of a shape.

    >>> len(list(iter_sparse_layouts((2, 3))))
    6
    """
    for n_batch in range(min_n_batch, len(shape) + 1):
        for n_dense in range(len(shape) + 1 - n_batch):
            yield SparseLayout(n_batch, n_dense, len(shape) - n_batch - n_dense)


def iter_bcsr_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """All layouts of BCSR arrays of a shape.

    >>> list(iter_bcsr_layouts((2, 3)))
    [SparseLayout(n_batch=0, n_dense=0, n_sparse=2)]
    """
    yield from (layout for layout in iter_sparse_layouts(shape, min_n_batch) if layout.n_sparse == 2)


def _normal(rng: np.random.RandomState) -> Callable[..., np.ndarray]:
    def draw(shape: Sequence[int], dtype: Any) -> np.ndarray:
        values = 3 * rng.randn(*shape)
        if np.dtype(dtype).kind == "c":
            values = values + 3j * rng.randn(*shape)
        return np.asarray(values).astype(dtype)
    return draw


def rand_sparse(rng: np.random.RandomState, nse: float = 0.5, post: Callable[[Any], Any] = lambda x: x,
                rand_method: Callable[..., Any] = _normal) -> Callable[..., Any]:
    """A function of shape and dtype that gives post(a random NumPy array most of whose elements are zero).

    nse: the number of nonzero elements; below 1, a part of all.

    >>> rand_sparse(np.random.RandomState(0), nse=2)((2, 3), "float32").astype(bool).sum()
    np.int64(2)
    """
    def draw(shape: Sequence[int], dtype: Any, nse: float = nse) -> Any:
        if rand_method is not _normal:
            values = np.asarray(rand_method(rng)(shape, dtype)).ravel()
        else:
            values = _normal(rng)(shape, dtype).ravel()
            values = np.where(values == 0, np.ones((), values.dtype), values)
        count = int(nse * values.size) if 0 <= nse < 1 else int(nse)
        values[rng.permutation(values.size)[count:]] = 0
        return post(values.reshape(shape))
    return draw


def rand_bcoo(rng: np.random.RandomState, n_batch: int = 0, n_dense: int = 0, nse: float = 0.5, **kwds: Any
              ) -> Callable[..., BCOO]:
    """As rand_sparse, of BCOO arrays.

    >>> rand_bcoo(np.random.RandomState(0), nse=2)((2, 3), "float32")
    BCOO(float32[2, 3], nse=2)
    """
    return rand_sparse(rng, nse=nse, post=lambda x: BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense), **kwds)


def rand_bcsr(rng: np.random.RandomState, n_batch: int = 0, n_dense: int = 0, nse: float = 0.5, **kwds: Any
              ) -> Callable[..., BCSR]:
    """As rand_sparse, of BCSR arrays.

    >>> rand_bcsr(np.random.RandomState(0), nse=2)((2, 3), "float32")
    BCSR(float32[2, 3], nse=2)
    """
    return rand_sparse(rng, nse=nse, post=lambda x: BCSR.fromdense(x, n_batch=n_batch, n_dense=n_dense), **kwds)


class SparseTestCase(unittest.TestCase):
    """A test case that compares arrays, dense and sparse. Where a test is an iterable of functions, as tests with
    parameters are
    in absl, each of them is a test."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, tests in list(vars(cls).items()):
            if name.startswith("test") and isinstance(tests, Iterable):
                delattr(cls, name)
                for n, test in enumerate(tests):
                    own = getattr(test, "__name__", name)
                    setattr(cls, own if own not in (name, "") and own.startswith(name) else f"{name}{n}", test)

    def rng(self) -> np.random.RandomState:
        """Random numbers that depend on the name of the test only."""
        if not hasattr(self, "_rng"):
            self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        return self._rng

    def assertArraysEqual(self, actual: Any, desired: Any, *, check_dtypes: bool = True, err_msg: str = "") -> None:
        if check_dtypes:
            self._same_dtypes(actual, desired)
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(desired), err_msg=err_msg)

    def assertArraysAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                             err_msg: str = "") -> None:
        if check_dtypes:
            self._same_dtypes(actual, desired)
        self.assertEqual(np.shape(actual), np.shape(desired))
        np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), atol=_tolerance(atol, actual, desired),
                                   rtol=_tolerance(rtol, actual, desired), err_msg=err_msg)

    def assertAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                       err_msg: str = "") -> None:
        a, structure = tree.tree_flatten(actual)
        b, other = tree.tree_flatten(desired)
        self.assertEqual(structure, other)
        for x, y in zip(a, b, strict=True):
            self.assertArraysAllClose(x, y, check_dtypes=check_dtypes, atol=atol, rtol=rtol, err_msg=err_msg)

    def assertSparseArraysEquivalent(self, x: Any, y: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                                     err_msg: str = "") -> None:
        """Both are sparse arrays of one kind, or both dense, with the same elements."""
        self.assertEqual(type(x) if is_sparse(x) else None, type(y) if is_sparse(y) else None)
        self.assertAllClose(todense(x), todense(y), check_dtypes=check_dtypes, atol=atol, rtol=rtol, err_msg=err_msg)

    def _same_dtypes(self, x: Any, y: Any) -> None:
        self.assertEqual(*(dtypes.canonicalize_dtype(np.result_type(v)) if not hasattr(v, "dtype")
                           else dtypes.canonicalize_dtype(v.dtype) for v in (x, y)))

    def _CompileAndCheck(self, fun: Callable[..., Any], args_maker: Callable[[], Sequence[Any]], *, check_dtypes: bool = True,
                         atol: Any = None, rtol: Any = None, tol: Any = None, check_cache_misses: bool = True) -> None:
        args = args_maker()
        self.assertAllClose(jit(fun)(*args), fun(*args), check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)

    def _CheckAgainstDense(self, dense_op: Callable[..., Any], sparse_op: Callable[..., Any],
                           args_maker: Callable[[], Sequence[Any]], check_jit: bool = True, check_dtypes: bool = True,
                           tol: Any = None, atol: Any = None, rtol: Any = None) -> None:
        """sparse_op gives for sparse arguments what dense_op gives for dense ones."""
        args = args_maker()
        expected = dense_op(*map(todense, args))
        for op in (sparse_op, jit(sparse_op)) if check_jit else (sparse_op,):
            found = tree.tree_map(todense, op(*args), is_leaf=is_sparse)
            self.assertAllClose(found, expected, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)

    def _CheckGradsSparse(self, dense_fun: Callable[..., Any], sparse_fun: Callable[..., Any],
                          args_maker: Callable[[], Sequence[Any]], *, argnums: Any = None, modes: Any = ("fwd", "rev"),
                          atol: Any = None, rtol: Any = None) -> None:
        """The derivatives of sparse_fun by the data of its arguments are those of a dense function of them."""
        args = args_maker()
        nums = range(len(args)) if argnums is None else (argnums,) if isinstance(argnums, int) else argnums
        data = [args[n].data if is_sparse(args[n]) else jnp.asarray(args[n]) for n in nums]

        def given(values: Sequence[Any], dense: bool) -> list[Any]:
            out = list(args)
            for n, v in zip(nums, values, strict=True):
                x = args[n]
                out[n] = type(x).tree_unflatten(x.tree_flatten()[1], (v, *x._bufs[1:])) if is_sparse(x) else v
            return [todense(x) for x in out] if dense else out

        f_dense = lambda *values: dense_fun(*given(values, True))
        f_sparse = lambda *values: todense(sparse_fun(*given(values, False)))
        if "fwd" in modes:
            tangents = [jnp.ones_like(d) for d in data]
            self.assertAllClose(jvp(f_sparse, data, tangents), jvp(f_dense, data, tangents), atol=atol, rtol=rtol)
        if "rev" in modes:
            (out, pull), (_, pull_dense) = vjp(f_sparse, *data), vjp(f_dense, *data)
            self.assertAllClose(pull(out), pull_dense(out), atol=atol, rtol=rtol)

    def _CheckBatchingSparse(self, dense_fun: Callable[..., Any], sparse_fun: Callable[..., Any],
                             args_maker: Callable[[], Sequence[Any]], *, batch_size: int = 3, check_jit: bool = False,
                             check_dtypes: bool = True, tol: Any = None, atol: Any = None, rtol: Any = None,
                             bdims: Any = None) -> None:
        """Over a batch of dense arguments, sparse_fun gives what dense_fun gives."""
        args = [x if is_sparse(x) else jnp.stack([jnp.asarray(x) * (k + 1) for k in range(batch_size)]) for x in args_maker()]
        axes = tuple(None if is_sparse(x) else 0 for x in args)
        self.assertTrue(any(a == 0 for a in axes) or not args, "no argument is dense")
        dense = vmap(lambda *xs: dense_fun(*map(todense, xs)), axes)(*args)
        found = vmap(lambda *xs: todense(sparse_fun(*xs)), axes)(*args)
        self.assertAllClose(found, dense, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)


def _tolerance(given: Any, *values: Any) -> float:
    """The tolerance for the least precise of these values."""
    table = _TOLERANCE if given is None else {np.dtype(k): v for k, v in given.items()} if isinstance(given, dict) else None
    if table is None:
        return float(given)
    kinds = [np.dtype(dtypes.canonicalize_dtype(np.asarray(v).dtype)) for v in values]
    return max(table.get(kind, 0.0) for kind in kinds)
