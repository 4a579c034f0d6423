"""The functions of numjet.experimental.sparse on matrices of every kind, against NumPy's on the dense ones."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from numjet import lax
from numjet.experimental import sparse
from numjet.experimental.sparse.api import todense
from tests.operands import Case, Elsewhere, itself

_RNG = np.random.default_rng(0)


def _matrix(*shape: int) -> np.ndarray:
    """Integers, more than half of them 0."""
    return np.where(_RNG.random(shape) < 0.4, _RNG.integers(1, 9, shape), 0)


# Matrices of three or more rows and columns, and small and empty ones.
KINDS: dict[str, np.ndarray] = {
    "float16": _matrix(3, 4).astype(np.float16), "bfloat16": _matrix(3, 4).astype(ml_dtypes.bfloat16),
    "float32 reversed": _matrix(5, 3).astype(np.float32)[::-1, ::-1], "float64 transposed": (_matrix(4, 3) / 7).T,
    "float64 without zeros": _RNG.normal(0, 1, (3, 4)), "int32": _matrix(3, 4).astype(np.int32),
    "int64": _matrix(3, 3), "uint8": _matrix(3, 4).astype(np.uint8),
    "bool": _matrix(3, 4) > 0, "complex64": (_matrix(3, 4) + 1j * _matrix(3, 4)).astype(np.complex64),
    "complex128 transposed": (_matrix(4, 3) + 1j * _matrix(4, 3)).T, "zeros": np.zeros((3, 4), np.float32),
    "size 1": np.full((1, 1), 0.5, np.float32), "no rows": np.zeros((0, 3), np.float32),
    "no columns": np.zeros((3, 0), np.float32),
    "special values": np.array([[0, np.nan, 0], [np.inf, 1, 0], [0, -0.0, -np.inf]], np.float32)}


def _kinds(*left_out: str) -> dict[str, np.ndarray]:
    return {kind: x for kind, x in KINDS.items() if kind not in left_out}


# -------------------------------------------------------------------------------------------- cases

def _bcoo(x: Any, **layout: Any) -> sparse.BCOO:
    """With room for every element, so that it is made inside of jit, too."""
    return sparse.bcoo_fromdense(x, nse=x.size, **layout)


def _bcsr(x: Any) -> sparse.BCSR:
    return sparse.bcsr_fromdense(x, nse=x.size)


def _of(make: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The dense result of a function of the sparse array."""
    return lambda x, *others, **options: todense(function(make(x), *others, **options))


def _case(function: Callable[..., Any], dense: Callable[..., Any], *others: Any, make: Any = _bcoo, **kinds: Any) -> Case:
    return _row(_of(make, function), dense, (itself, *others), **kinds)


def _row(ours: Callable[..., Any], dense: Callable[..., Any], operands: Sequence[Any] = (itself,), **kinds: Any) -> Case:
    """Derivatives are those of stored elements, as in JAX: they are compared where all are stored."""
    return Case(ours, dense, operands, **{"kinds": KINDS, "differentiated": "float64 without zeros", **kinds})


def _vector(x: Any) -> Any:
    return (np.arange(x.shape[1]) % 3 - 1).astype(x.dtype)


def _columns(x: Any) -> Any:
    return (np.arange(x.shape[1] * 2).reshape(-1, 2) % 4).astype(x.dtype)


_PRODUCT = (((1,), (0,)), ((), ()))
_NO_PRODUCT_OF = {"special values": "elements that are not stored count as 0, even beside NaN and infinities"}


