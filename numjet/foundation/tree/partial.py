"""`Partial`: functools.partial as a pytree, so that functions with bound arrays can be arguments."""

import functools
from collections.abc import Callable
from typing import Any

from numjet.foundation.tree.register import register_pytree_node


class _OpaquePartial:
    """Wrapper of a functools.partial inside a `Partial`, which would otherwise merge it and make its arguments children.

    Two are equal if they bind identical objects, so that binding these again does not recompile.
    """

    def __init__(self, function: functools.partial[Any]):
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        bound = other.function if isinstance(other, _OpaquePartial) else other
        return isinstance(bound, functools.partial) and _identity(self.function) == _identity(bound)

    def __hash__(self) -> int:
        return hash(_identity(self.function))

    def __repr__(self) -> str:
        return repr(self.function)


def _identity(bound: functools.partial[Any]) -> tuple[Any, ...]:
    keywords = tuple((name, id(value)) for name, value in sorted(bound.keywords.items()))
    return type(bound), bound.func, tuple(map(id, bound.args)), keywords


class Partial(functools.partial[Any]):
    """functools.partial that is a pytree: the bound arguments are its children, the function is metadata.

    If the function is a functools.partial, the arguments bound by that are metadata, too, not children.

    >>> add = Partial(lambda x, y: x + y, 1.0)
    >>> add(2.0)
    3.0
    >>> from numjet.foundation.tree import tree_leaves, tree_map
    >>> tree_leaves(add)
    [1.0]
    >>> tree_map(lambda x: 10 * x, add)(2.0)
    12.0
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kw: Any) -> "Partial":
        if isinstance(func, functools.partial):
            func = _OpaquePartial(func)
        return super().__new__(cls, func, *args, **kw)


def _flatten(partial: Partial) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], Callable[..., Any]]:
    return (partial.args, partial.keywords), partial.func


def _unflatten(func: Callable[..., Any], children: tuple[tuple[Any, ...], dict[str, Any]]) -> Partial:
    args, keywords = children
    return Partial(func, *args, **keywords)


register_pytree_node(Partial, _flatten, _unflatten)
