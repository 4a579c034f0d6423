"""Operation counts: the arithmetic of a program, counted on its equations as XLA counts it on its instructions."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod

from numjet.control.branches.cond_op import cond_p
from numjet.core.ir import Jaxpr, JaxprEqn, subjaxprs
from numjet.core.traits import RECODES, SCANS_OPERAND, TRANSCENDENTAL
from numjet.lax.contraction.convolution import conv_general_dilated_p
from numjet.lax.contraction.dot import dot_general_p


def operations(jaxpr: Jaxpr) -> Counter[str]:
    """"flops" and "transcendentals" of one run: a product of matrices counts twice its multiply-adds, other operations one
    per element. Bodies of `while` count once, as their trip count is unknown; of branches, the most expensive one counts.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> operations(nj.make_jaxpr(lambda x: jnp.sin(x @ x))(jnp.ones((10, 10))).jaxpr) == {"flops": 2000, "transcendentals": 100}
    True
    """
    return _total(jaxpr, _own)


def counts(jaxpr: Jaxpr) -> dict[str, int]:
    """`operations`, and "bytes accessed": those of the operands and results of every operation that holds no program."""
    total = _total(jaxpr, lambda eqn: {**_own(eqn), "bytes accessed": _bytes(eqn)})
    return {name: total[name] for name in ("flops", "transcendentals", "bytes accessed")}


def _total(jaxpr: Jaxpr, of: Callable[[JaxprEqn], dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        inner: list[Counter[str]] = [_total(j, of) for j in subjaxprs(eqn.params)]
        if eqn.primitive is cond_p:
            most: Counter[str] = max(inner, key=lambda c: c["flops"] + c["transcendentals"])
            total += most
        else:
            for c in inner:
                total += Counter({k: n * eqn.params.get("length", 1) for k, n in c.items()})
        total += Counter(of(eqn))
    return total


def _bytes(eqn: JaxprEqn) -> int:
    held = any(True for _ in subjaxprs(eqn.params))
    return 0 if held else sum(getattr(v.aval, "nbytes", 0) for v in (*eqn.invars, *eqn.outvars))


def _own(eqn: JaxprEqn) -> dict[str, int]:
    op, out = eqn.primitive, eqn.outvars[0].aval if eqn.outvars else None
    if out is None:
        return {}
    if op is dot_general_p:
        (contract, _), _ = eqn.params["dimension_numbers"]
        return {"flops": 2 * out.size * prod(eqn.invars[0].aval.shape[d] for d in contract)}
    if op is conv_general_dilated_p:
        kernel = eqn.invars[1].aval
        features = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
        return {"flops": 2 * out.size * (kernel.size // max(features, 1))}
    if SCANS_OPERAND <= op.traits:
        return {"flops": eqn.invars[0].aval.size}
    if not op.elementwise or RECODES <= op.traits:
        return {}
    return {"transcendentals" if TRANSCENDENTAL <= op.traits and out.dtype.kind in "fc" else "flops": out.size}
