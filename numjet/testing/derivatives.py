"""Checks of derivatives by finite differences, for functions of pytrees.

Forward mode is compared with central differences in a random direction; reverse mode by the identity
<ct, J t> = <J^T ct, t> between inner products, in random directions ct and t.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numjet.api.grad import jvp, vjp
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.tree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from numjet.foundation.util import replace_at

# Relative and absolute tolerances by dtype: central differences lose half of the digits.
TOLERANCES = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "float64": 1e-5, "complex64": 2e-3, "complex128": 1e-5}
EPS = 1e-4
Tolerance = float | Mapping[Any, float] | None


def _inexact(x: Any) -> bool:
    return dtypes.issubdtype(aval_of(x).dtype, np.inexact)


def _random_like(rng: np.random.RandomState, x: Any) -> Any:
    """A random tangent of x. JAX draws the same numbers, so what is within the tolerance there is so here."""
    aval = aval_of(x)
    if not _inexact(x):
        return np.zeros(aval.shape, dtypes.float0)
    value = np.asarray(rng.randn(*aval.shape))
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        value = value + 1j * rng.randn(*aval.shape)
    return np.asarray(value).astype(aval.dtype)


def _moved(x: Any, tangent: Any, step: float) -> Any:
    if not _inexact(x):
        return x
    x = np.asarray(x)
    return (x + x.dtype.type(step) * tangent).astype(x.dtype)


def difference(f: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any], eps: float) -> Any:
    """The directional derivative of f by central differences."""
    plus, minus = (f(*tree_map(functools.partial(_moved, step=step), tuple(args), tuple(tangents))) for step in (eps, -eps))
    return tree_map(lambda p, m: _minus(np.asarray(p), np.asarray(m)) / (2 * eps) if _inexact(p)
                    else np.zeros(np.shape(p), dtypes.float0), plus, minus)


def _minus(p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """p - m, and 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(p == m, p.dtype.type(0), p - m)


def _tolerance(given: Tolerance, *kinds: np.dtype) -> float:
    """The tolerance for values of dtypes: the given number, the greatest of the dtypes in a table, or of the defaults."""
    if given is not None and not isinstance(given, Mapping):
        return given
    table = {np.dtype(k).name: v for k, v in (given or {}).items()}
    return max(table.get(kind.name, TOLERANCES.get(kind.name, 0.0)) for kind in kinds)


