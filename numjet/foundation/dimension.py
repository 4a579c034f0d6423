"""Sizes of axes: integers, or symbolic dimensions in a function that is exported for many shapes.

Code that takes sizes calls these functions where it would call operator.index, max or min. The expressions themselves are in
foundation/symbolic, which is imported when the first of them is made.
"""
from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


class Dimension:
    """Base of symbolic dimensions, so that they can be told apart without importing them."""

    __slots__ = ()

    def __jax_array__(self) -> Any:
        """The size as an integer scalar of the program that is being traced."""
        raise NotImplementedError

    def largest(self, other: Any) -> Any:
        """The maximum of both, as an expression where the order is not known."""
        raise NotImplementedError

    def smallest(self, other: Any) -> Any:
        """The minimum of both, as an expression where the order is not known."""
        raise NotImplementedError


def as_size(n: Any) -> Any:
    """A size as an int or a symbolic dimension. TypeError for anything else.

    >>> import numpy as np
    >>> as_size(np.int64(3))
    3
    """
    try:
        return operator.index(n)
    except TypeError:
        if isinstance(n, Dimension):
            return n
        raise


def is_symbolic(sizes: Iterable[Any]) -> bool:
    """Whether a symbolic dimension is among the sizes."""
    return any(isinstance(n, Dimension) for n in sizes)


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


def may_exceed(n: Any, limit: int) -> bool:
    """Whether a size is above a limit, or may be for some values of its variables.

    >>> may_exceed(2, 3)
    False
    """
    return isinstance(n, Dimension) or n > limit
