"""Constant folding: operations on known values are computed before the program is compiled.

The operation's reference implementation (its eager slot) computes small results. Operations that hold programs are never
folded: a loop of known length can still run for hours.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core import transfers
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, JaxprEqn, Literal
from numjet.core.nan_checks import checked_kinds
from numjet.core.op import Missing
from numjet.core.trace import EVAL, set_trace
from numjet.core.traits import COMPACT, KEEPS_APART

MOST_BYTES_OUT = 1024       # of all results together: an embedded constant is read from memory, a fused iota is not
MOST_BYTES_IN = 16 * 1024   # of all operands: folding costs time at each compilation


def foldable(eqn: JaxprEqn, operands: Sequence[Atom]) -> bool:
    """Whether an equation, all of whose operands are known, is cheap and pure enough to be computed now."""
    op = eqn.primitive
    if eqn.effects or op.programs or op.compiled or isinstance(op.eager, Missing) or calls_python(eqn):
        return False
    if op.collective is not None:
        return False  # it needs its axis
    if op.places is not None:
        return False  # known values are on all devices: where they are to be is what it says
    if checked_kinds():
        return False  # an invalid value is to be reported with the line that made it
    if COMPACT <= op.traits and any(prod(v.aval.shape) > 1 for v in eqn.outvars):
        return False
    small = sum(v.aval.nbytes for v in eqn.outvars) <= MOST_BYTES_OUT
    return small and sum(a.aval.nbytes for a in operands) <= MOST_BYTES_IN


def calls_python(eqn: JaxprEqn) -> bool:
    """Whether an equation runs a Python function: it may take long, or be meant to run each time."""
    return KEEPS_APART <= eqn.primitive.traits or any(callable(v) for v in eqn.params.values())


def fold(eqn: JaxprEqn, values: Sequence[Any]) -> list[Any]:
    """The results of an equation on known values, as Arrays."""
    with set_trace(EVAL), transfers.compiling():
        out = eqn.primitive.bind(*values, **eqn.params)
    return list(out) if eqn.primitive.multiple else [out]


def as_literal(value: Any, aval: ShapedArray) -> Literal | None:
    """A known value as a literal; None when it is no scalar number."""
    if aval.shape != () or aval.dtype.names is not None or aval.dtype.kind not in "biufcV":
        return None
    return Literal(np.asarray(value).astype(aval.dtype)[()], aval)
