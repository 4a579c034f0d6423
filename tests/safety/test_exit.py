"""Leaving the interpreter: at once, whatever daemon threads and queued programs are at; effects come first."""
from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numjet.core import snapshots
from numjet.foundation import util

sys.path.insert(0, str(Path(__file__).parent))
from children import ROOT, script, started

PREAMBLE = """
import atexit
ones, big = jnp.ones(8), jnp.ones(3_000_000)
chain = nj.jit(lambda x: jnp.sin(jnp.cos(jnp.sin(x))))
endless = nj.jit(lambda x: nj.lax.while_loop(lambda s: s > 0, lambda s: s + 1e-9, x))

def background(function):
    def forever():
        while True:
            function()
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.1)
"""

# What daemon threads do while the main thread leaves.
STATES = {
    "waits for a loop without end": "background(lambda: endless(1.0).block_until_ready())",
    "runs a loop without end": "_native.set_inline_limit(float('inf')); background(lambda: endless(1.0))",
    "runs parallel loops": "_native.set_inline_limit(float('inf')); background(lambda: chain(big))",
    "dispatches": "background(lambda: chain(big))",
    "waits": "background(lambda: chain(big).block_until_ready())",
    "cached calls": "chain(ones); background(lambda: chain(ones))",
    "operations": "background(lambda: (ones + 1, ones[2], jnp.sort(ones), ones @ ones))",
    "compiles": "background(lambda: nj.jit(lambda x, k=time.time(): jnp.cumsum(x) * k)(ones))",
    "products": "m = jnp.ones((300, 300)); background(lambda: m @ m)",
    "factorizations": "m = jnp.eye(200); background(lambda: jnp.linalg.svd(m))",
    "copies": "background(lambda: (np.array(big), jnp.array(np.ones(1_000_000)), big[::2].block_until_ready()))",
    "callbacks": """
F32 = nj.ShapeDtypeStruct((), np.float32)
calls = nj.jit(lambda x: nj.pure_callback(lambda v: (time.sleep(0.001), v)[1], F32, x))
background(lambda: calls(1.0).block_until_ready())""",
    "sleeps in a callback": """
F32 = nj.ShapeDtypeStruct((), np.float32)
calls = nj.jit(lambda x: nj.pure_callback(lambda v: (time.sleep(0.4), v)[1], F32, x))
background(lambda: calls(1.0).block_until_ready())""",
    "user's objects with finalizers": """
class Noisy:
    def __del__(self): sum(range(1000))
f = nj.jit(lambda x: x * 2, static_argnums=())
nj.tree_util.register_pytree_node(Noisy, lambda n: ((ones,), None), lambda _, c: Noisy())
background(lambda: nj.jit(lambda n: n)(Noisy()))""",
}


@pytest.mark.parametrize("state", STATES)
def test_daemon_threads(state, scale):
    """Many exits at once, for they have to meet all kinds of moments: 14 states x 15 are 210 by `--full`."""
    count = 1 if scale == 1 else 15
    for _ in range(count):
        ran = started(PREAMBLE + STATES[state] + "\nprint('end', flush=True)")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("state", ["waits for a loop without end", "waits"])
def test_daemon_threads_see_nothing_of_the_end(state):
    """The end stops what they wait for; a hook that runs after that, and takes its time, gives them no time to report it."""
    compiled = "endless, chain = endless.lower(1.0).compile(), chain.lower(big).compile()\n"
    ran = started(PREAMBLE + compiled + STATES[state], first="import atexit, time; atexit.register(lambda: time.sleep(0.7))")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_programs_whose_results_nobody_sees_are_left():
    begin = time.monotonic()
    out = script(PREAMBLE + """
kept = [endless(1.0)] + [chain(big) for _ in range(20)]
sys.stdout.write("end")
""")
    assert out == "end" and time.monotonic() - begin < 45


def test_effects_are_finished_in_order_and_with_what_they_need():
    out = script(PREAMBLE + """
lost = endless(1.0)
y = chain(big)
lost_too = chain(y + 1)
for k in range(3):
    nj.jit(lambda x: nj.debug.print("last {} {}", k, x[0]))(y)
never = chain(big)
""")
    assert [line[:10] for line in out.splitlines()] == [f"last {k} 0.6"[:10] for k in range(3)]


