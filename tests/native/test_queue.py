"""Executables: inline and queued execution, errors, donation, waiting, threads, fork, exit, Ctrl-C."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest

from numjet import _native

QUEUED = {"cost_ns": 1e9}
ROOT = Path(__file__).parents[2]


class Failed(Exception):
    def __init__(self, status, info):
        super().__init__(status, info)
        self.status, self.info = status, info


class Gate:
    """A computation that ends when the gate opens; its result is 1.0."""

    def __init__(self, executable, aval, device, **kwargs):
        self.flag = np.zeros(1, np.float32)
        self.array = _native.from_numpy(self.flag, aval((1,), "float32"), device)
        self.result = executable("wait", 1, **{**QUEUED, **kwargs})([self.array])[0]

    def open(self) -> None:
        self.flag[0] = 1


@pytest.fixture
def gate(executable, aval, device):
    gates = []

    def make(**kwargs):
        gates.append(Gate(executable, aval, device, **kwargs))
        return gates[-1]

    yield make
    for opened in gates:
        opened.open()


def test_inline_execution(executable, array, device):
    add, before = executable("add"), _native.counters()
    x, y = array([1, 2, 3, 4], "float32"), array([10, 20, 30, 40], "float32")
    (out,) = add([x, y])
    assert out.tolist() == [11, 22, 33, 44]
    assert out.device is device and out.is_ready() and out.aval is x.aval and not out.committed
    after = _native.counters()
    assert add.call_count == 1
    assert after["executions"] == before["executions"] + 1 and after["enqueued"] == before["enqueued"]
    assert after["allocations"] == before["allocations"] + 1


def test_queued_execution(executable, array):
    add, before = executable("add", **QUEUED), _native.counters()["enqueued"]
    x = array([1, 2, 3, 4], "float32")
    for _ in range(10):
        (x,) = add([x, x])
    assert x.tolist() == [1024, 2048, 3072, 4096]
    assert _native.counters()["enqueued"] == before + 10


def test_cost_in_the_middle_runs_inline_without_the_gil(executable, array):
    (out,) = executable("add_one", cost_ns=2e4)([array([1, 2, 3, 4], "float32")])
    assert out.is_ready() and out.tolist() == [2, 3, 4, 5]


def test_inline_limit(executable, array):
    x = array([1, 2, 3, 4], "float32")
    old = _native.set_inline_limit(0)
    try:
        before = _native.counters()["enqueued"]
        assert executable("add_one")([x])[0].tolist() == [2, 3, 4, 5]
        assert _native.counters()["enqueued"] == before + 1
    finally:
        assert _native.set_inline_limit(old) == 0
    with pytest.raises(TypeError):
        _native.set_inline_limit("often")


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


@pytest.mark.parametrize("cost_ns", [100.0, 2e4])
def test_inline_errors_are_raised_by_the_call(cost_ns, executable, array):
    with pytest.raises(Failed) as caught:
        executable("fail", cost_ns=cost_ns, on_error=Failed)([array([1, 2, 3, 4], "float32")])
    assert caught.value.status == 3 and caught.value.info == [0, 17, 0, 0, 0, 0, 0, 0]


def errors_of(looks) -> list[Exception]:
    errors = []
    for look in looks:
        with pytest.raises(Failed) as caught:
            look()
        errors.append(caught.value)
    return errors


def test_queued_errors_come_with_every_look_and_propagate(gate, executable, array):
    g = gate()
    (blocked,) = executable("add_one", 1)([g.result])
    (bad,) = executable("fail", 1, on_error=Failed)([blocked])
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
    errors = errors_of(looks)
    assert len({id(e) for e in errors}) == 1
    assert bad.is_ready() and heir.is_ready()
    assert blocked.tolist() == [2.0]
    bad.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        bad.block_until_ready()


def test_an_error_makes_no_long_traceback_and_no_leak(executable, array):
    class Witness:
        pass

    def look():
        witness = Witness()  # alive as long as this frame is
        (bad,) = executable("fail", on_error=Failed, **QUEUED)([array([1, 2, 3, 4], "float32")])
        for _ in range(5):
            with pytest.raises(Failed) as caught:
                bad.block_until_ready()
        return len(traceback.extract_tb(caught.value.__traceback__)), weakref.ref(witness)

    frames, witness = look()
    gc.collect()
    assert frames <= 2 and witness() is None


@pytest.mark.parametrize("cost_ns", [100.0, 1e9])
def test_on_error_that_fails_itself(cost_ns, executable, array):
    x = array([1, 2, 3, 4], "float32")

    def run(on_error):
        executable("fail", cost_ns=cost_ns, on_error=on_error)([x])[0].block_until_ready()

    with pytest.raises(ZeroDivisionError):
        run(lambda status, info: 1 / 0)
    with pytest.raises(TypeError, match="on_error must return an exception, got 'no'"):
        run(lambda status, info: "no")


def test_misuse(executable, array, aval, device):
    add = executable("add")
    x = array([1, 2, 3, 4], "float32")
    with pytest.raises(TypeError, match="add: expected 2 arrays, got 1"):
        add([x])
    with pytest.raises(TypeError, match=r"add: expected float32\[4\] as argument 1, got float32\[3\]"):
        add([x, array([1, 2, 3], "float32")])
    with pytest.raises(TypeError, match=r"expected float32\[4\] as argument 1, got int32\[4\]"):
        add([x, array([1, 2, 3, 4], "int32")])
    with pytest.raises(TypeError, match=r"expected an Array of float32\[4\] as argument 0"):
        add([np.zeros(4, np.float32), x])
    with pytest.raises(TypeError):
        add(3)
    with pytest.raises(TypeError, match="donated_mask has 1 entries for 2 arrays"):
        add([x, x], [True])
    deleted = array([1, 2, 3, 4], "float32")
    deleted.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[4\]"):
        add([x, deleted])
    weak = array([1, 2, 3, 4], "float32", weak_type=True)
    assert add([weak, x])[0].tolist() == [2, 4, 6, 8]


def test_constructor_checks(aval, device):
    v, w = aval((4,), "float32"), aval((8,), "float32")

    def make(address=1, ins=(v,), outs=(v,), scratch=0, aliases=(), on_error=Failed):
        return _native.Executable(address, ins, outs, scratch, aliases, 1.0, on_error, None, device, "name")

    assert make(aliases=((0, 0),)).in_avals == (v,)
    cases = [
        ({"address": 0}, "address"),
        ({"scratch": -1}, "negative"),
        ({"aliases": ((0, 1),)}, "does not fit"),
        ({"aliases": ((1, 0),)}, "does not fit"),
        ({"aliases": ((-1, 0),)}, "does not fit"),
        ({"aliases": ((0, 0),), "outs": (w,)}, "into the buffer"),
        ({"aliases": ((0, 0), (1, 0)), "outs": (v, v)}, "shares"),
        ({"aliases": ((0, 0), (0, 1)), "ins": (v, v)}, "shares"),
    ]
    for kwargs, error in cases:
        with pytest.raises(ValueError, match=error):
            make(**kwargs)
    for kwargs in [{"on_error": 3}, {"ins": [v]}, {"aliases": (0,)}, {"aliases": ((0, 0, 0),)}, {"ins": (3,)}]:
        with pytest.raises((TypeError, AttributeError)):
            make(**kwargs)


def test_attributes(executable, aval, device):
    add = executable("add", scratch_bytes=10)
    assert add.in_avals == (aval((4,), "float32"),) * 2 and add.out_avals == (aval((4,), "float32"),)
    assert (add.scratch_bytes, add.cost_ns, add.name, add.device) == (10, 100.0, "add", device)
    assert weakref.ref(add)() is add and "2 inputs" in repr(add)


def test_scratch_comes_from_the_pool_and_goes_back(executable, array):
    x = array([1, 2, 3, 4], "float32")
    for cost in (100.0, 1e9):
        run = executable("add_one", scratch_bytes=5000, cost_ns=cost)
        before = _native.pool_stats()
        (out,) = run([x])
        assert out.tolist() == [2, 3, 4, 5]
        _native.synchronize()
        after = _native.pool_stats()
        assert after["allocations"] == before["allocations"] + 2
        assert after["live_bytes"] == before["live_bytes"] + 64
        del out


@pytest.mark.parametrize("cost_ns", [100.0, 2e4, 1e9])
def test_donation_takes_over_the_buffer(cost_ns, executable, aval, device):
    run = executable("add_one", aliases=((0, 0),), cost_ns=cost_ns)
    x = _native.to_array(np.zeros(4, np.float32), aval((4,), "float32"), device)
    address = x.unsafe_buffer_pointer()
    for _ in range(100):
        (y,) = run([x], [True])
        assert x.is_deleted()
        x = y
    assert x.unsafe_buffer_pointer() == address
    assert x.tolist() == [100.0] * 4


@pytest.mark.parametrize("cost_ns", [100.0, 1e9])
def test_donation_never_overwrites_what_others_see(cost_ns, executable, array, aval, device):
    run = executable("add_one", aliases=((0, 0),), cost_ns=cost_ns)
    vector = aval((4,), "float32")

    def fresh():
        return _native.to_array(np.zeros(4, np.float32), vector, device)

    x = fresh()
    view, other = x._value, fresh()
    handle, exported = _native.rewrap(other), np.from_dlpack(x)
    user = np.zeros(4, np.float32)
    donated = [x, other, _native.from_numpy(user, vector, device)]
    assert [run([a], [True])[0].tolist() for a in donated] == [[1.0] * 4] * 3
    assert all(a.is_deleted() for a in donated)
    assert view.tolist() == exported.tolist() == handle.tolist() == user.tolist() == [0.0] * 4
    kept = fresh()
    assert run([kept], [False])[0].tolist() == [1.0] * 4 and run([kept])[0].tolist() == [1.0] * 4
    assert kept.tolist() == [0.0] * 4


def test_inline_donation_leaves_memory_that_a_queued_reader_needs(gate, executable, aval, device):
    x = _native.to_array(np.array([5], np.float32), aval((1,), "float32"), device)
    g = gate()
    (reader,) = executable("add", 1)([g.result, x])
    (y,) = executable("add_one", 1, aliases=((0, 0),))([x], [True])
    assert y.is_ready() and y.tolist() == [6.0]
    g.open()
    assert reader.tolist() == [6.0]


def test_queued_donation_behind_a_queued_reader_is_in_place_and_right(gate, executable, aval, device):
    x = _native.to_array(np.array([5], np.float32), aval((1,), "float32"), device)
    address = x.unsafe_buffer_pointer()
    g = gate()
    (reader,) = executable("add", 1)([g.result, x])
    (y,) = executable("add_one", 1, aliases=((0, 0),), **QUEUED)([x], [True])
    g.open()
    assert reader.tolist() == [6.0] and y.tolist() == [6.0]
    assert y.unsafe_buffer_pointer() == address


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True]])
def test_donating_an_array_that_is_used_twice_raises(mask, executable, array):
    x = array([1, 2, 3, 4], "float32")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"previously donated.*f\(donated\(x\), x\)"):
            executable("add")([x, x], mask)
        assert x.tolist() == [1, 2, 3, 4]
    assert executable("add")([x, x], [False, False])[0].tolist() == [2, 4, 6, 8]


def test_a_failed_execution_still_consumes_donated_arrays(executable, array):
    x = array([1, 2, 3, 4], "float32")
    with pytest.raises(Failed):
        executable("fail", on_error=Failed)([x], [True])
    assert x.is_deleted()


def test_outputs_are_committed_when_an_input_is(executable, array):
    x, y = array([1, 2, 3, 4], "float32"), array([1, 2, 3, 4], "float32", committed=True)
    assert not executable("add")([x, x])[0].committed
    assert executable("add")([x, y])[0].committed


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
    assert _native.pool_stats()["live_bytes"] == before
    g.open()
    assert x.tolist() == [21.0]


def test_running_out_of_memory_on_the_queue(executable, aval, device, array):
    program = executable("add_one")
    huge = type("Huge", (), {"shape": (1 << 45,), "dtype": np.dtype("float32"), "weak_type": False})()
    run = _native.Executable(1, (), (huge,), 0, (), 1e9, Failed, program, device, "huge")
    (out,) = run([])
    with pytest.raises(MemoryError, match="140737488355328 bytes"):
        out.block_until_ready()
    run = _native.Executable(1, (), (), 1 << 47, (), 1.0, Failed, program, device, "huge scratch")
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
        return 0

    vector = aval((4,), "float32")
    (out,) = from_python(callback, (vector,), (vector,))([array([5, 6, 7, 8], "float32")])
    later.append(executable("add_one", **QUEUED)([array([1, 2, 3, 4], "float32")])[0])
    release.set()
    out.block_until_ready()
    assert "never end" in caught[0] and "callback" in caught[1]
    assert later[0].tolist() == [2, 3, 4, 5]


def test_many_threads(executable, array):
    wrong = []

    def work(number: int) -> None:
        for step in range(60):
            x = array([number, step, 0, 1], "float32")
            cost = (100.0, 2e4, 1e9)[step % 3]
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
    assert caught == ["Array has been deleted with shape=float32[1]."]


def test_ctrl_c_interrupts_waiting(gate):
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


def run_child(code: str) -> subprocess.CompletedProcess:
    preamble = f"""
        import importlib.util, os, sys, time, threading
        import numpy as np
        from numjet import _native
        spec = importlib.util.spec_from_file_location("support", {str(Path(__file__).with_name("conftest.py"))!r})
        support = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(support)
        slow = lambda ins, outs, info: time.sleep(0.2) or 0
        vector = support.Aval((4,), "float32")
        x = support.make_array([1, 2, 3, 4], "float32")
    """
    source = textwrap.dedent(preamble) + textwrap.dedent(code)
    command = [sys.executable, "-X", "faulthandler", "-c", source]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)


def test_fork_with_work_in_the_queue():
    child = run_child("""
        run = support.make_executable("add_one", cost_ns=1e9)
        (slow_out,) = support.python_executable(slow, (vector,), (vector,))([x])
        (y,) = run([x])
        pid = os.fork()
        (z,) = run([y])
        assert z.tolist() == [3, 4, 5, 6] and slow_out.is_ready()
        if pid == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        print("done")
    """)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


def test_fork_below_python():
    # fork() by ctypes runs no Python hooks: the child finds jobs, but no thread.
    child = run_child("""
        import ctypes
        flag = np.zeros(1, np.float32)
        gate = _native.from_numpy(flag, support.Aval((1,), "float32"), support.DEVICE)
        (running,) = support.make_executable("wait", 1, cost_ns=1e9)([gate])
        (queued,) = support.make_executable("add_one", cost_ns=1e9)([x])
        (heir,) = support.make_executable("add_one", 1)([running])
        time.sleep(0.1)
        pid = ctypes.PyDLL(None).fork()
        if pid == 0:
            assert queued.tolist() == [2, 3, 4, 5]
            for array in (running, heir):
                try:
                    array.block_until_ready()
                except RuntimeError as error:
                    assert "still running in the parent process" in str(error)
                else:
                    os._exit(1)
            os._exit(7)
        flag[0] = 1
        assert heir.tolist() == [2.0]
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        print("done")
    """)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


def test_exit_waits_for_what_is_queued():
    child = run_child("""
        def report(ins, outs, info):
            time.sleep(0.2)
            print("computed", flush=True)
            return 0
        run = support.python_executable(report, (vector,), (vector,))
        run(run([x]))
    """)
    assert child.stdout == "computed\ncomputed\n" and child.returncode == 0, child.stderr


def test_work_after_the_queue_was_closed_runs_inline():
    child = run_child("""
        import atexit
        run = support.make_executable("add_one", cost_ns=1e9)
        (y,) = run([x])
        _native.close_queue()
        (z,) = run([y])
        assert z.is_ready() and z.tolist() == [3, 4, 5, 6] and _native.counters()["enqueued"] == 1
        print("done")
    """)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


def test_ctrl_c_at_exit_gives_up():
    child = run_child("""
        import signal
        flag = np.zeros(1, np.float32)
        gate = _native.from_numpy(flag, support.Aval((1,), "float32"), support.DEVICE)
        (running,) = support.make_executable("wait", 1, cost_ns=1e9)([gate])
        (queued,) = support.make_executable("add_one", 1)([running])
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            _native.close_queue()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        try:
            queued.block_until_ready()
        except RuntimeError as error:
            print("abandoned" in str(error), flush=True)
    """)
    assert child.stdout == "interrupted\nTrue\n" and child.returncode == 0, child.stderr


def test_quiesce_ends_the_thread_and_work_restarts_it(executable, array):
    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    x, run = array([1, 2, 3, 4], "float32"), executable("add_one", **QUEUED)
    run([x])[0].block_until_ready()
    running = threads()
    _native.quiesce_queue()
    assert threads() == running - 1
    assert run([x])[0].tolist() == [2, 3, 4, 5]
    assert threads() == running
