"""Orthogonal polynomials of real and complex numbers, by their recurrences: DLMF, section 18.9.

Each is P[k+1] = (a[k] x + b[k]) P[k] - c[k] P[k-1]; derivatives of any order are those of the recurrence. Of real degrees,
which are floats, they are hypergeometric functions, DLMF 18.5.7 to 18.5.12, whose sums lose all digits where degrees are large:
the same recurrence leads there from degrees below 2.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.while_loop import fori_loop
from numjet.core.trace import Tracer
from numjet.numpy.core.promotion import array_arg
from numjet.scipy.special.elementary import binom, rgamma
from numjet.scipy.special.fixed_orders import wide
from numjet.scipy.special.gamma_family import floats, numbers, poch
from numjet.scipy.special.hypergeometric import hyp1f1, hyp2f1

Step = Callable[[Any], tuple[Any, Any, Any]]  # k -> (a, b, c)
Reflected = tuple[Any, Any]                    # the degree of the same polynomial up to a sign, and the sign
_LARGEST = 2.0 ** 27   # degree that is a float: steps of half a second


def _degree(name: str, n: Any) -> Any:
    """Degrees as integers of at least 32 bits, which have room for reflections. TypeError for others."""
    given = jnp.asarray(array_arg(name, n))
    if not jnp.issubdtype(given.dtype, jnp.integer):
        raise TypeError(f"{name}: the degree must be integers, got {given.dtype.name}")
    return given.astype(np.int32) if given.dtype.itemsize < 4 else given


def _is_real(name: str, n: Any) -> bool:
    return bool(jnp.issubdtype(jnp.asarray(array_arg(name, n)).dtype, np.floating))


def _of_real_degree(name: str, n: Any, args: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    """function(degree, *parameters, x), of floats of the precision of x."""
    *_, x = numbers(name, n, *args)
    real = np.finfo(x.dtype).dtype
    return function(*(jnp.astype(v, real) for v in floats(name, n, *args[:-1])), x)


def _from_below_2(n: Any, parameters: Sequence[Any], x: Any, recurrence: Callable[..., tuple[Any, Step]],
                  reflected: Callable[[Any], Reflected], function: Callable[..., Any]) -> Any:
    """function(n, *parameters, x) by the recurrence from the fractional part of the degree on, and from the next one; NaN for
    degrees that are too large."""
    dtype = x.dtype
    n, *parameters, x = jnp.broadcast_arrays(*wide(n, *parameters, x))
    degree, sign = reflected(n)
    steps = jnp.maximum(lax.stop_gradient(jnp.floor(degree)), 0)
    start = degree - steps
    first, step = recurrence(x, *parameters)
    found = function(jnp.stack([start, start + 1]), *(v[None] for v in (*parameters, x)))
    one, first = (_with_value(found[k], known, start == 0) for k, known in enumerate((jnp.ones_like(x), first)))
    steps = jnp.where(steps <= _LARGEST, steps, jnp.where(jnp.isnan(steps), steps, -1))
    return (sign * _evaluated(steps, one, first, x, lambda k: step(start + k), jnp.nan)).astype(dtype)


def _with_value(x: Any, value: Any, known: Any) -> Any:
    """x, with its derivatives, of which the value is known in some places."""
    return jnp.where(known, x + lax.stop_gradient(value - x), x)


def _evaluated(n: Any, one: Any, first: Any, x: Any, step: Step, below: Any) -> Any:
    """The polynomial of degree n: by the recurrence up to the largest of the degrees; `below` for negative ones.

    A polynomial overflows only beyond all zeros, where the next one is infinite, too: the difference of both would be NaN.
    """
    def body(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        before, now, out = state
        a, b, c = step(jnp.astype(k, np.finfo(x.dtype).dtype))
        grown = (a * x + b) * now
        new = jnp.where(jnp.isinf(grown), grown, grown - c * before)
        return now, new, jnp.where(n == k + 1, new, out)
    start = jnp.where(n == 0, one, jnp.where(n == 1, first, jnp.where(jnp.isnan(first), first, below)))
    most = jnp.max(jnp.where(jnp.isnan(n), 1, n), initial=1)
    most = jnp.astype(most, np.int32) if most.dtype.kind == "f" else most
    return fori_loop(1, most if isinstance(most, Tracer) else int(most), body, (one, first, start))[2]


def _unchanged(n: Any) -> Reflected:
    """Polynomials that the recurrence does not define below degree 0."""
    return n, 1


def _about_half(n: Any) -> Reflected:
    """P_n = P_(-n-1)."""
    return jnp.where(n < -0.5, -1 - n, n), 1


def _even(n: Any) -> Reflected:
    """T_n = T_(-n)."""
    return jnp.abs(n), 1


def _odd_about_minus_1(n: Any) -> Reflected:
    """U_n = -U_(-n-2), which is 0 for n = -1."""
    return jnp.where(n < -1, -2 - n, n), jnp.where(n < -1, -1, 1)


def _polynomial(name: str, n: Any, args: tuple[Any, ...], recurrence: Callable[..., tuple[Any, Step]],
                reflected: Callable[[Any], Reflected] = _unchanged, real: Callable[..., Any] | None = None,
                sums_lose_digits: bool = True) -> Any:
    """The polynomial with these parameters and argument; recurrence(x, *parameters) -> (that of degree 1, the step).

    real(degree, *parameters, x): of real degrees; a family without it has no negative degrees either. sums_lose_digits: that
    is right for small degrees only."""
    if real is not None and _is_real(name, n):
        if not sums_lose_digits:
            return _of_real_degree(name, n, args, real)
        return _of_real_degree(name, n, args, lambda n, *args: _from_below_2(
            n, args[:-1], args[-1], recurrence, reflected, real))
    degree, sign = reflected(_degree(name, n))
    *given, x = numbers(name, *args)
    dtype, narrow = x.dtype, np.finfo(x.dtype).dtype
    parameters = [jnp.astype(v, narrow) for v in floats(name, *args[:-1])] if given else []
    degree, *parameters, x = jnp.broadcast_arrays(degree, *wide(*parameters, x))
    first, step = recurrence(x, *parameters)
    below = jnp.nan if real is None else 0
    return (jnp.astype(sign, narrow) * _evaluated(degree, jnp.ones_like(x), first, x, step, below)).astype(dtype)


@jit_when_eager()
def eval_legendre(n: Any, x: Any) -> Any:
    """Legendre's polynomial P_n(x). n: integers, which broadcast against x; P_n is P_(-n-1). Of floats, which may be no whole
    numbers, it is Legendre's function, infinite or NaN for real x <= -1, and a finite sum for whole n; NaN beyond 2**27.

    >>> float(eval_legendre(2, 0.5))
    -0.125
    """
    return _polynomial("eval_legendre", n, (x,), lambda x: (x, lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1))), _about_half,
                       lambda n, x: hyp2f1(-n, n + 1, 1, 0.5 * (1 - x)))


@jit_when_eager()
def eval_chebyt(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial of the first kind T_n(x); n as of eval_legendre; T_n is T_(-n).

    >>> float(eval_chebyt(2, 0.5))
    -0.5
    """
    return _polynomial("eval_chebyt", n, (x,), lambda x: (x, lambda k: (2, 0, 1)), _even,
                       lambda n, x: hyp2f1(-n, n, 0.5, 0.5 * (1 - x)))


