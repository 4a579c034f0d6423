"""Shifts: equations whose result is an operand moved along an axis, with a few new elements at one end."""
from __future__ import annotations

from numjet.core.ir import Jaxpr, JaxprEqn, Var
from numjet.foundation.record import Record

LEAST = 128   # elements from which moving them costs more than a ring buffer
SHARE = 4     # times the new elements, at least: a ring buffer is copied back once in as many steps


class Shift(Record):
    """An equation whose result is a variable shifted along an axis: to the front if `by` is positive, else to the back.
    operand: the number of the operand that is the part of the variable that stays."""

    var: Var
    axis: int
    by: int
    operand: int


def shift_of(eqn: JaxprEqn, makers: dict[Var, JaxprEqn]) -> Shift | None:
    """The shift that an equation is, if it is one: it joins a slice and new elements, or pads a slice."""
    rule = eqn.primitive.shift
    if rule is None or eqn.outvars[0].aval.size < LEAST:
        return None
    return next((found for one in rule(eqn) if (found := _kept(eqn, makers, *one)) is not None), None)


def _kept(eqn: JaxprEqn, makers: dict[Var, JaxprEqn], operand: int, axis: int, by: int) -> Shift | None:
    """The shift of the array of which that operand is the part that stays."""
    kept, shape = eqn.invars[operand], eqn.outvars[0].aval.shape
    maker = makers.get(kept) if isinstance(kept, Var) else None
    if not isinstance(kept, Var) or maker is None or maker.primitive.part is None or maker.invars[0].aval.shape != shape:
        return None
    part = maker.primitive.part(maker, maker.outvars.index(kept))
    if SHARE * abs(by) > shape[axis] or part != (axis, max(by, 0)) or not isinstance(maker.invars[0], Var):
        return None
    return Shift(maker.invars[0], axis, by, operand)


def makers_of(jaxpr: Jaxpr) -> dict[Var, JaxprEqn]:
    """By variable, the equation that makes it."""
    return {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
