"""Bessel functions I0 and I1, and zeta and polygamma functions, in scalar arithmetic.

Sources: DLMF (dlmf.nist.gov) chapters 10 and 25.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.lax.elementwise.scipy_functions import ZETA_LEFT, zeta_shift
from numjet.lax.elementwise.special_loops import Number, S, const, less, polynomial
from numjet.lax.elementwise.special_tables import (
    BERNOULLI,
    I0_NEAR,
    I0E_FAR,
    I0E_LARGE,
    I0E_SMALL,
    I1_NEAR,
    I1E_FAR,
    I1E_LARGE,
    I1E_SMALL,
)

# ------------------------------------------------------------------------------------------------ Bessel functions

def _clenshaw(b: Any, y: S, coefficients: Sequence[float]) -> S:
    """The sum of c_k T_k(y) (Clenshaw, Math. Tables Other Aids Comput. 9, 1955)."""
    twice = b.add(y, y)
    after, last = b.const(0, y.dtype), b.const(coefficients[-1], y.dtype)
    for c in reversed(coefficients[1:-1]):
        after, last = last, b.add(b.sub(b.mul(twice, last), after), b.const(c, y.dtype))
    return b.add(b.sub(b.mul(y, last), after), b.const(coefficients[0], y.dtype))


_SPLIT = {4: 7.0, 8: 8.0}   # the series below and above this one, by the size of the dtype


def _split(b: Any, x: S) -> tuple[S, S, S]:
    """Whether |x| is small, and it for the series below and above the split, where it is that and the split elsewhere."""
    size = b.prim("abs", x)
    end = b.const(_SPLIT[x.dtype.itemsize], x.dtype)
    small = b.compare("lt", size, end)
    return small, b.select(small, size, end), b.select(small, end, size)


def _single(b: Any, x: S, near: Sequence[float], far: Sequence[float], odd: bool) -> S:
    """e^-|x| times a polynomial of x² whose terms are positive; beyond, a polynomial of 1 / |x| over the root of |x|."""
    small, inner, outer = _split(b, x)
    below = b.mul(polynomial(b, b.mul(inner, inner), near), b.math("exp", b.neg(inner)))
    above = b.div(polynomial(b, b.div(b.const(1, x.dtype), outer), far), b.prim("sqrt", outer))
    if odd:
        below, above = b.mul(below, x), b.select(less(b, x, 0.0), b.neg(above), above)
    return b.select(small, below, above)


def _double(b: Any, x: S, small: Sequence[float], large: Sequence[float], odd: bool) -> S:
    """Two Chebyshev series."""
    is_small, inner, outer = _split(b, x)
    near = _clenshaw(b, b.sub(b.mul(inner, b.const(0.25, x.dtype)), b.const(1, x.dtype)), small)
    far = _clenshaw(b, b.sub(b.div(b.const(16, x.dtype), outer), b.const(1, x.dtype)), large)
    far = b.div(far, b.prim("sqrt", outer))
    if not odd:
        return b.select(is_small, near, far)
    shifted = b.add(inner, b.const(2, x.dtype))
    near = b.div(b.mul(near, x), b.mul(shifted, b.prim("sqrt", shifted)))
    return b.select(is_small, near, b.select(less(b, x, 0.0), b.neg(far), far))


def _by_size(single: tuple[Sequence[float], Sequence[float]], double: tuple[Sequence[float], Sequence[float]],
             odd: bool) -> Callable[[Any, S], S]:
    def rule(b: Any, x: S) -> S:
        if x.dtype.itemsize == 8:
            return _double(b, x, *double, odd)
        return b.convert(_single(b, b.convert(x, np.dtype(np.float32)), *single, odd), x.dtype)
    return rule


_i0e = _by_size((I0_NEAR, I0E_FAR), (I0E_SMALL, I0E_LARGE), odd=False)
_i1e = _by_size((I1_NEAR, I1E_FAR), (I1E_SMALL, I1E_LARGE), odd=True)


def bessel_i0e(b: Any, x: S) -> S:
    """e^-|x| I0(x)."""
    return _i0e(b, x)


def bessel_i1e(b: Any, x: S) -> S:
    """e^-|x| I1(x)."""
    return _i1e(b, x)


# ------------------------------------------------------------------------------------------------ zeta, polygamma

_BERNOULLI_TERMS = 8
_HEAD = {True: 24, False: 18}   # terms before Euler-Maclaurin's: errors 1e-16 for float64, 1e-10 for smaller dtypes


def _power(b: Any, x: S, s: S) -> S:
    """x^-s."""
    return b.math("pow", x, b.neg(s))


def _power_of_single(b: Any, x: S, s: S) -> S:
    """x^-s for whole s or positive x, as e^(-s log|x|): its error of s log x units of float64 is none in a float32."""
    half = b.mul(b.select(b.compare("gt", s, const(b, 1e300)), const(b, 1e300), s), const(b, 0.5))
    size = b.math("exp", b.mul(half, b.mul(const(b, -2.0), b.math("log", b.prim("abs", x)))))
    odd = b.compare("ne", b.prim("floor", half), half)
    return b.select(b.prim("and", odd, less(b, x, 0.0)), b.neg(size), size)


def _rest(b: Any, s: S, a: S, to_power: Callable[..., S]) -> S:
    """Euler-Maclaurin's sum of the terms from a on (DLMF 25.11.5). Its first one is a power of its own, which is left where
    a^-s underflows."""
    one = const(b, 1.0)
    power, first = to_power(b, a, s), to_power(b, a, b.sub(s, one))
    total = b.add(b.div(first, b.sub(s, one)), b.mul(const(b, 0.5), power))
    inverse = b.div(one, a)
    factor = b.mul(b.mul(power, inverse), s)
    for k, coefficient in enumerate(BERNOULLI[:_BERNOULLI_TERMS], 1):
        total = b.add(total, b.mul(factor, const(b, coefficient)))
        rising = b.mul(b.add(s, const(b, 2.0 * k - 1)), b.add(s, const(b, 2.0 * k)))
        factor = b.mul(b.mul(factor, rising), b.mul(inverse, inverse))
    return b.select(b.compare("eq", first, const(b, 0.0)), const(b, 0.0), total)


def _ends(b: Any, s: S, q: S, total: S) -> S:
    """The total, infinite at the poles, NaN where there is no value: for s < 1, and negative q with fractional s."""
    one, infinity = const(b, 1.0), const(b, math.inf)
    whole = lambda x: b.compare("eq", x, b.prim("floor", x))
    pole = b.prim("and", b.compare("le", q, const(b, 0.0)), whole(q))
    total = b.select(b.prim("or", pole, b.compare("eq", s, one)), infinity, total)
    real = b.prim("or", b.compare("ge", q, const(b, 0.0)), whole(s))
    known = b.prim("and", b.prim("and", real, b.compare("ge", s, one)), b.compare("gt", q, const(b, -math.inf)))
    harmonic = b.prim("and", b.compare("eq", s, one), b.compare("eq", q, q))
    known = b.prim("or", known, b.prim("or", harmonic, b.prim("and", pole, b.compare("gt", s, one))))
    return b.select(known, total, const(b, math.nan))


def _moved(b: Any, q: S) -> tuple[S, S, S, S]:
    """Whether q is so far on the left that the sum is found by zeta_shift, and its three parameters: q, and harmless ones
    elsewhere."""
    left = less(b, q, ZETA_LEFT)
    u, v, w = zeta_shift(Number(b, b.select(left, q, const(b, -20.5))), lambda x: Number(b, b.prim("floor", x.s)))
    return left, b.select(left, u.s, q), v.s, w.s


def _below(b: Any, s: S, v: S, w: S, to_power: Callable[..., S]) -> S:
    """(-1)^s (zeta(s, v) - zeta(s, w))."""
    half = b.mul(s, const(b, 0.5))
    difference = b.sub(_rest(b, s, v, to_power), _rest(b, s, w, to_power))
    return b.select(b.compare("eq", half, b.prim("floor", half)), difference, b.neg(difference))


def _zeta(m: Any, order: Callable[[Any, S], S], finish: Callable[..., S]) -> Any:
    """finish(b, operand, q, zeta(order(operand), q)): the first terms one by one, the others by Euler-Maclaurin.

    The rest is right for whole s also where q < 0.
    """
    terms, to_power = _HEAD[m.precise], _power if m.precise else _power_of_single
    start = m.prepare(lambda b, x, q: _moved(b, q)[1])

    def step(b: Any, n: S, carry: Sequence[S], x: S, q: S, u: S) -> Sequence[S]:
        return (b.add(carry[0], to_power(b, b.add(u, n), order(b, x))),)

    def last(b: Any, x: S, q: S, head: S) -> S:
        left, u, v, w = _moved(b, q)
        s, a = order(b, x), b.add(u, const(b, float(terms)))
        total = b.add(head, _rest(b, s, a, to_power))
        total = b.select(left, b.add(total, _below(b, s, v, w, to_power)), total)
        infinite = b.compare("eq", b.prim("abs", head), const(b, math.inf))
        return finish(b, x, q, _ends(b, s, q, b.select(infinite, head, total)))

    return m.combine(last, *m.iterate(terms, (0.0,), step, start))


def zeta(m: Any) -> Any:
    """Hurwitz's zeta function: the sum of (q + n)^-s over n >= 0. NaN for s < 1."""
    return _zeta(m, lambda b, s: s, lambda b, s, q, value: value)


def polygamma(m: Any) -> Any:
    """(-1)^(n+1) n! zeta(n + 1, x), and digamma for n = 0."""
    def finish(b: Any, n: S, x: S, value: S) -> S:
        order = b.add(n, const(b, 1.0))
        size = b.mul(b.math("exp", b.math("lgamma", order)), value)
        half = b.mul(n, const(b, 0.5))
        even = b.compare("eq", half, b.prim("floor", half))
        signed = b.select(even, b.neg(size), size)
        whole = b.prim("and", b.compare("eq", n, b.prim("floor", n)), b.compare("ge", n, const(b, 0.0)))
        whole = b.prim("and", whole, b.compare("lt", n, const(b, math.inf)))
        found = b.select(whole, signed, const(b, math.nan))
        return b.select(b.compare("eq", n, const(b, 0.0)), b.math("digamma", x), found)

    return _zeta(m, lambda b, n: b.add(n, const(b, 1.0)), finish)
