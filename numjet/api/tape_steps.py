"""The steps of a tape while it is written, and the values that they read and give."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.runtime.device import CPU

_MOST_STEPS = 1024


class Unsuited(Exception):
    """A call that has no tape, or an operation that has no steps of its own."""


class _Step:
    __slots__ = ("avals", "ins", "kind", "more", "outs")

    def __init__(self, kind: str, ins: tuple[int, ...], avals: tuple[ShapedArray, ...], more: Any, outs: tuple[int, ...]):
        self.kind, self.ins, self.avals, self.more, self.outs = kind, ins, avals, more, outs


class Steps:
    """Values by number, each of an input, a constant or a step; equal constants and equal steps are one."""

    def __init__(self) -> None:
        self.values: list[np.ndarray] = []
        self.inputs: list[int] = []
        self.constants: dict[int, Any] = {}   # arrays, by number
        self.steps: list[_Step] = []
        self.found: dict[Any, int] = {}   # numbers of constants and of results, by what they are made of

    def input(self, value: np.ndarray) -> int:
        """The number of the next argument."""
        self.inputs.append(self._add(value))
        return self.inputs[-1]

    def constant(self, value: np.ndarray) -> int:
        """The number of a known value."""
        key = (value.dtype, value.shape, value.tobytes())
        if key not in self.found:
            kept = contiguous(value.copy())
            self.found[key] = self._add(kept)
            self.constants[self.found[key]] = _native.from_numpy(kept, ShapedArray(value.shape, value.dtype), CPU)
        return self.found[key]

    def write(self, kind: str, ins: tuple[int, ...], more: Any, out: Any) -> int:
        """The number of the result of a native step. Raises Unsuited where an operand of a loop is neither of its shape nor of
        rank 0, and where there are too many steps."""
        out = np.asarray(out)
        key = (kind, ins, more, out.dtype, out.shape)
        if key in self.found:
            return self.found[key]
        if kind in ("loop", "select") and not all(self.values[n].shape in (out.shape, ()) for n in ins):
            raise Unsuited
        (number,) = self.append(kind, ins, (ShapedArray(out.shape, out.dtype),), more, [out])
        self.found[key] = number
        return number

    def append(self, kind: str, ins: tuple[int, ...], avals: tuple[ShapedArray, ...], more: Any,
               outs: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The numbers of the results of a step. Raises Unsuited where there are too many."""
        if len(self.steps) == _MOST_STEPS:
            raise Unsuited
        numbers = tuple(self._add(contiguous(out)) for out in outs)
        self.steps.append(_Step(kind, ins, avals, more, numbers))
        return numbers

    def _add(self, value: np.ndarray) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def mark(self) -> tuple[Any, ...]:
        """What `back` returns to."""
        return len(self.values), len(self.steps), dict(self.constants), dict(self.found)

    def back(self, mark: tuple[Any, ...]) -> None:
        """Forgets what was written since a mark."""
        values, steps, self.constants, self.found = mark
        del self.values[values:], self.steps[steps:]

    def tape(self, avals: Sequence[ShapedArray], outs: Sequence[int], out_avals: Sequence[ShapedArray], handed: tuple[int, ...],
             treedef: Any) -> Any:
        """The tape of inputs of these avals and results of these numbers, with the steps that these need, and all guards."""
        needed = set(outs)
        kept: list[_Step] = []
        for step in reversed(self.steps):
            if step.kind == "guard" or needed.intersection(step.outs):
                needed.update(step.ins)
                kept.append(step)
        kept.reverse()
        constants = [n for n in self.constants if n in needed]
        order = [*self.inputs, *constants, *(n for step in kept for n in step.outs)]
        place = {number: k for k, number in enumerate(order)}
        wanted = dict(zip(outs, out_avals, strict=True))   # a result's aval may be weakly typed, which its step need not know
        steps = tuple((s.kind, tuple(place[n] for n in s.ins),
                       tuple(wanted.get(n, a) for n, a in zip(s.outs, s.avals, strict=True)), s.more) for s in kept)
        return _native.Tape(tuple(avals), tuple(self.constants[n] for n in constants), steps, tuple(place[n] for n in outs),
                            tuple(out_avals), handed, treedef, CPU)


def contiguous(value: np.ndarray) -> np.ndarray:
    """The array in one run of memory."""
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)
