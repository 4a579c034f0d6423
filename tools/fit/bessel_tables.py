"""Tables of Bessel's and Airy's functions, with 60 digits, as numjet/scipy/special/bessel_tables.py has them.

    python -m tools.fit.bessel_tables

Olver's coefficients A_k and B_k (DLMF 10.20.10 and 10.20.11) are regular at zeta = 0, where their terms cancel: they are
interpolated at Chebyshev nodes of [-1, 1], and cut where the rest is below what their power of the order needs.
"""
from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

_NODES = 40
# largest error of a coefficient, relative to its maximum, so that the sum for orders over 40 is right to 1e-16
_NEEDED = {("A", 1): 1e-14, ("A", 2): 1e-11, ("A", 3): 1e-8, ("B", 0): 1e-15, ("B", 1): 3e-13, ("B", 2): 1e-9, ("B", 3): 1e-6}


def _debye(count: int) -> list[dict[int, Fraction]]:
    """U_k as coefficients of powers of p, DLMF 10.41.9."""
    found = [{0: Fraction(1)}]
    for _ in range(count):
        new: dict[int, Fraction] = {}
        for e, c in found[-1].items():
            new[e + 1] = new.get(e + 1, Fraction(0)) + c * (Fraction(e, 2) + Fraction(1, 8 * (e + 1)))
            new[e + 3] = new.get(e + 3, Fraction(0)) - c * (Fraction(e, 2) + Fraction(5, 8 * (e + 3)))
        found.append({e: c for e, c in new.items() if c})
    return found


_U = _debye(8)


def _debye_value(k: int, p: mpmath.mpc) -> mpmath.mpc:
    return mpmath.fsum(mpmath.mpf(c.numerator) / c.denominator * p ** e for e, c in _U[k].items())


def _airy_u(j: int) -> mpmath.mpf:
    return mpmath.fprod(mpmath.mpf((6 * i - 5) * (6 * i - 3) * (6 * i - 1)) / ((2 * i - 1) * 216 * i) for i in range(1, j + 1))


def _airy_v(j: int) -> mpmath.mpf:
    return _airy_u(j) * (6 * j + 1) / (1 - 6 * j)


def _root(function: object, low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return mpmath.findroot(function, (low + high) / 2)


def _square(zeta: mpmath.mpf) -> mpmath.mpf:
    """z^2 of zeta, DLMF 10.20.2 and 10.20.3."""
    area = mpmath.mpf(2) / 3 * mpmath.sqrt(abs(zeta)) ** 3
    if zeta > 0:
        return 1 - _root(lambda s: mpmath.atanh(s) - s - area, mpmath.mpf(0), 1 - mpmath.mpf(10) ** -40) ** 2
    return 1 + _root(lambda t: t - mpmath.atan(t) - area, mpmath.mpf(0), mpmath.mpf(50)) ** 2


def _coefficients(zeta: mpmath.mpf) -> dict[tuple[str, int], mpmath.mpf]:
    p, root, three_halves = 1 / mpmath.sqrt(mpmath.mpc(1 - _square(zeta))), mpmath.sqrt(mpmath.mpc(zeta)), mpmath.mpf(3) / 2
    found = {}
    for k in range(4):
        a = (three_halves ** j * _airy_v(j) * root ** (-3 * j) * _debye_value(2 * k - j, p) for j in range(2 * k + 1))
        b = (three_halves ** j * _airy_u(j) * root ** (-3 * j) * _debye_value(2 * k - j + 1, p) for j in range(2 * k + 2))
        found["A", k], found["B", k] = mpmath.fsum(a).real, (-mpmath.fsum(b) / root).real
    return found


def olver() -> dict[tuple[str, int], list[float]]:
    """The coefficients as polynomials of zeta."""
    places = [mpmath.cos(mpmath.pi * (i + mpmath.mpf(1) / 2) / _NODES) for i in range(_NODES)]
    values = [_coefficients(x) for x in places]
    found = {}
    for key, needed in _NEEDED.items():
        y = [v[key] for v in values]
        chebyshev = [2 * mpmath.fsum(v * mpmath.cos(mpmath.pi * j * (i + mpmath.mpf(1) / 2) / _NODES) for i, v in enumerate(y))
                     / _NODES for j in range(_NODES)]
        chebyshev[0] /= 2
        last = max(j for j, c in enumerate(chebyshev) if abs(c) > needed * max(map(abs, y)))
        found[key] = [float(c) for c in np.polynomial.chebyshev.cheb2poly(np.array(chebyshev[:last + 1], dtype=object))]
    return found


def main() -> None:
    """Prints the tables."""
    mpmath.mp.dps = 60
    print("RECIPROCAL_GAMMA", [float(v) for v in mpmath.taylor(lambda z: mpmath.rgamma(1 + z), 0, 21)])
    for (name, k), values in olver().items():
        print(f"OLVER_{name}[{k}]", values)
    for name, function, order in (("AI", mpmath.airyai, 0), ("AI_SLOPE", mpmath.airyai, 1), ("BI", mpmath.airybi, 0),
                                  ("BI_SLOPE", mpmath.airybi, 1)):
        print(name, [float(function(mpmath.mpf(i) / 2, derivative=order)) for i in range(-18, 19)])


if __name__ == "__main__":
    main()
