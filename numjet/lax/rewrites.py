"""Algebraic simplification by identities that hold bit for bit for every value: rules for the `rewrites` slots of records.

NaN, infinities and -0.0 are included: `x + 0.0` is not among them (it turns -0.0 into 0.0), nor is `x * 0`, nor anything that
reorders floats. A rule gets the equation, with its operands already replaced, and `producer`, which finds the equation that
makes an operand, and the intervals of integers (`core/intervals.py`); it returns the atom that equals the result, a simpler
equation, or None. Rules of operations with several results return one atom for each, or None. Rules of single operations are
beside their records.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.intervals import Facts
from numjet.core.ir import Atom, JaxprEqn, Literal
from numjet.core.traits import BROADCASTS
from numjet.foundation import dtypes

Producer = Facts
Rule = Callable[[JaxprEqn, Producer], "Atom | JaxprEqn | None"]


def splat(a: Atom, producer: Callable[[Atom], JaxprEqn | None]) -> Any:
    """The value of all elements of an operand; None when they differ or are unknown."""
    eqn = producer(a)
    while eqn is not None and BROADCASTS <= eqn.primitive.traits:
        a = eqn.invars[0]
        eqn = producer(a)
    return np.asarray(a.val, a.aval.dtype)[()] if isinstance(a, Literal) else None


def is_number(value: Any, number: Any, dtype: np.dtype) -> bool:
    """Whether a value is that number, with its sign."""
    if value is None:
        return False
    return np.asarray(value).tobytes() == np.asarray(number, dtype).tobytes()


def neutral(real: float | None, integer: int | None, *, both: bool = True) -> Rule:
    """op(x, e) = x, and op(e, x) = x when `both`, for a neutral element per kind of dtype (None: there is none)."""
    def rule(eqn: JaxprEqn, producer: Producer) -> Atom | None:
        x, y = eqn.invars
        dtype = eqn.outvars[0].aval.dtype
        kind = dtypes.kind(dtype)
        number = real if kind == "f" else integer if kind in "iu" else None
        if number is None:
            return None
        if is_number(splat(y, producer), number, dtype):
            return x
        return y if both and is_number(splat(x, producer), number, dtype) else None
    return rule


def bitwise(ones: bool) -> Rule:
    """x & ~0 = x, x | 0 = x, x ^ 0 = x; also for bools."""
    def rule(eqn: JaxprEqn, producer: Producer) -> Atom | None:
        x, y = eqn.invars
        zero = np.zeros((), eqn.outvars[0].aval.dtype)
        number = np.invert(zero) if ones else zero
        if is_number(splat(y, producer), number, zero.dtype):
            return x
        return y if is_number(splat(x, producer), number, zero.dtype) else None
    return rule


def itself(eqn: JaxprEqn, producer: Producer) -> Atom:
    """op(x) = x."""
    return eqn.invars[0]


def twice(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """op(op(x)) = x."""
    inner = inner_of(eqn, producer)
    return inner.invars[0] if inner is not None and inner.params == eqn.params else None


def inner_of(eqn: JaxprEqn, producer: Producer) -> JaxprEqn | None:
    """The equation of the same operation that made the operand."""
    found = producer(eqn.invars[0])
    return found if found is not None and found.primitive is eqn.primitive else None


def same_aval(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """op(x) = x where nothing about the aval changes."""
    return eqn.invars[0] if eqn.invars[0].aval is eqn.outvars[0].aval else None


def no_axes(name: str) -> Rule:
    """op(x) = x where the parameter names no axes."""
    return lambda eqn, producer: None if eqn.params[name] else eqn.invars[0]
