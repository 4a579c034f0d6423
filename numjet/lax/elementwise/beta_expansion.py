"""The incomplete beta function of large parameters as the normal distribution and corrections in their inverse."""
from __future__ import annotations

from typing import Any


def normal_correction(z: Any, p: Any, q: Any, root: Any) -> Any:
    """(Phi(z) - I_x(p, q)) / phi(z), where z has the sign of x - x0 for x0 = p / (p + q), and -z²/2 is
    log((x / x0)^p ((1 - x) / (1 - x0))^q), as in the uniform expansion DLMF 8.18.9.

    That expansion is singular termwise at z = 0. So here the derivative of I by z is expanded: with n = p q / (p + q) and
    t = (x - x0) sqrt((p + q)^3 / (p q)), it is phi(z) z / t times a constant, and z / t is a power series in z / sqrt(n), which
    comes from that of z² in t by reversion. Its terms up to the sixth are integrated against phi; the constant makes the
    whole integral 1. root: 1 / sqrt(n). The next term is below 1e-4 |z|^6 n^-3.5.
    """
    total = p + q
    c = (p / total) * (q / total)
    d = (p - q) / total
    inverse = 1.0 / p + 1.0 / q
    square, even = z * z, 1.0 - c
    second = even * inverse * (1 / 12)
    fourth = even * even * inverse * inverse * (1 / 864)
    sixth = (((139.0 * c + 15.0) * c + 417.0) * c - 139.0) * inverse * inverse * inverse * (1 / 777600)
    odd = inverse * (2.0 + c) * ((square + 2.0) * (1 / 135) - even * inverse * (square * (square + 4.0) + 8.0) * (1 / 5670))
    uneven = (odd + 1 / 3) * d * root
    even_part = second + (square + 3.0) * fourth + (square * (square + 5.0) + 15.0) * sixth
    return (uneven + z * even_part) / (second + 3.0 * fourth + 15.0 * sixth + 1.0)
