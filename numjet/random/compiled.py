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
        return jit(functools.update_wrapper(part, fun))

    @functools.wraps(fun)
    def call(*args: Any, **static: Any) -> Any:
        run = program(**static) if current_trace() is EVAL else functools.partial(fun, **static)
        if not config.debug_key_reuse:
            return run(*args)
        with silence():  # the caller marked the key
            return run(*args)
    return call
