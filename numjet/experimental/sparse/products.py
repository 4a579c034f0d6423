"""Products with sparse operands by gathering and scattering: labels of axes, as in einsum, say what is multiplied and summed.

A sparse array in the format BCOO has data[batch..., nse, dense...] and indices[batch..., nse, sparse]. Along a sparse axis a
dense operand is read at the stored positions, so all work is proportional to the number of stored elements.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numjet.numpy as jnp
from numjet import lax

Label = tuple[str, int]  # ("batch" | "sparse" | "dense" | "free", number), and ("nse", 0)
NSE: Label = ("nse", 0)


def index_array(indices: Any, batch_shape: Sequence[int], labels: Sequence[Label]) -> Any:
    """Positions [*batch, nse, len(labels)] along batch and sparse axes."""
    if labels == [("sparse", j) for j in range(indices.shape[-1])]:
        return indices
    shape = (*batch_shape, indices.shape[-2], 1)
    columns = [jnp.broadcast_to(indices[..., j:j + 1], shape) if kind == "sparse"
               else lax.broadcasted_iota(indices.dtype, shape, j) for kind, j in labels]
    return jnp.concatenate(columns, -1) if columns else jnp.zeros((*shape[:-1], 0), indices.dtype)


def read_rows(x: Any, index: Any) -> Any:
    """x[index[..., 0], index[..., 1], ...], zero where that is out of bounds."""
    count, lead = index.shape[-1], index.ndim - 1
    if 0 in x.shape[:count]:  # nothing is in bounds
        return jnp.zeros(index.shape[:-1] + x.shape[count:], x.dtype)
    dimensions = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(lead, lead + x.ndim - count)), collapsed_slice_dims=tuple(range(count)),
        start_index_map=tuple(range(count)))
    return lax.gather(x, index, dimensions, (1,) * count + x.shape[count:], mode="fill", fill_value=0)


def add_rows(shape: Sequence[int], index: Any, updates: Any) -> Any:
    """The array of that shape which has at each position the sum of its updates; those out of bounds are dropped."""
    count, lead = index.shape[-1], index.ndim - 1
    dimensions = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(lead, updates.ndim)), inserted_window_dims=tuple(range(count)),
        scatter_dims_to_operand_dims=tuple(range(count)))
    if updates.dtype == bool:
        return add_rows(shape, index, updates.astype("int32")).astype(bool)
    zeros = jnp.zeros(shape, updates.dtype)
    if 0 in zeros.shape or 0 in updates.shape:
        return zeros
    return lax.scatter_add(zeros, index, updates, dimensions, mode="drop")


def take(x: Any, labels: Sequence[Label], indices: Any, batch_shape: Sequence[int]) -> tuple[Any, list[Label]]:
    """x read at the stored positions along its sparse axes: the array and its labels."""
    if not any(kind == "sparse" for kind, _ in labels):
        return x, list(labels)
    picked = [d for d, (kind, _) in enumerate(labels) if kind in ("batch", "sparse")]
    picked.sort(key=lambda d: labels[d])
    rest = [d for d in range(len(labels)) if d not in picked]
    index = index_array(indices, batch_shape, [labels[d] for d in picked])
    front: list[Label] = [*(("batch", j) for j in range(len(batch_shape))), NSE]
    return read_rows(x.transpose(picked + rest), index), front + [labels[d] for d in rest]


def multiply(x: Any, x_labels: Sequence[Label], y: Any, y_labels: Sequence[Label], out: Sequence[Label]) -> Any:
    """The product, summed over the labels that `out` lacks."""
    names = {label: n for n, label in enumerate(dict.fromkeys([*x_labels, *y_labels, *out]))}
    if all(label in out for label in names):
        return _aligned(x, x_labels, out) * _aligned(y, y_labels, out)
    number = lambda labels: [names[label] for label in labels]
    return jnp.einsum(x, number(x_labels), y, number(y_labels), number(out))


def _aligned(x: Any, labels: Sequence[Label], out: Sequence[Label]) -> Any:
    """x with its axes in the order of `out`, of size 1 where it has none."""
    ordered = x.transpose([labels.index(label) for label in out if label in labels])
    return lax.expand_dims(ordered, [d for d, label in enumerate(out) if label not in labels])


def operand_labels(n_batch: int, n_sparse: int, n_dense: int) -> list[Label]:
    """The labels of the axes of a sparse array."""
    return [*(("batch", j) for j in range(n_batch)), *(("sparse", j) for j in range(n_sparse)),
            *(("dense", j) for j in range(n_dense))]


def data_labels(n_batch: int, n_dense: int) -> list[Label]:
    """The labels of the axes of its data."""
    return [*(("batch", j) for j in range(n_batch)), NSE, *(("dense", j) for j in range(n_dense))]


def sparse_times_dense(data: Any, indices: Any, shape: Sequence[int], rhs: Any, dimension_numbers: Any) -> Any:
    """dot_general of a sparse array and a dense one. data and indices have all of the batch, data of what is padding is
    zero."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    n_dense = len(shape) - n_batch - n_sparse
    labels = operand_labels(n_batch, n_sparse, n_dense)
    pairs = dict(zip((*rhs_batch, *rhs_contracting), (*lhs_batch, *lhs_contracting), strict=True))
    rhs_labels: list[Label] = [labels[pairs[d]] if d in pairs else ("free", d) for d in range(rhs.ndim)]
    out = [labels[d] for d in lhs_batch] + [x for d, x in enumerate(labels) if d not in (*lhs_batch, *lhs_contracting)] \
        + [x for x in rhs_labels if x[0] == "free"]
    sizes = {**dict(zip(labels, shape, strict=True)), **dict(zip(rhs_labels, rhs.shape, strict=True))}
    rows, rows_labels = take(rhs, rhs_labels, indices, shape[:n_batch])
    own = data_labels(n_batch, n_dense)
    placed = [x for x in out if x[0] in ("batch", "sparse")]
    if not any(kind == "sparse" for kind, _ in placed):
        return multiply(data, own, rows, rows_labels, out)
    rest = [x for x in out if x not in placed]
    updates = multiply(data, own, rows, rows_labels, [*own[:n_batch + 1], *rest])
    target = [*sorted(placed), *rest]
    index = index_array(indices, shape[:n_batch], sorted(placed))
    total = add_rows([sizes[x] for x in target], index, updates)
    return total.transpose([target.index(x) for x in out])


