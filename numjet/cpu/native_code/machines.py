"""A pool of LLVM code generators: each compilation borrows one that no other thread uses, or makes one.

So a short compilation does not wait for a long one in another thread, such as a second tier that is made in the background. A
child of a fork finds no generator halfway through a program: the fork waits until all are done.
"""
from __future__ import annotations

import atexit
import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import llvmlite

from numjet.cpu.native_code import code_generator
from numjet.cpu.target import Target
from numjet.foundation import lazy_import, locks

_generator: Any = code_generator
if not code_generator.is_known(llvmlite.__version__):
    _generator = lazy_import.Module("numjet.cpu.native_code.binding_generator")


class _Worker:
    """A code generator and the lock under which it works."""

    def __init__(self, target: Target, opt: int):
        self.lock = locks.lock()
        self.machine = _generator.Machine(target, opt)


_LOCK = locks.lock()   # under which generators are made
_made: list[_Worker] = []
_idle: defaultdict[tuple[Target, int], list[_Worker]] = defaultdict(list)


@contextlib.contextmanager
def borrowed(target: Target, opt: int) -> Iterator[Any]:
    """A code generator for `target` with the effort `opt`, for this thread alone."""
    idle = _idle[target, opt]
    try:
        worker = idle.pop()
    except IndexError:
        worker = _new(target, opt)
    try:
        with worker.lock:
            yield worker.machine
    finally:
        idle.append(worker)


def _new(target: Target, opt: int) -> _Worker:
    with _LOCK:
        worker = _Worker(target, opt)
        _made.append(worker)
        return worker


def host() -> tuple[str, str, str]:
    """The name and the features of this machine's CPU, and the triple of this process."""
    with _LOCK:
        return _generator.host()


def version() -> str:
    """LLVM's version."""
    with _LOCK:
        return _generator.version()


@atexit.register
def _keep_threads_out() -> None:
    """Takes all locks for good at exit, so that no daemon thread is in LLVM while that is torn down.

    Exit handlers that a program runs by hand, while its main thread goes on, take nothing.
    """
    if not threading.main_thread().is_alive():
        _LOCK.acquire()
        for worker in _made:
            worker.lock.acquire()
