"""Derivatives of eigenvectors, and tridiagonal systems with perturbed pivots."""
from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from numjet import jit
from numjet.foundation.config import enable_x64
from numjet.lax import linalg
from numjet.testing import records

F = np.float32


def matrices(*shape, complex=False):
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0)


@pytest.mark.parametrize("left, right", [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("complex", [False, True])
def test_eigenvector_derivatives(left, right, complex):
    """Of the vectors that LAPACK returns: of length 1, with a real largest part; squares hide the free signs."""
    def squares(a):
        w, *vectors = linalg.eig(a, compute_left_eigenvectors=left, compute_right_eigenvectors=right, enable_eigvec_derivs=True)
        return [w, *(v * v for v in vectors)]
    with enable_x64():
        records.check_function(squares, [matrices(4, 4, complex=complex)], 2 if left and right else 1, "eig")


def test_perturbed_tridiagonal_systems():
    """Zero pivots become eps times the largest entry; row exchanges as without."""
    def solve(low, middle, up, right, dtype=F):
        bands = [np.array(v, dtype) for v in (low, middle, up)]
        arguments = (*bands, np.array(right, dtype)[..., None])
        eager = linalg.tridiagonal_solve(*arguments, perturb_singular=True)
        compiled = jit(partial(linalg.tridiagonal_solve, perturb_singular=True))(*arguments)
        np.testing.assert_allclose(eager, compiled, rtol=1e-6)
        return np.asarray(compiled)[..., 0]
    step = 1 / np.finfo(F).eps
    np.testing.assert_allclose(solve([9, 1], [1, 3], [3, 9], [1, 4]), [-3 * step, step], rtol=1e-6)
    np.testing.assert_allclose(solve([[0, 0]] * 2, [[1, -0.0], [3, 0]], [[0, 0]] * 2, [[1, 1]] * 2),
                               [[1, -step], [1 / 3, step / 3]], rtol=1e-6)
    np.testing.assert_allclose(solve([0] * 3, [0] * 3, [0] * 3, [1] * 3), 1 / np.finfo(F).tiny)
    np.testing.assert_allclose(solve([0, 2, -2, 3], [1, 4, 1, -1], [2, -1, 1, 0], [1, 2, 3, 4]), [8, -3.5, 0, -4], atol=1e-5)
    np.testing.assert_allclose(solve([0, 0], [3 + 4j, 0], [0, 0], [1, 1], np.complex64), [0.12 - 0.16j, step / 5], rtol=1e-6)
    np.testing.assert_allclose(solve([5], [0], [5], [1]), 1 / np.finfo(F).tiny)
    bands = matrices(3, 5)
    with enable_x64():
        records.check_function(lambda *xs: [linalg.tridiagonal_solve(*xs, perturb_singular=True)],
                               [bands[0], bands[1] + 4, bands[2], matrices(5, 2)], 1, "tridiagonal_solve")
