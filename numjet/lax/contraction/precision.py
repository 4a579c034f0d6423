"""Precision requests for matrix products."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, TypeAlias

from numjet.foundation import lazy_import
from numjet.foundation.config import config

if TYPE_CHECKING:
    from numjet.lax.contraction.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
dot_algorithms = lazy_import.Module("numjet.lax.contraction.dot_algorithms")


class Precision(enum.Enum):
    """Precision of products of floats. A CPU always computes in the dtype of the operands, or a wider one.

    DEFAULT is fastest; HIGH and HIGHEST matter on accelerators with low-precision units.
    Other names: "fastest", "bfloat16" (DEFAULT); "bfloat16_3x", "tensorfloat32" (HIGH); "float32" (HIGHEST).
    """
    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _NAMES.get(value)  # type: ignore[call-overload]

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_NAMES = {
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT, "bfloat16": Precision.DEFAULT, "fastest": Precision.DEFAULT, None: Precision.DEFAULT,
}
CanonicalPrecision: TypeAlias = "tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None"


def canonicalize_precision(precision: Any) -> CanonicalPrecision:
    """What a user gives as `precision`, as None, a pair of Precision (one per operand), or an algorithm.

    None means the flag jax_default_matmul_precision. ValueError for anything unknown.

    >>> canonicalize_precision("high")
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = config.default_matmul_precision
        if precision is None:
            return None
    is_pair = type(precision) in (tuple, list)
    pair = precision if is_pair else (precision, precision)
    if not (is_pair or isinstance(precision, Precision) or (type(precision) is str and precision in _NAMES)):
        algorithm: CanonicalPrecision = dot_algorithms.named(precision)
        if algorithm is not None:
            return algorithm
    try:
        lhs, rhs = (p if isinstance(p, Precision) else Precision(p) for p in pair)
    except (ValueError, TypeError):
        raise ValueError(_message(precision)) from None
    return lhs, rhs


def _message(precision: Any) -> str:
    return (f"Precision argument must be one of:\n- None,\n- a string in {list(_NAMES)},\n- a lax.Precision value,\n"
            "- a tuple of two lax.Precision values or strings,\n"
            "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n- a lax.DotAlgorithm value;\n"
            f"but got {precision}.")
