"""Pytrees: the public names, and the registered types."""
from __future__ import annotations

from numjet.foundation.tree import default_registry
from numjet.foundation.tree.prefix import (
    broadcast_prefix as broadcast_prefix, equality_errors as equality_errors, prefix_errors as prefix_errors,
)
from numjet.tree_util import *  # noqa: F403


class _Registered:
    """The types of nodes, as the keys of a mapping; for `in`."""

    def __contains__(self, nodetype: type) -> bool:
        return default_registry.is_node(nodetype)


_registry = _Registered()
