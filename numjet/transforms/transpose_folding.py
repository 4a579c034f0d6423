"""Transpose folding: the transpose of a product becomes the product of the operands in the other order, (A B)^T = B^T A^T.

Reverse mode makes such transposes of every product with a weight on the right. A product with other readers stays as it is.
"""
from __future__ import annotations

from numjet.core.ir import Jaxpr, JaxprEqn, Var
from numjet.core.walk import use_counts
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.shape.rearrange import transpose_p


def fold_transposes(jaxpr: Jaxpr) -> Jaxpr:
    """The program with one dot_general for each dot_general that a transpose alone reads, and that transpose."""
    uses = use_counts(jaxpr)
    products: dict[Var, JaxprEqn] = {}
    folded: set[Var] = set()
    result: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is dot_general_p:
            products[eqn.outvars[0]] = eqn
        elif eqn.primitive is transpose_p:
            (operand,) = eqn.invars
            product = products.get(operand) if isinstance(operand, Var) and uses[operand] == 1 else None
            if product is not None and tuple(eqn.params["permutation"]) == _exchange(product):
                folded.add(product.outvars[0])
                eqn = _swapped(product, eqn)
        result.append(eqn)
    return jaxpr.replace(eqns=[e for e in result if not folded.intersection(e.outvars)]) if folded else jaxpr


def _exchange(product: JaxprEqn) -> tuple[int, ...]:
    """The permutation that puts the free axes of the right operand before those of the left one."""
    (contract, _), (batch, _) = product.params["dimension_numbers"]
    before, rank = len(batch), product.outvars[0].aval.ndim
    middle = before + product.invars[0].aval.ndim - before - len(contract)
    return (*range(before), *range(middle, rank), *range(before, middle))


def _swapped(product: JaxprEqn, transpose: JaxprEqn) -> JaxprEqn:
    (lc, rc), (lb, rb) = product.params["dimension_numbers"]
    x, y = product.invars
    return product.replace(invars=[y, x], outvars=transpose.outvars,
                           params={**product.params, "dimension_numbers": ((rc, lc), (rb, lb))})
