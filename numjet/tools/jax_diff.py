"""Differential testing of the samples of every record against JAX, run by a Python that has it.

python -m numjet.tools.jax_diff --jax-python /path/to/python

The cases and numjet's eager results are written to a file; the other Python computes them with jax.lax (this file is run
there as a script, and then imports no numjet).
"""
from __future__ import annotations

import argparse
import importlib
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

RENAMED = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not", "select_n": "select_n",
           "regularized_incomplete_beta": "betainc", "add_any": "add", "mulhi": "mulhi", "scatter-add": "scatter_add",
           "scatter-mul": "scatter_mul", "scatter-sub": "scatter_sub", "scatter-min": "scatter_min",
           "scatter-max": "scatter_max"}
POSITIONAL = {  # parameters that are operands of JAX's functions, in order
    "integer_pow": ("y",), "convert_element_type": ("new_dtype",), "bitcast_convert_type": ("new_dtype",),
    "reduce_precision": ("exponent_bits", "mantissa_bits"), "broadcast_in_dim": ("shape", "broadcast_dimensions"),
    "reshape": ("new_sizes", "dimensions"), "transpose": ("permutation",), "squeeze": ("dimensions",), "rev": ("dimensions",),
    "slice": ("start_indices", "limit_indices", "strides"), "pad": ("padding_config",), "tile": ("reps",),
    **{f"reduce_{k}": ("axes",) for k in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), ("axis", "reverse")),
}
LOOSE = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 4e-2, "complex64": 4e-5, "complex128": 1e-11}


# ------------------------------------------------------------------------------------------------ in numjet's process

def write_cases(path: Path, limit: int) -> None:
    """Cases of all records, with their eager results, as NumPy data."""
    registry, records, enable_x64 = import_numjet()
    out = []
    with enable_x64(True):
        for name in sorted(registry):
            for case in records.cases(registry[name], limit):
                params = {k: plain(v) for k, v in case.params.items()}
                results = [encode(x) for x in records.apply_eager(case)]
                out.append((name, [encode(x) for x in case.operands], params, results))
    path.write_bytes(pickle.dumps(out))


def import_numjet() -> tuple[Any, Any, Any]:
    """The registry, the cases' maker and the x64 switch; this file is also run where there is no numjet."""
    op, records, config = map(importlib.import_module, ("numjet.core.op", "numjet.testing.records", "numjet.foundation.config"))
    importlib.import_module("numjet.lax")
    return op.all_ops(), records, config.enable_x64


def plain(value: Any) -> Any:
    """A parameter without numjet's classes: named tuples and enums by their fields and names."""
    if isinstance(value, np.dtype):
        return ("dtype", value.name)
    if hasattr(value, "_asdict"):
        return ("fields", {k: plain(v) for k, v in value._asdict().items()})
    if hasattr(value, "__dataclass_fields__"):
        return ("fields", {k: plain(getattr(value, k)) for k in value.__dataclass_fields__})
    if hasattr(value, "name") and hasattr(value, "value"):
        return ("enum", value.name)
    if type(value) is tuple:
        return tuple(map(plain, value))
    return value if isinstance(value, (int, float, str, bool, type(None), complex)) else ("opaque", repr(value))


