"""Layouts of arrays in memory: the one of C, which formats name beside a sharding."""
from __future__ import annotations

from typing import Any

from numjet.core.sharding.layouts import Format as Format, Layout as Layout
from numjet.foundation import tree
from numjet.numpy import shape


def with_layout_constraint(x: Any, layout: Layout) -> Any:
    """The arrays of a pytree, which lie in memory as a layout says: in C's order, as all do.

    ValueError for a layout of another number of dimensions; NotImplementedError for another order.

    >>> import numjet.numpy as jnp
    >>> with_layout_constraint(jnp.ones((2, 3)), Layout((0, 1))).shape
    (2, 3)
    """
    for leaf in tree.tree_leaves(x):
        try:
            layout.check_compatible_aval(shape(leaf))
        except ValueError as error:
            raise ValueError(f"One of with_layout_constraint arguments is incompatible with its layout annotation {layout}: "
                             f"{error}") from None
    layout.check_supported()
    return x
