"""NaN-skipping reductions: nansum, nanprod, nanmax, nanmin, nanmean, nanvar, nanstd, nanargmax, nanargmin."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager, whole_when_checked
from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, convert
from numjet.numpy.core.promotion import (
    array_arg,
    as_dtype,
    broadcast_to,
    check_out,
    literal,
    operand,
    operands,
    strong_array,
)
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction import reductions
from numjet.numpy.reduction.cumulative import without_nan
from numjet.numpy.reduction.reductions import Axis
from numjet.numpy.reduction.statistics import computing_dtype, constant_if_empty, inexact_dtype, per_degree, spread_dtype
from numjet.numpy.ufuncs.logic import isnan, logical_not


def _inexact(a: Any) -> bool:
    return dtypes.issubdtype(a.dtype, np.inexact)


@jit_when_eager("axis", "dtype", "out", "keepdims", small=False)
def nansum(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
           where: Any = None) -> Any:
    """As `sum`, with NaN counted as 0.

    >>> import numjet.numpy as jnp
    >>> nansum(jnp.array([1.0, jnp.nan, 2.0]))
    Array(3., dtype=float32)
    """
    check_out("nansum", out)
    if where is not None:
        where = reductions.mask_arg("nansum", where)
    return reductions.sum(without_nan("nansum", a, 0), axis, dtype, None, keepdims, initial, where)


@jit_when_eager("axis", "dtype", "out", "keepdims", small=False)
def nanprod(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
            where: Any = None) -> Any:
    """As `prod`, with NaN counted as 1.

    >>> import numjet.numpy as jnp
    >>> nanprod(jnp.array([3.0, jnp.nan, 2.0]))
    Array(6., dtype=float32)
    """
    check_out("nanprod", out)
    if where is not None:
        where = reductions.mask_arg("nanprod", where)
    return reductions.prod(without_nan("nanprod", a, 1), axis, dtype, None, keepdims, initial, where)


def _extreme(name: str, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any, fn: Any, worst: Any) -> Any:
    check_out(name, out)
    a = array_arg(name, a)
    if where is not None:
        where = reductions.mask_arg(name, where)
    if not _inexact(a):
        return fn(a, axis, None, keepdims, initial, where)
    others = lambda a: fn(without_nan(name, a, worst(a.dtype)), axis, None, keepdims, initial, where)
    result = whole_when_checked(others, a)
    if initial is not None:
        return result
    nothing = reductions.all(isnan(a), axis, None, keepdims, where=where)
    return choose_by(name, nothing, literal(float("nan"), result.dtype), result)


@jit_when_eager("axis", "out", "keepdims", small=False)
def nanmax(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """As `max`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanmax(jnp.array([1.0, jnp.nan, 2.0]))
    Array(2., dtype=float32)
    """
    return _extreme("nanmax", a, axis, out, keepdims, initial, where, reductions.max, reductions.lowest)


@jit_when_eager("axis", "out", "keepdims", small=False)
def nanmin(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """As `min`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanmin(jnp.array([1.0, jnp.nan, 2.0]))
    Array(1., dtype=float32)
    """
    return _extreme("nanmin", a, axis, out, keepdims, initial, where, reductions.min, reductions.highest)


def _position(name: str, a: Any, axis: Axis, out: None, keepdims: bool | None, fn: Any, worst: Any) -> Any:
    check_out(name, out)
    a = array_arg(name, a)
    if not _inexact(a):
        return fn(a, axis, None, keepdims)
    result = whole_when_checked(lambda a: fn(without_nan(name, a, worst(a.dtype)), axis, None, keepdims), a)
    nothing = reductions.all(isnan(a), axis, None, bool(keepdims))
    return choose_by(name, nothing, literal(-1, result.dtype), result)


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """As `argmax`, without NaN; -1 where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanargmax(jnp.array([1.0, jnp.nan, 2.0]))
    Array(2, dtype=int32)
    """
    return _position("nanargmax", a, axis, out, keepdims, reductions.argmax, reductions.lowest)


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """As `argmin`, without NaN; -1 where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanargmin(jnp.array([1.0, jnp.nan, 2.0]))
    Array(0, dtype=int32)
    """
    return _position("nanargmin", a, axis, out, keepdims, reductions.argmin, reductions.highest)


def _present(name: str, a: Any, where: Any) -> Any:
    """Where a is a number and `where` holds, in the shape of a."""
    present = logical_not(isnan(a))
    if where is not None:
        present = reductions.mask(name, reductions.mask_arg(name, where, a.shape), present, False)
    return broadcast_to(present, a.shape) if present.shape != a.shape else present


@jit_when_eager("axis", "dtype", "out", "keepdims")
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None) -> Any:
    """As `mean`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanmean(jnp.array([1.0, jnp.nan, 2.0]))
    Array(1.5, dtype=float32)
    """
    check_out("nanmean", out)
    a = constant_if_empty(array_arg("nanmean", a))
    wanted = inexact_dtype("nanmean", dtype, a)
    wide = computing_dtype(wanted)
    present = _present("nanmean", a, where)
    count = reductions.sum(present, axis, wide, None, keepdims)
    total = reductions.sum(without_nan("nanmean", a, 0), axis, wide, None, keepdims, None, where)
    return strong_array(as_dtype(arithmetic.div_p.bind(total, count), wanted))


@jit_when_eager("axis", "dtype", "out", "ddof", "keepdims")
def nanvar(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False,
           where: Any = None, mean: Any = None) -> Any:
    """As `var`, without NaN; NaN where no more than ddof numbers are left.

    >>> import numjet.numpy as jnp
    >>> nanvar(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    check_out("nanvar", out)
    a = constant_if_empty(array_arg("nanvar", a))
    wanted = spread_dtype("nanvar", dtype, a)
    wide = computing_dtype(dtypes.common_dtype(dtypes.to_inexact_dtype(a.dtype), wanted))
    present = _present("nanvar", a, where)
    center = nanmean(a, axis, wide, None, True, where) if mean is None else as_dtype(operand("nanvar", mean), wide)
    centered = arithmetic.sub_p.bind(*operands("nanvar", as_dtype(a, wide), center))
    centered = choose_by("nanvar", present, centered, literal(0, wide))
    squares = _squared_length(centered)
    count = reductions.sum(present, axis, squares.dtype, None, keepdims)
    left = arithmetic.sub_p.bind(*operands("nanvar", count, as_dtype(operand("nanvar", ddof), squares.dtype)))
    ratio = per_degree("nanvar", reductions.sum(squares, axis, None, None, keepdims), left)
    return strong_array(as_dtype(ratio, wanted))


def _squared_length(x: Any) -> Any:
    square = arithmetic.square_p.bind
    if not dtypes.issubdtype(x.dtype, np.complexfloating):
        return square(x)
    return arithmetic.add_p.bind(square(convert.real_p.bind(x)), square(convert.imag_p.bind(x)))


@jit_when_eager("axis", "dtype", "out", "ddof", "keepdims")
def nanstd(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False,
           where: Any = None, mean: Any = None) -> Any:
    """As `std`, without NaN; NaN where no more than ddof numbers are left.

    >>> import numjet.numpy as jnp
    >>> nanstd(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    check_out("nanstd", out)
    if where is not None:
        where = reductions.mask_arg("nanstd", where)
    return arithmetic.sqrt_p.bind(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))
