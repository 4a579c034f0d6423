"""Pytrees: the public names, and the registered types."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from numjet.foundation.tree import default_registry
from numjet.foundation.tree.prefix import (
    broadcast_prefix as broadcast_prefix, equality_errors as equality_errors, prefix_errors as prefix_errors,
)
from numjet.tree_util import *  # noqa: F403
from numjet.tree_util import PyTreeDef, tree_structure


class _Entry(NamedTuple):
    """How the nodes of one type are taken apart and put together."""

    nodetype: type

    def to_iter(self, tree: Any) -> tuple[tuple[Any, ...], Any]:
        """Children and auxiliary data of a node."""
        children, aux = default_registry.flatten_one_level(tree)  # type: ignore[misc]
        return tuple(children), aux

    def from_iter(self, aux: Any, children: Iterable[Any]) -> Any:
        """The node of these children and auxiliary data."""
        leaves = list(children)
        one = [tree_structure(0)] * len(leaves)
        return PyTreeDef.from_node_data_and_children(default_registry, (self.nodetype, aux), one).unflatten(leaves)


class _Registered:
    """The types of nodes, as the keys of a mapping."""

    def __contains__(self, nodetype: type) -> bool:
        return default_registry.is_node(nodetype)

    def __getitem__(self, nodetype: type) -> _Entry:
        if nodetype not in self:
            raise KeyError(nodetype)
        return _Entry(nodetype)


_registry = _Registered()
