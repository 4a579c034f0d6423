"""Convolutions of few terms without a padded copy: the result in regions, in each of which the same taps meet the operand.

Along an axis, the first and last few elements of the result read beyond the operand. Those that do so by the same taps make a
region: it is written by loops of its own, in which a tap outside is a zero. Zeros are multiplied, too, as weights may be
infinite or NaN.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

MOST_TERMS = 64     # of an element of the result, as they are written out
MOST_WRITTEN = 1024  # terms of all regions


class Span(NamedTuple):
    """A run of the result along one axis, and which taps of the kernel are inside of the operand there."""

    start: int
    stop: int
    inside: tuple[bool, ...]


def spans(size: int, out: int, kernel: int, stride: int, low: int, dilation: int) -> list[Span]:
    """The runs along an axis, in order.

    >>> spans(5, 5, 3, 1, 1, 1)
    [Span(start=0, stop=1, inside=(False, True, True)), Span(start=1, stop=4, inside=(True, True, True)), \
Span(start=4, stop=5, inside=(True, True, False))]
    """
    meets = [(-((k * dilation - low) // stride), -((k * dilation - low - size) // stride)) for k in range(kernel)]
    meets = [(max(first, 0), min(stop, out)) for first, stop in meets]  # the elements that tap k gives a term to
    edges = sorted({0, out}.union(*(taps for taps in meets if taps[0] < taps[1])))
    return [Span(start, stop, tuple(first <= start < end for first, end in meets)) for start, stop in pairwise(edges)]


def regions(axes: Sequence[tuple[int, int, int, int, int, int]], channels: int) -> list[tuple[Span, ...]] | None:
    """All combinations of runs, for what `spans` takes of each axis; None where so many loops would not pay."""
    terms = channels * prod(kernel for _, _, kernel, *_ in axes)
    if terms > MOST_TERMS:
        return None
    runs = [spans(*sizes) for sizes in axes]
    return list(product(*runs)) if terms * prod(map(len, runs)) <= MOST_WRITTEN else None


def write(b: Any, out: Any, region: Sequence[Span], lengths: Sequence[int], locate: Callable[[Sequence[Any]], Sequence[Any]],
          term: Callable[[Sequence[Any], Sequence[int], bool, Any], Any], channels: int, zero: Any) -> None:
    """Stores one region of `out`.

    lengths: of the axes in front of the spatial ones. locate(index): the index in `out` of an element
    (front..., spatial...).
    term(index, (channel, *tap), inside, total): total with one more term.
    """
    def body(*index: Any) -> None:
        where = [*index[:len(lengths)], *(i + span.start for i, span in zip(index[len(lengths):], region, strict=True))]
        total = zero
        for c, *tap in product(range(channels), *(range(len(span.inside)) for span in region)):
            inside = all(span.inside[k] for span, k in zip(region, tap, strict=True))
            total = term(where, (c, *tap), inside, total)
        b.store(out, locate(where), total)
    shape = locate([*lengths, *(span.stop - span.start for span in region)])
    order = locate(list(range(len(shape))))
    b.loop(tuple(shape), lambda *i: body(*[i[order.index(d)] for d in range(len(shape))]))
