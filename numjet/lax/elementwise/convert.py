"""Conversions between dtypes: of values, of bits, and between complex numbers and their parts."""
from __future__ import annotations

import warnings
from functools import cache
from math import inf
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, counts, limits, of_operand
from numjet.core.ir import JaxprEqn
from numjet.core.op import LINEAR, SCALARS, Op, Samples, Undefined, Zero
from numjet.core.trace import Tracer, aval_of, held
from numjet.core.traits import CHEAP, EXACT, FREE, RECODES
from numjet.foundation import dtypes, source
from numjet.foundation.dimension import Dimension
from numjet.lax.operands import COMPLEXES, FLOATS, UNARY_SHAPES, apply, binary, complex_dtype, real_dtype
from numjet.lax.rewrites import same_aval
from numjet.lax.tangent import no_tangent
from numjet.lax.templates import ANY, COMPLEX, FLOAT, INEXACT, Joint, elementwise, kind_of

_BOOL = np.dtype(np.bool_)
_VALUES: tuple[Any, ...] = (np.ndarray, np.generic, bool, int, float, complex)  # `complex` is a function further down

# ------------------------------------------------------------------------------------------------ values

def saturate(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats to integers: rounded towards zero, limited to the range of `dtype`, NaN to 0."""
    low, high = _limits(dtype)
    wide = x.astype(np.float64)
    if wide.size and dtypes.is_numpys(dtype) and wide.min() >= low and wide.max() < high:  # never true with a NaN
        return wide.astype(dtype)
    wide = np.trunc(wide)
    inside = (wide >= low) & (wide < high + 1)
    whole = np.where(inside, wide, 0.0).astype(np.uint64 if low == 0 else np.int64).astype(dtype)
    whole = np.where(wide < low, np.asarray(low).astype(dtype), whole)
    return np.where(wide >= float(high + 1), np.asarray(high).astype(dtype), whole)


@cache
def _limits(dtype: np.dtype) -> tuple[int, int]:
    return int(dtypes.iinfo(dtype).min), int(dtypes.iinfo(dtype).max)


def convert_values(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The NumPy array converted: floats to integers saturate, to bool is `!= 0`, complex gives the real part."""
    old, new = kind_of(x.dtype), kind_of(dtype)
    if new == "b":
        return x.astype(_BOOL)
    if old == "c" and new != "c":
        x, old = x.real, "f"
    if old == "f" and new in "iu":
        return saturate(x, dtype)
    return x.astype(dtype)


def _check_numbers(old: np.dtype, new: np.dtype) -> None:
    if old != new and "V" in (kind_of(old), kind_of(new)):
        raise ValueError(f"Cannot convert_element_type from {dtypes.long_name(old)} to {dtypes.long_name(new)}: "
                         "random keys hold no numbers. (Tip: random.key_data gives their bits.)")


def _convert_abstract(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool) -> ShapedArray:
    _check_numbers(x.dtype, np.dtype(new_dtype))
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_eager(x: np.ndarray, *, new_dtype: np.dtype, weak_type: bool) -> np.ndarray:
    return x if x.dtype == new_dtype else convert_values(x, np.dtype(new_dtype))


def _convert_cpu(b: Any, x: Any, *, new_dtype: np.dtype, weak_type: bool) -> Any:
    if x.dtype == new_dtype:
        return x
    if kind_of(new_dtype) == "c":
        part = real_dtype(np.dtype(new_dtype))
        if x.dtype.kind == "c":
            return b.complex(b.convert(b.real(x), part), b.convert(b.imag(x), part))
        return b.complex(b.convert(x, part), b.const(0, part))
    if x.dtype.kind == "c" and new_dtype == _BOOL:
        nonzero = [b.compare("ne", p, b.const(0, p.dtype)) for p in (b.real(x), b.imag(x))]
        return b.prim("or", *nonzero)
    return b.convert(b.real(x) if x.dtype.kind == "c" else x, new_dtype)


def _convert_jvp(primals: Any, tangents: Any, *, new_dtype: np.dtype, weak_type: bool) -> tuple[Any, Any]:
    out = convert_element_type_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type)
    if type(tangents[0]) is Zero or kind_of(np.dtype(new_dtype)) not in INEXACT:
        return out, no_tangent(out)
    return out, convert_element_type_p.bind(tangents[0], new_dtype=new_dtype, weak_type=weak_type)


