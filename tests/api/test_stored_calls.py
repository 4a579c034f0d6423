"""Programs that other processes compiled: neither traced nor compiled where nothing changed, traced where it may have."""
from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation import disk_cache, events
from numjet.foundation.config import Override, config, enable_x64, explain_cache_misses
from numjet.runtime import stored_programs

HEADER = "import math\nimport numpy as np\nimport numjet as nj\nimport numjet.numpy as jnp\nfrom numjet import lax\n"
FRESH, STORED, COMPILED_ONLY = (1, 1), (0, 0), (1, 0)   # (traces, compilations)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, which is switched on."""
    before = config.read("numjet_cache")
    config.update("numjet_cache", str(tmp_path / "cache"))
    # Another test may have put a rule of its own in place of one of numjet's.
    monkeypatch.setattr(importlib.import_module("numjet.api.library_state"), "overridden", {})
    # Another test may have registered one of Python's classes as a pytree.
    monkeypatch.setattr(importlib.import_module("numjet.api.library_state"), "library_types", [])
    yield tmp_path / "cache"
    config.update("numjet_cache", before)


def run(source: str, *args: Any, options: str = "", **kwargs: Any) -> tuple[tuple[int, int], Any]:
    """Jits the function `f` of a source as a new process would: (traces, compilations) of its first call, and the result."""
    scope: dict[str, Any] = {"__name__": "users"}
    exec(compile(HEADER + textwrap.dedent(source), "/users/program.py", "exec"), scope)
    jitted = eval(f"nj.jit(f{options})", scope)
    with events.counting() as grown:
        out = jitted(*args, **kwargs)
    again = jitted(*args, **kwargs) if "donate" not in options else out
    nj.tree.map(np.testing.assert_array_equal, out, again)
    return (grown.get("trace", 0), grown.get("compile", 0)), out


X = np.arange(6, dtype=np.float32)
PLAIN = "def f(x): return jnp.sin(x) * 2"

PROVEN = {
    "plain": PLAIN,
    "globals": "A = 2.5\nB = np.arange(6.0, dtype='f')\nC = jnp.arange(6.0)\ndef f(x): return x * A + B + C + math.pi",
    "helpers": "def g(x, k=3): return x + k\nh = nj.jit(lambda x: g(x) * 2)\n"
               "def f(x): return h(x) + nj.vmap(g)(x) + nj.grad(lambda x: g(x).sum())(x)",
    "closures": "def make(a, w):\n    return lambda x: x * a + w\nf = make(2, np.float32(3))",
    "loops": "def f(x): return lax.fori_loop(0, 5, lambda k, y: y * 1.5 + k, x)",
    "comprehension": "def f(x): return sum([x * k for k in range(3)])",
    "pytree": "def f(x): return {'b': (x, None), 'a': [x + 1, x.sum()]}",
    "recursion": "def g(x, k): return x if k == 0 else g(x + k, k - 1)\ndef f(x): return g(x, 3)",
    "random": "def f(x): return x + nj.random.normal(nj.random.key(0), x.shape) + np.pi",
    "large constant": "W = np.arange(5000, dtype='f')\ndef f(x): return x + W[:6] + jnp.asarray(W).sum()",
    "linear algebra": "def f(x): return jnp.linalg.cholesky(jnp.eye(6) * 4 + x[:, None] * x)",
}


@pytest.mark.parametrize("name", PROVEN)
def test_second_process_neither_traces_nor_compiles(cache, name):
    first, out = run(PROVEN[name], X)
    assert first[0] >= 1 and first[1] >= 1
    second, same = run(PROVEN[name], X)
    assert second == STORED
    nj.tree.map(np.testing.assert_array_equal, out, same)
    assert nj.tree.structure(out) == nj.tree.structure(same)
    assert [(a.dtype, a.weak_type) for a in nj.tree.leaves(out)] == [(a.dtype, a.weak_type) for a in nj.tree.leaves(same)]


