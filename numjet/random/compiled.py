"""Compiled samplers: one program per sampler and static arguments, outside of all transformations but vmap.

A sampler checks and converts its arguments in Python, and then runs a program of the key. Where all but the key are static, a
call like one before goes from the native core straight to that program (`sampler`).
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numjet import _native
from numjet.api.eager_plans import recorded
from numjet.api.jit import jit
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import config
from numjet.foundation.memo import memoized
from numjet.lax.rng.key_marks import silence
from numjet.runtime.settings import fast_paths_allowed
from numjet.transforms.vmap import BatchTrace

F = TypeVar("F", bound=Callable[..., Any])
_CACHE_SIZE = 1024


class _Recording(threading.local):
    """What the sampler of this thread's current call has run, while it is recorded: (program, operands, result)."""

    calls: list[tuple[Callable[..., Any], Sequence[Any], Any]] | None = None


_recording = _Recording()


def sampler(fun: F) -> F:
    """Decorator of a public sampler whose first parameter is `key`: outside of transformations, a call with the types and
    other arguments of two before runs the program that these ran, and no Python."""
    code = fun.__code__
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return recorded(fun, functools.partial(_record, fun), tuple(range(1, code.co_argcount)), names[1:])


def _record(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    calls: list[Any] = []
    _recording.calls = calls
    try:
        result = fun(*args, **kwargs)
    finally:
        _recording.calls = None
    if len(calls) != 1 or current_trace() is not EVAL or not fast_paths_allowed() or config.legacy_prng_key != "allow":
        return result, None
    key = args[0] if args else kwargs["key"]
    run, (first, *rest), out = calls[0]
    if type(key) is not _native.Array or first is not key or out is not result:
        return result, None
    return result, (lambda key, *_, **__: run(key, *rest)) if rest else (lambda key, *_, **__: run(key))


def compiled(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: outside of transformations, and in vmap alone, the function runs as one compiled program, else as it is.

    Positional arguments are arrays, keyword arguments are static.
    """
    @memoized("samplers", _CACHE_SIZE)
    def program(**static: Any) -> Callable[..., Any]:
        part = functools.partial(fun, **static)
        return _without_marks(jit(functools.update_wrapper(part, fun)))

    @functools.wraps(fun)
    def call(*args: Any, **static: Any) -> Any:
        if current_trace() is EVAL:
            run = program(**static)
            out = run(*args)
            if _recording.calls is not None:
                _recording.calls.append((run, args, out))
            return out
        return program(**static)(*args) if _is_of_batches() else _without_marks(fun)(*args, **static)
    return call


def _is_of_batches() -> bool:
    """Whether the current trace is vmap's, with no other transformation around it."""
    trace: Any = current_trace()
    while type(trace) is BatchTrace:
        trace = trace.parent
    return trace is EVAL and fast_paths_allowed()


def _without_marks(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which marks no keys under the flags of now: its caller has marked its key."""
    return silence()(run) if config.debug_key_reuse else run
