"""`map`: sequential application of a function to slices along the leading axis."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numjet.control.call.body_tracing import cached_with
from numjet.control.loops.scan import scan, scan_length
from numjet.core.trace import aval_of
from numjet.foundation import source, tree
from numjet.lax.indexing.slicing import slice_in_dim
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import reshape
from numjet.transforms.vmap import batch_flat, move_to


@source.api_boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Applies `f` to the slices of `xs` along the leading axis, one after the other, and stacks the results.

    Args:
      f: function of one slice.
      xs: pytree of arrays of shape (n, ...).
      batch_size: number of slices per step (vectorized): faster, for more memory. None or 0: one slice, not vectorized.

    Returns:
      Pytree of arrays of shape (n, ...).

    >>> import numpy as np
    >>> from numjet import lax
    >>> lax.map(lambda x: x * x, np.arange(3.0)).tolist()
    [0.0, 1.0, 4.0]
    """
    if batch_size:
        return _map_batches(f, xs, operator.index(batch_size))
    return scan(_without_carry(f), (), xs)[1]


def _without_carry(f: Callable[[Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    return cached_with(f, lambda _, x: ((), f(x)))


def _map_batches(f: Callable[[Any], Any], xs: Any, batch_size: int) -> Any:
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size}")
    leaves, in_tree = tree.tree_flatten(xs)
    n = scan_length(leaves, in_tree, None)
    whole = n - n % batch_size
    parts = []
    if whole:
        blocks = [_blocks(x, whole, batch_size) for x in leaves]
        parts.append(map(lambda block: _vectorized(f, block, batch_size), tree.tree_unflatten(in_tree, blocks)))
        parts[0] = tree.tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), parts[0])
    if whole < n or not whole:
        rest = [slice_in_dim(x, whole, n) for x in leaves]
        parts.append(_vectorized(f, tree.tree_unflatten(in_tree, rest), n - whole))
    return parts[0] if len(parts) == 1 else tree.tree_map(lambda *ys: concatenate(ys, 0), *parts)


def _blocks(x: Any, whole: int, batch_size: int) -> Any:
    return reshape(slice_in_dim(x, 0, whole), (whole // batch_size, batch_size, *aval_of(x).shape[1:]))


def _vectorized(f: Callable[[Any], Any], xs: Any, size: int) -> Any:
    """f over the leading axis at once."""
    leaves, in_tree = tree.tree_flatten(xs)
    out_tree: Any = None

    def flat(*slices: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree.tree_flatten(f(tree.tree_unflatten(in_tree, slices)))
        return outs

    outs, dims = batch_flat(flat, size, leaves, [0] * len(leaves))
    return tree.tree_unflatten(out_tree, [move_to(y, d, 0, size) for y, d in zip(outs, dims, strict=True)])
