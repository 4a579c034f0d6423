"""Comparisons, choices between values, and neighbours of floats."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, by, counts, hull, intersection, plus
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import SCALARS, ZERO, Missing, Op, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import CHEAP, EXACT
from numjet.foundation import dtypes, lazy_import
from numjet.lax.elementwise.arithmetic import add_p, mul_p
from numjet.lax.elementwise.bitwise import and_p, not_p, or_p
from numjet.lax.operands import (
    BINARY_SHAPES,
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    UNSIGNED_OF,
    binary,
    full_rank,
    same_dtype,
    scalar,
    where,
)
from numjet.lax.rewrites import Producer, Rule
from numjet.lax.tangent import instantiate, no_tangent
from numjet.lax.templates import FLOAT, Joint, broadcast_shapes, call, elementwise, kind_of, promote_scalars

cx = lazy_import.Functions("numjet.lax.elementwise.complex_rules")

_BOOL = np.dtype(np.bool_)
_COMPARED = ("bool", *FLOATS, *INTS)


def _no_transpose(name: str) -> Missing:
    return Missing(f"{name} has no derivative")


# ------------------------------------------------------------------------------------------------ comparisons

_Verdict = Callable[[Interval, Interval], bool]
# By comparison: whether it holds, and whether it fails, for all numbers of two intervals.
_DECIDED: dict[str, tuple[_Verdict, _Verdict]] = {
    "lt": (lambda x, y: x[1] < y[0], lambda x, y: x[0] >= y[1]), "le": (lambda x, y: x[1] <= y[0], lambda x, y: x[0] > y[1]),
    "gt": (lambda x, y: x[0] > y[1], lambda x, y: x[1] <= y[0]), "ge": (lambda x, y: x[0] >= y[1], lambda x, y: x[1] < y[0]),
    "eq": (lambda x, y: x[0] == x[1] == y[0] == y[1], lambda x, y: intersection(x, y) is None),
    "ne": (lambda x, y: intersection(x, y) is None, lambda x, y: x[0] == x[1] == y[0] == y[1]),
}


def _verdict(name: str) -> Any:
    """The interval of a comparison."""
    holds, fails = _DECIDED[name]

    def rule(eqn: JaxprEqn, known: Facts) -> Interval:
        if not all(counts(a.aval.dtype) for a in eqn.invars):
            return 0, 1
        x, y = map(known.interval, eqn.invars)
        return int(holds(x, y)), int(not fails(x, y))
    return rule


def _comparison(name: str, fn: Any, accepts: str = "biuf", samples: tuple[Any, ...] = _COMPARED) -> Any:
    def eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if dtypes.is_key(x.dtype):
            same = (dtypes.key_words(x) == dtypes.key_words(y)).all(-1)
            return same if name == "eq" else ~same
        return fn(x, y)

    return elementwise(name, nargs=2, accepts=accepts, result=_BOOL, eager=eager, jvp=ZERO,
                       cpu=lambda b, x, y: b.compare(name, x, y), hlo=SCALARS,
                       transpose=_no_transpose(name), traits=EXACT | CHEAP, function=name, interval=_verdict(name),
                       samples=Samples(shapes=BINARY_SHAPES, dtypes=samples, order=0, ulps=0))


eq_p: Op = _comparison("eq", np.equal, "biufcV", ("bool", *NUMBERS))
ne_p: Op = _comparison("ne", np.not_equal, "biufcV", ("bool", *NUMBERS))
lt_p: Op = _comparison("lt", np.less)
le_p: Op = _comparison("le", np.less_equal)
gt_p: Op = _comparison("gt", np.greater)
ge_p: Op = _comparison("ge", np.greater_equal)
_COMPARISONS = frozenset((eq_p, ne_p, lt_p, le_p, gt_p, ge_p))


def eq(x: Any, y: Any) -> Any:
    """x == y elementwise, as bool; operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    NaN differs from everything.

    >>> eq(1, 1)
    Array(True, dtype=bool)
    """
    return binary(eq_p, x, y)


def ne(x: Any, y: Any) -> Any:
    """x != y elementwise, as bool; operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> ne(1, 1)
    Array(False, dtype=bool)
    """
    return binary(ne_p, x, y)


def lt(x: Any, y: Any) -> Any:
    """x < y elementwise, as bool; real operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> lt(1, 2)
    Array(True, dtype=bool)
    """
    return binary(lt_p, x, y)


def le(x: Any, y: Any) -> Any:
    """x <= y elementwise, as bool; real operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> le(2, 2)
    Array(True, dtype=bool)
    """
    return binary(le_p, x, y)


def gt(x: Any, y: Any) -> Any:
    """x > y elementwise, as bool; real operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> gt(1, 2)
    Array(False, dtype=bool)
    """
    return binary(gt_p, x, y)


def ge(x: Any, y: Any) -> Any:
    """x >= y elementwise, as bool; real operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> ge(2, 2)
    Array(True, dtype=bool)
    """
    return binary(ge_p, x, y)


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Signed integers that are ordered as IEEE 754 orders all floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    if kind_of(x.dtype) != "f":
        return x
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).reshape(x.shape).view(signed)
    return bits ^ ((bits >> signed.type(8 * signed.itemsize - 1)) & np.iinfo(signed).max)


def _total_order(name: str, fn: Any, comparison: str) -> Any:
    def cpu(b: Any, x: Any, y: Any) -> Any:
        return b.compare(comparison, _key(b, x), _key(b, y))

    return elementwise(name, nargs=2, accepts="biuf", result=_BOOL, jvp=ZERO, cpu=cpu, hlo=SCALARS,
                       eager=lambda x, y: fn(total_order_key(x), total_order_key(y)), transpose=_no_transpose(name),
                       traits=EXACT, samples=Samples(shapes=BINARY_SHAPES, dtypes=_COMPARED, order=0, ulps=0))


def _key(b: Any, x: Any) -> Any:
    if kind_of(x.dtype) != "f":
        return x
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = b.bitcast(x, signed)
    mask = b.prim("shra", bits, b.const(8 * signed.itemsize - 1, signed))
    return b.prim("xor", bits, b.prim("and", mask, b.const(np.iinfo(signed).max, signed)))


eq_to_p: Op = _total_order("eq_to", np.equal, "eq")
le_to_p: Op = _total_order("le_to", np.less_equal, "le")
lt_to_p: Op = _total_order("lt_to", np.less, "lt")

is_finite_p: Op = elementwise(
    "is_finite", accepts=FLOAT, result=_BOOL, eager=np.isfinite, jvp=ZERO, transpose=_no_transpose("is_finite"),
    cpu=lambda b, x: b.prim("is_finite", x), hlo="stablehlo.is_finite", traits=EXACT, function="is_finite",
    samples=Samples(shapes=((), (3,), (0,), (2, 1, 3)), dtypes=FLOATS, order=0, ulps=0))


def is_finite(x: Any) -> Any:
    """Whether a float is neither infinite nor NaN, as bool.

    >>> is_finite(float("inf"))
    Array(False, dtype=bool)
    """
    return is_finite_p(x)


# ------------------------------------------------------------------------------------------------ extrema

def _share(out: Any, x: Any, y: Any) -> Any:
    """The share of x in a tangent: 1 where x is the result, 1/2 where y is the result, too."""
    dtype = aval_of(out).dtype
    tie = where(eq_p.bind(y, out), scalar(0.5, dtype), scalar(1, dtype))
    return where(eq_p.bind(x, out), tie, 0)


_EXTREMUM_RULES = (lambda t, out, x, y: mul_p.bind(t, _share(out, x, y)),
                   lambda t, out, x, y: mul_p.bind(t, _share(out, y, x)))


def _known_extremum(least: bool) -> Rule:
    """min(x, y) = x where no element of x is above any of y."""
    def rule(eqn: JaxprEqn, producer: Producer) -> Atom | None:
        x, y = eqn.invars
        if not counts(x.aval.dtype):
            return None
        for a, b in ((x, y), (y, x)):
            (low, high), (other_low, other_high) = producer.interval(a), producer.interval(b)
            if a.aval.shape == eqn.outvars[0].aval.shape and (high <= other_low if least else low >= other_high):
                return a
        return None
    return rule


def _extremum(name: str, fn: Any, boolean: str, complex_rule: Any) -> Any:
    def cpu(b: Any, x: Any, y: Any) -> Any:
        if x.dtype.kind == "c":
            return complex_rule(b, x, y)
        return b.prim(boolean if x.dtype == _BOOL else name, x, y)

    return elementwise(name, nargs=2, accepts="biufc", eager=same_dtype(fn), jvp=_EXTREMUM_RULES, cpu=cpu,
                       hlo=SCALARS, traits=EXACT | CHEAP, function=name, rewrites=_known_extremum(name == "min"),
                       interval=by(lambda x, y: tuple(map(builtins.min if name == "min" else builtins.max, x, y))),
                       samples=Samples(shapes=BINARY_SHAPES, dtypes=("bool", *NUMBERS), ulps=0))


max_p: Op = _extremum("max", np.maximum, "or", cx.larger)
min_p: Op = _extremum("min", np.minimum, "and", cx.smaller)


def max(x: Any, y: Any) -> Any:
    """The larger of x and y, of equal dtype and shape; NaN when one is NaN; complex numbers lexicographically.

    At ties each operand gets half of the derivative.

    >>> max(1, 2)
    Array(2, dtype=int32, weak_type=True)
    """
    return binary(max_p, x, y)


def min(x: Any, y: Any) -> Any:
    """The smaller of x and y, of equal dtype and shape; NaN when one is NaN; complex numbers lexicographically.

    At ties each operand gets half of the derivative.

    >>> min(1, 2)
    Array(1, dtype=int32, weak_type=True)
    """
    return binary(min_p, x, y)


# ------------------------------------------------------------------------------------------------ clamp

def _masked(t: Any, mask: Any) -> Any:
    """t where mask holds, else 0, with t broadcast to the mask's shape."""
    return where(mask, full_rank(t, aval_of(mask)) if aval_of(mask).ndim else t, 0)


