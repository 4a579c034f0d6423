"""Operators of arrays and tracers: the functions behind `x + y`, `x[0]` and `x < y`."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from numjet.api.eager_plans import taped
from numjet.core import transfers
from numjet.core.trace import EVAL, Array, aval_of, current_trace, is_array_like
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.numpy.core.arrays import astype
from numjet.numpy.fastpath import index as fast_index
from numjet.numpy.indexing import bounds
from numjet.numpy.indexing.guarded import check_index
from numjet.numpy.indexing.plan import as_entry
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.reduction import reductions
from numjet.numpy.ufuncs import arithmetic, logic
from numjet.runtime.eager_compile import LARGE

_KNOWN = frozenset((Array, bool, int, float, complex, np.ndarray))


def _binary(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """fn(self, other); NotImplemented for other classes than arrays and numbers, so that Python asks these."""
    def method(self: Any, other: Any) -> Any:
        if type(other) in _KNOWN or is_array_like(other):
            return fn(self, other)
        return NotImplemented
    return method


def _no_operand(symbol: str, left: str, right: str) -> TypeError:
    return TypeError(f"unsupported operand type(s) for {symbol}: {left!r} and {right!r}: use jnp.asarray(...) of it")


def _reflected(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) in _KNOWN or is_array_like(other):
            return fn(other, self)
        return NotImplemented
    return method


def _refusing(containers: tuple[type, ...], symbol: str, method: Callable[[Any, Any], Any],
              reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator that raises TypeError for containers. Where it refused them, Python would go on: == and != compare
    identities, + and * join and repeat lists."""
    def checked(self: Any, other: Any) -> Any:
        if type(other) in containers:
            names = ("ArrayImpl", type(other).__name__)
            raise _no_operand(symbol, *(names[::-1] if reflected else names))
        return method(self, other)
    return checked


def _also_of_float0(fn: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """== or !=, which NumPy answers for float0, whose elements hold nothing."""
    def method(self: Any, other: Any) -> Any:
        if self.dtype == dtypes.float0 and getattr(other, "dtype", None) == dtypes.float0:
            return ufunc(np.zeros(self.shape, bool), np.zeros(other.shape, bool))
        return fn(self, other)
    return method


_BOTH_SIDES: dict[str, Callable[[Any, Any], Any]] = {
    "sub": arithmetic.subtract, "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "divmod": arithmetic.divmod, "pow": arithmetic.power,
    "and": logic.bitwise_and, "or": logic.bitwise_or, "xor": logic.bitwise_xor,
    "lshift": logic.left_shift, "rshift": logic.right_shift,
}
_OF_SEQUENCES = [("add", "+", arithmetic.add), ("mul", "*", arithmetic.multiply)]
_EQUALITIES = [("eq", "==", _also_of_float0(logic.equal, np.equal)),
               ("ne", "!=", _also_of_float0(logic.not_equal, np.not_equal))]
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "lt": logic.less, "le": logic.less_equal, "gt": logic.greater, "ge": logic.greater_equal,
}


def _row_reader() -> Callable[[Any, int], Any]:
    """What reads a row: natively, unless the guard of transfers would ask for an index, which no user gives."""
    return operator.getitem if transfers.unguarded() else getitem


def _iterate(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    read = _row_reader()
    return (read(self, i) for i in range(len(self)))


def _reversed(self: Any) -> Iterator[Any]:
    read = _row_reader()
    return (read(self, i) for i in reversed(range(len(self))))


def _getitem(self: Any, idx: Any) -> Any:
    check_index(self, idx)
    found = fast_index.read(self, idx)
    if found is not None:
        return found
    return _read(self, idx if config.index_checks == "off" else bounds.check(self, idx))


def _read(x: Any, idx: Any) -> Any:
    """x[idx], with tapes where the index consists of arrays, numbers, which count as arrays beside these, and slices, which are
    a static layout of the read."""
    entries = idx if type(idx) is tuple else (idx,)
    if type(x) is not Array or current_trace() is not EVAL or not all(type(e) in _LAID_OUT for e in entries):
        return getitem(x, idx)
    parts = [np.asarray(as_entry(e)) if type(e) is int else e for e in entries]
    layout = [(e.start, e.stop, e.step) if type(e) is slice else None if type(e) in _INDEX_ARRAYS else (e,) for e in parts]
    arrays = tuple([e for e in parts if type(e) in _INDEX_ARRAYS])
    if any(a.size >= LARGE for a in (x, *arrays)):   # one compiled program already
        return getitem(x, idx)
    return _read_arrays(x, tuple(layout), arrays)


def read_laid_out(self: Any, idx: Any) -> Any:
    """self[idx] in a derivative, with a pattern of it where the index has no arrays: all of it is its static layout."""
    check_index(self, idx)
    entries = idx if type(idx) is tuple else (idx,)
    if config.index_checks != "off" or any(type(e) not in _LAID_OUT or type(e) in _INDEX_ARRAYS for e in entries):
        return _getitem(self, idx)
    return _read_arrays(self, tuple([(e.start, e.stop, e.step) if type(e) is slice else (e,) for e in entries]), ())


def _read_laid_out(x: Any, layout: tuple[Any, ...], arrays: tuple[Any, ...]) -> Any:
    """x at arrays of indices, between slices, None and `...`."""
    left = iter(arrays)
    return getitem(x, tuple([next(left) if e is None else slice(*e) if len(e) == 3 else e[0] for e in layout]))


_INDEX_ARRAYS = (Array, np.ndarray)
_LAID_OUT = frozenset((*_INDEX_ARRAYS, int, slice, type(None), type(Ellipsis)))
_read_arrays = taped(_read_laid_out, ("x", "arrays"))


def _refuse_setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError("JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
                    "x = x.at[idx].set(y) or another .at[] method: a new array, and under jit no copy.")


def _round(self: Any, ndigits: int | None = None) -> Any:
    return astype(arithmetic.round(self), int) if ndigits is None else arithmetic.round(self, ndigits)


def _contains(self: Any, item: Any) -> bool:
    """Whether a number is among the elements of a vector."""
    if not is_array_like(item):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(item)}.")
    if self.ndim != 1:
        raise ValueError(f"Array.__contains__: search array must be one-dimensional, got arr.shape={self.shape}. Use "
                         "(x == value).any().")
    if aval_of(item).shape:
        raise ValueError(f"Array.__contains__: query value must be a scalar, got shape {aval_of(item).shape}. Use jnp.isin.")
    return bool(reductions.any(logic.equal(self, item)))


OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": _binary(fn) for name, fn in (_BOTH_SIDES | _ORDER).items()},
    **{f"__r{name}__": _reflected(fn) for name, fn in _BOTH_SIDES.items()},
    **{f"__{name}__": _refusing((list, tuple, set, dict), symbol, _binary(fn)) for name, symbol, fn in _EQUALITIES},
    **{f"__{name}__": _refusing((list, tuple), symbol, _binary(fn)) for name, symbol, fn in _OF_SEQUENCES},
    **{f"__r{name}__": _refusing((list, tuple), symbol, _reflected(fn), True) for name, symbol, fn in _OF_SEQUENCES},
    "__neg__": arithmetic.negative, "__pos__": arithmetic.positive, "__abs__": arithmetic.absolute, "__invert__": logic.invert,
    "__getitem__": _getitem, "__setitem__": _refuse_setitem, "__iter__": _iterate, "__round__": _round,
}
SEQUENCES = {"__contains__": _contains, "__reversed__": _reversed}
