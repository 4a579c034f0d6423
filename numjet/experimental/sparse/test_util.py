"""Helpers for tests with sparse arrays: random ones, layouts, and a test case that compares."""
from __future__ import annotations

import itertools
import math
import unittest
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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
from numjet.experimental.sparse.util import split_shape
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


def _rand_stored(rng: np.random.RandomState, kind: Callable[[BCOO], Any], **defaults: Any) -> Callable[..., Any]:
    """A function of shape and dtype, and of layout by keyword, that gives kind(a random BCOO array). All arrays of a layout
    store equally many elements, so that they can be stacked to a batch."""
    def draw(shape: Sequence[int], dtype: Any, *, rng: np.random.RandomState = rng, rand_method: Callable[..., Any] = _normal,
             nse: float = 0.5, n_batch: int = 0, n_dense: int = 0) -> Any:
        batch, sparse, dense = split_shape(tuple(shape), n_batch, n_dense)
        places = math.prod(sparse)
        count = math.ceil(nse * places) if 0 <= nse < 1 else int(nse)
        rows = [np.sort(rng.choice(places, count, replace=False)) for _ in range(math.prod(batch))]
        position = np.array(rows, np.int32).reshape(*batch, count)
        columns = np.unravel_index(position, sparse) if sparse else ()
        indices = np.stack(columns, -1).astype(np.int32) if columns else np.zeros((*position.shape, 0), np.int32)
        data = np.asarray(rand_method(rng)((*batch, count, *dense), dtype))
        return kind(BCOO((data, indices), shape=tuple(shape), indices_sorted=True, unique_indices=True))
    return partial(draw, **defaults)


def rand_bcoo(rng: np.random.RandomState, rand_method: Callable[..., Any] = _normal, nse: float = 0.5, n_batch: int = 0,
              n_dense: int = 0) -> Callable[..., BCOO]:
    """A function of shape and dtype that gives a random BCOO array; keywords change its layout.

    nse: the number of elements that are stored for each element of the batch; below 1, a part of all.

    >>> rand_bcoo(np.random.RandomState(0), nse=2)((2, 3), "float32")
    BCOO(float32[2, 3], nse=2)
    """
    return _rand_stored(rng, lambda x: x, rand_method=rand_method, nse=nse, n_batch=n_batch, n_dense=n_dense)


def rand_bcsr(rng: np.random.RandomState, rand_method: Callable[..., Any] = _normal, nse: float = 0.5, n_batch: int = 0,
              n_dense: int = 0) -> Callable[..., BCSR]:
    """As rand_bcoo, of BCSR arrays.

    >>> rand_bcsr(np.random.RandomState(0), nse=2)((2, 3), "float32")
    BCSR(float32[2, 3], nse=2)
    """
    return _rand_stored(rng, BCSR.from_bcoo, rand_method=rand_method, nse=nse, n_batch=n_batch, n_dense=n_dense)


