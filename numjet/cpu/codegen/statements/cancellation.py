"""Cancellation checks: a loop counts down iterations, and at zero asks the native core whether to go on.

    %left = phi i64 [ %first, %before ], [ %next, %latch ]
    %less = sub i64 %left, 1                    ; less than 1: ask
    %next = phi i64 [ %less, ... ], [ nj_poll(%period), ... ]
"""
from __future__ import annotations

from numjet.cpu.codegen.types import phi
from numjet.cpu.codegen.writer import FunctionWriter

POLL = "nj_poll"
ENTER_PYTHON, LEAVE_PYTHON = "nj_enter_python", "nj_leave_python"
INTERRUPTED = -1     # the status of a function whose loop was left; kInterrupted in native/runtime/process/interrupt.h


class Countdown:
    """The iterations until a loop's next check, and the variable on the stack that holds the period."""

    def __init__(self, writer: FunctionWriter, iterations: int):
        self.writer = writer
        self._period = writer.alloca("period", "i64", str(iterations))
        writer.here()
        self._first = writer.put(f"load i64, ptr {self._period}, align 8")
        self._left = f"%{writer.name('left')}"
        self._next = ""

    def check(self) -> None:
        """At the end of an iteration: asks if it is time, and leaves the function if the answer is no."""
        w = self.writer
        scope = w.here()
        ask, go_on, leave = w.name("ask"), w.name("go"), w.name("leave")
        less = w.put(f"sub i64 {self._left}, 1")
        due = w.put(f"icmp sle i64 {self._left}, 1")  # not of less: so the subtraction is the comparison
        before = scope.code.block
        w.line(f"br i1 {due}, label %{ask}, label %{go_on}, !prof !0")
        w.label(ask)
        w.declare(POLL, "i64", ["ptr"])
        answer = w.put(f"call i64 @{POLL}(ptr {self._period})")
        w.line(f"br i1 {w.put(f'icmp slt i64 {answer}, 0')}, label %{leave}, label %{go_on}, !prof !0")
        w.label(go_on)
        self._next = w.put(phi("i64", (less, before), (answer, ask)))
        w.exit_block(leave, f"ret i64 {INTERRUPTED}")

    def phi(self, before: str, latch: str) -> str:
        """The line at the head of the loop."""
        return f"  {self._left} = {phi('i64', (self._first, before), (self._next, latch))}"
