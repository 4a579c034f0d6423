"""Scalar replacement of arrays: the size up to which a loop keeps arrays in registers, as scalars.

Scalars suit short vectors with different operations on their elements, and small matrices. A vector that fills a register of
the machine, or half of one, stays a vector in memory if the loop takes exponentials of all its elements, or multiplies it by
a matrix: vector arithmetic saves more than the memory costs.
"""
from __future__ import annotations

from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.traits import CONTRACTS
from numjet.core.walk import all_eqns
from numjet.cpu.lowering.arrays.allocation import SMALL, SMALL_ONCE
from numjet.cpu.lowering.early_stores import HEAVY, cost_of


def most_elements(*bodies: ClosedJaxpr) -> int:
    """The size of the largest arrays that a loop with these programs keeps in registers."""
    return SMALL_ONCE if any(_wants_vectors(e) for body in bodies for e in all_eqns(body.jaxpr)) else SMALL


def _wants_vectors(eqn: JaxprEqn) -> bool:
    heavy = CONTRACTS <= eqn.primitive.traits or cost_of(eqn.primitive) >= HEAVY
    shapes = [v.aval.shape for v in eqn.outvars if SMALL_ONCE < v.aval.size <= SMALL]
    return any(s[-1] == SMALL or s[-1] > SMALL_ONCE and heavy for s in shapes)
