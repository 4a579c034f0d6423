"""Gauss's quadrature: roots of orthogonal polynomials with their weights, as arrays.

Degrees and parameters are static, so nodes are tables: SciPy computes them by Golub and Welsch's eigenvalues, polished by
Newton's steps, in double precision.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation.errors import ConcretizationTypeError
from numjet.lax.elementwise.scipy_functions import scipy_special


def _make(name: str, what: str, parameters: tuple[str, ...], example: str, value: str) -> Callable[..., Any]:
    """The function `name(n, *parameters, mu=False)`, with docstring."""
    def function(n: Any, *args: Any, mu: bool = False, **named: Any) -> Any:
        given = list(args)
        if len(given) > len(parameters):
            mu, given = given[len(parameters)], given[:len(parameters)]
        given += [named.pop(p) for p in parameters[len(given):] if p in named]
        if named or len(given) != len(parameters):
            expected = ", ".join(("n", *parameters))
            raise TypeError(f"{name}: expected the arguments {expected} and mu, got {(n, *args)} {named}")
        for label, v in zip(("n", *parameters), (n, *given), strict=True):
            if isinstance(v, Tracer):
                raise ConcretizationTypeError(v, f"{name}: nodes are computed while tracing, so {label} has to be static")
        found = getattr(scipy_special, name)(n, *map(float, given), mu=True)
        nodes, weights = (jnp.asarray(v, dtype=float) for v in found[:2])
        return (nodes, weights, float(found[2])) if mu else (nodes, weights)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Nodes and weights of Gauss's quadrature for {what}.

    n: how many, a static integer >= 1 (ValueError below){''.join(f'; {p}: a static number' for p in parameters)}.
    mu: whether to return also the sum of the weights. Results are arrays of shape (n,) of the default float dtype.

    >>> [[round(float(x), 4) for x in v] for v in {name}{example}]
    {value}
    """
    return function


roots_legendre = _make("roots_legendre", "the weight 1 on [-1, 1]", (), "(2)",
                       "[[-0.5774, 0.5774], [1.0, 1.0]]")
roots_chebyt = _make("roots_chebyt", "the weight (1 - x^2)^(-1/2) on [-1, 1]", (), "(1)", "[[0.0], [3.1416]]")
roots_chebyu = _make("roots_chebyu", "the weight (1 - x^2)^(1/2) on [-1, 1]", (), "(1)", "[[0.0], [1.5708]]")
roots_chebyc = _make("roots_chebyc", "the weight (1 - x^2 / 4)^(-1/2) on [-2, 2]", (), "(1)", "[[0.0], [6.2832]]")
roots_chebys = _make("roots_chebys", "the weight (1 - x^2 / 4)^(1/2) on [-2, 2]", (), "(1)", "[[0.0], [3.1416]]")
roots_hermite = _make("roots_hermite", "the weight exp(-x^2) on the line", (), "(1)", "[[0.0], [1.7725]]")
roots_hermitenorm = _make("roots_hermitenorm", "the weight exp(-x^2 / 2) on the line", (), "(1)", "[[0.0], [2.5066]]")
roots_laguerre = _make("roots_laguerre", "the weight exp(-x) on [0, inf)", (), "(1)", "[[1.0], [1.0]]")
roots_genlaguerre = _make("roots_genlaguerre", "the weight x^alpha exp(-x) on [0, inf)", ("alpha",), "(1, 1.0)",
                          "[[2.0], [1.0]]")
roots_gegenbauer = _make("roots_gegenbauer", "the weight (1 - x^2)^(alpha - 1/2) on [-1, 1]", ("alpha",), "(1, 1.0)",
                         "[[0.0], [1.5708]]")
roots_jacobi = _make("roots_jacobi", "the weight (1 - x)^alpha (1 + x)^beta on [-1, 1]", ("alpha", "beta"), "(1, 1.0, 1.0)",
                     "[[0.0], [1.3333]]")
roots_sh_legendre = _make("roots_sh_legendre", "the weight 1 on [0, 1]", (), "(1)", "[[0.5], [1.0]]")
roots_sh_chebyt = _make("roots_sh_chebyt", "the weight (x - x^2)^(-1/2) on [0, 1]", (), "(1)", "[[0.5], [3.1416]]")
roots_sh_chebyu = _make("roots_sh_chebyu", "the weight (x - x^2)^(1/2) on [0, 1]", (), "(1)", "[[0.5], [0.3927]]")
roots_sh_jacobi = _make("roots_sh_jacobi", "the weight (1 - x)^(p1 - q1) x^(q1 - 1) on [0, 1]", ("p1", "q1"), "(1, 1.0, 1.0)",
                        "[[0.5], [1.0]]")
