"""Which equations shift an array along an axis: the result is the operand but for a few elements at one end."""
from __future__ import annotations

from dataclasses import dataclass

from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var

SHIFTS = ("concatenate", "pad")
LEAST = 128   # elements of an array from which it is worth it
SHARE = 4     # and how many times as many as are new


@dataclass(frozen=True)
class Shift:
    """An equation whose result is a variable shifted along an axis: to the front if `by` is positive, else to the back.
    operand: which of its operands is the part of the variable that stays."""
    var: Var
    axis: int
    by: int
    operand: int


def shift_of(eqn: JaxprEqn, makers: dict[Var, JaxprEqn]) -> Shift | None:
    """What an equation shifts, if that is what it does: it joins a slice and something new, or pads a slice."""
    aval = eqn.outvars[0].aval
    if aval.size < LEAST or eqn.primitive.name not in SHIFTS:
        return None
    if eqn.primitive.name == "pad":
        config = [tuple(one) for one in eqn.params["padding_config"]]
        axes = [d for d, one in enumerate(config) if one != (0, 0, 0)]
        if len(axes) != 1 or config[axes[0]][2] or 0 not in config[axes[0]] or min(config[axes[0]]) < 0:
            return None
        axis, (low, high, _) = axes[0], config[axes[0]]
        return _kept(eqn, 0, axis, high or -low, makers)
    axis, last = eqn.params["dimension"], len(eqn.invars) - 1
    size = lambda k: aval.shape[axis] - eqn.invars[k].aval.shape[axis]
    return _kept(eqn, 0, axis, size(0), makers) or _kept(eqn, last, axis, -size(last), makers)


def _kept(eqn: JaxprEqn, operand: int, axis: int, by: int, makers: dict[Var, JaxprEqn]) -> Shift | None:
    """The shift of the array of which an operand is the part that stays."""
    kept, shape = eqn.invars[operand], eqn.outvars[0].aval.shape
    maker = makers.get(kept) if isinstance(kept, Var) else None
    if maker is None or not maker.invars or not isinstance(maker.invars[0], Var) or maker.invars[0].aval.shape != shape:
        return None
    if SHARE * abs(by) > shape[axis] or part_of(maker, kept) != (axis, max(by, 0)):
        return None
    return Shift(maker.invars[0], axis, by, operand)


def part_of(maker: JaxprEqn, part: Atom) -> tuple[int, int] | None:
    """Along which axis, and from where, an equation takes a part of its operand, whole along all other axes."""
    params, shape = maker.params, maker.invars[0].aval.shape
    if maker.primitive.name == "split":
        before = next(k for k, v in enumerate(maker.outvars) if v is part)
        return params["axis"], sum(params["sizes"][:before])
    cut = [d for d, n in enumerate(part.aval.shape) if n != shape[d]]
    if len(cut) != 1:
        return None
    if maker.primitive.name == "pad":
        low, high, between = params["padding_config"][cut[0]]
        others = any(tuple(one) != (0, 0, 0) for d, one in enumerate(params["padding_config"]) if d != cut[0])
        return None if low > 0 or high > 0 or between or others else (cut[0], -low)
    if maker.primitive.name != "slice" or not (params["strides"] is None or set(params["strides"]) == {1}):
        return None
    return cut[0], params["start_indices"][cut[0]]


def makers_of(jaxpr: Jaxpr) -> dict[Var, JaxprEqn]:
    """By variable, the equation that makes it."""
    return {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
