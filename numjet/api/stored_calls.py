"""Persistent calls: which stored program serves a call of a jitted function, on disk under the fingerprint of the function.

A process that calls a function with arguments of the same types as another process did before neither traces nor compiles. The
key is the function's fingerprint (`api/fingerprint.py`), the types and structure of the arguments, the options of jit, and all
that stored programs depend on. Where a function cannot be proven to be the same, it is traced, and the flag
jax_explain_cache_misses says why.
"""
from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.fingerprint import Reading, Unproven
from numjet.core.aval import ShapedArray
from numjet.core.named_axes import scope as named_scope
from numjet.core.trace import EVAL, current_trace
from numjet.foundation import disk_cache, dtypes, events
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, tree_structure
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


class Lookup(Record):
    """What is read of a function for a call. reading: None where nothing is looked up; name: of the call on disk, None where
    nothing is looked up or proven; proof: of the function with the static arguments, if name is given."""

    reading: Reading | None = None
    name: str | None = None
    proof: str | None = None


NOWHERE = Lookup()


class _Scopes(threading.local):
    """The outermost functions of each thread that are being traced, and read."""

    def __init__(self) -> None:
        self.open: list[Scope] = []


_scopes = _Scopes()


class Scope:
    """Proofs of traces, within which a function is traced: that it is after the trace what it was before. What one reading of
    the function that is traced first says of functions within holds for their traces, too, as proven code changes nothing; so
    reading is linear in how many functions call each other."""

    def __init__(self, fun: Any, static: Sequence[tuple[Any, Any]], before: Reading | None = None) -> None:
        """before: what was read of the function, if it was."""
        self.fun, self.static = fun, tuple(value for _, value in static)
        self.before = before
        self.made: list[tuple[Any, Any, tuple[Any, ...]]] = []
        self.root: Scope | None = None

    def __enter__(self) -> Scope:
        outer = _scopes.open[-1] if _scopes.open else None
        if not stored_programs.allowed() or (outer is not None and outer.refuses(self.fun)):
            return self
        if self.before is None and outer is not None and outer.covers(self.fun, self.static):
            self.root = outer
            return self
        self.root = self
        self.before = self.before or Reading(self.fun, self.static)
        _scopes.open.append(self)
        return self

    def covers(self, fun: Any, static: tuple[Any, ...]) -> bool:
        assert self.before is not None
        return self.before.covers(fun, static)

    def refuses(self, fun: Any) -> bool:
        assert self.before is not None
        return self.before.refuses(fun)

    def add(self, traced: Any) -> None:
        """A trace of the function."""
        if self.root is not None:
            self.root.made.append((traced, self.fun, self.static))

    def __exit__(self, *_: object) -> None:
        if self.root is not self:
            return
        _scopes.open.pop()
        if not self.made or self.before is None or self.before.unproven is not None:
            return
        after = Reading(self.fun, self.static, made=[traced for traced, *_ in self.made])
        for traced, fun, static in self.made:
            if after.covers(fun, static) and (proof := after.proof(fun, static)) == self.before.proof(fun, static):
                traced.proof = proof


def lookup(fun: Any, name: str, options: dict[str, Any], call: Any, traces: Sequence[Any]) -> Lookup:
    """Where a call is on disk, if it may be there."""
    if not stored_programs.allowed() or not fast_paths_allowed() or current_trace() is not EVAL:
        return NOWHERE
    if default_elsewhere() or processes.count > 1:
        return NOWHERE
    if call.refs or named_scope() or config.dynamic_shapes or config.no_tracing or config.numjet_mesh is not None:
        return NOWHERE
    if any(options.get(option) for option in _ELSEWHERE):
        return NOWHERE
    reading = None
    try:
        if not all(map(_is_plain, call.leaves)):
            raise Unproven("an argument is on another device, or of a type of its own")
        static = tuple(value for _, value in call.static)
        reading = Reading(fun, static, traces)
        if reading.unproven is not None:
            raise Unproven(reading.unproven)
        types = json.dumps([_spec(call.in_tree), list(map(_shape, call.avals)), [which for which, _ in call.static],
                            [repr(options[option]) for option in _SHAPING]])
    except Unproven as why:
        reason = str(why)
        events.miss("stored call", lambda: f"{name}: traced, as nothing proves that another process traced the same: {reason}")
        return Lookup(reading)
    key = disk_cache.key(reading.text(), "call", name, types, *stored_programs.surroundings())
    return Lookup(reading, key, reading.proof(fun, static))


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
    root = tree.node_data()
    if root is None:
        return 0
    kind, data = root
    if kind is type(None):
        return None
    items = map(_spec, tree.children())
    if kind in (tuple, list):
        return [kind.__name__, *items]
    if kind is dict and all(type(name) is str for name in data):
        return ["dict", *map(list, zip(data, items, strict=True))]
    raise Unproven(f"an argument or result holds a {kind.__qualname__}")


def _tree(shown: Any) -> Any:
    """A pytree of the structure that was shown."""
    if shown is None or shown == 0:
        return shown
    kind, *items = shown
    if kind == "dict":
        return {name: _tree(item) for name, item in items}
    return {"tuple": tuple, "list": list}[kind](map(_tree, items))
