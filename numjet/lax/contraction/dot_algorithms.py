"""Algorithms of matrix products: the dtypes of operands and sums; and the attributes that ask XLA for them."""
from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.contraction.precision import CanonicalPrecision, Precision


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


def named(precision: Any) -> DotAlgorithm | DotAlgorithmPreset | None:
    """The algorithm that a user's `precision` is or names, if any."""
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__ and precision != "DEFAULT":
        return DotAlgorithmPreset[precision]
    return None


# -------------------------------------------------------------------------------------------- XLA

_MLIR = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "f8E4M3FN",
         "float8_e5m2": "f8E5M2", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ",
         "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3"}


_PLAIN = {(DotAlgorithmPreset.F32_F32_F32, np.dtype(np.float32)), (DotAlgorithmPreset.F64_F64_F64, np.dtype(np.float64))}


def precision_attributes(precision: CanonicalPrecision, dtype: np.dtype, platform: str) -> dict[str, str]:
    """The attributes of StableHLO's products that ask for a precision. dtype: of the operands.

    XLA's CPU client computes in the dtypes of operands and result, so it is only asked for algorithms that say this.
    """
    pair = precision if isinstance(precision, tuple) and not isinstance(precision, DotAlgorithm) else (Precision.DEFAULT,) * 2
    config = ", ".join(f"#stablehlo<precision {p.name}>" for p in pair)
    found = {"precision_config": f"[{config}]"}
    algorithm = _algorithm(precision, dtype) if platform != "cpu" or (precision, dtype) in _PLAIN else None
    return found if algorithm is None else {**found, "algorithm": algorithm}


def _algorithm(precision: CanonicalPrecision, dtype: np.dtype) -> str | None:
    if isinstance(precision, DotAlgorithm):
        types = [_mlir_name(t) for t in precision[:3]]
        numbers, imprecise = precision[3:6], precision.allow_imprecise_accumulation
    elif isinstance(precision, DotAlgorithmPreset) and precision is not DotAlgorithmPreset.DEFAULT:
        name = precision.name
        types = [_mlir_name(dtype)] * 2 + ["f32"] if "F8" in name else [t.lower() for t in name.split("_")[:3]]
        numbers = (1, 1, int(name[-1]) if "_X" in name else 1)
        imprecise = name == "ANY_F8_ANY_F8_F32_FAST_ACCUM"
    else:
        return None
    left, right, total = types
    return (f"#stablehlo.dot_algorithm<lhs_precision_type = {left}, rhs_precision_type = {right}, accumulation_type = {total}, "
            f"lhs_component_count = {numbers[0]}, rhs_component_count = {numbers[1]}, num_primitive_operations = {numbers[2]}, "
            f"allow_imprecise_accumulation = {str(imprecise).lower()}>")


def _mlir_name(dtype: Any) -> str:
    name = np.dtype(dtype).name
    if name not in _MLIR:
        raise NotImplementedError(f"DotAlgorithm: expected one of the dtypes {', '.join(_MLIR)}, got {name}; choose another "
                                  "algorithm, or a lax.Precision.")
    return _MLIR[name]
