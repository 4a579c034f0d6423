"""Sums of padded values become concatenations: reverse mode makes such sums of reads at static indices, x[0], x[1], ...

n numbers, each padded with zeros to n elements and added up, cost n * n additions; one concatenation gives the same.
Adding a zero changes -0.0 to 0.0 and nothing else, so 0.0 is added once.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.walk import use_counts
from numjet.lax.elementwise.arithmetic import add_p
from numjet.lax.shape.join import concatenate_p, pad_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.tangent import add_any_p

_ADDS = (add_p, add_any_p)


def join_pads(body: Jaxpr, fewest: int) -> Jaxpr:
    """The program with sums of at least `fewest` values, padded to different positions, as concatenations."""
    counts, makers = use_counts(body), {v: e for e in body.eqns for v in e.outvars}
    inner: set[Var] = set()
    made: dict[JaxprEqn, list[JaxprEqn]] = {}
    for eqn in reversed(body.eqns):
        if eqn.primitive in _ADDS and eqn.outvars[0] not in inner:
            terms = _terms(eqn, counts, makers, inner)
            pads = [makers[t] for t in terms if isinstance(t, Var) and _position(makers.get(t)) is not None]
            rest = [t for t in terms if not (isinstance(t, Var) and makers.get(t) in pads)]
            starts = [_position(p) for p in pads]
            if len(pads) >= fewest and len(rest) <= 1 and len(set(starts)) == len(starts):
                made[eqn] = _joined(eqn, sorted(pads, key=lambda p: _position(p) or 0), rest)
    if not made:
        return body
    return body.replace(eqns=[e for eqn in body.eqns for e in made.get(eqn, [eqn])])


def _terms(root: JaxprEqn, counts: Counter[Var], makers: dict[Var, JaxprEqn], inner: set[Var]) -> list[Atom]:
    """The terms of a tree of additions; notes its inner sums, which nothing else reads."""
    terms: list[Atom] = []
    todo = list(root.invars)
    while todo:
        a = todo.pop()
        maker = makers.get(a) if isinstance(a, Var) else None
        if isinstance(a, Var) and maker is not None and maker.primitive is root.primitive and counts[a] == 1:
            inner.add(a)
            todo += maker.invars
        else:
            terms.append(a)
    return terms


def _position(eqn: JaxprEqn | None) -> int | None:
    """The position on the first axis of the one value of a padding with zeros; None for other equations."""
    if eqn is None or eqn.primitive is not pad_p:
        return None
    value, zero = eqn.invars
    first, *others = eqn.params["padding_config"]
    if not isinstance(zero, Literal) or zero.val != 0 or np.signbit(np.asarray(zero.val).real):
        return None
    if value.aval.ndim == 0 or value.aval.shape[0] != 1 or min(first) < 0 or any(any(o) for o in others):
        return None
    return int(first[0])


def _joined(root: JaxprEqn, pads: Sequence[JaxprEqn], rest: Sequence[Atom]) -> list[JaxprEqn]:
    """The same sum: the values one after the other, with zeros between them."""
    out = root.outvars[0]
    aval = out.aval
    eqns: list[JaxprEqn] = []
    pieces: list[Atom] = []
    zero = Literal(np.zeros((), aval.dtype)[()], ShapedArray((), aval.dtype))

    def gap(count: int) -> None:
        if count:
            shape = (count, *aval.shape[1:])
            filled = Var(aval.update(shape=shape))
            spread = {"shape": shape, "broadcast_dimensions": ()}
            eqns.append(JaxprEqn([zero], [filled], broadcast_in_dim_p, spread, source_info=root.source))
            pieces.append(filled)
    reached = 0
    for eqn in pads:
        start = _position(eqn) or 0
        gap(start - reached)
        pieces.append(eqn.invars[0])
        reached = start + 1
    gap(aval.shape[0] - reached)
    joined, last = Var(aval), Var(aval) if rest else out
    eqns.append(JaxprEqn(pieces, [joined], concatenate_p, {"dimension": 0}, source_info=root.source))
    eqns.append(root.replace(invars=[joined, zero], outvars=[last]))
    if rest:
        eqns.append(root.replace(invars=[rest[0], last], outvars=[out]))
    return eqns
