"""Products of arrays over any of their axes: dot_general, and dot and batch_matmul made of it."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray, explicit
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import Op, Samples, Undefined, lookup
from numjet.core.printing_rules import PrintingRule
from numjet.core.trace import aval_of
from numjet.core.traits import CONTRACTS, LANES
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, shift, without
from numjet.lax.contraction.precision import CanonicalPrecision, canonicalize_precision, dot_algorithms
from numjet.lax.elementwise.convert import as_dtype
from numjet.lax.operands import converted
from numjet.lax.rewrites import Producer, is_number, splat
from numjet.lax.shape.rearrange import divided, transpose
from numjet.lax.sharding_later import sharding
from numjet.lax.tangent import bilinear
from numjet.lax.templates import kind_of

DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
Numbers = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]
_NATIVE = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64", "complex64", "complex128"))


# -------------------------------------------------------------------------------------------- shapes, dtypes

def _abstract(x: ShapedArray, y: ShapedArray, *, dimension_numbers: Numbers, precision: CanonicalPrecision = None,
              preferred_element_type: np.dtype | None = None) -> ShapedArray:
    (lc, rc), (lb, rb) = dimension_numbers
    _check_side("lhs", x, lc, lb)
    _check_side("rhs", y, rc, rb)
    for what, left, right in (("contracting", lc, rc), ("batch", lb, rb)):
        sizes = tuple(x.shape[d] for d in left), tuple(y.shape[d] for d in right)
        if sizes[0] != sizes[1]:
            raise TypeError(f"dot_general requires {what} dimensions to have the same shape, "
                            f"got {sizes[0]} and {sizes[1]}.")
    return ShapedArray(_result_shape(x.shape, y.shape, dimension_numbers),
                       result_dtype(x.dtype, y.dtype, preferred_element_type), x.weak_type and y.weak_type)


def _check_side(side: str, x: ShapedArray, contract: Ints, batch: Ints) -> None:
    if not all(0 <= d < x.ndim for d in (*contract, *batch)):
        raise TypeError(f"dot_general requires {side} dimension numbers to be nonnegative and less than the number of "
                        f"axes of the {side} value, got {side}_batch of {batch} and {side}_contracting of {contract} "
                        f"for {side} of rank {x.ndim}")
    for what, dims in (("contracting", contract), ("batch", batch)):
        if len(set(dims)) != len(dims):
            raise TypeError(f"dot_general requires {side} {what} dimensions to be distinct, got {side}_{what} {dims}.")
    if set(batch) & set(contract):
        raise TypeError(f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, "
                        f"got {side}_batch {batch} and {side}_contracting {contract}.")
    if kind_of(x.dtype) not in "biufc":
        raise TypeError(f"dot_general requires numbers or bools, got {side} of dtype {dtypes.long_name(x.dtype)}.")


def _result_shape(left: Ints, right: Ints, numbers: Numbers) -> Ints:
    (lc, rc), (lb, rb) = numbers
    return (*(left[d] for d in lb), *without(left, (*lc, *lb)), *without(right, (*rc, *rb)))


# Products of two dtypes have the one of the widest range, as in JAX; numjet.numpy's functions promote before.
_BY_RANGE = (np.dtype(np.bool_), *(np.dtype(f"{kind}{size}") for size in (1, 2, 4, 8) for kind in "ui"),
             dtypes.float4_e2m1fn, dtypes.float8_e3m4, dtypes.float8_e4m3b11fnuz, dtypes.float8_e4m3, dtypes.float8_e4m3fnuz,
             dtypes.float8_e4m3fn, dtypes.float8_e5m2, dtypes.float8_e5m2fnuz, dtypes.float16, dtypes.float8_e8m0fnu,
             dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
_AS_WIDE = ({dtypes.float8_e4m3, dtypes.float8_e4m3fnuz}, {dtypes.float8_e5m2, dtypes.float8_e5m2fnuz})


def _joined(x: np.dtype, y: np.dtype) -> np.dtype:
    """The dtype of products of two dtypes: the wider one, and of integers of one width the signed one."""
    if x == y:
        return x
    if {x, y} in _AS_WIDE or not (x in _BY_RANGE or y in _BY_RANGE):
        return dtypes.common_dtype(x, y)
    return max(x, y, key=lambda d: _BY_RANGE.index(d) if d in _BY_RANGE else -1)


def result_dtype(x: np.dtype, y: np.dtype, preferred: np.dtype | None) -> np.dtype:
    """The preferred dtype, else the wider one of the operands'; TypeError for narrower integers."""
    natural = _joined(x, y)
    if preferred is None:
        return natural
    if kind_of(natural) in "iu" and preferred.itemsize < natural.itemsize:
        raise TypeError("dot_general: `preferred_element_type` must not be narrower than the original type, got "
                        f"preferred_element_type of {preferred.name} for result type of {natural.name}.")
    return preferred


