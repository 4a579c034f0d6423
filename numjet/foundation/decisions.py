"""Decisions by sizes, as numbers: what lowering and passes conclude because a number is negative, and where they divide sizes.

A program for many sizes is made from programs for some (`cpu/generic`). It is right where the conclusions are that were drawn
for these, so the numbers are noted, and become polynomials in the sizes as all other numbers do. A quotient of sizes is no
polynomial: it is noted, too. What depends on a remainder takes one form for all of them.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numjet.foundation.record import Fields, default_factory


class Decisions(Fields):
    """What was noted. negative: numbers; quotients: dividends and divisors. fixed: dividends known to be the same for all
    sizes, whose quotients are numbers like others."""

    fixed: frozenset[int] = frozenset()
    negative: list[int] = default_factory(list)
    quotients: list[tuple[int, int]] = default_factory(list)


class _Noted(threading.local):
    now: Decisions | None = None


noted = _Noted()


class Varying(int):
    """A number of iterations that is another one for other sizes, however small it is."""


def negative(*numbers: int) -> None:
    """Notes numbers that are negative, from which something follows."""
    if noted.now is not None:
        noted.now.negative += numbers


def quotient(n: int, divisor: int) -> int:
    """n // divisor, of numbers of which the divisor is the same for all sizes."""
    if noted.now is None or n in noted.now.fixed:
        return n // divisor
    noted.now.quotients.append((n, divisor))
    return Varying(n // divisor)


@contextmanager
def recorded(fixed: frozenset[int] = frozenset()) -> Iterator[Decisions]:
    """Collects the decisions of this thread."""
    before, noted.now = noted.now, Decisions(fixed)
    try:
        yield noted.now
    finally:
        noted.now = before


def fixed_dividends(one: Decisions, other: Decisions) -> frozenset[int]:
    """The dividends that are the same in programs for different sizes."""
    return frozenset(a for (a, _), (b, _) in zip(one.quotients, other.quotients, strict=False) if a == b)


def sampling() -> bool:
    """Whether a program is one of those from which one for many sizes is made."""
    return noted.now is not None
