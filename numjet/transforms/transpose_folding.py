"""Transposed products become products of the operands in the other order: (A B)^T = B^T A^T.

Reverse mode makes them of every product with a weight on the right. A product that is used otherwise, too, stays as it is.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from numjet.core.ir import Atom, JaxprEqn, Var
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.shape.rearrange import transpose_p


def turn_products(eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]) -> list[JaxprEqn]:
    """The equations with every transpose of a dot_general that nobody else reads in place of both."""
    uses = Counter(a for e in eqns for a in e.invars if isinstance(a, Var))
    uses.update(a for a in outvars if isinstance(a, Var))
    products: dict[Var, JaxprEqn] = {}
    turned: set[Var] = set()
    result: list[JaxprEqn] = []
    for eqn in eqns:
        if eqn.primitive is dot_general_p:
            products[eqn.outvars[0]] = eqn
        elif eqn.primitive is transpose_p:
            (operand,) = eqn.invars
            product = products.get(operand) if isinstance(operand, Var) and uses[operand] == 1 else None
            if product is not None and tuple(eqn.params["permutation"]) == _exchange(product):
                turned.add(product.outvars[0])
                eqn = _swapped(product, eqn)
        result.append(eqn)
    return [e for e in result if not turned.intersection(e.outvars)] if turned else result


def _exchange(product: JaxprEqn) -> tuple[int, ...]:
    """The permutation that puts the free axes of the right operand before those of the left one."""
    (contract, _), (batch, _) = product.params["dimension_numbers"]
    before, whole = len(batch), product.outvars[0].aval.ndim
    middle = before + product.invars[0].aval.ndim - before - len(contract)
    return (*range(before), *range(middle, whole), *range(before, middle))


def _swapped(product: JaxprEqn, transpose: JaxprEqn) -> JaxprEqn:
    (lc, rc), (lb, rb) = product.params["dimension_numbers"]
    x, y = product.invars
    return product.replace(invars=[y, x], outvars=transpose.outvars,
                           params={**product.params, "dimension_numbers": ((rc, lc), (rb, lb))})
