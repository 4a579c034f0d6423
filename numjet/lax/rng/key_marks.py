"""Marks of what happens to random keys: operations that return their key, for the check of key reuse.

Programs have marks only while jax_debug_key_reuse is on, or while `api.key_reuse` looks at a function; simplification drops
them. Keys outside of programs are marked themselves.
"""
from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from numjet.core.lanes import ends
from numjet.core.op import SCALARS, ZERO, Missing, Op
from numjet.core.stage import StageTrace
from numjet.core.trace import EVAL, Array, Trace, Tracer, current_trace
from numjet.core.traits import EXACT
from numjet.foundation.config import config
from numjet.foundation.errors import KeyReuseError
from numjet.lax.rewrites import itself
from numjet.lax.templates import elementwise

CLONE, CONSUME, ASSERT_CONSUMED, ASSERT_UNCONSUMED = "clone", "consume", "assert_consumed", "assert_unconsumed"

random_mark_p: Op = elementwise(
    "random_mark", params=("kind", "mask"), accepts="V", eager=lambda x, *, kind, mask: x, jvp=ZERO,
    cpu=lambda b, x, *, kind, mask: x, hlo=SCALARS, traits=EXACT, rewrites=itself,
    samples=Missing("its operands are random keys"))


# ------------------------------------------------------------------------------------------------ keys outside of programs

_consumed: dict[int, tuple[weakref.ref[Any], Any]] = {}  # with which elements of the array: all (True), or a mask


def is_consumed(key: Any) -> bool:
    """Whether a key outside of programs was used, of an array all of them."""
    return bool(np.all(_used(key)))


def _used(key: Any) -> Any:
    found = _consumed.get(id(key))
    return found[1] if found is not None and found[0]() is key else False


def consume_array(key: Any, what: str, mask: Any = True) -> None:
    """Marks keys outside of programs as used: all of an array, or those of a mask. KeyReuseError if one was already."""
    check_array(key, what, mask)
    mark_array(key, mask)


def check_array(key: Any, what: str, mask: Any = True) -> None:
    """KeyReuseError if a key outside of programs was used, or one of those that a mask names."""
    if np.any(_used(key) & np.asarray(mask)):
        raise KeyReuseError(f"Previously-consumed key passed to {what}. Split the key, and use each part once; "
                            "random.clone(key) allows to use it again.")


def mark_array(key: Any, mask: Any = True) -> None:
    """Marks keys outside of programs as used: all of an array, or those of a mask."""
    number, used = id(key), _used(key) | np.asarray(mask)
    _consumed[number] = weakref.ref(key, lambda _: _consumed.pop(number, None)), used


# ------------------------------------------------------------------------------------------------ marks

class _State(threading.local):
    silent = 0


_state = _State()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Within the block nothing is marked: the functions of a library use the keys that their caller marked."""
    _state.silent += 1
    try:
        yield
    finally:
        _state.silent -= 1


def marked(key: Any, kind: str) -> Any:
    """A typed key, used once by the operation `kind`; while jax_debug_key_reuse is on. KeyReuseError if it was used before, as
    far as is known now."""
    if _state.silent:
        return key
    behind = [value for value, _ in ends(key)]
    if not _runs_now(current_trace()) or any(isinstance(value, Tracer) for value in behind):
        return random_mark_p.bind(key, kind=kind, mask=None)
    for value in behind:
        if isinstance(value, Array):
            consume_array(value, f"{kind if config.disable_jit else 'jit-compiled function'} at index 0")
    return key


def is_silent() -> bool:
    """Whether nothing is marked now."""
    return _state.silent > 0


def _runs_now(trace: Trace | None) -> bool:
    """Whether operations are evaluated, perhaps under vmap or grad, and not written down."""
    while trace is not None and trace is not EVAL and not isinstance(trace, StageTrace):
        trace = getattr(trace, "parent", None)
    return trace is EVAL