def sampled_product(a: Any, b: Any, indices: Any, dimension_numbers: Any) -> Any:
    """Elements of dot_general(a, b) at the positions in indices[batch..., nse, sparse], without the others: a read at the
    positions of its axes, times b read at those of its own."""
    (a_contracting, b_contracting), (a_batch, b_batch) = dimension_numbers
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    a_free = [d for d in range(a.ndim) if d not in (*a_contracting, *a_batch)]
    b_free = [d for d in range(b.ndim) if d not in (*b_contracting, *b_batch)]
    rank = len(a_batch) + len(a_free) + len(b_free)
    labels = operand_labels(n_batch, n_sparse, rank - n_batch - n_sparse)
    of_a = dict(zip((*a_batch, *a_free), labels[:len(a_batch) + len(a_free)], strict=True))
    of_b = dict(zip((*b_batch, *b_free), labels[:len(b_batch)] + labels[len(a_batch) + len(a_free):], strict=True))
    for n, (i, j) in enumerate(zip(a_contracting, b_contracting, strict=True)):
        of_a[i] = of_b[j] = ("free", n)
    sizes = {**{of_a[d]: a.shape[d] for d in range(a.ndim)}, **{of_b[d]: b.shape[d] for d in range(b.ndim)}}
    batch_shape = [sizes[x] for x in labels[:n_batch]]
    x, y = (take(v, [of[d] for d in range(v.ndim)], indices, batch_shape) for v, of in ((a, of_a), (b, of_b)))
    out = data_labels(n_batch, rank - n_batch - n_sparse)
    found = [label for label in out if label in x[1] or label in y[1]]
    shape = [indices.shape[-2] if label == NSE else sizes[label] for label in out]
    return jnp.broadcast_to(_aligned(multiply(*x, *y, found), found, out), shape)
