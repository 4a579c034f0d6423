"""The operation `leading`: an array of which only the first rows are asked for.

What the others hold may be anything, so the compiler may leave out their computation (`cpu/passes/limits.py`).
"""
from __future__ import annotations

from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT, KEEPS_APART

_WHY = Missing("of results of padded programs only, which no transformation sees")

leading_p = Op(name="leading", abstract=lambda x, n: x, eager=lambda x, n: x, jvp=_WHY, transpose=_WHY, batch=_WHY,
               cpu=lambda b, x, n: b.leading(x, n), hlo=lambda b, x, n: x, traits=EXACT | KEEPS_APART,
               samples=Missing("what it may leave out is not determined; tests/cpu/passes/test_limits.py"))
