"""Prefixes of an associative function in logarithmic depth (Blelloch, "Prefix sums and their applications", 1990)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.trace import aval_of
from numjet.lax.indexing.slicing import slice_along
from numjet.lax.reduction.reduce import accumulator
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import reshaped, rev_p

Values = Sequence[Any]


def associative_scan(combine: Callable[[Values, Values], Values], xs: Values, axis: int) -> list[Any]:
    """Inclusive scan along `axis` by an associative function of tuples of arrays, of log depth and linear work."""
    n = aval_of(xs[0]).shape[axis]
    if n < 2:
        return list(xs)
    pairs = combine([slice_along(x, axis, 0, n - 1, 2) for x in xs], [slice_along(x, axis, 1, n, 2) for x in xs])
    odd = associative_scan(combine, pairs, axis)
    heads = [slice_along(x, axis, 0, 1, 1) for x in xs]
    if n == 2:
        return [concatenate_p.bind(h, o, dimension=axis) for h, o in zip(heads, odd, strict=True)]
    before = [slice_along(o, axis, 0, (n - 1) // 2, 1) for o in odd]
    rest = combine(before, [slice_along(x, axis, 2, n, 2) for x in xs])
    even = [concatenate_p.bind(h, r, dimension=axis) for h, r in zip(heads, rest, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ...; `even` is as long as `odd` or one longer."""
    m, n = aval_of(even).shape[axis], aval_of(odd).shape[axis]
    shape = aval_of(odd).shape
    column = (*shape[:axis + 1], 1, *shape[axis + 1:])
    columns = [reshaped(x, column) for x in (slice_along(even, axis, 0, n, 1), odd)]
    woven = reshaped(concatenate_p.bind(*columns, dimension=axis + 1), (*shape[:axis], 2 * n, *shape[axis + 1:]))
    return woven if m == n else concatenate_p.bind(woven, slice_along(even, axis, n, m, 1), dimension=axis)


def prefix_hlo(combine: Callable[[Values, Values], Values], result: int = 0) -> Callable[..., Any]:
    """The hlo slot of a cumulative operation: a scan of its operands, of which one is the result."""
    def hlo(b: Any, *xs: Any, axis: int, reverse: bool) -> Any:
        def scan(*values: Any) -> Any:
            ordered = [flip(v, axis, reverse) for v in values]
            return flip(associative_scan(combine, ordered, axis)[result], axis, reverse)
        dtype = xs[0].dtype
        (out,) = b.trace(scan, [b.convert(x, accumulator(dtype)) for x in xs])
        return b.convert(out, dtype)
    return hlo


def flip(x: Any, axis: int, reverse: bool) -> Any:
    """x, reversed along an axis if `reverse`."""
    return rev_p.bind(x, dimensions=(axis,)) if reverse else x
