"""Memory: caches are bounded in number and bytes, and what nobody needs any more goes."""

from __future__ import annotations

import ast
import collections
import ctypes
import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api import jit as jit_module
from numjet.core import aval as avals
from numjet.core.aval import ShapedArray
from numjet.cpu.native_code import jit, linker
from numjet.runtime import dispatch, eager
from numjet.tools import soak

# ------------------------------------------------------------------------------------------- avals

def test_avals_of_a_million_shapes_do_not_stay(scale):
    for n in range(50_000 * scale):
        ShapedArray((n, 7), np.dtype(np.float32))
        assert len(avals._table) <= 50_000
    avals.sweep()
    assert len(avals._table) < 8192


def test_slices_of_many_lengths_leave_no_avals():
    x = jnp.arange(3000)
    for n in range(3000):
        x[:n]
    del x
    nj.clear_caches()
    gc.collect()
    assert len(avals._table) < 1500


def test_an_aval_that_somebody_holds_stays_the_same_object():
    held = [ShapedArray((n, 3), np.dtype(np.int32)) for n in range(1000)]
    array = jnp.zeros((5, 4, 3, 2))
    number = id(array.aval)
    avals.sweep()
    assert all(a is ShapedArray((n, 3), np.dtype(np.int32)) for n, a in enumerate(held))
    assert number == id(ShapedArray((5, 4, 3, 2), np.dtype(np.float32)))
    assert (array + array).aval is array.aval