def _clamp_jvp_x(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    return _masked(t, and_p(gt_p.bind(x, low), lt_p.bind(x, high)))


def _clamp_jvp_low(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    return _masked(t, and_p(gt_p.bind(low, x), lt_p.bind(low, high)))


def _clamp_jvp_high(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    return _masked(t, or_p(lt_p.bind(high, x), lt_p.bind(high, low)))


def _clamp_operands(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    """Limits that do not cross."""
    shapes = shapes if isinstance(shapes, list) else [shapes] * 3
    ranges = ((0, 0.9), (0, 3), (1, 3)) if kind_of(np.dtype(dtype)) in "bu" else ((-2, -0.5), (-2, 2), (0.5, 2))
    return [np.asarray(rng.uniform(*r, s)).astype(dtype) for r, s in zip(ranges, shapes, strict=True)]


def _clamped(low: Interval, x: Interval, high: Interval) -> Interval:
    """The interval of x, limited to numbers that are in intervals themselves."""
    return builtins.min(builtins.max(x[0], low[0]), high[0]), builtins.min(builtins.max(x[1], low[1]), high[1])


def _known_clamp(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """clamp(low, x, high) = x for integers that are within the limits."""
    low, x, high = eqn.invars
    inside = counts(x.aval.dtype) and producer.within(x, producer.interval(low)[1], producer.interval(high)[0])
    return x if inside and x.aval.shape == eqn.outvars[0].aval.shape else None


clamp_p: Op = elementwise(
    "clamp", nargs=3, accepts="biuf",
    eager=lambda low, x, high: np.minimum(np.maximum(x, low), high).astype(x.dtype, copy=False),
    jvp=(_clamp_jvp_low, _clamp_jvp_x, _clamp_jvp_high),
    cpu=lambda b, low, x, high: min_p.cpu(b, max_p.cpu(b, x, low), high), hlo="stablehlo.clamp", traits=EXACT | CHEAP,
    rewrites=_known_clamp, interval=by(_clamped),
    samples=Samples(shapes=((), (3,), (0, 2), (2, 3, 4), [(), (3,), ()], [(), (2, 2), (2, 2)], [(3,), (3,), ()]),
                    dtypes=(*FLOATS, "int32", "uint8", "bool"), ulps=0, make=_clamp_operands))


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x limited to the interval from `min` to `max` (`max` wins where they cross), NaN stays NaN.

    The limits are scalars or have the shape of x. TypeError for other shapes and for unequal dtypes. Complex numbers are
    ordered by their real parts, then by the imaginary ones.

    >>> clamp(0., 1.5, 1.)
    Array(1., dtype=float32, weak_type=True)
    """
    shape = aval_of(x).shape
    for name, limit in (("min", min), ("max", max)):
        if aval_of(limit).shape not in ((), shape):
            raise TypeError(f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                            f"{name}.shape={aval_of(limit).shape}, operand.shape={shape}.")
    if aval_of(x).dtype.kind == "c":
        return min_p(max_p(x, min), max)
    return clamp_p(min, x, max)


# ------------------------------------------------------------------------------------------------ select

def _select_abstract(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError("select_n() must have at least one case")
    kind = kind_of(which.dtype)
    if kind not in "biu":
        raise TypeError(f"select `which` must be boolean or of integers, got {which.dtype.name}.")
    if kind == "b" and len(cases) > 2:
        raise TypeError(f"select with boolean `which` cannot have > 2 cases, got {len(cases)}.")
    if any(c.dtype != cases[0].dtype for c in cases):
        raise TypeError(f"select cases must have the same dtypes, got [{', '.join(c.dtype.name for c in cases)}]")
    shape = broadcast_shapes("select_n", [which.shape, *[c.shape for c in cases]])
    return ShapedArray(shape, cases[0].dtype, all(c.weak_type for c in cases))


def _select_eager(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if len(cases) == 1:
        return np.broadcast_to(cases[0], np.broadcast_shapes(which.shape, cases[0].shape))
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        out = np.where(which if which.dtype == _BOOL else which >= i, case, out)
    return out


def _select_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    if all(type(t) is Zero for t in tangents[1:]):
        return out, no_tangent(out)
    return out, select_n_p.bind(which, *[instantiate(t) for t in tangents[1:]])


def _select_transpose(ct: Any, which: Any, *cases: Any) -> tuple[Any, ...]:
    zero = scalar(0, aval_of(ct).dtype)

    def own(i: int) -> Any:
        return select_n_p.bind(which, *[ct if j == i else zero for j in range(len(cases))])

    return None, *[own(i) if isinstance(c, Undefined) else None for i, c in enumerate(cases)]


def _select_whole(args: Sequence[Any]) -> list[Any]:
    """The operands with cases of equal shapes."""
    shapes = [aval_of(x).shape for x in args]
    target = next((s for s in shapes if s), ())
    return [args[0], *(x if s == target else call("broadcast_in_dim", x, shape=target, broadcast_dimensions=())
                       for x, s in zip(args[1:], shapes[1:], strict=True))]


def _select_prepare(op: Any, args: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    which, *cases = args
    return [which, *promote_scalars(op, cases, {})[0]], params


def _select_cpu(b: Any, which: Any, *cases: Any) -> Any:
    if which.dtype != _BOOL:
        cases = cases[:int(dtypes.iinfo(which.dtype).max) + 1]  # the others have no number in this dtype
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        chosen = which if which.dtype == _BOOL else b.compare("ge", which, b.const(i, which.dtype))
        out = b.select(chosen, case, out)
    return out


def _select_operands(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    shapes = shapes if isinstance(shapes, list) else [shapes] * 3
    cases = [np.asarray(rng.uniform(-2, 2, s)).astype(dtype) for s in shapes[1:]]
    return [np.asarray(rng.integers(0, 2, shapes[0])).astype(bool), *cases]


def _known_choice(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """A choice that is known, or between one value and itself."""
    which, *cases = eqn.invars
    if all(c is cases[0] for c in cases):
        return cases[0]
    low, high = producer.interval(which)
    value = builtins.min(builtins.max(low, 0), len(cases) - 1)
    chosen = cases[int(value)] if low == high or low >= len(cases) - 1 or high <= 0 else None
    return chosen if chosen is not None and chosen.aval.shape == eqn.outvars[0].aval.shape else None


_AFTER = {"lt": (-inf, -1), "le": (-inf, 0), "gt": (1, inf), "ge": (0, inf), "eq": (0, 0)}   # x - y where x < y holds, ...
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def implied(x: Atom, which: Atom, truth: bool, known: Facts) -> Interval:
    """What x is within where a condition on it has a value."""
    eqn = known(which)
    if eqn is None:
        return -inf, inf
    op = eqn.primitive
    if op is not_p:
        return implied(x, eqn.invars[0], not truth, known)
    if op is (and_p if truth else or_p):
        found = [implied(x, a, truth, known) for a in eqn.invars]
        return intersection(*found) or (-inf, inf)
    holds = op.name if truth else _OPPOSITE.get(op.name)
    if op not in _COMPARISONS or holds not in _AFTER:
        return -inf, inf
    a, b = eqn.invars
    difference = _AFTER[holds]
    if x is a:
        return plus(difference, known.interval(b))
    return plus((-difference[1], -difference[0]), known.interval(a)) if x is b else (-inf, inf)


def _case(case: Atom, which: Atom, truth: bool, known: Facts) -> Interval:
    """The interval of a case, where it is chosen: of x or x + y with a condition on x."""
    inside = intersection(known.interval(case), implied(case, which, truth, known))
    eqn = known(case)
    if inside is None or eqn is None or eqn.primitive is not add_p:
        return inside or _NEVER
    for x, y in (eqn.invars, eqn.invars[::-1]):
        part = intersection(known.interval(x), implied(x, which, truth, known))
        inside = intersection(inside, plus(part, known.interval(y))) if part and inside else None
    return inside or _NEVER


_NEVER = (inf, -inf)  # no number


def _chosen(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval around all cases, each within what the condition says. So an index that may count from the end, of which
    select_n(i < 0, i, i + n) makes one that does not, is from 0 to n - 1 if it is in bounds."""
    which, *cases = eqn.invars
    if which.aval.dtype != _BOOL or not counts(cases[0].aval.dtype):
        return hull(list(map(known.interval, cases)))
    found = [c for c in (_case(case, which, bool(k), known) for k, case in enumerate(cases)) if c is not _NEVER]
    return hull(found) if found else (-inf, inf)


select_n_p: Op = elementwise(
    "select_n", accepts="biufcV", abstract=_select_abstract, prepare=_select_prepare, eager=_select_eager,
    jvp=Joint(_select_jvp), transpose=_select_transpose, cpu=_select_cpu, whole=_select_whole,
    hlo=SCALARS, traits=EXACT | CHEAP, rewrites=_known_choice, interval=_chosen, function="select",
    samples=Samples(shapes=((), (3,), (0, 2), (2, 3, 4), [(), (2, 2), (2, 2)], [(3,), (3,), ()]),
                    dtypes=("bool", *FLOATS, "int32", *COMPLEXES), make=_select_operands, ulps=0))


def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], elementwise; `which` is bool (False: the first case) or of integers, clamped to the number of cases.

    which: a scalar, or of the shape of the cases, which have equal shapes and dtypes (else TypeError).

    >>> select_n(True, 1, 2)
    Array(2, dtype=int32, weak_type=True)
    """
    shapes = [aval_of(c).shape for c in cases]
    if any(s != shapes[0] for s in shapes):
        raise TypeError(f"select cases must have the same shapes, got [{', '.join(map(str, shapes))}].")
    if cases and aval_of(which).shape not in ((), shapes[0]):
        raise TypeError("select `which` must be scalar or have the same shape as cases, got `which` shape "
                        f"{aval_of(which).shape} but case shape {shapes[0]}.")
    return select_n_p(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred holds, else on_false; pred is a bool scalar or of the shape of the two others.

    >>> select(True, 1, 2)
    Array(1, dtype=int32, weak_type=True)
    """
    return select_n(pred, on_false, on_true)


# ------------------------------------------------------------------------------------------------ neighbours

def _half_nextafter(b: Any, x: Any, y: Any) -> Any:
    """On the bits, which count the floats of one sign in order of size."""
    bits = UNSIGNED_OF[x.dtype.itemsize]
    xb, yb = b.bitcast(x, bits), b.bitcast(y, bits)
    one = b.const(1, bits)
    sign = b.const(1 << (8 * bits.itemsize - 1), bits)
    x_zero = b.compare("eq", x, b.const(0, x.dtype))
    grows = b.compare("eq", b.compare("lt", x, y), b.compare("gt", x, b.const(0, x.dtype)))
    following = b.select(grows, b.add(xb, one), b.sub(xb, one))
    following = b.select(x_zero, b.prim("or", b.prim("and", yb, sign), one), following)
    result = b.bitcast(b.select(b.compare("eq", x, y), yb, following), x.dtype)
    return b.select(b.compare("ne", x, x), x, b.select(b.compare("ne", y, y), y, result))


nextafter_p: Op = elementwise(
    "nextafter", nargs=2, accepts=FLOAT, eager=lambda x, y: np.where(x == y, y, np.nextafter(x, y)), jvp=ZERO,
    transpose=_no_transpose("nextafter"),
    cpu=lambda b, x, y: b.math("nextafter", x, y) if x.dtype.itemsize > 2 else _half_nextafter(b, x, y),
    hlo="chlo.next_after",
    traits=EXACT, function="nextafter",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=FLOATS, ulps=0, order=0))


def nextafter(x1: Any, x2: Any) -> Any:
    """The float next to x1 in the direction of x2; x2 where they are equal.

    >>> nextafter(0., 1.) > 0
    Array(True, dtype=bool)
    """
    return binary(nextafter_p, x1, x2)
