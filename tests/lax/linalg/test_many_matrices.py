"""Batches of small matrices, which threads share in parts of unequal lengths."""
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.foundation.config import enable_x64

_FUNCTIONS = {
    "eigh": lambda x: lax.linalg.eigh(x, symmetrize_input=False), "svd": lambda x: lax.linalg.svd(x),
    "thin svd": lambda x: lax.linalg.svd(x, full_matrices=False),
    "singular values": lambda x: lax.linalg.svd(x, compute_uv=False),
    "eig": lax.linalg.eig, "schur": lax.linalg.schur, "hessenberg": lax.linalg.hessenberg,
    "tridiagonal": lax.linalg.tridiagonal, "pivoted qr": lambda x: lax.linalg.qr(x, pivoting=True),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(x[..., 0], x[..., 1] + 3, x[..., 2], x),
}
_SQUARE = {"eigh", "eig", "schur", "hessenberg", "tridiagonal"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.parametrize("batch, m, n", [(129, 3, 3), (41, 7, 4), (1000, 3, 3), (33, 9, 8), (2, 60, 60)])
def test_each_matrix_has_the_result_that_it_has_alone(name, batch, m, n, dtype):
    m = n if name in _SQUARE else m
    rng = np.random.default_rng(batch)
    x = rng.normal(size=(batch, m, n)) + (1j * rng.normal(size=(batch, m, n)) if np.dtype(dtype).kind == "c" else 0)
    x[batch // 2, 0, 0] = np.nan if name in ("svd", "eigh", "eig") else 1  # stays in its matrix
    with enable_x64(True):
        f = nj.jit(_FUNCTIONS[name])
        found = f(x.astype(dtype))
        for k in {0, 1, batch // 2, batch - 2, batch - 1}:
            for part, alone in zip(nj.tree.leaves(found), nj.tree.leaves(f(x[k].astype(dtype))), strict=True):
                np.testing.assert_allclose(np.asarray(part[k]), np.asarray(alone), rtol=1e-5, atol=1e-5)
