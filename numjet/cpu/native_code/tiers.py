"""Tiered compilation: programs that run briefly first get code that compiles fast, and faster code when called again.

Both tiers come from the same LLVM IR text, which leaves the code generator no freedom in its arithmetic: results are equal bit
by bit. Only the effort for instruction selection, scheduling and register allocation differs. The second call of a program
requests the second tier; a thread compiles it and replaces the address of the first one for later calls. Running executions
finish with the code of the first tier, which stays in memory.

The flag `numjet_tiers` = "one" turns the first tier off; with "quick" there is no second one.
"""
from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from numjet.cpu.ir.nodes import For, Function, While
from numjet.cpu.ir.traversal import nodes, walk
from numjet.cpu.native_code import jit
from numjet.cpu.native_code.stored import Portable
from numjet.foundation import events, locks
from numjet.foundation.config import config
from numjet.foundation.record import Record

UNNOTICED_NS = 2.0        # of estimated run time: below, a call takes as long with the first code, which stays
NS_PER_LINE = 5000.0      # of estimated run time: beyond, slower code would cost more than the 50 us per line that it saves
QUICK, GOOD = 0, 2        # effort of LLVM's code generator
_LEAST_REVIEWED = 64      # jobs
QUIET_SECONDS = 0.05      # without a compilation, before one in the background: LLVM does one at a time


def compile_tiers(text: str, symbols: dict[str, int], function: Function, nanoseconds: float, keepalive: list[Any],
                  portable: Portable | None = None) -> tuple[jit.Compiled, Callable[[Any], None] | None]:
    """The first code of a program; and if a second tier is to follow, a function to call before the second call. That has
    the second tier compiled, put in place, and added to `keepalive`. portable: to be given the code."""
    name = function.name
    quick = quick_first(text, function, nanoseconds)
    improved = nanoseconds > UNNOTICED_NS and config.tiers != "quick"
    code = jit.compile(text, symbols, name, QUICK if quick else GOOD, stored_as=(GOOD, QUICK) if quick else (GOOD,))
    if portable is not None:
        portable.code, portable.text = code.object_bytes, text if code.opt == QUICK and improved else ""
    if code.opt == GOOD:
        return code, None
    events.count("compile.first_tier")
    if not improved:
        return code, None
    return code, lambda executable: second_tier(executable, text, symbols, name, keepalive, portable)


def second_tier(executable: Any, text: str, symbols: dict[str, int], name: str, keepalive: list[Any],
                portable: Portable | None) -> None:
    """Has the second tier of a program compiled in the background, and put in place."""
    _worker.put(_SecondTier(weakref.ref(executable), text, symbols, name, keepalive, portable))


class _SecondTier(Record):
    """A program whose second tier was asked for. The reference is weak: nobody waits for the code of a program that is gone."""

    executable: Callable[[], Any]
    text: str
    symbols: dict[str, int]
    name: str
    keepalive: list[Any]
    portable: Portable | None

    def wanted(self) -> bool:
        return self.executable() is not None

    def run(self) -> None:
        executable = self.executable()
        if executable is None:
            return
        better = jit.compile(self.text, self.symbols, self.name, GOOD)
        self.keepalive.append(better)
        executable.replace(better.address)
        events.count("compile.second_tier")
        if self.portable is not None:
            self.portable.improve(better.object_bytes)


def quick_first(text: str, function: Function, nanoseconds: float) -> bool:
    """Whether a first tier pays. It does not for loops that may run long, since a call ends with the code it began with, nor
    where code is dumped, which should be the final one. With the flag "quick" no program runs long."""
    if config.tiers == "one" or config.dump or config.verify:
        return False
    return config.tiers == "quick" or (nanoseconds <= NS_PER_LINE * text.count("\n") and _bounded(function))


def _bounded(function: Function) -> bool:
    """Whether the number of iterations of every loop depends on the program only, or on loops around."""
    counters: set[int] = set()
    for stmt in walk(function.body):
        if isinstance(stmt, While):
            return False
        if isinstance(stmt, For):
            if any(e.op == "load" or (e.op == "var" and e.id not in counters) for e in nodes([stmt.start, stmt.stop])):
                return False
            counters.add(stmt.var.id)
    return True


def finish() -> None:
    """Waits until all requested code is in place."""
    _worker.finish()


class _Worker:
    """A background thread that runs jobs in order and ends when there are none."""

    def __init__(self) -> None:
        self.jobs: deque[_SecondTier] = deque()   # the first one is running
        self.most = _LEAST_REVIEWED   # so many jobs make those of programs that are gone be dropped
        self.changed = locks.condition()
        self.running = False
        self.hurry = False

    def put(self, job: _SecondTier) -> None:
        """Adds a job."""
        with self.changed:
            if not self.jobs:
                self.most = _LEAST_REVIEWED   # a long queue of the past says nothing about this one
            self.jobs.append(job)
            if len(self.jobs) > self.most:
                running, *others = self.jobs
                self.jobs = deque([running, *[other for other in others if other.wanted()]])
                self.most = max(_LEAST_REVIEWED, 2 * len(self.jobs))
            try:
                self._start()
            except RuntimeError as error:   # no more threads: the first code stays in place
                self.running = False
                self.jobs.clear()
                _report(error)

    def resume(self) -> None:
        """Starts the thread anew in a forked child, which does not have it; the running job starts over."""
        with self.changed:
            self.running = self.hurry = False
            if self.jobs:
                self._start()

    def _start(self) -> None:
        if not self.running:
            self.running = True
            threading.Thread(target=self._run, name="numjet second tier", daemon=True).start()

    def finish(self) -> None:
        """Waits until there are no jobs."""
        with self.changed:
            self.hurry = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.running)
            self.hurry = False

    def stop(self) -> None:
        """Drops the jobs that have not started, and waits for the running one."""
        with self.changed:
            self.jobs.clear()
        self.finish()

    def _run(self) -> None:
        while True:
            self._wait_for_quiet()
            with self.changed:
                if not self.jobs:
                    self.running = False
                    self.changed.notify_all()
                    return
                job = self.jobs[0]
            _attempt(job)
            with self.changed:
                if self.jobs and self.jobs[0] is job:
                    self.jobs.popleft()

    def _wait_for_quiet(self) -> None:
        """Waits until nothing has been compiled for a while."""
        with self.changed:
            while self.jobs and not self.hurry:
                left = jit.last_use() + QUIET_SECONDS - time.monotonic()
                if left <= 0:
                    return
                self.changed.wait(left)


def _attempt(job: _SecondTier) -> None:
    """Runs a job. An error leaves the first code in place, and is reported like one in any other thread."""
    try:
        job.run()
    except Exception as error:
        _report(error)


def _report(error: Exception) -> None:
    events.count("compile.second_tier_failed")
    threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))


_worker = _Worker()
atexit.register(_worker.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker.resume)
