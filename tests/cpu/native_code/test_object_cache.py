"""Compiled code on disk: found again by other processes, never trusted blindly, bounded in size."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.native_code import jit, tiers
from numjet.foundation import disk_cache, events
from numjet.foundation.config import config
from numjet.foundation.flags import FLAGS as FLAGS_OF_THE_PACKAGE
from numjet.runtime import stored_programs

FLAGS = ("numjet_cache", "jax_compilation_cache_dir", "jax_enable_compilation_cache", "jax_compilation_cache_max_size",
         "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes",
         "jax_raise_persistent_cache_errors")


@pytest.fixture
def flags(monkeypatch):
    """Sets flags for one test of the cache of object code."""
    monkeypatch.setattr(stored_programs, "enabled", False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    before = {name: config.read(name) for name in FLAGS}
    config.update("numjet_cache", None)
    yield config.update
    for name, value in before.items():
        config.update(name, value)


@pytest.fixture
def cache(flags, tmp_path) -> Path:
    """An empty cache."""
    flags("numjet_cache", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(cache: Path) -> list[Path]:
    return sorted(set(cache.glob("*")) - {cache / disk_cache._STAMP})


def compile_and_run(factor: float = 2.0) -> dict[str, int]:
    """Compiles a function anew; what was counted."""
    with events.counting() as grown:
        out = nj.jit(lambda x: jnp.sin(x) * factor)(np.arange(20.0, dtype=np.float32))
    np.testing.assert_allclose(out, np.sin(np.arange(20.0)) * factor, rtol=1e-5, atol=1e-6)
    return {k: n for k, n in grown.items() if k == "codegen" or k.startswith("cache.")}


MADE, FOUND = {"codegen": 1, "cache.miss": 1, "cache.store": 1}, {"cache.hit": 1}


def test_found_again(cache):
    assert compile_and_run() == MADE and len(entries(cache)) == 1
    assert compile_and_run() == FOUND
    assert compile_and_run(3.0) == MADE and len(entries(cache)) == 2
    assert compile_and_run(2.0) == FOUND


def test_lines_of_the_source_do_not_matter(cache):
    first, second = (nj.jit(f) for f in (lambda x: x * 2 + 1,
                                         lambda x: x * 2 + 1))
    first(np.ones(3))
    with events.counting() as grown:
        second(np.ones(3))
    assert "codegen" not in grown


def test_on_by_default(flags, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert config.read("jax_enable_compilation_cache") and config.cache_dir is None
    assert {flag.name: flag.default for flag in FLAGS_OF_THE_PACKAGE}["numjet_cache"] is None
    flags("numjet_cache", None)
    assert compile_and_run() == MADE and compile_and_run() == FOUND
    assert len(entries(tmp_path / "numjet")) == 1
    flags("numjet_cache", "0")
    assert compile_and_run() == {"codegen": 1}


def test_names_of_the_flag(flags, tmp_path, monkeypatch):
    flags("jax_compilation_cache_dir", str(tmp_path / "jax"))
    assert disk_cache.folder() == str(tmp_path / "jax")
    assert compile_and_run() == MADE and entries(tmp_path / "jax")
    flags("numjet_cache", str(tmp_path / "own"))
    assert disk_cache.folder() == str(tmp_path / "own")
    flags("numjet_cache", "0")
    assert disk_cache.folder() is None
    monkeypatch.setenv("HOME", str(tmp_path))
    flags("numjet_cache", "1")
    assert disk_cache.folder() == str(tmp_path / ".cache" / "numjet")
    flags("jax_enable_compilation_cache", False)
    assert disk_cache.folder() is None


@pytest.mark.parametrize("damage", ["short", "empty", "changed", "longer", "other"])
def test_damaged_entry_is_replaced(cache, damage):
    compile_and_run()
    (path,) = entries(cache)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes({"short": content[:middle], "empty": b"", "longer": content + b"\0", "other": b"x" * len(content),
                      "changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]}[damage])
    assert compile_and_run() == {**MADE, "cache.damaged": 1}
    assert path.read_bytes() == content
    assert compile_and_run() == FOUND


def test_entry_that_cannot_be_linked_is_made_again(cache, monkeypatch):
    compile_and_run()
    (path,) = entries(cache)
    path.write_bytes(disk_cache._packed(path.stem, b"no object"))
    counted = compile_and_run()
    assert counted == {"codegen": 1, "cache.hit": 1, "cache.store": 1}
    assert compile_and_run() == FOUND


def test_key_holds_all_that_shapes_code():
    names = {disk_cache.key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("c", "ab"))}
    assert len(names) == 5
    text = "define void @f() {\n  ret void\n}\n"
    host = jit.host()
    keys = {jit._key(text, 2, None), jit._key(text, 0, None), jit._key(text + "\n", 2, None),
            jit._key(text, 2, host.replace(cpu="x"))}
    assert len(keys) == 4
    assert jit._key(text.replace("{\n", "{\n  ; file.py:3\n"), 2, None) == jit._key(text, 2, None)


def test_both_tiers_are_kept(cache, monkeypatch):
    monkeypatch.setattr(tiers, "NS_PER_LINE", 1e12)
    def calls(times: int) -> dict[str, int]:
        f = nj.jit(lambda x: jnp.cos(x) - x)
        with events.counting() as grown:
            for _ in range(times):
                f(np.ones(20))
            tiers.finish()
        return grown
    assert calls(1)["codegen"] == 1 and len(entries(cache)) == 1
    assert "codegen" not in calls(1)
    assert calls(2)["codegen"] == 1 and len(entries(cache)) == 2
    again = calls(2)
    assert "codegen" not in again and "compile.first_tier" not in again


# --- size

def test_unused_entries_go_first(cache, flags):
    for k in range(4):
        compile_and_run(float(k))
    paths = sorted(entries(cache), key=lambda p: p.stat().st_mtime_ns)
    for age, path in enumerate(paths):
        os.utime(path, (1000 + age, 1000 + age))
    compile_and_run(0.0)                                 # used now
    used = max(entries(cache), key=lambda p: p.stat().st_mtime)
    flags("jax_compilation_cache_max_size", sum(p.stat().st_size for p in paths))
    with events.counting() as grown:
        compile_and_run(77.0)
    left = entries(cache)
    assert grown["cache.prune"] >= 1 and used in left
    assert sum(p.stat().st_size for p in left) <= config.compilation_cache_max_size
    assert compile_and_run(0.0) == FOUND and compile_and_run(77.0) == FOUND


def test_no_bound(cache, flags):
    flags("jax_compilation_cache_max_size", -1)
    for k in range(3):
        compile_and_run(float(k))
    assert len(entries(cache)) == 3


def test_cheap_and_small_programs_are_not_kept(cache, flags):
    flags("jax_persistent_cache_min_compile_time_secs", 1000.0)
    assert compile_and_run() == {"codegen": 1, "cache.miss": 1}
    flags("jax_persistent_cache_min_compile_time_secs", 0.0)
    flags("jax_persistent_cache_min_entry_size_bytes", 10**9)
    assert compile_and_run() == {"codegen": 1, "cache.miss": 1}
    assert not entries(cache)


# --- trouble

def test_folder_that_cannot_be_written(flags, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    flags("numjet_cache", str(blocked / "cache"))
    with pytest.warns(UserWarning, match="could not .* the compilation cache in .* Set numjet_cache to a folder"):
        assert compile_and_run()["codegen"] == 1
    flags("jax_raise_persistent_cache_errors", True)
    with pytest.raises(OSError):
        compile_and_run()


def test_threads_write_the_same_entries(cache):
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for k in range(5):
                compile_and_run(float(k))
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(entries(cache)) == 5
    assert not [p for p in entries(cache) if p.name.endswith(".tmp")]


# --- processes

SCRIPT = """
    import numpy as np, numjet as nj, numjet.numpy as jnp
    from numjet.foundation import events
    table = np.arange({size}, dtype=np.float32)
    def step(params, x):
        loss = lambda p: jnp.sum(jnp.tanh(x @ p["w"] + p["b"]) ** 2) + jnp.sum(jnp.sort(p["b"])) + table[:4].sum()
        loss_, grads = nj.value_and_grad(loss)(params)
        nj.debug.callback(lambda l: None, loss_)
        return loss_, grads, x @ x.T + jnp.asarray(table)[:8].sum(), jnp.arange(3.0) * params["b"][0]
    params = dict(w=np.full((6, 5), 0.1, np.float32), b=np.ones(5, np.float32))
    out = nj.jit(step)(params, np.ones((8, 6), np.float32))
    nj.effects_barrier()
    print(float(out[0]), float(out[2][0, 0]), events.counters().get("codegen", 0), events.counters().get("cache.hit", 0))
