"""Event stream: spans of time, counters, and reasons of cache misses.

Counters are always on (tests assert on them); without listeners, a span or a reason costs one truth test.

>>> count("demo.calls")
>>> counters()["demo.calls"]
1
>>> seen = []
>>> with subscribe(seen.append):
...     with span("demo", name="f"):
...         pass
>>> seen[0].kind, seen[0].name, seen[0].data["name"]
('span', 'demo', 'f')
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from numjet.foundation import lazy_import, locks
from numjet.foundation.config import config
from numjet.foundation.record import Record

logging = lazy_import.Module("logging")


class Event(Record):
    """One event. kind: "span", "miss" or "message"; seconds: the duration of a span; start: `time.perf_counter()` then."""

    kind: str
    name: str
    start: float
    seconds: float
    data: dict[str, Any]
    thread: int


Listener = Callable[[Event], Any]

_listeners: tuple[Listener, ...] = ()
_listeners_lock = locks.lock()
_counters: dict[str, int] = {}
_counters_lock = locks.lock()


class Subscription:
    """Handle of a listener; `close()`, or the end of a `with` block, unsubscribes it."""

    def __init__(self, listener: Listener):
        self._listener: Listener | None = listener

    def close(self) -> None:
        """Unsubscribes the listener; idempotent."""
        global _listeners
        with _listeners_lock:
            if self._listener is not None:
                remaining = list(_listeners)
                remaining.remove(self._listener)
                _listeners = tuple(remaining)
                self._listener = None

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def subscribe(listener: Listener) -> Subscription:
    """Calls `listener(event)` for every event from now on, in the thread of the event."""
    global _listeners
    with _listeners_lock:
        _listeners = (*_listeners, listener)
    return Subscription(listener)


def listening() -> bool:
    """Whether there are listeners; test this before gathering expensive data."""
    return bool(_listeners)


def _send(kind: str, name: str, start: float, seconds: float, data: dict[str, Any]) -> None:
    event = Event(kind, name, start, seconds, data, threading.get_ident())
    for listener in _listeners:
        listener(event)


def count(name: str, n: int = 1) -> None:
    """Adds `n` to the counter `name`."""
    with _counters_lock:
        _counters[name] = _counters.get(name, 0) + n


def counters() -> dict[str, int]:
    """A copy of all counters."""
    with _counters_lock:
        return dict(_counters)


@contextlib.contextmanager
def counting() -> Iterator[dict[str, int]]:
    """Yields a dictionary that after the block holds the increase of each counter in it (without zeros).

    >>> with counting() as grown:
    ...     count("demo.steps", 2)
    >>> grown
    {'demo.steps': 2}
    """
    before = counters()
    grown: dict[str, int] = {}
    try:
        yield grown
    finally:
        grown.update((name, n - before.get(name, 0)) for name, n in counters().items() if n != before.get(name, 0))


class _Span:
    __slots__ = ("_data", "_name", "_start")

    def __init__(self, span_name: str, data: dict[str, Any]):
        self._name = span_name
        self._data = data

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        seconds = time.perf_counter() - self._start
        data = self._data if kind is None else {**self._data, "error": kind.__name__}
        _send("span", self._name, self._start, seconds, data)


class _NoSpan:
    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, *exc_info: object) -> None: ...


_NO_SPAN = _NoSpan()


def span(span_name: str, /, **data: Any) -> _Span | _NoSpan:
    """Context manager: reports the duration of the block, with `data`, to the listeners. Nearly free without listeners."""
    return _Span(span_name, data) if _listeners else _NO_SPAN


steps: Callable[[str, str, float, float], Any] | None = None  # hears of steps: foundation.monitoring sets it
searches: Callable[[bool], Any] | None = None  # hears whether programs were in the cache on disk: it sets this, too


class _Step:
    __slots__ = ("_began", "_fun_name", "_step")

    def __init__(self, name: str, fun_name: str):
        self._step, self._fun_name = name, fun_name

    def __enter__(self) -> None:
        self._began = time.time()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None and steps is not None:
            steps(self._step, self._fun_name, self._began, time.time())


def step(name: str, fun_name: str) -> _Step | _NoSpan:
    """Context manager: a step of tracing or compiling, by JAX's name of it, and by that of the function."""
    return _Step(name, fun_name) if steps is not None else _NO_SPAN


