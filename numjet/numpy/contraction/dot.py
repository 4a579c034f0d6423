"""Products of arrays: dot, matmul, inner, outer, tensordot, vdot and others, each as one dot_general."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer
from numjet.foundation.errors import ShapeMismatchError
from numjet.lax.axes import as_axes, as_axis, listed
from numjet.lax.contraction.dot import dot_general
from numjet.lax.elementwise import arithmetic, convert
from numjet.lax.shape import rearrange
from numjet.numpy.core.promotion import array_arg, check_out, operands, promote_args
from numjet.numpy.fastpath import small
from numjet.numpy.shaping.manipulation import moveaxis, ravel

_COMPLEX = frozenset(dtypes.COMPLEX)
Pair = tuple[Sequence[int], Sequence[int]]


def _factors(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as arrays of one dtype."""
    x, y = getattr(a, "aval", None), getattr(b, "aval", None)
    if x is not None and y is not None and x.dtype == y.dtype:
        return array_arg(name, a), array_arg(name, b, 1)
    a, b = promote_args(name, a, b)
    return a, b


def product(name: str, a: Any, b: Any, contract: Pair, batch: Pair, precision: Any, preferred: Any,
            out_sharding: Any = None) -> Any:
    """dot_general of arrays of one dtype, whose result has that dtype, or `preferred`.

    TypeError when contracted axes differ in size.
    """
    for i, j in zip(*contract, strict=True):
        if a.aval.shape[i] != b.aval.shape[j]:
            raise ShapeMismatchError(f"{name}: dot_general requires contracting dimensions to have the same shape, got "
                            f"{a.aval.shape} and {b.aval.shape}: axis {i} of the first has size {a.aval.shape[i]}, "
                            f"axis {j} of the second {b.aval.shape[j]}.")
    dtype = a.aval.dtype if preferred is None else dtypes.check_user_dtype(preferred, name)
    out = dot_general(a, b, (contract, batch), precision, dtype, out_sharding=out_sharding)
    weak = preferred is None and a.aval.weak_type and b.aval.weak_type
    return out if out.aval.weak_type == weak else convert.convert_dtype(out, dtype, weak)


# -------------------------------------------------------------------------------------------- dot, inner, tensordot

def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """Sums of products over the last axis of a and the second last (or only) axis of b; numbers multiply.

    a: (..., N). b: (N,) or (..., N, M). Result: (..., ..., M). precision: see lax.Precision. preferred_element_type: dtype
    of the result. TypeError when the summed axes differ in size.

    >>> import numjet.numpy as jnp
    >>> dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    if precision is preferred_element_type is out_sharding is None:
        found = small.product(a, b)
        if found is not None:
            return found
    a, b = _factors("dot", a, b)
    m, n = a.aval.ndim, b.aval.ndim
    contract: Pair = ((m - 1,), (max(0, n - 2),)) if m and n else ((), ())
    return product("dot", a, b, contract, ((), ()), precision, preferred_element_type, out_sharding)


@jit_when_eager("precision", "preferred_element_type")
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products over the last axes of both; numbers multiply.

    >>> import numjet.numpy as jnp
    >>> inner(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    a, b = _factors("inner", a, b)
    m, n = a.aval.ndim, b.aval.ndim
    contract: Pair = ((m - 1,), (n - 1,)) if m and n else ((), ())
    return product("inner", a, b, contract, ((), ()), precision, preferred_element_type)


@jit_when_eager("precision", "preferred_element_type")
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products of two flattened arrays, the first conjugated.

    >>> import numjet.numpy as jnp
    >>> complex(vdot(jnp.array([1j]), jnp.array([1j])))
    (1+0j)
    """
    a, b = array_arg("vdot", a), array_arg("vdot", b, 1)
    a = convert.conj(a) if a.dtype in _COMPLEX else a
    return dot(ravel(a), ravel(b), precision=precision, preferred_element_type=preferred_element_type)


def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None,
              out_sharding: Any = None) -> Any:
    """Sums of products over `axes`: so many last axes of a and first axes of b, or a pair of an axis or axes of each.

    >>> import numjet.numpy as jnp
    >>> tensordot(jnp.ones((2, 3)), jnp.ones((4, 3)), axes=(1, 1)).shape
    (2, 4)
    """
    a, b = _factors("tensordot", a, b)
    contract = _tensordot_axes(axes, a.aval.ndim, b.aval.ndim)
    return product("tensordot", a, b, contract, ((), ()), precision, preferred_element_type, out_sharding)


_AXES = "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints; got {}"


def _tensordot_axes(axes: Any, m: int, n: int) -> Pair:
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise TypeError(_AXES.format(axes))
        if any(isinstance(side, str) for side in axes):
            raise TypeError(f"tensordot requires both axes lists to be either ints, tuples or lists; got {axes}")
        lengths = [1 if isinstance(side, int) else len(side) for side in axes]
        if lengths[0] != lengths[1]:
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}.")
        left, right = as_axes(listed(axes[0]), m), as_axes(listed(axes[1]), n)
        return left, right
    if isinstance(axes, str):
        raise TypeError(_AXES.format(repr(axes)))
    count = as_integer(axes, "jnp.tensordot: axes")
    if count > min(m, n):
        raise TypeError(f"Number of tensordot axes (axes {count}) exceeds input ranks ({m} and {n})")
    return tuple(range(m - count, m)), tuple(range(count))


def outer(a: Any, b: Any, out: None = None) -> Any:
    """All products of an element of a with one of b, both flattened: (M,) and (N,) give (M, N).

    >>> import numjet.numpy as jnp
    >>> outer(jnp.arange(2), jnp.arange(3)).tolist()
    [[0, 0, 0], [0, 1, 2]]
    """
    check_out("outer", out)
    found = small.outer(a, b)
    return _outer(a, b) if found is None else found


