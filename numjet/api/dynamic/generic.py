"""Programs for all sizes of dynamic axes, which take arrays as they are: from programs for some sizes (cpu/generic)."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.dynamic import exact, forms
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import events, tree
from numjet.foundation.record import Record
from numjet.runtime import dispatch
from numjet.transforms.simplify import simplify

# Of programs for many sizes, the sizes of those that they are made from: around which part of the most elements, how far apart,
# for how many elements at least, and how many more than a polynomial of degree 2 has coefficients. The second is for programs
# that need more coefficients, the third for those of which the compiler decides otherwise for sizes so far apart, as it mostly
# does at powers of two.
SPREADS = (1.0, 1.0, 256, 1), (1.0, 1.0, 256, 3), (0.77, 0.2, 2048, 3)
_FRACTIONS = (1.02, 0.77, 1.31, 0.86, 1.13, 0.71, 1.42, 0.92, 0.81, 1.22)   # out of order


def generic_points(most: Sequence[int], centre: float, spread: float, least: int, more: int) -> list[tuple[int, ...]]:
    """Sizes for which programs are made, to find from these the one for all; no two in the same proportion."""
    count = (len(most) + 1) * (len(most) + 2) // 2 + more
    columns = []
    for k, high in enumerate(most):
        column: list[int] = []
        for j in range(count):
            turn = j * (2 * k + 1) + 3 * k + j // len(_FRACTIONS)
            n = int(max(high, least) * (centre + spread * (_FRACTIONS[turn % len(_FRACTIONS)] - 1)))
            while n in column or n % 16 < 2:
                n += 1
            column.append(n)
        columns.append(column)
    return [tuple(column[j] for column in columns) for j in range(count)]


class GenericProgram(Record):
    """A program for all sizes from `low` to the capacities, which takes arrays as they are."""

    executable: Any
    symbolic: exact.Symbolic
    out_tree: Any
    capacity: dict[str, int]
    low: list[int]
    axes: list[tuple[int, int, str]]
    given: list[int]

    def numbers(self, leaves: Sequence[Any]) -> list[int] | None:
        """As _Known.numbers."""
        found = sizes_of(leaves, self.axes)
        return None if found is None or not self.has_room(found) else [*found.values()]

    def has_room(self, sizes: dict[str, int]) -> bool:
        """Whether the program is for these sizes."""
        return all(low <= n <= self.capacity[name] for low, (name, n) in zip(self.low, sizes.items(), strict=True))

    def run(self, numbers: list[int], leaves: Sequence[Any]) -> Any:
        """The results of a call."""
        self.symbolic.check(numbers)
        dispatch.check_execution(self.executable.name)
        arrays = [dispatch.as_array(leaves[k]) for k in self.given]
        view, fixed = self._view(numbers, [x.aval for x in arrays])
        return tree.tree_unflatten(self.out_tree, view([*fixed, *arrays], None))

    def entry(self, numbers: list[int], leaves: Sequence[Any]) -> Any:
        """The native call for these sizes."""
        avals = [aval_of(leaves[k]) for k in self.given]
        view, fixed = self._view(numbers, avals)
        kept = (*(len(avals) + k for k in range(len(fixed))), *range(len(avals)))
        plan = tuple(("out", k) for k in range(self.out_tree.num_leaves))
        return _native.Entry(view, kept, (False,) * len(avals), tuple(avals), self.out_tree, plan, fixed=fixed)

    def _view(self, numbers: list[int], avals: list[ShapedArray]) -> tuple[Any, tuple[Any, ...]]:
        """The executable for arrays of these sizes, and its inputs in front of them."""
        fixed = tuple(dispatch.as_array(np.int32(n)) for n in self.symbolic.numbers(numbers))
        outs = tuple(ShapedArray(shape, a.dtype, a.weak_type)
                     for shape, a in zip(self.symbolic.shapes(numbers), self.executable.out_avals, strict=True))
        share = prod(n / most for n, most in zip(numbers, self.capacity.values(), strict=True))
        native = self.executable.native
        ins = (*(x.aval for x in fixed), *avals)
        return native.view(ins, outs, (False,) * len(ins), (False,) * len(outs), native.cost_ns * share), fixed


def sizes_of(leaves: Sequence[Any], axes: Sequence[tuple[int, int, str]]) -> dict[str, int] | None:
    """The size of each name; None where two arrays disagree about one."""
    found: dict[str, int] = {}
    for k, axis, name in axes:
        n = leaves[k].shape[axis]
        if found.setdefault(name, n) != n:
            return None
    return found


def made(symbolic: exact.Symbolic, name: str, out_tree: Any, capacity: dict[str, int], axes: list[tuple[int, int, str]],
         given: list[int]) -> GenericProgram | None:
    """The program for all sizes up to the capacities; None where the compiler finds none."""
    for spread in SPREADS:
        try:
            executable, low = _compiled(symbolic, name, [*capacity.values()], spread)
        except NotImplementedError as why:
            events.log_debug(f"{name} has no program for all sizes without padding: {why}".__str__)
        else:
            return GenericProgram(executable, symbolic, out_tree, capacity, low, axes, given)
    return None


def _compiled(symbolic: exact.Symbolic, name: str, capacity: list[int], spread: tuple[float, float, int, int]
              ) -> tuple[dispatch.Executable, list[int]]:
    """The program, and the least sizes that it is for. NotImplementedError if there is none."""
    names, most = len(capacity), symbolic.numbers(capacity)
    make = lambda sizes: simplify(exact.specialized(symbolic, sizes))
    points = [symbolic.numbers(p) for p in generic_points(capacity, *spread)]
    samples = [make(p[:names]) for p in points]
    least = forms.least_sizes(samples, points, names, capacity, lambda p: (make(p), symbolic.numbers(p)))
    return dispatch.compile_generic(samples, name, points, [*least, *[0] * (len(most) - names)], most, names)
