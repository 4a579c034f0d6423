"""Printing of arrays: repr, str and NumPy's print options."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.foundation.processes import state as processes
from numjet.numpy.core.promotion import array_arg


def _key_bits(x: Any) -> np.ndarray:
    return np.asarray(x._value)[x.dtype.names[0]]


def _is_readable(x: Any) -> bool:
    """Whether this process has all of an array."""
    return processes.count == 1 or x.is_fully_addressable or x.is_fully_replicated


def _described(x: Any) -> str:
    left = f", sharding={x.sharding}" if _waits_for_sum(x) else ""
    return f"Array(shape={x.shape}, dtype={dtypes.long_name(x.dtype)}{left})"


def _waits_for_sum(x: Any) -> bool:
    """Whether devices have summands of the array, whose sum is still to be made."""
    return isinstance(x.device, NamedSharding) and bool(x.device.spec.unreduced)


def repr_array(x: Any, line_break: str = "") -> str:
    """`Array([1., 2.], dtype=float32)`; weak types are marked; keys print their numbers. An array whose sum over devices is
    still to be made prints its sharding, which says so. line_break: what comes before a dtype that does not fit into the
    last line (JAX: nothing). RuntimeError for an array that was deleted.

    >>> import numjet.numpy as jnp
    >>> repr_array(jnp.asarray(1.0))
    'Array(1., dtype=float32, weak_type=True)'
    """
    if dtypes.is_key(x.dtype):
        return f"Array({x.shape}, dtype={dtypes.short_name(x.dtype)}) overlaying:\n{_key_bits(x)}"
    if not _is_readable(x) or _waits_for_sum(x):
        return _described(x)
    tail = f"dtype={dtypes.long_name(x.dtype)}{', weak_type=True' if x.weak_type else ''})"
    if x.size == 0 and not x.is_deleted():
        return f"Array([], shape={x.shape}, {tail}"
    body = np.array2string(np.asarray(x._value), separator=", ", prefix="Array(", suffix=",")
    fits = len(body.rsplit("\n", 1)[-1]) + len(", ") + len(tail) < np.get_printoptions()["linewidth"]
    return f"Array({body},{' ' if fits else line_break + ' ' * len('Array(')}{tail}"


def str_array(x: Any) -> str:
    """The values as NumPy prints them.

    >>> import numjet.numpy as jnp
    >>> str_array(jnp.array([1, 2]))
    '[1 2]'
    """
    if dtypes.is_key(x.dtype):
        return repr_array(x)
    return str(np.asarray(x._value)) if _is_readable(x) and not _waits_for_sum(x) else _described(x)


def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None,
               suppress_small: bool | None = None) -> str:
    """The text of repr(arr), with NumPy's options of its `array_repr`.

    >>> import numjet.numpy as jnp
    >>> array_repr(jnp.array([1.0, 0.5]), precision=3)
    'Array([1. , 0.5], dtype=float32)'
    """
    arr = array_arg("array_repr", arr)
    options: dict[str, Any] = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    with np.printoptions(**{k: v for k, v in options.items() if v is not None}):
        return repr(arr) if isinstance(arr, Tracer) else repr_array(arr, "\n")


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None,
              suppress_small: bool | None = None) -> str:
    """The text of str(a), with NumPy's options of its `array_str`.

    >>> import numjet.numpy as jnp
    >>> array_str(jnp.array([1.0, 0.5]))
    '[1.  0.5]'
    """
    a = array_arg("array_str", a)
    if isinstance(a, Tracer):
        return str(a)
    return np.array_str(np.asarray(a._value), max_line_width, precision, suppress_small)


printoptions = np.printoptions
set_printoptions = np.set_printoptions
get_printoptions = np.get_printoptions


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """The values as text, with the options of numpy.array2string.

    >>> import numjet.numpy as jnp
    >>> array2string(jnp.array([1, 2]), separator=",")
    '[1,2]'
    """
    return np.array2string(np.asarray(array_arg("array2string", a)), *args, **kwargs)
