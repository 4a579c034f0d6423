"""Operands of every kind in the domains of SciPy's functions, and parameters that are broadcast with them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.operands import KINDS, Operand

Kinds = Mapping[str, np.ndarray]


def mapped(change: Callable[[np.ndarray], np.ndarray]) -> Kinds:
    """KINDS whose floats are changed; integers lose their signs, and special values stay, for what is outside of a domain."""
    def made(kind: str, x: np.ndarray) -> np.ndarray:
        if x.dtype.kind in "iub":
            return x if x.dtype.kind != "i" else np.abs(x)
        return x if x.dtype.kind == "c" or kind.startswith("special") else change(x.astype(np.float64)).astype(x.dtype)
    return {kind: made(kind, x) for kind, x in KINDS.items()}


POSITIVE = mapped(lambda x: np.abs(x) + 0.125)
UNIT = mapped(lambda x: 1 / (1 + np.exp(x)))
INSIDE = mapped(np.tanh)     # from -1 to 1
COUNTED = mapped(lambda x: np.floor(np.abs(x)))


def of_few_shapes(kinds: Kinds) -> Kinds:
    """Kinds of all dtypes, most of one shape, for functions that are compiled for each shape and dtype."""
    def cube(kind: str) -> np.ndarray:
        return np.resize(kinds[kind], (2, 2, 2))
    return {**{kind: cube(kind) for kind in ("float16", "bfloat16", "int64", "uint8", "bool", "complex64")},
            "int32": cube("int32 of rank 4"), "float64 transposed": cube("float64 transposed").T,
            "complex128 transposed": cube("complex128 transposed").T,
            **{kind: kinds[kind] for kind in ("rank 0", "empty of rank 3", "special values reversed")}}


def of_fewest_shapes(kinds: Kinds) -> Kinds:
    """Kinds of few dtypes and shapes, for functions whose compilation takes longest; integers are floats of one dtype."""
    few = of_few_shapes(kinds)
    return {kind: few[kind] for kind in ("float16", "int32", "bool", "float64 transposed", "complex64",
                                         "complex128 transposed", "rank 0", "empty of rank 3", "special values reversed")}


def of_one_shape(kinds: Kinds, *more: str) -> Kinds:
    """Kinds of floats of one shape, which share two programs, for one more of several functions of a family."""
    few = of_few_shapes(kinds)
    return {kind: few[kind] for kind in ("float16", "int32", "bool", "float64 transposed", "special values reversed", *more)}


def values(*numbers: float) -> Operand:
    """Constants along a new leading axis, in the array's precision if it has floats."""
    def make(x: Any) -> np.ndarray:
        dtype = {"complex64": np.float32, "complex128": np.float64}.get(x.dtype.name, x.dtype)
        dtype = np.float32 if np.dtype(dtype).kind in "iub" else dtype
        return np.array(numbers, dtype).reshape(-1, *(1,) * x.ndim)
    return make


def counts(*numbers: int) -> Operand:
    """Integers along a new leading axis."""
    return lambda x: np.array(numbers, np.int32).reshape(-1, *(1,) * x.ndim)


def times(power: int) -> Operand:
    """The array times a power of two, which is exact."""
    return lambda x: x * power
