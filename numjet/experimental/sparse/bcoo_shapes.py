"""Functions of BCOO arrays that move, select and add up elements: they change indices and leave most of the data as it is."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.vmap import vmap
from numjet.experimental.sparse.bcoo import BCOO, bcoo_sum_duplicates, bcoo_transpose, bcoo_update_layout, like
from numjet.experimental.sparse.bcoo_buffers import inside, kept, marked, ravelled, row, unravelled, whole, with_nse
from numjet.experimental.sparse.util import SparseInfo, refuse, split_shape


def _without(mat: BCOO, dropped: Sequence[int], shape: Sequence[int]) -> BCOO:
    """The array without some of its sparse axes (counted from the first sparse one): elements add up, padding stays padding."""
    columns = [j for j in range(mat.n_sparse) if j not in dropped]
    mask = inside(mat.indices, mat._sparse_shape)
    indices = mat.indices[..., np.asarray(columns, int)]
    if columns:
        return like(mat, mat.data, marked(indices, mask, [mat._sparse_shape[j] for j in columns]), shape=tuple(shape))
    data, indices = whole(mat.data, indices, mat.shape)
    return like(mat, kept(data, jnp.broadcast_to(mask, indices.shape[:-1])), indices, shape=tuple(shape))


def _axes(what: str, axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Axes, checked, in order."""
    found = sorted({operator.index(a) + (ndim if a < 0 else 0) for a in axes})
    if any(not 0 <= a < ndim for a in found) or len(found) != len(tuple(axes)):
        raise ValueError(f"{what}: axes must be different and in [{-ndim}, {ndim}), got {tuple(axes)}")
    return tuple(found)


# ------------------------------------------------------------------------------------------------ sums

