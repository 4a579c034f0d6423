"""Library functions with loops are traced and compiled once, not at every call."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import testing
from numjet.scipy import linalg, signal, special, stats

X, Q, I = jnp.linspace(0.1, 0.9, 5), jnp.asarray(np.arange(16.0).reshape(4, 4) % 5 + 9 * np.eye(4)), jnp.arange(1, 6)
SOS = jnp.array([[1.0, 0.5, 0, 1, -0.5, 0]])
CALLS = {
    "gcd": lambda: jnp.gcd(I, 6), "lcm": lambda: jnp.lcm(I, I[::-1]),
    "expm": lambda: linalg.expm(Q), "expm_frechet": lambda: linalg.expm_frechet(Q, Q), "sqrtm": lambda: linalg.sqrtm(Q),
    "rsf2csf": lambda: linalg.rsf2csf(*linalg.schur(Q)), "funm": lambda: linalg.funm(Q, jnp.exp),
    "eigh_tridiagonal": lambda: linalg.eigh_tridiagonal(X, X[1:], eigvals_only=True),
    "sph_harm_y": lambda: special.sph_harm_y(I, I - 1, X, X), "lfilter": lambda: signal.lfilter(X[:2], X[:3], X),
    "sosfilt": lambda: signal.sosfilt(SOS, X), "entropy": lambda: stats.poisson.entropy(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_later_calls_compile_nothing(name, one_platform):
    call = CALLS[name]
    for _ in range(3):
        call()
    with testing.assert_counts(traces=0, compiles=0):
        call()
