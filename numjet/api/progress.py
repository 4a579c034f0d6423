"""Progress bars of loops that run in compiled programs.

The loop carries two counts: how many steps were made, and at which the bar is to be drawn next. A step compares them, and calls
Python when that count is reached; Python answers with the next one, so that a bar is drawn about twenty times a second, however
long steps take. Bars are those of tqdm (https://tqdm.github.io).
"""
from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numjet.api.stages import eval_shape
from numjet.control.branches.cond import cond
from numjet.control.host.progress_op import COUNT, of_all_lanes, reporter
from numjet.control.loops.checkpoint_scan import checkpoint_scan
from numjet.control.loops.scan import scan, scan_length
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation import lazy_import, locks, tree
from numjet.foundation.util import wraps
from numjet.lax.elementwise.convert import convert_element_type_p

tqdm = lazy_import.Module("tqdm.auto")

PERIOD = 0.05          # seconds between two drawings
_OPEN_BARS = 64        # bars of one call that are open at a time; programs that failed leave theirs
_LAST = np.iinfo(COUNT).max


class _Run(NamedTuple):
    """A bar, and when and how it was drawn last."""
    bar: Any
    drawn: float
    steps: int
    stride: int


class Bars:
    """The bars of one call of a loop, one per run of the loop: programs may run many times, and in several threads at once.

    make: called with `total` for each bar; every: steps between drawings, or None to draw by the clock.
    """

    def __init__(self, make: Callable[..., Any], every: int | None):
        self.make, self.every = make, every
        self._runs: dict[int, _Run] = {}
        self._numbers = itertools.count()
        self._lock = locks.lock()

    def start(self, total: Any) -> list[np.int32]:
        """Draws a new bar of `total` steps (-1: not known). Returns the number of the run, and the count to be drawn first."""
        known = int(total)
        bar = self.make(total=known if known >= 0 else None)
        with self._lock:
            number = next(self._numbers) % _LAST
            self._runs[number] = _Run(bar, time.perf_counter(), 0, self.every or 1)
            left = [self._runs.pop(next(iter(self._runs))) for _ in range(len(self._runs) - _OPEN_BARS)]
        for run in left:
            run.bar.close()
        return [np.int32(number), np.int32(self.every or 1)]

    def step(self, number: Any, count: Any) -> list[np.int32]:
        """Draws `count` steps. Returns the count to be drawn next."""
        done, now = int(count), time.perf_counter()
        with self._lock:
            run = self._runs.get(int(number))
            if run is None or done <= run.steps:   # steps that reverse mode computes again
                return [np.int32(_LAST)]
            stride = self.every or _stride(run, now - run.drawn, done - run.steps)
            self._runs[int(number)] = _Run(run.bar, now, done, stride)
        run.bar.update(done - run.steps)
        return [np.int32(min(done + stride, _LAST))]

    def finish(self, number: Any, count: Any, _due: Any = None) -> list[np.int32]:
        """Draws the last count, and closes the bar."""
        with self._lock:
            run = self._runs.pop(int(number), None)
        if run is not None:
            run.bar.update(max(int(count) - run.steps, 0))
            run.bar.close()
        return []


def _stride(run: _Run, seconds: float, steps: int) -> int:
    """As many steps as take PERIOD at the speed of the last ones; at most twice as many as before, as first steps are slow."""
    return max(1, min(2 * run.stride, int(steps * PERIOD / max(seconds, 1e-9))))


