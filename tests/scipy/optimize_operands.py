"""The functions of scipy.optimize as functions of parameters of every kind: roots and minima, one for each element."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import optimize
from tests.operands import COMPLEX, KINDS, SPECIAL, Case, Elsewhere

# Complex numbers have no order, and nothing is found for parameters that are no numbers.
_KINDS = {kind: x for kind, x in KINDS.items() if kind not in (*COMPLEX, *SPECIAL)}


def _each(solve: Callable[[Any], Any]) -> Callable[..., Any]:
    """The solution for each element of an array of parameters."""
    def of_array(x: Any, **options: Any) -> Any:
        found = nj.vmap(lambda p: solve(p, **options))(jnp.asarray(x).reshape(-1))
        return found.reshape(x.shape)
    return of_array


def _root(x: np.ndarray, **options: Any) -> np.ndarray:
    """The x with x + x**3 / 8 = p, by Newton's method in double precision."""
    p, found = x.astype(np.float64), np.zeros(x.shape)
    for _ in range(60):
        found = found - (found + found ** 3 / 8 - p) / (1 + 3 * found ** 2 / 8)
    return found.astype(x.dtype if x.dtype.kind == "f" else np.float64)


def _equation(x: Any, p: Any) -> Any:
    return x + x ** 3 / 8 - p


def _energy(x: Any, p: Any) -> Any:
    return jnp.sum(x ** 2 / 2 + x ** 4 / 32 - p * x)


CASES: dict[str, Case] = {
    "bisect": Case(_each(lambda p: optimize.bisect(_equation, -9.0, 9.0, (p,))), _root, kinds=_KINDS, tolerance=100),
    "brentq": Case(_each(lambda p: optimize.brentq(_equation, -9.0, 9.0, (p,))), _root, kinds=_KINDS, tolerance=100),
    "newton": Case(_each(lambda p: optimize.newton(_equation, 1.0, args=(p,))), _root, kinds=_KINDS, tolerance=100),
    "root": Case(_each(lambda p: optimize.root(_equation, jnp.zeros(()), (p,)).x), _root, kinds=_KINDS, tolerance=100),
    "least_squares": Case(_each(lambda p: optimize.least_squares(_equation, jnp.zeros(1), args=(p,)).x[0]), _root, kinds=_KINDS,
                          tolerance=1e4),
    "minimize": Case(_each(lambda p: optimize.minimize(_energy, jnp.zeros(1), (p,), method="BFGS").x[0]), _root, kinds=_KINDS,
                     tolerance=1e6),
    "minimize_scalar": Case(_each(lambda p: optimize.minimize_scalar(_energy, args=(p,)).x), _root, kinds=_KINDS,
                            tolerance=1e6, not_smooth="minima have half of the digits, too few for differences")}
ELSEWHERE: dict[str, Elsewhere] = {}
