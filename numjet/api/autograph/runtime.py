"""What rewritten functions call, under the name `ag__`."""

from typing import Any

from numjet.api.autograph.branches import (
    and_ as and_,
    chain as chain,
    if_ as if_,
    if_expression as if_expression,
    not_ as not_,
    or_ as or_,
    result as result,
)
from numjet.api.autograph.loops import for_ as for_, range_ as range_, while_ as while_
from numjet.api.autograph.values import Undefined


def undefined(name: str) -> Any:
    """A variable in front of its first assignment."""
    return Undefined(name)


def deleted(name: str) -> Any:
    """A variable after `del`."""
    return Undefined(name, "it was deleted")
