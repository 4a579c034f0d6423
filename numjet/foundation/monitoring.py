"""Monitoring: events that libraries record, sent to the listeners that programs register. numjet itself records how long
tracing, lowering and compiling took, and which programs the cache on disk had, under JAX's names; its other events are those of
`numjet.foundation.events`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.foundation import events

Listener = Callable[..., None]


class Channel:
    """Listeners to one kind of event. source: what tells of numjet's own events, once there are listeners."""

    def __init__(self, source: Callable[[], None]) -> None:
        self.listeners: list[Listener] = []
        self.source = source

    def add(self, listener: Listener) -> None:
        """Registers a listener."""
        self.listeners.append(listener)
        self.source()

    def send(self, *args: Any, **kwargs: Any) -> None:
        """Calls all listeners."""
        for listener in tuple(self.listeners):
            listener(*args, **kwargs)

    def remove(self, listener: Listener) -> None:
        """Unregisters a listener. Raises AssertionError, as JAX does, if it was not registered."""
        if listener not in self.listeners:
            raise AssertionError(f"monitoring: {listener!r} is not a registered listener")
        self.listeners.remove(listener)


def _hear_steps() -> None:
    events.steps = _record_step


def _hear_searches() -> None:
    events.searches = _record_search


_events, _durations, _spans, _scalars = Channel(_hear_searches), *(Channel(_hear_steps) for _ in range(3))


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
    _events.add(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Registers callback(event, duration, **kwargs)."""
    _durations.add(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Registers callback(event, start_time, end_time, **kwargs)."""
    _spans.add(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Registers callback(event, value, **kwargs)."""
    _scalars.add(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Unregisters a listener to events. Raises AssertionError if it was not registered."""
    _events.remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Unregisters a listener to durations. Raises AssertionError if it was not registered."""
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Unregisters a listener to time spans. Raises AssertionError if it was not registered."""
    _spans.remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Unregisters a listener to numbers. Raises AssertionError if it was not registered."""
    _scalars.remove(callback)


def _record_step(step: str, fun_name: str, began: float, ended: float) -> None:
    """Records that a step of tracing or compiling is done, under JAX's names."""
    event = f"/jax/core/compile/{step}_duration"
    record_scalar(event, began, fun_name=fun_name)
    record_event_duration_secs(event, ended - began, fun_name=fun_name)
    record_event_time_span(event, began, ended, fun_name=fun_name)


def _record_search(found: bool) -> None:
    """Records that a program was looked for in the cache on disk, under JAX's names."""
    record_event("/jax/compilation_cache/compile_requests_use_cache")
    record_event(f"/jax/compilation_cache/cache_{'hits' if found else 'misses'}")


def clear_event_listeners() -> None:
    """Unregisters all listeners."""
    for channel in (_events, _durations, _spans, _scalars):
        channel.listeners.clear()
    events.steps = events.searches = None
