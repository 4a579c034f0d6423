"""nj.progress: results of the loop, one bar per run, bounded numbers of updates, under every transformation."""
from __future__ import annotations

import io
import sys
import threading
from typing import ClassVar

import numpy as np
import pytest

import numjet as nj
from numjet import lax, numpy as jnp
from numjet.api import progress as module
from numjet.api.progress import Bars, progress
from numjet.errors import JaxRuntimeError


class Bar:
    """Counts what a bar is told."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, total=None, **options):
        self.total, self.options, self.updates, self.closed = total, options, [], 0
        Bar.made.append(self)

    def update(self, steps):
        assert not self.closed
        self.updates.append(steps)

    def close(self):
        self.closed += 1


@pytest.fixture(autouse=True)
def _fresh_bars():
    Bar.made.clear()


def one_bar(steps, total, updates=None):
    nj.effects_barrier()
    (bar,) = Bar.made
    assert sum(bar.updates) == steps and bar.closed == 1 and bar.total == total
    assert updates is None or len(bar.updates) == updates
    Bar.made.clear()


def scanned(loop, x, n=20):
    return loop(lambda c, _: (c * 1.25, jnp.sin(c)), x, length=n)


def ranged(loop, x, n=20):
    return loop(0, n, lambda i, c: jnp.sin(c) + i, x)


def until(loop, x, limit=1000.0):
    return loop(lambda c: c < limit, lambda c: c * 2.0, x)


PROGRAMS = {"scan": (scanned, lax.scan, 20, 20), "fori_loop": (ranged, lax.fori_loop, 20, 20),
            "while_loop": (until, lax.while_loop, 10, None)}
MODES = {
    "eager": lambda f: f,
    "jit": nj.jit,
    "vmap": lambda f: lambda x: nj.vmap(f)(jnp.stack([x, x, x])),
    "jit of vmap of vmap": lambda f: nj.jit(lambda x: nj.vmap(nj.vmap(f))(jnp.full((2, 3), x))),
    "grad": lambda f: nj.grad(lambda x: sum(map(jnp.sum, nj.tree.leaves(f(x))))),
    "jit of grad": lambda f: nj.jit(nj.grad(lambda x: sum(map(jnp.sum, nj.tree.leaves(f(x)))))),
    "jvp": lambda f: lambda x: nj.jvp(f, (x,), (x,)),
    "jit of vmap of grad": lambda f: nj.jit(lambda x: nj.vmap(nj.grad(lambda x: nj.tree.leaves(f(x))[0]))(jnp.stack([x, x]))),
    "checkpoint": lambda f: nj.jit(nj.grad(lambda x: nj.tree.leaves(nj.checkpoint(f)(x))[0])),
    "linearize": lambda f: lambda x: nj.linearize(f, x)[0],
    "cond": lambda f: nj.jit(lambda x: lax.cond(x > 0, f, lambda x: nj.tree.map(jnp.zeros_like, f(x)), x)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_loop_and_one_bar_counts_its_steps(name, mode):
    program, loop, steps, total = PROGRAMS[name]
    x = jnp.float32(1.0)
    wanted = MODES[mode](lambda x: program(loop, x))(x)
    got = MODES[mode](lambda x: program(progress(loop, bar=Bar, every=1), x))(x)
    nj.tree.map(np.testing.assert_array_equal, got, wanted)
    shown = [bar for bar in Bar.made if bar.updates and bar.closed]
    Bar.made[:] = shown[:1]        # a checkpoint computes the loop again, with a bar
    one_bar(steps, total, steps + 1)


def test_each_run_has_its_own_bar():
    f = nj.jit(lambda x: scanned(progress(lax.scan, bar=Bar, every=4), x)[0])
    for _ in range(3):
        f(1.0).block_until_ready()
        one_bar(20, 20, 6)


def test_lanes_that_end_at_different_steps_share_a_bar():
    f = nj.jit(nj.vmap(lambda x, limit: until(progress(lax.while_loop, bar=Bar, every=1), x, limit)))
    assert f(jnp.ones(3), jnp.array([10.0, 1000.0, 100.0])).tolist() == [16.0, 1024.0, 128.0]
    one_bar(10, None, 11)


def test_bounds_that_differ_between_lanes():
    f = nj.jit(nj.vmap(lambda x, n: progress(lax.fori_loop, bar=Bar, every=1)(1, n, lambda i, c: c + i, x)))
    assert f(jnp.zeros(3), jnp.array([3, 6, 1])).tolist() == [3.0, 15.0, 0.0]
    one_bar(5, 5, 6)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("n", [-3, 0, 1, 7])
def test_traced_bounds(n, x64):
    with nj.enable_x64(x64):
        f = nj.jit(lambda n: progress(lax.fori_loop, bar=Bar, every=1)(0, n, lambda i, c: c + i, 0))
        assert int(f(n)) == sum(range(n))
    one_bar(max(n, 0), max(n, 0))


@pytest.mark.parametrize("options", [{"reverse": True}, {"unroll": 3}, {"unroll": True}])
def test_options_of_scan(options):
    xs = jnp.arange(11.0)
    f = lambda c, x: (c + x, c * x)
    wanted = lax.scan(f, 0.0, xs, **options)
    got = nj.jit(lambda xs: progress(lax.scan, bar=Bar, every=1)(f, 0.0, xs, **options))(xs)
    nj.tree.map(np.testing.assert_array_equal, got, wanted)
    one_bar(11, 11, 12)


def test_loops_in_loops():
    inner = lambda c, _: (scanned(progress(lax.scan, bar=Bar, every=1), c, 4)[0], None)
    nj.jit(lambda x: progress(lax.scan, bar=Bar, every=1)(inner, x, length=3)[0])(1.0).block_until_ready()
    nj.effects_barrier()
    assert [(sum(bar.updates), bar.closed) for bar in Bar.made] == [(3, 1), (4, 1), (4, 1), (4, 1)]


@pytest.mark.parametrize("differentiate", [False, True])
def test_checkpoint_scan_draws_no_step_twice(differentiate):
    f = lambda x: progress(nj.checkpoint_scan, bar=Bar, every=1)(lambda c, _: (jnp.sin(c), None), x, length=20, budget=3)[0]
    plain = lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, length=20)[0]
    change = nj.grad if differentiate else lambda f: f
    np.testing.assert_allclose(nj.jit(change(f))(1.0), change(plain)(1.0), rtol=1e-6)
    one_bar(20, 20, 21)


def test_bodies_that_are_computed_again_draw_no_step_twice():
    body = nj.checkpoint(lambda c, _: (jnp.sin(c), None))
    nj.jit(nj.grad(lambda x: progress(lax.scan, bar=Bar, every=1)(body, x, length=20)[0]))(1.0).block_until_ready()
    one_bar(20, 20, 21)


def test_without_jit_transformations_are_python_loops():
    with nj.disable_jit():
        assert float(scanned(progress(lax.scan, bar=Bar, every=1), 1.0)[0]) == pytest.approx(1.25**20, rel=1e-5)
    one_bar(20, 20, 21)


def test_xla_draws_too():
    pytest.importorskip("jaxlib")
    f = nj.jit(lambda x: scanned(progress(lax.scan, bar=Bar, every=1), x)[0], device=nj.devices("xla_cpu")[0])
    assert float(f(1.0)) == pytest.approx(1.25**20, rel=1e-5)
    one_bar(20, 20, 21)


def test_by_the_clock_quick_steps_are_drawn_seldom():
    f = nj.jit(lambda x: progress(lax.fori_loop, bar=Bar)(0, 200_000, lambda i, c: c * 0.5 + 1, x))
    f(1.0).block_until_ready()
    (bar,) = Bar.made
    assert 2 <= len(bar.updates) < 200     # doubling strides: 18 updates if no other program takes the processor
    one_bar(200_000, 200_000)


def test_strides_follow_the_clock(monkeypatch):
    now = iter([0.0, 1.0, 1.01, 1.02, 1.021, 3.0, 3.0, 3.0, 3.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now))
    bars = Bars(Bar, None)
    number, due = bars.start(np.int32(100))
    assert (number, due) == (0, 1)
    assert bars.step(number, 1) == [2]      # a second for one step: at once again
    assert bars.step(number, 2) == [4]      # a hundredth of a second: five would fit, but at most twice as many as before
    assert bars.step(number, 4) == [8]
    assert bars.step(number, 8) == [16]
    assert bars.step(number, 16) == [17]    # two seconds for eight steps: each one
    assert bars.step(number, 16) == bars.step(number, 3) == bars.step(7, 1) == [2**31 - 1]
    bars.finish(number, 17)
    one_bar(17, 100, 6)


def test_bars_that_failed_programs_left_are_closed_at_last():
    bars = Bars(Bar, 1)
    for _ in range(70):
        bars.start(-1)
    assert [bar.closed for bar in Bar.made] == [1] * 6 + [0] * 64


def test_threads_have_their_own_bars():
    f = nj.jit(lambda x: scanned(progress(lax.scan, bar=Bar, every=1), x, 50)[0])
    threads = [threading.Thread(target=lambda: f(1.0).block_until_ready()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    nj.effects_barrier()
    assert [(sum(bar.updates), bar.closed) for bar in Bar.made] == [(50, 1)] * 4


def test_a_bar_that_fails_is_the_error_of_the_program():
    class Broken(Bar):
        def update(self, steps):
            raise OSError("no terminal")

    with pytest.raises(JaxRuntimeError, match="no terminal"):
        scanned(progress(lax.scan, bar=Broken), 1.0)[0].block_until_ready()
        nj.effects_barrier()


@pytest.mark.parametrize("call", [
    lambda loop: loop(lambda c, _: ((c, c), None), 1.0, length=3),
    lambda loop: loop(lambda c, _: c, 1.0, length=3),
    lambda loop: loop(lambda c, _: (c, None), 1.0),
    lambda loop: loop(lambda c, _: (c, None), 1.0, jnp.ones(3), length=4),
    lambda loop: loop(3, 1.0),
])
def test_errors_are_those_of_the_loop(call):
    with pytest.raises((TypeError, ValueError)) as wanted:
        call(lax.scan)
    with pytest.raises(type(wanted.value)) as got:
        call(progress(lax.scan, bar=Bar))
    assert str(got.value) == str(wanted.value)


def test_the_body_s_own_error_is_kept():
    with pytest.raises(ValueError, match="mine"):
        progress(lax.while_loop, bar=Bar)(lambda c: c < 3, lambda c: (_ for _ in ()).throw(ValueError("mine")), 0)


@pytest.mark.parametrize("loop", [lax.map, None, 3, [lax.scan]])
def test_only_loops(loop):
    with pytest.raises(TypeError, match=r"write progress\(lax.scan\)"):
        progress(loop)


@pytest.mark.parametrize("options", [{"every": 0}, {"every": 1.5}, {"total": -1}, {"total": "10"}])
def test_wrong_options(options):
    with pytest.raises(ValueError, match="must be a positive integer or None"):
        progress(lax.scan, **options)


def test_total_and_options_reach_the_bar():
    until(progress(lax.while_loop, bar=Bar, total=12, desc="search"), 1.0)
    assert Bar.made[0].options == {"desc": "search"}
    one_bar(10, 12)


def test_without_tqdm_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(module, "tqdm", type(module.tqdm)("tqdm.auto"))
    with pytest.raises(ImportError, match=r"pip install tqdm.*bar="):
        progress(lax.scan)
    progress(lax.scan, bar=Bar)


def test_tqdm_draws():
    pytest.importorskip("tqdm")
    screen = io.StringIO()
    nj.jit(lambda x: scanned(progress(lax.scan, desc="steps", file=screen), x)[0])(1.0).block_until_ready()
    nj.effects_barrier()
    assert "steps: 100%" in screen.getvalue() and "20/20" in screen.getvalue()


def test_the_loop_s_name_and_words_are_kept():
    assert progress(lax.scan, bar=Bar).__name__ == "scan"
    assert nj.progress is progress
