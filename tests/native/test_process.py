"""The execution queue through fork and exit, in child processes."""
from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]


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


def test_exit_finishes_what_has_effects():
    child = run_child("""
        def report(ins, outs, info):
            time.sleep(0.2)
            print("computed", flush=True)
            return 0
        run = support.python_executable(report, (vector,), (vector,))
        run.set_effects()
        run(run([x]))
    """)
    assert child.stdout == "computed\ncomputed\n" and child.returncode == 0, child.stderr


def test_work_after_the_queue_was_closed_runs_inline():
    child = run_child("""
        import atexit
        run = support.make_executable("add_one", cost_ns=1e9)
        (y,) = run([x])
        y.block_until_ready()  # the queue gives up what runs while it closes
        _native.close_queue()
        (z,) = run([y])
        assert z.is_ready() and z.tolist() == [3, 4, 5, 6] and _native.counters()["enqueued"] == 1
        print("done")
    """)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


def test_what_the_closing_queue_stops_is_abandoned():
    child = run_child("""
        run = support.make_executable("add_one", cost_ns=1e9)
        results = [run([x])[0] for _ in range(100)]
        _native.close_queue()
        for y in results:
            try:
                assert y.tolist() == [2, 3, 4, 5]
            except RuntimeError as error:
                assert "abandoned because the process ends" in str(error), error
        print("done")
    """)
    assert child.stdout == "done\n" and child.returncode == 0, child.stderr


def test_ctrl_c_at_exit_gives_up():
    child = run_child("""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        flag = np.zeros(1, np.float32)
        gate = _native.from_numpy(flag, support.Aval((1,), "float32"), support.DEVICE)
        waiting = support.make_executable("wait", 1, cost_ns=1e9)
        waiting.set_effects()
        (running,) = waiting([gate])
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