def computed_in(x: np.dtype, y: np.dtype, preferred: np.dtype | None, precision: CanonicalPrecision) -> np.dtype:
    """The dtype in which products are formed and added: float32 at least for floats."""
    wide = _joined(x, y)
    if preferred is not None:
        wide = _joined(wide, preferred)
    if kind_of(wide) != "f":
        return wide
    asked = getattr(precision, "accumulation_type", None)
    if wide == dtypes.float64 or (asked is not None and np.dtype(asked) == dtypes.float64):
        return dtypes.float64
    return dtypes.float32


# -------------------------------------------------------------------------------------------- evaluation

def _eager(x: np.ndarray, y: np.ndarray, *, dimension_numbers: Numbers, precision: CanonicalPrecision = None,
           preferred_element_type: np.dtype | None = None) -> np.ndarray:
    (lc, rc), (lb, rb) = dimension_numbers
    wide = computed_in(x.dtype, y.dtype, preferred_element_type, precision)
    out_dtype = result_dtype(x.dtype, y.dtype, preferred_element_type)
    shape = _result_shape(x.shape, y.shape, dimension_numbers)
    lfree, rfree = without(range(x.ndim), (*lc, *lb)), without(range(y.ndim), (*rc, *rb))
    batch, k = [x.shape[d] for d in lb], prod(x.shape[d] for d in lc)
    left = x.transpose(*lb, *lfree, *lc).reshape(*batch, prod(x.shape[d] for d in lfree), k)
    right = y.transpose(*rb, *rc, *rfree).reshape(*batch, k, prod(y.shape[d] for d in rfree))
    out = _matmul(left, right, wide).reshape(shape)
    return out if out.dtype == out_dtype else lookup("convert_element_type").eager(
        out, new_dtype=out_dtype, weak_type=False)


def _matmul(x: np.ndarray, y: np.ndarray, wide: np.dtype) -> np.ndarray:
    k = x.shape[-1]
    # Small integers are multiplied as float64 by BLAS, exactly: |x| |y| k < 2**53.
    if kind_of(wide) in "iu" and max(x.itemsize, y.itemsize) <= 2 and k < 2**21:
        return np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.int64).astype(wide)
    if kind_of(wide) in "iu" and not dtypes.is_numpys(wide):
        return np.matmul(x.astype(np.int32), y.astype(np.int32)).astype(wide)
    x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    return _matmul_native(x, y) if wide.name in _NATIVE and _whole(x) and _whole(y) else np.matmul(x, y)


def _whole(x: np.ndarray) -> bool:
    """Not a field of records, whose neighbours may be any number of bytes apart."""
    return x.flags.aligned and all(s % x.itemsize == 0 for s in x.strides)


