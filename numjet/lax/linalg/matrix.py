"""Matrices in the last two axes of arrays, for the rules of linear algebra: products, transposes, triangles."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.contraction.precision import Precision
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p
from numjet.lax.elementwise.compare import eq_p, gt_p
from numjet.lax.elementwise.convert import as_dtype, cast, conj_p, real_p
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers
from numjet.lax.indexing.gather import gather_in_bounds
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.operands import scalar, where
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.join import pad_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshaped, transpose_p
from numjet.lax.templates import call, kind_of

DTYPES = ("float32", "float64", "complex64", "complex128")
_INDEX = np.dtype(np.int32)
_EXACT = (Precision.HIGHEST, Precision.HIGHEST)  # accelerators round the operands of other products to fewer digits


# -------------------------------------------------------------------------------------------- checks

def check_matrix(name: str, x: ShapedArray, position: int = 0, *, square: bool = False) -> None:
    """TypeError or ValueError unless x is an array of (square) matrices of floats that LAPACK knows."""
    if kind_of(x.dtype) not in "fc":
        raise TypeError(f"{name} does not accept dtype {dtypes.long_name(x.dtype)} at position {position}. "
                        f"Accepted dtypes at position {position} are subtypes of floating, complexfloating.")
    if x.dtype.name not in DTYPES:
        raise NotImplementedError(f"{name}: Unsupported dtype {x.dtype.name}. Convert to float32 first: LAPACK computes in "
                                  f"{', '.join(DTYPES)}.")
    if x.ndim < 2:
        raise TypeError(f"Input {position} to {name} must have rank at least 2, but got shape={x.shape}")
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(f"The input to {name} must be a square matrix. Got shape {x.shape}. The last two axes are "
                                    "the matrices. For others there are qr, svd, lstsq and pinv.")


# -------------------------------------------------------------------------------------------- products and transposes

def matmul(x: Any, y: Any) -> Any:
    """Products of matrices, in full precision on every device; all other axes are equal."""
    n = aval_of(x).ndim
    batch = tuple(range(n - 2))
    return dot_general_p.bind(x, y, dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)), precision=_EXACT,
                              preferred_element_type=aval_of(x).dtype)


def mT(x: Any) -> Any:
    """The transposed matrices."""
    n = aval_of(x).ndim
    return transpose_p.bind(x, permutation=(*range(n - 2), n - 1, n - 2))


def conj(x: Any) -> Any:
    """The complex conjugate; real arrays as they are."""
    dtype = aval_of(x).dtype
    return conj_p.bind(x, input_dtype=dtype) if dtype.kind == "c" else x


def mH(x: Any) -> Any:
    """The conjugate transposes."""
    return conj(mT(x))


def real(x: Any) -> Any:
    """The real part; real arrays as they are."""
    return real_p.bind(x) if aval_of(x).dtype.kind == "c" else x


def scaled(x: Any, factor: complex) -> Any:
    """x times a number."""
    return mul_p.bind(x, scalar(factor, aval_of(x).dtype))


def floats_of_integers(x: Any) -> Any:
    """Matrices that are going to be symmetrized, which halves their elements: integers as floats."""
    return as_dtype(x, dtypes.to_inexact_dtype(aval_of(x).dtype)) if dtypes.kind(aval_of(x).dtype) in "iu" else x


def symmetrized(x: Any) -> Any:
    """The Hermitian part of square matrices."""
    return div_p.bind(add_p.bind(x, mH(x)), scalar(2, aval_of(x).dtype))


# -------------------------------------------------------------------------------------------- rows, columns, diagonals

def columns(v: Any, shape: Sequence[int]) -> Any:
    """A matrix whose column j is v[..., j] throughout."""
    n = len(shape)
    return broadcast_in_dim_p.bind(v, shape=tuple(shape), broadcast_dimensions=(*range(n - 2), n - 1))


def rows(v: Any, shape: Sequence[int]) -> Any:
    """A matrix whose row i is v[..., i] throughout."""
    n = len(shape)
    return broadcast_in_dim_p.bind(v, shape=tuple(shape), broadcast_dimensions=tuple(range(n - 1)))


def scale_columns(x: Any, v: Any) -> Any:
    """x diag(v)."""
    return mul_p.bind(x, columns(as_dtype(v, aval_of(x).dtype), aval_of(x).shape))


def scale_rows(v: Any, x: Any) -> Any:
    """diag(v) x."""
    return mul_p.bind(rows(as_dtype(v, aval_of(x).dtype), aval_of(x).shape), x)


def indices(shape: Sequence[int]) -> tuple[Any, Any]:
    """The row and column index of every element."""
    n = len(shape)
    return (iota_p.bind(dtype=_INDEX, shape=tuple(shape), dimension=n - 2),
            iota_p.bind(dtype=_INDEX, shape=tuple(shape), dimension=n - 1))


def lower_part(x: Any, *, strictly: bool = False) -> Any:
    """The lower triangle, zero above."""
    i, j = indices(aval_of(x).shape)
    return where(call("gt" if strictly else "ge", i, j), x, 0)


def upper_part(x: Any, *, strictly: bool = False) -> Any:
    """The upper triangle, zero below."""
    i, j = indices(aval_of(x).shape)
    return where(call("lt" if strictly else "le", i, j), x, 0)


def half_lower(x: Any) -> Any:
    """The lower triangle with its diagonal halved: the part of L^-1 dA L^-H that belongs to L."""
    i, j = indices(aval_of(x).shape)
    return where(gt_p.bind(i, j), x, where(eq_p.bind(i, j), scaled(x, 0.5), 0))


def diagonal(x: Any) -> Any:
    """The main diagonals of square matrices."""
    i, j = indices(aval_of(x).shape)
    return reduce_sum_p.bind(where(eq_p.bind(i, j), x, 0), axes=(aval_of(x).ndim - 1,))


def eye(shape: Sequence[int], dtype: np.dtype) -> Any:
    """Matrices with ones on the main diagonal."""
    i, j = indices(shape)
    return cast(eq_p.bind(i, j), np.dtype(dtype))


def block(x: Any, m: int | None = None, n: int | None = None) -> Any:
    """The first m rows and n columns."""
    shape = aval_of(x).shape
    m, n = shape[-2] if m is None else m, shape[-1] if n is None else n
    if (m, n) == shape[-2:]:
        return x
    return slice_p.bind(x, start_indices=(0,) * len(shape), limit_indices=(*shape[:-2], m, n), strides=None)


def last_rows(x: Any, m: int) -> Any:
    """The last m rows."""
    shape = aval_of(x).shape
    return slice_p.bind(x, start_indices=(*(0,) * (len(shape) - 2), shape[-2] - m, 0), limit_indices=shape, strides=None)


def last_columns(x: Any, n: int) -> Any:
    """The last n columns."""
    shape = aval_of(x).shape
    return slice_p.bind(x, start_indices=(*(0,) * (len(shape) - 1), shape[-1] - n), limit_indices=shape, strides=None)


def padded(x: Any, m: int, n: int) -> Any:
    """x with rows and columns of zeros added up to m x n."""
    shape = aval_of(x).shape
    if (m, n) == shape[-2:]:
        return x
    config = ((0, 0, 0),) * (len(shape) - 2) + ((0, m - shape[-2], 0), (0, n - shape[-1], 0))
    return pad_p.bind(x, scalar(0, aval_of(x).dtype), padding_config=config)


def take_rows(x: Any, order: Any) -> Any:
    """out[..., i, :] = x[..., order[..., i], :]; the numbers are in bounds, and as many as rows."""
    shape, wanted = aval_of(x).shape, aval_of(order).shape
    n = len(shape) - 2
    if not aval_of(x).size:
        return x
    numbers = GatherDimensionNumbers(
        offset_dims=(n + 1,), collapsed_slice_dims=(n,), start_index_map=(n,), operand_batching_dims=tuple(range(n)),
        start_indices_batching_dims=tuple(range(n)))
    return gather_in_bounds(x, reshaped(order, (*wanted, 1)), numbers, (*(1,) * (n + 1), shape[-1]), unique=True)
