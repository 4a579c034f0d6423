"""The solvers of scipy.sparse.linalg on matrices of every kind."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from numjet.scipy.sparse import linalg
from tests.operands import MATRICES, Case, Elsewhere

# One matrix each: positive definite, so that all methods take it.
_ONE = {**{kind: x.reshape(-1, *x.shape[-2:])[0] for kind, x in MATRICES.items() if x.size},
        "float16 matrix": np.array([[4, 1], [1, 3]], np.float16), "bool matrix": np.eye(2, dtype=bool)}


def _right(x: np.ndarray) -> np.ndarray:
    return x[:, 0] * 2 + 1 if x.dtype != bool else x[:, 0]


def _solution(a: np.ndarray, b: np.ndarray) -> Any:
    found = np.linalg.solve(a, b)
    return found.astype(a.dtype) if a.dtype.kind in "fc" else found


def _solver(name: str, **fixed: Any) -> Case:
    return Case(lambda a, b: getattr(linalg, name)(a, b, **fixed)[0], _solution, [lambda x: x, _right], kinds=_ONE,
                tolerance=200, differentiated="float64 matrices transposed")


CASES: dict[str, Case] = {
    **{name: _solver(name, tol=1e-12) for name in ("bicgstab", "cg", "gmres", "minres")},
    "lsqr": _solver("lsqr", atol=1e-14, btol=1e-14),
    "expm_multiply": Case(linalg.expm_multiply, lambda a, b: scipy.linalg.expm(a) @ b, [lambda x: x, _right], kinds=_ONE,
                          tolerance=200, differentiated="float64 matrices transposed")}
ELSEWHERE = {**{name: Elsewhere("scipy/test_sparse_eigenvalues.py", "vectors are unique up to sign or phase")
                for name in ("eigsh", "svds")},
             "aslinearoperator": Elsewhere("scipy/test_sparse_linalg_operators.py", "returns an operator")}
