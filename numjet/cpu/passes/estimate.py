"""Run-time estimate: what a call takes, before its loops are shared, decides where it runs and which loops ask to go on."""
from __future__ import annotations

from numjet.cpu.analysis import cost
from numjet.cpu.ir.nodes import Function
from numjet.cpu.passes.manager import Context, Pass


def _estimate(function: Function, context: Context) -> None:
    context.nanoseconds = cost.estimate_ns(function, context.target, context.aliases)


PASS = Pass("estimate", "estimates the run time, and changes nothing", _estimate, ("arithmetic", "serial"))
