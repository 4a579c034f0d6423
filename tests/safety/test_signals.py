"""Signals whose handler raises: whatever they interrupt, a result is right or looking at it raises."""
from __future__ import annotations

import contextlib
import gc
import itertools
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax, scipy, tree_util
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import enable_x64
from numjet.foundation.source import name_stack

HITS = 2            # interrupted waits for each program
ATTEMPTS = 400      # to get them, on a machine that is as slow as it may be


class Expired(Exception):
    """What the handler raises."""


class Timer:
    """A timer whose signal raises Expired once while `armed`."""

    def __init__(self) -> None:
        self.armed = False

    def handle(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise Expired

    def interrupts(self, delay: float, call: Callable[[], object]) -> bool:
        """Whether the signal, sent after `delay` seconds, struck during the call."""
        try:
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, delay)
            call()
            self.armed = False
        except Expired:
            return True
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False

    def until_struck(self, call: Callable[[], object]) -> None:
        """Interrupts a call that ends in no other way. Signals that come before it are ignored."""
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(Expired):
            self.armed = True
            call()
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.fixture
def timer() -> Iterator[Timer]:
    """Python drops what a handler raises in a callback of the garbage collector, as Hypothesis leaves one there."""
    timer = Timer()
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    before = signal.signal(signal.SIGALRM, timer.handle)
    yield timer
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.callbacks[:] = callbacks
    _native.synchronize()


@pytest.fixture
def queued() -> Iterator[None]:
    """Everything goes through the queue, however short it is."""
    before = _native.set_inline_limit(0.0)
    yield
    _native.set_inline_limit(before)


@pytest.fixture
def inline() -> Iterator[None]:
    """Nothing goes through the queue, however long it is."""
    before = _native.set_inline_limit(float("inf"))
    yield
    _native.set_inline_limit(before)


def bits(outs: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in tree_util.tree_leaves(outs)]


class Attack:
    """Runs a program again and again, interrupted at ever other moments, and looks at what it gives."""

    def __init__(self, timer: Timer, program: Callable[[], Any]):
        self.timer, self.program = timer, program
        self.expected = bits(program())
        self.neighbour = nj.jit(lambda x: jnp.sin(x) * 2)
        self.other = jnp.linspace(0, 9, 100_000)
        self.other_expected = bits(self.neighbour(self.other))
        self.hits = self.refused = 0
        self.delay = 0.002
        self.outs: Any = None
        self.neighbours: list[Any] = []
        self.random = random.Random(0)

    def call(self) -> None:
        self.neighbours.append(self.neighbour(self.other))
        outs = self.program()
        self.neighbours.append(self.neighbour(self.other))
        self.outs = outs
        nj.block_until_ready(outs)

    def once(self) -> None:
        self.outs, self.neighbours = None, []
        if not self.timer.interrupts(self.delay, self.call):
            self.delay *= 0.7
        elif self.outs is None:
            self.delay *= 1.5
        else:
            self.hits += 1
            self.delay *= self.random.choice([0.6, 0.8, 1.0, 1.25, 1.6])
        self.delay = max(self.delay, 1e-5)
        self.look()

    def look(self) -> None:
        if self.outs is not None:
            try:
                found = bits(self.outs)
            except RuntimeError as error:
                assert "interrupted" in str(error)
                self.refused += 1
            else:
                assert found == self.expected
        assert all(bits(n) == self.other_expected for n in self.neighbours)

    def run(self, hits: int) -> None:
        for _ in range(ATTEMPTS):
            if self.hits >= hits:
                break
            self.once()
        assert self.hits >= hits
        assert bits(self.program()) == self.expected


def array(*shape: int, dtype: Any = np.float32, seed: int = 0) -> nj.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    elif np.dtype(dtype).kind in "iu":
        values = np.floor(abs(values) * 40)
    return jnp.asarray(values.astype(dtype))


def positive(n: int) -> nj.Array:
    return array(n, n) @ array(n, n).T / n + 2 * jnp.eye(n)


def many_steps(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 300_000, lambda s: (s[0] + 1, s[1] * 0.9 + jnp.sin(s[1])), (0, x))[1]


def halvings(x: Any) -> Any:
    return lax.while_loop(lambda s: s > 1e-30, lambda s: s * 0.99, abs(x) + 1)


def steps(x: Any) -> Any:
    return lax.scan(lambda c, row: (jnp.tanh(c + row), jnp.cumsum(c)), x[0], x)


