"""Minimization of scalar functions of one or more variables."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.optimize.bfgs import bfgs
from numjet.scipy.optimize.results import OptimizeResults

_OPTIONS = {"maxiter": None, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 20}


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, tol: Any = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Minimization of fun(x, *args), a differentiable scalar function of a vector x.

    x0: first guess, a vector of real numbers. method: 'BFGS' (Nocedal and Wright, algorithm 6.1, with a line search for the
    strong Wolfe conditions). tol: tolerated norm of the gradient. options: 'maxiter' (default 200 times the size of x0),
    'norm' (the order of that norm, default inf), 'gtol' (the same as tol, default 1e-5), 'line_search_maxiter'. Works under
    jit and vmap. Forward-mode derivatives are those of the iteration; there is no reverse mode. TypeError and ValueError for
    other arguments.

    >>> import numjet.numpy as jnp
    >>> found = minimize(lambda x: jnp.sum((x - 3) ** 2), jnp.zeros(2), method="BFGS")
    >>> found.x.round(3).tolist(), bool(found.success)
    ([3.0, 3.0], True)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to minimize must be a tuple, got {args}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized; expected 'BFGS'")
    given = dict(options or {})
    if unknown := given.keys() - _OPTIONS.keys():
        raise ValueError(f"minimize: unknown options {sorted(unknown)}; method 'BFGS' takes {sorted(_OPTIONS)}")
    start = promote_dtypes_inexact(array_arg("minimize", x0))[0]
    if start.ndim != 1 or start.dtype in dtypes.COMPLEX:
        raise ValueError(f"minimize: expected x0 as a vector of real numbers, got {start.dtype.name}{list(start.shape)}")
    chosen = {**_OPTIONS, **({} if tol is None else {"gtol": tol}), **given}
    if chosen["maxiter"] is None:
        chosen["maxiter"] = 200 * start.size

    def scalar(x: Any) -> Any:
        value = fun(x, *args)
        if jnp.shape(value) != ():
            raise TypeError(f"minimize: fun must return a scalar, got shape {jnp.shape(value)}")
        return jnp.astype(value, start.dtype)
    return bfgs(scalar, jnp.astype(start, start.dtype), **chosen)
