"""Leak checker: finds traced values that outlive their trace, when the flag jax_check_tracer_leaks is on.

A transformation calls `check` when its trace has ended and its own references to tracers are gone. Any reference left
was made by the traced function: in a global, an enclosing list, an attribute.
"""
from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numjet.core.trace import Trace, Tracer
from numjet.foundation import source
from numjet.foundation.errors import UnexpectedTracerError, compose, snippet

_MOST = 5


def _references(trace: object) -> int:
    return sys.getrefcount(trace)


def _of_one_caller() -> int:
    trace = object()
    return _references(trace)


_UNSHARED = _of_one_caller()  # references to an object that only the variables of a function and its caller hold


def check(trace: Trace, debug: Any = None) -> None:
    """Raises UnexpectedTracerError that names the living tracers of an ended trace, and their holders.

    debug: the traced function (stage.DebugInfo), if known.
    """
    if sys.getrefcount(trace) <= _UNSHARED:
        return  # tracers refer to their trace: there are none
    gc.collect()
    found = [x for x in gc.get_objects() if isinstance(x, Tracer) and x._trace is trace]
    if found:
        with _frozen_objects_in_view():
            _raise_if_held(found, trace, debug)


@contextmanager
def _frozen_objects_in_view() -> Iterator[None]:
    """Undoes `gc.freeze` for a while: Python doesn't list frozen objects among the referrers of others."""
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    try:
        yield
    finally:
        if frozen:
            gc.freeze()


def _raise_if_held(found: list[Tracer], trace: Trace, debug: Any) -> None:
    held = [(x, where) for x in found if (where := _holders(x, found))]
    if not held:
        return
    who = f"{debug.where()} (traced for {debug.kind})" if debug is not None else f"called at {_caller()}"
    lines = [_line(x, where) for x, where in held[:_MOST]]
    more = f"  ... and {len(held) - _MOST} more" if len(held) > _MOST else ""
    text = compose(
        f"Leaked trace {trace.known_as}. Leaked tracer(s): {len(held)} traced "
        f"{'value' if len(held) == 1 else 'values'} outlived the function {who}:",
        "\n".join([*lines, more]).rstrip(),
        "While a function is traced its values are placeholders, not numbers. Return every value that is needed outside.",
        snippet("log = []\n@jit\ndef f(x):\n    log.append(x)\n    return x + 1", "@jit\ndef f(x):\n    return x + 1, x"))
    del held
    found.clear()
    raise UnexpectedTracerError(text)


def _caller() -> str:
    return source.summarize(source.user_frame())


def _line(x: Tracer, holders: list[str]) -> str:
    """A tracer, where it was made as far as that is known, and who holds it."""
    kind = f"{x._trace.known_as}r"
    return (f"  - {x!r}. This {kind} with object id {id(x)} was created on line:\n  {source.summarize(x.made_at())}\n"
            f"<{kind} {id(x)}> is referred to by {', '.join(holders)}")


def _holders(x: Tracer, found: list[Tracer]) -> list[str]:
    """The objects that refer to a tracer, other than running functions."""
    where: list[str] = []
    trace = x._trace
    for holder in gc.get_referrers(x):  # a loop: a comprehension would hold x itself
        # A tracer of the same trace is reported itself.
        if holder is found or isinstance(holder, types.FrameType) or (isinstance(holder, Tracer) and holder._trace is trace):
            continue
        where.append(_describe(holder))
    return where


def _describe(holder: Any) -> str:
    """A container's description: its kind, and its name where one is found."""
    if isinstance(holder, dict):
        owner = next((r for r in gc.get_referrers(holder) if getattr(r, "__dict__", None) is holder), None)
        if isinstance(owner, types.ModuleType):
            return f"a global of module {owner.__name__}"
        if owner is not None:
            return f"an attribute of a {type(owner).__name__}"
    if isinstance(holder, types.CellType):
        return "a variable of an enclosing function"
    name = _name_of(holder)
    return f"a {type(holder).__name__}" + (f" called {name!r}" if name else "")


def _name_of(holder: Any) -> str | None:
    """The global or closure variable that holds an object."""
    for r in gc.get_referrers(holder):
        if isinstance(r, dict):
            name = next((k for k, v in r.items() if v is holder and isinstance(k, str)), None)
            if name is not None:
                return name
        if isinstance(r, types.CellType):
            for fn in _functions_with(r):
                return fn.__code__.co_freevars[next(n for n, c in enumerate(fn.__closure__ or ()) if c is r)]
    return None


def _functions_with(cell: types.CellType) -> list[types.FunctionType]:
    tuples = [t for t in gc.get_referrers(cell) if isinstance(t, tuple)]
    return [f for t in tuples for f in gc.get_referrers(t) if isinstance(f, types.FunctionType) and f.__closure__ is t]
