"""Compiled code on disk: object files found by a hash of the LLVM IR they came from and of all that shaped them.

Off, unless a flag names a folder (`numjet_cache`, or `jax_compilation_cache_dir`). Entries hold relocatable code, linked
by name when they are loaded, so nothing of the process that wrote them is in there. A file is written under another
name and renamed, so that other processes see all of it or nothing; one that is damaged all the same fails its checksum,
is dropped, and the program compiled as if it had never been there. The folder is trusted: its files are executed.
"""
from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from numjet.foundation import events, on_demand
from numjet.foundation.config import config

hashlib, tempfile = on_demand.Module("hashlib"), on_demand.Module("tempfile")

_MAGIC = b"numjet object 1\n"
_SUFFIX = ".numjet"
_CHECKSUM_BYTES = 32
_FULL = 0.9   # what pruning leaves of the largest size


def folder() -> Path | None:
    """Where compiled code is kept; None: nowhere."""
    named = config.cache if config.cache is not None else config.cache_dir
    if not config.enable_compilation_cache or named in (None, "", "0"):
        return None
    return user_folder() if named == "1" else Path(named).expanduser()


def user_folder() -> Path:
    """The user's cache folder, which the value "1" stands for."""
    return Path.home() / ".cache" / "numjet"


def key(text: str, *shaping: str) -> str:
    """The name of an entry: of LLVM IR text, and whatever else its code depends on."""
    digest = hashlib.blake2b(digest_size=24)
    for part in (*shaping, text):
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()


def find(name: str) -> bytes | None:
    """The code of an entry, or None."""
    place = folder()
    if place is None:
        return None
    path = place / (name + _SUFFIX)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = None
    except OSError as error:
        _trouble("read", path, error)
        content = None
    code = None if content is None else _unpacked(content)
    if content is not None and code is None:
        events.count("cache.damaged")
        with contextlib.suppress(OSError):
            path.unlink()
    events.count("cache.miss" if code is None else "cache.hit")
    if code is not None:
        with contextlib.suppress(OSError):
            os.utime(path)   # the time of the last use, by which `prune` chooses
    return code


def keep(name: str, code: bytes, seconds: float) -> None:
    """Stores code that took `seconds` to make, if it is worth it; then removes what no longer fits."""
    place = folder()
    if place is None or seconds < config.persistent_cache_min_compile_time_secs:
        return
    if len(code) < config.persistent_cache_min_entry_size_bytes:
        return
    path = place / (name + _SUFFIX)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_packed(code))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        events.count("cache.store")
        prune(place, config.compilation_cache_max_size)
    except OSError as error:
        _trouble("write", path, error)


def prune(place: Path, most_bytes: int) -> None:
    """Removes the entries of a folder that were not used for longest, once it holds more than `most_bytes` (-1: any)."""
    if most_bytes < 0:
        return
    entries = sorted(_entries(place))
    total = sum(size for _, size, _ in entries)
    if total <= most_bytes:
        return
    for _, size, path in entries:
        if total <= most_bytes * _FULL:
            break
        with contextlib.suppress(FileNotFoundError):   # another process was quicker
            os.unlink(path)
            events.count("cache.prune")
        total -= size


def _entries(place: Path) -> Iterator[tuple[float, int, str]]:
    """(last use, size, path) of every entry."""
    with os.scandir(place) as found:
        for entry in found:
            if entry.name.endswith(_SUFFIX):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    yield status.st_mtime, status.st_size, entry.path


def _packed(code: bytes) -> bytes:
    return _MAGIC + hashlib.blake2b(code, digest_size=_CHECKSUM_BYTES).digest() + code


def _unpacked(content: bytes) -> bytes | None:
    """The code in a file's content; None when it is not whole."""
    start = len(_MAGIC) + _CHECKSUM_BYTES
    code = content[start:]
    return code if content == _packed(code) else None


def _trouble(what: str, path: Path, error: OSError) -> None:
    if config.raise_persistent_cache_errors:
        raise error
    warnings.warn(f"could not {what} the compilation cache entry {path}: {error}; set numjet_cache to a folder that can "
                  "be written, or to '0'", UserWarning, stacklevel=2)
