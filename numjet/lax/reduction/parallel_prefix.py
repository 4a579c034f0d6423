"""Prefixes of an associative function in logarithmic depth (Blelloch, "Prefix sums and their applications", 1990)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.trace import aval_of
from numjet.lax.axes import insert
from numjet.lax.reduction.reduce import accumulator
from numjet.lax.templates import call

Values = Sequence[Any]


def associative_scan(combine: Callable[[Values, Values], Values], xs: Values, axis: int) -> list[Any]:
    """Inclusive scan along `axis` by an associative function of tuples of arrays, of log depth and linear work."""
    n = aval_of(xs[0]).shape[axis]
    if n < 2:
        return list(xs)
    pairs = combine([_every(x, axis, 0, n - 1, 2) for x in xs], [_every(x, axis, 1, n, 2) for x in xs])
    odd = associative_scan(combine, pairs, axis)
    heads = [_every(x, axis, 0, 1, 1) for x in xs]
    if n == 2:
        return [call("concatenate", h, o, dimension=axis) for h, o in zip(heads, odd, strict=True)]
    before = [_every(o, axis, 0, (n - 1) // 2, 1) for o in odd]
    rest = combine(before, [_every(x, axis, 2, n, 2) for x in xs])
    even = [call("concatenate", h, r, dimension=axis) for h, r in zip(heads, rest, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _every(x: Any, axis: int, start: int, stop: int, step: int) -> Any:
    shape = aval_of(x).shape
    others = shape[:axis] + shape[axis + 1:]
    return call("slice", x, start_indices=insert((0,) * len(others), axis, start),
                limit_indices=insert(others, axis, stop), strides=insert((1,) * len(others), axis, step))


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ...; `even` is as long as `odd` or one longer."""
    m, n = aval_of(even).shape[axis], aval_of(odd).shape[axis]
    shape = aval_of(odd).shape
    column = (*shape[:axis + 1], 1, *shape[axis + 1:])
    columns = [call("reshape", x, new_sizes=column, dimensions=None) for x in (_every(even, axis, 0, n, 1), odd)]
    woven = call("reshape", call("concatenate", *columns, dimension=axis + 1),
                 new_sizes=(*shape[:axis], 2 * n, *shape[axis + 1:]), dimensions=None)
    return woven if m == n else call("concatenate", woven, _every(even, axis, n, m, 1), dimension=axis)


def prefix_hlo(combine: Callable[[Values, Values], Values], result: int = 0) -> Callable[..., Any]:
    """The hlo slot of a cumulative operation: a scan of its operands, of which one is the result."""
    def hlo(b: Any, *xs: Any, axis: int, reverse: bool) -> Any:
        def scan(*values: Any) -> Any:
            ordered = [_flip(v, axis, reverse) for v in values]
            return _flip(associative_scan(combine, ordered, axis)[result], axis, reverse)
        dtype = xs[0].dtype
        (out,) = b.trace(scan, [b.convert(x, accumulator(dtype)) for x in xs])
        return b.convert(out, dtype)
    return hlo


def _flip(x: Any, axis: int, reverse: bool) -> Any:
    return call("rev", x, dimensions=(axis,)) if reverse else x
