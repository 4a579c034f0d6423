"""User functions in messages: the name, the place and the parameters of a function, below the wrappers around it."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from numjet import _native
from numjet.core.stage import DebugInfo, ResultTree
from numjet.foundation import source, tree
from numjet.foundation.util import function_name


def debug_info(fun: Callable[..., Any], in_tree: Any, kind: str, results: ResultTree | None = None) -> DebugInfo:
    """Name and location of a function, and the names of its flat arguments. Wrappers are shown as the user's function.
    results: where the structure of its result will be."""
    users = of_user(fun)
    code = getattr(inspect.unwrap(users) if callable(users) else users, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code is not None else (None, 0)
    return DebugInfo(function_name(users), kind, file, line, argument_names(fun, in_tree), getattr(fun, "hint", ""),
                     results)


def of_user(fun: Any) -> Any:
    """The user's function that a wrapper calls: follows the mark `owner` of wrappers."""
    while (owner := getattr(fun, "owner", None)) is not None:
        fun = owner
    return fun


def is_own(fun: Any) -> bool:
    """Whether a function, below the wrappers around it, is one of numjet's."""
    while (inner := _below(fun)) is not None:
        fun = inner
    code = getattr(fun, "__code__", None)
    return code is not None and source.is_own(code)


def _below(wrapper: Any) -> Any:
    """The function that a wrapper calls, or None."""
    if type(wrapper) is functools.partial:
        return wrapper.func
    owner = getattr(wrapper, "owner", None)
    return getattr(wrapper, "__wrapped__", None) if owner is None else owner


def without_tapes(fun: Any) -> Any:
    """The function that tapes of eager calls stand in front of."""
    return fun.__wrapped__ if type(fun) is _native.EagerFunction else fun  # type: ignore[attr-defined]


def argument_names(fun: Callable[..., Any], in_tree: Any) -> tuple[str, ...]:
    """`c['a']`: the parameter and the path of every leaf of the positional arguments."""
    paths, arguments = tree.treedef_paths(in_tree), in_tree.children()
    if getattr(fun, "packed", False):  # called with a tuple and a dict, the arguments of its owner
        names = _names_of(of_user(fun), len(arguments[0].children()))
        return tuple((path[1].key if path[0].idx else names[path[1].idx]) + tree.keystr(path[2:]) for path in paths)
    names = _names_of(fun, len(arguments))
    return tuple(names[path[0].idx] + tree.keystr(path[1:]) for path in paths)


def _names_of(fun: Callable[..., Any], count: int) -> list[str]:
    try:
        return _positional_names(inspect.signature(fun), count)
    except (ValueError, TypeError):
        return [f"args[{i}]" for i in range(count)]


def _positional_names(signature: inspect.Signature, count: int) -> list[str]:
    names: list[str] = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}[{i}]" for i in range(count - len(names))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return (names + [f"args[{i}]" for i in range(len(names), count)])[:count]


def where(fun: Callable[..., Any]) -> str:
    """`step at file.py:12`: for messages."""
    fun = of_user(fun)
    code = getattr(fun, "__code__", None)
    return f"{function_name(fun)} at {code.co_filename}:{code.co_firstlineno}" if code is not None else function_name(fun)
