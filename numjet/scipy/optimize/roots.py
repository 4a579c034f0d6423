"""Roots of systems of equations: Powell's hybrid method, Levenberg's and Marquardt's."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import jacfwd
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import dtypes
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.optimize.implicit import Function, implicit
from numjet.scipy.optimize.newton_methods import to_boundary
from numjet.scipy.optimize.nonlinear_least_squares import levenberg_marquardt
from numjet.scipy.optimize.results import OptimizeResults

_OPTIONS = {"hybr": {"xtol": 1.49012e-8, "maxfev": None, "factor": 100.0},
            "lm": {"xtol": 1.49012e-8, "ftol": 1.49012e-8, "gtol": 0.0, "maxiter": None}}


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=Precision.HIGHEST)


def _norm(x: Any) -> Any:
    return jnp.linalg.norm(x) if x.size else jnp.zeros((), x.dtype)


class _State(NamedTuple):
    x: Any
    value: Any
    jacobian: Any
    scale: Any        # of the variables: the largest norms of the Jacobian's columns so far
    radius: Any
    evaluations: Any
    steps: Any
    converged: Any


def _newton(s: _State) -> Any:
    """Newton's step, in scaled variables."""
    return -s.scale * jnp.linalg.solve(s.jacobian, s.value)


def _dogleg(s: _State) -> Any:
    """Powell's path, in scaled variables: to the minimum along the gradient, then to Newton's point, within the region."""
    jacobian = s.jacobian / s.scale[None]
    gradient = _product(jacobian.T, s.value)
    image = _product(jacobian, gradient)
    square, curvature = jnp.sum(gradient * gradient), jnp.sum(image * image)
    cauchy = -square / jnp.where(curvature == 0, 1, curvature) * gradient
    newton = _newton(s)
    regular = jnp.isfinite(newton).all()
    newton = jnp.where(regular, newton, cauchy)
    far, length = _norm(newton) <= s.radius, _norm(cauchy)
    first = cauchy * jnp.minimum(1, s.radius / jnp.where(length == 0, 1, length))
    second = cauchy + to_boundary(cauchy, newton - cauchy, s.radius) * (newton - cauchy)
    return jnp.where(far, newton, jnp.where(length >= s.radius, first, second))