class SparseTestCase(unittest.TestCase):
    """A test case that compares arrays, dense and sparse. Where a test is an iterable of functions, as tests with
    parameters are in absl, each of them is a test."""

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
                             err_msg: str = "", canonicalize_dtypes: bool = True) -> None:
        if check_dtypes:
            self._same_dtypes(actual, desired, canonicalize=canonicalize_dtypes)
        self.assertEqual(np.shape(actual), np.shape(desired))
        np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), atol=_tolerance(atol, actual, desired),
                                   rtol=_tolerance(rtol, actual, desired), err_msg=err_msg)

    def assertAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                       err_msg: str = "", canonicalize_dtypes: bool = True) -> None:
        a, structure = tree.tree_flatten(actual)
        b, other = tree.tree_flatten(desired)
        self.assertEqual(structure, other)
        for x, y in zip(a, b, strict=True):
            self.assertArraysAllClose(x, y, check_dtypes=check_dtypes, atol=atol, rtol=rtol, err_msg=err_msg,
                                      canonicalize_dtypes=canonicalize_dtypes)

    def assertSparseArraysEquivalent(self, x: Any, y: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                                     canonicalize_dtypes: bool = True, err_msg: str = "") -> None:
        """Both are sparse arrays of one kind, or both dense, with the same elements."""
        self.assertEqual(type(x) if is_sparse(x) else None, type(y) if is_sparse(y) else None)
        self.assertAllClose(todense(x), todense(y), check_dtypes=check_dtypes, atol=atol, rtol=rtol, err_msg=err_msg,
                            canonicalize_dtypes=canonicalize_dtypes)

    def _same_dtypes(self, x: Any, y: Any, *, canonicalize: bool = True) -> None:
        found = [v.dtype if hasattr(v, "dtype") else np.result_type(v) for v in (x, y)]
        self.assertEqual(*map(dtypes.canonicalize_dtype, found) if canonicalize else found)

    def _CompileAndCheck(self, fun: Callable[..., Any], args_maker: Callable[[], Sequence[Any]], *, check_dtypes: bool = True,
                         atol: Any = None, rtol: Any = None, tol: Any = None, check_cache_misses: bool = True) -> None:
        args = args_maker()
        self.assertAllClose(jit(fun)(*args), fun(*args), check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol)

    def _CheckAgainstNumpy(self, numpy_reference_op: Callable[..., Any], lax_op: Callable[..., Any],
                           args_maker: Callable[[], Sequence[Any]], check_dtypes: bool = True, tol: Any = None,
                           atol: Any = None, rtol: Any = None, canonicalize_dtypes: bool = True) -> None:
        """lax_op gives for arguments what numpy_reference_op gives for the same."""
        args = args_maker()
        self.assertAllClose(lax_op(*args), numpy_reference_op(*args), check_dtypes=check_dtypes, atol=atol or tol,
                            rtol=rtol or tol, canonicalize_dtypes=canonicalize_dtypes)

    def _CheckAgainstDense(self, dense_op: Callable[..., Any], sparse_op: Callable[..., Any],
                           args_maker: Callable[[], Sequence[Any]], check_jit: bool = True, check_dtypes: bool = True,
                           tol: Any = None, atol: Any = None, rtol: Any = None, canonicalize_dtypes: bool = True) -> None:
        """sparse_op gives for sparse arguments what dense_op gives for dense ones."""
        args = args_maker()
        expected = dense_op(*map(todense, args))
        for op in (sparse_op, jit(sparse_op)) if check_jit else (sparse_op,):
            found = tree.tree_map(todense, op(*args), is_leaf=is_sparse)
            self.assertAllClose(found, expected, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol,
                                canonicalize_dtypes=canonicalize_dtypes)

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

    def _random_bdims(self, *args: int) -> list[int]:
        """For each argument an axis for a batch: a random one up to the number that is given for it."""
        return [int(self.rng().randint(0, n + 1)) for n in args]

    def _CheckBatchingSparse(self, dense_fun: Callable[..., Any], sparse_fun: Callable[..., Any],
                             args_maker: Callable[[], Sequence[Any]], *, batch_size: int = 3, bdims: Any = None,
                             check_jit: bool = False, check_dtypes: bool = True, tol: Any = None, atol: Any = None,
                             rtol: Any = None, canonicalize_dtypes: bool = True) -> None:
        """Over a batch of arguments, stacked along the axes bdims, sparse_fun gives what dense_fun gives for each."""
        batch = [args_maker() for _ in range(batch_size)]
        columns = list(zip(*batch, strict=True))
        axes = [0] * len(columns) if bdims is None else bdims
        stacked = [_stack(column, axis) for column, axis in zip(columns, axes, strict=True)]
        results = [dense_fun(*map(todense, args)) for args in batch]
        expected = tree.tree_map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *results)
        batched = vmap(lambda *xs: tree.tree_map(todense, sparse_fun(*xs), is_leaf=is_sparse), tuple(axes))
        for fun in (batched, jit(batched)) if check_jit else (batched,):
            self.assertAllClose(fun(*stacked), expected, check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol,
                                canonicalize_dtypes=canonicalize_dtypes)


def _stack(xs: Sequence[Any], axis: int) -> Any:
    """Arrays as one with a new axis; of sparse arrays it is a batch axis, so vmap takes it off."""
    if not is_sparse(xs[0]):
        return jnp.stack(xs, axis)
    buffers = tuple(jnp.stack(column, axis) for column in zip(*(x._bufs for x in xs), strict=True))
    return type(xs[0])(buffers, shape=(*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]))


def _tolerance(given: Any, *values: Any) -> float:
    """The tolerance for the least precise of these values."""
    table = _TOLERANCE if given is None else {np.dtype(k): v for k, v in given.items()} if isinstance(given, dict) else None
    if table is None:
        return float(given)
    kinds = [np.dtype(dtypes.canonicalize_dtype(np.asarray(v).dtype)) for v in values]
    return max(table.get(kind, 0.0) for kind in kinds)
