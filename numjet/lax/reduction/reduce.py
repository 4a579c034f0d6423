"""Reductions by a monoid: reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor.

Sums and products of float16 and bfloat16 accumulate in float32; those of integers wrap. Reductions of nothing give the
identity of the monoid (for max: -inf, the smallest integer or False).
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, largest, times
from numjet.core.ir import JaxprEqn
from numjet.core.op import LINEAR, ZERO, Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES, NONE, READS_ONCE, SCANS_OPERAND
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension
from numjet.lax.axes import Ints, shift, without
from numjet.lax.elementwise.arithmetic import div_p, mul_p
from numjet.lax.elementwise.compare import eq_p
from numjet.lax.indexing.slicing import slice_along
from numjet.lax.operands import scalar, where, with_reduction
from numjet.lax.rewrites import no_axes
from numjet.lax.shape.join import concatenate_p, pad_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, divided, filled, reshape_p, squeeze_p
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import call, kind_of

_CASES: Any = (((), ()), ((4,), (0,)), ((2, 3, 4), (0,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (2, 1)), ((0, 3), (0,)),
               ((0, 3), (1,)), ((2, 1, 3), (1,)), ((2, 3), ()), ((5, 35), (0,)), ((5, 35), (1,)), ((65,), (0,)),
               ((9, 3, 17), (0, 2)))
_SHAPES: Any = tuple(shape for shape, _ in _CASES)
_PARAMS: Any = tuple({"axes": axes} for _, axes in _CASES)


# -------------------------------------------------------------------------------------------- shared

def check_axes(axes: Ints, aval: ShapedArray) -> None:
    """ValueError when reduction axes are repeated or out of bounds."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= a < aval.ndim for a in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {aval}.")


def _abstract(name: str, accepts: str) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axes: Ints) -> ShapedArray:
        check_axes(axes, x)
        if kind_of(x.dtype) not in accepts:
            raise TypeError(_dtype_message(name, accepts, x.dtype))
        return x.update(shape=without(x.shape, axes))
    return abstract


def _dtype_message(name: str, accepts: str, dtype: np.dtype) -> str:
    if accepts == "biu":
        return f"logical reduction requires operand dtype bool or int, got {dtype.name}."
    wanted = "number" if "b" not in accepts else "number or bool"
    return f"{name} does not accept dtype {dtypes.long_name(dtype)}. Accepted dtypes are subtypes of {wanted}."


def batch(record: Callable[[], Op]) -> Callable[..., tuple[Any, int]]:
    """The batch rule of a reduction with the parameter `axes`."""
    def rule(size: int, args: Sequence[Any], dims: Sequence[int], *, axes: Ints, **params: Any) -> tuple[Any, int]:
        gone = shift(axes, dims[0])
        return record().bind(args[0], axes=gone, **params), dims[0] - sum(a < dims[0] for a in gone)
    return rule


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which NumPy adds and multiplies elements of `dtype`: float32 for the small floats."""
    if dtypes.is_numpys(dtype) and dtype != np.float16:
        return dtype
    return np.dtype(np.float32 if kind_of(dtype) == "f" else np.int32)


def _sums(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of sums: as many times that of the terms as there are."""
    sizes = [eqn.invars[0].aval.shape[a] for a in eqn.params["axes"]]
    exact = not any(isinstance(n, Dimension) for n in sizes)
    most = prod(map(largest, sizes))
    return times(known.interval(eqn.invars[0]), (most if exact else 0, most))