@jit_when_eager()
def _outer(a: Any, b: Any) -> Any:
    a, b = promote_args("outer", a, b)
    a, b = ravel(a), ravel(b)
    shape = (a.size, b.size)
    return _times(rearrange.broadcast_in_dim(a, shape, (0,)), rearrange.broadcast_in_dim(b, shape, (1,)))


def _times(a: Any, b: Any) -> Any:
    """The product of arrays of one dtype, broadcast."""
    x, y = operands("multiply", a, b)
    return x & y if x.aval.dtype == np.bool_ else arithmetic.mul(x, y)


# -------------------------------------------------------------------------------------------- matmul

def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """The matrix product over the last two axes; the axes before are batches and broadcast. Vectors are a row or a column.

    a: (..., M, K) or (K,). b: (..., K, N) or (K,). Result: (..., M, N) without the axis of a vector. ValueError for numbers
    and for batches that don't broadcast, TypeError when the sizes K differ.

    >>> import numjet.numpy as jnp
    >>> matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    if precision is preferred_element_type is out_sharding is None:
        found = small.product(a, b, True)
        if found is not None:
            return found
    a, b = _factors("matmul", a, b)
    m, n = a.aval.ndim, b.aval.ndim
    if m == 0 or n == 0:
        raise ValueError(f"matmul input operand {int(m > 0)} must have ndim at least 1, but it has ndim 0")
    if m <= 2 and n <= 2:
        contract = ((m - 1,), (max(0, n - 2),))
        return product("matmul", a, b, contract, ((), ()), precision, preferred_element_type, out_sharding)
    return _batched(a, b, precision, preferred_element_type, out_sharding)


def _batched(a: Any, b: Any, precision: Any, preferred: Any, out_sharding: Any) -> Any:
    """matmul with batch axes: equal ones are batch axes of dot_general, a size of 1 against another is dropped."""
    left, right = a.aval.shape[:-2], b.aval.shape[:-2]
    rank = len(rearrange.broadcast_shapes(left, right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    shared = [d for d in range(rank) if left[d] == right[d] != 1]
    own_a = [d for d in range(rank) if d not in shared and left[d] != 1]
    own_b = [d for d in range(rank) if d not in shared and right[d] != 1]
    a, axes_a = _without_ones(a, left, shared, own_a)
    b, axes_b = _without_ones(b, right, shared, own_b)
    contract = ((a.ndim - 1,), (b.ndim - 1 if b.ndim == len(axes_b) + 1 else b.ndim - 2,))
    batch = ([axes_a.index(d) for d in shared], [axes_b.index(d) for d in shared])
    out = product("matmul", a, b, contract, batch, precision, preferred, out_sharding)
    row, column = ["row"] * (a.ndim - 1 - len(axes_a)), ["column"] * (b.ndim - 1 - len(axes_b))
    have: list[Any] = [*shared, *own_a, *row, *own_b, *column]
    want = [*sorted([*shared, *own_a, *own_b]), *row, *column]
    if have != want:
        out = rearrange.transpose(out, [have.index(d) for d in want])
    ones = [d for d in range(rank) if d not in want]
    return rearrange.expand_dims(out, ones) if ones else out


def _without_ones(x: Any, batch: tuple[int, ...], shared: list[int], own: list[int]) -> tuple[Any, list[int]]:
    """x without its batch axes of size 1, and the positions of the others among the batch axes of the result."""
    kept = sorted(shared + own)
    matrix = x.aval.shape[-2:] if x.aval.ndim > 1 else x.aval.shape
    return rearrange.reshape(x, (*[batch[d] for d in kept], *matrix)), kept


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products along `axis`, the first array conjugated; the other axes broadcast.

    >>> import numjet.numpy as jnp
    >>> vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    a, b = _factors("vecdot", x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"vecdot: input arrays must have ndim at least 1, got shapes {a.shape} and {b.shape}")
    i, j = as_axis(axis, a.ndim), as_axis(axis, b.ndim)
    if a.shape[i] != b.shape[j]:
        raise ValueError(f"vecdot: axis {axis} must have the same size in both arrays, got shapes {a.shape} and {b.shape}")
    a = convert.conj(a) if a.dtype in _COMPLEX else a
    a, b = moveaxis(a, i, -1), moveaxis(b, j, -1)
    out = matmul(rearrange.expand_dims(a, (-2,)), rearrange.expand_dims(b, (-1,)), precision=precision,
                 preferred_element_type=preferred_element_type)
    return rearrange.squeeze(out, (-2, -1))


def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices (..., M, N) times vectors (..., N): (..., M); the axes in front broadcast.

    >>> import numjet.numpy as jnp
    >>> matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    a, b = _factors("matvec", x1, x2)
    if a.ndim < 2 or b.ndim < 1:
        raise ValueError(f"matvec: expected a matrix and a vector, got shapes {a.shape} and {b.shape}")
    return rearrange.squeeze(matmul(a, rearrange.expand_dims(b, (-1,))), (-1,))


def vecmat(x1: Any, x2: Any, /) -> Any:
    """Vectors (..., N), conjugated, times matrices (..., N, M): (..., M); the axes in front broadcast.

    >>> import numjet.numpy as jnp
    >>> vecmat(jnp.array([1, 1]), jnp.array([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    a, b = _factors("vecmat", x1, x2)
    if a.ndim < 1 or b.ndim < 2:
        raise ValueError(f"vecmat: expected a vector and a matrix, got shapes {a.shape} and {b.shape}")
    a = convert.conj(a) if a.dtype in _COMPLEX else a
    return rearrange.squeeze(matmul(rearrange.expand_dims(a, (-2,)), b), (-2,))
