"""nj.benchmark: times of a compiled function, beside the limits of the machine."""
from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.api import costs
from numjet.api.aot import Lowered
from numjet.api.jit import jit, with_stages
from numjet.api.transfer import block_until_ready, device_put
from numjet.core.benchmark_report import Benchmark, Limits
from numjet.core.walk import all_eqns
from numjet.foundation import events
from numjet.foundation.tree import tree_leaves, tree_map
from numjet.foundation.util import wraps
from numjet.lax.contraction.dot import dot_general
from numjet.runtime import backends
from numjet.runtime.device import CPU, Device

_LEAST_CALLS = 5
_LEAST_SECONDS = 100e-6   # of a run of calls, so that the clock's own time does not count
_MATRIX = 1024            # rows of the product that measures arithmetic
_ARRAY_BYTES = 1 << 27    # of the array that measures memory: at least this, and four times the caches
_TRIES = 7


def benchmark(fun: Callable[..., Any], *, seconds: float = 0.5) -> Callable[..., Benchmark]:
    """Decorator: a function that takes arguments of `fun`, and measures its calls.

    `fun` is compiled, unless it is jitted already, called until its best code is in use, and then for about `seconds`, at least
    five times; each call is waited for. The result has the median and the spread, the time to trace and to compile apart, and
    what the calls reach of the machine's limits in operations and bytes per second, which the first benchmark of a process
    measures. `print` shows a table, `save("roofline.png")` draws it with Matplotlib. Donated arguments are copied before each
    call, outside of the clock; callbacks and other effects run every time.

    Raises TypeError for what cannot be called, ValueError where `seconds` is negative, NotImplementedError for mutable
    references, which each call would change, and what `fun` raises.

    Source of the roofline: Williams, Waterman and Patterson, Roofline: an insightful visual performance model for multicore
    architectures, CACM 52(4), 2009.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> found = nj.benchmark(lambda x: jnp.sum(jnp.sin(x) * 2), seconds=0.01)(jnp.ones(1000))
    >>> found.operations, found.moved, len(found.times) >= 5
    (3000.0, 4004.0, True)
    """
    if seconds < 0:
        raise ValueError(f"benchmark: seconds must not be negative, got {seconds}")
    jitted = with_stages(fun)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def measured(*args: Any, **kwargs: Any) -> Benchmark:
        backends.load_backend("cpu")   # importing the compiler is no part of compiling
        start = time.perf_counter()
        traced = jitted.trace(*args, **kwargs)
        trace = time.perf_counter() - start
        call = traced.call
        if call.refs.touched:
            raise NotImplementedError("benchmark: each call would change the mutable references among the arguments; pass "
                                      "arrays")
        lowered, compiling, cached = _compiled(traced)
        run, loops = _runner(jitted, args, kwargs, any(call.donated))
        counts, equations = costs.operations(lowered.jaxpr.jaxpr), all_eqns(lowered.jaxpr.jaxpr)
        avals = (*lowered.jaxpr.in_avals, *lowered.jaxpr.out_avals)
        limits = _limits(_arithmetic_dtype(avals), _device(call.device), _native.num_threads())
        return Benchmark(
            name=call.fun_name, times=_times(run, loops, seconds), loops=loops, trace=trace, compile=compiling, cached=cached,
            operations=float(counts.total()), open_ended=any(eqn.primitive.name == "while" for eqn in equations),
            moved=float(sum(a.nbytes for a in avals)), limits=limits)

    return measured


def _compiled(traced: Any) -> tuple[Lowered, float, bool]:
    """The simplified program, the seconds that it takes to simplify and compile it, and whether its code was stored."""
    start = time.perf_counter()
    with events.counting() as grown:
        lowered = traced.lower()
        lowered.compile()
    return lowered, time.perf_counter() - start, bool(grown.get("stored_program.hit") or grown.get("cache.hit"))


def _runner(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
            donates: bool) -> tuple[Callable[[], float], int]:
    """What measures one run of calls in seconds, once the best code is in use, and how many calls that is."""
    def once() -> float:
        a, k = _copies((args, kwargs)) if donates else (args, kwargs)
        start = time.perf_counter()
        block_until_ready(fun(*a, **k))
        return time.perf_counter() - start

    for _ in range(3):   # the first one compiles, the second one asks for better code
        once()
    backends.load_backend("cpu").tiers.finish()
    least = min(once() for _ in range(3))
    loops = 1 if donates else max(1, math.ceil(_LEAST_SECONDS / max(least, 1e-9)))

    def several() -> float:
        start = time.perf_counter()
        for _ in range(loops):
            block_until_ready(fun(*args, **kwargs))
        return (time.perf_counter() - start) / loops
    return (once if loops == 1 else several), loops


def _times(run: Callable[[], float], loops: int, seconds: float) -> tuple[float, ...]:
    """The seconds of calls, measured for so long."""
    times: list[float] = []
    end = time.monotonic() + seconds
    while len(times) < _LEAST_CALLS or time.monotonic() < end:
        times.append(run())
    return tuple(times)


def _copies(tree: Any) -> Any:
    """The pytree with copies of its arrays, which are there."""
    return block_until_ready(tree_map(lambda x: device_put(x, may_alias=False) if isinstance(x, _native.Array) else x, tree))


def _arithmetic_dtype(avals: Any) -> str:
    """The dtype whose arithmetic is the limit of a program with these operands."""
    return "float64" if any(a.dtype.name in ("float64", "complex128") for a in avals) else "float32"


def _device(device: Any) -> Device:
    return device if isinstance(device, Device) else CPU


# --- the limits of the machine

@functools.cache
def _limits(dtype: str, device: Device, threads: int) -> Limits:
    here = device == CPU
    cache = _native.caches("")[-1] if here else 0
    matrix = device_put(np.full((_MATRIX, _MATRIX), 1.0 / _MATRIX, dtype), device)
    # float32 in any case: what memory moves does not depend on the dtype.
    array = device_put(np.ones(max(_ARRAY_BYTES, 4 * cache) // 4, np.float32), device)
    product = jit(lambda a: dot_general(a, a, (((1,), (0,)), ((), ()))))
    return Limits(dtype, 2.0 * _MATRIX ** 3 / _best(product, matrix), 2.0 * array.nbytes / _best(jit(lambda x: x + 1), array),
                  cache, f"{threads} threads" if here else str(device))


def _best(fun: Callable[[Any], Any], x: Any) -> float:
    """The seconds of the fastest of a few calls."""
    found = math.inf
    for _ in range(_TRIES):
        start = time.perf_counter()
        tree_leaves(fun(x))[0].block_until_ready()
        found = min(found, time.perf_counter() - start)
    return found
