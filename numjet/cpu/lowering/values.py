"""What lowering rules hold: scalars, and arrays that are definitions, registers or memory."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import Buffer, Expr
from numjet.cpu.lowering.index import Index

KEY_PARTS = np.dtype(np.uint32)


def parts_dtype(dtype: np.dtype) -> np.dtype | None:
    """The dtype of the two halves of a compound element: complex numbers and PRNG keys; None for real scalars."""
    if dtype.kind == "c":
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    if dtype.names is not None:
        return KEY_PARTS
    return None


class Scalar:
    """One real element: an expression and its builder. int64 scalars support index arithmetic."""

    __slots__ = ("b", "expr", "dtype")

    def __init__(self, b: Any, expr: Expr):
        self.b, self.expr, self.dtype = b, expr, expr.dtype

    def _index(self) -> Index:
        return self.b.terms.index(self)

    def __add__(self, other: Any) -> Index:
        return self._index() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Index:
        return self._index() - other

    def __rsub__(self, other: Any) -> Index:
        return self._index() * -1 + other

    def __mul__(self, other: Any) -> Index:
        return self._index() * other

    __rmul__ = __mul__

    def __floordiv__(self, n: int) -> Index:
        return self._index() // n

    def __mod__(self, n: int) -> Index:
        return self._index() % n

    def __lt__(self, other: Any) -> Scalar:
        return self.b.index_compare("lt", self, other)

    def __le__(self, other: Any) -> Scalar:
        return self.b.index_compare("le", self, other)

    def __gt__(self, other: Any) -> Scalar:
        return self.b.index_compare("gt", self, other)

    def __ge__(self, other: Any) -> Scalar:
        return self.b.index_compare("ge", self, other)

    def __repr__(self) -> str:
        return f"{self.expr}:{self.dtype}"


class Pair:
    """One compound element (complex number or PRNG key) as its two halves."""

    __slots__ = ("b", "parts", "dtype")

    def __init__(self, b: Any, first: Scalar, second: Scalar, dtype: np.dtype):
        self.b, self.parts, self.dtype = b, (first, second), dtype


class Storage:
    """Memory that holds an array in row-major order: a buffer from element `base` on.

    `owned`: the program may overwrite it once nobody reads it (temporaries, donated inputs, loop state).
    """

    __slots__ = ("buffer", "base", "owned")

    def __init__(self, buffer: Buffer, base: Index, owned: bool):
        self.buffer, self.base, self.owned = buffer, base, owned

    def same(self, other: Storage | None) -> bool:
        """Whether both begin at the same place."""
        return other is not None and other.buffer is self.buffer and other.base.expr is self.base.expr


class LoweredArray:
    """An array during lowering. Exactly one of these holds:
    fn: a definition, read by fn(*index); flat(k), where present, reads by row-major position;
    elems: its elements as scalars (small arrays), valid in `block` and the blocks inside it;
    storage: memory.
    """

    __slots__ = ("aval", "fn", "flat", "elems", "storage", "cost", "parents", "source", "block", "memo", "mutable",
                 "pointwise", "depth", "view", "holds", "pieces", "own")

    def __init__(self, aval: ShapedArray, fn: Any = None, *, flat: Any = None, elems: Any = None,
                 storage: Storage | None = None, cost: float = 0.0, parents: tuple[LoweredArray, ...] = (),
                 source: LoweredArray | None = None, block: Any = None):
        self.aval, self.fn, self.flat, self.elems = aval, fn, flat, elems
        self.storage: Any = storage  # a Storage, or None
        self.cost, self.parents, self.source, self.block = cost, parents, source, block
        self.own = max(0.0, cost - sum(p.cost for p in parents))  # without that of the parents
        self.memo: dict[Any, Any] = {}
        self.mutable = False
        self.pointwise = False
        self.view: tuple[LoweredArray, tuple[int, ...]] | None = None  # of a transpose: (array, permutation)
        self.holds: tuple[Buffer, ...] = ()  # large memory that a result of an equation reads, see frames
        self.pieces: tuple[Any, int] | None = None  # of a concatenation: (arrays, axis)
        self.depth: int = 1 + max((p.depth for p in parents), default=0)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    @property
    def lazy(self) -> bool:
        return self.elems is None and self.storage is None

    def place(self, *, elems: Any = None, storage: Storage | None = None, block: Any = None) -> None:
        """Turns a definition into registers or memory."""
        self.elems, self.storage, self.block = elems, storage, block
        self.fn = self.flat = self.source = self.view = self.pieces = None
        self.parents, self.cost, self.memo, self.pointwise, self.depth = (), 0.0, {}, False, 0

    def reachable(self) -> Iterator[LoweredArray]:
        """This array and all that its definition reads."""
        seen, stack = set(), [self]
        while stack:
            a = stack.pop()
            if id(a) in seen:
                continue
            seen.add(id(a))
            yield a
            stack.extend(a.parents)
            if a.source is not None:
                stack.append(a.source)

    def work(self) -> float:
        """As cost, but what is read in several places counts once, and what has been stored since not at all."""
        return sum(a.own for a in self.reachable() if a.lazy)

    def __repr__(self) -> str:
        how = "definition" if self.lazy else "registers" if self.elems is not None else f"in {self.storage.buffer}"
        return f"LoweredArray({self.aval}, {how})"


@functools.lru_cache(maxsize=4096)
def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def linear(shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    """Row-major position of a multi-index."""
    total: Any = 0
    for i, s in zip(index, strides(shape), strict=True):
        total = total + i * s if s != 1 else total + i
    return total


def delinearize(shape: tuple[int, ...], position: Any) -> tuple[Any, ...]:
    """Multi-index of a row-major position (int or Index)."""
    out = []
    for n in reversed(shape[1:]):
        position, rest = divmod(position, n) if isinstance(position, int) else position.divmod(n)
        out.append(rest)
    return (position, *reversed(out)) if shape else ()
