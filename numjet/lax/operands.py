"""Operands of elementwise functions: broadcasting, dtypes, and helpers of rules."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.op import Op, lookup
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.errors import ShapeMismatchError
from numjet.lax.templates import call, kind_of

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEXES = ("complex64", "complex128")
INTS = ("int32", "uint8", "int64", "uint32")
NUMBERS = (*FLOATS, *INTS, *COMPLEXES)
UNARY_SHAPES = ((), (3,), (0,), (2, 1, 3), (2, 3, 1, 2))
BINARY_SHAPES = ((), (3,), (0, 2), (2, 3, 4), (2, 1, 2, 3), [(3,), ()], [(), (2, 2)])
UNSIGNED_OF: dict[int, np.dtype[Any]] = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def binary(op: Op, x: Any, y: Any) -> Any:
    """op(x, y) for operands of equal rank, whose axes of size 1 are broadcast, or of which one is a scalar.

    TypeError for different ranks and for sizes that do not fit.
    """
    a, b = getattr(x, "shape", ()), getattr(y, "shape", ())
    if a == b or not a or not b:
        return op(x, y)
    shape = _common_shape(op.name, a, b)
    return op(_broadcast(x, a, shape), _broadcast(y, b, shape))


def ternary(op: Op, *xs: Any) -> Any:
    """As `binary`, for operations of more operands."""
    shapes = [getattr(x, "shape", ()) for x in xs]
    if len(full := list(dict.fromkeys(s for s in shapes if s))) < 2:
        return op(*xs)
    shape = functools.reduce(functools.partial(_common_shape, op.name), full)
    return op(*[_broadcast(x, s, shape) if s else x for x, s in zip(xs, shapes, strict=True)])


def _common_shape(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) != len(b):
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {len(a)} and {len(b)} "
                        f"(shapes {a} and {b}). Scalars go with any shape; numjet.numpy functions broadcast.")
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        raise ShapeMismatchError(f"{name} got incompatible shapes for broadcasting: {a}, {b}.")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def _broadcast(x: Any, old: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    if old == shape:
        return x
    return call("broadcast_in_dim", x, shape=shape, broadcast_dimensions=tuple(range(len(shape))))


def full_rank(t: Any, like: ShapedArray) -> Any:
    """A rank-0 array broadcast to the shape of `like`; others as they are."""
    if aval_of(t).shape == like.shape:
        return t
    return call("broadcast_in_dim", t, shape=like.shape, broadcast_dimensions=())


def scalar(value: complex, dtype: np.dtype) -> Literal:
    """A weakly typed constant of rank 0, for rules."""
    return Literal(np.asarray(value, dtype)[()], ShapedArray((), dtype, True))


def apply(name: str, *args: Any, **params: Any) -> Any:
    """Applies the operation of that name; Python scalars take the dtype of the other operands."""
    return lookup(name)(*args, **params)


def where(mask: Any, on_true: Any, on_false: Any) -> Any:
    """select_n inside rules: each operand has the full shape or rank 0; a Python scalar takes the other's dtype."""
    if isinstance(on_true, (int, float)):
        on_true = scalar(on_true, aval_of(on_false).dtype)
    elif isinstance(on_false, (int, float)):
        on_false = scalar(on_false, aval_of(on_true).dtype)
    return call("select_n", mask, on_false, on_true)


def same_dtype(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function whose result takes the dtype of the first operand (NumPy widens the 4-bit integers)."""
    return lambda x, *rest, **params: fn(x, *rest, **params).astype(x.dtype, copy=False)


ReductionPlan = Callable[[np.dtype], "tuple[np.ufunc, Any] | None"]   # see with_reduction


def with_reduction(plan: ReductionPlan) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a NumPy function of `axes` as the reduction by a ufunc, whose inner loop native code may run
    (`api/eager_plans.py`).

    plan(dtype) gives the ufunc and the value that it begins with, None for the first element; None: it is not so for the dtype.
    """
    def mark(eager: Callable[..., Any]) -> Callable[..., Any]:
        eager.reduction = plan  # type: ignore[attr-defined]
        return eager
    return mark


def by_kind(real: Callable[..., Any], complex: Callable[..., Any]) -> Callable[..., Any]:
    """A cpu rule that differs for complex scalars."""
    def cpu(b: Any, x: Any, *rest: Any, **params: Any) -> Any:
        return (complex if x.dtype.kind == "c" else real)(b, x, *rest, **params)
    return cpu


def real_dtype(dtype: np.dtype, *_: np.dtype) -> np.dtype:
    """The dtype of the parts of a complex dtype; other dtypes are their own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def at_least_float32(dtype: np.dtype) -> np.dtype:
    """float32 for the floats with fewer bits; other dtypes are their own."""
    return np.dtype(np.float32) if dtype.itemsize < 4 and kind_of(dtype) == "f" else dtype


def converted(b: Any, x: Any, dtype: Any) -> Any:
    """An array of a LoopBuilder in another dtype, as cpu rules need it."""
    return x if x.dtype == dtype else b.elementwise(lambda v: b.convert(v, dtype), x, dtype=np.dtype(dtype))


def complex_dtype(dtype: np.dtype, *_: np.dtype) -> np.dtype:
    """The complex dtype with parts of `dtype`."""
    return dtypes.complex128 if dtype in (dtypes.float64, dtypes.complex128) else dtypes.complex64
