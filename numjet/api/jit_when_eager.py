"""Implicit jit of library functions: called outside of transformations, they run as one compiled program.

They consist of many operations, each of which would cost a pass over memory and a few microseconds of Python. Inside of
any transformation the decorator does nothing. From the third call of a signature on the program is called without Python
(`native/dispatch/eager/eager_function.cpp`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from numjet import _native
from numjet.api.eager_plans import recorded
from numjet.api.jit import jit
from numjet.core.stage import StageTrace
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import config
from numjet.foundation.signatures import SignatureOf
from numjet.foundation.util import function_parameters, wraps
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.settings import fast_paths_allowed

Fun = TypeVar("Fun", bound=Callable[..., Any])
_ARRAYS = (_native.Array, np.ndarray)


def jit_when_eager(*static: str, small: bool = True, large: bool = True) -> Callable[[Fun], Fun]:
    """Decorator: the function runs as one program when it is called outside of transformations.

    static: names of the parameters that are no arrays. small=False: only for large arrays, for functions that take few
    NumPy calls; large=False: only without them, for products that see through transposes. The choice depends on sizes
    only. ValueError for a name that is no parameter.

    >>> import numjet.numpy as jnp
    >>> @jit_when_eager("axis")
    ... def spread(x, axis=None):
    ...     return jnp.max(x, axis) - jnp.min(x, axis)
    >>> spread(jnp.array([1, 5, 3]))
    Array(4, dtype=int32)
    """
    def decorate(fun: Fun) -> Fun:
        names = function_parameters(fun)
        if not set(static) <= set(names):
            raise ValueError(f"jit_when_eager: {fun.__name__} has no parameters {sorted(set(static) - set(names))}, "
                             f"it has {names}")
        positions = tuple(n for n, name in enumerate(names[:fun.__code__.co_argcount]) if name in static)
        by_name = tuple(name for name in static if names.index(name) >= fun.__code__.co_posonlyargcount)
        program: Callable[..., Any] | None = None

        def chosen(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
            """The program, or the function where it is not to run as one."""
            nonlocal program
            if not (small and large or _any_large(args) == large):
                return fun
            if (current_trace() is not EVAL or not fast_paths_allowed()) and not _checks_whole():
                return fun
            fixed = [args[n] for n in positions if n < len(args)]
            if not _separable(args, fixed, kwargs, static):
                return fun
            if program is None:
                program = jit(fun, static_argnums=positions, static_argnames=by_name)
            return program

        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            return chosen(args, kwargs)(*args, **kwargs)

        def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
            found = chosen(args, kwargs)
            return found(*args, **kwargs), None if found is fun else found

        call.__signature__ = SignatureOf(fun)  # type: ignore[attr-defined]
        call.runs_programs = small  # type: ignore[attr-defined]
        return recorded(call, record, positions, by_name) if small else call  # type: ignore[return-value]
    return decorate


def whole_when_checked(fun: Callable[..., Any], *arrays: Any) -> Any:
    """fun(*arrays), as one program while jax_debug_nans or jax_debug_infs is on. What the function itself masks, as the
    infinity with which a maximum fills what it leaves out, is then no result of its own."""
    return jit(fun)(*arrays) if _checks_whole() else fun(*arrays)


def _checks_whole() -> bool:
    """Whether NaNs or infinities are looked for in the results of whole functions: no program is traced that checks them."""
    return ((config.debug_nans or config.debug_infs) and not config.disable_jit and not config.debug_key_reuse
            and not config.no_execution and not isinstance(current_trace(), StageTrace))


def _separable(args: Sequence[Any], fixed: Sequence[Any], kwargs: dict[str, Any], static: Sequence[str]) -> bool:
    """Whether arrays and static arguments are separable: no list for an array, no array for a static parameter."""
    for a in args:
        if type(a) is list:
            return False
    for a in fixed:
        if _holds_array(a):
            return False
    return not kwargs or not any(type(a) is list or (k in static and _holds_array(a)) for k, a in kwargs.items())


def _holds_array(a: Any) -> bool:
    """Whether an axis, say, is an array of no axes, or a tuple with one, or the first operand of einsum, which may be an object
    with `__jax_array__`: no key of a cache."""
    return type(a) in _ARRAYS or hasattr(a, "__jax_array__") or (type(a) is tuple and any(type(v) in _ARRAYS for v in a))


def _any_large(args: Iterable[Any]) -> bool:
    for a in args:
        if type(a) in _ARRAYS and a.size >= LARGE:
            return True
    return False
