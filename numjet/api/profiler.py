"""Profiles of a process: a timeline of annotations, tracing and compilation, and a snapshot of the memory of arrays.

A timeline is written in Chrome's trace event format, which Perfetto and TensorBoard read; a snapshot in the format of pprof.
"""
from __future__ import annotations

import copy
import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from numjet.api import pprof
from numjet.api.transfer import live_arrays
from numjet.foundation import events, locks
from numjet.foundation.util import wraps

_ANNOTATION = "annotation"
_lock = locks.lock()
_active: list[_Timeline] = []


class TraceAnnotation:
    """A labelled span in the timeline: the block under this context manager, with data. Costs nothing while no trace runs.

    >>> from numjet import profiler
    >>> with profiler.TraceAnnotation("load", file="a.txt"):
    ...     pass
    """

    def __init__(self, name: str, /, **kwargs: Any):
        self.name, self.kwargs = name, kwargs

    def __enter__(self) -> TraceAnnotation:
        self._span = events.span(_ANNOTATION, label=self.name, data=self.kwargs)
        self._span.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._span.__exit__(*error)

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds data to the span, inside of the block."""
        self.kwargs.update(kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace runs, so that data for it is worth gathering."""
        return bool(_active)


class StepTraceAnnotation(TraceAnnotation):
    """A labelled span that is one step of a training loop: give its number as `step_num=`.

    >>> from numjet import profiler
    >>> with profiler.StepTraceAnnotation("train", step_num=3):
    ...     pass
    """

    def __init__(self, name: str, /, **kwargs: Any):
        super().__init__(name, step=True, **kwargs)


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """A function whose calls are spans in the timeline, under its name or another one, with data.

    >>> from numjet import profiler
    >>> profiler.annotate_function(abs, name="size")(-3)
    3
    """
    label = name or getattr(func, "__qualname__", None) or type(func).__name__

    @wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)
    return annotated


# ------------------------------------------------------------------------------------------------ timelines

class ProfileOptions:
    """What a trace shows, for start_trace. Of its settings, which have the types of their defaults, numjet reads two.

    host_tracer_level: 0: no events; 1: annotations; from 2 on all. session_id: the name of the folder of the files, default:
    the time. The others are of parts that numjet's traces do not have: Python's calls, other devices, XLA's programs.

    >>> options = ProfileOptions()
    >>> options.host_tracer_level = 1
    >>> options.python_tracer_level
    1
    """
    _DEFAULTS: Mapping[str, Any] = {
        "advanced_configuration": {}, "duration_ms": 0, "enable_hlo_proto": True, "host_tracer_level": 2,
        "include_dataset_ops": True, "python_tracer_level": 1, "raise_error_on_start_failure": False, "repository_path": "",
        "session_id": "", "start_timestamp_ns": 0}

    def __init__(self) -> None:
        for name, value in self._DEFAULTS.items():
            setattr(self, name, copy.copy(value))

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self._DEFAULTS.get(name))
        if name in self._DEFAULTS and not isinstance(value, kind):
            raise TypeError(f"ProfileOptions: {name} must be of type {kind.__name__}, got {value!r} of type "
                            f"{type(value).__name__}")
        super().__setattr__(name, value)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


