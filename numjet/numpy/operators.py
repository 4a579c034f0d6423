"""The operators of arrays and tracers: what `x + y`, `x[0]` and `x < y` call."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from numjet.core.trace import Array, is_array_like
from numjet.numpy import reductions, ufuncs, ufuncs_logic
from numjet.numpy.arrays import astype
from numjet.numpy.indexing import getitem

_KNOWN = frozenset((Array, bool, int, float, complex, np.ndarray))


def _binary(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """fn(self, other); other classes than arrays and numbers get their turn."""
    def method(self: Any, other: Any) -> Any:
        if type(other) in _KNOWN or is_array_like(other):
            return fn(self, other)
        return NotImplemented
    return method


def _reflected(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) in _KNOWN or is_array_like(other):
            return fn(other, self)
        return NotImplemented
    return method


_BOTH_SIDES: dict[str, Callable[[Any, Any], Any]] = {
    "add": ufuncs.add, "sub": ufuncs.subtract, "mul": ufuncs.multiply, "truediv": ufuncs.true_divide,
    "floordiv": ufuncs.floor_divide, "mod": ufuncs.remainder, "divmod": ufuncs.divmod, "pow": ufuncs.power,
    "and": ufuncs_logic.bitwise_and, "or": ufuncs_logic.bitwise_or, "xor": ufuncs_logic.bitwise_xor,
    "lshift": ufuncs_logic.left_shift, "rshift": ufuncs_logic.right_shift,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": ufuncs_logic.equal, "ne": ufuncs_logic.not_equal, "lt": ufuncs_logic.less, "le": ufuncs_logic.less_equal,
    "gt": ufuncs_logic.greater, "ge": ufuncs_logic.greater_equal,
}


def _iterate(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return (getitem(self, i) for i in range(self.shape[0]))


def _getitem(self: Any, idx: Any) -> Any:
    return getitem(self, idx)


def _refuse_setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError("JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
                    "x = x.at[idx].set(y) or another .at[] method: a new array, and under jit no copy.")


def _round(self: Any, ndigits: int | None = None) -> Any:
    return astype(ufuncs.round(self), int) if ndigits is None else ufuncs.round(self, ndigits)


def _contains(self: Any, item: Any) -> bool:
    return bool(reductions.any(ufuncs_logic.equal(self, item)))


OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": _binary(fn) for name, fn in (_BOTH_SIDES | _COMPARISONS).items()},
    **{f"__r{name}__": _reflected(fn) for name, fn in _BOTH_SIDES.items()},
    "__neg__": ufuncs.negative, "__pos__": ufuncs.positive, "__abs__": ufuncs.absolute, "__invert__": ufuncs_logic.invert,
    "__getitem__": _getitem, "__setitem__": _refuse_setitem, "__iter__": _iterate, "__round__": _round,
}
CONTAINS = {"__contains__": _contains}
