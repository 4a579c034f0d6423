"""Minimization of scalar functions of one or more variables."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.grad import grad
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.optimize import nelder_mead, newton_methods, projected
from numjet.scipy.optimize.bfgs import bfgs
from numjet.scipy.optimize.implicit import implicit
from numjet.scipy.optimize.results import OptimizeResults

_BFGS_OPTIONS = {"maxiter": None, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 20}
_LIMITED = "l-bfgs-experimental-do-not-rely-on-this"  # JAX's name of L-BFGS-B without bounds
# For each method its options, and which of them `tol` sets.
_METHODS: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "bfgs": (_BFGS_OPTIONS, ("gtol",)),
    "l-bfgs-b": (projected.OPTIONS, ("ftol", "gtol")),
    _LIMITED: ({**projected.OPTIONS, "maxiter": None}, ("ftol", "gtol")),
    "nelder-mead": (nelder_mead.OPTIONS, ("xatol", "fatol")),
    "newton-cg": (newton_methods.OPTIONS, ("xtol",)),
    "trust-ncg": (newton_methods.TRUST_OPTIONS, ("gtol",)),
    "trust-exact": (newton_methods.TRUST_OPTIONS, ("gtol",)),
    "dogleg": (newton_methods.TRUST_OPTIONS, ("gtol",)),
}
_BOUNDED = ("l-bfgs-b", "nelder-mead")


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, bounds: Any = None, tol: Any = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Minimization of fun(x, *args), a differentiable scalar function of a vector x.

    Args:
      fun: a function of a vector, which returns a scalar. Its derivatives come from differentiation.
      x0: first guess, a vector of real numbers.
      args: other arguments of fun, pytrees.
      method: in any case of letters, with its options and their defaults:
        'BFGS' (Nocedal and Wright, algorithm 6.1, with a line search for the strong Wolfe conditions): maxiter (200 times the
          size of x0), norm (the order of the gradient's norm, inf), gtol (1e-5), line_search_maxiter (20).
        'L-BFGS-B' (limited memory, within bounds: Bertsekas 1982, Nocedal 1980): maxcor (10), ftol (2.2e-9), gtol (1e-5),
          maxiter (15000), maxls (20). JAX's name 'l-bfgs-experimental-do-not-rely-on-this' is that method without bounds, with
          maxiter of 200 times the size of x0; x0 may be complex then.
        'Nelder-Mead' (a simplex, without derivatives): maxiter, maxfev (200 times the size of x0), xatol, fatol (1e-4),
          adaptive (False), initial_simplex.
        'Newton-CG' (Nocedal and Wright, algorithm 7.1): xtol (1e-5), maxiter.
        'trust-ncg' (algorithms 4.1 and 7.2), 'trust-exact' (section 4.3), 'dogleg' (section 4.1; for functions that are convex
          around the minimum): initial_trust_radius (1), max_trust_radius (1000),
          eta (0.15), gtol (1e-4), maxiter.
      bounds: for 'L-BFGS-B' and 'Nelder-Mead', a pair (lower, upper) for each variable, with None where there is none, or an
        array of the shape (n, 2).
      tol: sets the method's tolerances.

    Returns:
      OptimizeResults. It works under jit and vmap. x has the derivatives of the implicit function (grad fun = 0, at bounds
      those of the bound) with respect to args, bounds and what fun closes over: forward, reverse, of any order. For 'BFGS'
      they are, as in JAX, those of the iteration, here in reverse mode, too; hess_inv is of 'BFGS' only.

    Raises:
      TypeError: args that are no tuple, a function that returns no scalar. ValueError: another method, unknown options, bounds
        that do not fit or for another method, x0 of another kind.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> found = minimize(lambda x: jnp.sum((x - 3) ** 2), jnp.zeros(2), method="BFGS")
    >>> found.x.round(3).tolist(), bool(found.success)
    ([3.0, 3.0], True)
    >>> best = lambda c: minimize(lambda x: jnp.sum((x - c) ** 2), jnp.zeros(2), method="L-BFGS-B", bounds=[(0, 1), (0, 9)]).x
    >>> best(3.0).round(3).tolist(), (nj.jacobian(best)(3.0) + 0).tolist()
    ([1.0, 3.0], [0.0, 1.0])
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to minimize must be a tuple, got {args}")
    name = method.lower()
    if name not in _METHODS:
        raise ValueError(f"Method {method} not recognized; expected 'BFGS', 'L-BFGS-B', 'Nelder-Mead', 'Newton-CG', "
                         "'trust-ncg', 'trust-exact' or 'dogleg'")
    start = promote_dtypes_inexact(array_arg("minimize", x0))[0]
    if name == _LIMITED and start.ndim == 1 and start.dtype in dtypes.COMPLEX:
        return _of_complex(fun, start, args, method, tol, options)
    if start.ndim != 1 or start.dtype in dtypes.COMPLEX:
        raise ValueError(f"minimize: expected x0 as a vector of real numbers, got {start.dtype.name}{list(start.shape)}")
    start = jnp.astype(start, start.dtype)
    chosen = _options(method, dict(options or {}), tol)

    def scalar(x: Any) -> Any:
        value = fun(x, *args)
        if jnp.shape(value) != ():
            raise TypeError(f"minimize: fun must return a scalar, got shape {jnp.shape(value)}")
        return jnp.astype(value, start.dtype)
    if bounds is not None and name not in _BOUNDED:
        raise ValueError(f"minimize: method {method!r} takes no bounds; use 'L-BFGS-B' or 'Nelder-Mead'")
    if name in ("bfgs", _LIMITED):
        chosen["maxiter"] = 200 * start.size if chosen["maxiter"] is None else chosen["maxiter"]
    if name == "bfgs":
        return bfgs(scalar, start, **chosen)
    return _implicitly(name, scalar, start, _as_bounds(bounds, start), chosen)


def _of_complex(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...], *settings: Any) -> OptimizeResults:
    """Minimization over a complex vector: over its real and imaginary parts."""
    method, tol, options = settings
    joined = lambda parts: lax.complex(parts[:x0.size], parts[x0.size:])
    of_parts = lambda parts, *rest: fun(joined(parts), *rest)
    found = minimize(of_parts, jnp.concatenate([x0.real, x0.imag]), args, method=method, tol=tol, options=options)
    return found._replace(x=joined(found.x), jac=grad(lambda x: fun(x, *args))(joined(found.x)))


def _options(method: str, given: dict[str, Any], tol: Any) -> dict[str, Any]:
    known, tolerances = _METHODS[method.lower()]
    if unknown := given.keys() - known.keys():
        raise ValueError(f"minimize: unknown options {sorted(unknown)}; method {method!r} takes {sorted(known)}")
    return {**known, **({} if tol is None else dict.fromkeys(tolerances, tol)), **given}


def _as_bounds(bounds: Any, x0: Any) -> Any:
    """(lower, upper), as vectors; None without bounds."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):  # scipy.optimize.Bounds
        pairs = [(bounds.lb, bounds.ub)]
        return tuple(jnp.broadcast_to(jnp.asarray(b, x0.dtype), x0.shape) for b in pairs[0])
    if len(bounds) != x0.size:
        raise ValueError(f"minimize: bounds must have a pair for each of {x0.size} variables, got {len(bounds)}")
    if hasattr(bounds, "shape"):
        pairs = jnp.asarray(bounds, x0.dtype).reshape(x0.size, 2)
        return pairs[:, 0], pairs[:, 1]
    side = lambda k, none: jnp.stack([jnp.asarray(none if b[k] is None else b[k], x0.dtype) for b in bounds])
    return side(0, -jnp.inf), side(1, jnp.inf)


def _implicitly(name: str, fun: Callable[[Any], Any], x0: Any, bounds: Any, options: Mapping[str, Any]) -> OptimizeResults:
    """The result of a method of which only the outcome is differentiated."""
    def solve(fun: Callable[[Any], Any], start: Any, bounds: Any) -> tuple[Any, Any]:
        if name in ("l-bfgs-b", _LIMITED):
            return projected.lbfgsb(fun, start, bounds, options)
        if name == "nelder-mead":
            return nelder_mead.nelder_mead(fun, start, bounds, options)
        if name == "newton-cg":
            return newton_methods.newton_cg(fun, start, options)
        return newton_methods.trust_region(fun, start, options, name)

    x, more = implicit(fun, x0, bounds, solve, lambda f, x, bounds: projected.residual(x, grad(f)(x), bounds))
    calls, gradients, steps, success, status = more
    gradient = None if name == "nelder-mead" else grad(fun)(x)
    return OptimizeResults(x, success, status, fun(x), gradient, None, calls, gradients, steps)
