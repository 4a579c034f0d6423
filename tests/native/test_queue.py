"""The execution queue: pending results, errors, waiting, callbacks, threads, Ctrl-C."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

from numjet import _native

QUEUED = {"cost_ns": 1e9}


def test_queued_execution(executable, array):
    add, before = executable("add", **QUEUED), _native.counters()["enqueued"]
    x = array([1, 2, 3, 4], "float32")
    for _ in range(10):
        (x,) = add([x, x])
    assert x.tolist() == [1024, 2048, 3072, 4096]
    assert _native.counters()["enqueued"] == before + 10


def test_pending_results_and_chaining(gate, executable):
    g = gate()
    cheap = executable("add_one", 1)([g.result])[0]
    again = cheap.__copy__()
    assert not g.result.is_ready() and not cheap.is_ready() and not again.is_ready()
    assert cheap.shape == (1,)
    g.open()
    assert cheap.block_until_ready() is cheap
    assert cheap.is_ready() and g.result.is_ready()
    assert cheap.tolist() == [2.0] and again.tolist() == [2.0]


def test_operators_wait_through_their_hook(gate):
    g = gate()
    _native.set_hook("__add__", lambda a, b: ("hook", a.is_ready()))
    assert g.result + 1 == ("hook", False)
    g.open()
    g.result.block_until_ready()
    assert (g.result + 1).tolist() == [2.0]


def test_queued_inputs_may_be_deleted(gate, executable, array):
    g = gate()
    (chained,) = executable("add", 1)([g.result, array([5], "float32")])
    g.result.delete()
    gc.collect()
    g.open()
    assert chained.tolist() == [6.0]


def test_results_may_be_dropped(gate, executable):
    g = gate()
    live = _native.pool_stats()["live_bytes"]
    for _ in range(5):
        executable("add_one", 1)([g.result])
    g.open()
    _native.synchronize()
    assert _native.pool_stats()["live_bytes"] <= live + 64


def test_synchronize_waits_for_all(gate):
    g = gate()
    threading.Timer(0.05, g.open).start()
    _native.synchronize()
    assert g.result.is_ready()


def errors_of(looks, failed) -> list[Exception]:
    errors = []
    for look in looks:
        with pytest.raises(failed) as caught:
            look()
        errors.append(caught.value)
    return errors


def test_queued_errors_come_with_every_look_and_propagate(failed, gate, executable, array):
    g = gate()
    (blocked,) = executable("add_one", 1)([g.result])
    (bad,) = executable("fail", 1, on_error=failed)([blocked])
    (heir,) = executable("add", 1)([blocked, bad])
    (heir_of_heir,) = executable("add_one", 1)([heir])
    g.open()
    looks = [
        heir_of_heir.block_until_ready,
        bad.block_until_ready,
        lambda: bad._value,
        bad.tolist,
        lambda: np.asarray(bad),
        _native.rewrap(bad).block_until_ready,
        heir.unsafe_buffer_pointer,
        lambda: bool(heir),
        bad.__dlpack__,
        lambda: executable("add_one", 1)([bad]),
        lambda: executable("add", 1)([blocked, heir]),
    ]
    errors = errors_of(looks, failed)
    assert len({id(e) for e in errors}) == 1
    assert bad.is_ready() and heir.is_ready()
    assert blocked.tolist() == [2.0]
    bad.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        bad.block_until_ready()


def test_an_error_makes_no_long_traceback_and_no_leak(failed, executable, array):
    class Witness:
        pass

    def look():
        witness = Witness()  # alive as long as this frame is
        (bad,) = executable("fail", on_error=failed, **QUEUED)([array([1, 2, 3, 4], "float32")])
        for _ in range(5):
            with pytest.raises(failed) as caught:
                bad.block_until_ready()
        return len(traceback.extract_tb(caught.value.__traceback__)), weakref.ref(witness)

    frames, witness = look()
    gc.collect()
    assert frames <= 2 and witness() is None


def test_the_queue_is_bounded(gate, executable, array):
    g = gate()
    threading.Timer(0.2, g.open).start()
    start = time.monotonic()
    one = array([1], "float32")
    results = [executable("add", 1)([g.result, one])[0] for _ in range(100)]
    assert time.monotonic() - start > 0.15
    assert [r.tolist() for r in results] == [[2.0]] * 100


def test_memory_of_results_is_allocated_when_they_are_computed(gate, executable):
    g = gate()
    before = _native.pool_stats()["live_bytes"]
    x = g.result
    for _ in range(20):
        (x,) = executable("add_one", 1, **QUEUED)([x])
    assert _native.pool_stats()["live_bytes"] <= before + 64  # the gate's own
    g.open()
    assert x.tolist() == [21.0]


def test_running_out_of_memory_on_the_queue(failed, executable, aval, device, array):
    program = executable("add_one")
    huge = type("Huge", (), {"shape": (1 << 45,), "dtype": np.dtype("float32"), "weak_type": False})()
    run = _native.Executable(1, (), (huge,), 0, (), 1e9, failed, program, device, "huge")
    (out,) = run([])
    with pytest.raises(MemoryError, match="140737488355328 bytes"):
        out.block_until_ready()
    run = _native.Executable(1, (), (), 1 << 47, (), 1.0, failed, program, device, "huge scratch")
    with pytest.raises(MemoryError):
        run([])


def test_callbacks_may_use_arrays_and_run_programs(from_python, executable, array, aval):
    seen = []
    captured = array([1, 2, 3, 4], "float32")

    def callback(ins, outs, info):
        (inner,) = executable("add_one", **QUEUED)([captured])
        seen.append((inner.tolist(), threading.current_thread() is threading.main_thread()))
        ctypes.memmove(outs[0], ins[0], 16)
        return 0

    vector = aval((4,), "float32")
    (out,) = from_python(callback, (vector,), (vector,))([array([5, 6, 7, 8], "float32")])
    assert out.tolist() == [5, 6, 7, 8]
    assert seen == [([2, 3, 4, 5], False)]


def test_a_callback_that_would_wait_for_ever_raises(from_python, executable, array, aval):
    release, caught, later = threading.Event(), [], []

    def callback(ins, outs, info):
        release.wait(10)
        for look in (later[0].block_until_ready, _native.synchronize):
            try:
                look()
            except RuntimeError as error:
                caught.append(str(error))
        ctypes.memmove(outs[0], ins[0], 16)
        return 0

    vector = aval((4,), "float32")
    (out,) = from_python(callback, (vector,), (vector,))([array([5, 6, 7, 8], "float32")])
    later.append(executable("add_one", **QUEUED)([out])[0])
    release.set()
    out.block_until_ready()
    assert "never end" in caught[0] and "callback" in caught[1]
    assert later[0].tolist() == [6, 7, 8, 9]


def threads_of(from_python, executable, array, aval, cost_ns: float, count: int) -> set[bool]:
    """Whether the main thread, which waits for each, ran computations of an expected cost (True) or not (False)."""
    vector, ran = aval((4,), "float32"), []

    def callback(ins, outs, info):
        ran.append(threading.current_thread() is threading.main_thread())
        ctypes.memmove(outs[0], ins[0], 16)
        return 0

    run, add = from_python(callback, (vector,), (vector,), cost_ns=cost_ns), executable("add_one", cost_ns=1e6)
    for k in range(count):
        (y,) = run([array([k, 0, 0, 0], "float32")])
        assert y.tolist()[0] == k
        (z,) = add([y])
        assert z.tolist() == [k + 1, 1, 1, 1]
    assert len(ran) == count
    return set(ran)


def test_who_waits_may_run_what_is_brief_and_next(from_python, executable, array, aval):
    assert True in threads_of(from_python, executable, array, aval, 1e6, 300)
    assert threads_of(from_python, executable, array, aval, 1e9, 50) == {False}


def test_who_waits_runs_nothing_out_of_order(gate, executable, array):
    g, done = gate(), []
    (x,) = executable("add_one", 1, cost_ns=1e6)([g.result])
    (y,) = executable("add_one", 1, cost_ns=1e6)([x])
    waiter = threading.Thread(target=lambda: done.append(y.tolist()))
    waiter.start()
    time.sleep(0.05)
    assert not done and not x.is_ready()
    g.open()
    waiter.join(5)
    assert done == [[3.0]]


def test_many_threads(executable, array):
    wrong = []

    def work(number: int) -> None:
        for step in range(60):
            x = array([number, step, 0, 1], "float32")
            cost = (100.0, 1e6, 1e9)[step % 3]
            (y,) = executable("add", cost_ns=cost)([x, x])
            (z,) = executable("add_one", cost_ns=cost)([y], [True])
            if z.tolist() != [2 * number + 1, 2 * step + 1, 1, 3]:
                wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_waits_while_others_run(gate):
    g, done = gate(), []
    waiter = threading.Thread(target=lambda: done.append(g.result.tolist()))
    waiter.start()
    time.sleep(0.05)
    assert not done
    g.open()
    waiter.join(5)
    assert done == [[1.0]]


def test_an_array_deleted_while_another_thread_waits(gate):
    g, caught = gate(), []

    def wait():
        try:
            g.result.block_until_ready()
        except RuntimeError as error:
            caught.append(str(error))

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.05)
    g.result.delete()
    g.open()
    waiter.join(5)
    assert caught == ["Array has been deleted with shape=float32[1]. Buffer has been deleted or donated."]


@pytest.fixture
def ctrl_c_raises():
    """Also in a process that was started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_interrupts_waiting(gate, ctrl_c_raises):
    g = gate()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        g.result.block_until_ready()
    assert time.monotonic() - start < 2
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        _native.synchronize()
    g.open()
    assert g.result.tolist() == [1.0]


def test_forks_end_an_idle_thread_and_work_restarts_it(executable, array):
    def threads() -> set[str]:
        return set(os.listdir("/proc/self/task"))

    def fork_ahead() -> None:
        _native.before_fork()
        _native.after_fork_in_parent()

    fork_ahead()
    before, x, run = threads(), array([1, 2, 3, 4], "float32"), executable("add_one", **QUEUED)
    for _ in range(2):
        assert run([x])[0].tolist() == [2, 3, 4, 5]
        started = threads() - before
        assert len(started) == 1
        fork_ahead()
        deadline = time.monotonic() + 5
        while started & threads() and time.monotonic() < deadline:  # the system removes it a little later
            time.sleep(0.001)
        assert not started & threads()
