"""How exactly products of matrices are to be computed: Precision, DotAlgorithm and its presets."""
from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.config import config


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


class DotAlgorithm(NamedTuple):
    """An algorithm for products: the dtypes that operands are rounded to and sums are accumulated in.

    component_count: into how many parts of that dtype each operand is decomposed. An implementation may be more exact
    than asked; the CPU's computes in the operands' dtype or in accumulation_type, whichever is wider.
    """
    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms with names: LHS_RHS_ACCUMULATOR, and X3, X6, X9 for the number of products of decomposed parts."""
    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    @property
    def accumulation_type(self) -> np.dtype | None:
        """The dtype of sums; None where the operands' dtype decides."""
        parts = self.name.removeprefix("ANY_F8_").split("_")  # what is left is LHS_RHS_ACC... or ANY_F8_ACC...
        return _ACCUMULATORS.get(parts[2]) if len(parts) > 2 else None

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


_ACCUMULATORS = {"F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32, "F64": dtypes.float64}
PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm
                 | DotAlgorithmPreset)
CanonicalPrecision = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


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
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__ and precision != "DEFAULT":
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
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
