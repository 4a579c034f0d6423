"""The functions of scipy.linalg on matrices of every kind."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sp

import numjet.numpy as jnp
import numjet.scipy.linalg as sl
from tests import operands
from tests.operands import HALVES, INTEGERS, KINDS, MATRICES, Case, Elsewhere, reversed_last

_RNG = np.random.default_rng(5)
_GENERAL = _RNG.normal(0, 2, (3, 3, 2)).T
_SMALL: dict[str, np.ndarray] = {
    **KINDS, **MATRICES, "float64 general matrices transposed": _GENERAL,
    "complex128 general matrix": _GENERAL[0] + 1j * _GENERAL[1], "int64 matrix": np.array([[4, 1], [1, 3]]),
    "bool matrix": np.array([[True, True], [True, False]]), "float16 matrix": np.array([[4, 1], [1, 3]], np.float16),
    "empty matrix": np.zeros((0, 0), np.float32),
}
_HALVES = dict.fromkeys((*HALVES, "float16 matrix"), "LAPACK has no halves; the error says which dtypes there are")
_NO_MATRIX = {kind: "no matrix" for kind, x in _SMALL.items() if x.ndim < 2}
_NOT_SQUARE = {kind: "no square matrix" for kind, x in _SMALL.items() if x.ndim < 2 or x.shape[-1] != x.shape[-2]}
_MATRIX, _SQUARE = {**_NO_MATRIX, **_HALVES}, {**_NOT_SQUARE, **_HALVES}
_DERIVED = "float64 general matrices transposed"


def _matrixwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function on each matrix of a stack, NaN for those that hold one."""
    def of_stack(*xs: np.ndarray, **options: Any) -> Any:
        batch = xs[0].shape[:-2]
        if not batch:
            return _of_one(function, xs, options)
        rows = [_of_one(function, [x[index] for x in xs], options) for index in np.ndindex(batch)]
        if not rows:
            known = operands.leaves(function(*[np.eye(*x.shape[-2:], dtype=x.dtype) for x in xs], **options))
            whole = [np.zeros((*batch, *part.shape), part.dtype) for part in known]
        else:
            whole = [np.stack(part).reshape(*batch, *part[0].shape) for part in zip(*map(operands.leaves, rows), strict=True)]
        return whole if len(whole) > 1 else whole[0]
    return of_stack


def _of_one(function: Callable[..., Any], xs: Sequence[np.ndarray], options: Any) -> Any:
    if all(np.isfinite(x).all() for x in xs):
        return function(*xs, **options)
    known = function(*[np.eye(*x.shape[-2:], dtype=x.dtype) for x in xs], **options)
    filled = [np.full_like(x, np.nan if x.dtype.kind in "fc" else 0) for x in operands.leaves(known)]
    return filled if isinstance(known, (tuple, list)) else filled[0]


def _columns(x: np.ndarray) -> np.ndarray:
    """Right sides of systems: another matrix with the rows of x."""
    return reversed_last(x)[..., :2] if x.ndim else x


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


def _hermitian(x: np.ndarray) -> np.ndarray:
    """The Hermitian part of square matrices, so that derivatives are taken along Hermitian directions."""
    return (x + _adjoint(x)) / 2 if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x


def _floats(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _case(ours: Callable[..., Any], theirs: Callable[..., Any], **more: Any) -> Case:
    return Case(ours, _matrixwise(theirs), **{"kinds": _SMALL, "refused": _SQUARE, "differentiated": _DERIVED, **more})


def _qr(a: Any, **options: Any) -> Any:
    q, r = sl.qr(a, **options)[:2]
    return q @ r


def _pivoted(a: Any) -> Any:
    q, r, order = sl.qr(a, pivoting=True)
    return q @ r, order


def _svd(a: Any, full_matrices: bool = False) -> Any:
    u, s, v = sl.svd(a, full_matrices=full_matrices)
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :]) @ v[..., :k, :], s


def _schur(a: Any, output: str = "real") -> Any:
    t, z = sl.schur(a, output)
    return z @ t @ _adjoint(z)


def _hessenberg(a: Any) -> Any:
    """The matrix that the factors give, and what H has below its second diagonal."""
    h, q = sl.hessenberg(a, calc_q=True)
    return q @ h @ _adjoint(q), jnp.tril(h, -2)


def _complex_schur(a: Any) -> Any:
    t, z = sl.rsf2csf(*sl.schur(a))
    return z @ t @ _adjoint(z)


