"""Forking while other threads compile, dispatch, run loops without end: os.fork returns, and the child computes.

Every test runs in a process of its own, where nothing but what it starts is going on. A child that hangs is killed.
"""
from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from children import ROOT, script

PREAMBLE = """
ones = jnp.ones(8)
big = jnp.ones(300_000)
chain = nj.jit(lambda x: jnp.sin(jnp.cos(jnp.sin(x))))
wanted = np.sin(np.cos(np.sin(np.float32(1))))
endless = nj.jit(lambda x: nj.lax.while_loop(lambda s: s > 0, lambda s: s + 1e-9, x))

def background(function):
    def forever():
        while True:
            function()
    threading.Thread(target=forever, daemon=True).start()
    return time.sleep(0.2)

def everything(k=0):
    '''What a child may do: what was compiled before, what is not yet, all threads, imports on demand.'''
    assert np.allclose(chain(big), wanted)
    assert np.allclose(nj.jit(lambda x: jnp.cos(x) * k)(ones), np.cos(1.0) * k)
    assert np.allclose(nj.grad(lambda x: jnp.sum(jnp.sort(x) ** k))(ones), k)
    assert np.allclose(ones + 1, 2) and np.allclose(big @ big, 300_000)

def forks(count, check=everything):
    for k in range(count):
        forked(lambda: check(k))
"""


def run(code: str, patience: float = 120) -> None:
    assert script(PREAMBLE + code + "\nprint('done', flush=True)\nos._exit(0)\n", patience) == "done\n"


def test_while_others_compile():
    """Also the first compilation of all, which imports the compiler."""
    run("""
import itertools
number = itertools.count()
def compile_one():
    k = next(number)
    nj.jit(lambda x: jnp.cumsum(jnp.sin(x) * k))(ones)
threading.Thread(target=compile_one).start()
forked(lambda: everything(1))
background(compile_one), background(compile_one)
forks(16)
""")


def test_while_the_compiler_is_imported():
    run("""
for k in range(4):
    def imports_it():
        started = threading.Event()
        threading.Thread(target=lambda: (started.set(), nj.jit(lambda x: x * 2 + 1)(np.ones(3))), daemon=True).start()
        started.wait()
        time.sleep(0.02 * k)
        forked(lambda: nj.jit(lambda x: x * 3)(np.ones(3)).block_until_ready())
    forked(imports_it)
""".replace("ones = ", ""))


def test_while_others_dispatch():
    run("""
def dispatch(y=[big]):
    y[0] = chain(y[0])
background(dispatch), background(dispatch)
forks(8)
""")


def test_while_a_loop_runs_for_ever():
    run("""
running = endless(1.0)
background(lambda: endless(1.0).block_until_ready())
def check(k):
    try:
        running.block_until_ready()
    except RuntimeError as error:
        assert "still running in the parent" in str(error)
    else:
        assert False, "lost, but no error"
threading.Thread(target=running.block_until_ready, daemon=True).start()
forks(3, check)
""")


def test_the_child_computes_what_is_queued():
    """Each program is short beside the quarter of a second that a fork waits for the one that runs, on slow machines, too."""
    run("""
slow = nj.jit(lambda x: nj.lax.fori_loop(0, 20_000, lambda i, s: jnp.sin(s) + 1e-3, x))
first = [slow(ones) for _ in range(3)]
last = chain(big) + first[-1][0]
forks(3, lambda k: (last.block_until_ready(), everything(k)))
while_polled = [chain(big) for _ in range(5)]
def polls(k):
    while not while_polled[-1].is_ready():
        time.sleep(0.001)
forks(3, polls)
last.block_until_ready(), everything()
""")


def test_inside_a_callback():
    """The child may compute there; when its callback returns, the program goes on in the child, too, in the same thread."""
    run("""
def forks_and_leaves(x):
    forked(lambda: (everything(2), nj.jit(lambda x: x + 5)(ones)))
    return np.float32(x + 1)
F32 = nj.ShapeDtypeStruct((), np.float32)
forking = nj.jit(lambda x: nj.pure_callback(forks_and_leaves, F32, jnp.sin(x)) * 2)
assert np.allclose(forking(0.0), 2.0)

seen = []
def forks_and_returns(x):
    seen.append(os.fork())
    return np.float32(x + 1)
found = float(nj.jit(lambda x: nj.pure_callback(forks_and_returns, F32, x) * 2)(1.0))
if seen == [0]:
    os._exit(0 if found == 4.0 else 3)
assert found == 4.0 and len(seen) == 1
assert waited(seen[0], 60) == 0
""")


def test_while_the_second_tier_is_made():
    run("""
from numjet.cpu.native_code import tiers
def program(count):
    def f(x):
        for k in range(count):
            x = jnp.roll(x, 1) * 0.5 + jnp.sin(x * k)
        return x
    return nj.jit(f)
x = jnp.ones((5, 7))
f = program(90)
first = np.asarray(f(x))
before = nj.foundation.events.counters()
assert before.get("compile.first_tier"), "the program is too small for two tiers"
f(x)
def check(k):
    assert np.array_equal(f(x), first)
    tiers.finish()
    made = nj.foundation.events.counters().get("compile.second_tier", 0)
    assert made == 1 and np.array_equal(f(x), first), made
forks(4, check)
tiers.finish()
""")


