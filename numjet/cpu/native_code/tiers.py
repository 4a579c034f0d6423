"""Two tiers of machine code: for large programs that run briefly, code that is quick to make, until they are called again.

Both come from the same LLVM IR text, which leaves the code generator no freedom in its arithmetic: results are the same
bits. Only the effort differs, for instruction selection, scheduling and registers. The second call of a program asks for
the better code; a thread makes it and puts its address in place of the first one's, for later calls. Executions that
are under way go on with the code they began with, which stays in memory.

The flag `numjet_tiers` = "one" has everything compiled well at once.
"""
from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from numjet.cpu.ir.nodes import For, Function, While
from numjet.cpu.ir.traversal import nodes, walk
from numjet.cpu.native_code import jit
from numjet.foundation import events, locks
from numjet.foundation.config import config

LARGE_LINES = 3000        # of text, from which the first tier pays
NS_PER_LINE = 1000.0      # of estimated run time: beyond, slow code would cost more than it saves
QUICK, GOOD = 0, 2        # effort of LLVM's code generator
QUIET_SECONDS = 0.05      # without a compilation, before one is made in the background: LLVM does one at a time


def compile_tiers(text: str, symbols: dict[str, int], function: Function, nanoseconds: float,
                  keepalive: list[Any]) -> tuple[jit.Compiled, Callable[[Any], None] | None]:
    """The first code of a program, and what its executable is to call before its second call, if better code is to
    follow: that gets the better code made, put in place, and added to `keepalive`."""
    name = function.name

    def make(effort: int) -> jit.Compiled:
        return jit.compile(text, symbols, name, effort)

    def job(executable: Any) -> None:
        better = make(GOOD)
        keepalive.append(better)
        executable.replace(better.address)
        events.count("compile.second_tier")

    if not quick_first(text, function, nanoseconds) or jit.find_object(text, GOOD) is not None:
        return make(GOOD), None
    events.count("compile.first_tier")
    return make(QUICK), lambda executable: _worker.put(lambda: job(executable))


def quick_first(text: str, function: Function, nanoseconds: float) -> bool:
    """Is a first tier worth it? Not for loops that may go on for long: a call ends with the code it began with; and not
    where code is dumped, which is to be what runs in the end."""
    lines = text.count("\n")
    if config.tiers == "one" or config.dump or config.verify or lines < LARGE_LINES or nanoseconds > NS_PER_LINE * lines:
        return False
    return _bounded(function)


def _bounded(function: Function) -> bool:
    """Does the number of iterations of every loop depend on the program only, or on loops around?"""
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
    """Waits until all code that was asked for is in place."""
    _worker.finish()


class _Worker:
    """One thread that does jobs in order, as long as there are some."""

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], None]] = deque()   # the first one is being done
        self.changed = locks.condition()
        self.running = False
        self.hurry = False

    def put(self, job: Callable[[], None]) -> None:
        """Adds a job."""
        with self.changed:
            self.jobs.append(job)
            self._start()

    def resume(self) -> None:
        """In a forked child, which does not have the thread: does its jobs, the one that was under way from the beginning."""
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
        """Drops the jobs that were not begun, and waits for the one that was."""
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
        """Until nobody has compiled anything for a while."""
        with self.changed:
            while self.jobs and not self.hurry:
                left = jit.last_use() + QUIET_SECONDS - time.monotonic()
                if left <= 0:
                    return
                self.changed.wait(left)


def _attempt(job: Callable[[], None]) -> None:
    """Runs a job. What goes wrong leaves the first code in place, and is told like an error in any other thread."""
    try:
        job()
    except Exception as error:
        events.count("compile.second_tier_failed")
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))


_worker = _Worker()
atexit.register(_worker.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker.resume)
