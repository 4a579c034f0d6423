"""Diagnostics of values, caches and the environment, and evaluation while tracing."""
from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from numjet.api import eager_plans, stages
from numjet.api.jit_stages import cache_clearers
from numjet.core import aval, hooks
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.core.refs import AbstractRef, Ref
from numjet.core.stage import StageTracer
from numjet.core.trace import EVAL, Trace, Tracer, aval_of, current_trace, set_trace
from numjet.foundation import lazy_import, util
from numjet.foundation.config import config
from numjet.foundation.flags import BY_NAME
from numjet.foundation.memo import clear_memos
from numjet.foundation.source import named_scope
from numjet.foundation.util import function_name, wraps
from numjet.runtime import dispatch
from numjet.runtime.device import devices

body_tracing = lazy_import.Module("numjet.control.call.body_tracing")

F = TypeVar("F", bound=Callable[..., Any])


def typeof(x: Any) -> ShapedArray | AbstractRef:
    """The type of an array, tracer, number, reference or ShapeDtypeStruct: shape, dtype, weak_type. Prints as `float32[3]`.

    Raises TypeError for what is no array.

    >>> import numjet as nj
    >>> print(nj.typeof(nj.numpy.ones(3)))
    float32[3]
    """
    above = hooks.types_above.get(type(x))
    if above is not None:
        return above(x)
    if isinstance(x, stages.ShapeDtypeStruct):
        return stages.abstract(x)
    return x.aval if isinstance(x, Ref) else aval_of(x)


def named_call(fun: F, *, name: str | None = None) -> F:
    """The function, its operations under a name (default: its own) in printed programs and profiles.

    >>> import numjet as nj
    >>> nj.named_call(lambda x: x + 1, name="increment")(1)
    2
    """
    label = function_name(fun) if name is None else name

    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(label):
            return fun(*args, **kwargs)

    return named  # type: ignore[return-value]


def clear_caches() -> None:
    """Drops all traces and compiled programs: those of jitted functions, of operations, and everything derived from them.

    >>> import numjet as nj
    >>> nj.clear_caches()
    """
    for clear in list(cache_clearers.values()):
        clear()
    dispatch.clear_operations()
    eager_plans.clear_tapes()
    body_tracing.clear_cache()
    util.clear_caches()
    clear_memos()
    aval.sweep()


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints versions, devices and settings, as bug reports want them; with return_string, returns the text instead."""
    listed = devices()
    lines = [
        f"numjet: {sys.modules['numjet'].__version__}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: {listed[0].device_kind}-{len(listed)}, {len(listed)} local devices",
        f"process_count: 1, cores: {os.cpu_count()}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines + _changed_flags())
    if return_string:
        return text
    print(text)
    return None


def _changed_flags() -> list[str]:
    return [f"{name}={value!r}" for name, value in config.values.items() if value != BY_NAME[name].default]


class _KnownTrace(Trace):
    """Evaluates operations on known values; passes the others to the outer trace."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace):
        super().__init__()
        self.parent = parent

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        trace, operands = self.handler(args)
        with set_trace(trace):
            return op.bind(*operands, **params)

    def hold(self, x: Any) -> Any:
        return x   # known values stay arrays

    def handler(self, args: Sequence[Any]) -> tuple[Trace, Sequence[Any]]:
        known = [_known(a) for a in args]
        return (self.parent, args) if any(k is None for k in known) else (EVAL, known)


def _known(x: Any) -> Any:
    """The value of an operand, None when it depends on an argument."""
    if not isinstance(x, Tracer):
        return x
    if not isinstance(x, StageTracer):
        return None  # its derivative or batch axis is part of it
    value = x.concrete()
    return _known(value) if isinstance(value, Tracer) else value


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Inside of the block, operations on known values are computed at once, even while a function is traced.

    Their results are arrays, usable in Python conditions; operations on traced values are traced as ever.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> @nj.jit
    ... def f(x):
    ...     with nj.ensure_compile_time_eval():
    ...         table = jnp.cumsum(jnp.arange(4))
    ...     return x + table[-1]
    >>> f(1).item()
    7
    """
    with set_trace(_KnownTrace(current_trace())):
        yield
