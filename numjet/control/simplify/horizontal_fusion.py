"""Horizontal fusion in scans: many small arrays of one shape, as in a dictionary of 60 numbers, become a few stacked ones.

Isomorphic equations of a body become one equation on stacked operands: it is compiled once and runs in vector registers.
Equations are isomorphic when they have the same operation and parameters, and their operands, traced back to the body's
inputs, were computed the same way; so none depends on another. Their operands and results must be contiguous, in long
runs, else they stay as they are. Every element is computed as before.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.simplify.loop_products import ScanParts
from numjet.control.simplify.pack_pads import join_pads
from numjet.control.simplify.pack_pieces import Element, Maker, element_of, runs, stacked_values
from numjet.core.ir import Atom, JaxprEqn, Literal, Var
from numjet.core.traits import MOVES
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.value_numbering import atom_key, params_key

FEWEST = 17       # equations that are worth stacking: fewer values are kept in scalar registers
SHORT_RUNS = 4    # an array of n values may come from n / SHORT_RUNS runs
Producer = Callable[[Atom], JaxprEqn | None]


def pack(parts: ScanParts, producer: Producer) -> None:
    """Stacks equations, carries, slices and results of a scan, in place. producer: of the operands of the scan."""
    eqns = parts.body.eqns
    if len(eqns) < FEWEST or not all(_simple(e) for e in eqns):
        return
    parts.body = join_pads(parts.body, FEWEST)
    plan = _Plan(parts)
    if plan.groups:
        _Writer(parts, plan, producer).write()


def _simple(eqn: JaxprEqn) -> bool:
    op = eqn.primitive
    return not eqn.effects and not op.multiple and (op.elementwise or MOVES <= op.traits or op in (reduce_sum_p, dot_general_p))


class _Group:
    """Isomorphic equations of a body, which become one."""

    def __init__(self, level: int):
        self.level = level
        self.eqns: list[JaxprEqn] = []
        self.out: Var | None = None

    def operands(self) -> list[tuple[Atom, ...]]:
        """The operands of the equations, position by position."""
        return list(zip(*[e.invars for e in self.eqns], strict=True))


class _Plan:
    """The stacked equations and carries, and the location of every value."""

    def __init__(self, parts: ScanParts):
        self.parts = parts
        self.body = parts.body
        makers = self.makers = {v: e for e in self.body.eqns for v in e.outvars}
        self.maker: Producer = lambda a: None if isinstance(a, Literal) else makers.get(a)
        self.levels: dict[Var, int] = {}
        self.groups = self._groups()
        self.carries: list[Var] = []
        self.slices: dict[tuple[Atom, ...], Var] = {}
        self.elements: dict[Var, Element] = {}
        while self.groups and not self._locate():
            pass

    def stacked(self, v: Atom, count: int) -> Var:
        return Var(v.aval.update(shape=(count, *v.aval.shape)))

    # --- isomorphic equations ---
    def _groups(self) -> list[_Group]:
        """Large groups of isomorphic equations."""
        names = self.parts.inputs()
        kinds: dict[Var, Any] = {v: (k, v.aval) for k, vs in enumerate(names) for v in vs}
        numbers: dict[Any, int] = {}
        groups: dict[int, _Group] = {}
        for eqn in self.body.eqns:
            level = 1 + max((self.levels.get(a, 0) for a in eqn.invars if isinstance(a, Var)), default=0)
            (out,) = eqn.outvars
            self.levels[out] = level
            taken = element_of(out, self.maker, 0)
            what: Any = (eqn.primitive, params_key(eqn.params), out.aval,
                    tuple(atom_key(a) if isinstance(a, Literal) else kinds[a] for a in eqn.invars))
            if taken is not None:
                what = ("element", kinds[taken.array])
            elif not eqn.primitive.elementwise:
                what = out
            kinds[out] = numbers.setdefault(what, len(numbers))
            if taken is None and eqn.primitive.elementwise:
                groups.setdefault(kinds[out], _Group(level)).eqns.append(eqn)
        return [g for g in groups.values() if len(g.eqns) >= FEWEST]

    # --- locations ---
    def _locate(self) -> bool:
        """Locates all values for the remaining groups; whether all of them can stay."""
        self.elements.clear()
        self.slices.clear()
        for v in self.makers:
            found = element_of(v, self.maker, 0)
            if found is not None:
                self.elements[v] = found
        for g in self.groups:
            g.out = self.stacked(g.eqns[0].outvars[0], len(g.eqns))
            self.elements.update((e.outvars[0], Element(g.out, k)) for k, e in enumerate(g.eqns))
        self._locate_carries()
        self._locate_slices()
        kept = [g for g in self.groups if all(self._together(o) for o in g.operands())]
        done = len(kept) == len(self.groups)
        self.groups = kept
        return done

    def _locate_carries(self) -> None:
        """Carries whose next values are contiguous, in the order of those."""
        self.carries = []
        classes: dict[Any, list[tuple[Element, Var]]] = {}
        for v, new in zip(self.parts.inputs()[1], self.body.outvars, strict=False):
            element = self.elements.get(new) if isinstance(new, Var) else None
            classes.setdefault(v.aval, []).append((element or Element(v, -1), v))
        order = {g.out: k for k, g in enumerate(self.groups)}
        for found in classes.values():
            if sum(e.array in order for e, _ in found) < FEWEST:
                continue
            found.sort(key=lambda f: (order.get(f[0].array, len(order)), f[0].at))
            packed = self.stacked(found[0][1], len(found))
            self.carries.append(packed)
            self.elements.update((v, Element(packed, k)) for k, (_, v) in enumerate(found))

    def _locate_slices(self) -> None:
        """Slices and constants that equations of a group read in the same operand position."""
        consts, _, slices = map(set, self.parts.inputs())
        for group in self.groups:
            for atoms in group.operands():
                for source in (consts, slices):
                    if len(set(atoms)) == len(atoms) and all(a in source and a not in self.elements for a in atoms):
                        packed = self.slices[atoms] = self.stacked(atoms[0], len(atoms))
                        self.elements.update((a, Element(packed, k)) for k, a in enumerate(atoms) if isinstance(a, Var))

    def joined(self, eqn: JaxprEqn) -> list[Atom] | None:
        """The values that an equation stacks, if they are contiguous."""
        atoms = stacked_values(eqn, self.maker)
        return atoms if atoms is not None and len(atoms) >= FEWEST and self._together(atoms) else None

    def element(self, a: Atom) -> Element | None:
        return None if isinstance(a, Literal) else self.elements.get(a)

    def _together(self, atoms: Sequence[Atom]) -> bool:
        return all_equal(atoms) or len(runs(atoms, self.element)) * SHORT_RUNS <= len(atoms)


def all_equal(atoms: Sequence[Atom]) -> bool:
    """Whether these are all one value."""
    return len({atom_key(a) for a in atoms}) == 1


class _Writer:
    """Writes the stacked scan."""

    def __init__(self, parts: ScanParts, plan: _Plan, producer: Producer):
        self.parts, self.plan, self.producer = parts, plan, producer
        self.consts, self.carries, self.slices = parts.inputs()
        self.source = plan.groups[0].eqns[0].source
        self.inside, self.after = Maker(0, self.source), Maker(0, self.source)
        self.before: list[JaxprEqn] = []
        self.originals = {*parts.body.invars, *plan.makers}
        self.named = {v for v in parts.body.invars if v not in plan.elements}
        self.same: dict[Var, Var] = {}
        self.stacks: dict[Any, Var] = {}

    def write(self) -> None:
        """Replaces the body, the operands and the results of the scan."""
        grouped = {e for g in self.plan.groups for e in g.eqns}
        work: list[tuple[int, Any]] = [(g.level, g) for g in self.plan.groups]
        work += [(self.plan.levels[e.outvars[0]], e) for e in self.plan.body.eqns if e not in grouped]
        for _, item in sorted(work, key=lambda w: w[0]):
            if isinstance(item, _Group):
                self._group(item)
            else:
                self._single(item)
        parts, news = self.parts, self.parts.body.outvars
        states, outs = self._carries(news)
        outs += self._results(news[len(self.carries):])
        consts, parts.consts = self._operands(0, self.consts, parts.consts)
        slices, parts.xs = self._operands(1, self.slices, parts.xs)
        body = parts.body.replace(eqns=self.inside.eqns, invars=[*consts, *states, *slices], outvars=outs)
        parts.body = dce_jaxpr(body, keep_inputs=True)[0]
        parts.before += self.before
        parts.after += self.after.eqns

    # --- equations ---
    def _group(self, group: _Group) -> None:
        """One equation for many; its operands are stacked, or one number for all."""
        made = group.eqns[0].outvars[0].aval.ndim + 1
        operands: list[Atom] = []
        for atoms in group.operands():
            if not all_equal(atoms):
                operands.append(self._beside(self.stack(atoms), group))
            elif atoms[0].aval.ndim:
                operands.append(self.inside.spread(atoms[0].aval, self.read(atoms[0]), len(atoms)))
            else:
                operands.append(self.read(atoms[0]))
        if all(a.aval.ndim < made for a in operands):
            operands[0] = self._beside(self.inside.spread(operands[0].aval, operands[0], len(group.eqns)), group)
        self.inside.eqns.append(group.eqns[0].replace(invars=operands, outvars=[group.out]))

    def _beside(self, stacked: Var, group: _Group) -> Var:
        """Stacked numbers as wide as the arrays that they are combined with."""
        assert group.out is not None
        shape = group.out.aval.shape
        if stacked.aval.ndim == len(shape):
            return stacked
        return self.inside.add(broadcast_in_dim_p, [stacked], stacked.aval.update(shape=shape), shape=shape,
                               broadcast_dimensions=(0,))

    def _single(self, eqn: JaxprEqn) -> None:
        (out,) = eqn.outvars
        if out in self.plan.elements:  # an element of a larger array, extracted when it is read
            return
        atoms = self.plan.joined(eqn)
        if atoms is not None:
            self.same[out] = self.stack(atoms)
        else:
            self.inside.eqns.append(eqn.replace(invars=[self.read(a) for a in eqn.invars]))
        self.named.add(out)

    def read(self, a: Atom) -> Atom:
        """A value by its name."""
        if isinstance(a, Literal):
            return a
        if a not in self.named:
            element = self.plan.elements[a]
            self.inside.take(Element(self._array(element.array), element.at), a)
            self.named.add(a)
        return self.same.get(a, a)

    def _array(self, v: Var) -> Var:
        """An array that elements are taken from; the body's own arrays are written first."""
        found = self.read(v) if v in self.originals else v
        assert isinstance(found, Var)
        return found

    def stack(self, atoms: Sequence[Atom]) -> Var:
        """An array of values."""
        key = tuple(map(atom_key, atoms))
        if key not in self.stacks:
            found = [r._replace(source=self._array(r.source) if r.step and isinstance(r.source, Var) else self.read(r.source))
                     for r in runs(atoms, self.plan.element)]
            self.stacks[key] = self.inside.stack(atoms[0].aval, found)
        return self.stacks[key]

    # --- results ---
    def _carries(self, news: Sequence[Atom]) -> tuple[list[Var], list[Atom]]:
        """The carries of the body and their next values: stacked ones, then others."""
        parts, elements = self.parts, self.plan.elements
        new, init = (dict(zip(self.carries, x, strict=False)) for x in (news, parts.init))
        last = dict(zip(self.carries, parts.carries, strict=True))
        members: dict[Var, list[Var]] = {packed: [] for packed in self.plan.carries}
        for v in sorted((v for v in self.carries if v in elements), key=lambda v: elements[v].at):
            members[elements[v].array].append(v)
        loose = [v for v in self.carries if v not in elements]
        outs = [*(self.stack([new[v] for v in vs]) for vs in members.values()), *(self.read(new[v]) for v in loose)]
        results = [Var(packed.aval) for packed in members]
        for result, vs in zip(results, members.values(), strict=True):
            for k, v in enumerate(vs):
                self.after.take(Element(result, k), last[v])
        parts.init = [*(self._outer(0, [init[v] for v in vs]) for vs in members.values()), *(init[v] for v in loose)]
        parts.carries = [*results, *(last[v] for v in loose)]
        return [*members, *loose], outs

    def _results(self, ys: Sequence[Atom]) -> list[Atom]:
        """The results stacked step by step: complete arrays, where many of their elements are results."""
        parts, after = self.parts, Maker(1, self.source)
        arrays: dict[Var, list[tuple[int, Var]]] = {}
        for y, result in zip(ys, parts.ys, strict=True):
            element = self.plan.element(y)
            if element is not None and element.array not in self.originals:
                arrays.setdefault(element.array, []).append((element.at, result))
        arrays = {array: members for array, members in arrays.items() if len(members) >= FEWEST}
        stacks = [Var(parts.stacked(array.aval)) for array in arrays]
        for stack, members in zip(stacks, arrays.values(), strict=True):
            for index, result in members:
                after.take(Element(stack, index), result)
        done = {v for members in arrays.values() for _, v in members}
        rest = [(y, result) for y, result in zip(ys, parts.ys, strict=True) if result not in done]
        parts.ys = [*stacks, *(result for _, result in rest)]
        self.after.eqns += after.eqns
        return [*arrays, *(self.read(y) for y, _ in rest)]

    # --- operands ---
    def _operands(self, axis: int, names: Sequence[Var], values: Sequence[Atom]) -> tuple[list[Var], list[Atom]]:
        """The body's constants or slices, and their operands, stacked in front of the loop."""
        given = dict(zip(names, values, strict=True))
        packs = {atoms: packed for atoms, packed in self.plan.slices.items() if atoms[0] in given}
        gone = {a for atoms in packs for a in atoms}
        rest = [v for v in names if v not in gone]
        made = [self._outer(axis, [given[a] for a in atoms]) for atoms in packs]  # type: ignore[index]
        return [*packs.values(), *rest], [*made, *(given[v] for v in rest)]

    def _outer(self, axis: int, atoms: Sequence[Atom]) -> Atom:
        """Operands of the scan as one."""
        maker = Maker(axis, self.source)
        if all_equal(atoms):
            made = maker.spread(atoms[0].aval, atoms[0], len(atoms))
        else:
            made = maker.stack(atoms[0].aval, runs(atoms, lambda a: element_of(a, self.producer, axis)))
        self.before += maker.eqns
        return made
