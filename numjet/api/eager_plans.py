"""Tapes of eager calls: library functions of small arrays, called again with the same types, run without Python.

The second call of a signature is recorded: the function is traced, every equation of its program becomes a step, and the tape
is run and compared, bit by bit, with what the function returned. Steps are the inner loops of the NumPy ufuncs that evaluate
operations, copies of parts of an operand, selections, and for the rest the operations' eager slots, so a tape gives the same
bits as the function. No tape is made of what depends on values, holds programs or effects, or warns.

Of large arrays, whose operations are compiled one by one, the whole function becomes one program, which reads and writes memory
once. That is done only where no order of operations is open: of elementwise operations, data movement, and reductions that
round nothing. `native/dispatch/eager/eager_function.cpp` has the call.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from numjet import _native
from numjet.foundation import lazy_import
from numjet.foundation.signatures import SignatureOf

if TYPE_CHECKING:
    from numjet.api import tape_recorder
else:
    tape_recorder = lazy_import.Module("numjet.api.tape_recorder")

F = TypeVar("F", bound=Callable[..., Any])

_MOST_AXES = 8   # that are given one by one
# Of each function with tapes: the positions and names of what is part of a signature by value, and whether Python numbers are
# like arrays.
_functions: dict[_native.EagerFunction, tuple[tuple[int, ...], tuple[str, ...], bool]] = {}


def static_of(function: Any) -> tuple[tuple[int, ...], tuple[str, ...], bool]:
    """The positions and names of what is part of a signature by value, and whether numbers of Python are like arrays."""
    return _functions[function]


def clear_tapes() -> None:
    """Drops all tapes."""
    for function in _functions:
        function._clear_cache()


def taped(fun: F, arrays: Iterable[str], numbers: bool = False) -> F:
    """The function with tapes for its calls. A function that runs as one program (`jit_when_eager`) is given back as it is.

    arrays: the parameters that are arrays, or pytrees of them; all others are part of a call's signature, by value.
    numbers: whether Python numbers are like arrays there; they must not decide, by their value, which operations are applied.
    """
    if getattr(fun, "runs_programs", False):
        return fun
    code = inspect.unwrap(fun).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    positions = tuple(n for n, name in enumerate(names[:code.co_argcount]) if name not in arrays)
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[count] not in arrays:
        positions += tuple(range(code.co_argcount, code.co_argcount + _MOST_AXES))
    by_name = tuple(name for name in names if name not in arrays)
    return recorded(fun, _recorder(fun, positions, by_name, numbers), positions, by_name, numbers)


def recorded(fun: F, recorder: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any]], positions: tuple[int, ...],
             names: tuple[str, ...], numbers: bool = False) -> F:
    """The function, whose second call of a signature is made by recorder(args, kwargs) -> (result, what runs later ones, or
    None). positions, names: of the parameters that are part of the signature by value. numbers: as in `taped`."""
    made = _native.EagerFunction(fun, recorder, positions, names)
    functools.update_wrapper(made, fun)
    made.__signature__ = SignatureOf(fun)  # type: ignore[attr-defined]
    _functions[made] = positions, names, numbers
    return made  # type: ignore[return-value]


def tape_of(fun: Callable[..., list[Any]], numbers: bool = False) -> Callable[..., list[Any]]:
    """A function from arrays to a list of arrays that keeps nothing but its arguments, with tapes for its calls. numbers: as
    in `taped`."""
    return _native.EagerFunction(fun, _recorder(fun, (), (), numbers), (), ())


def _recorder(fun: Callable[..., Any], *options: Any) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any]]:
    """Runs a function and makes the tapes of its calls; most functions of a library are never called twice."""
    made: tape_recorder.Recorder | None = None

    def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        nonlocal made
        if made is None:
            made = tape_recorder.Recorder(fun, *options)
        return made(args, kwargs)
    return record