@pytest.mark.parametrize("limit", [0.0, None])
def test_ctrl_c_ends_the_wait_for_effects(limit):
    """limit 0: the program is queued, and waited for at the end; else the call itself runs it."""
    code = PREAMBLE + f"""
signal.signal(signal.SIGINT, signal.default_int_handler)
endless_print = nj.jit(lambda x: nj.debug.print("never {{}}", nj.lax.while_loop(lambda s: s > 0, lambda s: s + 1e-9, x)))
limit = {limit}
if limit is not None:
    nj._native.set_inline_limit(limit)
timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.daemon = True   # the interpreter waits for others before it ends
timer.start()
endless_print(1.0)
"""
    ran = started(code)
    assert "never" not in ran.stdout and ran.returncode in (0, 1, 130, -signal.SIGINT)


def test_later_exit_handlers_may_look_at_results():
    """Handlers registered before numjet was imported run after its own."""
    code = """
import atexit, sys
def last():
    print(float(jnp.sum(kept[-1])) > 0, float(chain(ones)[0]) > 0, len(kept))
    try:
        lost.block_until_ready()
    except RuntimeError as error:
        print("abandoned because the process ends" in str(error))
atexit.register(last)
import numjet as nj, numjet.numpy as jnp
ones, big = jnp.ones(8), jnp.ones(3_000_000)
chain = nj.jit(lambda x: jnp.sin(jnp.cos(jnp.sin(x))))
lost = nj.jit(lambda x: nj.lax.while_loop(lambda s: s > 0, lambda s: s + 1e-9, x))(1.0)
kept = [chain(big) for _ in range(5)]
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "True True 5\nTrue\n", "")


def test_exit_handlers_that_a_program_runs_by_hand():
    """The main thread goes on, and so do the others."""
    assert script("""
import atexit, threading
import numjet as nj
print(float(nj.jit(lambda x: x + 1)(1.0)))
atexit._run_exitfuncs()
thread = threading.Thread(target=lambda: print(float(nj.jit(lambda x: x + 2)(1.0)), flush=True))
thread.start()
thread.join()
""") == "2.0\n3.0\n"


@pytest.mark.skipif(sys.platform != "linux", reason="calls a function of glibc")
@pytest.mark.parametrize("limit", [-1.0, 0.0])
def test_machine_code_that_outlives_the_interpreter_enters_it_no_more(limit):
    """Products end, and loops look for signals, when there is no Python any more, but the process is still there.

    limit -1: the threads run their programs themselves; 0: the queue's thread runs the products, which are the only ones.
    """
    out = script(PREAMBLE + f"""
import ctypes
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.sleep, ctypes.c_void_p(1), None)   # runs last of all
_native.set_inline_limit({limit})
reached = threading.Event()
def call(v):
    reached.set()
    return v

@nj.jit
def products(m):
    def step(state):
        m, k = state
        for _ in range(4):
            m = m @ m
        return m, nj.pure_callback(call, nj.ShapeDtypeStruct((), np.float32), k + m[0, 0])
    return nj.lax.while_loop(lambda state: state[1] > 0, step, (m, 1.0))

identity = jnp.eye(2000)
background(lambda: products(identity))
reached.wait()
if {limit} < 0:
    background(lambda: endless(1.0))
print("end", flush=True)
""")
    assert out == "end\n"


@pytest.mark.skipif(sys.platform != "linux", reason="calls a function of glibc")
def test_machine_code_of_no_thread_of_the_interpreter_is_turned_away_at_the_end():
    """What a handler of the C library calls, which runs after the interpreter, stands for such a thread."""
    assert script("""
import ctypes
libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.c_void_p(_native.kernel_address("nj_enter_python")), None, None)
print("end", flush=True)
""") == "end\n"


def test_sys_exit_in_a_child_by_multiprocessing_and_os_exit():
    assert script(PREAMBLE + """
pid = os.fork()
if pid == 0:
    kept = [chain(big) for _ in range(5)] + [endless(1.0)]
    sys.exit(3)
assert waited(pid, 50) == 3
print("done", flush=True)
os._exit(0)
""") == "done\n"


def test_what_outlives_modules_goes_silently(monkeypatch):
    """Objects that caches hold weakly may die after the globals of numjet's modules, which Python sets to None at exit."""
    class Key:
        pass

    failures: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    memoized, key, array = util.weakref_lru_cache(lambda key: 1), Key(), np.ones(3)
    memoized(key)
    copy = snapshots.snapshot(array)
    with monkeypatch.context() as gone:
        gone.setattr(util, "_weak_lock", None)
        gone.setattr(snapshots, "_copies", None)
        del key, array
    assert failures == [] and np.asarray(copy).tolist() == [1, 1, 1]
