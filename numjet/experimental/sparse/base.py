"""What all sparse arrays have: shape, dtype, and their text."""
from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, ClassVar, Self

from numjet.api.transfer import block_until_ready
from numjet.core.trace import Tracer
from numjet.experimental.sparse.util import SparseInfo


class JAXSparse(abc.ABC):
    """A sparse array: a pytree of buffers with a shape.

    `_buffers` names the attributes that hold the buffers, `_statics` those of the structure. Operators that
    a format lacks raise NotImplementedError, which names them.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> isinstance(sparse.BCOO.fromdense(jnp.eye(2)), JAXSparse)
    True
    """

    data: Any
    shape: tuple[int, ...]
    nse: Any
    _buffers: ClassVar[tuple[str, ...]]
    _statics: ClassVar[tuple[str, ...]] = ("shape",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]):
        self.shape = tuple(int(s) for s in shape)

    size = property(lambda self: prod(self.shape), doc="The number of elements, zeros included.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    dtype = property(lambda self: self.data.dtype, doc="The dtype of the data.")
    T = property(lambda self: self.transpose(), doc="The array with its axes reversed.")

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def _bufs(self) -> tuple[Any, ...]:
        """The buffers."""
        return tuple(getattr(self, name) for name in self._buffers)

    @property
    def _info(self) -> tuple[Any, ...]:
        """What else the array consists of."""
        return tuple(getattr(self, name) for name in self._statics)

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
        return text if traced is None else f"{repr(traced).partition('(')[0]}[{text}]"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The buffers, and what else the array consists of."""
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: tuple[Any, ...], children: Sequence[Any]) -> Self:
        """The inverse of tree_flatten."""
        made = object.__new__(cls)
        made.__dict__.update(zip((*cls._buffers, *cls._statics), (*children, *aux_data), strict=True))
        return made

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


class Batched(JAXSparse):
    """An array with batch axes in front of the sparse ones, and dense axes behind them."""

    indices: Any
    indices_sorted: bool
    unique_indices: bool
    n_batch: Any
    _statics = SparseInfo._fields

    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch, doc="The number of dense axes, which come last.")

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def _layout_text(self) -> str:
        extra = [f"{name}={count}" for name, count in (("n_batch", self.n_batch), ("n_dense", self.n_dense)) if count]
        return ", ".join([f"nse={self.nse}", *extra])


def _refused(name: str) -> Any:
    def method(self: JAXSparse, *args: Any) -> Any:
        raise self._missing(name)

    method.__name__ = name
    return method


for _name in ("neg", "pos", "matmul", "rmatmul", "mul", "rmul", "add", "radd", "sub", "rsub", "getitem", "truediv", "pow",
              "abs"):
    setattr(JAXSparse, f"__{_name}__", _refused(f"__{_name}__"))
