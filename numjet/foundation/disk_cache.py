"""Persistent compilation cache: files under the hash of what they were made from. On three levels, of which a call takes the
first that knows it: programs of calls (`api/stored_calls.py`), which need no tracing; programs by jaxpr
(`runtime/stored_programs.py`), which need no compiling; object files by LLVM IR (`cpu/native_code/jit.py`).

It lies in the user's cache folder, or where a flag says (`numjet_cache`, or `jax_compilation_cache_dir`; "0": nowhere). Entries
hold relocatable code, linked by name on loading, so they contain no address of the process that wrote them. A file is written
under another name and renamed, so that other processes see all of it or nothing. A damaged file, or one of another program,
fails its checksum; it is removed and the program compiled.

Entries are executed, so the folder and every file must belong to the user and be writable by nobody else, and must not
be symbolic links. Both are checked through open descriptors, so that nothing can be swapped in between. Where a check
fails, one warning says so and programs are compiled without the cache.
"""
from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import warnings
from collections.abc import Iterator, Sequence

from numjet.foundation import events, lazy_import
from numjet.foundation.config import cache_home, config
from numjet.foundation.record import Record

blake2 = lazy_import.Module("_blake2")  # of hashlib, which takes long to import

_MAGIC = b"numjet object 2\n"
_SUFFIX, _TEMPORARY = ".numjet", ".numjet.tmp"
_CHECKSUM_BYTES = 32
_PRUNED = 0.9             # share of the maximum size that pruning leaves
_ABANDONED_SECONDS = 600  # age of a temporary file whose writer was killed
_PRUNE_EVERY = 32         # entries stored by this process between two scans of the folder
_PRUNE_SECONDS = 600      # between two scans by processes that store fewer: a full folder has ten thousand files
_STAMP = ".numjet.pruned"  # its time is that of the last scan
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC   # a FIFO under the name of an entry must not block
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_warned: set[tuple[str, str]] = set()
_stored = 0


def folder() -> str | None:
    """The folder of the cache, as text: pathlib takes long to import. None where it is off, or the user has no cache folder."""
    named = config.cache if config.cache is not None else config.cache_dir
    if not config.enable_compilation_cache or named in ("", "0"):
        return None
    return user_folder() if _is_default(named) else os.path.expanduser(str(named))


def _is_default(named: str | None) -> bool:
    return named is None or named == "1"


def user_folder() -> str | None:
    """The user's cache folder; None where the system knows of none."""
    home = cache_home()
    return None if home is None else os.path.join(home, "numjet")


def key(text: str | bytes, *shaping: str) -> str:
    """The name of an entry: of LLVM IR text or other content, and whatever else it depends on."""
    digest = blake2.blake2b(digest_size=24)
    for part in (*shaping, text):
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode() if isinstance(part, str) else part)
    return str(digest.hexdigest())


def find(name: str, event: str = "cache") -> bytes | None:
    """The content of an entry, or None. event: under which name the search is counted."""
    found = find_first([name], event)
    return None if found is None else found[1]


_OF_PROGRAMS = ("stored_program", "cache")  # searches for one program: for all of it, then for its machine code


def find_first(names: Sequence[str], event: str = "cache") -> tuple[str, bytes] | None:
    """The first of some entries that is there, its name and content, or None; counted as one search."""
    place = folder()
    if place is None:
        return None
    found = None
    try:
        with _opened(place) as directory:
            read = ((name, _read(directory, name)) for name in names)
            found = next(((name, code) for name, code in read if code is not None), None)
    except FileNotFoundError:
        pass
    except OSError as error:
        _warn("read", place, error)
    events.count(f"{event}.miss" if found is None else f"{event}.hit")
    if events.searches is not None and event in _OF_PROGRAMS and (found is not None or event == "cache"):
        events.searches(found is not None)
    return found


def keep(name: str, code: bytes, seconds: float, event: str = "cache") -> None:
    """Stores what took `seconds` to make, if that is long enough; then prunes the folder."""
    global _stored
    place = folder()
    if place is None or seconds < config.persistent_cache_min_compile_time_secs:
        return
    if len(code) < config.persistent_cache_min_entry_size_bytes:
        return
    try:
        _make(place)
        with _opened(place) as directory:
            _write(directory, name, code)
            events.count(f"{event}.store")
            _stored += 1
            few = 0 <= config.compilation_cache_max_size < _PRUNE_EVERY * len(code)
            if few or _stored % _PRUNE_EVERY == 0 or _scan_is_due(directory):
                prune(directory, config.compilation_cache_max_size)
    except OSError as error:
        _warn("write", place, error)


def _make(place: str) -> None:
    """Makes the folder, which only the user may read, and those around it, unless it is there."""
    with contextlib.suppress(FileExistsError):
        try:
            os.mkdir(place, 0o700)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.mkdir(place, 0o700)


def prune(directory: int, max_bytes: int) -> None:
    """Removes the least recently used entries of an open folder once it holds more than `max_bytes` (-1: unlimited), and the
    temporary files of killed writers."""
    entries = sorted(_entries(directory))
    total = sum(size for _, size, _ in entries)
    if max_bytes < 0 or total <= max_bytes:
        return
    for _, size, name in entries:
        if total <= max_bytes * _PRUNED:
            break
        _remove(directory, name, "cache.prune")
        total -= size


