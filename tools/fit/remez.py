"""Minimax polynomials by the Remez exchange algorithm, in mpmath, with coefficients rounded to a float type.

`fit` made the tables of `numjet.cpu.mathlib`; the tests of mathlib run it again on the short ones. The exchange works
on a fixed, dense Chebyshev grid (E. Remez, "Sur la determination des polynomes d'approximation de degre donnee",
1934), which makes it a finite problem and immune to badly placed extrema. Coefficients are rounded one by one,
lowest power first, and the remaining ones are fitted again, so that they make up for the rounding. That needs the
powers u, u**2 ... to be a Haar system, which they are not where the interval contains 0; there all are rounded at once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
from scipy import special

Function = Callable[[mp.mpf], mp.mpf]
NAMES = "exp expm1 log log1p sin cos asin atan sinh tanh atanh sqrt cbrt erf erfc loggamma digamma pi ln2 mpf".split()
PRECISION = 220


def ratio(w: mp.mpf) -> mp.mpf:
    """erf_inv(x) / x as a function of w = -log(1 - x*x); 1 - x may be tiny."""
    if w <= 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    rest = mp.exp(-w) / (1 + x)  # 1 - x
    y = mp.mpf(float(special.erfinv(float(x)) if w < 2 else special.erfcinv(float(rest))))
    for _ in range(5):  # Halley's method for erfc(y) = rest
        step = (rest - mp.erfc(y)) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y -= step / (1 - y * step)
    return y / x


def compile_formula(text: str) -> Function:
    """The function of `u` that a formula such as "(exp(u) - 1) / u" means, with mpmath's names and `ratio`."""
    names = {name: getattr(mp, name) for name in NAMES} | {"ratio": ratio}
    code = compile(text, "<formula>", "eval")
    return lambda u: mp.mpf(eval(code, {**names, "u": u}))


def grid(lo: float, hi: float, points: int) -> list[mp.mpf]:
    """Chebyshev points of [lo, hi]; zero, where formulas such as sin(u) / u have a hole, is moved a little."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    found = [middle - half * mp.cos(mp.pi * k / (points - 1)) for k in range(points)]
    tiny = half * mp.mpf(10) ** -9
    return [u if abs(u) > tiny else tiny for u in found]


def _solve(points: list[mp.mpf], target: list[mp.mpf], weight: list[mp.mpf], powers: Sequence[int]) -> list[mp.mpf]:
    """Coefficients whose weighted errors at the points are equal, with alternating signs."""
    n = len(powers)
    matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for row, u in enumerate(points):
        for column, power in enumerate(powers):
            matrix[row, column] = u**power
        matrix[row, n] = (-1) ** row / weight[row]
        right[row] = target[row]
    return list(mp.lu_solve(matrix, right))[:n]


def _alternation(errors: list[mp.mpf], count: int) -> list[int]:
    """Indices of `count` neighbouring extrema of alternating sign, the largest among them included."""
    peaks: list[int] = []
    for k, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = k
        else:
            peaks.append(k)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def minimax(points: list[mp.mpf], target: list[mp.mpf], weight: list[mp.mpf], powers: Sequence[int],
            rounds: int = 25) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients of `powers` with the least maximum of weight * |polynomial - target|, and that maximum."""
    count = len(powers) + 1
    chosen = [round(k * (len(points) - 1) / (count - 1)) for k in range(count)]
    best: tuple[list[mp.mpf], mp.mpf] | None = None
    for _ in range(rounds):
        terms = _solve([points[k] for k in chosen], [target[k] for k in chosen], [weight[k] for k in chosen], powers)
        errors = [w * (sum(c * u**p for c, p in zip(terms, powers, strict=True)) - t)
                  for u, t, w in zip(points, target, weight, strict=True)]
        worst = max(map(abs, errors))
        if best is None or worst < best[1]:
            best = terms, worst
        peaks = _alternation(errors, count)
        if len(peaks) < count or min(abs(errors[k]) for k in peaks) > worst * mp.mpf("0.98"):
            break
        chosen = peaks
    assert best is not None
    return best


def fit(of: str, weight: str, lo: float, hi: float, count: int, dtype: str,
        density: int = 14) -> tuple[list[float], float]:
    """Fits `count` terms to `of`; returns them and -log2 of the weighted error."""
    with mp.workprec(PRECISION):
        f, w = compile_formula(of), compile_formula(weight)
        points = grid(lo, hi, density * (count + 1))
        target, weights = [f(u) for u in points], [abs(w(u)) for u in points]
        weights = [max(w, mp.mpf(2) ** -100) for w in weights]
        terms: list[float] = []
        rest = list(target)
        haar = lo >= 0 or hi <= 0
        while len(terms) < count:
            found = minimax(points, rest, weights, range(len(terms), count))[0]
            for value in found[:1] if haar else found:
                terms.append(_rounded(value, dtype))
                rest = [r - mp.mpf(terms[-1]) * u ** (len(terms) - 1) for r, u in zip(rest, points, strict=True)]
        worst = max(abs(w * r) for w, r in zip(weights, rest, strict=True))
        return terms, float(-mp.log(worst, 2))


def _rounded(value: mp.mpf, dtype: str) -> float:
    if dtype == "float64":
        return float(value)
    with mp.workprec(24):
        return float(np.float32(float(+value)))


def error_bits(terms: Sequence[float], of: str, weight: str, lo: float, hi: float, points: int = 300) -> float:
    """-log2 of the largest weighted error of a polynomial on [lo, hi]."""
    with mp.workprec(PRECISION):
        f, w = compile_formula(of), compile_formula(weight)
        worst = mp.mpf(0)
        for u in grid(lo, hi, points):
            value = mp.mpf(0)
            for term in reversed(terms):
                value = value * u + mp.mpf(term)
            worst = max(worst, abs(w(u) * (value - f(u))))
        return float(-mp.log(worst, 2))
