"""Tables of numjet/scipy/special/chebyshev_tables.py: smooth parts of exponential integrals and of K0, K1 as polynomials.

    python -m tools.fit.chebyshev_tables > numjet/scipy/special/chebyshev_tables.py

*Chebyshev economization*: the interpolant at the roots of a Chebyshev polynomial of high degree is written as a Chebyshev
series, cut where the rest is below the wanted error, and rewritten in powers of the variable. That is close to the minimax
polynomial, without iterations. Intervals without end are mapped to t from -1 to 1 by x + shift = 2 (start + shift) / (1 - t).
"""
from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]
SINGLE, DOUBLE = mp.mpf(2) ** -27, mp.mpf(2) ** -56
_NODES = 64


def chebyshev(function: Function) -> list[mp.mpf]:
    """Coefficients of the interpolant of a function on [-1, 1]."""
    angles = [mp.pi * (2 * k + 1) / (2 * _NODES) for k in range(_NODES)]
    values = [function(mp.cos(a)) for a in angles]
    found = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / _NODES for j in range(_NODES)]
    return [found[0] / 2, *found[1:]]


def powers(series: list[mp.mpf]) -> list[mp.mpf]:
    """Coefficients of 1, t, t**2, ... of a Chebyshev series."""
    last, here = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    out = [mp.mpf(0)] * len(series)
    for coefficient in series:
        for k, part in enumerate(last):
            out[k] += coefficient * part
        following = [mp.mpf(0), *(2 * part for part in here)]
        for k, part in enumerate(last):
            following[k] -= part
        last, here = here, following
    return out


def moved(terms: list[mp.mpf], scale: mp.mpf, shift: mp.mpf) -> list[mp.mpf]:
    """The polynomial of t = scale x + shift in powers of x."""
    out = [mp.mpf(0)]
    for term in reversed(terms):
        out = [a + b for a, b in zip([shift * c for c in out] + [0], [0] + [scale * c for c in out], strict=True)]
        out[0] += term
    return out[:len(terms)]


def economized(function: Function, error: mp.mpf) -> list[mp.mpf]:
    """Coefficients of powers of t, to a relative error on [-1, 1]."""
    series = chebyshev(function)
    least = min(abs(function(mp.mpf(k) / 20)) for k in range(-20, 20))
    count = next(n for n in range(2, _NODES) if mp.fsum(map(abs, series[n:])) < error * least)
    return powers(series[:count])


def from_zero(function: Function, end: float, error: mp.mpf) -> list[mp.mpf]:
    """Powers of x on [0, end]."""
    tiny, half = mp.mpf(10) ** -25, mp.mpf(end) / 2
    return moved(economized(lambda t: function(max(half * (1 + t), tiny)), error), 1 / half, mp.mpf(-1))


def to_infinity(function: Function, start: float, shift: float, limit: mp.mpf, error: mp.mpf) -> list[mp.mpf]:
    """Powers of t on [start, inf)."""
    span = 2 * (mp.mpf(start) + shift)
    return economized(lambda t: limit if t >= 1 else function(span / (1 - t) - shift), error)


def between(function: Function, start: float, end: float, error: mp.mpf) -> list[mp.mpf]:
    """Powers of (2 start end / x - start - end) / (end - start) on [start, end]."""
    low, high = mp.mpf(start), mp.mpf(end)
    return economized(lambda t: function(2 * low * high / (t * (high - low) + low + high)), error)


def _of_root(function: Function) -> Function:
    return lambda q: function(mp.sqrt(q))


def tables() -> dict[str, list[mp.mpf]]:
    """All tables by name."""
    root = mp.findroot(mp.ei, mp.mpf("0.3725"))
    log_free = lambda x: mp.e1(x) + mp.log(x)
    rest = lambda x: (mp.ei(x) - mp.log(x / root)) / (x - root)
    rising = lambda x: x * mp.exp(7 - x) * mp.ei(x)
    falling = lambda x: x * mp.exp(x) * mp.e1(x)
    centred = lambda t: log_free((1 + t) / 2 if t > -1 else mp.mpf(10) ** -25)
    found = {}
    for name, error in (("SINGLE", SINGLE), ("DOUBLE", DOUBLE)):
        found[f"E1_NEAR_{name}"] = economized(centred, error)
        found[f"E1_FAR_{name}"] = to_infinity(falling, 1, 2, mp.mpf(1), error)
        found[f"EI_NEAR_{name}"] = from_zero(rest, 8, error)
    found["EI_FAR_SINGLE"] = to_infinity(rising, 8, 0, mp.exp(7), SINGLE)
    found["EI_MIDDLE_DOUBLE"] = between(rising, 8, 20, DOUBLE)
    found["EI_FAR_DOUBLE"] = to_infinity(rising, 20, 0, mp.exp(7), DOUBLE)
    found["I0_NEAR"] = from_zero(_of_root(lambda x: mp.besseli(0, x)), 1, DOUBLE)
    found["I1_NEAR"] = from_zero(_of_root(lambda x: mp.besseli(1, x) / x), 1, DOUBLE)
    found["K0_NEAR"] = from_zero(_of_root(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)), 1, DOUBLE)
    found["K1_NEAR"] = from_zero(
        _of_root(lambda x: (mp.besselk(1, x) - 1 / x - mp.log(x / 2) * mp.besseli(1, x)) / x), 1, DOUBLE)
    for order in (0, 1):
        found[f"K{order}_FAR"] = to_infinity(
            lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x), 1, 1, mp.sqrt(mp.pi / 2), DOUBLE)  # noqa: B023
    return found


def main() -> None:
    """Prints the module."""
    mp.mp.dps = 60
    print('"""Polynomials of exponential integrals and of K0, K1, made by tools/fit/chebyshev_tables.py."""')
    root = mp.findroot(mp.ei, mp.mpf("0.3725"))
    print(f"\nEI_ROOT = {float(root)!r}    # where Ei is 0\nEI_ROOT_REST = {float(root - float(root))!r}")
    for name, values in tables().items():
        print(f"\n{name} = (")
        line = "   "
        for text in (f" {float(v)!r}," for v in values):
            if len(line) + len(text) > 128:
                print(line)
                line = "   "
            line += text
        print(f"{line}\n)")


if __name__ == "__main__":
    main()
