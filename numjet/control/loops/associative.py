"""Parallel prefix (`associative_scan`): all prefixes of an associative operation in logarithmically many steps.

Odd-even recursion: combine neighbours, scan those, and combine once more for the elements in between. It takes fewer
than 2n combinations and 2 log2(n) steps (R. Ladner and M. Fischer, "Parallel prefix computation", J. ACM 1980;
G. Blelloch, "Prefix sums and their applications", 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.core.snapshots import frozen
from numjet.core.trace import aval_of
from numjet.foundation import tree
from numjet.foundation.util import canonicalize_axis
from numjet.lax.indexing.slicing import slice_in_dim
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import expand_dims, reshape, rev

Leaves = list[Any]


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of `elems` under an associative operation.

    Args:
      fn: (a, b) -> a combined with b, of pytrees like `elems`; works on whole arrays at once, element by element along
        `axis`, and fn(a, fn(b, c)) = fn(fn(a, b), c).
      elems: pytree of arrays of equal size along `axis`.
      reverse: suffixes instead of prefixes: element i combines n-1, n-2, ..., i.
      axis: along which to scan.

    Returns:
      Pytree like `elems`: element i along `axis` combines elements 0 to i.

    Raises:
      TypeError: fn cannot be called.
      ValueError: no arrays, scalars, or different sizes along `axis`; fn returns another structure.

    >>> import numpy as np
    >>> from numjet import lax
    >>> lax.associative_scan(lax.add, np.arange(4.0)).tolist()
    [0.0, 1.0, 3.0, 6.0]
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, treedef = tree.tree_flatten(elems)
    leaves = [frozen(x) for x in leaves]
    if not leaves:
        raise ValueError("associative_scan got no arrays to scan over.")
    avals = [aval_of(x) for x in leaves]
    if any(a.ndim == 0 for a in avals):
        raise ValueError(f"associative_scan needs arrays with an axis to scan over, got shapes {[a.shape for a in avals]}")
    axis = canonicalize_axis(axis, avals[0].ndim)
    if len({a.shape[axis : axis + 1] for a in avals}) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[a.shape for a in avals]}, along axis {axis})"
        )
    leaves = [rev(x, (axis,)) if reverse else x for x in leaves]
    outs = _scan(_flat(fn, treedef), leaves, axis)
    return tree.tree_unflatten(treedef, [rev(x, (axis,)) if reverse else x for x in outs])


def _flat(fn: Callable[[Any, Any], Any], treedef: Any) -> Callable[[Leaves, Leaves], Leaves]:
    def combine(a: Leaves, b: Leaves) -> Leaves:
        out, out_tree = tree.tree_flatten(fn(tree.tree_unflatten(treedef, a), tree.tree_unflatten(treedef, b)))
        if out_tree != treedef:
            raise ValueError(f"associative_scan: fn must return the structure of its arguments, {treedef}, got {out_tree}")
        return [frozen(x) for x in out]

    return combine


def _scan(combine: Callable[[Leaves, Leaves], Leaves], elems: Leaves, axis: int) -> Leaves:
    n = aval_of(elems[0]).shape[axis]
    if n < 2:
        return elems

    def part(xs: Leaves, start: int, stop: int, step: int = 1) -> Leaves:
        return [slice_in_dim(x, start, stop, step, axis) for x in xs]

    even = part(elems, 0, n - n % 2, 2)
    pairs = combine(even, part(elems, 1, n, 2))
    odd = _scan(combine, pairs, axis)  # prefixes that end at 1, 3, 5, ...
    rest = part(elems, 2, n, 2)
    count = (n - 1) // 2
    between = combine(part(odd, 0, count), rest) if count else []
    first = part(elems, 0, 1)
    evens = [concatenate([f, b], axis) for f, b in zip(first, between, strict=True)] if count else first
    return [_interleave(e, o, axis) for e, o in zip(evens, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """e0 o0 e1 o1 ...; `even` is as long as `odd` or one longer."""
    m, n = aval_of(odd).shape[axis], aval_of(even).shape[axis]
    both = concatenate([expand_dims(slice_in_dim(even, 0, m, axis=axis), (axis + 1,)), expand_dims(odd, (axis + 1,))], axis + 1)
    shape = aval_of(odd).shape
    woven = reshape(both, (*shape[:axis], 2 * m, *shape[axis + 1 :]))
    return woven if n == m else concatenate([woven, slice_in_dim(even, m, n, axis=axis)], axis)
