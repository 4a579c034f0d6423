"""The first tier of large programs, the second behind it: when, that they do the same, and how one takes the other's place."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import numjet as nj
import numjet.lax as lax
import numjet.numpy as jnp
from numjet import _native
from numjet.api.stages import trace_call
from numjet.cpu.ir.nodes import Function
from numjet.cpu.lowering.lower import lower
from numjet.cpu.native_code import jit, tiers
from numjet.cpu.passes import legalize_math
from numjet.foundation import events
from numjet.foundation.config import Override, config
from numjet.runtime.dispatch import compile_closed
from numjet.testing import generator, programs
from numjet.transforms.simplify import simplify


@pytest.fixture
def two_tiers(monkeypatch):
    """Every program begins with the first tier."""
    monkeypatch.setattr(tiers, "NS_PER_LINE", 1e12)
    yield
    tiers.finish()


def chain(n: int):
    """A function that is n small functions in a row, compiled anew."""
    def f(x):
        for k in range(n):
            x = x * (1.0 + 1.0 / (k + 1)) - jnp.sqrt(jnp.abs(x)) + k
        return x
    return nj.jit(f)


def values(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


def test_programs_begin_with_the_first_tier():
    x, f = values(33), chain(100)
    with events.counting() as grown:
        first = np.asarray(f(x))
        tiers.finish()
    assert grown["compile"] == grown["compile.first_tier"] == grown["codegen"] == 1
    assert "compile.second_tier" not in grown
    with events.counting() as grown:
        second = np.asarray(f(x))
        tiers.finish()
        third = np.asarray(f(x))
        tiers.finish()
    assert grown == {"codegen": 1, "compile.second_tier": 1}
    np.testing.assert_array_equal(first.view(np.uint32), second.view(np.uint32))
    np.testing.assert_array_equal(first.view(np.uint32), third.view(np.uint32))


def test_programs_of_some_instructions_keep_the_first_code():
    f = nj.jit(lambda x: x + 1.5)
    with events.counting() as grown:
        f(values(8)), f(values(8))
        tiers.finish()
    assert grown["codegen"] == grown["compile.first_tier"] == 1 and "compile.second_tier" not in grown


def test_flag_for_one_tier(two_tiers):
    with Override("numjet_tiers", "one"), events.counting() as grown:
        f = chain(5)
        f(values(33)), f(values(33))
        tiers.finish()
    assert grown["codegen"] == 1 and "compile.first_tier" not in grown
    with pytest.raises(ValueError, match=r"new enum value must be in \['auto', 'one', 'quick'\], got 'two'"):
        config.update("numjet_tiers", "two")


def test_flag_for_quick_code_only(two_tiers):
    def root(x):
        return lax.while_loop(lambda y: jnp.any(y * y > x + 1e-3), lambda y: 0.5 * (y + x / y), jnp.sinh(x))

    x = values(33) ** 2 + 1
    with Override("numjet_tiers", "quick"), events.counting() as grown:
        f = nj.jit(root)
        once, again = np.asarray(f(x)), np.asarray(f(x))
        tiers.finish()
    assert grown["codegen"] == grown["compile.first_tier"] == 1 and "compile.second_tier" not in grown
    np.testing.assert_allclose(once, np.sqrt(x), rtol=1e-3)
    np.testing.assert_array_equal(once.view(np.uint32), again.view(np.uint32))


def function_of(fun, *args) -> Function:
    return legalize_math.expand_math(lower(simplify(trace_call(fun, args, {})[0]), "f").function)


def test_programs_that_may_run_for_long_have_one_tier():
    """Code cannot be replaced during a call."""
    text = "\n" * 16
    x = values(40)
    body = lambda i, c: jnp.sin(c)
    assert tiers.quick_first(text, function_of(lambda x: lax.fori_loop(0, 10, body, x), x), 0.0)
    assert not tiers.quick_first(text, function_of(lambda x, n: lax.fori_loop(0, n, body, x), x, 10), 0.0)
    assert not tiers.quick_first(text, function_of(lambda x: lax.while_loop(lambda c: c[0] > 0, jnp.sin, x), x), 0.0)
    assert tiers.quick_first(text, function_of(jnp.sin, x), 0.9 * tiers.NS_PER_LINE * 16)
    assert not tiers.quick_first(text, function_of(jnp.sin, x), 1.1 * tiers.NS_PER_LINE * 16)


@pytest.mark.parametrize("seed", range(12))
def test_tiers_give_the_same_bits(seed, two_tiers):
    """Random programs of all kinds."""
    program = generator.Generator(seed, large=False).program()
    with program.context():
        fun, args = programs.load(program), programs.arguments(program)
        compiled = nj.jit(fun)
        before = [np.asarray(x) for x in compiled(*args)]
        compiled(*args)
        tiers.finish()
        after = [np.asarray(x) for x in compiled(*args)]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_programs_that_are_gone_are_not_compiled_again(two_tiers, monkeypatch):
    tiers.finish()
    monkeypatch.setattr(tiers, "QUIET_SECONDS", 1e9)   # the second tiers wait until `finish`
    x, longest = values(4), 0
    with events.counting() as grown:
        for k in range(3 * tiers._LEAST_REVIEWED):
            f = chain(1)
            f(x), f(x)
            if k % 16 == 15:
                nj.clear_caches()
                gc.collect()
            longest = max(longest, len(tiers._worker.jobs))
        tiers.finish()
    assert grown["compile.first_tier"] == 3 * tiers._LEAST_REVIEWED and longest <= 2 * tiers._LEAST_REVIEWED
    assert grown.get("compile.second_tier", 0) <= 2   # of the last one, and of one that was running


def test_swap_while_executions_are_queued(two_tiers):
    """What was queued with the first code finishes with it; results are the same all the time."""
    f = chain(40)
    x = jnp.asarray(values(300_000))
    want = np.asarray(f(x))
    outs = [f(x) for _ in range(30)]
    tiers.finish()
    outs += [f(x) for _ in range(30)]
    for out in outs:
        np.testing.assert_array_equal(out, want)


def test_swap_while_other_threads_call(two_tiers):
    f = chain(60)
    x = jnp.asarray(values(500))
    want = np.asarray(f(x))
    wrong: list[int] = []

    def call() -> None:
        for k in range(300):
            if not np.array_equal(f(x), want):
                wrong.append(k)
    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    tiers.finish()
    for t in threads:
        t.join()
    assert not wrong


def test_failure_leaves_the_first_code(two_tiers, monkeypatch):
    f = chain(50)
    x = values(20)
    want = np.asarray(f(x))
    errors: list = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    monkeypatch.setattr(jit, "compile", lambda *args: (_ for _ in ()).throw(RuntimeError("no code today")))
    with events.counting() as grown:
        np.testing.assert_array_equal(f(x), want)
        tiers.finish()
    assert grown["compile.second_tier_failed"] == 1 and "no code today" in str(errors[0].exc_value)
    np.testing.assert_array_equal(f(x), want)


# --- the executable

def executable():
    return compile_closed(trace_call(lambda x: x + 1, (values(3),), {})[0]).native


def test_executable_is_told_once():
    e, seen = executable(), []
    e.set_on_second_call(seen.append)
    for _ in range(3):
        e([jnp.zeros(3, np.float32)])
        e.set_on_second_call(seen.append) if e.call_count == 3 else None
    assert seen == [e]


def test_errors_of_signal_handlers_while_it_is_told_end_the_call():
    """They are not lost, and the next call tells again."""
    e, told = executable(), []

    def tell(one):
        told.append(one)
        if len(told) == 1:
            raise KeyboardInterrupt

    e.set_on_second_call(tell)
    call = lambda: np.testing.assert_array_equal(e([jnp.zeros(3, np.float32)])[0], np.ones(3))
    call()
    with pytest.raises(KeyboardInterrupt):
        call()
    call(), call()
    assert told == [e, e]


def test_no_more_threads_leave_the_first_code(two_tiers, monkeypatch):
    tiers.finish()
    f, x, errors = chain(20), values(20), []
    want = np.asarray(f(x))
    monkeypatch.setattr(threading, "excepthook", errors.append)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda self: (_ for _ in ()).throw(RuntimeError("can't start new thread")))
        np.testing.assert_array_equal(f(x), want)
    tiers.finish()
    np.testing.assert_array_equal(f(x), want)
    assert "new thread" in str(errors[0].exc_value)


def test_wrong_arguments_of_replace_and_set_on_second_call():
    e = executable()
    with pytest.raises(ValueError, match="new address of 'main' is 0"):
        e.replace(0)
    with pytest.raises(TypeError):
        e.replace("here")
    with pytest.raises(TypeError, match="expected a callable, got 3"):
        e.set_on_second_call(3)
    assert isinstance(e, _native.Executable)


# --- processes

SCRIPT = """
    import os, numpy as np, numjet as nj, numjet.numpy as jnp
    from numjet.cpu.native_code import tiers
    tiers.NS_PER_LINE, tiers.QUIET_SECONDS = 1e12, 0.0
    def chain(n):
        def f(x):
            for k in range(n):
                x = x * (1.0 + 1.0 / (k + 1)) - jnp.sqrt(jnp.abs(x)) + k
            return x
        return nj.jit(f)
    x = np.ones(20, np.float32)
    f = chain(300)
    f(x), f(x)
"""


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT) + textwrap.dedent(script)], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_process_ends_while_the_second_tier_is_made():
    assert run("print('end')") == "end\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_the_second_tier_is_made():
    """The child compiles and upgrades programs of its own."""
    out = run("""
        pid = os.fork()
        g = chain(301)
        a = np.asarray(g(x)); g(x); tiers.finish()
        assert np.array_equal(g(x), a) and np.array_equal(f(x), f(x))
        os.write(1, b"child\\n" if pid == 0 else b"parent\\n")   # in one piece
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    """)
    assert sorted(out.split()) == ["child", "parent"]
