"""The pool of threads: every chunk once, nested and concurrent regions, fork, and how many threads."""
from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from numjet import _native

ROOT = Path(__file__).parents[2]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(autouse=True)
def two_threads():
    before = _native.num_threads()
    _native.set_num_threads(2)
    yield
    _native.set_num_threads(before)


def parallel_for(chunks: int, body) -> None:
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, BODY, ctypes.c_void_p)
    prototype(_native.kernel_address("nj_parallel_for"))(chunks, BODY(body), None)


def run(chunks: int) -> list[int]:
    """The chunks that a region went through, in order of their numbers."""
    found: list[int] = []
    parallel_for(chunks, lambda _, begin, end: found.extend(range(begin, end)))
    return sorted(found)


@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 100, 1000])
def test_every_chunk_once(chunks):
    for _ in range(5):
        assert run(chunks) == list(range(chunks))


def test_one_thread_does_it_all_in_one_call():
    _native.set_num_threads(1)
    before, calls = _native.parallel_regions(), []
    parallel_for(7, lambda _, begin, end: calls.append((begin, end)))
    assert calls == [(0, 7)] and _native.parallel_regions() == before


@pytest.mark.skipif(_native.num_threads() == 1, reason="one processor")
def test_regions_are_counted_and_shared():
    before = _native.parallel_regions()
    meeting = threading.Barrier(2, timeout=20)
    parallel_for(2, lambda *_: meeting.wait())  # ends only if two threads work on it
    assert not meeting.broken and _native.parallel_regions() == before + 1


def test_nested_regions_are_serial():
    inner: list[tuple[int, int]] = []
    parallel_for(3, lambda *_: parallel_for(5, lambda _, begin, end: inner.append((begin, end))))
    assert inner == [(0, 5)] * 3


def test_regions_of_several_threads_at_once():
    results: list[bool] = []
    workers = [threading.Thread(target=lambda: results.extend(run(20) == list(range(20)) for _ in range(20)))
               for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert results == [True] * 80


def test_the_number_of_threads_changes_between_regions():
    for count in (1, 2, 1, 2):
        _native.set_num_threads(count)
        assert run(10) == list(range(10))
    _native.set_num_threads(10_000)
    assert 1 <= _native.num_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("count", [0, -3])
def test_numbers_of_threads_that_make_no_sense(count):
    with pytest.raises(ValueError, match="at least 1"):
        _native.set_num_threads(count)


def test_threads_end_and_start_again():
    assert run(4) == list(range(4))
    _native.stop_threads()
    assert run(4) == list(range(4))


def test_fork_and_exit():
    """A child has threads of its own, by os.fork and by a fork that Python does not see."""
    source = """
        import ctypes, os
        from numjet import _native
        BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        run = ctypes.CFUNCTYPE(None, ctypes.c_int64, BODY, ctypes.c_void_p)(_native.kernel_address("nj_parallel_for"))
        def total():
            found = []
            run(50, BODY(lambda _, begin, end: found.extend(range(begin, end))), None)
            return sum(found)
        assert total() == 1225
        for fork in (os.fork, ctypes.PyDLL(None).fork):
            pid = fork()
            if pid == 0:
                ok = total() == 1225
                os._exit(7 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
            assert total() == 1225
        print("done")
    """
    child = subprocess.run([sys.executable, "-c", textwrap.dedent(source)], cwd=ROOT, capture_output=True, text=True,
                           timeout=30, check=False)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


STOPPABLE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.mark.parametrize("threads", [1, 2])
def test_regions_of_machine_code_tell_whether_all_was_done(threads):
    _native.set_num_threads(threads)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, STOPPABLE, ctypes.c_void_p)
    region = prototype(_native.kernel_address("nj_parallel_until_stopped"))
    found: list[int] = []
    assert region(1000, STOPPABLE(lambda _, begin, end: found.extend(range(begin, end)) or 0), None) == 0
    assert sorted(found) == list(range(1000))
    assert region(1000, STOPPABLE(lambda _, begin, end: -1 if begin <= 500 < end else 0), None) == -1
    assert region(0, STOPPABLE(lambda *_: -1), None) == 0


def threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or _native.num_threads() == 1, reason="one processor, or not Linux")
def test_a_worker_makes_way_for_the_thread_that_it_helps():
    """A scheduler may leave both on one processor while another one idles."""
    allowed = os.sched_getaffinity(0)
    one = min(allowed)
    _native.stop_threads()
    before, meeting = threads(), threading.Barrier(2, timeout=20)
    try:
        for _ in range(100):
            os.sched_setaffinity(0, {one})
            parallel_for(2, lambda *_: meeting.wait())  # the worker starts where its parent is, and is seen there
            (worker,) = threads() - before
            os.sched_setaffinity(0, allowed)
            parallel_for(2, lambda *_: meeting.wait())
            if one not in os.sched_getaffinity(worker):
                break
        assert os.sched_getaffinity(worker) == allowed - {one} and os.sched_getaffinity(0) == allowed
    finally:
        os.sched_setaffinity(0, allowed)
        _native.stop_threads()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or _native.num_threads() == 1, reason="one processor, or not Linux")
def test_a_worker_stays_where_nothing_else_is_allowed():
    allowed = os.sched_getaffinity(0)
    _native.stop_threads()
    before, meeting = threads(), threading.Barrier(2, timeout=20)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        for _ in range(3):
            parallel_for(2, lambda *_: meeting.wait())
        (worker,) = threads() - before
        assert os.sched_getaffinity(worker) == {min(allowed)}
    finally:
        os.sched_setaffinity(0, allowed)
        _native.stop_threads()


@pytest.mark.skipif(_native.num_threads() == 1, reason="one processor")
def test_a_caller_that_waits_long_goes_on_alone():
    """As where another process has taken the worker's processor: the next regions do not wait for it again."""
    caller, begun, waited = threading.get_ident(), threading.Event(), []

    def body(*_):
        if threading.get_ident() == caller:
            start = time.perf_counter()
            begun.wait(20)
            waited.append(time.perf_counter() - start)
        else:
            begun.set()
            while not waited:
                time.sleep(0.001)
            time.sleep(0.05 + 5 * waited[0])
    before, calls = _native.parallel_regions(), []
    parallel_for(2, body)
    parallel_for(7, lambda _, begin, end: calls.append((begin, end, threading.get_ident())))
    assert begun.is_set() and calls == [(0, 7, caller)] and _native.parallel_regions() == before + 2
    _native.stop_threads()   # new threads are tried
    meeting = threading.Barrier(2, timeout=20)
    parallel_for(2, lambda *_: meeting.wait())