def _convert_transpose(ct: Any, x: Any, *, new_dtype: np.dtype, weak_type: bool) -> Any:
    return convert_element_type_p.bind(ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type)


def _converted(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the operand; of truth values, whether it holds 0, or nothing else. Floats lose their fraction, and NaN is
    0; small integers are floats of any format."""
    (low, high), (of,), to = known.interval(eqn.invars[0]), eqn.invars, eqn.outvars[0].aval.dtype
    if not counts(to):
        return (low, high) if all(abs(end) <= _SMALL and end == int(end) for end in (low, high)) else (-inf, inf)
    if to == _BOOL:
        known_zero = low == high == 0 and counts(of.aval.dtype)
        return int(not low <= 0 <= high and counts(of.aval.dtype)), int(not known_zero)
    if counts(of.aval.dtype):
        return low, high
    least, most = limits(to)
    return (least if low < least else min(int(min(low, most)), 0)), (most if high > most else max(int(max(high, least)), 0))


_SMALL = 16   # floats of 8 bits hold the integers up to here


convert_element_type_p: Op = elementwise(
    "convert_element_type", accepts=ANY, abstract=_convert_abstract, eager=_convert_eager, jvp=Joint(_convert_jvp),
    transpose=_convert_transpose, params=("new_dtype", "weak_type"), cpu=_convert_cpu, hlo=SCALARS, linear_in=(0,),
    traits=FREE, rewrites=same_aval, interval=_converted,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=("bool", *FLOATS, "int32", "uint8", "complex64"), ulps=0, low=-4,
                    high=99, params=tuple({"new_dtype": np.dtype(d), "weak_type": False} for d in
                                 ("bool", "int32", "uint8", "float32", "float16", dtypes.bfloat16, "complex64"))))


# A new array of the same values: outside of compiled programs, where deleting one of two arrays must leave the other.
copy_p: Op = elementwise(
    "copy", accepts=ANY, eager=np.copy, jvp=LINEAR, transpose=lambda ct, x: copy_p(ct), cpu=lambda b, x: x, hlo=SCALARS,
    linear_in=(0,), traits=FREE, rewrites=same_aval, interval=of_operand,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=("float32", "bool", "int8", "complex64"), ulps=0))


def constant(value: Any, dtype: Any = None, weak_type: bool = False) -> Any:
    """A concrete Array of `value` (NumPy values, Python scalars), made now even while a function is traced."""
    value = np.asarray(value)
    dtype = dtypes.canonicalize_dtype(value.dtype) if dtype is None else np.dtype(dtype)
    _check_numbers(value.dtype, dtype)
    converted = value if value.dtype == dtype else convert_values(value, dtype)
    return hooks.evaluate(convert_element_type_p, [converted], {"new_dtype": dtype, "weak_type": weak_type})


def cast(x: Any, dtype: np.dtype) -> Any:
    """x in `dtype`, never weakly typed, for rules: always an operation."""
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def as_dtype(x: Any, dtype: np.dtype) -> Any:
    """x itself if it has the dtype, else the conversion."""
    return x if aval_of(x).dtype == dtype else cast(x, dtype)


def convert_dtype(operand: Any, new_dtype: Any = None, weak_type: bool = False) -> Any:
    """convert_element_type to a dtype that is canonical already (default: the operand's), with the weak type wanted.

    Gives the operand itself when nothing changes; NumPy values and Python scalars become concrete Arrays.
    """
    if not isinstance(operand, (_native.Array, Tracer)) and isinstance(operand, _VALUES):
        dtype = dtypes.dtype(operand, canonicalize=True) if new_dtype is None else new_dtype
        if type(operand) is int:
            operand = dtypes.wrap_int(operand, dtype, None if new_dtype is None else dtypes.int64)
        return constant(operand, dtype, weak_type)
    aval = aval_of(operand)
    dtype = aval.dtype if new_dtype is None else np.dtype(new_dtype)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The values of `operand` in `new_dtype`.

    Floats to integers: rounded towards zero, saturating, NaN gives 0. To bool: `!= 0`. Integers to narrower integers
    wrap. Complex to anything else drops the imaginary part, with a ComplexWarning (`x.astype(bool)` does not).
    Random keys raise TypeError.

    >>> convert_element_type(2.7, "int32")
    Array(2, dtype=int32)
    """
    wanted = None if new_dtype is None else dtypes.check_user_dtype(new_dtype, "convert_element_type")
    dtype = aval_of(operand).dtype if wanted is None else wanted
    if kind_of(dtypes.dtype(operand)) == "c" and kind_of(dtype) != "c":
        warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning,
                      stacklevel=source.user_stacklevel())
        operand = real_p(operand)
    converted = convert_dtype(operand, dtype)
    return converted if converted is operand or converted.shape else held(converted)


# ------------------------------------------------------------------------------------------------ complex parts

real_p: Op = elementwise(
    "real", accepts=COMPLEX, result=real_dtype, eager=np.real, jvp=LINEAR,
    transpose=lambda ct, x: complex_p(ct, 0.0), cpu=lambda b, x: b.real(x), hlo="stablehlo.real", linear_in=(0,), traits=FREE,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=COMPLEXES, ulps=0))


