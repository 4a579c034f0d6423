"""What tests of numjet.numpy share: one call compared with NumPy, eagerly and compiled, and derivatives with differences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numjet as nj
import numjet.numpy as jnp

# One tolerance per dtype of the result: a few units in the last place of functions that are not exact.
RTOL = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 4e-6, "complex64": 4e-6}


def leaves(out: Any) -> list[Any]:
    """The arrays of a result: of a tuple, a list, or one."""
    return [x for part in out for x in leaves(part)] if isinstance(out, (tuple, list)) else [out]


def assert_same(got: Any, want: Any, rtol: float | None = None, dtype: bool = True) -> None:
    """Equal shapes and values within the tolerance of the dtype; equal dtypes too, when `want` are arrays of 32 bits."""
    for g, w in zip(leaves(got), leaves(want), strict=True):
        value, expected = np.asarray(g), np.asarray(w)
        assert value.shape == expected.shape, (value.shape, expected.shape)
        narrow = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
        if dtype:
            assert value.dtype.name == narrow.get(expected.dtype.name, expected.dtype.name), (value.dtype, expected.dtype)
        tolerance = RTOL.get(value.dtype.name, 0) if rtol is None else rtol
        if value.dtype.kind == "V" or value.dtype.name == "bfloat16":
            value, expected = value.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


def check(fn: Callable[..., Any], want: Any, *args: Any, rtol: float | None = None, dtype: bool = True, jit: bool = True,
          **kwargs: Any) -> Any:
    """fn(*args, **kwargs), eager and (unless jit is False) compiled with arrays as arguments, against `want`."""
    got = fn(*args, **kwargs)
    assert_same(got, want, rtol, dtype)
    if jit:
        traced = [i for i, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic, nj.Array))]

        def compiled(*values: Any) -> Any:
            given = list(args)
            for i, v in zip(traced, values, strict=True):
                given[i] = v
            return fn(*given, **kwargs)
        assert_same(nj.jit(compiled)(*[args[i] for i in traced]), want, rtol, dtype)
    return got


def check_grad(fn: Callable[..., Any], *args: Any, eps: float = 1e-2, tol: float = 2e-2) -> None:
    """Derivatives of sum(fn * fixed weights) with respect to every argument, against central differences."""
    args = tuple(np.asarray(a, np.float32) for a in args)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, np.shape(fn(*args))).astype(np.float32)
    total = lambda *a: jnp.sum(fn(*a) * weights)
    for i, a in enumerate(args):
        direction = np.random.default_rng(i).uniform(-1, 1, a.shape).astype(np.float32)
        shifted = [float(total(*args[:i], a + sign * eps * direction, *args[i + 1:])) for sign in (1, -1)]
        want = (shifted[0] - shifted[1]) / (2 * eps)
        got = float(np.sum(np.asarray(nj.grad(total, argnums=i)(*args)) * direction))
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