"""


def run(folder: Path, size: int = 8, **variables: str) -> tuple[list[str], int, int]:
    """(values, how many programs were compiled, how many were found) of a process."""
    environment = {**os.environ, "NUMJET_CACHE": str(folder), **variables}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT).format(size=size)], capture_output=True, text=True,
                          timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    *results, made, found = done.stdout.split()
    return results, int(made), int(found)


def test_second_process_compiles_nothing(tmp_path):
    first, made, found = run(tmp_path, PYTHONHASHSEED="1")
    assert made > 0 and found == 0
    assert run(tmp_path, PYTHONHASHSEED="2") == (first, 0, made)


def test_other_flags_miss(tmp_path):
    _, made, _ = run(tmp_path)
    assert run(tmp_path, NUMJET_ENABLE_X64="1")[2] < made
    assert run(tmp_path, NUMJET_DEBUG_NANS="1")[2] < made
    assert run(tmp_path)[1:] == (0, made)


def test_large_constants_are_not_in_the_entry(tmp_path):
    """They are linked by name: a constant of 8 MB makes no larger entry, and another value is another result."""
    script = """
        import sys, numpy as np, numjet as nj, numjet.numpy as jnp
        from numjet.foundation import events
        table = np.full(2_000_000, float(sys.argv[1]), np.float32)
        print(float(nj.jit(lambda x: jnp.sum(x * table))(2.0)), events.counters().get("codegen", 0))
    """
    def process(value: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), value], capture_output=True, text=True,
                              timeout=60, env={**os.environ, "NUMJET_CACHE": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    assert process("1.0") == ["4000000.0", "1"]
    assert process("0.5") == ["2000000.0", "0"]
    assert sum(p.stat().st_size for p in entries(tmp_path)) < 100_000
