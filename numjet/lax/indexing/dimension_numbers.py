"""Addressing of gather and scatter: dimension numbers, modes, and the windows that they describe.

Both operations relate an operand to an array of windows (the result of a gather, the updates of a scatter). Each
index vector (the last axis of the indices) says where one window starts. `Windows` holds this relation and turns it
into NumPy index arrays (`rows`) and into scalar indices for a lowering rule (`starts`, `inside`, `position`).
Source of the semantics: the gather and scatter sections of the published XLA operation semantics.
"""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from numjet.core.printing_rules import register_parameter_type

Ints = tuple[int, ...]
_INT64 = np.dtype(np.int64)
_INT64_MAX = np.iinfo(np.int64).max


@register_parameter_type
class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result correspond in a gather.

    Attributes:
      offset_dims: axes of the result that run within a window, ascending.
      collapsed_slice_dims: axes of the operand (of window size 1) that the result does not have, ascending.
      start_index_map: axis of the operand that each component of an index vector counts along.
      operand_batching_dims: axes of the operand that are paired with an axis of the indices, ascending.
      start_indices_batching_dims: these axes of the indices, in the same order.
    """
    offset_dims: Ints
    collapsed_slice_dims: Ints
    start_index_map: Ints
    operand_batching_dims: Ints = ()
    start_indices_batching_dims: Ints = ()


@register_parameter_type
class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates correspond in a scatter.

    Attributes:
      update_window_dims: axes of the updates that run within a window, ascending.
      inserted_window_dims: axes of the operand (of window size 1) that the updates do not have, ascending.
      scatter_dims_to_operand_dims: axis of the operand that each component of an index vector counts along.
      operand_batching_dims: axes of the operand that are paired with an axis of the indices, ascending.
      scatter_indices_batching_dims: these axes of the indices, in the same order.
    """
    update_window_dims: Ints
    inserted_window_dims: Ints
    scatter_dims_to_operand_dims: Ints
    operand_batching_dims: Ints = ()
    scatter_indices_batching_dims: Ints = ()


@register_parameter_type
class GatherScatterMode(enum.Enum):
    """The treatment of windows that are not within the operand.

    CLIP: they are moved until they are. FILL_OR_DROP: a gather gives fill values, a scatter drops them.
    PROMISE_IN_BOUNDS: there are none; of a broken promise comes what comes in JAX: a gather moves them, a scatter drops them,
    and so the derivative of a gather is without them. ONE_HOT: as FILL_OR_DROP with fill value 0.
    """
    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode of that name ("clip", "fill", "drop", "promise_in_bounds", "one_hot"); None is FILL_OR_DROP.

        >>> GatherScatterMode.from_any("clip")
        <GatherScatterMode.CLIP: 1>
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is not None and not (isinstance(s, str) and s in _MODES):
            raise ValueError(f'Unknown gather mode "{s}": expected one of {sorted(_MODES)}')
        return GatherScatterMode.FILL_OR_DROP if s is None else _MODES[s]


_MODES = {"clip": GatherScatterMode.CLIP, "fill": GatherScatterMode.FILL_OR_DROP,
          "drop": GatherScatterMode.FILL_OR_DROP, "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
          "one_hot": GatherScatterMode.ONE_HOT}


def fills(mode: GatherScatterMode) -> bool:
    """Whether a gather gives fill values for windows out of bounds, rather than moving them inside."""
    return mode in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT)


def drops(mode: GatherScatterMode) -> bool:
    """Whether a scatter leaves windows out of bounds out, rather than moving them inside."""
    return mode is not GatherScatterMode.CLIP


def as_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads what the scatter writes."""
    return GatherDimensionNumbers(*numbers)


def as_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes what the gather reads."""
    return ScatterDimensionNumbers(*numbers)


def window_sizes(operand: Sequence[int], updates: Sequence[int], numbers: ScatterDimensionNumbers) -> Ints:
    """Size of a scatter's windows per axis of the operand, from the shapes of operand and updates."""
    lengths = iter(numbers.update_window_dims)
    hidden = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    return tuple(1 if d in hidden else updates[next(lengths)] for d in range(len(operand)))


def shifted(numbers: Any, *, operand: bool, indices: bool) -> Any:
    """Dimension numbers with a batch axis in front of the result (or updates), and of operand and/or indices."""
    window, collapsed, index_map, operand_batch, index_batch = numbers
    up = lambda dims, by: tuple(d + by for d in dims)
    if operand and indices:
        return type(numbers)(up(window, 1), up(collapsed, 1), up(index_map, 1), (0, *up(operand_batch, 1)),
                             (0, *up(index_batch, 1)))
    window = (0, *up(window, 1)) if operand else up(window, 1)
    return type(numbers)(window, up(collapsed, operand), up(index_map, operand), up(operand_batch, operand),
                         up(index_batch, indices))


