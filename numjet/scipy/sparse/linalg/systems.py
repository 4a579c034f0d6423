"""Arguments of iterative solvers: operators as functions of vectors, tolerances, and the implicit derivative."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import linear_transpose
from numjet.control.custom.solve import custom_linear_solve
from numjet.flatten_util import ravel_pytree
from numjet.foundation import dtypes, tree
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact

Vector = Any
Product = Callable[[Vector], Vector]


class Problem(NamedTuple):
    """What a solver gets: the product with A, the right-hand side b, a first guess, a preconditioner, the square of the
    tolerated norm of the residual, and the largest number of iterations."""

    matvec: Product
    b: Vector
    x0: Vector
    precondition: Product
    tolerated: Any
    maxiter: int


Solver = Callable[[Problem], Vector]


def dot(x: Any, y: Any) -> Any:
    """x^H y."""
    return jnp.vdot(x, y, precision=Precision.HIGHEST)


def square_norm(x: Any) -> Any:
    """x^H x, which is real."""
    return jnp.real(dot(x, x))


def scaled(factor: Any, v: Any) -> Any:
    """factor v for a real number and a vector, in the dtype of the vector."""
    return factor.astype(v.dtype) * v


# -------------------------------------------------------------------------------------------- operators

def as_function(name: str, A: Any, what: str) -> Callable[[Any], Any]:
    """The product with A: a function, a square matrix, or an object with a method for `@`."""
    if callable(A):
        return A
    shape = getattr(A, "shape", None)
    if shape is None:
        raise TypeError(f"{name}: linear operator must be either a function or ndarray, got {type(A).__name__} for {what}")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name}: linear operator must be a square matrix, but has shape: {tuple(shape)} ({what})")
    return lambda x: jnp.matmul(A, x, precision=Precision.HIGHEST) if hasattr(A, "dtype") and hasattr(A, "ndim") else A @ x


def _on_vectors(name: str, fun: Callable[[Any], Any], unravel: Callable[[Any], Any], like: Any, what: str) -> Product:
    """fun as a function of vectors; TypeError and ValueError when its result is not like its argument."""
    structure = tree.tree_structure(like)
    shapes = [jnp.shape(x) for x in tree.tree_leaves(like)]

    def product(v: Any) -> Any:
        out = fun(unravel(v))
        if tree.tree_structure(out) != structure:
            raise TypeError(f"{name}: {what}() output and input must have the same structure, got "
                            f"{tree.tree_structure(out)} for {structure}")
        got = [jnp.shape(x) for x in tree.tree_leaves(out)]
        if got != shapes:
            raise ValueError(f"{name}: {what}() output shapes must match those of its input, got {got} for {shapes}")
        return ravel_pytree(out)[0].astype(v.dtype)
    return product


def _inexact_leaves(name: str, b: Any) -> Any:
    return tree.tree_map(lambda x: promote_dtypes_inexact(array_arg(name, x))[0], b)


def _check_guess(name: str, b: Any, x0: Any) -> None:
    if tree.tree_structure(x0) != tree.tree_structure(b):
        raise ValueError(f"{name}: x0 and b must have matching tree structure: {tree.tree_structure(x0)} vs "
                         f"{tree.tree_structure(b)}")
    one, other = ([jnp.shape(x) for x in tree.tree_leaves(t)] for t in (x0, b))
    if one != other:
        raise ValueError(f"{name}: arrays in x0 and b must have matching shapes: {one} vs {other}")


# -------------------------------------------------------------------------------------------- solving

def _transposed(product: Product, like: Any) -> Product:
    return lambda v: linear_transpose(product, like)(v)[0]


def solve_implicitly(name: str, solver: Solver, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any,
                     hermitian: bool) -> Any:
    """The x with A x = b, shaped like b, by a solver that need not be differentiable.

    hermitian: A^T x = b is solved as A x = b, with the conjugate of A; otherwise M is transposed, too.
    """
    b = _inexact_leaves(name, b)
    if x0 is None:
        x0 = tree.tree_map(jnp.zeros_like, b)
    _check_guess(name, b, x0)
    vector, unravel = ravel_pytree(b)
    start = ravel_pytree(x0)[0].astype(vector.dtype)
    product = _on_vectors(name, as_function(name, A, "A"), unravel, b, "A")
    near = (lambda v: v) if M is None else _on_vectors(name, as_function(name, M, "M"), unravel, b, "M")
    limit = 10 * vector.size if maxiter is None else maxiter

    def run(matvec: Product, rhs: Vector, guess: Vector, precondition: Product) -> Vector:
        tolerated = jnp.maximum(jnp.square(tol) * square_norm(rhs), jnp.square(atol))
        return solver(Problem(matvec, rhs, guess, precondition, tolerated, limit))

    symmetric = hermitian and vector.dtype not in dtypes.COMPLEX
    back = near if M is None or symmetric else _transposed(near, vector)
    x = custom_linear_solve(
        product, vector, solve=lambda matvec, rhs: run(matvec, rhs, start, near),
        transpose_solve=lambda vecmat, rhs: run(vecmat, rhs, jnp.zeros_like(start), back), symmetric=symmetric)
    return unravel(x)