def _add_window(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The valid convolution of the first row with one filter of two elements, as lax has it: a correlation."""
    return (x[0, :-1] * w[0] + x[0, 1:] * w[1])[None, None]


def _convolved(x: Any, w: Any) -> Any:
    return todense(sparse.bcoo_conv_general_dilated(
        _bcoo(x[:1].reshape(1, 1, -1)), _bcoo(w.reshape(1, 1, 2)), window_strides=(1,), padding="VALID"))


def _times_dense(x: Any, y: Any) -> Any:
    mat = _bcoo(x)
    return todense(sparse.BCOO((sparse.bcoo_multiply_dense(mat, y), mat.indices), shape=mat.shape))


CASES: dict[str, Case] = {
    "bcoo_fromdense": _row(lambda x, **layout: todense(sparse.bcoo_fromdense(x, nse=x.size, **layout)), lambda x, **layout: x,
                           kinds=KINDS, options=[{}, {"n_batch": 1}, {"n_dense": 1}]),
    "bcoo_todense": _row(lambda x: sparse.bcoo_todense(_bcoo(x)), itself),
    "bcoo_transpose": _case(sparse.bcoo_transpose, lambda x, permutation: x.T, options=[{"permutation": (1, 0)}]),
    "bcoo_rev": _case(sparse.bcoo_rev, lambda x, dimensions: np.flip(x, dimensions), options=[{"dimensions": (1,)}]),
    "bcoo_sort_indices": _case(sparse.bcoo_sort_indices, itself),
    "bcoo_sum_duplicates": _case(lambda x: sparse.bcoo_sum_duplicates(x, x.nse), itself),
    "bcoo_update_layout": _case(sparse.bcoo_update_layout, lambda x, **layout: x, options=[
        {"n_batch": 1, "on_inefficient": None}, {"n_dense": 1, "on_inefficient": None}]),
    "bcoo_reduce_sum": _case(sparse.bcoo_reduce_sum, lambda x, axes: x.sum(axes), options=[
        {"axes": (0,)}, {"axes": (0, 1)}]),
    "bcoo_reshape": _case(sparse.bcoo_reshape, lambda x, new_sizes: x.reshape(12), options=[{"new_sizes": (12,)}]),
    "bcoo_broadcast_in_dim": _row(
        lambda x: todense(sparse.bcoo_broadcast_in_dim(_bcoo(x), shape=(2, *x.shape), broadcast_dimensions=(1, 2))),
        lambda x: np.stack([x, x])),
    "bcoo_slice": _row(
        lambda x: todense(sparse.bcoo_slice(_bcoo(x), start_indices=(1, 0), limit_indices=x.shape, strides=(1, 2))),
        lambda x: x[1:, ::2], kinds=_kinds("no rows")),
    "bcoo_dynamic_slice": _row(
        lambda x: todense(sparse.bcoo_dynamic_slice(_bcoo(x), (5, 1), (1, 1))),
        lambda x: x[-1:, min(1, x.shape[1] - 1):][:, :1], kinds=_kinds("no rows", "no columns")),
    "bcoo_squeeze": _row(lambda x: todense(sparse.bcoo_squeeze(_bcoo(x[:1]), dimensions=(0,))), lambda x: x[0],
                         kinds=_kinds("no rows")),
    "bcoo_concatenate": _case(
        lambda x, dimension: sparse.bcoo_concatenate([x, x], dimension=dimension),
        lambda x, dimension: np.concatenate([x, x], dimension), options=[{"dimension": 0}, {"dimension": 1}]),
    "bcoo_gather": _row(
        lambda x, at: todense(sparse.bcoo_gather(_bcoo(x), at, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, x.shape[1]))),
        lambda x, at: x[at[:, 0]], (itself, lambda x: np.array([[0], [0]], np.int32)), kinds=_kinds("no rows")),
    "bcoo_extract": _row(lambda x, y: todense(sparse.bcoo_extract(_bcoo(x), y)), lambda x, y: y,
                         (itself, lambda x: x * 2), kinds=_kinds("zeros")),
    "bcoo_multiply_dense": _row(_times_dense, np.multiply, (itself, itself)),
    "bcoo_multiply_sparse": _row(lambda x, y: todense(sparse.bcoo_multiply_sparse(_bcoo(x), _bcoo(y))), np.multiply,
                                 (itself, lambda x: x[::-1]), decided=_NO_PRODUCT_OF),
    "bcoo_dot_general": _case(lambda x, w: sparse.bcoo_dot_general(x, w, dimension_numbers=_PRODUCT), np.matmul, _columns,
                              decided=_NO_PRODUCT_OF),
    "bcoo_dot_general of two": _row(
        lambda x, w: todense(sparse.bcoo_dot_general(_bcoo(x), _bcoo(w), dimension_numbers=_PRODUCT)), np.matmul,
        (itself, _columns), decided=_NO_PRODUCT_OF),
    "bcoo_dot_general_sampled": _row(
        lambda x, w: sparse.bcoo_dot_general_sampled(x, w, np.array([[0, 1]]), dimension_numbers=_PRODUCT),
        lambda x, w: (x @ w)[[0], [1]], (itself, _columns), kinds=_kinds("no rows")),
    "bcoo_conv_general_dilated": _row(_convolved, _add_window, (itself, lambda x: np.array([1, 2]).astype(x.dtype)),
                                      kinds=_kinds("bool", "size 1", "no rows", "no columns", "special values"),
                                      not_batched="three axes"),
    "bcsr_fromdense": _row(lambda x: todense(_bcsr(x)), itself),
    "bcsr_todense": _row(lambda x: sparse.bcsr_todense(_bcsr(x)), itself),
    "bcsr_sum_duplicates": _case(lambda x: sparse.bcsr_sum_duplicates(x, x.nse), itself, make=_bcsr),
    "bcsr_concatenate": _case(lambda x: sparse.bcsr_concatenate([x, x], dimension=0), lambda x: np.concatenate([x, x]),
                              make=_bcsr),
    "bcsr_broadcast_in_dim": _row(
        lambda x: todense(sparse.bcsr_broadcast_in_dim(_bcsr(x), shape=(2, *x.shape), broadcast_dimensions=(1, 2))),
        lambda x: np.stack([x, x])),
    "bcsr_extract": _row(
        lambda x, y: _extracted(_bcsr(x), y), lambda x, y: y, (itself, lambda x: x * 2), kinds=_kinds("zeros")),
    "bcsr_dot_general": _case(lambda x, w: sparse.bcsr_dot_general(x, w, dimension_numbers=_PRODUCT), np.matmul, _columns,
                              make=_bcsr, decided=_NO_PRODUCT_OF),
}


def _extracted(x: sparse.BCSR, y: Any) -> Any:
    return todense(sparse.BCSR((sparse.bcsr_extract(x.indices, x.indptr, y), x.indices, x.indptr), shape=x.shape))


def _matrices(name: str) -> dict[str, Case]:
    """The rows of a format that has matrices only."""
    make, dense, of_vector, of_matrix = (
        getattr(sparse, f"{name}_{what}") for what in ("fromdense", "todense", "matvec", "matmat"))
    stored = lambda x: make(x, nse=x.size)
    return {
        f"{name}_fromdense": _row(lambda x: todense(stored(x)), itself),
        f"{name}_todense": _row(lambda x: dense(stored(x)), itself),
        f"{name}_matvec": _row(lambda x, v: of_vector(stored(x), v), np.matmul, (itself, _vector), decided=_NO_PRODUCT_OF),
        f"{name}_matmat": _row(lambda x, w: of_matrix(stored(x), w), np.matmul, (itself, _columns), decided=_NO_PRODUCT_OF),
        f"{name}_matmat, transposed": _row(
            lambda x, w: of_matrix(stored(x), w, transpose=True), lambda x, w: x.T @ w,
            (itself, lambda x: _columns(x.T)), decided=_NO_PRODUCT_OF)}


CASES |= _matrices("coo") | _matrices("csr")
CASES |= {
    "eye": _row(lambda x: todense(sparse.eye(*x.shape, dtype=x.dtype)) * x, lambda x: np.eye(*x.shape, dtype=x.dtype) * x,
                kinds=_kinds("special values")),
    "empty": _row(lambda x: todense(sparse.empty(x.shape, x.dtype)), np.zeros_like),
    "todense": _row(lambda x: sparse.todense(_bcoo(x)), itself)}

_TRANSFORMS = "a transformation of functions"
ELSEWHERE = {
    **dict.fromkeys("grad value_and_grad jacfwd jacrev jacobian sparsify".split(),
                    Elsewhere("experimental/test_sparse.py", _TRANSFORMS)),
    "random_bcoo": Elsewhere("experimental/test_sparse.py", "random")}
