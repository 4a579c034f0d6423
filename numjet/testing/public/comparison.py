"""Comparison of pytrees of arrays, in ulps or by tolerances, with messages that name the worst element."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import is_array_like
from numjet.foundation import dtypes
from numjet.foundation.tree import keystr, tree_flatten_with_path, tree_structure
from numjet.testing.public.ulps import ulps as ulps_apart

ULPS = 4      # the default tolerance
SHOWN = 4     # places in a message besides the worst one


def assert_allclose(actual: Any, desired: Any, *, ulps: float | None = None, rtol: float = 0.0, atol: float = 0.0,
                    equal_nan: bool = True, check_dtypes: bool = True, err_msg: str = "") -> None:
    """Asserts that two pytrees of arrays have equal structures, shapes and dtypes, and close elements.

    Integers and bools are close when they are equal. Floats and complex numbers are close when they are at most `ulps` steps
    apart (see `ulps`), or when |actual - desired| <= atol + rtol |desired|. NaN is close to NaN alone, an infinity to itself
    alone; zeros of both signs are equal.

    Args:
      actual: what was computed.
      desired: what it should be; Python's numbers take the dtype of `actual`.
      ulps: default: 4 where neither rtol nor atol is given, else 0.
      rtol, atol: relative and absolute tolerance.
      equal_nan: False: NaN is close to nothing.
      check_dtypes: False: elements are compared in the dtype of `actual`.
      err_msg: begins the message.

    Raises:
      AssertionError: with the number of elements that differ, and index, values, ulps and differences of the worst one.
      ValueError: a tolerance is negative or NaN.

    >>> import numjet.numpy as jnp
    >>> assert_allclose({"x": jnp.sqrt(jnp.float32(2))}, {"x": 1.4142135}, ulps=1)
    """
    for name, value in (("ulps", ulps or 0), ("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise ValueError(f"assert_allclose: expected {name} >= 0, got {value}")
    steps = (0 if rtol or atol else ULPS) if ulps is None else ulps
    note = f"{err_msg}: " if err_msg else ""
    got, want = tree_structure(actual), tree_structure(desired)
    if got != want:
        raise AssertionError(f"{note}expected the structure {want}, got {got}")
    leaves, others = tree_flatten_with_path(actual)[0], tree_flatten_with_path(desired)[0]
    for (path, leaf), (_, other) in zip(leaves, others, strict=True):
        where = f"{note}leaf {keystr(path)}: " if path else note
        _compare(where, leaf, other, _Tolerance(steps, rtol, atol, equal_nan), check_dtypes)


class _Tolerance:
    """What counts as close."""

    def __init__(self, ulps: float, rtol: float, atol: float, equal_nan: bool):
        self.ulps, self.rtol, self.atol, self.equal_nan = ulps, rtol, atol, equal_nan

    def __str__(self) -> str:
        parts = [f"{self.ulps:g} ulps"] if self.ulps or not (self.rtol or self.atol) else []
        parts += [f"{name}={value:g}" for name, value in (("rtol", self.rtol), ("atol", self.atol)) if value]
        return " or ".join([*parts[:1], " + ".join(parts[1:])] if len(parts) > 1 else parts)

    def accepts(self, a: np.ndarray, b: np.ndarray, apart: np.ndarray) -> np.ndarray:
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        fine = apart <= self.ulps
        with np.errstate(all="ignore"):
            near = np.abs(a.astype(wide) - b.astype(wide)) <= self.atol + self.rtol * np.abs(b.astype(wide))
        fine |= near & np.isfinite(a.astype(wide)) & np.isfinite(b.astype(wide))
        return fine if self.equal_nan else fine & ~np.isnan(a.astype(wide))


def _compare(where: str, actual: Any, desired: Any, tolerance: _Tolerance, check_dtypes: bool) -> None:
    if not is_array_like(actual) or not is_array_like(desired):
        if not (actual == desired):
            raise AssertionError(f"{where}expected {desired!r}, got {actual!r}")
        return
    a, b = np.asarray(actual), np.asarray(desired)
    if a.shape != b.shape:
        raise AssertionError(f"{where}expected the shape {b.shape}, got {a.shape}")
    if isinstance(desired, (bool, int, float, complex)) and not isinstance(desired, np.generic):
        b = b.astype(a.dtype)
    if a.dtype != b.dtype:
        if check_dtypes:
            raise AssertionError(f"{where}expected the dtype {dtypes.long_name(b.dtype)}, got {dtypes.long_name(a.dtype)}")
        b = b.astype(a.dtype)
    if dtypes.kind(a.dtype) in "fc":
        apart = ulps_apart(a, b)
        fine = tolerance.accepts(a, b, apart)
    else:
        fine = np.asarray(a == b)
        apart = np.where(fine, 0.0, np.inf)
    if not fine.all():
        raise AssertionError(where + _message(a, b, apart, np.asarray(fine), tolerance))


def _message(a: np.ndarray, b: np.ndarray, apart: np.ndarray, fine: np.ndarray, tolerance: _Tolerance) -> str:
    """What differs: the worst element first, then some others."""
    inexact = dtypes.kind(a.dtype) in "fc"
    bad = np.argwhere(~fine)
    order = sorted((tuple(map(int, place)) for place in bad), key=lambda place: -_badness(apart, place))
    lines = [f"{len(bad)} of {fine.size} elements differ ({dtypes.long_name(a.dtype)}{list(a.shape)}, "
             f"tolerance: {tolerance if inexact else 'equality'})"]
    for label, place in zip(["worst", *["also"] * SHOWN], order, strict=False):
        lines.append(f"  {label} at {place}: expected {b[place]!s}, got {a[place]!s}"
                     + (f" ({_distance(a[place], b[place], float(apart[place]))})" if inexact else ""))
    if len(order) > 1 + SHOWN:
        lines.append(f"  and {len(order) - 1 - SHOWN} more")
    return "\n".join(lines)


def _badness(apart: np.ndarray, place: tuple[int, ...]) -> float:
    return float(apart[place])


def _distance(a: Any, b: Any, apart: float) -> str:
    """The distance of two numbers in words."""
    if np.isnan(a.astype(np.complex128)) or np.isnan(b.astype(np.complex128)):
        return "NaN"
    if np.isinf(apart):
        return "infinite"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    gap = abs(wide(a) - wide(b))
    relative = f", relative {gap / abs(wide(b)):.3g}" if b != 0 else ""
    return f"{apart:.3g} ulps, difference {gap:.3g}{relative}"