@jit_when_eager()
def eval_chebyu(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial of the second kind U_n(x); n as of eval_legendre; U_n is -U_(-n-2).

    >>> float(eval_chebyu(2, 0.5))
    0.0
    """
    return _polynomial("eval_chebyu", n, (x,), lambda x: (2 * x, lambda k: (2, 0, 1)), _odd_about_minus_1,
                       lambda n, x: (n + 1) * hyp2f1(-n, n + 2, 1.5, 0.5 * (1 - x)))


@jit_when_eager()
def eval_hermite(n: Any, x: Any) -> Any:
    """Hermite's polynomial H_n(x), of physicists. n: integers (TypeError for others), which broadcast against x; NaN for
    negative ones, for which it is no polynomial.

    >>> float(eval_hermite(2, 0.5))
    -1.0
    """
    return _polynomial("eval_hermite", n, (x,), lambda x: (2 * x, lambda k: (2, 0, 2 * k)))


@jit_when_eager()
def eval_hermitenorm(n: Any, x: Any) -> Any:
    """Hermite's polynomial He_n(x), of probability theory; n as of eval_hermite.

    >>> float(eval_hermitenorm(2, 0.5))
    -0.75
    """
    return _polynomial("eval_hermitenorm", n, (x,), lambda x: (x, lambda k: (1, 0, k)))


@jit_when_eager()
def eval_laguerre(n: Any, x: Any) -> Any:
    """Laguerre's polynomial L_n(x). n: integers, which broadcast against x, 0 for negative ones; or floats, which may be no
    whole numbers.

    >>> float(eval_laguerre(2, 0.5))
    0.125
    """
    return _polynomial("eval_laguerre", n, (x,), lambda x: (
        1 - x, lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
                       real=lambda n, x: hyp1f1(-n, 1, x), sums_lose_digits=False)


@jit_when_eager()
def eval_genlaguerre(n: Any, alpha: Any, x: Any) -> Any:
    """The generalized polynomial of Laguerre L_n^(alpha)(x); n as of eval_laguerre.

    >>> float(eval_genlaguerre(2, 1.0, 0.5))
    1.625
    """
    return _polynomial("eval_genlaguerre", n, (alpha, x), lambda x, a: (
        1 + a - x, lambda k: (-1 / (k + 1), (2 * k + 1 + a) / (k + 1), (k + a) / (k + 1))),
                       real=lambda n, a, x: binom(n + a, n) * hyp1f1(-n, a + 1, x), sums_lose_digits=False)


@jit_when_eager()
def eval_gegenbauer(n: Any, alpha: Any, x: Any) -> Any:
    """Gegenbauer's polynomial C_n^(alpha)(x); n as of eval_laguerre.

    >>> float(eval_gegenbauer(2, 1.0, 0.5))
    0.0
    """
    return _polynomial("eval_gegenbauer", n, (alpha, x), lambda x, a: (
        2 * a * x, lambda k: (2 * (k + a) / (k + 1), 0, (k + 2 * a - 1) / (k + 1))),
                       real=lambda n, a, x: poch(2 * a, n) * rgamma(n + 1) * hyp2f1(-n, n + 2 * a, a + 0.5, 0.5 * (1 - x)))


@jit_when_eager()
def eval_jacobi(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    """Jacobi's polynomial P_n^(alpha, beta)(x), for alpha, beta > -1; n as of eval_laguerre. DLMF 18.9.2.

    >>> float(eval_jacobi(2, 1.0, 0.0, 0.5))
    0.625
    """
    def recurrence(x: Any, a: Any, b: Any) -> tuple[Any, Step]:
        def step(k: Any) -> tuple[Any, Any, Any]:
            total = 2 * k + a + b
            scale = 2 * (k + 1) * (k + a + b + 1) * total
            return ((total + 1) * (total + 2) * total / scale, (total + 1) * (a * a - b * b) / scale,
                    2 * (k + a) * (k + b) * (total + 2) / scale)
        return 0.5 * ((a + b + 2) * x + a - b), step
    return _polynomial("eval_jacobi", n, (alpha, beta, x), recurrence, real=lambda n, a, b, x: (
        binom(n + a, n) * hyp2f1(-n, n + a + b + 1, a + 1, 0.5 * (1 - x))))


@jit_when_eager()
def eval_chebyc(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial C_n(x) = 2 T_n(x / 2), on [-2, 2]; n as of eval_chebyt.

    >>> float(eval_chebyc(2, 1.0))
    -1.0
    """
    (x,) = numbers("eval_chebyc", x)
    return 2 * eval_chebyt(n, 0.5 * x)


@jit_when_eager()
def eval_chebys(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial S_n(x) = U_n(x / 2), on [-2, 2]; n as of eval_chebyu.

    >>> float(eval_chebys(2, 1.0))
    0.0
    """
    (x,) = numbers("eval_chebys", x)
    return eval_chebyu(n, 0.5 * x)


@jit_when_eager()
def eval_sh_legendre(n: Any, x: Any) -> Any:
    """Legendre's polynomial shifted to [0, 1], P_n(2 x - 1); n as of eval_legendre.

    >>> float(eval_sh_legendre(2, 0.75))
    -0.125
    """
    (x,) = numbers("eval_sh_legendre", x)
    return eval_legendre(n, 2 * x - 1)


@jit_when_eager()
def eval_sh_chebyt(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial of the first kind shifted to [0, 1], T_n(2 x - 1); n as of eval_chebyt.

    >>> float(eval_sh_chebyt(2, 0.75))
    -0.5
    """
    (x,) = numbers("eval_sh_chebyt", x)
    return eval_chebyt(n, 2 * x - 1)


@jit_when_eager()
def eval_sh_chebyu(n: Any, x: Any) -> Any:
    """Chebyshev's polynomial of the second kind shifted to [0, 1], U_n(2 x - 1); n as of eval_chebyu.

    >>> float(eval_sh_chebyu(2, 0.75))
    0.0
    """
    (x,) = numbers("eval_sh_chebyu", x)
    return eval_chebyu(n, 2 * x - 1)


@jit_when_eager()
def eval_sh_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    """Jacobi's polynomial shifted to [0, 1]: G_n^(p, q)(x) = P_n^(p - q, q - 1)(2 x - 1) / binom(2 n + p - 1, n).

    >>> round(float(eval_sh_jacobi(1, 2.0, 1.0, 0.75)), 4)
    0.4167
    """
    x = numbers("eval_sh_jacobi", p, q, x)[-1]
    p, q = (jnp.astype(v, np.finfo(x.dtype).dtype) for v in floats("eval_sh_jacobi", p, q))
    count = jnp.astype(n if _is_real("eval_sh_jacobi", n) else _degree("eval_sh_jacobi", n), p.dtype)
    return eval_jacobi(n, p - q, q - 1, 2 * x - 1) / binom(2 * count + p - 1, count)