def convolution(x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def flat_index(size: int, count: int) -> nj.Array:
    return jnp.asarray(np.random.default_rng(0).integers(0, size, count).astype(np.int32))


Program = tuple[Callable[..., Any], tuple[Callable[[], Any], ...]]
VECTOR, MATRIX, SQUARE = partial(array, 1_500_000), partial(array, 1500, 1000), partial(array, 400, 400)

LOOPS: dict[str, Program] = {
    "elementwise": (lambda x: jnp.sin(jnp.cos(jnp.sin(x))), (VECTOR,)),
    "transpose": (lambda x: jnp.sin(x).T + 1, (MATRIX,)),
    "sum": (lambda x: jnp.sum(jnp.sin(x)), (VECTOR,)),
    "sum of rows": (lambda x: jnp.sin(x).sum(1), (MATRIX,)),
    "sum of columns": (lambda x: jnp.sin(x).sum(0), (MATRIX,)),
    "argmax": (lambda x: (jnp.argmax(x), jnp.argmin(x, axis=1), jnp.max(x, axis=0)), (MATRIX,)),
    "softmax": (lambda x: nj.nn.softmax(x, axis=-1), (MATRIX,)),
    "variance": (lambda x: (jnp.var(x, axis=0), jnp.std(x)), (MATRIX,)),
    "gradient": (nj.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)), (VECTOR,)),
    "gather": (lambda x, k: jnp.sin(x)[k], (VECTOR, partial(flat_index, 1_500_000, 1_000_000))),
    "scatter": (lambda x, k: x.at[k].add(1.5), (VECTOR, partial(flat_index, 1_500_000, 300_000))),
    "convolution": (convolution, (partial(array, 2, 96, 96, 16), partial(array, 3, 3, 16, 32))),
    "window": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (5, 5), (1, 1), "SAME"), (MATRIX,)),
    "while": (many_steps, (partial(array),)),
    "scan": (steps, (partial(array, 300, 3000),)),
    "lanes": (nj.vmap(halvings), (partial(array, 4000),)),
    "lanes of programs": (nj.vmap(lambda x: lax.fori_loop(0, 60, lambda i, y: jnp.sin(y) + i, x)), (partial(array, 300, 300),)),
    "random": (lambda x: nj.random.normal(nj.random.key(3), (700_000,)) + x, (partial(array),)),
}

KERNELS: dict[str, Program] = {
    "cumsum": (jnp.cumsum, (VECTOR,)),
    "cumsum of rows": (lambda x: jnp.cumsum(x, axis=1), (MATRIX,)),
    "cumsum of columns": (lambda x: jnp.cumsum(x, axis=0), (MATRIX,)),
    "cummax backwards": (lambda x: lax.cummax(x, reverse=True), (VECTOR,)),
    "sort": (jnp.sort, (partial(array, 300_000),)),
    "sort of rows": (lambda x: jnp.sort(x, axis=1), (partial(array, 500, 500),)),
    "sort of columns": (lambda x: jnp.sort(x, axis=0), (partial(array, 500, 500),)),
    "argsort then gather": (lambda x: x[jnp.argsort(x)], (partial(array, 200_000),)),
    "top_k": (lambda x: lax.top_k(x, 30), (partial(array, 200, 3000),)),
    "unique": (lambda x: jnp.unique(x, size=300), (partial(array, 200_000, dtype=np.int32),)),
    "lu": (scipy.linalg.lu_factor, (SQUARE,)),
    "inverse": (jnp.linalg.inv, (SQUARE,)),
    "solve": (jnp.linalg.solve, (SQUARE, SQUARE)),
    "determinants": (jnp.linalg.det, (partial(array, 200, 30, 30),)),
    "qr": (jnp.linalg.qr, (SQUARE,)),
    "eigh": (jnp.linalg.eigh, (partial(positive, 150),)),
    "svd": (jnp.linalg.svd, (partial(array, 120, 120),)),
    "cholesky": (jnp.linalg.cholesky, (partial(positive, 500),)),
    "choleskys": (jnp.linalg.cholesky, (lambda: jnp.stack([positive(40)] * 100),)),
    "triangular": (partial(scipy.linalg.solve_triangular, lower=True), (partial(positive, 500), partial(array, 500, 300))),
    "fft": (jnp.fft.fft, (partial(array, 1 << 18, dtype=np.complex64),)),
    "fft of a prime length": (jnp.fft.fft, (partial(array, 100_003, dtype=np.complex64),)),
    "rfft of rows": (jnp.fft.rfft, (partial(array, 500, 1024),)),
    "fft of columns": (lambda x: jnp.fft.fft(x, axis=0), (partial(array, 1024, 300, dtype=np.complex64),)),
    "bias and activation": (lambda a, b: jnp.tanh(a @ b + 1.5), (SQUARE, SQUARE)),
    "softmax of a product": (lambda a, b: nj.nn.softmax(a @ b), (partial(array, 3000, 64), partial(array, 64, 128))),
    "loop behind a product": (lambda a, b: nj.vmap(nj.vmap(halvings))(a @ b), (partial(array, 64, 64), partial(array, 64, 64))),
    "batch of products": (lambda a, b: a @ b, (partial(array, 60, 90, 90), partial(array, 60, 90, 90))),
    "matrix times vector": (lambda a, b: a @ b, (partial(array, 2000, 2000), partial(array, 2000))),
    "long sums": (lambda a, b: a.T @ b, (partial(array, 50_000, 16), partial(array, 50_000, 16))),
}

