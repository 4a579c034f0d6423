"""Monitoring: events that libraries record, sent to the listeners that programs register. numjet itself records how long
tracing, lowering and compiling took, under JAX's names; its other events are those of `numjet.foundation.events`."""
from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

Listener = Callable[..., None]


class Channel:
    """Listeners to one kind of event."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    def send(self, *args: Any, **kwargs: Any) -> None:
        """Calls all listeners."""
        for listener in tuple(self.listeners):
            listener(*args, **kwargs)

    def remove(self, listener: Listener) -> None:
        """Unregisters a listener. Raises ValueError if it was not registered."""
        if listener not in self.listeners:
            raise ValueError(f"monitoring: {listener!r} is not a registered listener")
        self.listeners.remove(listener)


_events, _durations, _spans, _scalars = (Channel() for _ in range(4))


def record_event(event: str, **kwargs: str | int) -> None:
    """Records that something happened.

    >>> seen = []
    >>> register_event_listener(lambda event, **more: seen.append(event))
    >>> record_event("/library/started")
    >>> seen
    ['/library/started']
    >>> clear_event_listeners()
    """
    _events.send(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Records how long something took, in seconds."""
    _durations.send(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Records when something began and ended."""
    _spans.send(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Records a number."""
    _scalars.send(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Registers callback(event, **kwargs)."""
    _events.listeners.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Registers callback(event, duration, **kwargs)."""
    _durations.listeners.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Registers callback(event, start_time, end_time, **kwargs)."""
    _spans.listeners.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Registers callback(event, value, **kwargs)."""
    _scalars.listeners.append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Unregisters a listener to events. Raises ValueError if it was not registered."""
    _events.remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Unregisters a listener to durations. Raises ValueError if it was not registered."""
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Unregisters a listener to time spans. Raises ValueError if it was not registered."""
    _spans.remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Unregisters a listener to numbers. Raises ValueError if it was not registered."""
    _scalars.remove(callback)


class _Step:
    """A block whose duration, begin and end are recorded when it ends without an error."""
    __slots__ = ("_began", "_event", "_fun_name")

    def __init__(self, event: str, fun_name: str):
        self._event, self._fun_name = event, fun_name

    def __enter__(self) -> None:
        self._began = time.time()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            ended = time.time()
            record_event_duration_secs(self._event, ended - self._began, fun_name=self._fun_name)
            record_scalar(self._event, self._began, fun_name=self._fun_name)
            record_event_time_span(self._event, self._began, ended, fun_name=self._fun_name)


class _Unwatched:
    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, *exc_info: object) -> None: ...


_UNWATCHED = _Unwatched()


def _step(event: str, fun_name: str) -> _Step | _Unwatched:
    watched = _durations.listeners or _scalars.listeners or _spans.listeners
    return _Step(event, fun_name) if watched else _UNWATCHED


def tracing(fun_name: str) -> _Step | _Unwatched:
    """A block that traces a function.

    >>> seen = []
    >>> register_event_duration_secs_listener(lambda event, duration, fun_name: seen.append((event, fun_name)))
    >>> with tracing("f"):
    ...     pass
    >>> seen
    [('/jax/core/compile/jaxpr_trace_duration', 'f')]
    >>> clear_event_listeners()
    """
    return _step("/jax/core/compile/jaxpr_trace_duration", fun_name)


def lowering(name: str) -> _Step | _Unwatched:
    """A block that makes the program that is compiled of what was traced: it is simplified."""
    return _step("/jax/core/compile/jaxpr_to_mlir_module_duration", f"jit({name})")


def compiling(name: str) -> _Step | _Unwatched:
    """A block that compiles a program."""
    return _step("/jax/core/compile/backend_compile_duration", f"jit({name})")


def clear_event_listeners() -> None:
    """Unregisters all listeners."""
    for channel in (_events, _durations, _spans, _scalars):
        channel.listeners.clear()