class _Counter:
    """The operations by which a loop draws a bar."""

    def __init__(self, bars: Bars):
        self._start, self._step = reporter(bars.start, 1, 2), reporter(bars.step, 2, 1)
        self._finish = reporter(bars.finish, 3, 0)

    def begin(self, total: Any) -> tuple[Any, tuple[Any, Any]]:
        """The number of a new run, and what the loop carries: steps made, and the count to be drawn next."""
        number, due = self._start(_count(total))
        return number, (np.int32(0), due)

    def step(self, number: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """What the loop carries after one more step."""
        count, due = of_all_lanes(state[0]), of_all_lanes(state[1])
        count = count + (count < _LAST).astype(COUNT)
        return count, cond(count >= due, lambda: self._step(number, count)[0], lambda: due)

    def end(self, number: Any, state: tuple[Any, Any]) -> None:
        self._finish(number, *state)   # of the count alone, which is known before, XLA would run it before the steps


def _count(total: Any) -> Any:
    return convert_element_type_p.bind(total, new_dtype=COUNT, weak_type=False)


# ------------------------------------------------------------------------------------------------------------- the loops

def _scan(loop: Callable[..., Any], counter: _Counter, total: int | None, f: Callable[[Any, Any], tuple[Any, Any]], init: Any,
          xs: Any = None, length: int | None = None, *args: Any, **options: Any) -> tuple[Any, Any]:
    steps = scan_length(*tree.tree_flatten(xs), length)
    number, state = counter.begin(steps if total is None else total)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        value, state = carry
        value, result = f(value, x)
        return (value, counter.step(number, state)), result

    (value, state), results = loop(step, (init, state), xs, length, *args, **options)
    counter.end(number, state)
    return value, results


def _fori_loop(loop: Callable[..., Any], counter: _Counter, total: int | None, lower: Any, upper: Any,
               body_fun: Callable[[Any, Any], Any], init_val: Any, **options: Any) -> Any:
    number, state = counter.begin(_at_least_0(upper - lower) if total is None else total)

    def step(i: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        value, state = carry
        return body_fun(i, value), counter.step(number, state)

    value, state = loop(lower, upper, step, (init_val, state), **options)
    counter.end(number, state)
    return value


def _at_least_0(steps: Any) -> Any:
    return steps * (steps > 0)


def _while_loop(loop: Callable[..., Any], counter: _Counter, total: int | None, cond_fun: Callable[[Any], Any],
                body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    number, state = counter.begin(-1 if total is None else total)
    value, state = loop(lambda carry: cond_fun(carry[0]),
                        lambda carry: (body_fun(carry[0]), counter.step(number, carry[1])), (init_val, state))
    counter.end(number, state)
    return value


_LOOPS: dict[Any, Callable[..., Any]] = {scan: _scan, checkpoint_scan: _scan, fori_loop: _fori_loop, while_loop: _while_loop}


def progress(loop: Callable[..., Any], *, total: int | None = None, every: int | None = None,
             bar: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """The same loop with a progress bar: `nj.progress(lax.scan)(f, init, xs)` returns what `lax.scan(f, init, xs)` does.

    Args:
      loop: `lax.scan`, `lax.fori_loop`, `lax.while_loop` or `checkpoint_scan`.
      total: the number of steps that the bar expects. By default that of the loop; a `while_loop` has none.
      every: draw the bar every so many steps. By default about twenty times a second.
      bar: makes a bar: called with total= and `options`, it returns an object with the methods update(steps) and close().
        By default `tqdm.auto.tqdm`, which draws in terminals and notebooks.
      options: arguments of `bar`, such as desc="training" or leave=False.

    The bar is drawn while the program runs, under `jit` too. Under `vmap` it is one bar, which shows the element that takes
    most steps; derivatives draw the forward pass. Each step compares two integers; programs wait while a bar is drawn.

    Raises:
      ImportError: when tqdm is not installed, and no `bar` given.
      TypeError: for functions other than these loops.
      ValueError: when `every` or `total` is no positive number.

    >>> import numjet as nj
    >>> from numjet import lax
    >>> import sys
    >>> train = lambda x: nj.progress(lax.scan, desc="training", file=sys.stderr)(lambda x, _: (x / 2, None), x, length=1000)[0]
    >>> nj.jit(train)(1.0).item()
    0.0
    """
    wrapped = _LOOPS.get(loop) if callable(loop) else None
    if wrapped is None:
        raise TypeError(f"progress expects a loop (lax.scan, lax.fori_loop, lax.while_loop or checkpoint_scan) and returns it "
                        f"with a bar, got {loop!r}: write progress(lax.scan)(f, init, xs)")
    for name, value in (("every", every), ("total", total)):
        if value is not None and not (isinstance(value, (int, np.integer)) and value > 0):
            raise ValueError(f"progress: {name} must be a positive integer or None, got {value!r}")
    make = functools.partial(_tqdm() if bar is None else bar, **options)

    @wraps(loop)
    def with_bar(*args: Any, **kwargs: Any) -> Any:
        try:
            return wrapped(loop, _Counter(Bars(make, every)), total, *args, **kwargs)
        except (TypeError, ValueError) as error:
            failure = error
        _refused(loop, args, kwargs)
        raise failure

    return with_bar


def _tqdm() -> Callable[..., Any]:
    try:
        made: Callable[..., Any] = tqdm.tqdm
    except ImportError:
        raise ImportError("progress draws its bars by tqdm, which is not installed: `pip install tqdm`, or pass bar=, a "
                          "function that makes an object with the methods update(steps) and close()") from None
    return made


def _refused(loop: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises what the loop itself says of its arguments, in words that fit the user's carry rather than one with counts."""
    eval_shape(lambda: loop(*args, **kwargs))