class _Timeline:
    """The events of one trace, and where they go."""

    def __init__(self, folder: Path, perfetto: bool, level: int):
        self.folder, self.perfetto, self.began, self.level = folder, perfetto, time.perf_counter(), level
        self.events: list[events.Event] = []
        self.subscription = events.subscribe(self._take)

    def _take(self, event: events.Event) -> None:
        if self.level > 1 or self.level and event.name == _ANNOTATION:
            self.events.append(event)

    def write(self) -> None:
        """Ends the trace and writes its files."""
        self.subscription.close()
        text = json.dumps({"displayTimeUnit": "ns", "traceEvents": [self.entry(e) for e in self.events]}, default=str)
        names = [f"{socket.gethostname()}.trace.json.gz", *["perfetto_trace.json.gz"] * self.perfetto]
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (self.folder / name).write_bytes(gzip.compress(text.encode()))

    def entry(self, event: events.Event) -> dict[str, Any]:
        """One event of Chrome's format; times are in microseconds."""
        data = dict(event.data)
        if event.name == _ANNOTATION:
            name, data = data["label"], data["data"]
        else:
            name = " ".join([event.name, *[str(data[k]) for k in ("name", "what") if k in data]])
        begins = event.start if event.kind != "message" else event.start - event.seconds  # messages are sent at the end
        timed = {"ph": "i", "s": "t"} if event.kind == "miss" else {"ph": "X", "dur": 1e6 * event.seconds}
        return {"name": name, "cat": event.name, "ts": 1e6 * (begins - self.began), "pid": os.getpid(), "tid": event.thread,
                "args": data, **timed}


def start_trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> None:
    """Begins a timeline of the process; `stop_trace` writes it below log_dir/plugins/profile, where TensorBoard looks.

    It shows annotations, tracing, compilation and cache misses of all threads. create_perfetto_trace: also write
    perfetto_trace.json.gz, to be opened at ui.perfetto.dev.
    Raises RuntimeError if a trace runs already; NotImplementedError for create_perfetto_link; TypeError for options that are
    no ProfileOptions.
    """
    if create_perfetto_link:
        raise NotImplementedError("start_trace: create_perfetto_link would serve the file on a port of this machine, which "
                                  "numjet does not do. Pass create_perfetto_trace=True and open the file at ui.perfetto.dev.")
    options = ProfileOptions() if profiler_options is None else profiler_options
    if not isinstance(options, ProfileOptions):
        raise TypeError(f"start_trace: profiler_options must be a jax.profiler.ProfileOptions, got {options!r}")
    folder = Path(log_dir) / "plugins" / "profile" / (options.session_id or time.strftime("%Y_%m_%d_%H_%M_%S"))
    with _lock:
        if _active:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        _active.append(_Timeline(folder, create_perfetto_trace, options.host_tracer_level))


def stop_trace() -> None:
    """Ends the timeline and writes it. Raises RuntimeError if none was started."""
    with _lock:
        if not _active:
            raise RuntimeError("No profile started: call start_trace before stop_trace")
        timeline = _active.pop()
    timeline.write()


@contextmanager
def trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
          profiler_options: ProfileOptions | None = None) -> Iterator[None]:
    """Writes a timeline of a block, as start_trace and stop_trace do."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


# ------------------------------------------------------------------------------------------------ memory

def device_memory_profile(backend: str | None = None) -> bytes:
    """A snapshot of the arrays that are alive: a compressed profile for pprof, with number and bytes by type and device.

    backend: only arrays on the devices of this platform. Arrays that share memory each count in full.
    """
    return pprof.profile([(f"{x.aval} on {x.device}", int(x.nbytes)) for x in live_arrays(backend)])


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Writes `device_memory_profile` to a file; `pprof --web FILE` shows it."""
    Path(filename).write_bytes(device_memory_profile(backend))


# ------------------------------------------------------------------------------------------------ servers

def start_server(port: int, requires_backend: bool = True) -> NoReturn:
    """Not available: raises NotImplementedError with the reason."""
    raise NotImplementedError("start_server: numjet has no profiler server, as it would let anyone who reaches the port watch "
                              "this process. Write a timeline with profiler.trace(log_dir) instead.")


def stop_server() -> NoReturn:
    """Not available, as there is no server: raises ValueError."""
    raise ValueError("No active profiler server: numjet has none, see start_server")


def register_subprocess(pid: int, port: int) -> NoReturn:
    """Not available, as there is no server: raises NotImplementedError."""
    raise NotImplementedError("register_subprocess: the profile of another process is collected from its profiler server, "
                              "which numjet does not have. Write a timeline in each process with profiler.trace(log_dir).")
