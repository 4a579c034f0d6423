"""Source locations: stack frames of the user's code, outside this package.

Frames are found through `sys._getframe`. To be cheap enough for every traced operation, whether a file is internal is cached,
and line numbers are computed only when they are read.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from numjet import _native
from numjet.foundation.config import config

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_hidden: dict[str, bool] = {}  # by file name: a string caches its hash, a code object does not


class _Prefixes(list[str]):
    """Beginnings of the paths of internal files. A change forgets what was known of files."""

    def append(self, path: str) -> None:
        super().append(path)
        _hidden.clear()

    def remove(self, path: str) -> None:
        super().remove(path)
        _hidden.clear()


hidden_prefixes = _Prefixes([_PACKAGE, "<frozen "])


def hide(path: str) -> None:
    """Treats a file, or the files under a folder, as internal, too; for libraries built on this one."""
    path = os.path.abspath(path)
    hidden_prefixes.append(path if os.path.isfile(path) else os.path.join(path, ""))


def hide_path(path: str) -> None:
    """As hide, for one file or a folder."""
    if os.path.isdir(path):
        hide(path)
    else:
        hidden_prefixes.append(os.path.abspath(path))


def _is_hidden(file: str) -> bool:
    if len(_hidden) > 100_000:  # bounded, as file names may be generated
        _hidden.clear()
    return _hidden.setdefault(file, file.startswith(tuple(hidden_prefixes)))


def is_internal(code: types.CodeType) -> bool:
    """Whether the code belongs to the package."""
    known = _hidden.get(code.co_filename)
    return _is_hidden(code.co_filename) if known is None else known


def is_own(code: types.CodeType) -> bool:
    """Whether the code is one of this package's files, which change with its version."""
    return code.co_filename.startswith(_PACKAGE)


class Transform(str):
    """The name of a transformation among the names of scopes: it is written around the next scope's, `jvp(layer1)`."""

    __slots__ = ()


def names_text(names: Iterable[str]) -> str:
    """The names of scopes, outermost first, as one path.

    >>> names_text(("model", Transform("transpose"), Transform("jvp"), "layer1", "sin"))
    'model/transpose(jvp(layer1))/sin'
    """
    path: list[str] = []
    waiting: list[str] = []
    for name in names:
        if isinstance(name, Transform):
            waiting.append(name)
        else:
            path.append(_wrapped(waiting, name))
            waiting = []
    return "/".join([*path, _wrapped(waiting, "")] if waiting else path)


def _wrapped(transforms: Sequence[str], name: str) -> str:
    return "".join(f"{t}(" for t in transforms) + name + ")" * len(transforms)


class Frame:
    """A location in the user's code: `file`, `line`, `function`; compares by location. `names`: the scopes around it."""

    __slots__ = ("_last", "code", "names")
    backward = False

    def __init__(self, code: types.CodeType, last: int, names: tuple[str, ...] = ()):
        self.code = code
        self._last = last
        self.names = names

    @property
    def file(self) -> str:
        """The file's path, as Python knows it."""
        return self.code.co_filename

    @property
    def function(self) -> str:
        """The function's name with the classes and functions around it."""
        return self.code.co_qualname if sys.version_info >= (3, 11) else self.code.co_name

    @property
    def line(self) -> int:
        """The line that was running."""
        for start, end, line in self.code.co_lines():
            if start <= self._last < end and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def column(self) -> int | None:
        """The column, from 0, where Python knows it."""
        positions = list(self.code.co_positions())
        index = self._last // 2  # instructions are two bytes
        return positions[index][2] if 0 <= index < len(positions) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.code is other.code and self._last == other._last

    def __hash__(self) -> int:
        return hash((self.code.co_filename, self.code.co_firstlineno, self._last))

    def __repr__(self) -> str:
        return f"Frame({summarize(self)})"


class BackwardFrame(Frame):
    """The location of an operation of the backward pass: the line of what it transposes."""

    __slots__ = ()
    backward = True


def backward(frame: Frame | Source | None) -> Frame:
    """The location of the transpose of an operation; of one without a line, and of users' backward rules: where they stand."""
    if isinstance(frame, Source):
        frame = frame.frame
    if frame is None or frame is IN_RULE:
        return IN_RULE
    return frame if isinstance(frame, BackwardFrame) else BackwardFrame(frame.code, frame._last, frame.names)


