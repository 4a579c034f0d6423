"""Roots of functions of one variable: bisection, the methods of Brent, Newton and Halley, the secant method."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import jvp
from numjet.control.loops.while_loop import while_loop
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.optimize.implicit import Function, implicit

_XTOL, _RTOL = 2e-12, float(4 * np.finfo(np.float64).eps)


class RootResults(NamedTuple):
    """What a search for a root tells: the root, iterations, evaluations of the function, and whether it converged.

    >>> root, result = brentq(lambda x: x * x - 2, 0.0, 2.0, full_output=True)
    >>> isinstance(result, RootResults), bool(result.converged)
    (True, True)
    """

    root: Any
    iterations: Any
    function_calls: Any
    converged: Any


# -------------------------------------------------------------------------------------------- arguments

def _floats(name: str, *xs: Any) -> list[Any]:
    """Real floats of one dtype, without weak types."""
    found = promote_dtypes_inexact(*(array_arg(name, x) for x in xs))
    if found[0].dtype not in dtypes.FLOATING:
        raise TypeError(f"{name}: expected real numbers, got {found[0].dtype.name}")
    return [jnp.astype(x, x.dtype) for x in found]


def _applied(name: str, fun: Callable[..., Any], args: Any, like: Any) -> Function:
    """fun of x, with the other arguments given and its shape checked."""
    args = args if isinstance(args, tuple) else (args,)

    def of_x(x: Any) -> Any:
        out = jnp.asarray(fun(x, *args))
        if out.shape != x.shape:
            raise TypeError(f"{name}: the function must return shape {x.shape}, got {out.shape}")
        return jnp.astype(out, like.dtype)
    return of_x


def _bracket(name: str, fun: Callable[..., Any], a: Any, b: Any, args: Any) -> tuple[Function, Any, Any]:
    a, b = _floats(name, a, b)
    if a.shape or b.shape:
        raise ValueError(f"{name}: expected scalars as ends of the interval, got shapes {a.shape} and {b.shape}; use vmap")
    return _applied(name, fun, args, a), a, b


def _finish(name: str, found: RootResults, full_output: bool, disp: bool) -> Any:
    """What the user gets; NaN, or an error where the outcome is known, without a root."""
    converged = found.converged
    if disp and not isinstance(converged, Tracer) and not bool(converged.all()):
        raise RuntimeError(f"{name}: no convergence after {int(found.iterations)} iterations; the value was {found.root}")
    root = jnp.where(converged, found.root, jnp.nan) if disp else found.root
    return (root, found._replace(root=root)) if full_output else root


def _check_signs(name: str, fun: Function, a: Any, b: Any) -> Any:
    """Whether the signs at the ends differ. ValueError where it is known that they do not."""
    differ = jnp.sign(fun(a)) * jnp.sign(fun(b)) <= 0
    if not isinstance(differ, Tracer) and not bool(differ):
        raise ValueError(f"{name}: f(a) and f(b) must have different signs")
    return differ


def _by_bracket(name: str, method: Callable[..., Any], f: Callable[..., Any], a: Any, b: Any, args: Any, xtol: float,
                rtol: float, maxiter: int, full_output: bool, disp: bool) -> Any:
    if xtol <= 0:
        raise ValueError(f"xtol too small ({xtol:g} <= 0)")
    fun, a, b = _bracket(name, f, a, b, args)
    differ = _check_signs(name, fun, a, b)
    least = max(rtol, float(4 * jnp.finfo(a.dtype).eps))

    def solve(fun: Function, start: Any, given: Any) -> tuple[Any, Any]:
        return method(fun, start, given, lambda x: xtol + least * abs(x), maxiter)
    root, (steps, calls, converged) = implicit(fun, a, b, solve, lambda f, x, _: f(x))
    return _finish(name, RootResults(root, steps, calls, converged & differ), full_output, disp)


# -------------------------------------------------------------------------------------------- intervals

def _bisection(fun: Function, a: Any, b: Any, tolerated: Callable[[Any], Any], maxiter: int) -> tuple[Any, Any]:
    def unfinished(s: Any) -> Any:
        x, gap, _, steps, exact = s
        return (abs(gap) >= tolerated(x)) & (steps < maxiter) & ~exact

    def step(s: Any) -> Any:
        low, gap, sign, steps, _ = s
        gap = gap * 0.5
        value = fun(low + gap)
        return jnp.where(value * sign >= 0, low + gap, low), gap, sign, steps + 1, value == 0
    first, last = fun(a), fun(b)
    start = jnp.where(last == 0, b, a)
    out = while_loop(unfinished, step, (start, b - a, jnp.sign(first), 0, (first == 0) | (last == 0)))
    return out[0], (out[3], out[3] + 2, (abs(out[1]) < tolerated(out[0])) | out[4])


class _Zero(NamedTuple):
    """Brent's names: b the best point, c the other end of the bracket, a the point before; e the step before last."""

    a: Any
    b: Any
    c: Any
    fa: Any
    fb: Any
    fc: Any
    d: Any
    e: Any
    steps: Any