class Windows:
    """The windows of one gather or scatter.

    operand: shape of the operand. sizes: window size per axis of the operand. numbers: as of a gather.
    shape: of the array of windows (result or updates).
    """

    __slots__ = ("batch_dims", "batch_of", "numbers", "offset_of", "operand", "shape", "sizes")

    def __init__(self, operand: Ints, indices: Ints, sizes: Ints, numbers: GatherDimensionNumbers):
        self.operand, self.sizes, self.numbers = operand, sizes, numbers
        hidden = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        window_axes = [d for d in range(len(operand)) if d not in hidden]
        self.offset_of = dict(zip(window_axes, numbers.offset_dims, strict=True))
        rank = len(indices) - 1 + len(numbers.offset_dims)
        self.batch_dims = tuple(d for d in range(rank) if d not in numbers.offset_dims)
        self.batch_of = {d: self.batch_dims[s] for d, s in
                         zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)}
        lengths = dict(zip(self.batch_dims, indices, strict=False))
        lengths.update((out, sizes[axis]) for axis, out in self.offset_of.items())
        self.shape = tuple(lengths[d] for d in range(rank))

    @property
    def limits(self) -> Ints:
        """Largest start in bounds, per component of an index vector."""
        return tuple(self.operand[d] - self.sizes[d] for d in self.numbers.start_index_map)

    # -- NumPy ---------------------------------------------------------------------------------------------------
    def rows(self, indices: np.ndarray) -> Rows:
        """The windows as rows of the operand: see Rows."""
        return Rows(self, indices)

    # -- lowering rules ------------------------------------------------------------------------------------------
    def starts(self, b: Any, indices: Any, index: Sequence[Any]) -> list[Any]:
        """The index vector of the window to which element `index` of the windows belongs, as int64 scalars."""
        batch = [index[d] for d in self.batch_dims]
        return [as_index(b, b.read(indices, *batch, k)) for k in range(len(self.numbers.start_index_map))]

    def inside(self, b: Any, starts: Sequence[Any]) -> Any:
        """Whether the window is within the operand: a bool scalar."""
        ok = b.const(True, np.bool_)
        for start, limit in zip(starts, self.limits, strict=True):
            low, high = b.compare("ge", start, b.const(0, _INT64)), b.compare("le", start, b.const(limit, _INT64))
            ok = b.prim("and", ok, b.prim("and", low, high))
        return ok

    def clipped(self, b: Any, starts: Sequence[Any]) -> list[Any]:
        """The starts, moved into bounds."""
        return [clip_index(b, s, limit) for s, limit in zip(starts, self.limits, strict=True)]

    def inside_hlo(self, b: Any, indices: Any) -> Any:
        """Whether each element belongs to a window within the operand: bools of `shape`, by an HloBuilder."""
        top = int(np.iinfo(indices.dtype).max)
        limits = b.constant([min(n, top) for n in self.limits], indices.dtype)
        high = b.compare("le", indices, b.broadcast(limits, indices.shape))
        ok = b.binary("and", b.compare("ge", indices, b.full(indices.shape, 0, indices.dtype)), high)
        return b.broadcast(b.reduce("and", ok, (indices.ndim - 1,), True), self.shape, self.batch_dims)

    def clipped_hlo(self, b: Any, indices: Any) -> Any:
        """Index vectors moved into bounds, by an HloBuilder."""
        top = int(np.iinfo(indices.dtype).max)
        limits = b.constant([min(n, top) for n in self.limits], indices.dtype)
        low = b.binary("maximum", indices, b.full(indices.shape, 0, indices.dtype))
        return b.binary("minimum", low, b.broadcast(limits, indices.shape))

    def position(self, starts: Sequence[Any], index: Sequence[Any]) -> list[Any]:
        """The index in the operand of element `index` of the windows."""
        start_of = dict(zip(self.numbers.start_index_map, starts, strict=True))
        found = []
        for axis in range(len(self.operand)):
            terms = [start_of[axis]] if axis in start_of else []
            source = self.offset_of.get(axis, self.batch_of.get(axis))
            terms += [] if source is None else [index[source]]
            found.append(0 if not terms else terms[0] if len(terms) == 1 else terms[0] + terms[1])
        return found


