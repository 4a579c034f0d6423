"""Functions on sequences of equal lengths."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numjet.foundation.util import merge_lists as merge_lists, partition_list as partition_list, split_list as split_list


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """zip as a list. Raises ValueError if lengths differ."""
    return list(zip(*args, strict=True))


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """map as a list. Raises ValueError if lengths differ."""
    return [f(*xs) for xs in safe_zip(*args)]