DTYPES = ["float32", "float64", "float16", jnp.bfloat16, "int8", "uint8", "int16", "int32", "int64", "complex64", "complex128"]


def bound(program: Program) -> Callable[[], Any]:
    """The program, compiled and with its arguments."""
    f, makers = program
    args = [nj.block_until_ready(make()) for make in makers]
    return partial(nj.jit(f), *args)


@pytest.mark.parametrize("name", [*LOOPS, *KERNELS])
def test_queued_programs_are_right_or_raise(timer, queued, scale, name):
    Attack(timer, bound({**LOOPS, **KERNELS}[name])).run(HITS * scale)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_products_are_right_or_raise(timer, queued, scale, dtype):
    with enable_x64(True):
        a, b = array(300, 300, dtype=dtype), array(300, 300, dtype=dtype, seed=5)
        Attack(timer, partial(nj.jit(jnp.matmul), a, b)).run(HITS * scale)


@pytest.mark.parametrize("name", ["elementwise", "sum of columns", "while", "scan", "lanes", "sort", "cumsum", "lu", "fft"])
def test_programs_that_run_in_the_callers_thread_are_right_or_raise(timer, inline, scale, name):
    attack = Attack(timer, bound({**LOOPS, **KERNELS}[name]))
    for _ in range(6 * scale):
        attack.once()
        attack.delay = attack.random.choice([0.0003, 0.001, 0.003, 0.01, 0.03])
    assert bits(attack.program()) == attack.expected


@pytest.mark.parametrize(("f", "makers"), [
    (jnp.sin, (VECTOR,)),
    (lambda x: (x * 2 + x) @ x.T, (SQUARE,)),
    (lambda x: x[x > 0], (VECTOR,)),
    (lambda x: jnp.concatenate([x, x]).T.reshape(-1), (MATRIX,)),
    (lambda x: jnp.sort(x)[::-1], (partial(array, 300_000),)),
    (jnp.linalg.svd, (partial(array, 100, 100),)),
], ids=["function", "product", "mask", "copy", "sort", "svd"])
def test_operations_outside_of_programs_are_right_or_raise(timer, scale, f, makers):
    args = [make() for make in makers]
    attack = Attack(timer, lambda: f(*args))
    for _ in range(8 * scale):
        attack.once()
        attack.delay = attack.random.choice([0.0003, 0.001, 0.003, 0.01])
    assert bits(attack.program()) == attack.expected


def test_a_program_that_was_stopped_between_its_chunks_has_no_result(timer, scale):
    def long(x):   # one parallel loop, many times as long as it takes to notice a signal
        for _ in range(150):
            x = jnp.sin(x)
        return x
    attack = Attack(timer, partial(nj.jit(long), array(1_500_000)))
    for _ in range(ATTEMPTS):
        attack.once()
        attack.delay = attack.random.choice([0.002, 0.01, 0.03, 0.06])
        if attack.refused >= 3 * scale:
            break
    assert attack.refused >= 3 * scale
    assert bits(attack.program()) == attack.expected


# Who is stopped, and who is not.

def forever(x: Any) -> Any:
    return lax.while_loop(lambda s: s < 2.0, lambda s: s * 0.5, x)


class Endless:
    """The result of a program that runs until it is stopped. Not an array, which pytest would show and so wait for."""

    def __init__(self) -> None:
        self.result = nj.jit(forever)(jnp.ones(3)[0])


