"""Horner's rule: polynomials whose coefficients are known numbers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numjet.numpy as jnp


def horner(coefficients: Sequence[float], x: Any) -> Any:
    """The sum of c[k] x**k, in the dtype of x.

    >>> float(horner((1.0, 2.0, 3.0), jnp.array(2.0)))
    17.0
    """
    out = jnp.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        out = out * x + c
    return out
