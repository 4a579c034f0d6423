"""Products: dot, matmul, tensordot, einsum, outer, inner and their kin. Each is one dot_general where it can be."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.util import canonicalize_axis
from numjet.lax.dot import dot_general
from numjet.numpy.manipulation import axis_tuple, moveaxis, ravel, reshape, transpose
from numjet.numpy.promote import array_arg, promote_dtypes


def _operands(name: str, a: Any, b: Any, preferred: Any) -> tuple[Any, Any, Any]:
    """Both arrays in one dtype, and the dtype of the product."""
    a, b = array_arg(name, a, 0), array_arg(name, b, 1)
    if a.dtype != b.dtype:
        a, b = promote_dtypes(a, b)
    kind = None if preferred is None else dtypes.check_user_dtype(preferred, name)
    return a, b, kind if kind is not None else a.dtype if dtypes.kind(a.dtype) in "fc" else None


def _contract(a: Any, b: Any, contract: Any, batch: Any, precision: Any, preferred: Any) -> Any:
    return dot_general(a, b, (contract, batch), precision=precision, preferred_element_type=preferred)


def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """Sums over the last axis of a and the second last (or only) axis of b; scalars multiply.

    TypeError when the summed axes differ in size.

    >>> float(dot(np.ones(3), np.ones(3)))
    3.0
    """
    del out_sharding
    a, b, preferred = _operands("dot", a, b, preferred_element_type)
    if a.ndim == 0 or b.ndim == 0:
        contract: Any = ((), ())
    else:
        contract = ((a.ndim - 1,), (max(0, b.ndim - 2),))
    _check("dot", a, b, contract)
    return _contract(a, b, contract, ((), ()), precision, preferred)


def _check(name: str, a: Any, b: Any, contract: Any) -> None:
    for i, j in zip(*contract, strict=True):
        if a.shape[i] != b.shape[j]:
            raise TypeError(f"{name} requires contracting dimensions to have the same shape, got {a.shape} and {b.shape}: "
                            f"size {a.shape[i]} of axis {i} against size {b.shape[j]} of axis {j}.")


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """Matrix product; leading axes are batches and broadcast. ValueError for scalars, TypeError for sizes that don't fit.

    >>> matmul(np.eye(2), np.ones(2)).tolist()
    [1.0, 1.0]
    """
    del out_sharding
    a, b, preferred = _operands("matmul", a, b, preferred_element_type)
    for k, x in enumerate((a, b)):
        if x.ndim == 0:
            raise ValueError(f"matmul input operand {k} must have ndim at least 1, but it has ndim 0")
    contract = ((a.ndim - 1,), (max(0, b.ndim - 2),))
    _check("matmul", a, b, contract)
    return _batched(a, b, max(a.ndim - 2, 0), max(b.ndim - 2, 0), contract, precision, preferred)


def _batched(a: Any, b: Any, na: int, nb: int, contract: Any, precision: Any, preferred: Any) -> Any:
    """A product with na and nb leading batch axes that broadcast against each other."""
    count = max(na, nb)
    shapes = [(1,) * (count - na) + a.shape[:na], (1,) * (count - nb) + b.shape[:nb]]
    for p, q in zip(*shapes, strict=True):
        if p != q and 1 not in (p, q):
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={[a.shape, b.shape]}")
    shared = [k for k in range(count) if shapes[0][k] == shapes[1][k] and k >= count - na and k >= count - nb]
    axes_a, axes_b = [k - (count - na) for k in shared], [k - (count - nb) for k in shared]
    drop = lambda x, n, kept: [k for k in range(n) if k not in kept and x.shape[k] == 1]
    gone_a, gone_b = drop(a, na, axes_a), drop(b, nb, axes_b)
    left = [k for k in range(a.ndim) if k not in gone_a]
    right = [k for k in range(b.ndim) if k not in gone_b]
    x = reshape(a, tuple(a.shape[k] for k in left)) if gone_a else a
    y = reshape(b, tuple(b.shape[k] for k in right)) if gone_b else b
    numbers = ((left.index(contract[0][0]),), (right.index(contract[1][0]),))
    batch = ([left.index(k) for k in axes_a], [right.index(k) for k in axes_b])
    out = _contract(x, y, numbers, batch, precision, preferred)
    return _in_place(out, a, b, na, nb, count, shared, left, right, contract)


def _in_place(out: Any, a: Any, b: Any, na: int, nb: int, count: int, shared: list[int], left: list[int], right: list[int],
              contract: Any) -> Any:
    """dot_general puts shared batch axes first, then those of a, then those of b; the batch axes go back in order."""
    labels: list[Any] = [("batch", k) for k in shared]
    for side, kept, n in ((0, left, na), (1, right, nb)):
        for k in kept:
            if k == contract[side][0]:
                continue
            place = k + count - n
            if k < n and place in shared:
                continue
            labels.append(("batch", place) if k < n else ("free", side))
    present = {k for name, k in labels if name == "batch"}
    order = sorted(range(len(labels)), key=lambda i: (labels[i][0] == "free", labels[i][1]))
    out = transpose(out, order)
    missing = [k for k in range(count) if k not in present]
    if not missing:
        return out
    free = out.shape[len(present):]
    sizes = iter(out.shape[:len(present)])
    return reshape(out, (*[next(sizes) if k in present else 1 for k in range(count)], *free))


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The product of two flattened arrays, the first conjugated.

    >>> float(vdot(np.ones((2, 2)), np.ones((2, 2))))
    4.0
    """
    a = array_arg("vdot", a)
    return dot(a.conj() if a.dtype.kind == "c" else ravel(a), ravel(b), precision=precision,
               preferred_element_type=preferred_element_type) if a.ndim <= 1 and a.dtype.kind == "c" else dot(
        ravel(a.conj() if a.dtype.kind == "c" else a), ravel(b), precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Products of vectors along an axis, the first conjugated; the other axes broadcast.

    >>> vecdot(np.ones((2, 3)), np.ones(3)).tolist()
    [3.0, 3.0]
    """
    a, b = array_arg("vecdot", x1, 0), array_arg("vecdot", x2, 1)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"vecdot: expected arrays of at least one axis, got shapes {a.shape} and {b.shape}")
    a, b = moveaxis(a.conj() if a.dtype.kind == "c" else a, axis, -1), moveaxis(b, axis, -1)
    out = matmul(a[..., None, :], b[..., :, None], precision=precision, preferred_element_type=preferred_element_type)
    return out[..., 0, 0]


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums over the last axes of both.

    >>> inner(np.ones((2, 3)), np.ones(3)).tolist()
    [3.0, 3.0]
    """
    a, b, preferred = _operands("inner", a, b, preferred_element_type)
    contract: Any = ((), ()) if a.ndim == 0 or b.ndim == 0 else ((a.ndim - 1,), (b.ndim - 1,))
    _check("inner", a, b, contract)
    return _contract(a, b, contract, ((), ()), precision, preferred)


def outer(a: Any, b: Any, out: None = None) -> Any:
    """All products of elements of two flattened arrays.

    >>> outer(np.arange(2.0), np.arange(3.0)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    return ravel(a)[:, None] * ravel(b)[None, :]


def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None,
              out_sharding: Any = None) -> Any:
    """Sums over `axes`: the last axes of a and first ones of b (an int), or pairs named for both.

    >>> float(tensordot(np.ones((2, 3)), np.ones((2, 3)), 2))
    6.0
    """
    del out_sharding
    a, b, preferred = _operands("tensordot", a, b, preferred_element_type)
    if np.ndim(axes) == 0:
        n = int(axes)
        if n > min(a.ndim, b.ndim):
            raise TypeError(f"Number of tensordot axes (axes {n}) exceeds input ranks ({a.shape} and {b.shape})")
        contract: Any = (tuple(range(a.ndim - n, a.ndim)), tuple(range(n)))
    else:
        contract = (axis_tuple(axes[0], a.ndim), axis_tuple(axes[1], b.ndim))
        if len(contract[0]) != len(contract[1]):
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}.")
    _check("tensordot", a, b, contract)
    return _contract(a, b, contract, ((), ()), precision, preferred)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """The sum of a diagonal.

    >>> float(trace(np.eye(3)))
    3.0
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    return diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements a[..., i, i + offset], as the last axis.

    >>> diagonal(np.eye(2)).tolist()
    [1.0, 1.0]
    """
    a = array_arg("diagonal", a)
    if a.ndim < 2:
        raise ValueError(f"diagonal requires an array of at least two dimensions, got shape {a.shape}")
    i, j = canonicalize_axis(axis1, a.ndim), canonicalize_axis(axis2, a.ndim)
    a = moveaxis(a, (i, j), (-2, -1))
    count = max(0, min(a.shape[-2] + min(offset, 0), a.shape[-1] - max(offset, 0)))
    k = np.arange(count)
    return a[..., k - min(offset, 0), k + max(offset, 0)]
