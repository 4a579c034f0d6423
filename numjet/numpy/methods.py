"""Operators and methods of arrays and tracers: what `x + y`, `x.sum()` and `x[0]` call."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.trace import Array, Tracer, is_array_like
from numjet.numpy import arrays, choosing, printing, reductions, statistics, ufuncs, ufuncs_logic
from numjet.numpy.index_update import IndexUpdateHelper
from numjet.numpy.indexing import getitem

_KNOWN = frozenset((Array, bool, int, float, complex, np.ndarray))


# -------------------------------------------------------------------------------------------- operators

def _binary(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
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
    "add": ufuncs._add, "sub": ufuncs._subtract, "mul": ufuncs._multiply, "truediv": ufuncs.true_divide,
    "floordiv": ufuncs.floor_divide, "mod": ufuncs.remainder, "divmod": ufuncs.divmod, "pow": ufuncs.power,
    "and": ufuncs_logic._bitwise_and, "or": ufuncs_logic._bitwise_or, "xor": ufuncs_logic._bitwise_xor,
    "lshift": ufuncs_logic.left_shift, "rshift": ufuncs_logic.right_shift,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": ufuncs_logic.equal, "ne": ufuncs_logic.not_equal, "lt": ufuncs_logic.less, "le": ufuncs_logic.less_equal,
    "gt": ufuncs_logic.greater, "ge": ufuncs_logic.greater_equal,
}


def _iterate(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return iter([getitem(self, i) for i in builtins.range(self.shape[0])])


def _refuse_setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError("JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
                    "x = x.at[idx].set(y) or another .at[] method: a new array, and under jit no copy.")


def _round(self: Any, ndigits: int | None = None) -> Any:
    if ndigits is None:
        return arrays.astype(ufuncs.round(self), int)
    return ufuncs.round(self, ndigits)


def _contains(self: Any, item: Any) -> bool:
    return bool(reductions.any(ufuncs_logic.equal(self, item)))


OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": _binary(fn) for name, fn in (_BOTH_SIDES | _COMPARISONS).items()},
    **{f"__r{name}__": _reflected(fn) for name, fn in _BOTH_SIDES.items()},
    "__neg__": ufuncs._negative, "__pos__": ufuncs.positive, "__abs__": ufuncs.absolute, "__invert__": ufuncs_logic.invert,
    "__getitem__": lambda self, idx: getitem(self, idx), "__setitem__": _refuse_setitem, "__iter__": _iterate,
    "__round__": _round,
}


def _method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first argument is the array, as a method."""
    return fn


METHODS: dict[str, Any] = {
    "__contains__": _contains,
    "at": property(IndexUpdateHelper, doc="Updates: x.at[idx].set(y), .add(y), ..., each a new array."),
    "sum": reductions.sum, "prod": reductions.prod, "max": reductions.max, "min": reductions.min, "any": reductions.any,
    "all": reductions.all, "argmax": reductions.argmax, "argmin": reductions.argmin, "ptp": reductions.ptp,
    "mean": statistics.mean, "var": statistics.var, "std": statistics.std,
    "astype": arrays.astype, "copy": arrays.copy, "clip": choosing.clip, "round": ufuncs.round,
    "conj": ufuncs.conjugate, "conjugate": ufuncs.conjugate, "real": property(ufuncs.real), "imag": property(ufuncs.imag),
}


def _install() -> None:
    for name, fn in OPERATORS.items():
        _native.set_hook(name, fn)
    _native.set_hook("__repr__", printing.repr_array)
    _native.set_hook("__str__", printing.str_array)
    _native.set_hook("aval", ShapedArray)
    hooks.set_methods(METHODS, Array)
    hooks.set_methods(OPERATORS | METHODS, Tracer)


_install()