def test_avals_are_interned_while_other_threads_sweep(scale):
    stop, wrong = threading.Event(), []

    def sweeping() -> None:
        while not stop.is_set():
            avals.sweep()

    def interning(seed: int) -> None:
        for n in range(20_000 * scale):
            shape = ((n * seed) % 37, 11)
            one = ShapedArray(shape, np.dtype(np.float32))
            other = ShapedArray(shape, np.dtype(np.float32))
            if one is not other:
                wrong.append(shape)

    sweeper = threading.Thread(target=sweeping)
    threads = [threading.Thread(target=interning, args=(seed,)) for seed in (1, 3, 5)]
    for thread in (sweeper, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    sweeper.join()
    assert not wrong


def test_only_dictionaries_are_swept():
    with pytest.raises(TypeError, match="expected a dict, got 3"):
        nj._native.drop_unshared(3)
    own, shared = {"a": object()}, {"a": (kept := object())}
    assert nj._native.drop_unshared(own) == 1 and own == {}
    assert nj._native.drop_unshared(shared) == 0 and shared == {"a": kept}


# ------------------------------------------------------------------------------------------- exhausted address space

STEPS = """
import resource, sys
import numpy as np
import numjet as nj
import numjet.numpy as jnp

def size():
    return int(open("/proc/self/statm").read().split()[0]) * 4096

loaded, step, most = sys.argv[1] == "loaded", int(sys.argv[2]) << 10, int(sys.argv[3]) << 20
if loaded:
    nj.jit(lambda x: x * 2)(np.ones(3, np.float32))
refused = made = 0
x = np.arange(1000, dtype=np.float32)
for extra in range(0, most, step):
    f = nj.jit(lambda x: jnp.sort(jnp.sin(x) * extra) + jnp.cumsum(x))
    resource.setrlimit(resource.RLIMIT_AS, (size() + extra, resource.RLIM_INFINITY))
    try:
        result = f(x)
        made += 1
    except MemoryError:
        result = None
        refused += 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if result is not None:
        np.testing.assert_allclose(result, np.sort(np.sin(x) * extra) + np.cumsum(x), rtol=1e-4, atol=1e-3)
    elif refused % 16 == 0:
        np.testing.assert_allclose(f(x), np.sort(np.sin(x) * extra) + np.cumsum(x), rtol=1e-4, atol=1e-3)
    nj.clear_caches()
print(refused, made)
"""


@pytest.mark.skipif("NUMJET_SANITIZE" in os.environ, reason="sanitizers need address space of their own")
@pytest.mark.parametrize("state, step, most", [("loaded", 1 << 10, 64), ("loaded", 64, 2), ("fresh", 8 << 10, 512)])
def test_a_compile_without_address_space_raises_and_works_when_there_is_some(state, step, most, scale):
    """One child steps through limits from nothing up: each call is right, or raises MemoryError."""
    child = subprocess.run([sys.executable, "-c", STEPS, state, str(max(4, step // scale)), str(most)],
                           capture_output=True, text=True, timeout=1200, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
    refused, made = map(int, child.stdout.split())
    assert refused > 0 and refused + made == -(-(most << 10) // max(4, step // scale))
    assert made > 0 or most < 32


# ------------------------------------------------------------------------------------------- machine code

TEXT = "define i64 @f(ptr %a, ptr %b, ptr %c, ptr %d) {\n  ret i64 7\n}\n"


@pytest.fixture
def generations(monkeypatch) -> list[Any]:
    """Those of a linker of its own."""
    made: list[Any] = []

    class Watched(linker._Generation):
        def __init__(self, machine: Any):
            super().__init__(machine)
            made.append(self)

    monkeypatch.setattr(linker, "_Generation", Watched)
    fresh = linker.Linker(jit._linker()._machine)
    monkeypatch.setattr(jit, "_linker", lambda: fresh)
    return made


def test_what_llvm_keeps_of_dead_programs_goes_with_their_generation(generations):
    code = jit.compile_object(TEXT)
    for _ in range(3 * linker.LIBRARIES + 1):
        jit.link_by_llvm(code, "f", {})
    assert [len(g.linker) for g in generations] == [0, 0, 0, 1]
    assert not any(g.alive for g in generations)


def test_a_program_that_lives_keeps_its_own_generation_only(generations):
    code = jit.compile_object(TEXT)
    loaded = [jit.link_by_llvm(code, "f", {}) for _ in range(3 * linker.LIBRARIES)]
    kept = loaded[linker.LIBRARIES + 5]
    loaded.clear()
    jit.link_by_llvm(code, "f", {})
    assert [len(g.linker) for g in generations] == [0, 1, 0, 1]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)(kept.address)(None, None, None, None) == 7
    del kept
    assert [len(g.linker) for g in generations] == [0, 0, 0, 1]


def test_programs_that_die_in_cycles_end_before_their_linker(generations):
    code = jit.compile_object(TEXT)
    for _ in range(2 * linker.LIBRARIES):
        cycle: list[Any] = [jit.link_by_llvm(code, "f", {})]
        cycle.append(cycle)
    del cycle
    gc.collect()
    jit.link_by_llvm(code, "f", {})
    assert [len(g.linker) for g in generations] == [0, 0, 1]


def test_threads_that_compile_and_forget(generations, scale):
    code, wrong = jit.compile_object(TEXT), []

    def work() -> None:
        held: list[Any] = []
        for k in range(200 * scale):
            held.append(jit.link_by_llvm(code, "f", {}))
            if k % 7 == 0:
                held.clear()
        wrong.extend(h for h in held if not h.address)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads
    gc.collect()
    jit.link_by_llvm(code, "f", {})
    assert not wrong and sum(len(g.linker) for g in generations) <= 2 and len(generations) >= 800 * scale // linker.LIBRARIES


# ------------------------------------------------------------------------------------------- every cache

PACKAGE = Path(nj.__file__).parent
DECORATORS = {"cache", "lru_cache", "weakref_lru_cache", "memoized", "cached_by_program", "cached_with"}
TABLES = {"dict", "set", "list", "OrderedDict", "defaultdict", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "deque",
          "Memo"}


def name_of(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_empty_table(value: ast.AST | None) -> bool:
    """Whether a module or a class begins with a table that is filled later."""
    if isinstance(value, ast.Call):
        return name_of(value) in TABLES - {"list", "set", "dict"} or (name_of(value) in TABLES and not value.args)
    return isinstance(value, ast.Dict) and not value.keys


def caches_of(path: Path) -> set[str]:
    """module.name of everything in a file that looks like a cache."""
    tree, module = ast.parse(path.read_text(encoding="utf8")), ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
             and any(name_of(d) in DECORATORS for d in node.decorator_list)}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_empty_table(node.value):
            found |= {name_of(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call) and name_of(node.value) == "Memo":
            found |= {name_of(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    return {f"{module}.{name}" for name in found}


def test_every_cache_is_written_down_with_key_bound_and_end():
    text = (PACKAGE.parent / "docs" / "caches.md").read_text(encoding="utf8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    assert all(len(row) == 4 and all(row) for row in rows)
    listed = [name for row in rows for name in re.findall(r"`([\w.]+)`", row[0])]
    assert len(listed) == len(set(listed))
    found = {name for path in PACKAGE.rglob("*.py") for name in caches_of(path)
             if path.parent.name not in ("testing", "tools")}
    native = {name for name in listed if name.startswith("native.")}
    assert all((PACKAGE.parent / f"{name.replace('.', '/')}.cpp").exists() for name in native)
    assert set(listed) - native == found


# ------------------------------------------------------------------------------------------- bounds and soak

def test_a_function_of_many_shapes_keeps_what_fits(monkeypatch):
    monkeypatch.setattr(jit_module, "_BYTES_PER_FUNCTION", 1 << 21)
    f, often = nj.jit(lambda x: x * 2), np.ones(3, np.float32)
    traced = []
    g = nj.jit(lambda x: (traced.append(x.shape), x + 1)[1])
    for n in range(4, 104):
        assert f(np.ones(n, np.float32)).shape == g(np.ones(n, np.float32)).shape == (n,)
        f(often), g(often)
    assert f.cache_size() < 40 and traced.count((3,)) == 1  # never dropped, as it was used all the time
    g(np.ones(4, np.float32))
    assert traced.count((4,)) == 2  # dropped, and made again


def test_programs_of_operations_keep_what_fits(monkeypatch):
    monkeypatch.setattr(dispatch._operations, "most_bytes", 1 << 21)
    nj.clear_caches()
    for n in range(60):
        x = jnp.ones(70_000 + n)
        assert float(jnp.sin(x)[0]) == pytest.approx(np.sin(1.0), rel=1e-5)
        assert len(dispatch._operations) < 40
        assert sum(type(v).__name__ == "Compiled" for v in eager._known.values()) < 40
    nj.clear_caches()
    assert not len(dispatch._operations) and not eager._known


def test_fresh_lambdas_leave_nothing():
    def functions() -> int:
        gc.collect()
        return sum(type(o).__name__ in ("Jitted", "Traced", "Executable", "JitFunction", "Library") for o in gc.get_objects())

    def use(n: int) -> None:
        for k in range(n):
            nj.jit(lambda x, k=k: x * k)(1.0)
            nj.jit(nj.grad(lambda x, k=k: x * k))(1.0)
            nj.vmap(lambda x, k=k: x + k)(jnp.ones(2))

    use(3)
    before = functions()
    use(20)
    assert functions() <= before + 5


def test_soak(scale):
    """A short run of `python -m numjet.tools.soak`, in a process of its own."""
    child = subprocess.run([sys.executable, "-m", "numjet.tools.soak", "--calls", str(20_000 * scale)],
                           capture_output=True, text=True, timeout=3000, check=False)
    assert child.returncode == 0, child.stdout[-3000:] + child.stderr[-3000:]
    assert "(flat)" in child.stdout and child.stdout.count("\n") >= soak.SAMPLES


def test_soak_tells_growth():
    flat = [(n, 100) for n in range(1, 101)]
    assert soak.growth(flat) == 0
    assert soak.growth([(n, 100 + n) for n, _ in flat]) > soak.GROWTH
    assert soak.growth([(n, 500 if n < 25 else 100) for n, _ in flat]) == 0


def test_soak_makes_calls_of_every_kind():
    kinds = collections.Counter(soak.plan(20_000, 0))
    assert set(kinds) == {*soak.CHEAP, *soak.COSTLY} and sum(kinds.values()) == 20_000
    assert set(kinds) == {name for name in vars(soak.Calls) if not name.startswith("_")}