IN_RULE = BackwardFrame(backward.__code__, 0)  # stands for the line that runs


def within(frame: Any, names: tuple[str, ...]) -> Any:
    """The frame of an equation of a program that is replayed in scopes of these names."""
    if not names or frame is IN_RULE or not isinstance(frame, Frame):
        return frame
    return type(frame)(frame.code, frame._last, (*names, *frame.names))


def names_of(frame: Any) -> tuple[str, ...]:
    """The names of the scopes of an equation, by its source."""
    return getattr(frame, "names", ())


def beyond(frame: Any, depth: int) -> Any:
    """The frame without the names of the outermost `depth` scopes."""
    if not depth or frame is IN_RULE or not isinstance(frame, Frame):
        return frame
    return type(frame)(frame.code, frame._last, frame.names[depth:])


def user_frame() -> Frame | None:
    """The innermost stack frame outside the package; None when there is none."""
    frame: types.FrameType | None = sys._getframe(1)
    hidden = _hidden
    while frame is not None:
        code = frame.f_code
        known = hidden.get(code.co_filename)
        if known is None:
            known = _is_hidden(code.co_filename)
        if not known:
            return Frame(code, frame.f_lasti, _scopes.names)
        frame = frame.f_back
    return None


def operation_frame() -> Frame | None:
    """The user's frame of the current operation: the replayed equation's, if there is one."""
    frame = _scopes.frame
    if frame is None:
        return user_frame()
    if frame is not IN_RULE:
        return frame
    found = user_frame()
    return None if found is None else backward(found)


def replaying() -> _native.Scope:
    """Context manager for replaying the equations of a program (evaluation, transposition): new equations keep their lines.
    Yields the frame around it, for `replay` before each equation."""
    return _native.Scope(_scopes, "frame", _scopes.frame)


def replay(frame: Frame | None, outer: Frame | None) -> None:
    """Sets the equation being replayed, by its source."""
    _scopes.frame = frame or outer


def frame_scope(frame: Frame | None) -> _native.Scope:
    """A block whose operations have the line of that frame; None: lines of their own."""
    return _native.Scope(_scopes, "frame", frame)


def names_scope(names: tuple[str, ...]) -> _native.Scope:
    """A block in the scopes of these names only."""
    return _native.Scope(_scopes, "names", names)


def transformed(name: str) -> _native.Scope:
    """A block whose operations a transformation of this name writes."""
    return _native.Scope(_scopes, "names", (*_scopes.names, Transform(name)))


@contextlib.contextmanager
def unnamed() -> Iterator[None]:
    """A block that writes a program of its own, which is in no scope: the equation that holds it is."""
    outer, frame = _scopes.names, _scopes.frame
    _scopes.names, _scopes.frame = (), beyond(frame, sys.maxsize)
    try:
        yield
    finally:
        _scopes.names, _scopes.frame = outer, frame


def user_code() -> _native.Scope:
    """Context manager for a user's function inside of `replaying`: its operations have lines of their own."""
    return _native.Scope(_scopes, "frame", None if _scopes.frame is None or not _scopes.frame.backward else IN_RULE)


