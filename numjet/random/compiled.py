"""Compiled samplers: one program per sampler and static arguments, outside of all transformations."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numjet.api.jit import jit
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import config
from numjet.foundation.memo import memoized
from numjet.lax.rng.key_marks import silence

_CACHE_SIZE = 1024


def compiled(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: outside of transformations, the function runs as one compiled program, else as it is.

    Positional arguments are arrays, keyword arguments are static.
    """
    @memoized("samplers", _CACHE_SIZE)
    def program(**static: Any) -> Callable[..., Any]:
        part = functools.partial(fun, **static)
        return _without_marks(jit(functools.update_wrapper(part, fun)))

    @functools.wraps(fun)
    def call(*args: Any, **static: Any) -> Any:
        if current_trace() is EVAL:
            return program(**static)(*args)
        return _without_marks(fun)(*args, **static)
    return call


def _without_marks(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which marks no keys under the flags of now: its caller has marked its key."""
    return silence()(run) if config.debug_key_reuse else run