def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum over axes, of small integers and bools in the dtype of jnp.sum. Along sparse axes elements only lose an index;
    nse grows by the sizes of batch axes.

    >>> import numjet.numpy as jnp
    >>> bcoo_reduce_sum(BCOO.fromdense(jnp.array([[0, 2], [3, 4]])), axes=(0,)).todense().tolist()
    [3, 6]
    """
    return sum_in_own_dtype(like(mat, mat.data.astype(jnp.sum(jnp.zeros(0, mat.dtype)).dtype)), axes)


def sum_in_own_dtype(mat: BCOO, axes: Sequence[int]) -> BCOO:
    """The sum over axes in the dtype of the array, as lax.reduce_sum has it."""
    found = _axes("bcoo_reduce_sum", axes, mat.ndim)
    n, end = mat.n_batch, mat.ndim - mat.n_dense
    dense = [d - mat.n_sparse + 1 for d in found if d >= end]
    if dense:
        shape = [s for d, s in enumerate(mat.shape) if d not in found or d < end]
        mat = like(mat, mat.data.sum(tuple(dense), dtype=mat.dtype), shape=tuple(shape))
    batch = [d for d in found if d < n]
    if batch:
        mat = _sum_over_batch(mat, batch)
    sparse = [d - n for d in found if n <= d < end]
    start = mat.n_batch
    shape = [s for d, s in enumerate(mat.shape) if d - start not in sparse]
    return _without(mat, sparse, shape) if sparse else mat


def _sum_over_batch(mat: BCOO, axes: Sequence[int]) -> BCOO:
    """The elements of all of these batch axes together."""
    data, indices = whole(mat.data, mat.indices, mat.shape)
    n = mat.n_batch
    rest = [d for d in range(n) if d not in axes]
    front = [mat.shape[d] for d in rest]
    nse = prod(mat.shape[d] for d in axes) * mat.nse
    merge = lambda x: x.transpose([*rest, *axes, *range(n, x.ndim)]).reshape(*front, nse, *x.shape[n + 1:])
    return like(mat, merge(data), merge(indices), shape=(*front, *mat.shape[n:]))


# ------------------------------------------------------------------------------------------------ shapes

def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
                 sharding: None = None) -> BCOO:
    """The array in another shape, after its axes are permuted by `dimensions`. Batch, sparse and dense axes are not mixed.

    ValueError for a shape of another size, or one that mixes axes of different kinds: update_layout changes kinds.

    >>> import numjet.numpy as jnp
    >>> bcoo_reshape(BCOO.fromdense(jnp.array([[0, 2], [3, 4]])), new_sizes=(4,)).indices.tolist()
    [[1], [2], [3]]
    """
    refuse("bcoo_reshape", sharding=sharding)
    if dimensions is not None:
        mat = mat.transpose(dimensions)
    new = tuple(map(operator.index, new_sizes))
    if prod(new) != mat.size:
        raise ValueError(f"cannot reshape array of shape {mat.shape} (size {mat.size}) into shape {new} (size {prod(new)})")
    batch, sparse, dense = split_shape(mat.shape, mat.n_batch, mat.n_dense)
    start = _split_at(new, batch, mat, "batch")
    stop = len(new) - _split_at(new[::-1], dense, mat, "dense")
    new_sparse = new[start:stop]
    if start > stop or prod(new_sparse) != prod(sparse):
        raise _mixes(mat, new, "sparse", mat.n_sparse)
    data, indices = whole(mat.data, mat.indices, mat.shape) if batch != new[:start] else (mat.data, mat.indices)
    front = (*new[:start],) if batch != new[:start] else data.shape[:mat.n_batch]
    mask = inside(indices, sparse)
    columns = unravelled(ravelled(indices, sparse), new_sparse) if mat.n_sparse else []
    if mat.n_sparse == 0 and new_sparse:
        columns = [jnp.zeros(indices.shape[:-1], indices.dtype)] * len(new_sparse)
    if columns:
        indices = marked(jnp.stack(columns, -1), mask, new_sparse)
    elif mat.n_sparse:
        data, indices = kept(data, jnp.broadcast_to(mask, data.shape[:mask.ndim])), indices[..., :0]
    of_indices = (*new[:start],) if batch != new[:start] else indices.shape[:mat.n_batch]
    return like(mat, data.reshape(*front, mat.nse, *new[stop:]), indices.reshape(*of_indices, mat.nse, len(new_sparse)),
                shape=new)


def _split_at(new: Sequence[int], old: Sequence[int], mat: BCOO, kind: str) -> int:
    """How many of the new sizes make up the old ones: as many as before, if that fits."""
    if prod(new[:len(old)]) == prod(old):
        return min(len(old), len(new))
    found = next((k for k in range(len(new) + 1) if prod(new[:k]) == prod(old)), None)
    if found is None:
        raise _mixes(mat, new, kind, len(old))
    return found


def _mixes(mat: BCOO, new: Sequence[int], kind: str, count: int) -> ValueError:
    other = "sparse" if kind != "sparse" else "dense"
    return ValueError(f"bcoo_reshape: new shape cannot mix {kind} and {other} dimensions; got shape={mat.shape} "
                      f"new_shape={tuple(new)} with n_{kind}={count}")


def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding: None = None) -> BCOO:
    """The array in a larger shape: axis d of it is axis broadcast_dimensions[d] of the result, along the others it is repeated.

    New axes in front of the sparse ones are batch axes, those between dense ones dense, others sparse. Along sparse axes that
    are repeated nse grows by their sizes. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> bcoo_broadcast_in_dim(BCOO.fromdense(jnp.array([0, 2])), shape=(2, 2), broadcast_dimensions=(1,)).todense().tolist()
    [[0, 2], [0, 2]]
    """
    refuse("bcoo_broadcast_in_dim", sharding=sharding)
    shape, dims = tuple(shape), tuple(map(operator.index, broadcast_dimensions))
    if len(dims) != mat.ndim or sorted(set(dims)) != list(dims) or any(not 0 <= d < len(shape) for d in dims) \
            or any(s not in (1, shape[d]) for s, d in zip(mat.shape, dims, strict=True)):
        raise ValueError(f"bcoo_broadcast_in_dim: {mat.shape=} does not fit {shape=} with broadcast_dimensions={dims}: one "
                         "ascending axis of the result per axis, with its size or 1")
    batch, sparse, dense = dims[:mat.n_batch], dims[mat.n_batch:mat.ndim - mat.n_dense], dims[mat.ndim - mat.n_dense:]
    start = min(sparse) if sparse else max(batch, default=-1) + 1
    stop = min(dense) if dense else len(shape)
    if not sparse and not dense:
        stop = start if not mat.ndim else stop
        start = len(shape) if not mat.ndim else start
        stop = max(start, stop)
    spread = lambda x, tail: lax.broadcast_in_dim(
        x, (*(shape[d] if d not in batch or x.shape[batch.index(d)] > 1 else 1 for d in range(start)), *tail),
        (*batch, *range(start, start + len(tail))))
    indices, data = mat.indices, mat.data
    data = lax.broadcast_in_dim(
        data, (*(_size(data.shape, batch, d, shape) for d in range(start)), mat.nse, *shape[stop:]),
        (*batch, start, *(d - stop + start + 1 for d in dense)))
    indices = spread(indices, indices.shape[mat.n_batch:])
    sizes = shape[start:stop]
    old = {d - start: j for j, d in enumerate(sparse)}
    mask = inside(indices, mat._sparse_shape) if mat.n_sparse else jnp.ones(indices.shape[:-1], bool)
    columns = [indices[..., old[j]] if j in old else jnp.zeros_like(mask, indices.dtype) for j in range(len(sizes))]
    if columns:
        indices = marked(jnp.stack(columns, -1), mask, sizes)
    grown = [j for j, s in enumerate(sizes) if s != (mat._sparse_shape[old[j]] if j in old else 1)]
    return _repeated(data, indices, shape, grown, sizes)


def _size(sizes: Sequence[int], batch: Sequence[int], d: int, shape: Sequence[int]) -> int:
    """The size of a buffer's batch axis: axes of size 1 that stand for all of the batch stay so."""
    return shape[d] if d not in batch or sizes[batch.index(d)] > 1 else 1


