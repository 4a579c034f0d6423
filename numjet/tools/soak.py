"""Soak test: very many mixed calls, and whether memory stays flat. New shapes, fresh lambdas, exceptions, gradients, maps,
callbacks, random numbers, indices, donations, threads, queued and interrupted programs.

    python -m numjet.tools.soak --calls 1000000

Prints a table, and exits with 1 when the resident memory of the second half, after the warm-up, is more than 5 % above that of
the first. Caches of programs are given less room than usual, so that all of them turn over several times.
"""
from __future__ import annotations

import argparse
import contextlib
import gc
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, random
from numjet.api import jit as jit_module
from numjet.core import aval
from numjet.foundation import memo
from numjet.runtime import dispatch, eager

WARM_UP = 0.3      # of all calls
GROWTH = 0.05      # of resident memory that counts as flat
SAMPLES = 40
ROOM = 1 << 24     # bytes of programs per cache during the run
LARGE = 400_000
_MIB = 1 << 20


class Calls:
    """The kinds of calls. Each method makes one, and checks its result where that is cheap."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.x, self.large, self.key = jnp.arange(64.0), jnp.ones(LARGE), random.key(seed)
        self.step = nj.jit(lambda x: jnp.sin(x) * 2 + 1)
        self.slope = nj.jit(nj.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))
        self.rows = nj.jit(nj.vmap(lambda row: row / (1 + jnp.sum(row))))
        self.total = nj.jit(lambda x: jnp.sum(x * 2))
        self.taken = nj.jit(lambda x: x + 1, donate_argnums=0)
        self.asks = nj.jit(lambda x: nj.pure_callback(_double, nj.ShapeDtypeStruct((64,), np.float32), x))
        self.fails = nj.jit(lambda x: nj.pure_callback(_fail, nj.ShapeDtypeStruct((), np.float32), x))
        self.endless = nj.jit(lambda x: nj.lax.while_loop(lambda c: c >= 0, lambda c: c * 0 + 1, x))

    def cached(self) -> None:
        self.step(self.x)

    def small(self) -> None:
        (self.x + self.x) * 2 - 1

    def operation(self) -> None:
        jnp.maximum(self.x, jnp.cumsum(self.x))

    def index(self) -> None:
        self.x[int(self.rng.integers(64))]

    def slice_of_a_new_length(self) -> None:
        assert self.large[: int(self.rng.integers(1, 60_000))].ndim == 1

    def update(self) -> None:
        self.x.at[int(self.rng.integers(64))].set(1.0)

    def gradient(self) -> None:
        self.slope(self.x)

    def mapped(self) -> None:
        self.rows(self.x.reshape(8, 8))

    def random(self) -> None:
        random.normal(random.fold_in(self.key, int(self.rng.integers(1 << 30))), (16,))

    def donated(self) -> None:
        given = jnp.array(self.x)
        self.taken(given)
        assert given.is_deleted()

    def callback(self) -> None:
        self.asks(self.x)

    def flagged(self) -> None:
        with nj.enable_x64(), nj.debug_nans(True):
            self.x * 2

    def shapes_that_do_not_fit(self) -> None:
        _raises(TypeError, lambda: self.x + jnp.ones(3))

    def index_out_of_reach(self) -> None:
        _raises(IndexError, lambda: self.x[1, 2])

    def failing_callback(self) -> None:
        _raises(Exception, lambda: self.fails(1.0).block_until_ready())

    def failing_trace(self) -> None:
        _raises(nj.errors.TracerBoolConversionError, lambda: nj.jit(lambda x: 1 if x else 0)(1.0))

    def queued(self) -> None:
        self.step(self.step(self.large))[0].block_until_ready()

    def queued_and_forgotten(self) -> None:
        self.step(self.large)

    def threads(self) -> None:
        others = [threading.Thread(target=lambda: (self.step(self.x), self.x + 1)) for _ in range(2)]
        for one in others:
            one.start()
        for one in others:
            one.join()

    def interrupted(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        with contextlib.suppress(_Enough), _interrupt_after(0.005):  # a second signal may come after the wait
            _raises(_Enough, lambda: self.endless(1.0).block_until_ready())
        # A signal between the call and the wait leaves the program running, which only an interrupted wait can end.
        ended = False
        while not ended:
            with contextlib.suppress(Exception), _interrupt_after(0.005):
                _native.synchronize()
                ended = True

    # -- calls that compile
    def new_shape(self) -> None:
        self.total(np.ones(int(self.rng.integers(1, 20_000)), np.float32))

    def fresh_lambda(self) -> None:
        factor = float(self.rng.random())
        nj.jit(lambda x: x * factor + 1)(self.x)

    def fresh_gradient(self) -> None:
        weights = self.x * float(self.rng.random())
        nj.jit(nj.grad(lambda x: jnp.sum(jnp.cos(x) * weights)))(self.x)

    def fresh_loop(self) -> None:
        step = float(self.rng.random())
        nj.lax.fori_loop(0, 5, lambda i, x: x * step, self.x)

    def fresh_map(self) -> None:
        shift = self.rng.random()
        nj.vmap(lambda x: x + shift)(self.x)

    def fresh_callback(self) -> None:
        shape = nj.ShapeDtypeStruct((), np.float32)
        nj.jit(lambda x: nj.pure_callback(lambda v: np.float32(v), shape, x))(1.0)


CHEAP = ("cached small operation index slice_of_a_new_length update gradient mapped random donated callback flagged "
         "shapes_that_do_not_fit index_out_of_reach").split()
COSTLY = {"failing_callback": 400, "queued": 300, "queued_and_forgotten": 300, "threads": 500, "interrupted": 2000,
          "failing_trace": 500, "new_shape": 600, "fresh_lambda": 800, "fresh_gradient": 2000, "fresh_loop": 1500,
          "fresh_map": 500, "fresh_callback": 2000}  # one in so many calls


class _Enough(Exception):
    """The exception of the signal's handler."""