def _matmul_native(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Products of arrays with equal batch axes by the kernel of compiled programs, on all threads."""
    *batch, m, k = x.shape
    n, size = y.shape[-1], prod(batch)
    out = np.empty((size, m, n), x.dtype)
    _native.multiply_matrices(x.reshape(size, m, k), y.reshape(size, k, n), out)
    return out.reshape(*batch, m, n)


def _cpu(b: Any, x: Any, y: Any, *, dimension_numbers: Numbers, precision: CanonicalPrecision = None,
         preferred_element_type: np.dtype | None = None) -> Any:
    contract, batch = dimension_numbers
    wide = computed_in(x.dtype, y.dtype, preferred_element_type, precision)
    out_dtype = result_dtype(x.dtype, y.dtype, preferred_element_type)
    if wide.kind == "b":
        counts = b.dot(converted(b, x, np.int32), converted(b, y, np.int32), contract, batch, np.dtype(np.int32))
        return b.elementwise(lambda v: b.compare("ne", v, b.const(0, np.int32)), counts, dtype=np.bool_)
    if x.dtype != y.dtype or not _widens(x.dtype, wide):
        x, y = converted(b, x, wide), converted(b, y, wide)
    return converted(b, b.dot(x, y, contract, batch, wide), out_dtype)


def _widens(narrow: np.dtype, wide: np.dtype) -> bool:
    """Whether b.dot takes operands of `narrow` to accumulate them in `wide`."""
    return narrow == wide or (kind_of(narrow), kind_of(wide)) in (("f", "f"), ("i", "i"), ("u", "u"))


def _hlo(b: Any, x: Any, y: Any, *, dimension_numbers: Numbers, precision: CanonicalPrecision = None,
         preferred_element_type: np.dtype | None = None) -> Any:
    """Narrow operands are multiplied as they are, and summed in the wide dtype of the result."""
    (lc, rc), (lb, rb) = dimension_numbers
    wide = computed_in(x.dtype, y.dtype, preferred_element_type, precision)
    out_dtype = result_dtype(x.dtype, y.dtype, preferred_element_type)
    counted = wide if wide.kind != "b" and dtypes.is_numpys(wide) else np.dtype(np.int32)
    if x.dtype != y.dtype or not _widens(x.dtype, counted) or counted == dtypes.float64 or dtypes.itemsize_bits(x.dtype) < 8:
        x, y = b.convert(x, counted), b.convert(y, counted)
    lists = {"lhs_batching_dimensions": lb, "rhs_batching_dimensions": rb, "lhs_contracting_dimensions": lc,
             "rhs_contracting_dimensions": rc}
    numbers = f"#stablehlo.dot<{', '.join(f'{k} = {list(v)}' for k, v in lists.items())}>"
    out = b.op("stablehlo.dot_general", [x, y], ShapedArray(_result_shape(x.shape, y.shape, dimension_numbers), counted),
               attrs={"dot_dimension_numbers": numbers, **dot_algorithms.precision_attributes(precision, x.dtype, b.platform)})
    return b.convert(out, out_dtype)


# -------------------------------------------------------------------------------------------- transformations

def _transpose(ct: Any, x: Any, y: Any, *, dimension_numbers: Numbers, precision: CanonicalPrecision = None,
               preferred_element_type: np.dtype | None = None) -> list[Any]:
    (lc, rc), (lb, rb) = dimension_numbers
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    left = x.aval if isinstance(x, Undefined) else aval_of(x)
    n, free = len(lb), left.ndim - len(lc) - len(lb)
    if isinstance(x, Undefined):
        out_free = tuple(range(n + free, aval_of(ct).ndim))
        return [_transpose_side(ct, y, x.aval, (lc, lb), (rc, rb), out_free, options), None]
    return [None, _transpose_side(ct, x, y.aval, (rc, rb), (lc, lb), tuple(range(n, n + free)), options)]


def _transpose_side(ct: Any, other: Any, aval: ShapedArray, own: tuple[Ints, Ints], others: tuple[Ints, Ints],
                    out_free: Ints, options: dict[str, Any]) -> Any:
    """ct contracted with the other operand along that one's free axes, then its axes put where the operand has them."""
    (contract, batch), (other_contract, other_batch) = own, others
    other_free = without(range(aval_of(other).ndim), (*other_contract, *other_batch))
    numbers = ((out_free, other_free), (tuple(range(len(batch))), other_batch))
    out = dot_general_p.bind(ct, other, dimension_numbers=numbers, **options)
    # Its axes: batch, own free, then the contracted ones in the order that they have in the other operand.
    partner = dict(zip(other_contract, contract, strict=True))
    layout = (*batch, *without(range(aval.ndim), (*contract, *batch)), *(partner[d] for d in sorted(other_contract)))
    return as_dtype(transpose(out, tuple(layout.index(d) for d in range(aval.ndim))), aval.dtype)


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: Numbers,
           **params: Any) -> tuple[Any, int]:
    (x, y), (dx, dy) = args, dims
    (lc, rc), (lb, rb) = dimension_numbers
    if dx is not None:
        lc, lb = shift(lc, dx), shift(lb, dx)
    if dy is not None:
        rc, rb = shift(rc, dy), shift(rb, dy)
    if dx is not None and dy is not None:
        numbers, out_dim = ((lc, rc), ((dx, *lb), (dy, *rb))), 0
    else:  # the batch axis is one more free axis of the operand that has it
        numbers = ((lc, rc), (lb, rb))
        before = sum(d < dx for d in without(range(aval_of(x).ndim), (*lc, *lb))) if dx is not None else (
            aval_of(x).ndim - len(lc) - len(lb) + sum(d < dy for d in without(range(aval_of(y).ndim), (*rc, *rb))))
        out_dim = len(lb) + before
    return dot_general_p.bind(x, y, dimension_numbers=numbers, **params), out_dim


