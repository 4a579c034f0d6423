"""Sizes of axes: integers, or symbolic dimensions in a function that is exported for many shapes.

Code that takes sizes calls these functions where it would call operator.index, max or min. The expressions themselves are in
foundation/symbolic, which is imported when the first of them is made.
"""
from __future__ import annotations

import operator
import reprlib
import threading
from collections.abc import Iterable
from typing import Any


class Dimension:
    """Base of symbolic dimensions, so that they can be told apart without importing them."""

    __slots__ = ()

    def __jax_array__(self) -> Any:
        """The size as an integer scalar of the program that is being traced."""
        raise NotImplementedError

    def is_empty(self) -> bool:
        """Whether the size is 0."""
        raise NotImplementedError

    def may_hold(self, count: int) -> bool:
        """Whether the size is at least `count`; of a computed one: whether it can be."""
        raise NotImplementedError

    def is_positive(self) -> bool:
        """Whether the size is above 0. Of a computed one that may be, or not: False, which is checked when the program runs."""
        raise NotImplementedError

    def largest(self, other: Any) -> Any:
        """The maximum of both, as an expression where the order is not known."""
        raise NotImplementedError

    def smallest(self, other: Any) -> Any:
        """The minimum of both, as an expression where the order is not known."""
        raise NotImplementedError

    def variables(self) -> set[str]:
        """The names of the variables in the size."""
        raise NotImplementedError


def as_integer(x: Any, what: str) -> int:
    """`x` as an int. TypeError that names `what`, the argument of the user, and what came; a traced value raises its own.

    >>> as_integer(True, "axis")
    1
    """
    try:
        return operator.index(x)
    except TypeError as error:
        if type(error) is not TypeError:
            raise
        raise TypeError(f"{what} must be an integer, got {reprlib.repr(x)} of type {type(x).__name__}: {error}") from None


def as_size(n: Any) -> Any:
    """A size as an int or a symbolic dimension; a traced integer where sizes may be computed. TypeError for anything else.

    >>> import numpy as np
    >>> as_size(np.int64(3))
    3
    """
    if computed_sizes.maker is not None and not isinstance(n, int):
        found = computed_sizes.maker.size_of(n)
        if found is not None:
            return found
    return n if isinstance(n, Dimension) else as_integer(n, "a size")


def as_static_size(n: Any, what: str) -> Any:
    """A size as an int or a symbolic dimension. TypeError that names `what` for anything else, as for traced integers.

    >>> as_static_size(True, "size")
    1
    """
    return n if isinstance(n, Dimension) else as_integer(n, what)


class ComputedSizes(threading.local):
    """Who makes sizes of traced values in this thread, an api.dynamic.program.Program; None where sizes must be known.

    padding_tested: whether somebody will test all values of the program that is being traced, those of padding, too.
    """

    maker: Any = None
    padding_tested: bool = False


computed_sizes = ComputedSizes()


def is_empty(n: Any) -> bool:
    """Whether a size is 0. A computed one is taken for positive, which is checked when the program runs.

    >>> is_empty(0), is_empty(2)
    (True, False)
    """
    return n.is_empty() if isinstance(n, Dimension) else n == 0


def is_symbolic(sizes: Iterable[Any]) -> bool:
    """Whether a symbolic dimension is among the sizes."""
    return any(isinstance(n, Dimension) for n in sizes)


def variables_in(value: Any) -> set[str]:
    """The names of the variables of sizes in a value: a size, or tuples and lists with sizes in them.

    >>> variables_in((2, 3))
    set()
    """
    if isinstance(value, Dimension):
        return value.variables()
    return set().union(*map(variables_in, value)) if isinstance(value, (tuple, list)) else set()


def largest(a: Any, b: Any) -> Any:
    """The larger of two sizes.

    >>> largest(2, 3)
    3
    """
    if isinstance(a, Dimension):
        return a.largest(b)
    return b.largest(a) if isinstance(b, Dimension) else max(a, b)


def smallest(a: Any, b: Any) -> Any:
    """The smaller of two sizes.

    >>> smallest(2, 3)
    2
    """
    if isinstance(a, Dimension):
        return a.smallest(b)
    return b.smallest(a) if isinstance(b, Dimension) else min(a, b)


def exceeds(a: Any, b: Any) -> bool:
    """Whether a size is above another one, which is an error. Where computed sizes leave it open, the program checks it.

    >>> exceeds(3, 2)
    True
    """
    difference = a - b
    return difference.is_positive() if isinstance(difference, Dimension) else difference > 0


def may_exceed(n: Any, limit: int) -> bool:
    """Whether a size is above a limit, or may be for some values of its variables.

    >>> may_exceed(2, 3)
    False
    """
    return isinstance(n, Dimension) or n > limit
