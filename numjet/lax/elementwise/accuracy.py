"""Accuracy requests for functions of one operand: AccuracyMode and Tolerance, the values of `accuracy` arguments."""
from __future__ import annotations

import enum
from typing import Any


class AccuracyMode(enum.Enum):
    """The most accurate implementation of a function, or the usual one. Here both are the same."""
    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """Bounds of the error of a function: absolute, relative, or in units of the last place; at most two of them.

    ValueError when one is negative, none is given, or all three are.
    """

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError(f"Tolerances must be non-negative, got atol={atol}, rtol={rtol}, ulps={ulps}.")
        given = sum(bool(t) for t in (atol, rtol, ulps))
        if not given:
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        if given == 3:
            raise ValueError("At most two of atol, rtol and ulps can be set.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"

    def _key(self) -> tuple[float, float, int]:
        return self.atol, self.rtol, self.ulps


def check_accuracy(name: str, accuracy: Any) -> None:
    """TypeError unless it is an accuracy. One implementation of each function, accurate to a few ulps, serves all of them."""
    if accuracy is not None and not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise TypeError(f"lax.{name}: accuracy must be None, an AccuracyMode or a Tolerance, got {accuracy!r}")
