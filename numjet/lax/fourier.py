"""Discrete Fourier transforms over the last axes of arrays: the record fft, of four kinds."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import LINEAR, Op, Samples
from numjet.core.printing_rules import register_parameter_type
from numjet.core.trace import aval_of
from numjet.core.traits import NORMWISE
from numjet.foundation import dtypes
from numjet.foundation.dtypes.promotion import to_inexact_dtype
from numjet.lax.axes import Ints, as_shape
from numjet.lax.elementwise.arithmetic import mul_p
from numjet.lax.elementwise.convert import as_dtype, cast, conj_p
from numjet.lax.operands import complex_dtype, converted, real_dtype
from numjet.lax.shape.rearrange import broadcast_in_dim
from numjet.lax.templates import leading_batch, moveaxis


@register_parameter_type
class FftType(enum.IntEnum):
    """Kinds of transforms.

    FFT: sum of x[n] exp(-2 pi i k n / N). IFFT: its inverse. RFFT: of real values, the first N // 2 + 1 coefficients of
    the last axis, which determine the others. IRFFT: the inverse of that.
    """
    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# -------------------------------------------------------------------------------------------- semantics

def _abstract(x: ShapedArray, *, fft_type: FftType, fft_lengths: Ints) -> ShapedArray:
    k = len(fft_lengths)
    if k > x.ndim:
        raise ValueError(f"fft: {FftType(fft_type).name} input shape {x.shape} must have at least as many input dimensions as "
                         f"fft_lengths {fft_lengths}.")
    wanted = "f" if fft_type == FftType.RFFT else "c"
    if x.dtype.kind != wanted or x.dtype.itemsize < (4 if wanted == "f" else 8):
        raise ValueError(f"fft: {FftType(fft_type).name} input must be {'float32 or float64' if wanted == 'f' else 'complex'}, "
                         f"got {dtypes.long_name(x.dtype)}")
    if not k and fft_type == FftType.RFFT:
        return x  # over no axes there is nothing to transform, as in JAX
    lead = x.shape[:x.ndim - k]
    expected = fft_lengths
    if fft_type == FftType.IRFFT and k:
        expected = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1 if fft_lengths[-1] else 0)
    if x.shape[x.ndim - k:] != expected:
        needs = "equal to" if fft_type != FftType.IRFFT else f"{expected} for"
        raise ValueError(f"fft: {FftType(fft_type).name} input shape {x.shape} minor dimensions must be {needs} "
                         f"fft_lengths {fft_lengths}")
    if fft_type == FftType.RFFT:
        last = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1 if fft_lengths[-1] else 0)
        return ShapedArray((*lead, *last), complex_dtype(x.dtype))
    if fft_type == FftType.IRFFT:
        return ShapedArray((*lead, *fft_lengths), real_dtype(x.dtype))
    return ShapedArray(x.shape, x.dtype)


def _eager(x: np.ndarray, *, fft_type: FftType, fft_lengths: Ints) -> np.ndarray:
    out = _abstract(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
    if not fft_lengths:
        return np.asarray(x.real if fft_type == FftType.IRFFT else x).astype(out.dtype)
    if 0 in x.shape or 0 in out.shape:
        return np.zeros(out.shape, out.dtype)
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    transform = (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)[fft_type]
    with np.errstate(all="ignore"):
        return np.asarray(transform(x, s=fft_lengths, axes=axes)).astype(out.dtype, copy=False)


def _cpu(b: Any, x: Any, *, fft_type: FftType, fft_lengths: Ints) -> Any:
    aval = _abstract(x.aval, fft_type=fft_type, fft_lengths=fft_lengths)
    if not fft_lengths:
        return converted(b, x, aval.dtype)
    if 0 in x.shape or 0 in aval.shape:
        return b.compute(aval.shape, aval.dtype, lambda *i: b.const(0, aval.dtype))
    wide = int(real_dtype(x.dtype).itemsize == 8)
    first = x.ndim - len(fft_lengths)
    lead = range(first, x.ndim - 1)
    if fft_type == FftType.RFFT:
        rows = prod(x.shape[:-1])
        (x,) = b.kernel("nj_fft_real", [wide, rows, x.shape[-1], x], [aval], checked=True)
        return _along(b, x, lead, False, wide)
    if fft_type == FftType.IRFFT:
        x = _along(b, x, lead, True, wide)
        rows = prod(aval.shape[:-1])
        return b.kernel("nj_fft_hermitian", [wide, rows, aval.shape[-1], x], [aval], checked=True)[0]
    return _along(b, x, range(first, x.ndim), fft_type == FftType.IFFT, wide)


def _along(b: Any, x: Any, axes: Sequence[int], inverse: bool, wide: int) -> Any:
    """Complex transforms along one axis after the other."""
    for axis in axes:
        sizes = [prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1:])]
        (x,) = b.kernel("nj_fft_complex", [wide, int(inverse), *sizes, x], [x.aval], checked=True)
    return x


_MOST_AXES = 3  # of one transform of StableHLO


def _hlo(b: Any, x: Any, *, fft_type: FftType, fft_lengths: Ints) -> Any:
    aval = _abstract(x.aval, fft_type=fft_type, fft_lengths=fft_lengths)
    if not fft_lengths or 0 in x.shape or 0 in aval.shape:
        return b.full(aval.shape, 0, aval.dtype) if fft_lengths else b.convert(x, aval.dtype)
    if len(fft_lengths) > _MOST_AXES:
        return b.trace(_in_parts, [x], fft_type=fft_type, fft_lengths=fft_lengths)[0]
    return b.op("stablehlo.fft", [x], aval, attrs={
        "fft_type": f"#stablehlo<fft_type {FftType(fft_type).name}>", "fft_length": fft_lengths})


def _in_parts(x: Any, *, fft_type: FftType, fft_lengths: Ints) -> Any:
    """The first axis by itself, then (RFFT: before) the others."""
    first, rest = aval_of(x).ndim - len(fft_lengths), fft_lengths[1:]
    kind = {FftType.RFFT: FftType.FFT, FftType.IRFFT: FftType.IFFT}.get(fft_type, fft_type)

    def alone(v: Any) -> Any:
        last = aval_of(v).ndim - 1
        return moveaxis(fft_p.bind(moveaxis(v, first, last), fft_type=kind, fft_lengths=fft_lengths[:1]), last, first)
    if fft_type == FftType.RFFT:
        return alone(fft_p.bind(x, fft_type=fft_type, fft_lengths=rest))
    return fft_p.bind(alone(x), fft_type=fft_type, fft_lengths=rest)


# -------------------------------------------------------------------------------------------- transformations

def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: Ints) -> list[Any]:
    if fft_type in (FftType.FFT, FftType.IFFT):  # symmetric matrices
        return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]
    if not fft_lengths:
        return [as_dtype(ct, x.dtype)]
    total = prod(fft_lengths)
    if fft_type == FftType.RFFT:
        # Re(sum over k of ct[k] w^(k n)): an inverse transform in which coefficients with a mirror image count twice.
        weights = _weights(ct, fft_lengths[-1], lambda m: total / m)
        halved = mul_p.bind(conj_p.bind(ct, input_dtype=aval_of(ct).dtype), weights)
        return [fft_p.bind(halved, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)]
    out = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
    weights = _weights(out, fft_lengths[-1], lambda m: m / total)
    return [mul_p.bind(conj_p.bind(out, input_dtype=aval_of(out).dtype), weights)]


def _weights(like: Any, n: int, weight: Any) -> Any:
    """weight(1) for the coefficients at 0 and n / 2 of the last axis, weight(2) for those that have a mirror image."""
    aval = aval_of(like)
    counts = np.full(aval.shape[-1], 2.0)
    counts[:1] = 1
    if n % 2 == 0:
        counts[-1:] = 1
    made = broadcast_in_dim(weight(counts).astype(aval.dtype), aval.shape, (aval.ndim - 1,))
    return as_dtype(made, aval.dtype)   # of 64 bits, while jax_enable_x64 is off


def _samples() -> Samples:
    complex_cases = [((4,), 1), ((3, 5), 1), ((2, 3, 4), 2), ((2, 3, 2, 5), 3), ((7,), 1), ((37,), 1), ((0, 3), 1), ((3,), 0),
                     ((60,), 1), ((2, 1), 2), ((41, 4), 2)]
    cases: list[tuple[Ints, str, dict[str, Any]]] = []
    for shape, k in complex_cases:
        lengths = shape[len(shape) - k:]
        for kind, dtype in ((FftType.FFT, "complex64"), (FftType.IFFT, "complex128"), (FftType.RFFT, "float32")):
            cases.append((shape, dtype, {"fft_type": kind, "fft_lengths": lengths}))
        halved = (*shape[:-1], shape[-1] // 2 + 1) if k else shape
        cases.append((halved, "complex64", {"fft_type": FftType.IRFFT, "fft_lengths": lengths}))
    return Samples(shapes=[s for s, _, _ in cases], params=[p for _, _, p in cases], dtypes=("float32", "float64"),
                   make=_make, rtol=2e-5, ulps=64)


def _make(rng: Any, shape: Any, dtype: str, params: dict[str, Any]) -> list[np.ndarray]:
    """Nearly the transform of a constant, so that no element of the result is the difference of much larger ones."""
    x = rng.uniform(-0.02, 0.02, shape) + 1j * rng.uniform(-0.02, 0.02, shape)
    x[(..., *[0] * len(params["fft_lengths"]))] += 3 + 3j
    if params["fft_type"] == FftType.RFFT:
        return [x.real.astype(dtype)]
    return [x.astype("complex64" if dtype == "float32" else "complex128")]


fft_p: Op = Op(
    name="fft", params=("fft_type", "fft_lengths"), abstract=_abstract, eager=_eager, jvp=LINEAR, transpose=_transpose,
    batch=leading_batch(lambda: fft_p), cpu=_cpu, hlo=_hlo, linear_in=(0,), traits=NORMWISE, samples=_samples())


# -------------------------------------------------------------------------------------------- public function

def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Discrete Fourier transform over the last len(fft_lengths) axes.

    Args:
      x: any number of axes before. Integers become floats; for FFT, IFFT and IRFFT real values become complex.
      fft_type: an FftType or its name.
      fft_lengths: the sizes of the transformed axes (for IRFFT those of the result).

    Raises:
      ValueError: sizes that are not fft_lengths, complex values or half precision for RFFT, unknown names.
      TypeError: kinds that are neither FftType nor a name.

    >>> fft(np.array([1, 0, 0], np.float32), FftType.RFFT, (3,)).tolist()
    [(1+0j), (1+0j)]
    """
    kind = _kind(fft_type)
    dtype = aval_of(x).dtype
    if kind is FftType.RFFT:
        if dtype.kind == "c":
            raise ValueError("fft: only real valued inputs supported for rfft")
        wanted = to_inexact_dtype(dtype)
    else:
        wanted = complex_dtype(to_inexact_dtype(dtype))
    if dtype != wanted:
        x = cast(x, np.dtype(wanted))
    return fft_p.bind(x, fft_type=kind, fft_lengths=as_shape(fft_lengths, "fft_lengths"))


def _kind(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(f"fft: Unknown FFT type '{fft_type}'")
        return FftType[fft_type.upper()]
    raise TypeError(f"fft: Unknown FFT type value '{fft_type}'")
