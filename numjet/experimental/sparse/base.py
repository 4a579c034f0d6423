"""What all sparse arrays have: shape, dtype, and their text."""
from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from numjet.api.transfer import block_until_ready
from numjet.core.trace import Tracer


class JAXSparse(abc.ABC):
    """A sparse array: a pytree of buffers with a shape.

    Operators that a format lacks raise NotImplementedError, which names them.
    """

    data: Any
    shape: tuple[int, ...]
    nse: Any
    dtype: Any
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]):
        self.shape = tuple(int(s) for s in shape)

    size = property(lambda self: prod(self.shape), doc="The number of elements, zeros included.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    T = property(lambda self: self.transpose(), doc="The array with its axes reversed.")

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def _bufs(self) -> tuple[Any, ...]:
        """The buffers."""
        return tuple(self.tree_flatten()[0])

    def _layout_text(self) -> str:
        """What the text says besides type and shape."""
        return f"nse={self.nse}"

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            text = f"{name}({self.dtype}{list(self.shape)}, {self._layout_text()})"
        except (AttributeError, IndexError, TypeError):  # the buffers are no arrays: a pytree of something else
            return f"{name}(<invalid>)"
        traced = next((b for b in self._bufs if isinstance(b, Tracer)), None)
        return text if traced is None else f"{type(traced).__name__}[{text}]"

    @abc.abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The buffers, and what else the array consists of."""

    @classmethod
    @abc.abstractmethod
    def tree_unflatten(cls, aux_data: Any, children: Sequence[Any]) -> Any:
        """The inverse of tree_flatten."""

    @abc.abstractmethod
    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """The array with permuted axes."""

    @abc.abstractmethod
    def todense(self) -> Any:
        """The dense array."""

    def block_until_ready(self) -> Any:
        """The array, when its buffers are computed."""
        for buffer in self._bufs:
            block_until_ready(buffer)
        return self

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """The sum over axes."""
        raise self._missing("sum")

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__}.{name} is not implemented. BCOO has it: convert the array, or use "
                                   "todense() if dense results are wanted.")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))  # type: ignore[index]


def _refused(name: str) -> Any:
    def method(self: JAXSparse, *args: Any) -> Any:
        raise self._missing(name)

    method.__name__ = name
    return method


for _name in ("neg", "pos", "matmul", "rmatmul", "mul", "rmul", "add", "radd", "sub", "rsub", "getitem", "truediv", "pow",
              "abs"):
    setattr(JAXSparse, f"__{_name}__", _refused(f"__{_name}__"))
