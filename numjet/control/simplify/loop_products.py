"""Loop-invariant products: matrix products of a scan's steps become one product before or after the loop.

A product of a slice and a constant (`x @ w` in a recurrent cell) is computed for all slices before the loop. A carry that
only adds up products (the gradient of `w`: the sum of x_t^T g_t) becomes a product of the stacked operands after it,
which contracts the steps, too. Both are the sums of the loop, added in another order; large products run at the speed
of the library and on all threads, and no array of the size of the sum is read and written in every step.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.walk import use_counts
from numjet.foundation.record import Fields
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.elementwise.arithmetic import add_p
from numjet.lax.shape.rearrange import transpose_p
from numjet.lax.tangent import add_any_p

WORTH = 2 ** 10            # multiply-adds of a step from which a product leaves the loop
STACKED_BYTES = 2 ** 25    # bound of the memory for stacked values, or, if that is more,
TIMES_READ = 4             # this multiple of the stacked inputs of the loop
_ADDS = (add_p, add_any_p)


class ScanParts(Fields):
    """A scan taken apart: the body's inputs are (consts, carries, slices), its results (carries, ys)."""
    length: int
    consts: list[Atom]
    init: list[Atom]
    xs: list[Atom]
    carries: list[Var]
    ys: list[Var]
    body: Jaxpr

    def __post_init__(self) -> None:
        self.before: list[JaxprEqn] = []
        self.after: list[JaxprEqn] = []
        self.results: dict[Var, Atom] = {}

    def inputs(self) -> tuple[list[Var], list[Var], list[Var]]:
        """The body's constants, carries and slices."""
        c, k = len(self.consts), len(self.init)
        names = self.body.invars
        return names[:c], names[c:c + k], names[c + k:]

    def stacked(self, aval: ShapedArray) -> ShapedArray:
        return aval.update(shape=(self.length, *aval.shape))

    def affordable(self, avals: Sequence[ShapedArray]) -> bool:
        read = sum(x.aval.nbytes for x in self.xs)
        return self.length * sum(a.nbytes for a in avals) <= max(STACKED_BYTES, TIMES_READ * read)


def move_products(parts: ScanParts) -> None:
    """Moves products before and after the loop, in place."""
    if any(e.primitive is dot_general_p for e in parts.body.eqns):
        _before(parts)
        _after(parts)


def _sides(eqn: JaxprEqn) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The contracted axes of a product without batch axes that is worth moving; None for others."""
    if eqn.primitive is not dot_general_p:
        return None
    (left, right), batch = eqn.params["dimension_numbers"]
    if any(batch):
        return None
    inner = 1
    for d in left:
        inner *= eqn.invars[0].aval.shape[d]
    return (left, right) if inner * eqn.outvars[0].aval.size >= WORTH else None


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Axes of one step as axes of the stack."""
    return tuple(d + 1 for d in axes)


# ------------------------------------------------------------------------------------------------ before
def _before(parts: ScanParts) -> None:
    consts, _, slices = parts.inputs()
    outer: dict[Var, Atom] = dict(zip(consts, parts.consts, strict=True))
    stacks: dict[Var, Atom] = dict(zip(slices, parts.xs, strict=True))
    eqns: list[JaxprEqn] = []
    added: list[Var] = []
    for eqn in parts.body.eqns:
        sides = _sides(eqn)
        operands = [a for a in eqn.invars if isinstance(a, Var)]
        sliced = [k for k, a in enumerate(operands) if a in stacks]
        if sides is None or len(operands) < 2 or len(sliced) != 1 or operands[1 - sliced[0]] not in outer \
                or not parts.affordable([eqn.outvars[0].aval]):
            eqns.append(eqn)
            continue
        k = sliced[0]
        product, permuted = _of_all_steps(parts, eqn, k, sides, stacks[operands[k]], outer[operands[1 - k]])
        parts.before.append(product)
        parts.xs.append(product.outvars[0])
        added.append(eqn.outvars[0] if permuted is None else _only_operand(permuted))
        eqns += [] if permuted is None else [permuted]
    parts.body = parts.body.replace(eqns=eqns, invars=[*parts.body.invars, *added])


def _only_operand(eqn: JaxprEqn) -> Var:
    (operand,) = eqn.invars
    assert isinstance(operand, Var)
    return operand