def _scan_is_due(directory: int) -> bool:
    """Whether no process has scanned the open folder for a while; if so, this one is about to."""
    with contextlib.suppress(FileNotFoundError):
        if 0 <= time.time() - os.stat(_STAMP, dir_fd=directory, follow_symlinks=False).st_mtime < _PRUNE_SECONDS:
            return False
    handle = os.open(_STAMP, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        os.utime(handle)
    finally:
        os.close(handle)
    return True


@contextlib.contextmanager
def _opened(place: str | os.PathLike[str]) -> Iterator[int]:
    """A descriptor of the folder, which is the user's alone."""
    if os.path.islink(place):   # for the message: opening one fails anyway
        raise PermissionError("the folder is a symbolic link; name the folder itself")
    directory = os.open(place, _DIRECTORY)
    try:
        status = os.fstat(directory)
        if status.st_uid != os.geteuid():
            raise PermissionError(f"the folder belongs to user {status.st_uid}, not to {os.geteuid()}, who runs this program")
        if not _private(status):
            mode = stat.S_IMODE(status.st_mode)
            raise PermissionError(f"other users may write the folder (mode {mode:o}), which chmod go-w would change")
        yield directory
    finally:
        os.close(directory)


def _private(status: os.stat_result) -> bool:
    """Whether nobody but the user could have written machine code there."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(directory: int, name: str, remove: bool = True) -> bytes | None:
    """The content of an entry that belongs to the user and passes its checksum. remove: any other file of this name goes, and
    the entry counts as used."""
    code = None
    try:
        handle = os.open(name + _SUFFIX, _READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    else:
        try:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode) and _private(status):
                with open(handle, "rb", closefd=False) as file:
                    code = _unpacked(name, file.read())
            if code is not None and remove:
                with contextlib.suppress(OSError):
                    os.utime(handle)   # the time of the last use, for `prune`
        finally:
            os.close(handle)
    if code is None and remove:
        _remove(directory, name + _SUFFIX, "cache.damaged")
    return code


def _write(directory: int, name: str, code: bytes) -> None:
    """Stores an entry: under another name first, then renamed."""
    temporary = f".{os.urandom(8).hex()}{_TEMPORARY}"
    handle = os.open(temporary, _WRITE, 0o600, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_packed(name, code))
        os.replace(temporary, name + _SUFFIX, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        _remove(directory, temporary)
        raise


def _remove(directory: int, name: str, event: str | None = None) -> None:
    with contextlib.suppress(OSError):   # another process was first
        os.unlink(name, dir_fd=directory)
        if event is not None:
            events.count(event)


def _entries(directory: int) -> Iterator[tuple[float, int, str]]:
    """(last use, size, name) of every entry; removes abandoned temporary files."""
    with os.scandir(directory) as found:
        for entry in found:
            if entry.name.endswith((_SUFFIX, _TEMPORARY)):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX):
                        yield status.st_mtime, status.st_size, entry.name
                    elif time.time() - status.st_mtime > _ABANDONED_SECONDS:
                        _remove(directory, entry.name)


def _packed(name: str, code: bytes) -> bytes:
    digest = blake2.blake2b(name.encode() + b"\n", digest_size=_CHECKSUM_BYTES)
    digest.update(code)
    return _MAGIC + digest.digest() + code


def _unpacked(name: str, content: bytes) -> bytes | None:
    """The code in a file's content; None where the checksum is wrong, or that of another entry."""
    code = content[len(_MAGIC) + _CHECKSUM_BYTES:]
    return code if content == _packed(name, code) else None


def _warn(what: str, place: str, error: OSError) -> None:
    """Says once per folder and reason that programs are compiled without the cache: as a warning about a folder that was named,
    else to the log, as nobody asked for a cache."""
    if config.raise_persistent_cache_errors:
        raise error
    reason = error.strerror or str(error)
    if (place, reason) in _warned:
        return
    _warned.add((place, reason))
    text = (f"could not {what} the compilation cache in {place}: {error}; programs are compiled without it. Set numjet_cache "
            "to a folder that only you can write, or to '0'")
    if _is_default(config.cache if config.cache is not None else config.cache_dir):
        events.logger().warning(text)
    else:
        warnings.warn(text, UserWarning, stacklevel=2)


def forget_warnings() -> None:
    """Lets every warning be given again."""
    _warned.clear()


class Entry(Record):
    """What is known of one file of the cache."""

    name: str
    size: int
    used: float   # when it was read or written last
    whole: bool


def entries(place: str | os.PathLike[str]) -> list[Entry]:
    """All entries of a folder, the most recently used first, each checked against its checksum. OSError for a folder that is
    not the user's alone."""
    found = []
    with _opened(place) as directory:
        for used, size, name in sorted(_entries(directory), reverse=True):
            found.append(Entry(name, size, used, _read(directory, name.removesuffix(_SUFFIX), remove=False) is not None))
    return found


def remove(place: str | os.PathLike[str], names: list[str]) -> None:
    """Removes entries of a folder, and what is known of its last scan."""
    with _opened(place) as directory:
        for name in (*names, _STAMP):
            _remove(directory, name)