def encode(x: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return x.dtype.name if x.dtype.names is None else "key", x.shape, np.ascontiguousarray(x).tobytes()


# ------------------------------------------------------------------------------------------------ in JAX's process

def decode(item: tuple[str, tuple[int, ...], bytes]) -> np.ndarray:
    name, shape, data = item
    dtype = np.dtype(getattr(importlib.import_module("ml_dtypes"), name, name))
    return np.frombuffer(data, dtype).reshape(shape).copy()


def compare(path: Path) -> int:
    """Prints the agreeing cases; returns the number of the others."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    counts: dict[str, int] = {"agree": 0, "differ": 0}
    left: dict[str, int] = {}
    for name, operands, params, results in pickle.loads(path.read_bytes()):
        if any(k[0] == "key" for k in (*operands, *results)) or "opaque" in repr(params):
            left[name] = left.get(name, 0) + 1
            continue
        try:
            got = call(jax, name, [decode(x) for x in operands], params)
        except (AttributeError, KeyError, TypeError) as error:
            reason = f"{name} ({str(error).splitlines()[0][:60]})"
            left[reason] = left.get(reason, 0) + 1
            continue
        size = magnitude(operands)
        wrong = [d for g, w in zip(got, results, strict=True) if (d := differs(np.asarray(g), decode(w), size))]
        counts["differ" if wrong else "agree"] += 1
        if wrong:
            print(f"{name} {[x[:2] for x in operands]} {params}: {wrong[0]}")
    print(f"{counts['agree']} cases agree with JAX {jax.__version__}, {counts['differ']} differ")
    print(f"not compared ({sum(left.values())} cases):", ", ".join(sorted(left)))
    return counts["differ"]


def call(jax: Any, name: str, xs: list[np.ndarray], params: dict[str, Any]) -> list[Any]:
    """The operation by its jax.lax function."""
    lax = jax.lax
    params = {k: revive(jax, k, v) for k, v in params.items()}
    if name == "sort":
        out = lax.sort(tuple(xs), **params)
        return list(out)
    if name == "after_all":
        raise TypeError("JAX's tokens are no arrays")
    if name == "optimization_barrier":
        return list(lax.optimization_barrier(tuple(xs)))
    if name == "concatenate":
        return [lax.concatenate(xs, **params)]
    if name in ("dynamic_slice", "dynamic_update_slice"):
        head = 1 if name == "dynamic_slice" else 2
        rest = [params["slice_sizes"]] if name == "dynamic_slice" else []
        return [getattr(lax, name)(*xs[:head], tuple(xs[head:]), *rest, allow_negative_indices=False)]
    if name in ("argmax", "argmin"):
        return [getattr(lax, name)(xs[0], params["axes"][0], params["index_dtype"])]
    if name == "convert_element_type":
        params.pop("weak_type", None)
    if name == "round":
        return [lax.round(xs[0], params["rounding_method"])]
    if name == "split":
        return list(lax.split(xs[0], params["sizes"], params["axis"]))
    if name in ("real", "conj", "imag", "complex"):
        params = {}
    if name == "iota":
        return [lax.broadcasted_iota(params["dtype"], params["shape"], params["dimension"])]
    function = getattr(lax, RENAMED.get(name, name), None) or getattr(lax.linalg, name)
    order = POSITIONAL.get(name, ())
    extra = {k: v for k, v in params.items() if k not in order and v is not None}
    out = function(*xs, *[params[k] for k in order if k in params], **extra)
    if name == "svd" and isinstance(out, tuple):
        out = (out[1], out[0], out[2])  # the record gives the singular values first
    return list(out) if isinstance(out, (tuple, list)) else [out]


def revive(jax: Any, key: str, value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "dtype":
        return np.dtype(getattr(jax.numpy, value[1]))
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "enum":
        kinds = {"mode": jax.lax.GatherScatterMode, "rounding_method": jax.lax.RoundingMethod, "fft_type": jax.lax.FftType,
                 "algorithm": jax.lax.RandomAlgorithm}
        return getattr(kinds[key], value[1])
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "fields":
        made = {"offset_dims": jax.lax.GatherDimensionNumbers, "lhs_spec": jax.lax.ConvDimensionNumbers}
        known = next((cls for field, cls in made.items() if field in value[1]), jax.lax.ScatterDimensionNumbers)
        return known(**value[1])
    return value


def magnitude(operands: list[Any]) -> float:
    """The sum of the magnitudes of half-precision operands: JAX rounds partial sums to halves, numjet sums in float32."""
    halves = [decode(x).astype(np.float64) for x in operands if x[0] in ("float16", "bfloat16")]
    return float(sum(np.sum(np.abs(x[np.isfinite(x)])) for x in halves))


def differs(got: np.ndarray, want: np.ndarray, size: float) -> str | None:
    """None when shape, dtype and values agree; `size` scales the absolute tolerance of halves."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} in JAX, {want.dtype}{want.shape} here"
    if want.dtype.name not in LOOSE:
        return None if np.array_equal(got, want) else f"{got} in JAX, {want} here"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    tolerance = LOOSE[want.dtype.name]
    absolute = tolerance * max(1.0, 0.2 * size) if want.dtype.itemsize == 2 else tolerance
    if np.allclose(got.astype(wide), want.astype(wide), rtol=tolerance, atol=absolute, equal_nan=True):
        return None
    return f"largest difference {np.nanmax(np.abs(got.astype(wide) - want.astype(wide)))}"


def main() -> int:
    """Returns the number of cases that differ, at most 100."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax-python", help="a Python with JAX")
    parser.add_argument("--limit", type=int, default=24, help="cases per record")
    parser.add_argument("--compare", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compare:
        return min(compare(Path(args.compare)), 100)
    if not args.jax_python:
        parser.error("--jax-python is needed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases"
        write_cases(path, args.limit)
        return subprocess.run([args.jax_python, __file__, "--compare", str(path)]).returncode


if __name__ == "__main__":
    sys.exit(main())
