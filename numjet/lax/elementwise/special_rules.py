"""Bessel functions I0 and I1, and zeta and polygamma functions, in scalar arithmetic.

Sources: DLMF (dlmf.nist.gov) chapters 10 and 25.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.lax.elementwise.special_loops import S, const, less
from numjet.lax.elementwise.special_tables import BERNOULLI, I0E_LARGE, I0E_SMALL, I1E_LARGE, I1E_SMALL

# ------------------------------------------------------------------------------------------------ Bessel functions

def _clenshaw(b: Any, y: S, coefficients: Sequence[float]) -> S:
    """The sum of c_k T_k(y) (Clenshaw, Math. Tables Other Aids Comput. 9, 1955)."""
    twice = b.add(y, y)
    after, last = b.const(0, y.dtype), b.const(coefficients[-1], y.dtype)
    for c in reversed(coefficients[1:-1]):
        after, last = last, b.add(b.sub(b.mul(twice, last), after), b.const(c, y.dtype))
    return b.add(b.sub(b.mul(y, last), after), b.const(coefficients[0], y.dtype))


def _enough(coefficients: Sequence[float], dtype: np.dtype) -> Sequence[float]:
    limit = abs(coefficients[0]) * np.finfo(dtype).eps / 16
    return coefficients[:max(k for k, c in enumerate(coefficients) if abs(c) > limit) + 1]


def _bessel(b: Any, x: S, small: Sequence[float], large: Sequence[float], odd: bool) -> S:
    if x.dtype.itemsize < 4:
        return b.convert(_bessel(b, b.convert(x, np.dtype(np.float32)), small, large, odd), x.dtype)
    size = b.prim("abs", x)
    is_small = less(b, size, 8.0)
    inner, outer = b.select(is_small, size, b.const(8, x.dtype)), b.select(is_small, b.const(8, x.dtype), size)
    near = _clenshaw(b, b.sub(b.mul(inner, b.const(0.25, x.dtype)), b.const(1, x.dtype)), _enough(small, x.dtype))
    far = _clenshaw(b, b.sub(b.div(b.const(16, x.dtype), outer), b.const(1, x.dtype)), _enough(large, x.dtype))
    far = b.div(far, b.prim("sqrt", outer))
    if not odd:
        return b.select(is_small, near, far)
    shifted = b.add(inner, b.const(2, x.dtype))
    near = b.div(b.mul(near, x), b.mul(shifted, b.prim("sqrt", shifted)))
    return b.select(is_small, near, b.select(less(b, x, 0.0), b.neg(far), far))


def bessel_i0e(b: Any, x: S) -> S:
    """e^-|x| I0(x) by two Chebyshev series."""
    return _bessel(b, x, I0E_SMALL, I0E_LARGE, odd=False)


def bessel_i1e(b: Any, x: S) -> S:
    """e^-|x| I1(x) by two Chebyshev series."""
    return _bessel(b, x, I1E_SMALL, I1E_LARGE, odd=True)


# ------------------------------------------------------------------------------------------------ zeta, polygamma

_ZETA_TERMS = 24


def _zeta_step(b: Any, n: S, carry: Sequence[S], s: S, q: S) -> Sequence[S]:
    return (b.add(carry[0], b.math("pow", b.add(q, n), b.neg(s))),)


def _zeta_rest(b: Any, s: S, q: S, head: S) -> S:
    """Euler-Maclaurin behind the first terms (DLMF 25.11.5); right for q > 10 - 24 and integer s also where q < 0."""
    a, one = b.add(q, const(b, float(_ZETA_TERMS))), const(b, 1.0)
    power = b.math("pow", a, b.neg(s))
    total = b.add(b.add(head, b.div(b.mul(power, a), b.sub(s, one))), b.mul(const(b, 0.5), power))
    inverse = b.div(one, a)
    factor = b.mul(b.mul(power, inverse), s)
    for k, coefficient in enumerate(BERNOULLI[:8], 1):
        total = b.add(total, b.mul(factor, const(b, coefficient)))
        rising = b.mul(b.add(s, const(b, 2.0 * k - 1)), b.add(s, const(b, 2.0 * k)))
        factor = b.mul(b.mul(factor, rising), b.mul(inverse, inverse))
    head_only = b.compare("eq", power, const(b, 0.0))
    total = b.select(head_only, head, total)
    total = b.select(b.compare("eq", b.prim("abs", head), const(b, math.inf)), const(b, math.inf), total)
    pole = b.prim("and", b.compare("le", q, const(b, 0.0)), b.compare("eq", q, b.prim("floor", q)))
    total = b.select(b.prim("or", pole, b.compare("eq", s, one)), const(b, math.inf), total)
    known = b.prim("and", b.compare("ge", s, one), b.compare("gt", q, const(b, 10.0 - _ZETA_TERMS)))
    harmonic = b.prim("and", b.compare("eq", s, one), b.compare("eq", q, q))
    known = b.prim("or", known, b.prim("or", harmonic, b.prim("and", pole, b.compare("gt", s, one))))
    return b.select(known, total, const(b, math.nan))


def zeta(m: Any) -> Any:
    """Hurwitz's zeta function: the sum of (q + n)^-s over n >= 0. NaN for q <= -14 (save the poles) and for s < 1."""
    (head,) = m.iterate(_ZETA_TERMS, (0.0,), _zeta_step)
    return m.combine(_zeta_rest, head)


def polygamma(m: Any) -> Any:
    """(-1)^(n+1) n! zeta(n + 1, x), and digamma for n = 0."""
    def step(b: Any, k: S, carry: Sequence[S], n: S, x: S) -> Sequence[S]:
        return _zeta_step(b, k, carry, b.add(n, const(b, 1.0)), x)

    (head,) = m.iterate(_ZETA_TERMS, (0.0,), step)

    def finish(b: Any, n: S, x: S, head: S) -> S:
        order = b.add(n, const(b, 1.0))
        size = b.mul(b.math("exp", b.math("lgamma", order)), _zeta_rest(b, order, x, head))
        half = b.mul(order, const(b, 0.5))
        even = b.compare("eq", half, b.prim("floor", half))
        signed = b.select(even, size, b.neg(size))
        whole = b.prim("and", b.compare("eq", n, b.prim("floor", n)), b.compare("ge", n, const(b, 0.0)))
        whole = b.prim("and", whole, b.compare("lt", n, const(b, math.inf)))
        value = b.select(whole, signed, const(b, math.nan))
        return b.select(b.compare("eq", n, const(b, 0.0)), b.math("digamma", x), value)

    return m.combine(finish, head)
