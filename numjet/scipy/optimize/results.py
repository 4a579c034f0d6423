"""What minimization returns."""
from __future__ import annotations

from typing import Any, NamedTuple


class OptimizeResults(NamedTuple):
    """The result of minimize: a pytree.

    x: the point found. success: whether the gradient is below the tolerance. status: 0 for success, 1 when maxiter was
    reached, 3 when the line search found no step. fun, jac: value and gradient at x. hess_inv: approximation of the inverse
    of the Hessian. nfev, njev: evaluations of function and gradient. nit: iterations.

    >>> import numjet.numpy as jnp
    >>> from numjet.scipy.optimize import minimize
    >>> result = minimize(lambda x: jnp.sum((x - 2) ** 2), jnp.zeros(1), method="BFGS")
    >>> isinstance(result, OptimizeResults), bool(result.success)
    (True, True)
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any
