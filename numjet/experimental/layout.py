"""Layouts of arrays in memory: the one of C, which formats name beside a sharding."""
from __future__ import annotations

from typing import Any

from numjet.core.sharding.layouts import Format as Format, Layout as Layout
from numjet.foundation import tree
from numjet.foundation.tree.prefix import broadcast_prefix
from numjet.numpy import shape


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The arrays of a pytree, which lie in memory as layouts say: in C's order, as all do. layouts: one, or a pytree prefix.

    ValueError for a layout of another number of dimensions; NotImplementedError for another order.

    >>> import numjet.numpy as jnp
    >>> with_layout_constraint(jnp.ones((2, 3)), Layout((0, 1))).shape
    (2, 3)
    """
    for leaf, layout in zip(tree.tree_leaves(x), broadcast_prefix(layouts, x), strict=True):
        try:
            layout.check_compatible_aval(shape(leaf))
        except ValueError as error:
            raise ValueError(f"One of with_layout_constraint arguments is incompatible with its layout annotation {layout}: "
                             f"{error}") from None
        layout.check_supported()
    return x
