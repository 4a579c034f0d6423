"""Value ranges of traced integers, by interval arithmetic over the equations that compute them.

They bound computed sizes: a count of true elements is at most their number, `minimum(n, 100)` at most 100.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod, trunc
from typing import Any

import numpy as np

from numjet.core.ir import Atom, JaxprEqn, Literal
from numjet.core.stage import StageTrace
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, computed_sizes

Range = tuple[float, float]
_DEPTH = 100  # equations behind a value that are looked at


def range_of(trace: StageTrace, atom: Atom, depth: int = _DEPTH) -> Range:
    """The least and the greatest value that the elements of an integer variable can have."""
    if isinstance(atom, Literal):
        return float(atom.val), float(atom.val)
    least, most = _of_dtype(atom.aval.dtype)
    eqn = trace._producer(atom)
    rule = None if eqn is None or depth == 0 else _RULES.get(eqn.primitive.name)
    if rule is None or eqn is None:
        return least, most
    low, high = rule(eqn, [range_of(trace, a, depth - 1) for a in eqn.invars])
    return (low, high) if least <= low <= high <= most else (least, most)  # else it may wrap


def _most(n: Any) -> int:
    """The most that a size can be."""
    return computed_sizes.maker.bound(n) if isinstance(n, Dimension) else n


def _of_dtype(dtype: np.dtype) -> Range:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        return -inf, inf
    return float(dtypes.iinfo(dtype).min), float(dtypes.iinfo(dtype).max)


def _times(x: Range, y: Range) -> Range:
    found = [0 if 0 in (a, b) else a * b for a in x for b in y]
    return min(found), max(found)


def _sum(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    aval = eqn.invars[0].aval
    count = prod(aval.shape[a] for a in eqn.params["axes"])
    return _times(of[0], (0 if isinstance(count, Dimension) else count, _most(count)))


def _cumsum(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    return _times(of[0], (1, _most(eqn.invars[0].aval.shape[eqn.params["axis"]])))


def _argument(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    return 0, _most(eqn.invars[0].aval.shape[eqn.params["axes"][0]]) - 1


def _remainder(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    (low, high), (a, b) = of
    most = max(abs(a), abs(b)) - 1
    return (0 if low >= 0 else -most), (0 if high <= 0 else min(most, high))


def _quotient(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    (low, high), (divisor, _) = of
    if divisor < 1 or inf in (-low, high):
        return -inf, inf
    return min(trunc(low / divisor), 0), max(trunc(high / divisor), 0)


def _hull(eqn: JaxprEqn, of: Sequence[Range]) -> Range:
    return min(low for low, _ in of), max(high for _, high in of)


_RULES: dict[str, Callable[[JaxprEqn, Sequence[Range]], Range]] = {
    "min": lambda eqn, of: (min(of[0][0], of[1][0]), min(of[0][1], of[1][1])),
    "max": lambda eqn, of: (max(of[0][0], of[1][0]), max(of[0][1], of[1][1])),
    "clamp": lambda eqn, of: (min(max(of[1][0], of[0][0]), of[2][0]), min(max(of[1][1], of[0][1]), of[2][1])),
    "add": lambda eqn, of: (of[0][0] + of[1][0], of[0][1] + of[1][1]),
    "sub": lambda eqn, of: (of[0][0] - of[1][1], of[0][1] - of[1][0]),
    "mul": lambda eqn, of: _times(of[0], of[1]),
    "neg": lambda eqn, of: (-of[0][1], -of[0][0]),
    "rem": _remainder, "div": _quotient, "reduce_sum": _sum, "cumsum": _cumsum, "argmax": _argument, "argmin": _argument,
    "filled": lambda eqn, of: _hull(eqn, (of[0], of[2])),
    "select_n": lambda eqn, of: _hull(eqn, of[1:]), "concatenate": _hull,
}
for _name in ("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "slice", "dynamic_slice", "transpose",
              "stop_gradient", "rev"):
    _RULES[_name] = lambda eqn, of: of[0]
