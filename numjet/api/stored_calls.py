"""Persistent calls: which stored program serves a call of a jitted function, on disk under the fingerprint of the function.

A process that calls a function with arguments of the same types as another process did before neither traces nor compiles. The
key is the function's fingerprint (`api/fingerprint.py`), the types and structure of the arguments, the options of jit, and all
that stored programs depend on. Where a function cannot be proven to be the same, it is traced, and the flag
jax_explain_cache_misses says why.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.fingerprint import Unproven, digest, fingerprint
from numjet.core.aval import ShapedArray
from numjet.core.named_axes import scope as named_scope
from numjet.core.trace import EVAL, current_trace
from numjet.foundation import disk_cache, dtypes, events
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, tree_structure, tree_unflatten
from numjet.runtime import dispatch, stored_programs
from numjet.runtime.device import default_elsewhere, processes
from numjet.runtime.settings import fast_paths_allowed

# Options of jit with which programs depend on more than the function and the types of its arguments.
_ELSEWHERE = ("device", "backend", "shardings", "out_shardings", "compiler_options", "control_flow", "dynamic_shapes")
_SHAPING = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "keep_unused", "inline")


class Found(Record):
    """The program of a call: which leaves it takes, and the structure of the result."""

    executable: dispatch.Executable
    kept: list[int]
    out_tree: PyTreeDef


class Key(Record):
    """The name of a call on disk, and the digest of the function's fingerprint with the static arguments."""

    name: str
    proof: str


def confirmed(before: str | None, fun: Any, static: Sequence[tuple[Any, Any]]) -> str | None:
    """The digest from before a function was traced, if the trace changed nothing that the function reads."""
    return before if before is not None and before == proof(fun, static, is_first=False) else None


def proof(fun: Any, static: Sequence[tuple[Any, Any]], is_first: bool = True) -> str | None:
    """The digest of a function's fingerprint with static arguments; None where nothing is kept, or proven. is_first: before it
    is traced."""
    if not stored_programs.allowed():
        return None
    try:
        return digest(fingerprint(fun, *(value for _, value in static), is_first=is_first))
    except Unproven:
        return None


def key(fun: Any, name: str, options: dict[str, Any], call: Any, traces: Sequence[Any]) -> Key | None:
    """Where a call is on disk; None where nothing is looked up or kept."""
    if not stored_programs.allowed() or not fast_paths_allowed() or current_trace() is not EVAL:
        return None
    if default_elsewhere() or processes.count > 1:
        return None
    if call.refs or named_scope() or config.dynamic_shapes or config.no_tracing or config.numjet_mesh is not None:
        return None
    if any(options.get(option) for option in _ELSEWHERE):
        return None
    try:
        if not all(map(_is_plain, call.leaves)):
            raise Unproven("an argument is on another device, or of a type of its own")
        text = fingerprint(fun, *(value for _, value in call.static), traces=traces)
        types = json.dumps([_spec(call.in_tree), list(map(_shape, call.avals)), [which for which, _ in call.static],
                            [repr(options[option]) for option in _SHAPING]])
    except Unproven as why:
        reason = str(why)
        events.miss("stored call", lambda: f"{name}: traced, as nothing proves that another process traced the same: {reason}")
        return None
    return Key(disk_cache.key(text, "call", name, types, *stored_programs.surroundings()), digest(text))


def _is_plain(leaf: Any) -> bool:
    if type(leaf) is _native.Array:
        return not leaf.committed and leaf._sharding is None and leaf._remote is None
    return type(leaf) in (bool, int, float, complex, np.ndarray) or isinstance(leaf, np.generic)


def find(name: str, call: Any, donated: Sequence[bool], program_name: str) -> Found | None:
    """What serves the call of that name; or None."""
    content = disk_cache.find(name, "stored_call")
    if content is None:
        return None
    try:
        stored = json.loads(content)
        kept = stored["kept"]
        out_avals = [ShapedArray(tuple(shape), np.dtype(dtype), weak) for shape, dtype, weak in stored["outs"]]
        out_tree = tree_structure(_tree(stored["tree"]))
        executable = dispatch.stored_executable(stored["program"], [call.avals[k] for k in kept], out_avals, program_name,
                                                [donated[k] for k in kept])
    except (ValueError, KeyError, TypeError, IndexError):   # of another version, whatever its name says
        return None
    return None if executable is None else Found(executable, kept, out_tree)


def keep(name: str, executable: dispatch.Executable, kept: Sequence[int], out_tree: PyTreeDef) -> None:
    """Stores which program serves the call of that name, where the program is stored, and has no checks of its own: the errors
    of these come from the trace."""
    portable = None if executable.stored_as is None else executable.program.portable
    if portable is None or portable.checks:  # a program of narrow dtypes has none
        return
    try:
        tree = _spec(out_tree)
        outs = list(map(_shape, executable.out_avals))
    except Unproven:
        return
    content = json.dumps({"program": executable.stored_as, "kept": list(kept), "tree": tree, "outs": outs}).encode()
    disk_cache.keep(name, content, float("inf"), "stored_call")


def _shape(aval: ShapedArray) -> tuple[tuple[int, ...], str, bool]:
    if type(aval) is not ShapedArray or not dtypes.is_numpys(aval.dtype) and aval.dtype.name not in _NAMED:
        raise Unproven(f"an argument or result is of type {aval}")
    return aval.shape, aval.dtype.name, aval.weak_type


_NAMED = frozenset(("bfloat16",))


def _spec(tree: PyTreeDef) -> Any:
    """The structure of a pytree as lists: of tuples, lists, dicts and None only, as others have methods of their own."""
    return _shown(tree_unflatten(tree, [0] * tree.num_leaves))


def _shown(x: Any) -> Any:
    kind = type(x)
    if kind is int:
        return 0
    if x is None:
        return None
    if kind in (tuple, list):
        return [kind.__name__, *map(_shown, x)]
    if kind is dict and all(type(name) is str for name in x):
        return ["dict", *[[name, _shown(x[name])] for name in sorted(x)]]
    raise Unproven(f"an argument or result holds a {kind.__qualname__}")


def _tree(shown: Any) -> Any:
    """A pytree of the structure that was shown."""
    if shown is None or shown == 0:
        return shown
    kind, *items = shown
    if kind == "dict":
        return {name: _tree(item) for name, item in items}
    return {"tuple": tuple, "list": list}[kind](map(_tree, items))