def _hybrid(fun: Function, x0: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """M. J. D. Powell, "A hybrid method for nonlinear equations" (1970), with the Jacobian at every point."""
    derivative = jacfwd(fun)
    most = 200 * (x0.size + 1) if options["maxfev"] is None else options["maxfev"]
    eps = float(jnp.finfo(x0.dtype).eps)
    tolerance = max(options["xtol"], 4 * eps)
    columns = lambda jacobian: jnp.sqrt(jnp.sum(jacobian * jacobian, 0))
    value, jacobian = fun(x0), derivative(x0)
    scale = jnp.where(columns(jacobian) == 0, 1, columns(jacobian))
    length = _norm(scale * x0)
    radius = options["factor"] * jnp.where(length == 0, 1, length)

    def step(s: _State) -> _State:
        p = _dogleg(s)
        x = s.x + p / s.scale
        value = fun(x)
        linear = _norm(s.value + _product(s.jacobian, p / s.scale))
        before, after = _norm(s.value), _norm(value)
        promised = before * before - linear * linear
        gain = (before * before - after * after) / jnp.where(promised == 0, 1, promised)
        gain = jnp.where(jnp.isfinite(after), gain, -1)
        size = _norm(p)
        radius = jnp.where(gain < 0.1, 0.25 * jnp.minimum(s.radius, size), jnp.where(gain > 0.75, jnp.maximum(
            s.radius, 2 * size), s.radius))
        good = gain > 1e-4
        settled = _norm(_newton(s)) <= tolerance * _norm(s.scale * s.x)
        keep = lambda new, old: jnp.where(good, new, old)
        x, value = keep(x, s.x), keep(value, s.value)
        jacobian = keep(derivative(x), s.jacobian)
        return _State(x, value, jacobian, jnp.maximum(s.scale, columns(jacobian)), radius, s.evaluations + 1, s.steps + 1,
                      settled | ~(value != 0).any())
    start = _State(x0, value, jacobian, scale, radius, 1, 0, ~(value != 0).any())
    unfinished = lambda s: ~s.converged & (s.evaluations < most) & (s.radius > eps * eps * _norm(s.scale * s.x))
    s = while_loop(unfinished, step, start)
    near = _norm(_newton(s)) <= eps ** 0.5 * _norm(s.scale * s.x)
    success = (s.converged | near) & jnp.isfinite(s.value).all()
    return s.x, (s.evaluations, s.steps + 1, s.steps, success, jnp.where(success, 1, jnp.where(s.evaluations >= most, 2, 4)))


def root(fun: Callable[..., Any], x0: Any, args: Any = (), method: str = "hybr", tol: Any = None,
         options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A root of a system of as many equations as unknowns: fun(x, *args) = 0.

    Args:
      fun: a function of an array, which returns one of its shape. Its Jacobian comes from differentiation.
      x0: first guess, an array of real numbers.
      args: other arguments of fun, pytrees.
      method: 'hybr', Powell's dogleg in a trust region (options xtol, maxfev, factor); 'lm', Levenberg's and Marquardt's
        damped least squares (options xtol, ftol, gtol, maxiter).
      tol: the same as the option xtol.

    Returns:
      OptimizeResults with x, success, status (1 for success, 2 when maxfev was reached, 4 without progress), fun, jac, nfev,
      njev and nit; hess_inv is None. x has the derivatives of the implicit function with respect to args and what fun closes
      over: forward, reverse, of any order. It works under jit and vmap.

    Raises:
      TypeError: fun returns another shape. ValueError: an unknown method or option, x0 that is not real.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> solve = lambda c: root(lambda x: jnp.array([x[0] + x[1] - c, x[0] * x[1] - 6]), jnp.array([1.0, 5.0])).x
    >>> solve(5.0).round(3).tolist(), nj.jacobian(solve)(5.0).round(3).tolist()
    ([2.0, 3.0], [-2.0, 3.0])
    """
    name = method.lower()
    if name not in _OPTIONS:
        raise ValueError(f"root: method {method!r} not recognized; expected 'hybr' or 'lm'")
    known = _OPTIONS[name]
    if unknown := (options or {}).keys() - known.keys():
        raise ValueError(f"root: unknown options {sorted(unknown)}; method {method!r} takes {sorted(known)}")
    chosen = {**known, **({} if tol is None else {"xtol": tol}), **(options or {})}
    (start,) = promote_dtypes_inexact(array_arg("root", x0))
    if start.dtype not in dtypes.FLOATING:
        raise ValueError(f"root: expected x0 of real numbers, got {start.dtype.name}")
    shape, args = start.shape, args if isinstance(args, tuple) else (args,)

    def flat(x: Any) -> Any:
        out = jnp.asarray(fun(x.reshape(shape), *args))
        if out.size != x.size:
            raise TypeError(f"root: fun must return as many numbers as x0 has, {x.size}, got shape {out.shape}")
        return jnp.astype(out.reshape(-1), start.dtype)

    def solve(fun: Function, x: Any, _: Any) -> tuple[Any, Any]:
        return _hybrid(fun, x, chosen) if name == "hybr" else _least_squares(fun, x, chosen)
    x, (calls, jacobians, steps, success, status) = implicit(
        flat, jnp.astype(start.reshape(-1), start.dtype), None, solve, lambda f, x, _: f(x))
    return OptimizeResults(x.reshape(shape), success, status, flat(x).reshape(shape), jacfwd(flat)(x), None, calls, jacobians,
                           steps)


def _least_squares(fun: Function, x: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """The damped method; a minimum with residuals left is no root."""
    most = 100 * (x.size + 1) if options["maxiter"] is None else options["maxiter"]
    s = levenberg_marquardt(fun, x, None, None, options["ftol"], options["xtol"], options["gtol"], most)
    newton = jnp.linalg.solve(s.jacobian, s.value)
    eps = float(jnp.finfo(x.dtype).eps)
    success = ((_norm(newton) <= eps ** 0.5 * _norm(s.x)) | ~(s.value != 0).any()) & jnp.isfinite(s.value).all()
    return s.x, (s.evaluations, s.jacobians, s.steps, success, jnp.where(success, 1, jnp.where(s.status == 0, 2, 4)))