def real(x: Any) -> Any:
    """The real part of a complex number, a float. TypeError for other dtypes.

    >>> real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """
    return real_p(x)


imag_p: Op = elementwise(
    "imag", accepts=COMPLEX, result=real_dtype, eager=np.imag, jvp=LINEAR,
    transpose=lambda ct, x: complex_p(0.0, apply("neg", ct)), cpu=lambda b, x: b.imag(x), hlo="stablehlo.imag",
    linear_in=(0,), traits=FREE, samples=Samples(shapes=UNARY_SHAPES, dtypes=COMPLEXES, ulps=0))


def imag(x: Any) -> Any:
    """The imaginary part of a complex number, a float. TypeError for other dtypes.

    >>> imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """
    return imag_p(x)


def _complex_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty_like(x if x.ndim else y, complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


def _complex_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (None if not isinstance(x, Undefined) else real_p.bind(ct),
            None if not isinstance(y, Undefined) else apply("neg", imag_p.bind(ct)))


def _check_complex(x: ShapedArray, y: ShapedArray) -> None:
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"complex does not accept dtype {dtypes.long_name(x.dtype)} at position 0. "
                        "Accepted dtypes at position 0 are float32, float64.")


complex_p: Op = elementwise(
    "complex", nargs=2, check=_check_complex, accepts=FLOAT, result=complex_dtype, eager=_complex_eager, jvp=LINEAR,
    transpose=_complex_transpose, cpu=lambda b, x, y: b.complex(x, y), hlo="stablehlo.complex", linear_in=(0, 1),
    traits=RECODES | CHEAP,
    samples=Samples(shapes=((), (3,), (0, 2), (2, 3, 4), [(3,), ()]), dtypes=("float32", "float64"), ulps=0))


def complex(x: Any, y: Any) -> Any:
    """x + i y of two float32 (or float64) operands, as complex64 (complex128).

    >>> complex(1., 2.)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return binary(complex_p, x, y)


def _conj_transpose(ct: Any, x: Any, *, input_dtype: np.dtype) -> Any:
    return conj(ct) if kind_of(np.dtype(input_dtype)) == "c" else real_p.bind(ct)


def _conj_cpu(b: Any, x: Any, *, input_dtype: np.dtype) -> Any:
    return b.complex(b.real(x), b.neg(b.imag(x))) if x.dtype.kind == "c" else b.complex(x, b.const(0, x.dtype))


conj_p: Op = elementwise(
    "conj", accepts=INEXACT, result=lambda dtype, **_: complex_dtype(dtype), params=("input_dtype",),
    eager=lambda x, *, input_dtype: np.conjugate(x).astype(complex_dtype(x.dtype), copy=False),
    jvp=LINEAR, transpose=_conj_transpose, cpu=_conj_cpu, hlo=SCALARS, linear_in=(0,), traits=EXACT | CHEAP,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=("complex64",), ulps=0,
                    params=({"input_dtype": np.dtype("complex64")},)))


def conj(x: Any) -> Any:
    """The complex conjugate, always complex: floats get the imaginary part 0.

    >>> conj(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p(x, input_dtype=aval_of(x).dtype)


def size_constant(n: Any, dtype: np.dtype) -> Any:
    """A size as a scalar of that dtype: a NumPy value, or a traced one for a symbolic dimension.

    >>> size_constant(3, np.dtype("int32")).item()
    3
    """
    if isinstance(n, Dimension):
        return convert_element_type(n.__jax_array__(), dtype)
    return np.asarray(n, dtype)[()]
