"""Parallel prefix (`associative_scan`): all prefixes of an associative operation in logarithmically many steps.

Odd-even recursion: combine neighbours, scan those, and combine once more for the elements in between. It takes fewer
than 2n combinations and 2 log2(n) steps (R. Ladner and M. Fischer, "Parallel prefix computation", J. ACM 1980;
G. Blelloch, "Prefix sums and their applications", 1990).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.snapshots import frozen
from numjet.core.trace import aval_of
from numjet.foundation import errors, source, tree
from numjet.foundation.dimension import Dimension
from numjet.foundation.util import canonicalize_axis
from numjet.lax.reduction import parallel_prefix
from numjet.lax.reduction.parallel_prefix import flip

Leaves = Sequence[Any]


@source.api_boundary
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of `elems` under an associative operation.

    Args:
      fn: (a, b) -> a combined with b, of pytrees like `elems`; works on whole arrays at once, element by element along
        `axis`, and fn(a, fn(b, c)) = fn(fn(a, b), c). It may return another pytree with as many leaves, in their order.
      elems: pytree of arrays of equal size along `axis`.
      reverse: suffixes instead of prefixes: element i combines n-1, n-2, ..., i.
      axis: along which to scan.

    Returns:
      Pytree like `elems`: element i along `axis` combines elements 0 to i.

    Raises:
      TypeError: fn cannot be called.
      ValueError: no arrays, scalars, or different sizes along `axis`; fn returns more or fewer arrays.
      InconclusiveDimensionOperation: the size along `axis` is symbolic, or computed when the program runs.

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
        raise ValueError("Array inputs to associative_scan must have the same first dimension. "
                         f"(saw: {[a.shape for a in avals]}, along axis {axis})")
    if isinstance(size := avals[0].shape[axis], Dimension):
        raise errors.InconclusiveDimensionOperation(
            f"lax.associative_scan: expected a known size along axis {axis}, got arrays of shapes {[a.shape for a in avals]}, "
            f"where '{size}' is not known while the function is traced. The steps, log2 of the size, are written out. "
            "Use lax.scan, or cumsum, cumprod, cummax and their kin: they follow such sizes. Or make the size known: the size= "
            "of nonzero and unique, or a mask in the place of a selection.")
    outs = parallel_prefix.associative_scan(_flat(fn, treedef), [flip(x, axis, reverse) for x in leaves], axis)
    return tree.tree_unflatten(treedef, [flip(x, axis, reverse) for x in outs])


def _flat(fn: Callable[[Any, Any], Any], treedef: Any) -> Callable[[Leaves, Leaves], list[Any]]:
    def combine(a: Leaves, b: Leaves) -> list[Any]:
        out, out_tree = tree.tree_flatten(fn(tree.tree_unflatten(treedef, a), tree.tree_unflatten(treedef, b)))
        if len(out) != len(a):
            raise ValueError(f"associative_scan: fn must return as many arrays as it takes, {treedef}, got {out_tree}")
        return [frozen(x) for x in out]

    return combine