def _rowwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function, which flattens arrays or is not made for them, on each vector of the last axis."""
    def of_rows(*xs: np.ndarray) -> Any:
        batch = xs[0].shape[:-1] if xs[0].ndim else ()
        rows = [function(*[np.atleast_1d(x[index]) for x in xs]) for index in np.ndindex(batch)]
        if not rows:
            known = function(*[np.ones(x.shape[-1], x.dtype) for x in xs])
            return np.zeros((*batch, *known.shape), known.dtype)
        return np.stack(rows).reshape(*batch, *rows[0].shape)
    return of_rows


_LOST = {"special values reversed": "some elements of factors of a matrix with a NaN are numbers"}
_SYMMETRIC = "of (a + a.T) / 2, as in JAX; SciPy: of one triangle"
_STACKS = {kind: "one matrix, as in JAX; vmap takes more" for kind, x in _SMALL.items() if x.ndim > 2}
_NOTHING = {"empty": "a matrix of size 0", "size 1 of rank 3": "axes are not dropped"}
_DEFINITE = "float64 matrices transposed"
CASES: dict[str, Case] = {
    "cholesky": _case(sl.cholesky, sp.cholesky, operands=[_hermitian], options=[{}, {"lower": True}], differentiated=_DEFINITE),
    "cho_factor": _case(lambda a, lower=False: sl.cho_factor(a, lower)[0] * np.eye(a.shape[-1], dtype=bool),
                        lambda a, lower=False: sp.cholesky(a, lower) * np.eye(len(a), dtype=bool),
                        operands=[_hermitian], options=[{}, {"lower": True}], differentiated=_DEFINITE),
    "cho_solve": _case(lambda a, b, lower=False: sl.cho_solve(sl.cho_factor(a, lower), b),
                       lambda a, b, lower=False: sp.cho_solve(sp.cho_factor(a, lower), b), operands=[_hermitian, _columns],
                       options=[{}, {"lower": True}], differentiated=_DEFINITE),
    "lu": _case(sl.lu, sp.lu, options=[{}, {"permute_l": True}], refused=_MATRIX, decided=_LOST),
    "lu_factor": _case(lambda a: sl.lu_factor(a)[0], lambda a: sp.lu_factor(a)[0], refused=_MATRIX, decided=_LOST),
    "lu_solve": _case(lambda a, b, **o: sl.lu_solve(sl.lu_factor(a), b, **o),
                      lambda a, b, **o: sp.lu_solve(sp.lu_factor(a), b, **o),
                      operands=[lambda x: x, _columns], options=[{}, {"trans": 1}, {"trans": 2}]),
    "solve": _case(sl.solve, sp.solve, operands=[lambda x: x, _columns],
                   options=[{}, {"assume_a": "gen"}, {"assume_a": "pos"}]),
    "solve of Hermitian systems": _case(sl.solve, sp.solve, operands=[lambda x: x, _columns], kinds=MATRICES, refused={},
                                        options=[{"assume_a": "her"}, {"assume_a": "sym"}, {"assume_a": "her", "lower": True}],
                                        decided={"complex64 matrices of rank 4": "not symmetric"}, differentiated=_DEFINITE),
    "solve_triangular": _case(sl.solve_triangular, sp.solve_triangular, operands=[lambda x: x, _columns],
                              options=[{}, {"lower": True}, {"trans": "T"}, {"trans": 2}, {"unit_diagonal": True}],
                              refused=_NOT_SQUARE, decided=_LOST),
    "inv": _case(sl.inv, sp.inv),
    "det": _case(sl.det, sp.det, refused={**_NOT_SQUARE, **dict.fromkeys(HALVES, "no square matrix")}),
    "qr": _case(_qr, lambda a, **o: _floats(a), options=[{}, {"mode": "economic"}], refused=_MATRIX,
                decided=_LOST),
    "qr with pivots": _case(_pivoted, lambda a: (_floats(a)[:, sp.qr(a, pivoting=True)[2]], sp.qr(a, pivoting=True)[2]),
                            refused=_MATRIX, decided=_LOST),
    "qr_multiply": _case(lambda a, c, **o: sl.qr_multiply(a, c, "right", **o)[0],
                         lambda a, c, **o: sp.qr_multiply(a, c, "right", **o)[0],
                         operands=[lambda x: x, lambda x: _adjoint(x) if x.ndim > 1 else x],
                         options=[{}, {"pivoting": True}, {"conjugate": True}], refused=_MATRIX, decided=_LOST),
    "svd": _case(_svd, lambda a, **o: (_floats(a), sp.svd(a, compute_uv=False)), options=[{}, {"full_matrices": True}],
                 refused=_MATRIX),
    "eigh": _case(lambda a, **o: sl.eigh(a, eigvals_only=True, **o), lambda a, **o: sp.eigh(a, eigvals_only=True, **o),
                  options=[{}, {"lower": False}], differentiated=_DEFINITE, decided=dict.fromkeys((
                      "special values reversed", _DERIVED, "complex128 general matrix"), _SYMMETRIC)),
    "schur": _case(_schur, lambda a, output="real": _floats(a) + (0j if output == "complex" else 0),
                   options=[{}, {"output": "complex"}], not_smooth="no derivative, as in JAX"),
    "hessenberg": _case(_hessenberg, lambda a: (_floats(a), np.zeros_like(_floats(a))), decided=_LOST,
                        not_smooth="no derivative, as in JAX"),
    "expm": _case(sl.expm, sp.expm, refused=_SQUARE),
    "expm_frechet": _case(sl.expm_frechet, sp.expm_frechet, operands=[lambda x: x, reversed_last],
                          options=[{}, {"compute_expm": False}]),
    "sqrtm": _case(sl.sqrtm, lambda a: sp.sqrtm(a) + 0j, refused={**_NOT_SQUARE, **_STACKS},
                   not_smooth="no derivative, as in JAX"),
    "funm": _case(lambda a: sl.funm(a, jnp.exp, disp=False)[0], lambda a: sp.funm(a, np.exp, disp=False)[0] + 0j,
                  refused={**_SQUARE, **_STACKS}, not_smooth="no derivative, as in JAX"),
    "polar": _case(sl.polar, sp.polar, options=[{}, {"side": "left"}], refused=_MATRIX),
    "rsf2csf": _case(_complex_schur, lambda a: _floats(a) + 0j, refused=_SQUARE, not_smooth="no derivative, as in JAX"),
    "solve_sylvester": _case(lambda a, b, **o: sl.solve_sylvester(a, a, b, **o), lambda a, b, **o: sp.solve_sylvester(a, a, b),
                             operands=[lambda x: x, reversed_last], options=[{}, {"method": "eigen"}],
                             refused=_NOT_SQUARE, decided={"special values reversed": "NaN where there is no one solution"},
                             not_smooth="the Schur form has no derivative, as in JAX"),
    "block_diag": Case(sl.block_diag, sp.block_diag, operands=[lambda x: x, reversed_last], kinds=_SMALL,
                       refused={kind: "more than 2 axes" for kind, x in _SMALL.items() if x.ndim > 2}),
    "circulant": Case(sl.circulant, sp.circulant),
    "companion": Case(sl.companion, sp.companion, decided={"uint8": "floats; SciPy negates in uint8"}),
    "fiedler": Case(sl.fiedler, _rowwise(sp.fiedler), decided=_NOTHING),
    "fiedler_companion": Case(sl.fiedler_companion, _rowwise(sp.fiedler_companion), refused={"empty": "no coefficients"},
                              decided=dict.fromkeys(("rank 0", "size 1", "size 1 of rank 3"), "a matrix of size 0")),
    "convolution_matrix": Case(sl.convolution_matrix, sp.convolution_matrix,
                               options=[{"n": 3}, {"n": 2, "mode": "valid"}, {"n": 7, "mode": "same"}]),
    "toeplitz": Case(sl.toeplitz, sp.toeplitz), "hankel": Case(sl.hankel, _rowwise(sp.hankel), decided=_NOTHING),
    "toeplitz of rows": Case(sl.toeplitz, sp.toeplitz, operands=[lambda x: x, reversed_last]),
    "hankel of rows": Case(sl.hankel, _rowwise(sp.hankel), operands=[lambda x: x, reversed_last], decided=_NOTHING),
    "leslie": Case(sl.leslie, sp.leslie, operands=[lambda x: x, lambda x: x[..., 1:] if x.ndim else x],
                   decided={"rank 0": "has no rates"}),
    "eigh_tridiagonal": Case(lambda d, e: sl.eigh_tridiagonal(d, e, eigvals_only=True),
                             lambda d, e: sp.eigh_tridiagonal(d, e, eigvals_only=True),
                             operands=[lambda x: x, lambda x: x[..., 1:] if x.ndim else x], differentiated="float64 vector",
                             kinds={**KINDS, "float64 vector": _GENERAL[0, 0]}, refused=dict.fromkeys(
                                 (*HALVES, *INTEGERS), "floats of 32 bits at least; the error says so"))}
# Kinds that only SciPy refuses.
UNANSWERED: dict[str, dict[str, str]] = {
    **dict.fromkeys("cholesky cho_factor cho_solve solve".split(), dict.fromkeys(
        (_DERIVED, "special values reversed", "complex128 general matrix", "bool matrix"),
        "NaN, as in JAX, where a matrix is not positive definite")),
    "solve_triangular": {"bool matrix": "divided by 0, as in JAX"},
    "companion": dict.fromkeys(("special values reversed", "int32 of rank 4", "bool"), "divided by a leading 0, as in JAX"),
    "fiedler_companion": {"bool": "divided by a leading 0, as in JAX"},
    **{name: {"empty of rank 3": "no matrices"} for name in ("convolution_matrix", "toeplitz", "toeplitz of rows", "leslie")},
    "funm": {"empty matrix": "no numbers, as without eigenvalues"},
    "eigh_tridiagonal": {
        **dict.fromkeys(("special values", "special values reversed"), "NaN, as in JAX"), "empty": "no eigenvalues, as in JAX",
        **dict.fromkeys((*operands.COMPLEX, "empty of rank 3"), "batches, which JAX refuses; a diagonal is real")}}
for _name, _kinds in UNANSWERED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered=_kinds)


_NUMBERS = "makes a matrix of a number, and takes no arrays"
ELSEWHERE = {**{name: Elsewhere("scipy/test_linalg_matrices.py", _NUMBERS)
                for name in ("hadamard", "helmert", "invhilbert", "invpascal", "pascal")},
             **{name: Elsewhere("scipy/test_linalg.py", _NUMBERS) for name in ("dft", "hilbert")}}
