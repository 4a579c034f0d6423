"""Assembly of arrays from elements of other arrays and single values, in as few and long runs as possible."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, JaxprEqn, Literal, Var
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p


class Element(NamedTuple):
    """array[at] along the stacking axis."""
    array: Var
    at: int


class Run(NamedTuple):
    """`size` neighbouring elements of an array, in rising (step 1) or falling order (-1), or a value alone (step 0)."""
    source: Atom
    start: int
    size: int
    step: int


def runs(atoms: Sequence[Atom], element: Callable[[Atom], Element | None]) -> list[Run]:
    """The atoms as runs."""
    found: list[Run] = []
    for a in atoms:
        found_at = element(a)
        if found_at is None:
            found.append(Run(a, 0, 1, 0))
            continue
        last = found[-1] if found else None
        if last is not None and last.step and last.source is found_at.array:
            ahead = found_at.at - (last.start + last.step * (last.size - 1))
            if ahead in (1, -1) and (last.size == 1 or ahead == last.step):
                found[-1] = last._replace(size=last.size + 1, step=ahead)
                continue
        found.append(Run(found_at.array, found_at.at, 1, 1))
    return found


class Maker:
    """Writes equations that assemble arrays along an axis, each array once."""

    def __init__(self, axis: int, source: Any):
        self.axis, self.source = axis, source
        self.eqns: list[JaxprEqn] = []

    def add(self, op: Any, operands: Sequence[Atom], aval: ShapedArray, **params: Any) -> Var:
        out = Var(aval)
        self.eqns.append(JaxprEqn(operands, [out], op, params, source_info=self.source))
        return out

    def stacked(self, aval: ShapedArray, count: int) -> ShapedArray:
        """The type of `count` stacked values."""
        return aval.update(shape=(*aval.shape[:self.axis], count, *aval.shape[self.axis:]))

    def stack(self, aval: ShapedArray, found: Sequence[Run]) -> Var:
        """An array of the values of runs."""
        pieces = [self._piece(aval, run) for run in found]
        if len(pieces) == 1:
            return pieces[0]
        total = self.stacked(aval, sum(r.size for r in found))
        return self.add(concatenate_p, pieces, total, dimension=self.axis)

    def _piece(self, aval: ShapedArray, run: Run) -> Var:
        if run.step == 0:
            return self.spread(aval, run.source, run.size)
        first = run.start if run.step > 0 else run.start - run.size + 1
        assert isinstance(run.source, Var)
        piece = self.cut(run.source, first, run.size)
        return piece if run.step > 0 else self.add(rev_p, [piece], piece.aval, dimensions=(self.axis,))

    def spread(self, aval: ShapedArray, value: Atom, count: int) -> Var:
        """A value, repeated."""
        shape = self.stacked(aval, count)
        kept = tuple(d for d in range(shape.ndim) if d != self.axis) if value.aval.ndim else ()
        return self.add(broadcast_in_dim_p, [value], shape, shape=shape.shape, broadcast_dimensions=kept)

    def cut(self, array: Var, first: int, count: int) -> Var:
        """A slice of an array."""
        shape = array.aval.shape
        if count == shape[self.axis]:
            return array
        starts, limits = [0] * len(shape), list(shape)
        starts[self.axis], limits[self.axis] = first, first + count
        sizes = tuple(b - a for a, b in zip(starts, limits, strict=True))
        return self.add(slice_p, [array], array.aval.update(shape=sizes), start_indices=tuple(starts),
                        limit_indices=tuple(limits), strides=None)

    def take(self, element: Element, out: Var) -> None:
        """Names an element of an array."""
        piece = self.cut(element.array, element.at, 1)
        self.eqns.append(JaxprEqn([piece], [out], squeeze_p, {"dimensions": (self.axis,)}, source_info=self.source))


def stacked_values(eqn: JaxprEqn, producer: Callable[[Atom], JaxprEqn | None]) -> list[Atom] | None:
    """The values that a concatenation stacks along a new first axis; None for other equations."""
    if eqn.primitive is not concatenate_p or eqn.params["dimension"] != 0:
        return None
    atoms: list[Atom] = []
    for a in eqn.invars:
        made = producer(a)
        if made is None or made.primitive not in (reshape_p, broadcast_in_dim_p):
            return None
        value = made.invars[0]
        if a.aval.shape != (1, *value.aval.shape) or made.params.get("broadcast_dimensions", ()) not in (
                (), tuple(range(1, a.aval.ndim))):
            return None
        atoms.append(value)
    return atoms


def element_of(atom: Atom, producer: Callable[[Atom], JaxprEqn | None], axis: int) -> Element | None:
    """The array and index of a value that was extracted by slicing and squeezing one axis."""
    squeeze = producer(atom)
    if squeeze is None or squeeze.primitive is not squeeze_p or squeeze.params["dimensions"] != (axis,):
        return None
    cut = producer(squeeze.invars[0])
    if cut is None or cut.primitive is not slice_p or isinstance(cut.invars[0], Literal):
        return None
    start, limit, strides = (cut.params[k] for k in ("start_indices", "limit_indices", "strides"))
    shape = cut.invars[0].aval.shape
    others = [d for d in range(len(shape)) if d != axis]
    whole = all(start[d] == 0 and limit[d] == shape[d] for d in others) and (strides is None or set(strides) == {1})
    return Element(cut.invars[0], start[axis]) if whole else None
