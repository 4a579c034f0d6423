"""Every function with an `axis`: each axis of arrays of rank 1 to 4, of different and of zero sizes, gives what NumPy gives."""
from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import numjet.numpy as jnp

SHAPES = ((5,), (0,), (2, 3), (1, 3, 1), (2, 0, 3), (2, 3, 4), (2, 9, 8), (3, 2, 5, 4))

# Operands that a function takes beside or instead of one array, by the names of its parameters.
OPERANDS = {
    **dict.fromkeys(("a", "x", "arr", "ary", "m", "array", "y", "p", "values", "f"), lambda x: x),
    **dict.fromkeys(("arrays", "tup", "seq"), lambda x: [x, x + 1]),
    **dict.fromkeys(("repeats", "shift", "obj", "indices_or_sections"), lambda x: 1),
    "b": lambda x: x[::-1].copy(),
    "x1": lambda x: x[::-1].copy(),
    "x2": lambda x: x,
    "q": lambda x: np.float32(0.3),
    "indices": lambda x: np.zeros((1,) * x.ndim, int),
    "condition": lambda x: np.array([True]),
    "func1d": lambda x: lambda v: v.sum(),
}


def operands(function: Any) -> list[Any] | None:
    """What makes the required operands of a function with an axis; None for other functions."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    required = [p.name for p in parameters.values() if p.default is p.empty and p.kind in (0, 1) and p.name != "axis"]
    return [OPERANDS[n] for n in required] if "axis" in parameters and OPERANDS.keys() >= {*required} else None


DTYPES = {"packbits": np.bool_, "unpackbits": np.uint8}
IN_PLACE = {"put_along_axis"}  # NumPy's writes into its operand
NAMES = [n for n in sorted(dir(jnp)) if not n.startswith("_") and hasattr(np, n) and n not in IN_PLACE
         and operands(getattr(jnp, n)) is not None]


def test_functions_are_found():
    assert {"cumsum", "apply_along_axis", "median", "stack", "split", "take_along_axis", "gradient", "sum"} <= {*NAMES}
    assert len(NAMES) > 60


def leaves(x: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in x] if isinstance(x, (tuple, list)) else [np.asarray(x)]


def attempt(function: Any, args: list[Any], axis: int) -> list[np.ndarray] | None:
    """The results, or None where the function refuses."""
    try:
        if "func1d" in inspect.signature(function).parameters:
            return leaves(function(args[0], axis, args[1]))
        return leaves(function(*args, axis=axis))
    except (TypeError, ValueError, IndexError, np.exceptions.AxisError, ZeroDivisionError):
        return None


@pytest.mark.parametrize("name", NAMES)
def test_every_axis(name):
    ours, theirs, made = getattr(jnp, name), getattr(np, name), operands(getattr(jnp, name))
    compared = 0
    for shape in SHAPES:
        x = np.random.default_rng(1).normal(2, 1, shape).astype(DTYPES.get(name, np.float32))
        args = [make(x) for make in made]
        for axis in range(-x.ndim, x.ndim):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want, got = attempt(theirs, args, axis), attempt(ours, args, axis)
            if want is None:  # NumPy refuses, for example, the largest of no elements
                continue
            assert got is not None, (shape, axis)
            assert [g.shape for g in got] == [w.shape for w in want], (shape, axis)
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5, err_msg=f"{shape} {axis}")
            compared += 1
    assert compared > 3


@pytest.mark.parametrize("axes", [range(2), [0, 1], np.array([0, 1]), (0, np.int32(1))], ids=str)
def test_axes_and_shapes_are_any_sequence(axes):
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    assert jnp.sum(x, axes).shape == jnp.linalg.norm(x, axis=axes).shape == jnp.squeeze(x[:1, :1], axes).shape == (4,)
    np.testing.assert_array_equal(jnp.roll(x, (1, 2), axes), np.roll(x, (1, 2), (0, 1)))
    assert jnp.moveaxis(x, axes, [1, 0]).shape == (3, 2, 4) and jnp.expand_dims(x, axes).shape == (1, 1, 2, 3, 4)
    assert jnp.zeros(axes).shape == (0, 1) and jnp.size(x, axes) == 6