def _assert_close(got: Any, want: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    """Asserts that leaves agree to tolerances times their sizes, as in JAX: rounding errors of some elements are larger."""
    got_leaves, got_tree = tree_flatten(got)
    want_leaves, want_tree = tree_flatten(want)
    if got_tree.num_leaves == 1 and isinstance(got_tree.unflatten([None]), type(None)):  # an array and lists of numbers
        want_leaves, want_tree = [want], got_tree
    assert got_tree == want_tree, f"{message}: expected the structure {want_tree}, got {got_tree}"
    for g, w in zip(map(np.asarray, got_leaves), map(np.asarray, want_leaves), strict=True):
        if g.dtype == dtypes.float0 or w.dtype == dtypes.float0:
            continue
        wide = np.complex128 if np.iscomplexobj(g) or np.iscomplexobj(w) else np.float64
        np.testing.assert_allclose(g.astype(wide), w.astype(wide), atol=_tolerance(atol, g.dtype, w.dtype) * g.size,
                                   rtol=_tolerance(rtol, g.dtype, w.dtype) * g.size, err_msg=message)


def check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Asserts that two pytrees have one structure and that their leaves agree, to tolerances by dtype times their sizes.

    >>> check_close({"x": 1.0}, {"x": 1.0 + 1e-9})
    """
    _assert_close(xs, ys, atol, rtol, err_msg or "check_close")


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any], atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Asserts that f_jvp(args, tangents) gives f(*args) and the directional derivative by central differences.

    atol, rtol: tolerances, or tables of them by dtype; default: by dtype. eps: the step of the differences. Raises
    AssertionError.

    >>> import functools, numjet as nj, numjet.numpy as jnp
    >>> check_jvp(jnp.sin, functools.partial(nj.jvp, jnp.sin), (0.5,))
    """
    tangents = tree_map(functools.partial(_random_like, np.random.RandomState(0)), tuple(args))
    value, tangent = f_jvp(tuple(args), tangents)
    note = f"{err_msg} " if err_msg else ""
    _assert_close(value, f(*args), atol, rtol, f"{note}value of the JVP")
    _assert_close(tangent, difference(f, args, tangents, eps), atol, rtol, f"{note}tangent of the JVP")


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any], atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Asserts that f_vjp(*args) gives f(*args) and a pullback that agrees with central differences.

    atol, rtol: tolerances, or tables of them by dtype; default: by dtype. eps: the step of the differences. Raises
    AssertionError.

    >>> import functools, numjet as nj, numjet.numpy as jnp
    >>> check_vjp(jnp.sin, functools.partial(nj.vjp, jnp.sin), (0.5,))
    """
    rng = np.random.RandomState(0)
    tangents = tree_map(functools.partial(_random_like, rng), tuple(args))
    value, pullback = f_vjp(*args)
    note = f"{err_msg} " if err_msg else ""
    _assert_close(value, f(*args), atol, rtol, f"{note}value of the VJP")
    cotangent = tree_map(functools.partial(_random_like, rng), value)
    pulled = tuple(pullback(cotangent))
    (got, kind), (want, other) = _inner(tangents, pulled), _inner(difference(f, args, tangents, eps), cotangent)
    np.testing.assert_allclose(got, want, atol=_tolerance(atol, kind, other), rtol=_tolerance(rtol, kind, other),
                               err_msg=f"{note}cotangent of the VJP")


def _inner(a: Any, b: Any) -> tuple[float, np.dtype]:
    """The real inner product of two pytrees, without conjugation, and the common real dtype of their leaves."""
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(tree_leaves(a), tree_leaves(b), strict=True)]
    pairs = [(x, y) for x, y in pairs if dtypes.float0 not in (x.dtype, y.dtype)]
    total = sum(float(np.real(np.sum(x.astype(np.complex128) * y.astype(np.complex128)))) for x, y in pairs)
    kinds = [dtypes.to_floating_dtype(dtypes.result_type(v.dtype)) for pair in pairs for v in pair]
    return total, functools.reduce(dtypes.common_dtype, kinds, kinds[0]) if kinds else np.dtype(np.float32)


def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int, modes: str | Sequence[str] = ("fwd", "rev"),
                atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None) -> None:
    """Asserts that derivatives of f at args, up to an order, agree with central differences.

    modes: "fwd" for jvp, "rev" for vjp, or both; each derivative is differentiated again in each mode.
    atol, rtol: tolerances, or tables of them by dtype; default: by dtype. eps: the step of the differences. Raises
    AssertionError, or ValueError for modes.

    >>> import numjet.numpy as jnp
    >>> check_grads(jnp.sin, (0.5,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not set(modes) <= {"fwd", "rev"}:
        raise ValueError(f"check_grads: expected modes among 'fwd' and 'rev', got {modes}")
    step = EPS if eps is None else eps

    def check(f: Callable[..., Any], args: Sequence[Any], order: int, note: str) -> None:
        if "fwd" in modes:
            check_jvp(f, functools.partial(jvp, f), args, atol, rtol, step, f"{note}fwd")
            if order > 1:
                check(functools.partial(jvp, f), (tuple(args), tuple(args)), order - 1, f"{note}fwd of ")
        if "rev" in modes:
            check_vjp(f, functools.partial(vjp, f), args, atol, rtol, step, f"{note}rev")
            if order > 1:
                check(functools.partial(_pulled_back, f), args, order - 1, f"{note}rev of ")
    check(*_of_inexact(f, args), order, "")


def _of_inexact(f: Callable[..., Any], args: Sequence[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of the arguments' floating leaves only, and these leaves."""
    leaves, tree = tree_flatten(tuple(args))
    moving = [n for n, x in enumerate(leaves) if _inexact(x)]
    return (lambda *xs: f(*tree_unflatten(tree, replace_at(leaves, moving, xs)))), tuple(leaves[n] for n in moving)


def _pulled_back(f: Callable[..., Any], *args: Any) -> Any:
    value, pullback = vjp(f, *args)
    return pullback(tree_map(lambda x: x if _inexact(x) else np.zeros(np.shape(x), dtypes.float0), value))
