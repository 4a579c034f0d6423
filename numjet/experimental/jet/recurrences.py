"""Arithmetic of truncated Taylor series: the coefficients of a function's result, one after another.

A series is the list of its coefficients, without factorials. The recurrences are those of Griewank and Walther, "Evaluating
Derivatives", 2nd edition, section 13.2: each comes from a differential equation that the function solves.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet import lax

Series = list[Any]
Recurrence = Callable[[Series], Series]
RECURRENCES: dict[Any, Recurrence] = {}  # operations of one operand


def total(terms: Sequence[Any]) -> Any:
    """The sum of at least one term."""
    out = terms[0]
    for term in terms[1:]:
        out = lax.add(out, term)
    return out


def scaled(x: Any, factor: float) -> Any:
    """x times a number, in its own dtype."""
    return lax.mul(x, lax.full_like(x, factor))


def cauchy(x: Series, y: Series, product: Callable[[Any, Any], Any] = lax.mul) -> Series:
    """The product of two series by a bilinear operation."""
    return [total([product(x[j], y[k - j]) for j in range(k + 1)]) for k in range(len(x))]


def quotient(x: Series, y: Series) -> Series:
    """x / y: from y z = x."""
    z = [lax.div(x[0], y[0])]
    for k in range(1, len(x)):
        known = total([lax.mul(y[j], z[k - j]) for j in range(1, k + 1)])
        z.append(lax.div(lax.sub(x[k], known), y[0]))
    return z


def power(x: Series, n: int) -> Series:
    """x ** n for n > 0, by squares: it is right where x[0] is zero, too."""
    out: Series | None = None
    while n:
        if n & 1:
            out = x if out is None else cauchy(out, x)
        n >>= 1
        x = cauchy(x, x) if n else x
    assert out is not None
    return out


def _integrated(x: Series, slope: Series, k: int) -> Any:
    """Coefficient k of y, where y' = slope x'."""
    return scaled(total([scaled(lax.mul(x[j], slope[k - j]), j) for j in range(1, k + 1)]), 1 / k)


def _solution(start: Callable[[Any], Any], slope: Callable[[Series, int], Any]) -> Recurrence:
    """The recurrence of y' = slope(y) x'. slope(y, k): coefficient k of the slope for a series known up to k."""
    def recurrence(x: Series) -> Series:
        y = [start(x[0])]
        slopes = [slope(y, 0)]
        for k in range(1, len(x)):
            y.append(_integrated(x, slopes, k))
            slopes.append(slope(y, k))
        return y
    return recurrence


def _square(y: Series, k: int) -> Any:
    return total([lax.mul(y[j], y[k - j]) for j in range(k + 1)])


def _one_plus_square(y: Series, k: int) -> Any:
    return lax.add(_square(y, 0), lax.full_like(y[0], 1)) if k == 0 else _square(y, k)


def _one_minus_square(y: Series, k: int) -> Any:
    return lax.sub(lax.full_like(y[0], 1), _square(y, 0)) if k == 0 else lax.neg(_square(y, k))


def _logistic_slope(y: Series, k: int) -> Any:
    return lax.sub(y[k], _square(y, k))


def _expm1_slope(y: Series, k: int) -> Any:
    return lax.add(y[0], lax.full_like(y[0], 1)) if k == 0 else y[k]


RECURRENCES[lax.exp_p] = _solution(lax.exp, lambda y, k: y[k])
RECURRENCES[lax.expm1_p] = _solution(lax.expm1, _expm1_slope)
RECURRENCES[lax.tan_p] = _solution(lax.tan, _one_plus_square)
RECURRENCES[lax.tanh_p] = _solution(lax.tanh, _one_minus_square)
RECURRENCES[lax.logistic_p] = _solution(lax.logistic, _logistic_slope)


def _logarithm(value: Callable[[Any], Any], shift: float) -> Recurrence:
    """log(x + shift): from (x + shift) y' = x'."""
    def recurrence(x: Series) -> Series:
        base, y = lax.add(x[0], lax.full_like(x[0], shift)), [value(x[0])]
        for k in range(1, len(x)):
            known = [scaled(lax.mul(x[k - j], y[j]), j / k) for j in range(1, k)]
            y.append(lax.div(lax.sub(x[k], total(known)) if known else x[k], base))
        return y
    return recurrence


RECURRENCES[lax.log_p] = _logarithm(lax.log, 0.0)
RECURRENCES[lax.log1p_p] = _logarithm(lax.log1p, 1.0)


def _pair(first: Callable[[Any], Any], second: Callable[[Any], Any], sign: float, which: int) -> Recurrence:
    """One of two functions with f' = g x' and g' = sign f x'."""
    def recurrence(x: Series) -> Series:
        f, g = [first(x[0])], [second(x[0])]
        for k in range(1, len(x)):
            new = _integrated(x, g, k), _integrated(x, f, k)
            f.append(new[0])
            g.append(new[1] if sign > 0 else lax.neg(new[1]))
        return (f, g)[which]
    return recurrence


RECURRENCES[lax.sin_p] = _pair(lax.sin, lax.cos, -1, 0)
RECURRENCES[lax.cos_p] = _pair(lax.sin, lax.cos, -1, 1)
RECURRENCES[lax.sinh_p] = _pair(lax.sinh, lax.cosh, 1, 0)
RECURRENCES[lax.cosh_p] = _pair(lax.sinh, lax.cosh, 1, 1)


def _sqrt(x: Series) -> Series:
    """From y y = x."""
    y = [lax.sqrt(x[0])]
    for k in range(1, len(x)):
        known = [lax.mul(y[j], y[k - j]) for j in range(1, k)]
        y.append(lax.div(lax.sub(x[k], total(known)) if known else x[k], scaled(y[0], 2.0)))
    return y


RECURRENCES[lax.sqrt_p] = _sqrt
RECURRENCES[lax.square_p] = lambda x: cauchy(x, x)