@pytest.fixture
def endless(timer: Timer) -> Iterator[Endless]:
    endless = Endless()
    yield endless
    if not endless.result.is_ready():
        timer.until_struck(endless.result.block_until_ready)


def assert_interrupted(x: nj.Array) -> None:
    with pytest.raises(RuntimeError, match="interrupted"):
        x.block_until_ready()


def counted(counts: list[int]) -> Callable[[Any], Any]:
    """A program that counts its runs."""
    def note(x):
        counts.append(1)
        return x
    return nj.jit(lambda x: nj.io_callback(note, x, x + 1))


def test_what_the_awaited_program_waits_for_is_stopped_and_nothing_else(timer, queued, endless):
    counts: list[int] = []
    x = jnp.arange(4.0)
    before = nj.jit(lambda x: x * 3)(x)
    middle = nj.jit(lambda x, y: x + y)(x, endless.result)
    ran = counted(counts)(middle)
    after = nj.jit(lambda x: x * 5)(x)
    timer.until_struck(ran.block_until_ready)
    for stopped in (endless.result, middle, ran):
        assert_interrupted(stopped)
    with pytest.raises(RuntimeError, match="interrupted"):
        (ran + 1).block_until_ready()
    assert before.tolist() == [0, 3, 6, 9] and after.tolist() == [0, 5, 10, 15]
    _native.synchronize()
    assert not counts


def test_a_program_stopped_before_it_began_never_runs_and_the_running_one_goes_on(timer, queued, endless):
    counts: list[int] = []
    f = counted(counts)
    second = f(jnp.arange(4.0))
    third = nj.jit(lambda x: x * 5)(jnp.arange(4.0))
    timer.until_struck(second.block_until_ready)
    assert not endless.result.is_ready() and not second.is_ready()
    timer.until_struck(endless.result.block_until_ready)
    assert_interrupted(endless.result)
    assert_interrupted(second)
    assert third.tolist() == [0, 5, 10, 15] and not counts
    assert f(jnp.arange(2.0)).tolist() == [1, 2] and counts == [1]


def test_synchronize_stops_all_that_it_waits_for(timer, queued, endless):
    later = nj.jit(lambda x: x * 5)(jnp.arange(4.0))
    timer.until_struck(_native.synchronize)
    assert_interrupted(endless.result)
    assert_interrupted(later)
    _native.synchronize()


def test_waiting_for_room_in_the_queue_stops_nothing(timer, queued, endless):
    f, x, results = nj.jit(lambda x: x * 5), jnp.arange(4.0), []
    while len(results) < 16:
        timer.until_struck(lambda: [results.append(f(x)) for _ in itertools.repeat(None)])
    assert not endless.result.is_ready()
    timer.until_struck(endless.result.block_until_ready)
    assert all(r.tolist() == [0, 5, 10, 15] for r in results)


def test_whoever_waited_is_free_while_what_runs_cannot_be_stopped(timer, queued):
    release = threading.Event()
    f = nj.jit(lambda x: nj.pure_callback(lambda x: release.wait(60) and x, x, x))
    result, later = f(jnp.arange(3.0)), nj.jit(lambda x: x * 2)(jnp.arange(3.0))
    timer.until_struck(result.block_until_ready)
    timer.until_struck(_native.synchronize)
    assert not result.is_ready()
    release.set()
    assert result.tolist() == [0, 1, 2]
    assert_interrupted(later)


def test_what_a_callback_computes_ends_with_the_program(timer, queued):
    def endless_loop(x):
        forever(jnp.ones(3)[0]).block_until_ready()
        return x
    result = nj.jit(lambda x: nj.pure_callback(endless_loop, x, x))(jnp.arange(3.0))
    timer.until_struck(result.block_until_ready)
    with pytest.raises(RuntimeError, match="interrupted"):
        result.block_until_ready()
    _native.synchronize()


def test_handlers_that_compute_and_do_not_raise_disturb_nothing(timer, scale):
    f, g = nj.jit(lambda x: jnp.sin(jnp.cos(x)).sum()), nj.jit(lambda x: jnp.cumsum(jnp.sort(x)))
    x, seen = array(300_000), []
    expected, inner = bits([f(x), g(x)]), bits(f(x[:1000]))
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(bits(f(x[:1000])) == inner))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(seen) < 20 * scale:
            assert bits([f(x), g(x)]) == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(seen)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3), (1, 1)])
