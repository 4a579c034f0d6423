"""Methods of arrays for shapes and products: x.reshape(2, -1), x.T, x @ y, ..."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.core.trace import is_array_like
from numjet.foundation import lazy_import
from numjet.numpy.contraction import dot
from numjet.numpy.shaping import manipulation

selection = lazy_import.Module("numjet.numpy.indexing.selection")


def _reshape(self: Any, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The same elements in another shape: sizes, or one sequence of them."""
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(self, shape, order, copy=copy, out_sharding=out_sharding)


def _transpose(self: Any, *args: Any) -> Any:
    """The axes in another order: axes, one sequence of them, or nothing for the reverse order."""
    axes = None if not args or args == (None,) else args[0] if len(args) == 1 and hasattr(args[0], "__len__") else args
    return manipulation.transpose(self, axes)


def _matmul(swap: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not is_array_like(other):
            return NotImplemented
        return dot.matmul(other, self) if swap else dot.matmul(self, other)
    return method


def _compress(self: Any, condition: Any, axis: int | None = None, *, out: None = None, size: int | None = None,
              fill_value: Any = 0) -> Any:
    """The parts where the condition holds."""
    return selection.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


OPERATORS: dict[str, Any] = {"__matmul__": _matmul(False), "__rmatmul__": _matmul(True)}
METHODS: dict[str, Any] = {
    "reshape": _reshape, "transpose": _transpose, "T": property(_transpose), "mT": property(manipulation.matrix_transpose),
    "ravel": manipulation.ravel, "flatten": manipulation.ravel, "squeeze": manipulation.squeeze,
    "swapaxes": manipulation.swapaxes, "dot": dot.dot, "compress": _compress,
}
