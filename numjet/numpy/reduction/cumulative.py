"""Running sums and products."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.lax.reduction import cumulative
from numjet.lax.shape import join, rearrange
from numjet.numpy.core.promotion import array_arg, as_dtype, check_out, literal, strong_array, to_array
from numjet.numpy.fastpath import small
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import wide_integer
from numjet.numpy.ufuncs.logic import isnan

_BOOL = np.dtype(np.bool_)


def run_along(name: str, a: Any, axis: int | None, dtype: Any, fn: Callable[..., Any]) -> Any:
    """fn(array, axis) of the array, flattened when `axis` is None, in `dtype` (default its own, bool as the default int)."""
    wanted = dtypes.to_numeric_dtype(a.dtype) if dtype is None else dtypes.check_user_dtype(dtype, name)
    x = strong_array(as_dtype(as_dtype(a, wanted), dtypes.to_numeric_dtype(wanted)))
    if axis is None or x.ndim == 0:   # a scalar is a vector of one element
        x, axis = rearrange.reshape(x, (x.size,)), 0 if axis is None else axis
    return as_dtype(fn(x, as_axis(axis, x.ndim)), wanted)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Sums of the first 1, 2, ... elements along `axis` (None: of the flattened array), in the dtype of a or `dtype`.

    >>> import numjet.numpy as jnp
    >>> cumsum(jnp.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    check_out("cumsum", out)
    found = small.running(np.add, a, axis) if dtype is None else None
    return run_along("cumsum", array_arg("cumsum", a), axis, dtype, cumulative.cumsum) if found is None else found


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Products of the first 1, 2, ... elements along `axis` (None: of the flattened array).

    >>> import numjet.numpy as jnp
    >>> cumprod(jnp.array([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    check_out("cumprod", out)
    found = small.running(np.multiply, a, axis) if dtype is None else None
    return run_along("cumprod", array_arg("cumprod", a), axis, dtype, cumulative.cumprod) if found is None else found


def without_nan(name: str, a: Any, value: Any) -> Any:
    """An array argument with `value` in place of NaN."""
    a = array_arg(name, a)
    return choose_by(name, isnan(a), literal(value, a.dtype), a) if dtypes.issubdtype(a.dtype, np.inexact) else a


@jit_when_eager("axis", "dtype", "out", small=False)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """As `cumsum`, with NaN counted as 0.

    >>> import numjet.numpy as jnp
    >>> nancumsum(jnp.array([1.0, jnp.nan, 3.0])).tolist()
    [1.0, 1.0, 4.0]
    """
    check_out("nancumsum", out)
    return cumsum(without_nan("nancumsum", a, 0.0), axis, dtype)


@jit_when_eager("axis", "dtype", "out", small=False)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """As `cumprod`, with NaN counted as 1.

    >>> import numjet.numpy as jnp
    >>> nancumprod(jnp.array([2.0, jnp.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
    check_out("nancumprod", out)
    return cumprod(without_nan("nancumprod", a, 1.0), axis, dtype)


def _standard(name: str, x: Any, axis: int | None, dtype: Any, include_initial: bool, fn: Any, first: int) -> Any:
    x = array_arg(name, x)
    if x.ndim == 0:
        what = "sum" if fn is cumsum else "product"
        raise ValueError(f"The input must be non-scalar to take a cumulative {what}, however jnp.{name} got a scalar.")
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"The input array has rank {x.ndim}, however axis was not set to an explicit value. The axis "
                             "argument is only optional for one-dimensional arrays.")
        axis = 0
    at = as_axis(axis, x.ndim)
    out = fn(x, at, wide_integer(x.dtype) if dtype is None and fn is cumsum else dtype)
    if not include_initial:
        return out
    lead = tuple(1 if i == at else n for i, n in enumerate(out.shape))
    return join.concatenate([rearrange.broadcast_in_dim(to_array(literal(first, out.dtype)), lead, ()), out], at)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """As `cumsum`, small integers in the default integer; `axis` may be left out for vectors. include_initial: 0 comes first.

    >>> import numjet.numpy as jnp
    >>> cumulative_sum(jnp.array([1, 2]), include_initial=True).tolist()
    [0, 1, 3]
    """
    return _standard("cumulative_sum", x, axis, dtype, include_initial, cumsum, 0)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """As `cumprod`; `axis` may be left out for one-dimensional arrays only. include_initial: 1 comes first.

    >>> import numjet.numpy as jnp
    >>> cumulative_prod(jnp.array([1, 2]), include_initial=True).tolist()
    [1, 1, 2]
    """
    return _standard("cumulative_prod", x, axis, dtype, include_initial, cumprod, 1)
