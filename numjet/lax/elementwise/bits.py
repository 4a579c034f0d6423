"""Operations on the representation of values: bitcasts, reduced precision, and the identity without derivative."""
from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, counts, of_operand
from numjet.core.ir import JaxprEqn
from numjet.core.op import SCALARS, ZERO, Missing, Op, Samples
from numjet.core.trace import EVAL, Array, aval_of, current_trace
from numjet.core.traits import EXACT, LANES, RECODES
from numjet.foundation import dtypes, tree
from numjet.lax.operands import COMPLEXES, FLOATS, UNARY_SHAPES, UNSIGNED_OF, at_least_float32
from numjet.lax.rewrites import itself
from numjet.lax.templates import ANY, FLOAT, elementwise, kind_of, leading_batch

_UINT64 = np.dtype(np.uint64)
_NARROW_UNSIGNED = {2: dtypes.uint2, 4: dtypes.uint4}


# ------------------------------------------------------------------------------------------------ bitcast

def _bitcast_abstract(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    if x.dtype == new_dtype:
        return ShapedArray(x.shape, new_dtype)
    _check_bitcast(x.dtype, new_dtype)
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if old == new:
        return ShapedArray(x.shape, new_dtype)
    if old > new:
        return ShapedArray((*x.shape, old // new), new_dtype)
    if not x.shape or x.shape[-1] * old != new:
        last = x.shape[-1] if x.shape else 1
        raise ValueError(f"Attempting to convert array of shape {x.shape} from {dtypes.long_name(x.dtype)} of size "
                         f"{old} bits to {dtypes.long_name(new_dtype)} of size {new} bits, but {last} * {old} != "
                         f"{new}: the last axis must have size {new // old}.")
    return ShapedArray(x.shape[:-1], new_dtype)


def _check_bitcast(old: np.dtype, new: np.dtype) -> None:
    if {kind_of(old), kind_of(new)} & {"b", "c"}:
        raise TypeError("lax.bitcast_convert_type does not support bool or complex values unless the operand and "
                        f"destination types match. Got operand dtype={old.name}, new_dtype={new.name}. "
                        "(Tip: lax.complex, lax.real and lax.imag take complex numbers apart.)")
    if (dtypes.is_key(old) or dtypes.is_key(new)) and dtypes.uint32 not in (old, new):
        raise TypeError(f"bitcast_convert_type converts random keys from and to uint32 only, got "
                        f"{dtypes.long_name(old)} to {dtypes.long_name(new)}.")


def _bitcast_eager(x: np.ndarray, *, new_dtype: np.dtype) -> np.ndarray:
    new_dtype = np.dtype(new_dtype)
    if _differ_below_bytes(x.dtype, new_dtype):
        return _recut(np.asarray(x), new_dtype)
    old, new = x.dtype.itemsize, new_dtype.itemsize
    x = np.ascontiguousarray(x).reshape(x.shape)
    if old == new:
        return x.view(new_dtype)
    if old > new:
        return x.reshape(*x.shape, 1).view(new_dtype)
    return x.view(new_dtype).reshape(x.shape[:-1])


def _differ_below_bytes(old: np.dtype, new: np.dtype) -> bool:
    """Whether elements have different numbers of bits, and one of them less than a byte: such numbers occupy bytes."""
    bits, others = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new)
    return bits != others and min(bits, others) < 8


def _word_dtype(dtype: np.dtype) -> np.dtype:
    """The unsigned integer of as many bits as a dtype."""
    return _NARROW_UNSIGNED.get(dtypes.itemsize_bits(dtype)) or UNSIGNED_OF[dtype.itemsize]


def _recut(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The bits of all elements in numbers of another width, of which one is below a byte."""
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    word = _word_dtype(dtype)
    carrier = UNSIGNED_OF[max(x.dtype.itemsize, dtype.itemsize)]
    bits = np.ascontiguousarray(x).view(_word_dtype(x.dtype)).astype(carrier).reshape(x.shape)
    if old > new:
        places = np.arange(old // new, dtype=carrier) * carrier.type(new)
        return ((bits[..., None] >> places) & carrier.type(2**new - 1)).astype(word).view(dtype)
    places = np.arange(new // old, dtype=carrier) * carrier.type(old)
    return np.asarray(np.bitwise_or.reduce(bits << places, -1)).astype(word).view(dtype)


def _bitcast_cpu(b: Any, x: Any, *, new_dtype: np.dtype) -> Any:
    new_dtype = np.dtype(new_dtype)
    if x.dtype == new_dtype:
        return x
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if old == new:
        return b.elementwise(lambda s: b.bitcast(s, new_dtype), x, dtype=new_dtype)
    if dtypes.is_key(new_dtype):
        return _keys(b, x, new_dtype)
    return _split(b, x, new_dtype) if old > new else _merge(b, x, new_dtype)


def _keys(b: Any, x: Any, dtype: np.dtype) -> Any:
    """Words along the last axis as random keys: two words, or two pairs of them."""
    def part(*index: Any) -> Any:
        if dtype.itemsize == 8:
            return b.read(x, *index)
        *rest, half = index
        low, high = (b.convert(b.read(x, *rest, 2 * half + k), _UINT64) for k in (0, 1))
        return b.prim("or", low, b.prim("shl", high, b.const(32, _UINT64)))

    return b.compute(x.shape[:-1], dtype, lambda *i: b.pair(part(*i, 0), part(*i, 1), dtype), reads=(x,))


def _word(b: Any, s: Any, k: Any) -> Any:
    """Word k of a random key."""
    number = b.convert(k, dtypes.uint32)
    if s.dtype.itemsize == 8:
        return b.select(b.compare("eq", number, b.const(0, dtypes.uint32)), b.real(s), b.imag(s))
    two = b.select(b.compare("lt", number, b.const(2, dtypes.uint32)), b.real(s), b.imag(s))
    odd = b.convert(b.prim("and", number, b.const(1, dtypes.uint32)), _UINT64)
    return b.convert(b.prim("shrl", two, b.mul(odd, b.const(32, _UINT64))), dtypes.uint32)


def _split(b: Any, x: Any, dtype: np.dtype) -> Any:
    """Each element as several narrow ones, the lowest bits first."""
    wide, narrow, bits = UNSIGNED_OF.get(x.dtype.itemsize), _word_dtype(dtype), dtypes.itemsize_bits(dtype)

    def element(*index: Any) -> Any:
        s, k = b.read(x, *index[:-1]), index[-1]
        if dtypes.is_key(s.dtype):
            return _word(b, s, k)
        distance = b.mul(b.convert(k, wide), b.const(bits, wide))
        part = b.prim("shrl", b.convert(b.bitcast(s, _word_dtype(x.dtype)), wide), distance)
        if bits < 8:
            part = b.prim("and", part, b.const(2**bits - 1, wide))
        return b.bitcast(b.convert(part, narrow), dtype)

    return b.compute((*x.shape, dtypes.itemsize_bits(x.dtype) // bits), dtype, element, reads=(x,))


def _merge(b: Any, x: Any, dtype: np.dtype) -> Any:
    """Elements along the last axis as one wide one, the first in the lowest bits."""
    wide, narrow, bits = UNSIGNED_OF[dtype.itemsize], _word_dtype(x.dtype), dtypes.itemsize_bits(x.dtype)

    def element(*index: Any) -> Any:
        total = None
        for k in range(x.shape[-1]):
            part = b.convert(b.bitcast(b.read(x, *index, k), narrow), wide)
            part = b.prim("shl", part, b.const(bits * k, wide))
            total = part if total is None else b.prim("or", total, part)
        return b.bitcast(b.convert(total, _word_dtype(dtype)), dtype)

    return b.compute(x.shape[:-1], dtype, element, reads=(x,))


def _bitcast_hlo(b: Any, x: Any, *, new_dtype: np.dtype) -> Any:
    if x.dtype == new_dtype:
        return x
    return b.bitcast(x, new_dtype, _bitcast_abstract(x.aval, new_dtype=np.dtype(new_dtype)).shape)


def _same_bits(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of integers that are none below 0, read as integers of the same width. Floats have other bits."""
    old, new = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    low, high = known.interval(eqn.invars[0])
    return (low, high) if low >= 0 and counts(old) and counts(new) and old.itemsize == new.itemsize else (-inf, inf)


bitcast_convert_type_p: Op = Op(
    name="bitcast_convert_type", params=("new_dtype",), abstract=_bitcast_abstract, eager=_bitcast_eager, jvp=ZERO,
    transpose=Missing("bits have no derivative"), batch=leading_batch(lambda: bitcast_convert_type_p), cpu=_bitcast_cpu,
    hlo=_bitcast_hlo, traits=RECODES | LANES, interval=_same_bits,
    samples=Samples(shapes=((2,), (3, 2), (0, 2), (2, 1, 2)), dtypes=("uint32", "int32", "float32"), ulps=0, order=0,
                    params=tuple({"new_dtype": np.dtype(d)}
                                 for d in ("int32", "uint8", "float16", "uint64", "float32"))))


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The same bits read as another dtype.

    A narrower dtype adds a trailing axis, lowest bits first; a wider one takes the last axis away, whose size must be
    the ratio (else ValueError). Words (uint32) and random keys convert into each other. bool and complex: TypeError.

    >>> import numpy as np
    >>> bitcast_convert_type(np.float32(1), "uint32")
    Array(1065353216, dtype=uint32)
    """
    dtype = dtypes.check_user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p(operand, new_dtype=dtype)


# ------------------------------------------------------------------------------------------------ reduced precision

class _Layout:
    """The layout of a float format: masks for its bits as an unsigned integer."""

    def __init__(self, dtype: np.dtype, exponent_bits: int, mantissa_bits: int):
        info = np.finfo(dtype)
        own_bits = info.nexp
        self.bits = UNSIGNED_OF[dtype.itemsize]
        self.drop = max(0, info.nmant - mantissa_bits)
        self.sign = 1 << (8 * dtype.itemsize - 1)
        self.exponent = ((1 << own_bits) - 1) << info.nmant
        self.narrow = exponent_bits < own_bits
        bias, new_bias = (1 << (own_bits - 1)) - 1, (1 << (min(exponent_bits, own_bits) - 1)) - 1
        self.largest = (bias + new_bias) << info.nmant
        self.smallest = (bias - new_bias) << info.nmant


def _reduce_bits(x: np.ndarray, layout: _Layout) -> np.ndarray:
    """Rounds to nearest even, by adding just less than half of the last kept bit; then over- and underflow."""
    kind = layout.bits.type
    if layout.drop:
        last = (x >> kind(layout.drop)) & kind(1)
        x = (x + last + kind((1 << (layout.drop - 1)) - 1)) & ~kind((1 << layout.drop) - 1)
    if layout.narrow:
        exponent, sign = x & kind(layout.exponent), x & kind(layout.sign)
        x = np.where(exponent > kind(layout.largest), sign | kind(layout.exponent), x)
        x = np.where(exponent <= kind(layout.smallest), sign, x)
    return x


def _reduce_eager(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    wide = np.asarray(x).astype(at_least_float32(x.dtype), copy=False)
    layout = _Layout(wide.dtype, exponent_bits, mantissa_bits)
    reduced = np.asarray(_reduce_bits(wide.view(layout.bits), layout)).view(wide.dtype)
    return np.where(np.isnan(x), x, reduced.astype(x.dtype))


def _reduce_cpu(b: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    wide = b.convert(x, at_least_float32(x.dtype))
    layout = _Layout(wide.dtype, exponent_bits, mantissa_bits)
    const = lambda value: b.const(value, layout.bits)
    bits = b.bitcast(wide, layout.bits)
    if layout.drop:
        last = b.prim("and", b.prim("shrl", bits, const(layout.drop)), const(1))
        bits = b.add(b.add(bits, last), const((1 << (layout.drop - 1)) - 1))
        bits = b.prim("and", bits, const(2 ** (8 * layout.bits.itemsize) - (1 << layout.drop)))
    if layout.narrow:
        exponent, sign = b.prim("and", bits, const(layout.exponent)), b.prim("and", bits, const(layout.sign))
        infinite = b.prim("or", sign, const(layout.exponent))
        bits = b.select(b.compare("gt", exponent, const(layout.largest)), infinite, bits)
        bits = b.select(b.compare("le", exponent, const(layout.smallest)), sign, bits)
    out = b.convert(b.bitcast(bits, wide.dtype), x.dtype)
    return b.select(b.compare("ne", x, x), x, out)


reduce_precision_p: Op = elementwise(
    "reduce_precision", accepts=FLOAT, params=("exponent_bits", "mantissa_bits"), eager=_reduce_eager,
    jvp=lambda t, out, x, **params: reduce_precision_p.bind(t, **params),
    transpose=lambda ct, x, **params: reduce_precision_p.bind(ct, **params), cpu=_reduce_cpu,
    hlo=SCALARS, traits=EXACT,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, ulps=0, order=0,
                    params=({"exponent_bits": 5, "mantissa_bits": 10}, {"exponent_bits": 8, "mantissa_bits": 7},
                            {"exponent_bits": 11, "mantissa_bits": 52}, {"exponent_bits": 4, "mantissa_bits": 3})))


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Floats rounded to the nearest of a format with these numbers of exponent and mantissa bits, ties to even.

    Too large becomes infinite, too small a zero of the same sign. ValueError unless exponent_bits >= 1 and
    mantissa_bits >= 0.

    >>> reduce_precision(3.14159, 5, 2)
    Array(3., dtype=float32, weak_type=True)
    """
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}")
    return reduce_precision_p(operand, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits))


# ------------------------------------------------------------------------------------------------ stop_gradient

stop_gradient_p: Op = elementwise(
    "stop_gradient", accepts=ANY, eager=lambda x: x, jvp=ZERO, cpu=lambda b, x: x, hlo=SCALARS, traits=EXACT, rewrites=itself,
    interval=of_operand,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, "int32", "bool", *COMPLEXES), ulps=0, order=0))


def stop_gradient(x: Any) -> Any:
    """x, or the pytree x, as a constant for differentiation: its derivative is 0.

    >>> stop_gradient(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return tree.tree_map(_stop_leaf, x)


def _stop_leaf(x: Any) -> Any:
    """Integers, keys and values that are no arrays have no derivative anyway, nor have arrays outside of programs."""
    if type(x) is Array and current_trace() is EVAL:
        return x
    return stop_gradient_p(x) if dtypes.issubdtype(aval_of(x).dtype, np.inexact) else x
