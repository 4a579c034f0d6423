"""The promise of docs/safety.md about the disk cache: machine code comes only from whole entries, made for this program,
in folders and files that nobody but the user can write; processes may share a folder, and be killed at any time."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet.cpu.native_code import tiers
from numjet.foundation import disk_cache, events
from numjet.foundation.config import config
from numjet.runtime import stored_programs

CODE = bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, which is switched on, of object code only."""
    monkeypatch.setattr(stored_programs, "enabled", False)
    before = config.read("numjet_cache")
    tiers.finish()   # what other tests' programs still wait for is written to their folder
    config.update("numjet_cache", str(tmp_path / "cache"))
    disk_cache._warned.clear()
    yield tmp_path / "cache"
    config.update("numjet_cache", before)


def compiles(factor: float = 2.0) -> int:
    """Runs a function anew; how often code was generated."""
    with events.counting() as grown:
        out = nj.jit(lambda x: x * factor + 1)(np.arange(20.0, dtype=np.float32))
    np.testing.assert_array_equal(out, np.arange(20.0, dtype=np.float32) * np.float32(factor) + 1)
    return grown.get("codegen", 0)


def entry(cache: Path) -> Path:
    (found,) = cache.glob("*.numjet")
    return found


# --- what is not the user's alone

def test_what_a_cache_makes_is_private(cache):
    assert compiles() == 1 and compiles() == 0
    assert cache.stat().st_mode & 0o777 == 0o700 and entry(cache).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777])
def test_folder_that_others_may_write(cache, mode):
    compiles()
    cache.chmod(mode)
    with pytest.warns(UserWarning, match="other users may write the folder"):
        assert compiles() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")   # it has been said once
        assert compiles() == 1
    cache.chmod(0o755)
    assert compiles() == 0


def test_folder_of_another_user(cache, monkeypatch):
    compiles()
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(UserWarning, match=f"the folder belongs to user {other - 1}, not to {other}"):
        assert compiles() == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_entry_of_another_user_is_replaced(cache):
    compiles()
    os.chown(entry(cache), 12345, -1)
    assert compiles() == 1 and entry(cache).stat().st_uid == 0
    assert compiles() == 0


def test_folder_that_is_a_link(cache, tmp_path):
    compiles()
    (tmp_path / "link").symlink_to(cache)
    config.update("numjet_cache", str(tmp_path / "link"))
    with pytest.warns(UserWarning, match="the folder is a symbolic link"):
        assert compiles() == 1


def _linked(path: Path) -> None:
    aside = path.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize("exchange", [_linked, _fifo, lambda path: path.chmod(0o622), lambda path: path.chmod(0o660)],
                         ids=["link", "fifo", "writable", "group"])
def test_entry_that_is_no_private_file_is_replaced(cache, exchange: Callable[[Path], None]):
    compiles()
    exchange(entry(cache))
    with events.counting() as grown:
        assert compiles() == 1
    assert grown["cache.damaged"] == 1 and entry(cache).is_file() and not entry(cache).is_symlink()
    assert compiles() == 0


def test_folder_in_the_place_of_an_entry(cache):
    compiles()
    path = entry(cache)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="could not write the compilation cache"):
        assert compiles() == 1


# --- what is not whole

def test_entry_under_the_name_of_another(cache):
    assert compiles(2.0) == 1
    first = entry(cache)
    content = first.read_bytes()
    first.unlink()
    assert compiles(3.0) == 1
    entry(cache).write_bytes(content)
    assert compiles(3.0) == 1   # the code of the other program has not run: its result would differ
    assert compiles(3.0) == 0


def _damaged(content: bytes, rng: random.Random) -> bytes:
    kind, place = rng.randrange(6), rng.randrange(len(content))
    flipped = bytes([content[place] ^ 1 << rng.randrange(8)])
    return [content[:place], content[:place] + flipped + content[place + 1:], content + rng.randbytes(1 + place % 9),
            rng.randbytes(len(content)), content[:place] + bytes(len(content) - place),
            content[place:] + content[:place] if place else b""][kind]


def test_damaged_entries_are_never_returned(cache, scale):
    disk_cache.keep("name", CODE, 1.0)
    path = entry(cache)
    whole, rng = path.read_bytes(), random.Random(0)
    for _ in range(500 * scale):
        damaged = _damaged(whole, rng)
        path.write_bytes(damaged)
        path.chmod(0o600)
        assert damaged == whole or disk_cache.find("name") is None
    disk_cache.keep("name", CODE, 1.0)
    assert disk_cache.find("name") == CODE


# --- room

def test_the_size_is_bounded_by_default(cache):
    assert 0 < config.compilation_cache_max_size <= 1 << 30


def test_temporary_files_of_killed_writers_go(cache):
    compiles(1.5)
    old, new = cache / ".1.numjet.tmp", cache / ".2.numjet.tmp"
    for path in (old, new):
        path.write_bytes(b"half of an entry")
    os.utime(old, (1000, 1000))
    with disk_cache._opened(cache) as directory:
        disk_cache.prune(directory, -1)
    assert new.exists() and not old.exists()


def test_the_folder_is_scanned_once_for_many_processes(cache, monkeypatch):
    scans = []
    monkeypatch.setattr(disk_cache, "prune", lambda directory, max_bytes: scans.append(max_bytes))
    monkeypatch.setattr(disk_cache, "_stored", 0)
    for k in range(3):   # as new processes, which store one entry each
        monkeypatch.setattr(disk_cache, "_stored", 0)
        compiles(1.5 + k)
    assert len(scans) == 1
    os.utime(cache / disk_cache._STAMP, (1000, 1000))
    compiles(9.5)
    assert len(scans) == 2


def process(program: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), *arguments], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, **variables})


def test_full_disk(cache):
    """Files may have 100 bytes: each write fails as on a full disk, one warning says so, programs run, nothing is left."""
    program = """
        import resource, signal, warnings
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        import numpy as np, numjet as nj
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for k in range(3):
                assert nj.jit(lambda x: x * k)(np.ones(3))[0] == k
        print([str(w.message) for w in seen])
    """
    running = process(program, NUMJET_CACHE=str(cache), PYTHONDONTWRITEBYTECODE="1")
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert out.count("could not write the compilation cache") == 1
    assert not list(cache.iterdir())


# --- several processes

WORK = """
    import random, sys
    import numpy as np, numjet as nj
    rng = random.Random(int(sys.argv[1]))
    print("ready", flush=True)
    for _ in range(int(sys.argv[2])):
        k = rng.randrange(30)
        x = nj.jit(lambda x: x * k + np.arange(64.0) * k)(np.ones(64))
        assert (np.asarray(x) == k + np.arange(64.0) * k).all(), k
    print("done", flush=True)
"""


def test_processes_share_a_folder_and_are_killed(cache, scale):
    variables = {"NUMJET_CACHE": str(cache), "JAX_COMPILATION_CACHE_MAX_SIZE": "60000"}
    rng = random.Random(0)
    for _ in range(scale):
        workers = [process(WORK, str(k), "40", **variables) for k in range(8)]
        for worker in workers[:4]:
            assert worker.stdout is not None
            worker.stdout.readline()
            time.sleep(rng.random() * 0.2)
            worker.send_signal(signal.SIGKILL)
        for k, worker in enumerate(workers):
            out, err = worker.communicate(timeout=300)
            assert "done" in out or k < 4, err
            assert worker.returncode in (0, -signal.SIGKILL) and "Warning" not in err, err
        for path in cache.glob("*.numjet"):
            assert disk_cache.find(path.stem) is not None