def test_factorizations_of_nothing(shape):
    for make in (np.zeros, np.ones):
        x = make(shape, np.float32)
        q, r = jnp.linalg.qr(x)
        assert np.allclose(q @ r, x)
        if shape[-1] == shape[-2]:
            scipy.linalg.lu_factor(x)
            jnp.linalg.cholesky(x)


def test_callbacks_that_are_interrupted_before_their_first_statement(timer, inline, scale, monkeypatch):
    ignored: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", ignored.append)
    f = nj.jit(lambda x: lax.fori_loop(0, 100, lambda i, c: nj.pure_callback(lambda v: v + 1, c, c), x))
    x, found, chance = jnp.zeros(4), [], random.Random(0)
    assert f(x).tolist() == [100.0] * 4
    for _ in range(150 * scale):
        with contextlib.suppress(RuntimeError):
            timer.interrupts(chance.uniform(1e-5, 2e-3), lambda: found.append(f(x).tolist()))
    assert not ignored and all(values == [100.0] * 4 for values in found)
    assert f(x).tolist() == [100.0] * 4


def states() -> tuple[Any, ...]:
    """What blocks of the package change and restore in this thread or process."""
    names = ("jax_enable_x64", "jax_disable_jit", "jax_debug_nans", "numjet_mesh")
    flags = tuple(nj.config.read(name) for name in names), name_stack()
    return current_trace() is EVAL, np.geterr(), flags, gc.get_threshold(), gc.isenabled(), sys.getrecursionlimit(), \
        dict(copy_context())


MOMENTS: dict[str, Callable[[Any], Any]] = {
    "operations": lambda x: jnp.log(x * 0)[0] + x[1:3].sum() // 2,
    "updates": lambda x: x.at[1].set(5.0).at[2].add(1.0),
    "tracing": lambda x: nj.make_jaxpr(lambda y: lax.scan(lambda c, e: (jnp.sin(c) + e, c), y[0], y))(x),
    "grad": lambda x: nj.grad(lambda y: jnp.sum(jnp.tanh(y) * y))(x),
    "vmap": lambda x: nj.vmap(lambda y: jnp.where(y > 0, y, -y) * y)(x),
    "contexts": lambda x: in_contexts(),
}


MESH = nj.make_mesh((1,), ("x",))


def in_contexts() -> None:
    for _ in range(5):
        with nj.enable_x64(), nj.debug_nans(True), nj.disable_jit(), nj.named_scope("part"), MESH:
            pass


class Divided:
    """A block whose beginning and end are left half-way."""

    def __init__(self, begins: bool, ends: int) -> None:
        self.begins, self.ends, self.done = begins, ends, 0

    def begin(self, steps: list[str]) -> str:
        steps.append("begun")
        if not self.begins:
            raise Expired("begin")
        return "in"

    def end(self, steps: list[str]) -> None:
        steps.append("end")
        self.done += 1
        if self.done <= self.ends:
            raise Expired(f"end {self.done}")

    __enter__, __exit__ = _native.block_methods(begin, end)


def test_blocks_end_whatever_is_raised_meanwhile():
    with Divided(True, 0) as inside:
        assert inside == "in"
    for begins, ends, heard in ((True, 3, "end 1"), (False, 0, "begin"), (False, 2, "begin")):
        block = Divided(begins, ends)
        with pytest.raises(Expired, match=heard), block:
            pass
        assert block.done == ends + 1
    with pytest.raises(Expired, match="end 1"), contextlib.ExitStack() as stack:
        assert stack.enter_context(Divided(True, 1)) == "in"


@pytest.mark.parametrize("name", MOMENTS)
def test_no_state_stays_behind(timer, scale, name, monkeypatch):
    """A handler may raise between the change of a state and the block that restores it.

    Python reports and drops what a handler raises inside the finalizer of another object.
    """
    dropped: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: dropped.append(report.exc_type))
    call = partial(MOMENTS[name], jnp.arange(1.0, 5.0))
    call()
    begin = time.perf_counter()
    for _ in range(20):
        call()
    length = (time.perf_counter() - begin) / 20
    before, chance = states(), random.Random(0)
    for k in range(1500 * scale):
        with contextlib.suppress(RuntimeError):
            timer.interrupts(chance.uniform(1e-6, 2 * length), call)
        assert states() == before, f"after {k} interrupts"
    assert set(dropped) <= {Expired}
