"""Checks of results, for programs compiled while jax_debug_nans or jax_debug_infs is on."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from numjet.core.ir import JaxprEqn
from numjet.core.nan_checks import can_be_invalid, checked_kinds, invalid_value
from numjet.cpu.lowering.arrays.values import LoweredArray


def guard(b: Any, eqn: JaxprEqn, outs: Sequence[LoweredArray]) -> None:
    """Leaves the program when a result of the equation holds a NaN or an infinity, as far as flags say so.

    Operations that hold programs are looked at inside.
    """
    kinds = checked_kinds()
    if not kinds or eqn.primitive.programs:
        return
    for out in outs:
        if not can_be_invalid(out.aval):
            continue
        b.materialize(out)
        for kind in kinds:
            bad = b.elementwise(partial(_is_invalid, b, kind), out, dtype=np.bool_)
            found = b.read(b.reduce("or", bad, tuple(range(bad.ndim))) if bad.ndim else bad)
            b.check(b.prim("not", b.let(found)), _error(kind, eqn))


def _error(kind: str, eqn: JaxprEqn) -> Callable[..., Exception]:
    name, place = eqn.primitive.name, eqn.source
    return lambda *_: invalid_value(kind, name, place)


def _is_invalid(b: Any, kind: str, x: Any) -> Any:
    if x.dtype.kind == "c":
        return b.prim("or", _is_invalid(b, kind, b.real(x)), _is_invalid(b, kind, b.imag(x)))
    if x.dtype.itemsize < 4:
        x = b.convert(x, np.dtype(np.float32))
    if kind == "nan":
        return b.compare("ne", x, x)
    return b.compare("eq", b.prim("abs", x), b.const(np.inf, x.dtype))
