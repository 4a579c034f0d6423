"""Operation counts: the arithmetic of a program, counted on its equations as XLA counts it on its instructions."""
from __future__ import annotations

from collections import Counter
from math import prod

from numjet.core.ir import Jaxpr, JaxprEqn, subjaxprs

_TRANSCENDENTAL = frozenset({
    "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "logistic", "pow", "sqrt", "rsqrt", "cbrt", "erf", "erfc", "erf_inv", "lgamma", "digamma"})
_FREE = frozenset({"convert_element_type", "copy", "bitcast_convert_type", "real", "imag", "complex"})


def operations(jaxpr: Jaxpr) -> Counter[str]:
    """"flops" and "transcendentals" of one run: a product of matrices counts twice its multiply-adds, other operations one
    per element. Bodies of `while` count once, as their trip count is unknown; of branches, the most expensive one counts.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> operations(nj.make_jaxpr(lambda x: jnp.sin(x @ x))(jnp.ones((10, 10))).jaxpr) == {"flops": 2000, "transcendentals": 100}
    True
    """
    total: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        inner: list[Counter[str]] = [operations(j) for j in subjaxprs(eqn.params)]
        if eqn.primitive.name == "cond":
            most: Counter[str] = max(inner, key=lambda c: c["flops"] + c["transcendentals"])
            total += most
        else:
            for c in inner:
                total += Counter({k: n * eqn.params.get("length", 1) for k, n in c.items()})
        total += Counter(_own(eqn))
    return total


def _own(eqn: JaxprEqn) -> dict[str, int]:
    name, out = eqn.primitive.name, eqn.outvars[0].aval if eqn.outvars else None
    if out is None:
        return {}
    if name == "dot_general":
        (contract, _), _ = eqn.params["dimension_numbers"]
        return {"flops": 2 * out.size * prod(eqn.invars[0].aval.shape[d] for d in contract)}
    if name == "conv_general_dilated":
        kernel = eqn.invars[1].aval
        features = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
        return {"flops": 2 * out.size * (kernel.size // max(features, 1))}
    if name.startswith(("reduce_", "cum", "arg")) and name != "reduce_precision":
        return {"flops": eqn.invars[0].aval.size}
    if not eqn.primitive.elementwise or name in _FREE:
        return {}
    return {"transcendentals" if name in _TRANSCENDENTAL and out.dtype.kind in "fc" else "flops": out.size}
