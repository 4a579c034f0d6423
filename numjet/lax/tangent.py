"""Symbolic zero tangents and cotangents, sums of tangents, and jvp rules of linear operations."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.ir import Literal
from numjet.core.op import LINEAR, Op, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import CHEAP
from numjet.foundation import dtypes
from numjet.foundation.dimension import is_symbolic
from numjet.lax.rewrites import neutral
from numjet.lax.sharding_later import sharding
from numjet.lax.templates import INEXACT, INTEGER, NUMBER, call, elementwise, kind_of


def is_zero(t: Any) -> bool:
    """Whether a tangent or cotangent is the symbolic zero."""
    return type(t) is Zero


def zero_tangent(aval: ShapedArray) -> Zero:
    """The symbolic zero tangent of values of `aval` (float0 for dtypes that have no derivative).

    >>> zero_tangent(ShapedArray((2,), np.dtype("int32"))).aval.dtype == dtypes.float0
    True
    """
    return Zero(aval.to_tangent_aval())


def zero_cotangent(aval: ShapedArray) -> Zero:
    """The symbolic zero cotangent of values of `aval`."""
    return Zero(aval.to_ct_aval())


def no_tangent(out: Any) -> Zero:
    """The symbolic zero tangent of a result."""
    return zero_tangent(aval_of(out))


def summed_cotangent_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of cotangents that are no symbolic zeros: integers have such, too, where `linear_transpose` gives them.

    >>> summed_cotangent_aval(ShapedArray((2,), np.dtype("int32")))
    ShapedArray(int32[2])
    """
    return aval.strip_weak_type() if kind_of(aval.dtype) in INTEGER else aval.to_ct_aval()


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros; for float0 a NumPy array, for keys the key of zero bits."""
    if aval.dtype == dtypes.float0 or dtypes.is_key(aval.dtype):
        if is_symbolic(aval.shape):
            return call("broadcast_in_dim", np.zeros((), aval.dtype), shape=aval.shape, broadcast_dimensions=())
        return np.zeros(aval.shape, aval.dtype)
    zero = Literal(np.zeros((), aval.dtype)[()], ShapedArray((), aval.dtype, aval.weak_type))
    return call("broadcast_in_dim", zero, shape=aval.shape, broadcast_dimensions=())


def instantiate(t: Any) -> Any:
    """`t` itself, or the array of zeros that a symbolic zero stands for."""
    if type(t) is not Zero:
        return t
    zeros = zeros_like_aval(t.aval)
    unreduced: frozenset[Any] = frozenset()
    reduced = unreduced
    if placements_in_use and t.aval.placement is not None:
        unreduced, reduced = t.aval.mat.unreduced, t.aval.mat.reduced
    for name, axes in (("pvary", t.aval.vma.union(unreduced)), ("vary_unreduced_cast", unreduced), ("preduced", reduced)):
        zeros = call(name, zeros, axes=tuple(sorted(axes, key=str))) if axes else zeros
    return zeros if t.aval.placement is None else sharding.as_tangent(zeros, t.aval)


Zero.instantiate = instantiate


def instantiate_cotangent(ct: Any, aval: ShapedArray) -> Any:
    """As instantiate, of the cotangent of a value of `aval` that is added to others: zeros of integers for integers."""
    if type(ct) is Zero and kind_of(aval.dtype) in INTEGER:
        return zeros_like_aval(summed_cotangent_aval(aval))
    return instantiate(ct)


def sum_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The transpose rule of x + y."""
    return (ct if isinstance(x, Undefined) else None), (ct if isinstance(y, Undefined) else None)


add_any_p = elementwise(
    "add_any", nargs=2, accepts=NUMBER, eager=np.add, jvp=LINEAR, transpose=sum_transpose,
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


# ------------------------------------------------------------------------------------------------ linear operations

def linear_in_first(record: Callable[[], Op]) -> Callable[..., tuple[Any, Any]]:
    """The jvp rule of operations that are linear in operand 0 and have no derivative by the others."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = record().bind(*primals, **params)
        return out, no_tangent(out) if type(tangents[0]) is Zero else record().bind(tangents[0], *primals[1:], **params)
    return jvp


def bilinear(record: Callable[[], Op]) -> Callable[..., tuple[Any, Any]]:
    """The jvp rule of operations that are linear in each of two operands; none for integers."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x, y), (tx, ty), bind = primals, tangents, record().bind
        out = bind(x, y, **params)
        tangent: Any = no_tangent(out)
        if kind_of(aval_of(out).dtype) not in INEXACT:
            return out, tangent
        if type(tx) is not Zero:
            tangent = bind(tx, y, **params)
        return out, tangent if type(ty) is Zero else add_any(tangent, bind(x, ty, **params))
    return jvp
