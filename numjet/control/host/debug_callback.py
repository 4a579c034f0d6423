"""Debug callbacks: Python functions that observe values and change no result.

Under differentiation they see the primal values; under vmap they are called once per element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.host.python_calls import (
    HostFunction,
    arguments_of,
    call_each,
    called,
    check_callable,
    lowered,
    run,
    weak_flags,
)
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op
from numjet.core.trace import EVAL, current_trace
from numjet.core.traits import EXACT
from numjet.foundation.errors import JaxRuntimeError


def _abstract(*avals: ShapedArray, **_: Any) -> list[ShapedArray]:
    return []


def _run_now(*args: Any, **params: Any) -> list[Any]:
    """The call outside of programs, where what the function raises is the caller's to catch."""
    try:
        return run(*args, **params)
    except JaxRuntimeError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


def debug_op(name: str, params: tuple[str, ...], ordered: Callable[[dict[str, Any]], bool]) -> Op:
    """The record of an operation without results that calls the function in its parameter `callback`."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **kept: Any) -> tuple[list[Any], list[Any]]:
        op.bind(*primals, **kept)
        return [], []

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **kept: Any) -> tuple[list[Any], list[int | None]]:
        call_each(lambda *xs: op.bind(*xs, **kept), size, args, dims)
        return [], []

    op = Op(name=name, params=params, multiple=True, abstract=_abstract, eager=_run_now, jvp=jvp,
            transpose=lambda cts, *args, **_: [None] * len(args), batch=batch, cpu=lowered, hlo=called(ordered=ordered),
            samples=Missing("calls Python"), traits=EXACT,
            effects=lambda **kept: frozenset({effects.ORDERED_DEBUG if ordered(kept) else effects.DEBUG}))
    return op


debug_callback_p = debug_op("debug_callback", ("callback", "effect", "partitioned"), lambda p: p["effect"].ordered)


class Observer(HostFunction):
    """A function called for its effects; its result is ignored."""

    def accept(self, result: Any) -> list[np.ndarray]:
        """Nothing."""
        return []


def observer(kind: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Observer, list[Any]]:
    """The observer that calls `fun` with these arguments, and the arrays among them. Other leaves are kept as they are."""
    arrays, statics, in_tree = arguments_of(args, kwargs)
    now = current_trace() is EVAL   # otherwise a program calls it, and what that computes is not weak
    return Observer(kind, fun, in_tree, (), statics, weak_flags(arrays) if now else ()), arrays


def with_options(name: str, call: Callable[[Any, Sequence[Any], dict[str, Any]], None], args: Sequence[Any],
                 kwargs: dict[str, Any]) -> Callable[..., None]:
    """The first call of two, with options alone: the function that takes what is printed or called, and gives it to
    call(first argument, others, keyword arguments).

    Raises TypeError for other arguments of the first call.
    """
    if args or kwargs:
        raise TypeError(f"{name} received unexpected arguments in the two-call form: {[*args, *kwargs]}. Give options first, "
                        f"then the rest: {name}(ordered=True)(...).")

    def second(*args: Any, **kwargs: Any) -> None:
        if not args or args[0] is None:
            raise TypeError(f"{name}: the second call of the two-call form lacks its first argument")
        call(args[0], args[1:], kwargs)
    return second


def debug_callback(callback: Callable[..., Any] | None = None, *args: Any, ordered: bool = False,
                   partitioned: bool = False, **kwargs: Any) -> Any:
    """Calls a Python function with the values that its arguments have when the program runs.

    It is never removed as dead code, and its result is ignored. Under grad it sees the primal values, under vmap it is
    called once per element.

    Args:
      callback: function of Arrays (in the structure of args and kwargs); its result is ignored. Without it, the options
        alone are given, and the result takes the rest: debug.callback(ordered=True)(callback, x).
      args, kwargs: pytrees; leaves that are no arrays or numbers reach the function as they are.
      ordered: keep the order of the program. On one device calls always do.
      partitioned: in a program over several devices, each calls the function with its part of the arguments; without it, one
        call gets the whole.

    Raises:
      ValueError: for ordered and partitioned calls on several devices, and for ordered calls of the shards of a shard_map.
      TypeError: when callback is not callable.
      JaxRuntimeError: when results of the program are waited for or at effects_barrier(), if the function raised (its
        exception is the cause); outside of programs the exception itself.

    >>> import numjet as nj
    >>> seen = []
    >>> @nj.jit
    ... def f(x):
    ...     nj.debug.callback(lambda v: seen.append(float(v)), x + 1)
    ...     return x * 2
    >>> f(1.0).item(), seen
    (2.0, [2.0])
    """
    def bind(callback: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        check_callable("debug.callback", callback)
        called, arrays = observer("debug.callback", callback, args, kwargs)
        debug_callback_p.bind(*arrays, callback=called, effect=effects.ORDERED_DEBUG if ordered else effects.DEBUG,
                              partitioned=bool(partitioned))
    return with_options("debug_callback", bind, args, kwargs) if callback is None else bind(callback, args, kwargs)
