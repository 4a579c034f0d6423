"""Products with truths: a number times a bool is that number or zero, whatever the number.

    convert(mask) * x  ->  select(mask, x, 0)

By IEEE arithmetic infinities and NaN times a converted `False` are NaN. XLA, and so JAX, selects, and programs rely on it:
`x * mask` and its gradient drop what the mask excludes, even where it has no value. As there, the mask has the shape of the
product; one that is broadcast after its conversion is a number like others.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.lax.elementwise.arithmetic import mul_p
from numjet.lax.elementwise.compare import select_n_p
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshape_p, squeeze_p, transpose_p

_REARRANGED = frozenset((broadcast_in_dim_p, reshape_p, squeeze_p, transpose_p))


def select_truth_products(jaxpr: Jaxpr) -> Jaxpr:
    """The program with selections in place of products with converted bools."""
    if not any(eqn.primitive is convert_element_type_p and _is_truth(eqn.invars[0]) for eqn in jaxpr.eqns):
        return jaxpr
    truths: dict[Var, Atom] = {}   # converted bools: the bools
    result: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        op, source = eqn.primitive, eqn.invars[0] if eqn.invars else None
        if op is convert_element_type_p and _is_truth(source):
            truths[eqn.outvars[0]] = eqn.invars[0]
        elif op in _REARRANGED and isinstance(source, Var) and source in truths and _same_size(eqn):
            moved = Var(eqn.outvars[0].aval.update(dtype=np.dtype(bool), weak_type=False))
            result.append(eqn.replace(invars=[truths[source]], outvars=[moved]))
            truths[eqn.outvars[0]] = moved
        elif op is mul_p:
            result += _selection(eqn, truths)
            continue
        result.append(eqn)
    return jaxpr.replace(eqns=result)


def _is_truth(a: Any) -> bool:
    return isinstance(a, Var) and a.aval.dtype == np.bool_


def _same_size(eqn: JaxprEqn) -> bool:
    return len(eqn.invars) == 1 and eqn.invars[0].aval.size == eqn.outvars[0].aval.size


def _selection(eqn: JaxprEqn, truths: dict[Var, Atom]) -> list[JaxprEqn]:
    """A product, or what takes its place."""
    for mask, x in (eqn.invars, eqn.invars[::-1]):
        if isinstance(mask, Var) and mask in truths:
            zero, before = _zeros(eqn.outvars[0].aval)
            return [*before, eqn.replace(invars=[truths[mask], zero, x], primitive=select_n_p, params={})]
    return [eqn]


def _zeros(aval: Any) -> tuple[Atom, list[JaxprEqn]]:
    zero = Literal(np.zeros((), aval.dtype)[()], aval.update(shape=()))
    if aval.shape == ():
        return zero, []
    wide = Var(aval)
    return wide, [JaxprEqn([zero], [wide], broadcast_in_dim_p, {"shape": aval.shape, "broadcast_dimensions": ()})]