def _ordered(s: _Zero) -> _Zero:
    """b and c on both sides of the root, b with the smaller value."""
    same = jnp.sign(s.fb) == jnp.sign(s.fc)
    pick = lambda x, y: jnp.where(same, x, y)
    s = s._replace(c=pick(s.a, s.c), fc=pick(s.fa, s.fc), d=pick(s.b - s.a, s.d), e=pick(s.b - s.a, s.e))
    swap = abs(s.fc) < abs(s.fb)
    pick = lambda x, y: jnp.where(swap, x, y)
    return s._replace(a=pick(s.b, s.a), b=pick(s.c, s.b), c=pick(s.b, s.c),
                      fa=pick(s.fb, s.fa), fb=pick(s.fc, s.fb), fc=pick(s.fb, s.fc))


def _safe(x: Any) -> Any:
    return jnp.where(x == 0, 1, x)


def _brent_step(fun: Function, s: _Zero, tolerated: Callable[[Any], Any]) -> _Zero:
    half, tol = 0.5 * (s.c - s.b), 0.5 * tolerated(s.b)
    ratio = s.fb / _safe(s.fa)
    q, r = s.fa / _safe(s.fc), s.fb / _safe(s.fc)
    secant = s.a == s.c
    p = jnp.where(secant, 2 * half * ratio, ratio * (2 * half * q * (q - r) - (s.b - s.a) * (r - 1)))
    q = jnp.where(secant, 1 - ratio, (q - 1) * (r - 1) * (ratio - 1))
    q, p = jnp.where(p > 0, -q, q), abs(p)
    wanted = (abs(s.e) >= tol) & (abs(s.fa) > abs(s.fb))
    inside = wanted & (2 * p < jnp.minimum(3 * half * q - abs(tol * q), abs(s.e * q)))
    d, e = jnp.where(inside, p / _safe(q), half), jnp.where(inside, s.d, half)
    b = s.b + jnp.where(abs(d) > tol, d, jnp.where(half > 0, tol, -tol))
    return s._replace(a=s.b, fa=s.fb, b=b, fb=fun(b), d=d, e=e, steps=s.steps + 1)


def _brent(fun: Function, a: Any, b: Any, tolerated: Callable[[Any], Any], maxiter: int) -> tuple[Any, Any]:
    """R. P. Brent, "Algorithms for minimization without derivatives" (1973), chapter 4."""
    converged = lambda s: (abs(0.5 * (s.c - s.b)) <= 0.5 * tolerated(s.b)) | (s.fb == 0)
    fa, fb = fun(a), fun(b)
    start = _ordered(_Zero(a, b, a, fa, fb, fa, b - a, b - a, 0))
    s = while_loop(lambda s: ~converged(s) & (s.steps < maxiter),
                   lambda s: _ordered(_brent_step(fun, s, tolerated)), start)
    return s.b, (s.steps, s.steps + 2, converged(s))


def bisect(f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL, rtol: float = _RTOL,
           maxiter: int = 100, full_output: bool = False, disp: bool = True) -> Any:
    """Bisection: a root of f between a and b, where f has different signs.

    Arguments, results, derivatives and errors as of brentq.

    >>> round(float(bisect(lambda x: x * x - 2, 0.0, 2.0)), 5)
    1.41421
    """
    return _by_bracket("bisect", _bisection, f, a, b, args, xtol, rtol, maxiter, full_output, disp)


def brentq(f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL, rtol: float = _RTOL,
           maxiter: int = 100, full_output: bool = False, disp: bool = True) -> Any:
    """Brent's method: a root of f between a and b, where f has different signs.

    Inverse quadratic interpolation, secants and bisection; R. P. Brent, "Algorithms for minimization without derivatives"
    (1973), chapter 4.

    Args:
      f: a function f(x, *args) of a real scalar.
      a, b: ends of the interval, in any order.
      args: other arguments of f, pytrees.
      xtol, rtol: the root is off by at most xtol + rtol |x|; rtol counts as at least four times the dtype's precision.
      full_output: return (root, RootResults).
      disp: without convergence, give NaN in programs that are traced, and raise otherwise. False: give the last value.

    Returns:
      The root. Its derivatives, of any order, forward and reverse, with respect to args and what f closes over are those of
      the implicit function. It works under jit and vmap.

    Raises:
      ValueError: ends that are no scalars; equal signs at both, where the values are known (NaN under jit).
      RuntimeError: no convergence, where that is known.

    >>> import numjet as nj
    >>> root = lambda c: brentq(lambda x: x ** 3 - c, 0.0, 9.0)
    >>> round(float(root(8.0)), 5), round(float(nj.grad(root)(8.0)), 5)
    (2.0, 0.08333)
    """
    return _by_bracket("brentq", _brent, f, a, b, args, xtol, rtol, maxiter, full_output, disp)


