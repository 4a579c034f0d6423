"""The functions of numjet.ops on operands of every kind, against loops over the rows of the data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import ops
from tests.operands import Case, itself


def _ids(x: Any) -> np.ndarray:
    """Numbers of segments of every row, out of order; some are negative or too large."""
    return ((np.arange(x.shape[0]) * 2) % 5 - 1).astype(np.int32) if x.ndim else np.int32(1)


def _sorted_ids(x: Any) -> np.ndarray:
    return np.sort(_ids(x)) if x.ndim else _ids(x)


def _extreme(dtype: np.dtype, highest: bool) -> Any:
    """The largest or smallest value of a dtype."""
    if dtype.kind in "biu":
        return highest if dtype.kind == "b" else np.iinfo(dtype).max if highest else np.iinfo(dtype).min
    return np.inf if highest else -np.inf


def _loop(join: Callable[..., Any], start: Callable[[np.dtype], Any]) -> Callable[..., np.ndarray]:
    """The segments of data, which start with a value and are joined with each row of their number."""
    def segments(data: np.ndarray, ids: np.ndarray, num_segments: int = 3, **promises: Any) -> np.ndarray:
        data = np.asarray(data)
        found = np.full((num_segments, *data.shape[1:]), start(data.dtype), data.dtype)
        for number, row in zip(np.atleast_1d(ids), np.atleast_1d(data), strict=True):
            if 0 <= number < num_segments:
                found[number] = join(found[number], row)
        return found
    return segments


OPTIONS: list[dict[str, Any]] = [{"num_segments": 3}, {"num_segments": 3, "bucket_size": 2}]
DEFINITIONS: dict[str, tuple[Callable[..., Any], Callable[[np.dtype], Any]]] = {
    "segment_sum": (np.add, lambda dtype: 0), "segment_prod": (np.multiply, lambda dtype: 1),
    "segment_max": (np.maximum, lambda dtype: _extreme(dtype, False)),
    "segment_min": (np.minimum, lambda dtype: _extreme(dtype, True))}
NO_BOOLEANS = {"bool": "Booleans have no sums and products, as in JAX"}


def _case(name: str, ids: Callable[[Any], Any], options: list[dict[str, Any]]) -> Case:
    exact = name in ("segment_sum", "segment_prod")
    return Case(getattr(ops, name), _loop(*DEFINITIONS[name]), (itself, ids), options, refused=NO_BOOLEANS if exact else {},
                not_batched="rows have other numbers",
                not_smooth="derivatives need unique_indices, as in JAX" if name == "segment_prod" else "")


CASES: dict[str, Case] = {name: _case(name, _ids, OPTIONS) for name in DEFINITIONS} | {
    f"{name}, sorted": _case(name, _sorted_ids, [{"num_segments": 4, "indices_are_sorted": True, "mode": "drop"}])
    for name in DEFINITIONS}