def _choices(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the elements, of which there are some."""
    sizes = [eqn.invars[0].aval.shape[a] for a in eqn.params["axes"]]
    some = all(not isinstance(n, Dimension) and n > 0 for n in sizes)
    return known.interval(eqn.invars[0]) if some else (-inf, inf)


def _truths(eqn: JaxprEqn, known: Facts) -> Interval:
    """As _choices, of truth values: bits of integers are combined."""
    return _choices(eqn, known) if eqn.outvars[0].aval.dtype.kind == "b" else (-inf, inf)


_INTERVALS = {"add": _sums, "max": _choices, "min": _choices, "or": _truths, "and": _truths}


def _record(name: str, kind: str, accepts: str, eager: Any, jvp: Any, cpu: Any, hlo: Any, samples: Samples,
            transpose: Any = None, linear_in: Any = None) -> Op:
    traits = READS_ONCE | SCANS_OPERAND | LANES | (NONE if kind in ("add", "mul") else EXACT)
    op = Op(name=name, params=("axes",), abstract=_abstract(name, accepts), eager=eager, jvp=jvp,
            transpose=transpose or Missing(f"{name} is not linear"), batch=batch(lambda: op), cpu=cpu, hlo=hlo,
            samples=samples, linear_in=linear_in, traits=traits, reduces=kind, rewrites=no_axes("axes"),
            interval=_INTERVALS.get(kind))
    return op


def _hlo(kind: str) -> Callable[..., Any]:
    def hlo(b: Any, x: Any, *, axes: Ints) -> Any:
        wide = accumulator(x.dtype)
        return b.convert(b.reduce(kind, b.convert(x, wide), axes, IDENTITIES[kind](x.dtype)), x.dtype)
    return hlo


def lowest(dtype: np.dtype) -> Any:
    """The identity of max: -inf, the smallest integer, or False."""
    return _extreme(dtype, -np.inf, "min", False)


def highest(dtype: np.dtype) -> Any:
    """The identity of min: inf, the largest integer, or True."""
    return _extreme(dtype, np.inf, "max", True)


def _extreme(dtype: np.dtype, infinity: float, bound: str, boolean: bool) -> Any:
    kind = kind_of(dtype)
    if kind in "iu":
        return np.asarray(getattr(dtypes.iinfo(dtype), bound), dtype)[()]
    value = np.asarray(boolean if kind == "b" else infinity, dtype)[()]
    # Some 8-bit floats have no infinity: their greatest number takes its place.
    return value if kind != "f" or np.isinf(np.float64(value)) else getattr(dtypes.finfo(dtype), bound)


# The identity of each monoid, in a dtype; that of bitwise "and" is True, -1, or the largest unsigned integer.
IDENTITIES: dict[str, Callable[[np.dtype], Any]] = {
    "add": lambda dtype: 0, "mul": lambda dtype: 1, "max": lowest, "min": highest,
    "and": lambda dtype: -1 if kind_of(dtype) == "i" else highest(dtype), "or": lambda dtype: 0, "xor": lambda dtype: 0}


def on_bools(kind: str, dtype: np.dtype) -> str:
    """The name of a monoid for a dtype: the extremes of truth values are "or" and "and"."""
    return {"max": "or", "min": "and"}.get(kind, kind) if dtype.kind == "b" else kind


def _bind(op: Op, operand: Any, axes: Any) -> Any:
    return op.bind(operand, axes=tuple(map(operator.index, axes)))


# -------------------------------------------------------------------------------------------- sum, product

def _arithmetic_eager(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    @with_reduction(lambda dtype: (ufunc, ufunc.identity) if accumulator(dtype) is dtype else None)
    def eager(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        wide = accumulator(x.dtype)
        if wide is x.dtype:
            return np.asarray(ufunc.reduce(x, axis=axes, dtype=wide))
        out = ufunc.reduce(x.astype(wide, copy=False), axis=axes, dtype=wide)
        return np.asarray(out).astype(x.dtype, copy=False)
    return eager


def _sum_transpose(ct: Any, x: Any, *, axes: Ints) -> list[Any]:
    kept = without(range(x.ndim), axes)
    return [broadcast_in_dim_p.bind(ct, shape=x.shape, broadcast_dimensions=kept)]


_NUMBERS = ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "complex64")

reduce_sum_p = _record(
    "reduce_sum", "add", "iufc", _arithmetic_eager(np.add), LINEAR,
    lambda b, x, *, axes: b.reduce("add", x, axes), _hlo("add"),
    Samples(shapes=_SHAPES, params=_PARAMS, dtypes=_NUMBERS, ulps=8), _sum_transpose, linear_in=(0,))


def reduce_sum(operand: Any, axes: Any, *, out_sharding: Any = None) -> Any:
    """The sum of the elements along `axes`, which the result lacks. Numbers of any dtype, kept.

    TypeError for bool; ValueError for axes out of bounds or repeated, and for dtypes that jax_allow_f16_reductions=False
    forbids.

    >>> reduce_sum(np.array([[1, 2], [3, 4]], np.int32), (0,)).tolist()
    [4, 6]
    """
    if out_sharding is not None:
        return divided("reduce_sum", lambda x: reduce_sum(x, axes), out_sharding, operand)
    check_half_sum(operand, axes)
    return _bind(reduce_sum_p, operand, axes)


def check_half_sum(operand: Any, axes: Any) -> None:
    """ValueError where the flag jax_allow_f16_reductions forbids a sum, over more than one element."""
    if config.allow_f16_reductions:
        return
    aval = aval_of(operand)
    if aval.dtype in (dtypes.float16, dtypes.bfloat16) and any(aval.shape[a] != 1 for a in axes):
        raise ValueError(f"reduce_sum on operand {aval.str_short()} is not allowed when "
                         "jax_allow_f16_reductions=False. Convert it to float32 first.")


def _prod_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Ints) -> tuple[Any, Any]:
    """Each tangent times the product of all elements before and of all after: zeros are no special case, as they would
    be with division, in derivatives of any order."""
    out = reduce_prod_p.bind(primals[0], axes=axes)
    x, t = (move_front(v, axes) for v in (primals[0], tangents[0]))
    n = aval_of(x).shape[0]
    others = mul_p.bind(t, _products_of_others(x)) if isinstance(n, Dimension) or n > 1 else t
    return out, reduce_sum_p.bind(others, axes=(0,))


def _products_of_others(x: Any) -> Any:
    """Along axis 0, which is not empty: the product of all elements before each one and of all after it.

    Where one of them is empty it is no factor: it has the derivative 0, and the other may be infinite.
    """
    (before, first), (after, last) = _products_of(x, False), _products_of(x, True)
    return where(first, after, where(last, before, mul_p.bind(before, after)))


def _products_of(x: Any, after: bool) -> tuple[Any, Any]:
    """Along axis 0: the product of all elements before each one, or of all after it, and where there are none.

    The element that is in none of these products is replaced by 1: it would be multiplied by the tangent 0.
    """
    rest = ((0, 0, 0),) * (aval_of(x).ndim - 1)
    one, nowhere = scalar(1, aval_of(x).dtype), filled(scalar(False, np.dtype(bool)), aval_of(x).shape)

    def shifted(v: Any, fill: Any, later: bool) -> Any:
        return pad_p.bind(v, fill, padding_config=((1, -1, 0) if later else (-1, 1, 0), *rest))
    empty, unused = (shifted(nowhere, scalar(True, np.dtype(bool)), later) for later in (not after, after))
    some = call("cumprod", where(unused, one, x), axis=0, reverse=after)
    return shifted(some, one, not after), empty


def move_front(x: Any, axes: Ints) -> Any:
    """x with the axes made one, in front."""
    shape = aval_of(x).shape
    rest = without(range(len(shape)), axes)
    sizes = (prod(shape[a] for a in axes), *(shape[i] for i in rest))
    order = (*axes, *rest)
    return reshape_p.bind(x, new_sizes=sizes, dimensions=None if order == tuple(range(len(shape))) else order)


def tree_reduce(combine: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]], xs: Sequence[Any]) -> list[Any]:
    """Combines all elements along axis 0 of arrays of one shape, neighbours first, in their order.

    combine(lefts, rights): arrays of equal shapes to arrays of that shape. The result lacks the axis.
    """
    n = aval_of(xs[0]).shape[0]
    while n > 1:
        pairs = combine([slice_along(x, 0, 0, n - n % 2, 2) for x in xs], [slice_along(x, 0, 1, n, 2) for x in xs])
        last = [[slice_along(x, 0, n - 1, n)] if n % 2 else [] for x in xs]
        xs = [concatenate_p.bind(p, *q, dimension=0) if q else p for p, q in zip(pairs, last, strict=True)]
        n = (n + 1) // 2
    return [squeeze_p.bind(x, dimensions=(0,)) for x in xs]


reduce_prod_p = _record(
    "reduce_prod", "mul", "iufc", _arithmetic_eager(np.multiply), _prod_jvp,
    lambda b, x, *, axes: b.reduce("mul", x, axes), _hlo("mul"),
    Samples(shapes=_SHAPES, params=_PARAMS, dtypes=_NUMBERS, ulps=16))


def reduce_prod(operand: Any, axes: Any) -> Any:
    """The product of the elements along `axes`, which the result lacks. Numbers of any dtype, kept.

    TypeError for bool; ValueError for axes out of bounds or repeated. Derivatives are right where elements are zero.

    >>> reduce_prod(np.array([[1, 2], [3, 4]], np.int32), (1,)).tolist()
    [2, 12]
    """
    return _bind(reduce_prod_p, operand, axes)


# -------------------------------------------------------------------------------------------- maximum, minimum

_PLAIN_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def _extreme_eager(ufunc: np.ufunc, kind: str) -> Callable[..., np.ndarray]:
    def plan(dtype: np.dtype) -> tuple[np.ufunc, Any] | None:
        if accumulator(dtype) is not dtype:
            return None
        return ufunc, None if dtype in _PLAIN_FLOATS else IDENTITIES[kind](dtype)

    @with_reduction(plan)
    def eager(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        if x.size and x.dtype in _PLAIN_FLOATS:
            return np.asarray(ufunc.reduce(x, axis=axes))
        wide = accumulator(x.dtype)
        initial = np.asarray(IDENTITIES[kind](x.dtype)).astype(wide)[()]
        out = ufunc.reduce(x.astype(wide, copy=False), axis=axes, initial=initial)
        return np.asarray(out).astype(x.dtype, copy=False)
    return eager


def _extreme_jvp(op_name: str) -> Callable[..., tuple[Any, Any]]:
    """The tangent is the mean of those of all elements that attain the extreme (NaN where that is NaN)."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axes: Ints) -> tuple[Any, Any]:
        x, t = primals[0], tangents[0]
        aval = aval_of(x)
        out = call(op_name, x, axes=axes)
        if not all(aval.shape[a] for a in axes):
            return out, Zero(aval_of(out))
        best = broadcast_in_dim_p.bind(out, shape=aval.shape, broadcast_dimensions=without(range(aval.ndim), axes))
        attains = where(eq_p.bind(x, best), 1.0, zeros_like_aval(aval))   # not a converted bool: NaN is attained nowhere
        count = reduce_sum_p.bind(attains, axes=axes)
        return out, div_p.bind(reduce_sum_p.bind(mul_p.bind(t, attains), axes=axes), count)
    return jvp


def _extreme_cpu(kind: str, better: str) -> Callable[..., Any]:
    def cpu(b: Any, x: Any, *, axes: Ints) -> Any:
        if x.dtype.kind == "c":
            return _complex_extreme(b, x, axes, better)
        return b.reduce(on_bools(kind, x.dtype), x, axes)
    return cpu


def _complex_extreme(b: Any, x: Any, axes: Ints, better: str) -> Any:
    """Complex numbers are ordered by real part, then imaginary part; one with a NaN wins."""
    part = b.real(b.const(0, x.dtype)).dtype
    bound = b.const(-np.inf if better == "gt" else np.inf, part)
    rest = without(range(x.ndim), axes)

    def step(i: Sequence[Any], r: Sequence[Any], best: Any) -> list[Any]:
        at = dict(zip((*rest, *axes), (*i, *r), strict=True))
        return [complex_better(b, best, b.read(x, *[at[d] for d in range(x.ndim)]), better)]
    return b.fold([x.shape[d] for d in rest], [x.shape[d] for d in axes],
                  [b.complex(bound, b.const(0, part))], step)[0]


def complex_better(b: Any, x: Any, y: Any, better: str) -> Any:
    """y where it comes before x in the lexicographic order `better` (gt or lt) or has a NaN, else x."""
    xr, xi, yr, yi = b.real(x), b.imag(x), b.real(y), b.imag(y)
    wins = b.prim("or", b.compare(better, yr, xr), b.prim("and", b.compare("eq", yr, xr), b.compare(better, yi, xi)))
    x_nan = b.prim("or", b.compare("ne", xr, xr), b.compare("ne", xi, xi))
    y_nan = b.prim("or", b.compare("ne", yr, yr), b.compare("ne", yi, yi))
    takes = b.prim("and", b.prim("not", x_nan), b.prim("or", y_nan, wins))
    return b.complex(b.select(takes, yr, xr), b.select(takes, yi, xi))


def _extreme_hlo(kind: str, better: str) -> Callable[..., Any]:
    def hlo(b: Any, x: Any, *, axes: Ints) -> Any:
        if x.dtype.kind != "c":
            return _hlo(kind)(b, x, axes=axes)
        scalar = ShapedArray((), x.dtype)
        body = b.region([scalar, scalar], lambda u, v: complex_better(b.scalars(()), u, v, better), isolated=True)
        return b.op("stablehlo.reduce", [x, b.constant(IDENTITIES[kind](x.dtype))], x.aval.update(shape=without(x.shape, axes)),
                    attrs={"dimensions": axes}, regions=[body])
    return hlo


_ORDERED = ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool", "complex64")

reduce_max_p = _record(
    "reduce_max", "max", "biufc", _extreme_eager(np.maximum, "max"), _extreme_jvp("reduce_max"),
    _extreme_cpu("max", "gt"), _extreme_hlo("max", "gt"),
    Samples(shapes=_SHAPES, params=_PARAMS, dtypes=_ORDERED, ulps=0))

reduce_min_p = _record(
    "reduce_min", "min", "biufc", _extreme_eager(np.minimum, "min"), _extreme_jvp("reduce_min"),
    _extreme_cpu("min", "lt"), _extreme_hlo("min", "lt"),
    Samples(shapes=_SHAPES, params=_PARAMS, dtypes=_ORDERED, ulps=0))


def reduce_max(operand: Any, axes: Any) -> Any:
    """The greatest element along `axes`, which the result lacks; NaN when there is one, -inf (the least value) of none.

    Complex numbers are ordered by real, then imaginary part. The derivative is shared equally by elements that tie.

    >>> reduce_max(np.array([[1, 2], [3, 0]], np.int32), (1,)).tolist()
    [2, 3]
    """
    return _bind(reduce_max_p, operand, axes)


def reduce_min(operand: Any, axes: Any) -> Any:
    """The least element along `axes`, which the result lacks; NaN when there is one, inf (the greatest value) of none.

    Complex numbers are ordered by real, then imaginary part. The derivative is shared equally by elements that tie.

    >>> reduce_min(np.array([[1, 2], [3, 0]], np.int32), (1,)).tolist()
    [1, 0]
    """
    return _bind(reduce_min_p, operand, axes)


# -------------------------------------------------------------------------------------------- and, or, xor

def _bitwise_eager(bitwise: np.ufunc, logical: np.ufunc) -> Callable[..., np.ndarray]:
    def ufunc(dtype: np.dtype) -> np.ufunc:
        return logical if dtype.kind == "b" else bitwise

    @with_reduction(lambda dtype: (ufunc(dtype), ufunc(dtype).identity) if accumulator(dtype) is dtype else None)
    def eager(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        wide = accumulator(x.dtype)
        return np.asarray(ufunc(x.dtype).reduce(x.astype(wide, copy=False), axis=axes)).astype(x.dtype, copy=False)
    return eager


def _bitwise(name: str, bitwise: np.ufunc, logical: np.ufunc) -> Op:
    kind = name.removeprefix("reduce_")
    return _record(name, kind, "biu", _bitwise_eager(bitwise, logical), ZERO, lambda b, x, *, axes: b.reduce(kind, x, axes),
                   _hlo(kind),
                   Samples(shapes=_SHAPES, params=_PARAMS, dtypes=("bool", "int8", "uint32", "int64"), ulps=0))


reduce_and_p = _bitwise("reduce_and", np.bitwise_and, np.logical_and)
reduce_or_p = _bitwise("reduce_or", np.bitwise_or, np.logical_or)
reduce_xor_p = _bitwise("reduce_xor", np.bitwise_xor, np.logical_xor)


def reduce_and(operand: Any, axes: Any) -> Any:
    """The conjunction (bitwise for integers) of the elements along `axes`, which the result lacks.

    TypeError for dtypes other than bool and integers.

    >>> reduce_and(np.array([[True, True], [True, False]]), (1,)).tolist()
    [True, False]
    """
    return _bind(reduce_and_p, operand, axes)


def reduce_or(operand: Any, axes: Any) -> Any:
    """The disjunction (bitwise for integers) of the elements along `axes`, which the result lacks.

    TypeError for dtypes other than bool and integers.

    >>> reduce_or(np.array([1, 2, 4], np.int32), (0,)).tolist()
    7
    """
    return _bind(reduce_or_p, operand, axes)


def reduce_xor(operand: Any, axes: Any) -> Any:
    """The exclusive or (bitwise for integers) of the elements along `axes`, which the result lacks.

    TypeError for dtypes other than bool and integers.

    >>> reduce_xor(np.array([1, 3, 4], np.int32), (0,)).tolist()
    6
    """
    return _bind(reduce_xor_p, operand, axes)