def user_frames(limit: int = 20) -> tuple[Frame, ...]:
    """The stack frames outside the package, innermost first."""
    found: list[Frame] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < limit:
        if not is_internal(frame.f_code):
            found.append(Frame(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def user_stacklevel() -> int:
    """The `stacklevel` for a `warnings.warn` in the calling function, so that it points at the user's line."""
    frame: types.FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_internal(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level if frame is not None else 2


def summarize(frame: Frame | None) -> str:
    """`file.py:12 (function)`, or `<unknown>`."""
    if frame is None:
        return "<unknown>"
    return f"{os.path.basename(frame.file)}:{frame.line} ({frame.function})"


def on_line(frame: Frame) -> str:
    """`line 12 of file.py (function)`."""
    return f"line {frame.line} of {os.path.basename(frame.file)} ({frame.function})"


def of_function(fun: Callable[..., Any]) -> str:
    """A function's location: `f at file.py:12`; only its name where Python does not know it."""
    inner = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = getattr(inner, "__wrapped__", inner)
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__name__", None) or type(inner).__name__
    return f"{name} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code is not None else name


class _Scopes(threading.local):
    names: tuple[str, ...] = ()
    frame: Frame | None = None


_scopes = _Scopes()


class named_scope(contextlib.ContextDecorator):
    """Context manager: prefixes the operations of a block with `name` in printed programs and profiles.

    >>> with named_scope("layer1"):
    ...     name_stack()
    ('layer1',)
    """

    __slots__ = ("_name", "_outer")

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"named_scope name argument must be a string, got {name!r} of type {type(name).__name__}")
        self._name = name
        self._outer: list[list[tuple[str, ...]]] = []

    def _begin(self, steps: list[Any]) -> None:
        outer = [_scopes.names]
        steps.append(outer)
        self._outer.append(outer)
        _scopes.names = (*_scopes.names, self._name)

    def _end(self, steps: list[Any]) -> None:
        if not steps:
            steps.append(self._outer[-1])
        _scopes.names = steps[0][0]
        self._outer[:] = [outer for outer in self._outer if outer is not steps[0]]

    __enter__, __exit__ = _native.block_methods(_begin, _end)


def name_stack() -> tuple[str, ...]:
    """The names of this thread's scopes, outermost first."""
    return _scopes.names


class Source:
    """An equation's origin: the user's frame and the names of the scopes around it."""

    __slots__ = ("frame", "names")
    backward = False

    def __init__(self, frame: Frame | None, names: tuple[str, ...] = ()):
        self.frame = frame
        self.names = names

    def __str__(self) -> str:
        return summarize(self.frame)

    def __repr__(self) -> str:
        return f"Source({summarize(self.frame)}{', ' + '/'.join(self.names) if self.names else ''})"


UNKNOWN = Source(None)


def current() -> Source:
    """The `Source` of the current operation."""
    return Source(user_frame(), _scopes.names)


def _filter_mode() -> str:
    mode = config.traceback_filtering
    if mode != "auto":
        return mode
    return "tracebackhide" if "IPython" in sys.modules else "quiet_remove_frames"


def _without_internal(tb: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without the package's frames; None when it has no others."""
    frames = []
    walker = tb
    while walker is not None:
        if not is_internal(walker.tb_frame.f_code):
            frames.append(walker)
        walker = walker.tb_next
    result = None
    for one in reversed(frames):
        line = one.tb_lineno or one.tb_frame.f_code.co_firstlineno  # a signal's handler may raise where there is no line
        result = types.TracebackType(result, one.tb_frame, one.tb_lasti, line)
    return result


def _mark_hidden(tb: types.TracebackType | None) -> None:
    while tb is not None:
        if is_internal(tb.tb_frame.f_code):
            tb.tb_frame.f_locals["__tracebackhide__"] = True
        tb = tb.tb_next


_NOTE = ("--------------------\nFor simplicity, numjet has removed its internal frames from the traceback of this exception. "
         "Set JAX_TRACEBACK_FILTERING=off to include these.")


class UnfilteredStackTrace(Exception):
    """Carries the full traceback of an error whose own was shortened, as its cause."""


def _chain(error: BaseException) -> list[BaseException]:
    """The error and the ones that Python prints before it."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and not isinstance(following, UnfilteredStackTrace):
        if any(following is one for one in found):
            break
        found.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return found


def filter_traceback(error: BaseException) -> None:
    """Shortens `error`'s traceback to the user's frames, according to the flag `jax_traceback_filtering`.

    `quiet_remove_frames` says so in a note of the error, `remove_frames` keeps the full one as the error's cause,
    `tracebackhide` marks frames for IPython and pytest.
    """
    mode, full = _filter_mode(), error.__traceback__
    if mode == "off":
        return
    if mode == "tracebackhide":
        _mark_hidden(full)
        return
    if mode == "remove_frames" and error.__cause__ is None and not error.__suppress_context__:
        cause = UnfilteredStackTrace("the traceback with the package's own frames is above")
        error.__cause__ = cause.with_traceback(full)
    if mode == "quiet_remove_frames" and _NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_NOTE)
    for one in _chain(error):
        one.__traceback__ = _without_internal(one.__traceback__)


def api_boundary(fun: F) -> F:
    """Decorator of public functions that call the user's functions: errors show the user's frames only."""

    @functools.wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    return wrapper  # type: ignore[return-value]
