"""Inspection of shardings: a Python function gets the sharding that XLA chose for a value, when the program is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core import effects
from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: Any) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*primals, callback=callback)
    return [], []


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: Any) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*args, callback=callback)
    return [], []


def _hlo(b: Any, x: Any, *, callback: Any) -> list[Any]:
    b.inspect(x, callback)
    return []


inspect_sharding_p: Op = Op(
    name="inspect_sharding",
    params=("callback",),
    multiple=True,
    abstract=lambda aval, *, callback: [],
    eager=lambda x, *, callback: [],
    jvp=_jvp,
    transpose=lambda cts, x, *, callback: [None],
    batch=_batch,
    cpu=lambda b, x, *, callback: callback(None) or [],
    hlo=_hlo,
    traits=EXACT,
    effects=lambda *, callback: frozenset({effects.DEBUG}),
    samples=Missing("calls Python"),
)
