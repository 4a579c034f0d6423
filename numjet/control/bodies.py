"""Tracing the functions that users give to loops, branches and calls.

A traced function is remembered with its function, for as long as that lives and its closure and the globals that it
names are the same objects: a second call then traces nothing and compiles nothing.
"""

from __future__ import annotations

import inspect
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numjet.control.programs import without_consts
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.stage import DebugInfo, trace_to_closed
from numjet.core.trace import Tracer
from numjet.foundation import source, tree
from numjet.foundation.config import config
from numjet.foundation.util import function_name


class Body(NamedTuple):
    """A traced function: its program, whose first inputs are `consts`, and the structure of its result."""

    jaxpr: ClosedJaxpr
    consts: list[Any]
    out_tree: Any

    def skip(self, avals: Sequence[ShapedArray]) -> list[ShapedArray]:
        """The avals without those of the constants in front."""
        return list(avals[len(self.consts) :])


def trace_body(fun: Callable[..., Any], in_tree: Any, in_avals: Sequence[ShapedArray], kind: str) -> Body:
    """The program of `fun`, whose positional arguments have the structure `in_tree` (of a tuple)."""
    key = (in_tree, tuple(in_avals), kind, config.token)
    known = _recall(fun, key)
    if known is not None:
        return known
    out_tree = None

    def flat(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        out, out_tree = tree.tree_flatten(fun(*tree.tree_unflatten(in_tree, leaves)))
        return out

    closed = trace_to_closed(flat, in_avals, debug_info(fun, in_tree, kind))
    body = Body(without_consts(closed), closed.consts, out_tree)
    _keep(fun, key, body)
    return body


def debug_info(fun: Callable[..., Any], in_tree: Any, kind: str) -> DebugInfo:
    """Name and place of a function, and the names of its flat arguments."""
    code = getattr(inspect.unwrap(fun) if callable(fun) else fun, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code is not None else (None, 0)
    return DebugInfo(function_name(fun), kind, file, line, argument_names(fun, in_tree))


def argument_names(fun: Callable[..., Any], in_tree: Any) -> tuple[str, ...]:
    """`c['a']`: the parameter and the path of every leaf of the positional arguments."""
    index_tree = tree.tree_unflatten(in_tree, range(in_tree.num_leaves))
    paths = [path for path, _ in tree.tree_leaves_with_path(index_tree)]
    try:
        names = _positional_names(inspect.signature(fun), len(index_tree))
    except (ValueError, TypeError):
        names = [f"args[{i}]" for i in range(len(index_tree))]
    return tuple(names[path[0].idx] + tree.keystr(path[1:]) for path in paths)


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
    code = getattr(fun, "__code__", None)
    return (
        f"{function_name(fun)} at {code.co_filename}:{code.co_firstlineno}" if code is not None else function_name(fun)
    )


class _Memory(NamedTuple):
    used: tuple[Any, ...]
    bodies: dict[Any, Body]


_memories: weakref.WeakKeyDictionary[Callable[..., Any], _Memory] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_MOST = 32  # bodies remembered per function
_MOST_USED = 256  # objects looked at per function


def _recall(fun: Any, key: Any) -> Body | None:
    if type(fun) is not types.FunctionType:
        return None
    with _lock:
        memory = _memories.get(fun)
    if memory is None or not _same(memory.used, _used_by(fun)):
        return None
    return memory.bodies.get(key)


def _keep(fun: Any, key: Any, body: Body) -> None:
    if type(fun) is not types.FunctionType or any(isinstance(c, Tracer) for c in body.consts):
        return
    used = _used_by(fun)
    with _lock:
        memory = _memories.get(fun)
        if memory is None or not _same(memory.used, used) or len(memory.bodies) >= _MOST:
            memory = _memories[fun] = _Memory(used, {})
        memory.bodies[key] = body


def _used_by(fun: types.FunctionType) -> tuple[Any, ...]:
    """What a function reads besides its arguments, as far as one can see, and what the functions among that read:
    a changed object may mean another program."""
    found: list[Any] = []
    pending, seen = [fun], {fun}
    while pending and len(found) < _MOST_USED:
        one = pending.pop()
        own = [_content(c) for c in one.__closure__ or ()] + [
            *(one.__defaults__ or ()),
            *(one.__kwdefaults__ or {}).values(),
        ]
        if not source.is_internal(one.__code__):
            own += [one.__globals__.get(n) for n in one.__code__.co_names]
        new = [x for x in own if x is not fun]
        found += new
        inner = [x for x in new if type(x) is types.FunctionType and x not in seen]
        seen.update(inner)
        pending += inner
    return tuple(found)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
