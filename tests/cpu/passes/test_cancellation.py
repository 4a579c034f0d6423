"""Ctrl-C ends loops, wherever they run; loops that are short do not ask."""
from __future__ import annotations

import os
import signal
import threading

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import For, While
from numjet.cpu.ir.traversal import static_trips, walk
from numjet.cpu.native_code import jit
from numjet.cpu.passes import cancellation
from numjet.cpu.target import LIMITED, from_features

ENOUGH_NS = 2_000_000_000   # iterations that take longer than a test may


@pytest.fixture
def ctrl_c():
    """Calls a function that only Ctrl-C can end: pressed again and again, as the first one may come too early."""
    ended = threading.Event()

    def handle(*_):
        if not ended.is_set():
            raise KeyboardInterrupt

    def press():
        while not ended.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    def interrupt(f, *args):
        ended.clear()
        thread = threading.Thread(target=press)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            try:
                f(*args)
            finally:
                ended.set()
        thread.join()

    before = signal.signal(signal.SIGINT, handle)
    yield interrupt
    ended.set()
    signal.signal(signal.SIGINT, before)


def forever(x):
    return lax.while_loop(lambda s: s < 2.0, lambda s: s * 0.5, x)


def long(n):
    return lax.fori_loop(0, n, lambda i, s: s * 0.999 + i, 1.0)


def asking(f, *args):
    """How many loops of a function ask."""
    return polling(compiler.planned(nj.make_jaxpr(f)(*args), "main"))


def polling(function):
    return sum(isinstance(s, For | While) and s.cancellation_point is not None for s in walk(function.body))


@pytest.mark.parametrize(("f", "x"), [
    (nj.jit(forever), 1.0),
    (nj.jit(nj.vmap(forever)), jnp.linspace(1, 3, 4)),
    (nj.jit(nj.vmap(forever)), jnp.linspace(1, 3, 100_000)),
    (nj.jit(lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=ENOUGH_NS)[0]), 1.0),
    (nj.jit(lambda x: lax.cond(x > 0, forever, lambda x: x, x)), 1.0),
    (nj.jit(lambda x: lax.fori_loop(0, 10, lambda j, y: lax.fori_loop(0, ENOUGH_NS // 4, lambda i, s: jnp.sin(s), y), x)), 1.0),
    (forever, 1.0),
], ids=["while", "lanes", "threads", "scan", "branch", "nested", "eager"])
def test_queued_programs_are_ended(ctrl_c, f, x):
    result = f(x)
    ctrl_c(result.block_until_ready)
    _native.synchronize()   # the queue is free again


def test_programs_that_ran_quickly_before_are_ended(ctrl_c):
    f, g = nj.jit(long), nj.jit(nj.vmap(forever))
    f(10).block_until_ready()
    ctrl_c(lambda: f(ENOUGH_NS).block_until_ready())
    assert float(f(2)) == pytest.approx(0.999 * 0.999 + 1)
    g(jnp.full(1000, 3.0)).block_until_ready()
    ctrl_c(lambda: g(jnp.ones(1000)).block_until_ready())


def test_interrupted_results_say_so(ctrl_c):
    result = nj.jit(forever)(1.0)
    ctrl_c(_native.synchronize)
    with pytest.raises(RuntimeError, match=r"interrupted .Ctrl-C.*call the function again"):
        float(result)
    with pytest.raises(RuntimeError, match="interrupted"):
        (result + 1).block_until_ready()


def test_any_signal_handler_that_raises_ends_loops():
    class Expired(Exception):
        pass

    def expire(*_):
        raise Expired
    before = signal.signal(signal.SIGALRM, expire)
    try:
        f = nj.jit(long)
        f(10).block_until_ready()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Expired):
            f(ENOUGH_NS).block_until_ready()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_the_first_call_of_an_open_ended_program_is_queued_and_short_ones_run_at_once():
    f = nj.jit(lambda n: long(n) + 17)   # no program that ran before

    def queued(n: int) -> int:
        before = _native.counters()["enqueued"]
        f(n).block_until_ready()
        return _native.counters()["enqueued"] - before
    assert queued(5) == 1
    assert 0 in [queued(6) for _ in range(20)]   # a call that was interrupted counts as long, and has the next one queued


def test_which_loops_ask():
    assert asking(forever, 1.0) == 1
    assert asking(long, 3) == 1
    assert asking(lambda x: lax.fori_loop(0, 100, lambda i, s: jnp.sin(s), x), 1.0) == 0
    assert asking(lambda x: lax.fori_loop(0, ENOUGH_NS, lambda i, s: jnp.sin(s), x), 1.0) == 1
    assert asking(lambda x: jnp.sin(x).sum(), jnp.ones(10_000_000)) == 0


def test_parts_of_shared_loops_do_not_ask(monkeypatch):
    monkeypatch.setattr(jit, "host", lambda: from_features(*LIMITED["avx512"], "x86_64"))  # the cut depends on its costs
    function = compiler.planned(nj.make_jaxpr(lambda x: x.transpose(0, 2, 3, 1) * 2)(jnp.ones((64, 128, 8, 64))), "main")
    assert any(isinstance(s, For) and s.mode == "parallel" for s in walk(function.body))
    parts = [s for s in walk(function.body) if isinstance(s, For) and s.mode == "serial" and static_trips(s) is None]
    assert parts and not cancellation.open_ended(function) and not polling(function)


def test_loops_of_short_programs_do_not_ask():
    function = compiler.planned(nj.make_jaxpr(lambda x: lax.fori_loop(0, ENOUGH_NS, lambda i, s: jnp.sin(s), x))(1.0), "main")
    assert polling(function)
    cancellation.mark(function, jit.host(), cancellation.LONG_NS)
    assert not polling(function)