# -------------------------------------------------------------------------------------------- Newton's method

def _slopes(fun: Function, x: Any) -> tuple[Any, Any]:
    """The value, and by how much Newton's (or Halley's) step lowers x. fun: gives the value, and derivatives or None."""
    value, slope, curvature = fun(x)
    if slope is None:
        slope = jvp(lambda x: fun(x)[0], (x,), (jnp.ones_like(x),))[1]
    step = value / slope
    if curvature is not None:
        factor = 1 - 0.5 * step * curvature / slope
        step = jnp.where(abs(factor) < 1, step / _safe(factor), step)
    return value, step


def _newton(fun: Function, x0: Any, calls: int, tolerated: Callable[[Any], Any], maxiter: int) -> tuple[Any, Any]:
    def step(s: Any) -> Any:
        x, steps, done = s
        value, change = _slopes(fun, x)
        new = jnp.where(done | (value == 0), x, x - change)
        return new, steps + 1, done | (value == 0) | (abs(new - x) <= tolerated(x))
    x, steps, done = while_loop(lambda s: ~s[2].all() & (s[1] < maxiter), step, (x0, 0, jnp.zeros(x0.shape, bool)))
    return x, (steps, steps * calls, done)


def _secant(fun: Function, x0: Any, x1: Any, tolerated: Callable[[Any], Any], maxiter: int) -> tuple[Any, Any]:
    def step(s: Any) -> Any:
        x0, x1, f0, f1, steps, done = s
        flat = f1 == f0
        new = jnp.where(done | flat, x1, x1 - f1 * (x1 - x0) / _safe(f1 - f0))
        finished = done | (f1 == 0) | (~flat & (abs(new - x1) <= tolerated(x1)))
        return jnp.where(done, x0, x1), new, jnp.where(done, f0, f1), jnp.where(done, f1, fun(new)), steps + 1, finished
    start = (x0, x1, fun(x0), fun(x1), 0, jnp.zeros(x0.shape, bool))
    _, x, _, _, steps, done = while_loop(lambda s: ~s[5].all() & (s[4] < maxiter), step, start)
    return x, (steps, steps + 2, done)


def newton(func: Callable[..., Any], x0: Any, fprime: Callable[..., Any] | None = None, args: Any = (), tol: float = 1.48e-8,
           maxiter: int = 50, fprime2: Callable[..., Any] | None = None, x1: Any = None, rtol: float = 0.0,
           full_output: bool = False, disp: bool = True) -> Any:
    """Newton's method: a root of a function near x0.

    func: func(x, *args), elementwise where x0 is an array. fprime: its derivative; without it func is differentiated. fprime2:
    its second derivative, for Halley's method. x1: a second guess, for the secant method, which needs no derivatives. tol,
    rtol: the last step is at most tol + rtol |x|, where tol counts as no less than four times the dtype's precision. Results,
    derivatives and errors as of brentq.

    >>> import numjet.numpy as jnp
    >>> newton(lambda x, c: x * x - c, jnp.ones(2), args=(jnp.array([4.0, 9.0]),)).tolist()
    [2.0, 3.0]
    """
    if tol <= 0:
        raise ValueError(f"tol too small ({tol:g} <= 0)")
    (start,) = _floats("newton", x0)
    given = [None if f is None else _applied("newton", f, args, start) for f in (func, fprime, fprime2)]
    if x1 is not None and (fprime or fprime2):
        raise ValueError("newton: x1 is for the secant method, which takes neither fprime nor fprime2")
    least = float(4 * jnp.finfo(start.dtype).eps)
    tolerated = lambda x: tol + max(rtol, least) * abs(x)
    other = jnp.zeros_like(start) if x1 is None else jnp.broadcast_to(_floats("newton", x1)[0].astype(start.dtype), start.shape)

    def solve(fun: Function, start: Any, other: Any) -> tuple[Any, Any]:
        if x1 is not None:
            return _secant(lambda x: fun(x)[0], start, other, tolerated, maxiter)
        return _newton(fun, start, sum(f is not None for f in given), tolerated, maxiter)
    together = lambda x: [None if f is None else f(x) for f in given]
    root, (steps, calls, converged) = implicit(together, start, other, solve, lambda f, x, _: f(x)[0], elementwise=True)
    return _finish("newton", RootResults(root, steps, calls, converged), full_output, disp)
