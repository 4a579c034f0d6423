"""nj.profile: where the time of a compiled function goes."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numjet.api.aot import Compiled
from numjet.api.jit import with_stages
from numjet.core.profile_report import Measured, Profile
from numjet.foundation import events
from numjet.foundation.util import wraps
from numjet.runtime import backends, dispatch
from numjet.runtime.device import CPU

_LEAST_RUNS = 3


def profile(fun: Callable[..., Any], *, seconds: float = 0.5) -> Callable[..., Profile]:
    """Decorator: a function that takes arguments of `fun`, runs it, and returns where the time went.

    The function is compiled with clocks around its loops and library calls, and run once to warm up, then for about `seconds`
    (at least three times). Results are dropped, and donated arguments are kept. The profile prints as a table by the user's
    lines and one by statements; `save("flame.html")` writes a flame graph, `save("timeline.json")` a timeline for Perfetto.
    A loop that was fused of several lines counts with equal parts for each. Callbacks and other effects run every time.

    Raises NotImplementedError for arguments on other devices than numjet's own CPU backend, and for mutable references, which
    each run would change; ValueError where `seconds` is negative; and what tracing or compiling `fun` raises.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> found = nj.profile(lambda x: jnp.sort(jnp.sin(x)), seconds=0.01)(jnp.ones(10_000))
    >>> found.runs >= 3 and found.nanoseconds > 0
    True
    >>> {s.what for s in found.statements} >= {"whole program"}
    True
    """
    if seconds < 0:
        raise ValueError(f"profile: seconds must not be negative, got {seconds}")
    jitted = with_stages(fun)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def profiled(*args: Any, **kwargs: Any) -> Profile:
        lowered = jitted.trace(*args, **kwargs).lower()
        call = lowered.traced.call
        if call.device != CPU:
            raise NotImplementedError(f"profile: the arguments are on {call.device}, and only programs of numjet's own CPU "
                                      "backend have clocks; put them there, or use numjet.profiler.trace")
        if call.refs.touched:
            raise NotImplementedError("profile: each run would change the mutable references among the arguments; pass arrays")
        backend = backends.load_backend("cpu")
        probes = backend.Probes()
        with events.span("compile", name=call.fun_name):
            closed = dispatch.constants_computed(lowered.jaxpr, call.fun_name)
            program = backend.compile_program(closed, call.fun_name, probes=probes)
        executable = dispatch.native_executable(program, closed.in_avals, closed.out_avals, call.fun_name)
        arrays, _ = Compiled(lowered.traced, executable, lowered.jaxpr).operands(args, kwargs)
        runs = _run(executable, arrays, seconds, probes)
        return _report(call.fun_name, runs, probes)

    return profiled


def _run(executable: dispatch.Executable, arrays: list[Any], seconds: float, probes: Any) -> int:
    """Runs a program once to warm up, then for so long; how often."""
    def once() -> None:
        for out in executable(arrays):
            out.block_until_ready()

    once()
    probes.clear()
    runs, end = 0, time.monotonic() + seconds
    while runs < _LEAST_RUNS or time.monotonic() < end:
        once()
        runs += 1
    return runs


def _report(name: str, runs: int, probes: Any) -> Profile:
    totals = probes.totals()
    own = [ns for _, ns in totals]
    for probe, (_, ns) in zip(probes.probes, totals, strict=True):
        if probe.parent >= 0:
            own[probe.parent] -= ns
    statements = [Measured(p.what, p.locations, p.parent, count, ns, max(rest, 0))
                  for p, (count, ns), rest in zip(probes.probes, totals, own, strict=True)]
    return Profile(name, runs, tuple(statements), tuple(probes.events()))
