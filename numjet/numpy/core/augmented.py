"""Augmented assignments (`a += x`) of NumPy arrays and ours, told from calls with `out=`.

NumPy calls its ufunc in both cases, with the left array as `out`. But the assignment may bind the name to another array: to
ours, with its dtype and shape, as `a = a + x` would. So the array on the left keeps its values, which other names may refer
to, and x may be traced. Which of the two it is says the instruction that the caller is at.
"""
from __future__ import annotations

import dis
import sys
from collections.abc import Mapping
from typing import Any

_BINARY_OP = dis.opmap["BINARY_OP"]
_INPLACE_ADD = 13  # CPython's number of `+=` among the binary operators; those of the other assignments follow
_SET_BY_OPERATORS = frozenset(("out", "axes"))  # axes: of `@=`


def is_augmented(inputs: tuple[Any, ...], kwargs: Mapping[str, Any], depth: int) -> bool:
    """Whether the frame `depth` calls above the caller is at an augmented assignment, which made this call of a ufunc."""
    out = kwargs.get("out") or (None,)
    if len(inputs) != 2 or out[0] is not inputs[0] or not kwargs.keys() <= _SET_BY_OPERATORS:
        return False
    frame = sys._getframe(depth + 1)
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == _BINARY_OP and code[at + 1] >= _INPLACE_ADD