def _double(x: Any) -> Any:
    return np.asarray(x) * 2


def _fail(x: Any) -> Any:
    raise ArithmeticError("on purpose")


def _raises(kind: type[Exception], call: Callable[[], Any]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}, nothing was raised")


def _enough(*_: Any) -> None:
    raise _Enough


@contextlib.contextmanager
def _interrupt_after(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _enough)
    # Python drops an exception of a handler within a finalizer, so the signal is repeated.
    signal.setitimer(signal.ITIMER_REAL, seconds, 2.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def cache_sizes() -> dict[str, int]:
    """The numbers of entries in the package's caches."""
    sizes: Counter[str] = Counter({"avals": len(aval._table), "eager": len(eager._known)})
    for one in list(memo.memos):
        sizes[one.name] += len(one)
    return dict(sizes)


def plan(calls: int, seed: int) -> Iterator[str]:
    """The kinds of calls in order: the cheap ones at random, the costly ones evenly spread."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(CHEAP), size=calls)
    for n in range(calls):
        due = [name for k, (name, every) in enumerate(COSTLY.items()) if n % every == 10 + 3 * k]  # never two in step
        yield from due[:1] or [CHEAP[picks[n]]]


def run(calls: int, seed: int = 0, report: Callable[[str], Any] = print) -> list[tuple[int, int]]:
    """Makes the calls; returns (calls, resident bytes) at every sample. The rows of the table go to `report`."""
    jit_module._BYTES_PER_FUNCTION, dispatch._operations.most_bytes = ROOM, ROOM
    kinds, samples, start = Calls(seed), [], time.monotonic()
    report(f"{'calls':>9} {'seconds':>8} {'MiB':>8} {'arrays':>7}  caches")
    every = max(1, calls // SAMPLES)
    for n, name in enumerate(plan(calls, seed), 1):
        try:
            getattr(kinds, name)()
        except Exception as error:
            raise RuntimeError(f"call {n} of seed {seed}, {name}, failed") from error
        if n % every == 0:
            nj.effects_barrier()
            gc.collect()
            samples.append((n, resident()))
            caches = ", ".join(f"{k} {v}" for k, v in sorted(cache_sizes().items()))
            report(f"{n:9} {time.monotonic() - start:8.0f} {samples[-1][1] / _MIB:8.1f} {len(nj.live_arrays()):7}  {caches}")
    return samples


def growth(samples: list[tuple[int, int]]) -> float:
    """The growth of the largest sample from the first half to the second, after the warm-up; 0.05 is 5 %."""
    warm = [bytes_ for n, bytes_ in samples if n > WARM_UP * samples[-1][0]]
    half = len(warm) // 2
    return max(warm[half:]) / max(warm[:half]) - 1


def main() -> int:
    """1 when memory is not flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.calls < 100:
        parser.error("--calls: expected at least 100, to tell a warm-up from what follows")
    found = growth(run(given.calls, given.seed, lambda row: print(row, flush=True)))
    flat = found <= GROWTH
    print(f"resident memory after the warm-up: {found:+.1%} ({'flat' if flat else f'not flat: more than {GROWTH:.0%}'})")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
