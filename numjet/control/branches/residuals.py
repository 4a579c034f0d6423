"""Residuals of branches: values that pass from the known parts of several programs to their unknown parts, in shared slots.

Only one branch runs, so residuals of different branches with the same type share a slot; a branch fills its unused
slots with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from numjet.control.call.jaxpr_transforms import Split, substituted
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, Var
from numjet.core.stage import trace_to_closed
from numjet.lax.tangent import zeros_like_aval


def share_residuals(splits: Sequence[Split], known_args: int) -> tuple[list[ClosedJaxpr], list[ClosedJaxpr]]:
    """Known and unknown programs with equal signatures.

    known: (*own consts, *known operands) -> (*known results, *slots). unknown: (*own consts, *slots, *known operands,
    *unknown operands) -> unknown results; residuals that are operands are read from there.
    """
    slot_types: list[ShapedArray] = []
    taken = [_assign(s, slot_types) for s in splits]
    known = [_fill(s, t, slot_types) for s, t in zip(splits, taken, strict=True)]
    unknown = [_read(s, t, slot_types, known_args) for s, t in zip(splits, taken, strict=True)]
    return known, unknown


def _computed(split: Split) -> list[int]:
    """Results of the known program that are residuals."""
    return list(dict.fromkeys(r.at for r in split.residuals if not r.from_input))


def _assign(split: Split, slot_types: list[ShapedArray]) -> dict[int, int]:
    """The slot of every residual that the known program computes; appends missing slots."""
    taken: dict[int, int] = {}
    for index in _computed(split):
        aval = split.known.out_avals[index].strip_weak_type()
        free = [p for p, a in enumerate(slot_types) if a == aval and p not in taken.values()]
        if not free:
            free = [len(slot_types)]
            slot_types.append(aval)
        taken[index] = free[0]
    return taken


def _fill(split: Split, taken: dict[int, int], slot_types: Sequence[ShapedArray]) -> ClosedJaxpr:
    jaxpr = split.known.jaxpr
    sources: dict[int, Atom] = {p: jaxpr.outvars[i] for i, p in taken.items()}
    missing = [p for p in range(len(slot_types)) if p not in sources]
    zeros = trace_to_closed(lambda: [zeros_like_aval(slot_types[p]) for p in missing], []).jaxpr
    sources.update(zip(missing, zeros.outvars, strict=True))
    outvars = [*jaxpr.outvars[: split.known_count], *[sources[p] for p in range(len(slot_types))]]
    return ClosedJaxpr(jaxpr.replace(eqns=[*jaxpr.eqns, *zeros.eqns], outvars=outvars))


def _read(split: Split, taken: dict[int, int], slot_types: Sequence[ShapedArray], known_args: int) -> ClosedJaxpr:
    jaxpr = split.unknown.jaxpr
    consts = len(split.consts)
    own: list[Var] = jaxpr.invars[: len(split.residuals)]
    inputs = [v.copy() for v in split.known.jaxpr.invars]
    slots = [Var(a) for a in slot_types]
    wanted: dict[Var, Atom] = {
        v: inputs[r.at] if r.from_input else slots[taken[r.at]] for v, r in zip(own, split.residuals, strict=True)
    }
    return ClosedJaxpr(
        substituted(jaxpr, wanted, [*inputs[:consts], *slots, *inputs[consts : consts + known_args], *jaxpr.invars[len(own) :]])
    )