def tracing(fun_name: str) -> _Step | _NoSpan:
    """A block that traces a function.

    >>> from numjet import monitoring
    >>> seen = []
    >>> monitoring.register_event_duration_secs_listener(lambda event, duration, fun_name: seen.append((event, fun_name)))
    >>> with tracing("f"):
    ...     pass
    >>> seen
    [('/jax/core/compile/jaxpr_trace_duration', 'f')]
    >>> monitoring.clear_event_listeners()
    """
    return step("jaxpr_trace", fun_name)


def lowering(name: str) -> _Step | _NoSpan:
    """A block that makes the program that is compiled of what was traced: it is simplified."""
    return step("jaxpr_to_mlir_module", f"jit({name})")


def compiling(name: str) -> _Step | _NoSpan:
    """A block that compiles a program."""
    return step("backend_compile", f"jit({name})")


def miss(cache: str, reason: Callable[[], str], **data: Any) -> None:
    """Reports a miss of the cache `cache` to the listeners, and to the log if `jax_explain_cache_misses` is set. `reason`
    makes the explanation, and is called only if somebody reads it."""
    explain = config.explain_cache_misses
    if not explain and not _listeners:
        return
    why = reason()
    if explain:
        logger().warning("%s: cache miss: %s", cache, why)
    if _listeners:
        _send("miss", cache, time.perf_counter(), 0.0, {"reason": why, **data})


loggers = {"": "numjet", "starts": "numjet", "ends": "numjet", "errors": "numjet"}  # as_jax gives them JAX's names


def logger(kind: str = "") -> Any:
    """The logger of a kind of lines: where the steps of compiling start and end, errors of callbacks, and others."""
    return logging.getLogger(loggers[kind])


def log_start(text: Callable[[], str]) -> None:
    """Logs where a step starts, as `logged` does where it ends. `text` makes the line, and is called only if somebody reads
    it."""
    _log("starts", text, config.log_compiles)


def log_debug(text: Callable[[], str], asked: bool = False) -> None:
    """Logs a line of another kind: as a warning if the user `asked` for such lines by a flag, else for debugging."""
    _log("", text, asked)


def _log(kind: str, text: Callable[[], str], asked: bool) -> None:
    """Logs a line: as a warning if the user `asked` for such lines by a flag, else for debugging."""
    if asked:
        logger(kind).warning("%s", text())
    elif _debugging(kind):
        logger(kind).debug("%s", text())


class _Levels:
    """Loggers follow jax_logging_level, for that of the package, and jax_debug_log_modules: their levels, and handlers that
    write to stderr."""

    def __init__(self) -> None:
        self.flags: tuple[str, str] = ("NOTSET", "")
        self.handlers: list[tuple[Any, Any]] = []

    def follow(self) -> None:
        """Brings levels and handlers in line with the flags, if these have changed."""
        now = config.jax_logging_level, config.jax_debug_log_modules
        if now == self.flags:
            return
        self.flags = now
        for one, handler in self.handlers:
            one.setLevel("NOTSET")
            one.removeHandler(handler)
        self.handlers = []
        if now[0] != "NOTSET":
            self._show(logger(), now[0])
        for name in filter(None, map(str.strip, now[1].split(","))):
            self._show(logging.getLogger(name), "DEBUG")

    def _show(self, one: Any, level: str) -> None:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"))
        one.setLevel(level)
        one.addHandler(handler)
        self.handlers.append((one, handler))


_levels = _Levels()
_levels.follow()
config.on_change(_levels.follow)


def _debugging(kind: str) -> bool:
    """Whether lines for debugging go anywhere: not in a program that never imported Python's logging."""
    return "logging" in sys.modules and logger(kind).isEnabledFor(logging.DEBUG)


class _Logged:
    __slots__ = ("_asked", "_start", "_what")

    def __init__(self, what: Callable[[], str], asked: bool):
        self._what, self._asked = what, asked

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            seconds = time.perf_counter() - self._start
            _log("ends", lambda: f"Finished {self._what()} in {seconds:.9f} sec", self._asked)


def logged(what: Callable[[], str]) -> _Logged | _NoSpan:
    """Context manager: logs how long a step of tracing or compiling took. As a warning while jax_log_compiles is set, else for
    debugging."""
    asked = config.log_compiles
    return _Logged(what, asked) if asked or _debugging("ends") else _NO_SPAN


def log_error(what: str, error: BaseException) -> None:
    """Logs an error of the user's code with its traceback, where it happens: the program's results may raise it much later."""
    logger("errors").error("%s", what, exc_info=error)
