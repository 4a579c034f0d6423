"""The counters of loops that ask from time to time whether they are still wanted (see `polls`).

    %left = phi i64 [ %first, %before ], [ %next, %latch ]
    %less = sub i64 %left, 1                    ; less than 1: ask
    %next = phi i64 [ %less, ... ], [ nj_poll(%period), ... ]
"""
from __future__ import annotations

from numjet.cpu.codegen.expressions import ExprEmitter
from numjet.cpu.ir.nodes import For, While
from numjet.foundation.record import Fields

POLL = "nj_poll"
INTERRUPTED = -1     # the status of a function whose loop was left; kInterrupted in native/runtime/process/interrupt.h


class Counter(Fields):
    """The iterations until a loop asks: as it begins, in an iteration, in the next one; where the period is stored."""

    first: str
    left: str
    following: str
    period: str


class PollEmitter(ExprEmitter):
    """Writes the questions of loops."""

    def open_counter(self, stmt: For | While) -> Counter | None:
        """Reads the period in front of a loop; None for a loop that need not ask."""
        iterations = stmt.polls
        if iterations is None:
            return None
        period = f"%{self.name('period')}"
        self.allocas += [f"  {period} = alloca i64, align 8", f"  store i64 {iterations}, ptr {period}, align 8"]
        self.here()
        return Counter(self.put(f"load i64, ptr {period}, align 8"), f"%{self.name('left')}", "", period)

    def ask(self, counter: Counter | None) -> None:
        """At the end of an iteration: asks if it is time, and leaves the function if the answer is no."""
        if counter is None:
            return
        self.here()
        ask, go_on, leave = self.name("ask"), self.name("go"), self.name("leave")
        less = self.put(f"sub i64 {counter.left}, 1")
        due = self.put(f"icmp sle i64 {counter.left}, 1")  # not of less: so the subtraction is the comparison
        before = self.scope.code.block
        self.line(f"br i1 {due}, label %{ask}, label %{go_on}, !prof !0")
        self.label(ask)
        self.declare(POLL, "i64", ["ptr"])
        self.symbols.add(POLL)
        answer = self.put(f"call i64 @{POLL}(ptr {counter.period})")
        self.line(f"br i1 {self.put(f'icmp slt i64 {answer}, 0')}, label %{leave}, label %{go_on}, !prof !0")
        self.label(go_on)
        counter.following = self.put(f"phi i64 [ {less}, %{before} ], [ {answer}, %{ask} ]")
        self.failures += [f"{leave}:", f"  ret i64 {INTERRUPTED}"]

    @staticmethod
    def phi(counter: Counter | None, before: str, latch: str) -> list[str]:
        """The line at the head of a loop."""
        if counter is None:
            return []
        return [f"  {counter.left} = phi i64 [ {counter.first}, %{before} ], [ {counter.following}, %{latch} ]"]
