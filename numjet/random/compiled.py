"""Compiled samplers: one program per sampler and static arguments, outside of all transformations."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numjet.api.jit import jit
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.memo import memoized

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
        if current_trace() is EVAL:
            return program(**static)(*args)
        return fun(*args, **static)
    return call