def _repeated(data: Any, indices: Any, shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> BCOO:
    """Every element at all positions along some of the sparse axes."""
    n = indices.ndim - 2
    for j in axes:
        mask = inside(indices, [1 if k == j else s for k, s in enumerate(sizes)])[..., None]
        count = sizes[j]
        column = jnp.where(mask, row(np.arange(count), indices), jnp.asarray(count, indices.dtype))[..., None]
        wide = jnp.broadcast_to(indices[..., None, :], (*column.shape[:-1], len(sizes)))
        wide = jnp.concatenate([wide[..., :j], column, wide[..., j + 1:]], -1)
        indices = wide.reshape(*wide.shape[:n], wide.shape[n] * count, len(sizes))
        data = jnp.repeat(data, count, axis=n)
    return BCOO((data, indices), shape=shape)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without axes of size 1. ValueError for other sizes.

    >>> import numjet.numpy as jnp
    >>> bcoo_squeeze(BCOO.fromdense(jnp.array([[0, 2]])), dimensions=(0,))
    BCOO(int32[2], nse=1)
    """
    found = _axes("bcoo_squeeze", dimensions, arr.ndim)
    if any(arr.shape[d] != 1 for d in found):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, got "
                         f"shape={arr.shape} and dimensions={found}")
    n, end = arr.n_batch, arr.ndim - arr.n_dense
    outer = [d for d in found if not n <= d < end]
    of_data = [d if d < n else d - arr.n_sparse + 1 for d in outer]
    data = lax.squeeze(arr.data, of_data)
    indices = lax.squeeze(arr.indices, [d for d in outer if d < n])
    mat = like(arr, data, indices, shape=tuple(s for d, s in enumerate(arr.shape) if d not in outer),
               indices_sorted=arr.indices_sorted, unique_indices=arr.unique_indices)
    sparse = [d - n for d in found if n <= d < end]
    start = mat.n_batch
    return _without(mat, sparse, [s for d, s in enumerate(mat.shape) if d - start not in sparse]) if sparse else mat


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with the order along some axes reversed.

    >>> import numjet.numpy as jnp
    >>> bcoo_rev(BCOO.fromdense(jnp.array([0, 2])), (0,)).todense().tolist()
    [2, 0]
    """
    found = _axes("bcoo_rev", dimensions, operand.ndim)
    n, end = operand.n_batch, operand.ndim - operand.n_dense
    data = lax.rev(operand.data, [d if d < n else d - operand.n_sparse + 1 for d in found if not n <= d < end])
    indices = lax.rev(operand.indices, [d for d in found if d < n])
    if operand.n_sparse:
        sizes = operand._sparse_shape
        columns = [sizes[j] - 1 - indices[..., j] if j + n in found else indices[..., j] for j in range(len(sizes))]
        indices = marked(jnp.stack(columns, -1).astype(indices.dtype), inside(indices, sizes), sizes)
    return like(operand, data, indices, unique_indices=operand.unique_indices)


# ------------------------------------------------------------------------------------------------ parts

def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
               strides: Sequence[int] | None = None) -> BCOO:
    """A part of the array, as lax.slice gives. nse is at most the size of the sparse axes.

    ValueError for limits that are no part of the array.

    >>> import numjet.numpy as jnp
    >>> bcoo_slice(BCOO.fromdense(jnp.array([0, 2, 3])), start_indices=[1], limit_indices=[3]).todense().tolist()
    [2, 3]
    """
    start, limit = [*map(operator.index, start_indices)], [*map(operator.index, limit_indices)]
    step = [1] * mat.ndim if strides is None else [*map(operator.index, strides)]
    if not len(start) == len(limit) == len(step) == mat.ndim:
        raise ValueError(f"bcoo_slice: one start, limit, stride per axis, got {start_indices=}, {limit_indices=}, {strides=} "
                         f"for shape {mat.shape}")
    if any(not 0 <= a <= b <= s or k < 1 for a, b, k, s in zip(start, limit, step, mat.shape, strict=True)):
        raise ValueError(f"bcoo_slice: needs 0 <= start <= limit <= size and strides of at least 1, got {start_indices=}, "
                         f"{limit_indices=}, {strides=} for shape {mat.shape}")
    n, end = mat.n_batch, mat.ndim - mat.n_dense
    whole_, shape = slice(None), tuple(-(-(b - a) // k) for a, b, k in zip(start, limit, step, strict=True))
    cut = [slice(a, b, k) for a, b, k in zip(start, limit, step, strict=True)]
    front = lambda x: tuple(cut[d] if x.shape[d] == mat.shape[d] else whole_ for d in range(n))
    data = mat.data[(*front(mat.data), whole_, *cut[end:])]
    indices = mat.indices[front(mat.indices)]
    if (start[n:end], limit[n:end], step[n:end]) == ([0] * mat.n_sparse, [*mat._sparse_shape], [1] * mat.n_sparse):
        return like(mat, data, indices, shape=shape, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)
    first, last, by = (row(np.asarray(x[n:end], int), indices) for x in (start, limit, step))
    moved = indices - first
    mask = (indices >= first) & (indices < last) & (moved % by == 0)
    return _fewer(mat, data, moved // by, mask.all(-1), shape)


def _fewer(mat: BCOO, data: Any, indices: Any, mask: Any, shape: Sequence[int]) -> BCOO:
    """The elements where the mask holds, of an array with fewer positions than before: at most as many as it has."""
    sizes = tuple(shape)[mat.n_batch:mat.ndim - mat.n_dense]
    data = kept(data, jnp.broadcast_to(mask, jnp.broadcast_shapes(data.shape[:mask.ndim], mask.shape)))
    out = like(mat, data, marked(indices, mask, sizes), shape=tuple(shape), unique_indices=mat.unique_indices)
    return bcoo_sum_duplicates(out, prod(sizes)) if prod(sizes) < out.nse else out


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A part of static size with its start given by scalars, which are clamped so that it is a part, as lax.dynamic_slice.

    >>> import numjet.numpy as jnp
    >>> bcoo_dynamic_slice(BCOO.fromdense(jnp.array([0, 2, 3])), [9], [2]).todense().tolist()
    [2, 3]
    """
    sizes = tuple(map(operator.index, slice_sizes))
    starts = [*start_indices] if not hasattr(start_indices, "ndim") else [start_indices[d] for d in range(len(sizes))]
    if not len(starts) == len(sizes) == mat.ndim or any(not 0 <= t <= s for s, t in zip(mat.shape, sizes, strict=True)):
        raise ValueError(f"bcoo_dynamic_slice: per axis one start and one size, at most its own; got {slice_sizes=} and "
                         f"{len(starts)} starts for shape {mat.shape}")
    n, end = mat.n_batch, mat.ndim - mat.n_dense
    first = [_clamped(jnp.asarray(a), s, t) for a, s, t in zip(starts, mat.shape, sizes, strict=True)]
    zero = jnp.zeros((), jnp.int32)
    of_data = [*(first[d] if mat.data.shape[d] == mat.shape[d] else zero for d in range(n)), zero, *first[end:]]
    data = lax.dynamic_slice(mat.data, of_data, (*(min(sizes[d], s) for d, s in enumerate(mat.data.shape[:n])), mat.nse,
                                                 *sizes[end:]))
    indices = lax.dynamic_slice(
        mat.indices, [*(first[d] if mat.indices.shape[d] == mat.shape[d] else zero for d in range(n)), zero, zero],
        (*(min(sizes[d], s) for d, s in enumerate(mat.indices.shape[:n])), mat.nse, mat.n_sparse))
    if not mat.n_sparse:
        return like(mat, data, indices, shape=sizes)
    begin = row(jnp.stack(first[n:end]), indices)
    moved = indices - begin
    mask = ((indices >= begin) & (moved < row(np.asarray(sizes[n:end]), indices))).all(-1) & inside(indices, mat._sparse_shape)
    return _fewer(mat, data, moved, mask, sizes)


def _clamped(start: Any, size: int, part: int) -> Any:
    start = start.astype(jnp.int32)
    return jnp.clip(jnp.where(start < 0, start + size, start), 0, size - part)


def bcoo_gather(operand: BCOO, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *,
                unique_indices: bool = False, indices_are_sorted: bool = False, mode: Any = None,
                fill_value: Any = None) -> BCOO:
    """Parts of the array at many places, as lax.gather gives them. The places are batch axes if they come first, else sparse.

    Starts are clamped. NotImplementedError for other modes, and for batching axes.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([[0, 2], [3, 0]]))
    >>> rows = nj.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> bcoo_gather(m, jnp.array([[1], [1]]), rows, (1, 2)).todense().tolist()
    [[3, 0], [3, 0]]
    """
    del unique_indices, indices_are_sorted
    if fill_value is not None or (mode is not None and lax.GatherScatterMode.from_any(mode) ==
                                  lax.GatherScatterMode.FILL_OR_DROP):
        raise NotImplementedError("bcoo_gather: starts are clamped; use mode='clip', without fill_value")
    starts, places = jnp.asarray(start_indices), jnp.ndim(start_indices) - 1
    collapsed = tuple(dimension_numbers.collapsed_slice_dims)
    if dimension_numbers.operand_batching_dims or dimension_numbers.start_indices_batching_dims:
        raise NotImplementedError("bcoo_gather with batching dimensions; vmap over a batch axis instead")

    def one(start: Any) -> BCOO:
        first = [jnp.zeros((), starts.dtype)] * operand.ndim
        for k, d in enumerate(dimension_numbers.start_index_map):
            first[d] = jnp.maximum(start[k], 0)
        part = bcoo_dynamic_slice(operand, first, slice_sizes)
        return bcoo_squeeze(part, dimensions=collapsed) if collapsed else part

    for _ in range(places):
        one = vmap(one)
    found, offsets = one(starts), list(dimension_numbers.offset_dims)
    order = [d for d in range(found.ndim) if d not in offsets] + offsets
    if order == list(range(found.ndim)):
        return found
    return bcoo_transpose(bcoo_update_layout(found, n_batch=0, n_dense=0), permutation=np.argsort(order).tolist())


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """The arrays one after another along an axis. Along a batch axis those with fewer elements are filled up with padding;
    along
    others nse is the sum of theirs.

    ValueError for shapes or layouts that do not fit.

    >>> import numjet.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([0, 2]))
    >>> bcoo_concatenate([m, m], dimension=0).todense().tolist()
    [0, 2, 0, 2]
    """
    mats, axis = list(operands), operator.index(dimension)
    if not mats or not all(isinstance(m, BCOO) for m in mats):
        raise ValueError(f"bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got {operands}")
    first = mats[0]
    for kind in ("n_batch", "n_dense"):
        if any(getattr(m, kind) != getattr(first, kind) for m in mats):
            raise ValueError(f"bcoo_concatenate requires inputs to have matching {kind[2:]} dimensions.")
    around = {m.shape[:axis] + m.shape[axis + 1:] for m in mats}
    if not 0 <= axis < first.ndim or len(around) != 1:
        raise ValueError(f"bcoo_concatenate: shapes must be equal along all axes but {axis}, got {[m.shape for m in mats]}")
    ends = np.cumsum([m.shape[axis] for m in mats])
    shape = (*first.shape[:axis], int(ends[-1]), *first.shape[axis + 1:])
    parts = [whole(m.data, m.indices, m.shape) for m in mats]
    n = first.n_batch
    if axis < n:
        nse = max(m.nse for m in mats)
        parts = [with_nse(*p, m.shape, nse) for p, m in zip(parts, mats, strict=True)]
        return BCOO((jnp.concatenate([d for d, _ in parts], axis), jnp.concatenate([i for _, i in parts], axis)), shape=shape)
    starts = [int(e) - m.shape[axis] for e, m in zip(ends, mats, strict=True)]
    if axis < first.ndim - first.n_dense:
        parts = [(d, _shifted(m, i, axis - n, start, shape)) for (d, i), m, start in zip(parts, mats, starts, strict=True)]
    else:
        d = axis - first.n_sparse + 1
        pads = [[(a, shape[axis] - a - m.shape[axis]) if k == d else (0, 0) for k in range(first.data.ndim)]
                for a, m in zip(starts, mats, strict=True)]
        parts = [(jnp.pad(x, pad), i) for (x, i), pad in zip(parts, pads, strict=True)]
    return BCOO((jnp.concatenate([d for d, _ in parts], n), jnp.concatenate([i for _, i in parts], n)), shape=shape)


def _shifted(mat: BCOO, indices: Any, column: int, start: int, shape: Sequence[int]) -> Any:
    """The indices of a part that starts there along a sparse axis."""
    sizes = split_shape(shape, mat.n_batch, mat.n_dense)[1]
    by = row(np.asarray([start if j == column else 0 for j in range(mat.n_sparse)], int), indices)
    return marked(indices + by, inside(indices, mat._sparse_shape), sizes)


def bcoo_conv_general_dilated(lhs: Any, rhs: Any, *, window_strides: Sequence[int], padding: Any,
                              lhs_dilation: Any = None, rhs_dilation: Any = None, dimension_numbers: Any = None,
                              feature_group_count: int = 1, batch_group_count: int = 1, precision: None = None,
                              preferred_element_type: Any = None, out_sharding: None = None) -> BCOO:
    """Convolution of two arrays of shape [1, 1, n], as lax.conv_general_dilated: one batch, one feature, one axis.

    Dense operands are taken for sparse arrays that store every element.
    NotImplementedError for strides, dilations, groups, other dimension numbers, and more than one axis, batch or feature.

    >>> import numjet.numpy as jnp
    >>> x, y = BCOO.fromdense(jnp.array([[[1.0, 0, 2]]])), BCOO.fromdense(jnp.array([[[1.0, 1]]]))
    >>> bcoo_conv_general_dilated(x, y, window_strides=(1,), padding=[(0, 0)]).todense().tolist()
    [[[1.0, 2.0]]]
    """
    del precision
    refuse("bcoo_conv_general_dilated", out_sharding=out_sharding)
    plain = [("window_strides", tuple(window_strides), ((1,),)), ("lhs_dilation", lhs_dilation, (None, (1,), [1])),
             ("rhs_dilation", rhs_dilation, (None, (1,), [1])), ("dimension_numbers", dimension_numbers, (None,)),
             ("feature_group_count", feature_group_count, (1,)), ("batch_group_count", batch_group_count, (1,))]
    for name, value, allowed in plain:
        if value not in allowed:
            raise NotImplementedError(f"bcoo_conv_general_dilated: {name}={value!r} is not supported, only {allowed[0]!r}")
    if lhs.ndim != 3 or rhs.ndim != 3 or lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1):
        raise NotImplementedError("bcoo_conv_general_dilated: operands must have the shape [1, 1, n], got "
                                  f"{lhs.shape} and {rhs.shape}")
    dtype = jnp.result_type(lhs.dtype, rhs.dtype) if preferred_element_type is None else preferred_element_type
    (low, high), = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], (1,), padding) if isinstance(padding, str) else padding
    x, y = (m.update_layout(n_batch=2, n_dense=0, on_inefficient=None) if isinstance(m, BCOO)
            else BCOO.fromdense(jnp.asarray(m), nse=m.shape[2], n_batch=2) for m in (lhs, rhs))
    y = bcoo_rev(y, (2,))
    size = lhs.shape[2] + low + high - rhs.shape[2] + 1
    i, j = x.indices[..., :, None, :], y.indices[..., None, :, :]
    position = i + j - (rhs.shape[2] - 1 - low)
    mask = (inside(i, x._sparse_shape) & inside(j, y._sparse_shape))[..., None] & (position >= 0) & (position < size)
    indices = jnp.where(mask, position, size).reshape(1, 1, -1, 1)
    product = x.data[..., :, None].astype(dtype) * y.data[..., None, :].astype(dtype)
    data = kept(product.reshape(1, 1, -1), mask.reshape(1, 1, -1))
    out = BCOO((data, indices), **SparseInfo((1, 1, max(size, 0)))._asdict())
    return bcoo_sum_duplicates(out, max(size, 0)) if size < out.nse else out