def _of_all_steps(parts: ScanParts, eqn: JaxprEqn, k: int, sides: tuple[tuple[int, ...], tuple[int, ...]], stack: Atom,
                  const: Atom) -> tuple[JaxprEqn, JaxprEqn | None]:
    """The product with the stack of which operand k is a slice, and the permutation of a slice of it."""
    out = eqn.outvars[0]
    numbers = ((_shifted(sides[k]), sides[1 - k]), ((), ()))
    free = [eqn.invars[j].aval.ndim - len(sides[j]) for j in (k, 1 - k)]
    swapped = k == 1 and all(free)
    order = (*range(free[0], sum(free)), *range(free[0])) if swapped else tuple(range(sum(free)))
    inverse = [order.index(d) for d in range(len(order))]
    piece = out.aval.update(shape=tuple(out.aval.shape[d] for d in inverse))
    product = eqn.replace(invars=[stack, const], outvars=[Var(parts.stacked(piece))],
                          params={**eqn.params, "dimension_numbers": numbers})
    if not swapped:
        return product, None
    return product, JaxprEqn([Var(piece)], [out], transpose_p, {"permutation": order}, source_info=eqn.source)


# ------------------------------------------------------------------------------------------------ after
class _Sum(NamedTuple):
    """A carry that adds up products: the sum, its equations from the product on, and the product's contracted axes."""
    at: int
    add: JaxprEqn
    chain: list[JaxprEqn]
    sides: tuple[tuple[int, ...], tuple[int, ...]]


def _after(parts: ScanParts) -> None:
    counts = use_counts(parts.body)
    makers = {v: e for e in parts.body.eqns for v in e.outvars}
    found = [s for k in range(len(parts.init)) if (s := _sum(parts, k, counts, makers)) is not None]
    for one in reversed(found):
        _sum_after(parts, one)


def _sum(parts: ScanParts, index: int, counts: Any, makers: dict[Var, JaxprEqn]) -> _Sum | None:
    """The sum of products in a carry; None if the carry is something else."""
    carry, out = parts.inputs()[1][index], parts.body.outvars[index]
    add = makers.get(out) if isinstance(out, Var) else None
    if add is None or add.primitive not in _ADDS or counts[out] != 1 or counts[carry] != 1:
        return None
    terms = [a for a in add.invars if a is not carry]
    if len(terms) != 1:
        return None
    chain: list[JaxprEqn] = []
    term = terms[0]
    while isinstance(term, Var) and counts[term] == 1 and term in makers:
        chain.append(makers[term])
        sides = _sides(chain[-1])
        if sides is not None:
            return _Sum(index, add, chain, sides) if _stackable(parts, chain[-1]) else None
        if chain[-1].primitive is not transpose_p:
            return None
        term = chain[-1].invars[0]
    return None


def _stackable(parts: ScanParts, product: JaxprEqn) -> bool:
    """Whether both operands change from step to step, and keeping them takes no more traffic than the sum itself."""
    consts, _, slices = parts.inputs()
    known = {*consts, *slices}
    if any(isinstance(a, Literal) or a in consts for a in product.invars):
        return False
    computed = [a.aval for a in product.invars if a not in known]
    return sum(a.nbytes for a in computed) <= product.outvars[0].aval.nbytes and parts.affordable(computed)


def _sum_after(parts: ScanParts, one: _Sum) -> None:
    """Drops the carry; its last value is computed after the loop."""
    gone = {one.add, *one.chain}
    product = one.chain[-1]
    stacks = [_stack(parts, a) for a in product.invars]
    numbers = tuple((0, *_shifted(s)) for s in one.sides)
    total = Var(product.outvars[0].aval)
    parts.after.append(product.replace(invars=stacks, outvars=[total],
                                       params={**product.params, "dimension_numbers": (numbers, ((), ()))}))
    for eqn in reversed(one.chain[:-1]):
        permuted = Var(eqn.outvars[0].aval)
        parts.after.append(eqn.replace(invars=[total], outvars=[permuted]))
        total = permuted
    result = parts.carries.pop(one.at)
    last = Var(result.aval)
    parts.after.append(one.add.replace(invars=[parts.init.pop(one.at), total], outvars=[last]))
    parts.results[result] = last
    names, outs = list(parts.body.invars), list(parts.body.outvars)
    del names[len(parts.consts) + one.at], outs[one.at]
    parts.body = parts.body.replace(eqns=[e for e in parts.body.eqns if e not in gone], invars=names, outvars=outs)


def _stack(parts: ScanParts, operand: Any) -> Atom:
    """All values of a variable of the body: the array that it is a slice of, or a result of the loop."""
    slices = parts.inputs()[2]
    if operand in slices:
        return parts.xs[slices.index(operand)]
    ys = parts.body.outvars[len(parts.init):]
    if operand in ys:
        return parts.ys[ys.index(operand)]
    made = Var(parts.stacked(operand.aval))
    parts.ys.append(made)
    parts.body = parts.body.replace(outvars=[*parts.body.outvars, operand])
    return made
