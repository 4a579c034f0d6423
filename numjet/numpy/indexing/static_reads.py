"""Static reads: x[idx] by known integers and slices, as one slice, rev and squeeze, and new axes.

What an index means for a shape is planned once: programs with unrolled loops read `y[0]`, `y[1]`, ... thousands of times.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from numjet import lax
from numjet.core.trace import Tracer
from numjet.foundation.dimension import is_symbolic, largest, smallest
from numjet.foundation.memo import memoized
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.shape.rearrange import squeeze_p
from numjet.numpy.indexing.plan import Advanced, Basic, Plan, plan_index

_BOUND = frozenset((int, type(None)))
_ENTRY = frozenset((int, type(None), type(Ellipsis)))


class Steps(NamedTuple):
    """What is done one after the other; None or () for what is left out. cut: parameters of a slice."""

    cut: dict[str, Any] | None
    reversed: tuple[int, ...]
    squeezed: tuple[int, ...]
    new: tuple[int, ...]

    def apply(self, x: Any) -> Any:
        """The part of x."""
        if self.cut is not None:
            x = slice_p.bind(x, **self.cut)
        if self.reversed:
            x = lax.rev(x, self.reversed)
        if self.squeezed:
            x = squeeze_p.bind(x, dimensions=self.squeezed)
        return lax.expand_dims(x, self.new) if self.new else x


def read(x: Any, idx: Any) -> Any:
    """x[idx] for a traced array and an index of known integers in bounds, slices, None and `...`; None for all else."""
    if not isinstance(x, Tracer):
        return None
    key = _key(idx)
    shape = x.aval.shape
    if key is None or is_symbolic(shape):
        return None
    steps = _steps(shape, key)
    return steps.apply(x) if steps else None


def _key(idx: Any) -> tuple[Any, ...] | None:
    """An index that can be a key; None for one with other entries than integers, slices of integers, None and `...`."""
    found: list[Any] = []
    for entry in idx if type(idx) is tuple else (idx,):
        if type(entry) in _ENTRY:
            found.append(entry)
        elif type(entry) is slice and {type(entry.start), type(entry.stop), type(entry.step)} <= _BOUND:
            found.append((entry.start, entry.stop, entry.step))
        else:
            return None
    return tuple(found)


@memoized("static reads", 4096)
def _steps(shape: tuple[int, ...], key: tuple[Any, ...]) -> Steps | tuple[()]:
    """The steps of a read; () where an integer is out of bounds."""
    plan = plan_index(shape, tuple(slice(*e) if type(e) is tuple else e for e in key))
    return steps_of(plan, True) if in_bounds(plan, True) else ()


def in_bounds(plan: Plan, wrap: bool) -> bool:
    """Whether all integers of a static plan are. wrap: negative ones count from the end."""
    return all((-plan.shape[e.axis] if wrap else 0) <= e.index < plan.shape[e.axis] for e in plan.advanced)


def steps_of(plan: Plan, wrap: bool) -> Steps:
    """The steps of a static plan; integers are clipped into bounds."""
    starts, limits, strides = [0] * len(plan.shape), list(plan.shape), [1] * len(plan.shape)
    for e in plan.entries:
        if isinstance(e, Basic):
            starts[e.axis], limits[e.axis], strides[e.axis] = e.low, e.low + e.span, abs(e.step)
        elif isinstance(e, Advanced):
            starts[e.axis] = _clip(e, plan.shape[e.axis], wrap)
            limits[e.axis] = starts[e.axis] + 1
    dense = all(s == 1 for s in strides)
    cuts = not dense or any(s != 0 for s in starts) or tuple(limits) != plan.shape
    cut = {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": None if dense else tuple(strides)}
    return Steps(cut if cuts else None, tuple(e.axis for e in plan.basic if e.step < 0),
                 tuple(sorted(e.axis for e in plan.advanced)),
                 tuple(i for i, (kind, _, _) in enumerate(plan.layout) if kind == "new"))


def _clip(e: Advanced, size: int, wrap: bool) -> int:
    """A known integer, clipped into bounds."""
    index = e.index + size if e.index < 0 and wrap else e.index
    return smallest(largest(index, 0), size - 1)