def windows_attribute(numbers: GatherDimensionNumbers, rank: int, *, gather: bool) -> str:
    """The dimension numbers as StableHLO writes them, for indices of `rank`."""
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims")
    if not gather:
        names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
                 "scatter_indices_batching_dims")
    order = (0, 1, 3, 4, 2)  # as its parser reads them
    parts = [f"{names[k]} = {list(numbers[k])}" for k in order if numbers[k]]
    return f"#stablehlo.{'gather' if gather else 'scatter'}<{', '.join([*parts, f'index_vector_dim = {rank - 1}'])}>"


class Rows:
    """The operand seen as rows: axes that windows cover completely stay, all others are addressed.

    positions: per addressed axis the index of every row, in order. valid: which rows belong to windows within bounds (the
    positions of others are clipped).
    """

    __slots__ = ("addressed", "lengths", "positions", "valid", "whole", "windows")

    def __init__(self, windows: Windows, indices: np.ndarray):
        self.windows = windows
        rank = len(windows.operand)
        self.whole = [d for d in windows.offset_of if windows.sizes[d] == windows.operand[d]]
        self.addressed = [d for d in range(rank) if d not in self.whole]
        partial = [d for d in windows.offset_of if d not in self.whole]
        batch = indices.shape[:-1]
        self.lengths = (*batch, *(windows.sizes[d] for d in partial))
        extend = lambda a: np.reshape(a, (*np.shape(a), *(1,) * len(partial)))
        starts = _wide(indices)
        limits = np.array(windows.limits, np.int64)
        self.valid = self._flat(extend(((starts >= 0) & (starts <= limits)).all(-1)))
        starts = np.clip(starts, 0, limits)
        start_of = {d: starts[..., k] for k, d in enumerate(windows.numbers.start_index_map)}
        self.positions = []
        for d in self.addressed:
            position = extend(start_of.get(d, np.zeros((1,) * len(batch), np.int64)))
            if d in windows.batch_of:
                position = position + _along(len(self.lengths), windows.batch_dims.index(windows.batch_of[d]), self.lengths)
            elif d in partial:
                position = position + _along(len(self.lengths), len(batch) + partial.index(d), self.lengths)
            self.positions.append(self._flat(position))
        if not self.addressed:
            self.positions.append(np.zeros(self.valid.shape, np.int64))

    def _flat(self, a: np.ndarray) -> np.ndarray:
        return np.broadcast_to(a, self.lengths).reshape(-1)

    def view(self, operand: np.ndarray) -> np.ndarray:
        """The operand with its addressed axes in front (one of size 1 if there is none); no copy."""
        seen = operand.transpose(*self.addressed, *self.whole)
        return seen if self.addressed else seen[None]

    def _order(self) -> list[int]:
        """Axis of the array of windows for each axis of (batch..., partial..., whole...)."""
        windows = self.windows
        partial = [d for d in windows.offset_of if d not in self.whole]
        return [*windows.batch_dims, *(windows.offset_of[d] for d in (*partial, *self.whole))]

    def to_windows(self, rows: np.ndarray) -> np.ndarray:
        """Rows in order, as the array of windows."""
        parts = rows.reshape((*self.lengths, *rows.shape[1:]))
        return parts.transpose(np.argsort(self._order())) if parts.ndim else parts

    def from_windows(self, updates: np.ndarray) -> np.ndarray:
        """The array of windows, as rows in order."""
        parts = updates.transpose(self._order())
        return parts.reshape((self.valid.size, *parts.shape[len(self.lengths):]))


def _along(rank: int, axis: int, lengths: Sequence[int]) -> np.ndarray:
    """0, 1, 2, ... along one of `rank` axes."""
    return np.arange(lengths[axis]).reshape([-1 if i == axis else 1 for i in range(rank)])


def _wide(indices: np.ndarray) -> np.ndarray:
    """Indices as int64; those too large for it stay out of bounds."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(_INT64_MAX))
    return indices.astype(np.int64)


def as_index(b: Any, x: Any) -> Any:
    """A scalar of any integer dtype as an index (int64); those too large for it stay out of bounds."""
    if x.dtype == np.uint64:
        x = b.prim("min", x, b.const(_INT64_MAX, np.uint64))
    return b.convert(x, _INT64)


def wide_indices(b: Any, x: Any) -> Any:
    """Indices of an HloBuilder as int32 or int64; those too large for it stay out of bounds."""
    if x.dtype == np.int32:
        return x
    if x.dtype == np.uint64:
        x = b.binary("minimum", x, b.full(x.shape, _INT64_MAX, np.uint64))
    return b.convert(x, _INT64)


def clip_index(b: Any, x: Any, limit: int) -> Any:
    """An index moved into 0 ... limit."""
    return b.prim("max", b.prim("min", x, b.const(limit, _INT64)), b.const(0, _INT64))