_CASES: list[tuple[Ints, Ints, Numbers]] = [
    ((3, 4), (4, 2), (((1,), (0,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((), (3,), (((), ()), ((), ()))),
    ((2, 3, 4), (5, 4, 2), (((2,), (1,)), ((0,), (2,)))),
    ((2, 3, 4), (4, 3, 2), (((1, 2), (1, 0)), ((), ()))),
    ((3, 2, 2, 4), (2, 4, 3, 2), (((3,), (1,)), ((2, 0), (0, 2)))),
    ((0, 4), (4, 2), (((1,), (0,)), ((), ()))),
    ((3, 0), (0, 2), (((1,), (0,)), ((), ()))),
    ((3, 2), (4,), (((), ()), ((), ()))),
    ((9, 20), (20, 5), (((1,), (0,)), ((), ()))),
    ((3, 7, 20), (3, 6, 20), (((2,), (2,)), ((0,), (0,)))),
    ((40, 6), (40,), (((0,), (0,)), ((), ()))),
]


def _samples() -> Samples:
    return Samples(
        shapes=[[x, y] for x, y, _ in _CASES], low=-4, high=4, ulps=32,
        params=[{"dimension_numbers": n, "precision": None, "preferred_element_type": None} for _, _, n in _CASES],
        dtypes=("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool", "complex64",
                ("bfloat16", "float32")))


def _times_one(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """A product that contracts nothing, with the number 1, as reverse mode begins with."""
    contract, batch = eqn.params["dimension_numbers"]
    if any((*contract, *batch)):
        return None
    known = lambda a: a.aval.ndim == 0 and is_number(splat(a, producer), 1, eqn.outvars[0].aval.dtype)
    return next((x for one, x in (eqn.invars, eqn.invars[::-1]) if known(one)), None)


dot_general_p: Op = Op(
    name="dot_general", params=("dimension_numbers", "precision", "preferred_element_type"),
    abstract=_abstract, eager=_eager, jvp=bilinear(lambda: dot_general_p), transpose=_transpose, batch=_batch,
    cpu=_cpu, hlo=_hlo, linear_in=((0,), (1,)), traits=LANES | CONTRACTS, rewrites=_times_one,
    printing=PrintingRule(implied={"precision": None}, lists=frozenset({"dimension_numbers"})), samples=_samples())


# -------------------------------------------------------------------------------------------- public functions

def _as_numbers(numbers: Any) -> Numbers:
    try:
        (lc, rc), (lb, rb) = (tuple(tuple(map(operator.index, dims)) for dims in pair) for pair in numbers)
    except (TypeError, ValueError):
        raise TypeError("dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), "
                        f"sequences of axis numbers, got {numbers!r}") from None
    return (lc, rc), (lb, rb)


def check_left_sums(out_sharding: Any, contracted: Sequence[tuple[Any, Sequence[int]]]) -> None:
    """ShardingTypeError unless the sums that a product leaves to be made, by its out_sharding, are those over the divided
    dimensions that it contracts. contracted: both operands, and which of their dimensions these are."""
    spec = getattr(out_sharding, "spec", out_sharding)
    if getattr(spec, "unreduced", None):
        sharding.check_sums(spec, [[explicit.parts(aval_of(x))[d] for d in dims] for x, dims in contracted])


def dot_general(lhs: Any, rhs: Any, dimension_numbers: DotDimensionNumbers, precision: Any = None,
                preferred_element_type: Any = None, *, out_sharding: Any = None) -> Any:
    """Sums products of elements of two arrays over contracting axes, for each index of batch axes.

    dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), axes as they correspond.
    The result has the batch axes, then the other axes of lhs, then those of rhs. Its dtype is preferred_element_type,
    or the wider one of the operands'. float16 and bfloat16 accumulate in float32, integers wrap, for bools
    "and" and "or" take the place of product and sum. precision: see lax.Precision.

    TypeError when the axes don't fit, or preferred_element_type is narrower than integer operands.

    >>> dot_general(np.eye(2, dtype=np.float32), np.array([1, 2], np.float32), (((1,), (0,)), ((), ()))).tolist()
    [1.0, 2.0]
    """
    if out_sharding is not None:
        check_left_sums(out_sharding, ((lhs, dimension_numbers[0][0]), (rhs, dimension_numbers[0][1])))
        return divided("dot_general", lambda x, y: dot_general(x, y, dimension_numbers, precision, preferred_element_type),
                       out_sharding, lhs, rhs)
    (lc, rc), (lb, rb) = _as_numbers(dimension_numbers)
    preferred = None if preferred_element_type is None else dtypes.canonicalize_dtype(preferred_element_type)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=((lc, rc), (lb, rb)),
                              precision=canonicalize_precision(precision), preferred_element_type=preferred)


def dot(lhs: Any, rhs: Any, *, dimension_numbers: DotDimensionNumbers | None = None, precision: Any = None,
        preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """The product of matrices or vectors; with `dimension_numbers`, dot_general.

    ValueError when the operands are not of rank 1 or 2, or their sizes differ.

    >>> dot(np.array([[1, 2], [3, 4]], np.int32), np.array([1, 1], np.int32)).tolist()
    [3, 7]
    """
    if dimension_numbers is None:
        left, right = aval_of(lhs).shape, aval_of(rhs).shape
        if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
            raise ValueError("lax.dot: dimension_numbers must be specified when not performing simple un-batched "
                             "matrix-matrix, matrix-vector, or vector-vector products; "
                             f"got lhs_shape={left} rhs_shape={right}")
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Products of the matrices in the last two axes, for each index of the axes before, which must be equal.

    ValueError for arrays of different or less than two axes.

    >>> batch_matmul(np.ones((5, 2, 3), np.float32), np.ones((5, 3, 4), np.float32)).shape
    (5, 2, 4)
    """
    left, right = aval_of(lhs).ndim, aval_of(rhs).ndim
    if min(left, right) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {left}, {right}")
    if left != right:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {left}, {right}")
    batch = tuple(range(left - 2))
    return dot_general(lhs, rhs, (((left - 1,), (left - 2,)), (batch, batch)), precision)
