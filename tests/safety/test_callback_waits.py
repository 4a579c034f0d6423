"""Callbacks that wait, directly or through other threads, for what is queued behind them."""
from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax

LONG = 60.0     # seconds, for what happens at once unless a test fails


@pytest.fixture(autouse=True)
def queued() -> Iterator[None]:
    before = _native.set_inline_limit(0.0)
    yield
    _native.set_inline_limit(before)
    _native.synchronize()


def calling(function: Callable[[], object]) -> Callable[[Any], nj.Array]:
    """A program that calls a function between reading its operand and reading it again."""
    def callback(x):
        function()
        return x
    return nj.jit(lambda x: nj.pure_callback(callback, x, x) * 0 + x)


def in_thread(function: Callable[[], Any]) -> list[Any]:
    """Runs a function in a thread and waits for it, not for ever; its result, if it came to one."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(LONG)
    return results


class Blocked:
    """A program that sits in a callback until it is let go."""

    def __init__(self, x: Any, program: Callable[[Callable[[], object]], Callable[[Any], nj.Array]] = calling):
        self.entered, self.go = threading.Event(), threading.Event()

        def wait():
            self.entered.set()
            self.go.wait(LONG)
        self.result = program(wait)(x)
        assert self.entered.wait(LONG)


def test_a_thread_that_the_callback_waits_for_may_wait_for_what_is_queued():
    x, f, seen = jnp.arange(5.0), nj.jit(lambda x: jnp.cumsum(x) * 2), []
    expected = f(x).tolist()
    queue: list[nj.Array] = []
    ready = threading.Event()

    def wait():
        assert ready.wait(LONG)
        seen.extend(in_thread(lambda: queue[-1].tolist()))
    result = calling(wait)(x)
    queue.append(f(x))
    ready.set()
    assert result.tolist() == x.tolist() and seen == [expected]


def test_a_thread_that_the_callback_waits_for_may_queue_more_than_there_is_room_for():
    x, f, seen = jnp.arange(5.0), nj.jit(lambda x: x + 1), []

    def compute():
        y = x
        for _ in range(100):
            y = f(y)
        return y.tolist()
    result = calling(lambda: seen.extend(in_thread(compute)))(x)
    assert result.tolist() == x.tolist() and seen == [[100, 101, 102, 103, 104]]


def test_what_depends_on_the_blocked_program_makes_room_slowly_and_waits():
    f = nj.jit(lambda x: x + 1)
    blocked = Blocked(jnp.arange(3.0))
    results: list[nj.Array] = []

    def compute():
        y = blocked.result
        for _ in range(40):
            y = f(y)
            results.append(y)
        return y.shape
    assert in_thread(compute) == [(3,)]
    assert not results[0].is_ready()
    blocked.go.set()
    assert results[-1].tolist() == [40, 41, 42]


def test_callbacks_that_wait_for_programs_with_callbacks_that_wait():
    def level(depth: int) -> list[float]:
        def wait():
            if depth:
                seen.append((depth, in_thread(lambda: level(depth - 1))))
        return calling(wait)(jnp.arange(3.0) + depth).tolist()
    seen: list[Any] = []
    assert level(4) == [4, 5, 6]
    assert seen == [(d, [[d - 1.0, d, d + 1]]) for d in (1, 2, 3, 4)]


def test_who_waits_for_what_depends_on_the_running_program_waits_for_its_callback():
    blocked = Blocked(jnp.arange(3.0))
    dependent = nj.jit(lambda x: x * 2)(blocked.result)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(dependent.tolist()))
    thread.start()
    other = nj.jit(lambda x: x * 3)(jnp.arange(3.0))
    assert other.tolist() == [0, 3, 6]
    assert not found and not dependent.is_ready()
    blocked.go.set()
    thread.join(LONG)
    assert found == [[0, 2, 4]]


def test_effects_keep_their_order():
    calls: list[str] = []

    def effect(name: str) -> Callable[[Callable[[], object]], Callable[[Any], nj.Array]]:
        def program(function):
            def callback(x):
                function()
                calls.append(name)
            return nj.jit(lambda x: (nj.io_callback(callback, None, x, ordered=True), x + 1)[1])
        return program
    x = jnp.arange(3.0)
    blocked = Blocked(x, effect("first"))
    second = effect("second")(lambda: None)(x)
    threads = [threading.Thread(target=second.block_until_ready)]
    threads[0].start()
    third = nj.jit(lambda x: x * 3)(x)
    assert third.tolist() == [0, 3, 6]
    assert not calls and not second.is_ready()
    blocked.go.set()
    threads[0].join(LONG)
    assert calls == ["first", "second"]


def test_nothing_is_overwritten_that_a_blocked_program_reads():
    x = jnp.arange(100_000.0) * 1
    before = x.unsafe_buffer_pointer()
    blocked = Blocked(x)
    other = nj.jit(lambda x: x.sum())(jnp.ones(7))
    taken = nj.jit(lambda x: x.at[3].set(-1.0), donate_argnums=0)(x)
    thread = threading.Thread(target=taken.block_until_ready)
    thread.start()
    assert float(other) == 7
    assert x.is_deleted() and not taken.is_ready()
    blocked.go.set()
    thread.join(LONG)
    assert np.array_equal(blocked.result, np.arange(100_000.0)) and taken[3] == -1
    assert taken.unsafe_buffer_pointer() == before


def test_callbacks_that_wait_for_each_other_get_an_error():
    errors: list[str] = []
    later: list[nj.Array] = []
    go = threading.Event()

    def wait_for(k: int) -> Callable[[], object]:
        def wait():
            assert go.wait(LONG)
            try:
                later[k].block_until_ready()
            except RuntimeError as error:
                errors.append(str(error))
        return wait
    x = jnp.arange(3.0)
    first = calling(wait_for(0))(x)
    later.append(calling(wait_for(1))(x))               # run while the first one waits for it
    later.append(nj.jit(lambda x: x * 2)(first))        # which itself waits for what needs the first one
    go.set()
    assert first.tolist() == later[0].tolist() == [0, 1, 2] and later[1].tolist() == [0, 2, 4]
    assert len(errors) == 1 and "never end" in errors[0]


def test_an_interrupted_wait_ends_what_runs_before_its_turn():
    class Expired(Exception):
        pass

    def expire(*_):
        raise Expired
    blocked = Blocked(jnp.arange(3.0))
    endless = nj.jit(lambda x: lax.while_loop(lambda s: s < 2, lambda s: s * 0.5, x))(jnp.ones(3)[0])
    before = signal.signal(signal.SIGALRM, expire)
    try:
        with pytest.raises(Expired):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            endless.block_until_ready()
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="interrupted"):
        endless.block_until_ready()
    assert not blocked.result.is_ready()
    blocked.go.set()
    assert blocked.result.tolist() == [0, 1, 2]


def test_a_callback_that_is_interrupted_while_it_waits():
    class Expired(Exception):
        pass

    def expire(*_):
        raise Expired
    endless: list[nj.Array] = []
    f = nj.jit(lambda x: lax.while_loop(lambda s: s < 2, lambda s: s * 0.5, x))

    def wait():
        while not endless:
            time.sleep(0.001)
        endless[0].block_until_ready()
    x = jnp.arange(3.0)
    start = jnp.ones(3)[0]
    result = calling(wait)(x)
    endless.append(f(start))
    before = signal.signal(signal.SIGALRM, expire)
    try:
        with pytest.raises(Expired):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            result.block_until_ready()
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="interrupted"):
        result.block_until_ready()
    before = signal.signal(signal.SIGALRM, expire)
    try:
        with pytest.raises(Expired):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            endless[0].block_until_ready()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_many_threads_with_callbacks_that_wait_and_donations(scale):
    add, overwrite = nj.jit(lambda x, y: x + y), nj.jit(lambda x: x.at[:].multiply(2.0), donate_argnums=0)
    wrong: list[Any] = []

    def work(number: int) -> None:
        rng = random.Random(number)
        for _ in range(15 * scale):
            x = jnp.asarray(np.full(50, float(number), np.float32))
            value = float(number)
            for _ in range(rng.randrange(1, 8)):
                kind = rng.randrange(4)
                if kind == 0:
                    x, value = add(x, x), 2 * value
                elif kind == 1:
                    y = add(x, jnp.ones(50))
                    x, value = overwrite(x), 2 * value
                    if set(np.asarray(y).tolist()) != {value / 2 + 1}:
                        wrong.append((number, "read"))
                elif kind == 2:
                    x = calling(lambda: in_thread(lambda: add(jnp.ones(3), jnp.ones(3)).tolist()))(x)
                else:
                    x = calling(lambda: add(jnp.ones(3), jnp.ones(3)).tolist())(x)
            if set(np.asarray(x).tolist()) != {value}:
                wrong.append((number, "result"))

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5 * LONG)
        assert not thread.is_alive()
    assert not wrong
