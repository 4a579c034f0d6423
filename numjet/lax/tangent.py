"""Tangents and cotangents that are zero, and their sum."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.op import LINEAR, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import CHEAP
from numjet.foundation import dtypes
from numjet.lax.rewrites import neutral
from numjet.lax.templates import INEXACT, call, elementwise


def is_zero(t: Any) -> bool:
    """Whether a tangent or cotangent is the symbolic zero."""
    return type(t) is Zero


def zero_tangent(aval: ShapedArray) -> Zero:
    """The symbolic zero tangent of values of `aval` (float0 for dtypes that have no derivative).

    >>> zero_tangent(ShapedArray((2,), np.dtype("int32"))).aval.dtype == dtypes.float0
    True
    """
    return Zero(aval.to_tangent_aval())


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros; for float0 a NumPy array, for keys the key of zero bits."""
    if aval.dtype == dtypes.float0 or aval.dtype == dtypes.key_dtype:
        return np.zeros(aval.shape, aval.dtype)
    zero = Literal(np.zeros((), aval.dtype)[()], ShapedArray((), aval.dtype, aval.weak_type))
    return call("broadcast_in_dim", zero, shape=aval.shape, broadcast_dimensions=())


def instantiate(t: Any) -> Any:
    """`t` itself, or the array of zeros that a symbolic zero stands for."""
    return zeros_like_aval(t.aval) if type(t) is Zero else t


def _add_any_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (ct if isinstance(x, Undefined) else None), (ct if isinstance(y, Undefined) else None)


add_any_p = elementwise(
    "add_any", nargs=2, accepts=INEXACT, eager=np.add, jvp=LINEAR, transpose=_add_any_transpose,
    cpu=lambda b, x, y: b.add(x, y), hlo="stablehlo.add", linear_in=(0, 1),
    traits=CHEAP, rewrites=neutral(-0.0, 0), function="add",
    samples=Samples(dtypes=("float32", "bfloat16", "complex64"), shapes=((), (3,), (0, 2), (2, 3, 4)), ulps=0))


def add_any(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents of the same value; symbolic zeros and float0 are dropped."""
    if type(x) is Zero:
        return y
    if type(y) is Zero or aval_of(x).dtype == dtypes.float0:
        return x
    return add_any_p.bind(x, y)