CHANGED = {
    "code": (PLAIN, PLAIN.replace("2", "3")),
    "kind of a number": ("def f(x): return jnp.full(3, 1) + x[:3]", "def f(x): return jnp.full(3, 1.0) + x[:3]"),
    "sign of a zero": ("def f(x): return x * 0.0", "def f(x): return x * -0.0"),
    "global": ("A = 1\ndef f(x): return x * A", "A = 2\ndef f(x): return x * A"),
    "helper": ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x\ndef f(x): return g(x)"),
    "helper of a helper": ("K = 1\ng = nj.jit(lambda x: x + K)\ndef f(x): return g(x)",
                           "K = 2\ng = nj.jit(lambda x: x + K)\ndef f(x): return g(x)"),
    "array": ("W = np.ones(6, 'f')\ndef f(x): return x * W", "W = np.full(6, 2, 'f')\ndef f(x): return x * W"),
    "default": ("def f(x, a=1): return x + a", "def f(x, a=2): return x + a"),
    "attribute of the library": ("def f(x): return jnp.sin(x)", "def f(x): return jnp.cos(x)"),
    "operator": ("def f(x): return x + x", "def f(x): return x - x"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_changed_is_traced(cache, name):
    before, after = CHANGED[name]
    run(before, X)
    counts, out = run(after, X)
    assert counts[0] >= 1
    config.update("numjet_cache", "0")
    np.testing.assert_array_equal(out, run(after, X)[1])
    assert np.array_equal(np.signbit(out), np.signbit(run(after, X)[1]))


def test_platforms_that_were_listed_change_nothing(cache, monkeypatch):
    monkeypatch.setattr(importlib.import_module("numjet.runtime.device"), "other_platforms", {"xla_cpu"})
    assert run(PLAIN, X)[0] == FRESH and run(PLAIN, X)[0] == STORED


def test_shardings_of_other_arrays_change_nothing(cache):
    label = nj.NamedSharding(nj.make_mesh((1,), ("x",)), nj.P("x"))
    labelled = nj.device_put(X, label)
    assert run(PLAIN, X)[0] == FRESH
    assert run(PLAIN, X)[0] == STORED
    for _ in range(2):
        counts, out = run(PLAIN, labelled)
        assert counts[0] == 1 and out.sharding == label


def test_types_of_arguments_and_flags_are_part_of_the_key(cache):
    source = "def f(x, y=1.0): return x * y"
    calls: list[tuple[Any, ...]] = [(X,), (X[:3],), (X.astype(np.int32),), (2.0,), (2,), (True,), (X, 2.0), (X, np.float32(2)),
                                    (jnp.float32(2),)]
    for args in calls:
        assert run(source, *args)[0] == FRESH
    for args in calls:
        assert run(source, *args)[0] == STORED
    with enable_x64():
        assert run(source, X)[0] == FRESH
        assert run(source, X)[0] == STORED
    assert run(source, x=X)[0][0] == 1 and run(source, y=2.0, x=X)[0][0] == 1 and run(source, x=X)[0] == STORED


def test_options_of_jit(cache):
    source = "def f(x, n=2): return x * n"
    assert run(source, X, 3, options=", static_argnums=1")[0] == FRESH
    assert run(source, X, 3, options=", static_argnums=1")[0] == STORED
    assert run(source, X, 3.0, options=", static_argnums=1")[0][0] == 1
    assert run(source, X, 4, options=", static_argnames='n'")[0][0] == 1
    given = jnp.array(X)
    assert run(source, given, options=", donate_argnums=0")[0] == FRESH and given.is_deleted()
    given = jnp.array(X)
    counts, out = run(source, given, options=", donate_argnums=0")
    assert counts == STORED and given.is_deleted()
    np.testing.assert_array_equal(out, X * 2)


UNPROVEN = {
    "list": ("A = [1.0, 2.0]\ndef f(x): return x * A[1]", "of type list, which may change"),
    "object": ("import types\no = types.SimpleNamespace(a=2)\ndef f(x): return x * o.a", "of type SimpleNamespace"),
    "print": ("def f(x):\n    print('traced')\n    return x", "calls print"),
    "numpy.random": ("def f(x): return x + np.random.rand()", "random rand is of type"),
    "numpy by name": ("def g(m): return m.sum((1.0, 2.0))\ndef f(x): return x + g(np)", "what nobody sees"),
    "clock": ("import time\ndef f(x): return x + time.time()", "of which nothing is known"),
    "getattr": ("def f(x): return getattr(jnp, 'si' + 'n')(x)", "calls getattr"),
    "class": ("class A:\n    k = 2\ndef f(x): return x * A.k", "a class of another library or program"),
    "counter": ("count = 0\ndef f(x):\n    global count\n    count += 1\n    return x", "writes a global variable"),
    "nonlocal": ("def make():\n  n = 0\n  def f(x):\n    nonlocal n\n    n += 1\n    return x + n\n  return f\nf = make()",
                 "writes a variable of the function around it"),
    "function's attribute": ("def g(x): return x * g.k\ng.k = 3\ndef f(x): return g(x)", "a function with attributes"),
    "files": ("def f(x): return x + jnp.load('/no/such/file.npy') if 0 else x", "reads 'load'"),
    "files by another name": ("from numjet.numpy import load as g\ndef f(x): return x + g('/no') if x is None else x",
                              "tells of what may differ"),
    "modules by another name": ("def g(x, xp=nj): return x / xp.device_count()\ndef f(x): return g(x)", "reads 'device_count'"),
    "flags": ("def f(x): return x * 2 if nj.config.jax_enable_x64 else x", "reads 'config'"),
    "import": ("def f(x):\n    import random\n    return x + random.random()", "imports a module"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_unproven_functions_are_traced(cache, name, caplog, capsys):
    source, why = UNPROVEN[name]
    assert run(source, X)[0][0] == 1
    with explain_cache_misses(True), caplog.at_level(logging.WARNING):
        assert run(source, X)[0][0] == 1
    assert why in caplog.text and "nothing proves" in caplog.text


def test_unproven_functions_are_not_compiled_again(cache):
    source = UNPROVEN["list"][0]
    assert run(source, X)[0] == FRESH
    assert run(source, X)[0] == COMPILED_ONLY


def test_arguments_with_methods_of_their_own_are_traced(cache):
    source = "import collections\nP = collections.namedtuple('P', 'a')\ndef f(p): return p[0]"
    point = __import__("collections").namedtuple("Q", "a")(X)
    assert run(source, point)[0] == FRESH and run(source, point)[0] == COMPILED_ONLY


def test_callbacks_and_effects_are_made_anew(cache, capfd):
    source = "def f(x):\n    nj.debug.print('x {}', x[1])\n    return x"
    for _ in range(2):
        assert run(source, X)[0] == FRESH
        nj.effects_barrier()
    assert capfd.readouterr().out.count("x 1.0") == 4


def test_errors_of_checks_survive(cache):
    source = """
    from numjet.experimental import checkify
    def g(x):
        checkify.check(x[0] > 0, "first is {}", x[0])
        return x
    def f(x): return checkify.checkify(g)(x)[1]
    """
    assert run(source, X + 1)[0][0] >= 1
    np.testing.assert_array_equal(run(source, X + 1)[1], X + 1)


def _entries(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.numjet"))


@pytest.mark.parametrize("sealed", [False, True], ids=["checksum", "content"])
def test_damaged_entries_are_compiled_anew(cache, sealed):
    expected = run(PLAIN, X)[1]
    rng = np.random.default_rng(0)
    for path in _entries(cache):
        whole = path.read_bytes()
        content = bytearray(disk_cache._unpacked(path.stem, whole) or b"")
        for k in rng.integers(len(content), size=12):
            content[k] ^= int(rng.integers(1, 256)) if not sealed or len(content) < 300 else 0xff
        if sealed and len(content) >= 300:   # a valid checksum of what is no program
            content = content[:40]
        path.write_bytes(disk_cache._packed(path.stem, bytes(content)) if sealed else whole[:50] + bytes(content))
        np.testing.assert_array_equal(run(PLAIN, X)[1], expected)
    assert run(PLAIN, X)[0] == STORED


def test_entries_that_are_gone(cache):
    expected = run(PLAIN, X)[1]
    for path in _entries(cache):
        whole = path.read_bytes()
        path.unlink()
        np.testing.assert_array_equal(run(PLAIN, X)[1], expected)
        path.write_bytes(whole)


@pytest.fixture
def both_tiers():
    with Override("numjet_tiers", "auto"):
        yield


def test_second_tier_takes_the_place_of_the_first(cache, both_tiers):
    source = "def f(x):\n    for k in range(150): x = jnp.sin(x) * 1.5 + jnp.cos(x * k) / (k + jnp.tanh(x))\n    return x"
    from numjet.cpu.native_code import tiers
    tiers.finish()   # what other programs wait for
    with events.counting() as grown:
        _, out = run(source, X)   # which calls it twice
        tiers.finish()
    assert grown.get("compile.second_tier", 0) == grown.get("compile.first_tier", 0) == 1
    assert grown["stored_program.store"] == 2
    with events.counting() as grown:
        counts, same = run(source, X)
        tiers.finish()
    assert counts == STORED and "compile.second_tier" not in grown
    np.testing.assert_array_equal(out, same)


def test_other_versions_and_machines_have_other_keys(cache, monkeypatch):
    run(PLAIN, X)
    for k in range(len(stored_programs._machine())):
        machine = list(stored_programs._machine())
        machine[k] += " another"
        with monkeypatch.context() as patch:
            patch.setattr(stored_programs, "_machine", lambda machine=machine: tuple(machine))
            with events.counting() as grown:
                run(PLAIN, X)
            assert grown["trace"] == grown["compile"] == 1


def test_no_folder_no_cache(monkeypatch, tmp_path, caplog):
    before = config.read("numjet_cache")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))   # no folder can be made there
    disk_cache.forget_warnings()
    config.update("numjet_cache", None)
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                assert run(PLAIN, X)[0] == FRESH
    finally:
        config.update("numjet_cache", before)
    assert sum("programs are compiled without it" in r.getMessage() for r in caplog.records) == 1


PROGRAM = """
import sys, numpy as np, numjet as nj, numjet.numpy as jnp
from numjet.foundation import events
scale, imported = 1.5, set(sys.modules)
def layer(x, w): return jnp.tanh(x @ w) * scale
f = nj.jit(lambda params, x: sum(layer(x, w).sum() for w in params))
print(f([np.eye(3, dtype="f")] * 2, np.ones((2, 3), "f")))
counts = events.counters()
print(counts.get("trace", 0), counts.get("compile", 0), counts.get("codegen", 0), "llvmlite" in sys.modules)
print("pathlib" in sys.modules, len(set(sys.modules) - imported) < 30)
"""


def test_two_processes(tmp_path):
    environment = {**os.environ, "NUMJET_CACHE": str(tmp_path / "cache")}
    run = lambda: subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    shown = [run().stdout.split() for _ in range(2)]
    assert shown[0][1:-2] == ["1", "1", "1", "True"] and shown[1][1:-2] == ["0", "0", "0", "False"]
    assert shown[1][-2:] == ["False", "True"], "the second process imports more than it needs"
    assert shown[0][0] == shown[1][0]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "int4"])
def test_programs_of_narrow_numbers_are_traced(cache, dtype):
    """Their programs call NumPy, so they are not stored: a call that would be served by them must not fail."""
    program = f"def f(x): return x.astype(jnp.{dtype})"
    for _ in range(2):
        counts, out = run(program, X)
        assert counts[0] >= 1 and out.dtype == dtype