def test_signal_handlers_that_fork_or_set_threads():
    """Also in the middle of a section with a lock of the package, and of a parallel region."""
    run("""
from numjet.foundation import events
handled = []
def handler(*_):
    handled.append(1)
    nj.config.update("num_threads", 1 + len(handled) % 2)
    if len(handled) % 10 == 0:
        forked(lambda: everything(3))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
everything()  # a handler cannot use a module that is half imported
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
deadline = time.monotonic() + 60
k = 0
while len(handled) < 100 and time.monotonic() < deadline:
    for _ in range(100):
        events.count("test")
    assert np.allclose(chain(big), wanted)
    k += 1
    nj.jit(lambda x: x * k)(ones)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(handled) >= 100
""")


def test_several_threads_fork():
    run("""
background(lambda: chain(big))
threads = [threading.Thread(target=forks, args=(2,)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
everything()
""")


def test_forks_below_python():
    """No hook of Python's runs: the child may at least look at what is ready, and compute with what was compiled.

    The queue and the threads of numjet are at work, but no other thread of Python: one that waits for the interpreter's lock
    makes such a child hang in Python itself, which waits in `drop_gil` for a thread that is gone.
    """
    run("""
import ctypes
fork = ctypes.PyDLL(None).fork
small = nj.jit(lambda x: x * 2)
small(ones)
big = jnp.ones(3_000_000)   # of fewer numbers, chain would get a second tier, which a thread of Python compiles
for k in range(20):
    queued = [chain(big) for _ in range(3)]
    pid = fork()
    if pid == 0:
        os._exit(7 if np.allclose(ones, 1) and np.allclose(ones + 1, 2) and np.allclose(small(ones), 2) else 1)
    assert waited(pid, 60) == 7
""")


def test_multiprocessing_by_fork():
    run("""
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of newer Pythons: a fork with threads
def work(k):
    return float(nj.jit(lambda x: jnp.sum(x * k))(np.ones(100, np.float32)))
background(lambda: chain(big))
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map_async(work, range(30)).get(timeout=100) == [100.0 * k for k in range(30)]
""")


def test_many_forks(scale):
    count = 40 if scale == 1 else 500 * scale
    run(f"""
chain(ones)
background(lambda: chain(big))
def quick(k):
    assert np.allclose(chain(ones), wanted) and np.allclose(ones + k, 1 + k)
forks({count}, quick)
""", patience=120 + 0.5 * count)


BARE = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier", "allocate_lock", "cached_property",
        "Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "ThreadPoolExecutor"}


def bare_locks(source: str) -> list[str]:
    modules = {"threading", "_thread", "queue", "functools", "multiprocessing", "concurrent"}
    words = set(re.findall(r"\w+", source))
    if not (words & modules and words & BARE):  # most files, which need not be parsed
        return []
    nodes = list(ast.walk(ast.parse(source)))
    used = [ast.unparse(n) for n in nodes if isinstance(n, ast.Attribute) and n.attr in BARE
            and ast.unparse(n.value).split(".")[0] in modules]
    return used + [f"{n.module}.{a.name}" for n in nodes if isinstance(n, ast.ImportFrom)
                   and (n.module or "").split(".")[0] in modules for a in n.names if a.name in BARE]


def test_all_locks_are_held_across_forks():
    """Whoever needs a lock asks `foundation.locks`, which has forks hold it: bare ones may be left locked in a child."""
    assert bare_locks("import threading as t\nfrom threading import RLock\nx = threading.Lock()") == \
        ["threading.Lock", "threading.RLock"]
    files = [f for f in (ROOT / "numjet").rglob("*.py") if f.parent.name != "tools"]  # those are programs of their own
    found = {str(f.relative_to(ROOT)): sorted(bare_locks(f.read_text(encoding="utf8"))) for f in files}
    assert {f: used for f, used in found.items() if used} == {
        "numjet/foundation/locks.py": ["threading.Condition", "threading.Condition", "threading.RLock", "threading.RLock"],
        "numjet/xla/host_moves.py": ["concurrent.futures.ThreadPoolExecutor"]}   # XLA's devices do not survive a fork either


def test_locks_are_reentrant_and_llvms_is_among_them():
    run("""
from numjet.cpu.native_code import machines
nj.jit(lambda x: x * 2)(ones)
locks = _native.guarded_locks()
assert all(worker.lock in locks for worker in machines._made) and machines._made and len(locks) >= 8
for lock in locks:
    with lock, lock:
        pass
with locks[-1], locks[0]:
    forked(lambda: everything(1))
""")


def test_xla_does_not_survive_and_says_so():
    """Arrays, programs and devices of XLA raise in the child at once; numjet's own backend works; the parent goes on."""
    pytest.importorskip("jaxlib")
    run("""
device = nj.devices("xla_cpu")[0]
there = nj.device_put(np.ones(1000, np.float32), device)
f = nj.jit(lambda x: jnp.sin(x) * 2)
result = f(there)
background(lambda: f(nj.device_put(np.ones(100_000, np.float32), device)))
def check(k):
    for use in (result.block_until_ready, lambda: np.asarray(result), lambda: result + 1, lambda: f(there), result.is_ready,
                lambda: nj.device_put(1.0, device), lambda: nj.devices("xla_cpu")[0] and nj.device_put(ones, device)):
        try:
            use()
        except RuntimeError as error:
            assert "do not survive a fork" in str(error), error
        else:
            assert False, "no error"
    everything(k)
forks(5, check)
assert np.allclose(np.asarray(f(there)), 2 * np.sin(1.0))
pid = os.fork()
if pid == 0:
    del there, result
    sys.exit(3)
assert waited(pid, 60) == 3
""")
