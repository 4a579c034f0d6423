"""Selection by the greatest (or least) element of each window: the derivatives of windowed maxima and minima.

select_and_gather_add takes, per window, the element of one array where another array is greatest. Its transpose,
select_and_scatter_add, adds one value per window to that element. Of equal elements the first in row-major order is
selected, NaN counts as greatest (and as least), padding is never selected.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Op, Samples, Undefined, lookup
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, READS_ONCE
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, as_shape, row_major
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, windows_attribute
from numjet.lax.operands import at_least_float32, converted
from numjet.lax.reduction.argreduce import as_scalar
from numjet.lax.reduction.reduce import highest, lowest
from numjet.lax.reduction.window import PARAMS, batched_params, reduce_windows, samples_params, windows_of
from numjet.lax.reduction.window_shapes import Pads, Windows, as_pads, check_windows, padtype_to_pads
from numjet.lax.shape.join import choose
from numjet.lax.tangent import linear_in_first, zeros_like_aval
from numjet.lax.templates import broadcast_batch, kind_of

_INT64 = np.dtype(np.int64)
_FLAT = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))


def _check(name: str, x: ShapedArray, values: ShapedArray, select_prim: str, windows: Windows) -> None:
    if select_prim not in ("ge", "le"):
        raise TypeError(f"{name} selects by 'ge' or 'le', got {select_prim!r}.")
    if kind_of(x.dtype) not in "iuf":
        raise TypeError(f"{name} selects among real numbers, got an operand of dtype {dtypes.long_name(x.dtype)}.")
    if x.dtype != values.dtype:
        raise TypeError(f"{name} requires operands of equal dtypes, got {x.dtype.name} and {values.dtype.name}.")
    check_windows(name, windows)


def _selected(x: np.ndarray, windows: Windows, select_prim: str) -> tuple[np.ndarray, np.ndarray]:
    """Per window the flat position in x of the selected element, and whether there is one."""
    fill = lowest(x.dtype) if select_prim == "ge" else highest(x.dtype)
    rank = 2 * x.ndim
    flat = lambda v: v.reshape(*windows.counts, prod(windows.sizes)) if rank else v.reshape(1)
    seen = flat(windows.view(x, fill))
    positions = flat(windows.view(np.arange(x.size).reshape(x.shape), -1))
    reducer = np.maximum if select_prim == "ge" else np.minimum
    with np.errstate(all="ignore"):
        best = reducer.reduce(seen, axis=-1, initial=x.dtype.type(fill), keepdims=True)
        wins = ((seen == best) | (seen != seen)) & (positions >= 0)
    first = np.argmax(wins, axis=-1)[..., None]
    found = np.take_along_axis(wins, first, -1)[..., 0]
    return np.where(found, np.take_along_axis(positions, first, -1)[..., 0], 0), found


def _selected_cpu(b: Any, x: Any, windows: Windows, select_prim: str) -> Any:
    """Per window the flat position of the selected element, -1 where all is padding."""
    if 0 in x.shape:
        return b.compute(windows.counts, _INT64, lambda *i: b.const(-1, _INT64))
    x = b.materialize(x)
    better = "gt" if select_prim == "ge" else "lt"
    start = b.const(lowest(x.dtype) if better == "gt" else highest(x.dtype), x.dtype)
    nowhere = b.const(-1, _INT64)

    def step(i: Sequence[Any], r: Sequence[Any], best: Any, at: Any) -> list[Any]:
        inside, index = windows.locate(b, i, r)
        value = choose(b, inside, lambda: b.read(x, *index), lambda: start)
        flat = as_scalar(b, row_major(x.shape, index), _INT64)
        # The first element inside is taken whatever it is, and NaN once, over what is not NaN.
        wins = b.prim("or", b.compare(better, value, best), b.compare("lt", at, b.const(0, _INT64)))
        if kind_of(x.dtype) == "f":
            wins = b.prim("or", wins, b.prim("and", b.compare("ne", value, value), b.compare("eq", best, best)))
        if inside is not True:
            wins = b.prim("and", wins, b.const(bool(inside), np.bool_) if isinstance(inside, bool) else inside)
        return [b.select(wins, value, best), b.select(wins, flat, at)]
    return b.fold(windows.counts, windows.sizes, [start, nowhere], step)[1]


def _selected_hlo(b: Any, x: Any, others: Sequence[Any], windows: Windows, select_prim: str) -> list[Any]:
    """The elements of `others` where x is selected, and their flat positions; zeros and -1 where all is padding.

    Positions decide between equal elements, so that the order in which elements are compared does not matter.
    """
    count = prod(x.shape)
    kind = np.dtype(np.int32 if count < 2**31 else np.int64)
    positions = b.reshape(b.iota((count,), 0, kind), x.shape)
    xs = [x, positions, *others]
    values = [lowest(x.dtype) if select_prim == "ge" else highest(x.dtype), np.asarray(-1, kind), *[0 for _ in others]]
    inits = [b.constant(np.asarray(v).astype(a.dtype)) for v, a in zip(values, xs, strict=True)]
    better = "gt" if select_prim == "ge" else "lt"

    def select(*pair: Any) -> list[Any]:
        (u, i, *us), (v, j, *vs) = pair[:len(xs)], pair[len(xs):]
        none = b.constant(-1, kind)
        either, both = (lambda p, q: b.binary("or", p, q)), (lambda p, q: b.binary("and", p, q))
        wins, ties = b.compare(better, v, u), b.compare("eq", v, u)
        if kind_of(x.dtype) == "f":
            u_nan, v_nan = b.compare("ne", u, u), b.compare("ne", v, v)
            wins = either(both(wins, b.unary("not", u_nan)), both(v_nan, b.unary("not", u_nan)))
            ties = either(ties, both(u_nan, v_nan))
        wins = either(wins, both(ties, b.compare("lt", j, i)))
        wins = both(b.compare("ne", j, none), either(wins, b.compare("eq", i, none)))
        return [b.select(wins, new, old) for old, new in zip((u, i, *us), (v, j, *vs), strict=True)]
    scalars = [ShapedArray((), a.dtype) for a in xs]
    body = b.region([*scalars, *scalars], select, isolated=True)
    return reduce_windows(b, xs, inits, windows, body)[1:]


# -------------------------------------------------------------------------------------------- gather

def _gather_abstract(values: ShapedArray, x: ShapedArray, *, select_prim: str, **params: Any) -> ShapedArray:
    windows = windows_of(x.shape, params)
    _check("select_and_gather_add", x, values, select_prim, windows)
    if values.shape != x.shape:
        raise TypeError("select_and_gather_add tangents and operand shapes must match, "
                        f"got {values.shape} and {x.shape}.")
    return values.update(shape=windows.counts)


def _gather_eager(values: np.ndarray, x: np.ndarray, *, select_prim: str, **params: Any) -> np.ndarray:
    at, found = _selected(x, windows_of(x.shape, params), select_prim)
    if not x.size:
        return np.zeros(at.shape, x.dtype)
    return np.where(found, values.reshape(-1)[at], np.zeros((), x.dtype)).reshape(windows_of(x.shape, params).counts)


def _gather_cpu(b: Any, values: Any, x: Any, *, select_prim: str, **params: Any) -> Any:
    windows = windows_of(x.shape, params)
    zero = b.const(0, x.dtype)
    if 0 in x.shape:
        return b.compute(windows.counts, x.dtype, lambda *i: zero)
    at, flat = _selected_cpu(b, x, windows, select_prim), b.reshape(b.materialize(values), (prod(x.shape),))

    def element(*i: Any) -> Any:
        position = b.read(at, *i)
        return b.if_(b.compare("ge", position, b.const(0, _INT64)), lambda: b.read(flat, position), lambda: zero)
    return b.compute(windows.counts, x.dtype, element, reads=(at, flat))


def _gather_hlo(b: Any, values: Any, x: Any, *, select_prim: str, **params: Any) -> Any:
    return _selected_hlo(b, x, [values], windows_of(x.shape, params), select_prim)[1]


def _batch(name: str) -> Any:
    def rule(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, int]:
        operands = [broadcast_batch(x, d, size) for x, d in zip(args, dims, strict=True)]
        return lookup(name).bind(*operands, **batched_params(params, 0)), 0
    return rule


def _gather_transpose(ct: Any, values: Any, x: Any, *, select_prim: str, base_dilation: Ints, window_dilation: Ints,
                      **params: Any) -> list[Any]:
    if isinstance(x, Undefined):
        raise NotImplementedError("select_and_gather_add is linear in its first operand only")
    if any(d > 1 for d in (*base_dilation, *window_dilation)):
        raise NotImplementedError("the transpose of select_and_gather_add needs windows without dilation, got "
                                  f"base_dilation={base_dilation}, window_dilation={window_dilation}; "
                                  "differentiate reduce_window instead, which has a rule for them")
    if 0 in aval_of(ct).shape:
        return [zeros_like_aval(values.aval), None]
    return [select_and_scatter_add_p.bind(ct, x, select_prim=select_prim, **params), None]


def _gather_samples() -> Samples:
    return Samples(shapes=[[s, s] for s, _, _ in _CASES], wrt=(0,), ulps=0,
                   params=[{"select_prim": prim, **samples_params(*p)} for _, prim, p in _CASES],
                   dtypes=("float32", "float64", "float16", "bfloat16", "int32"))


_CASES: list[tuple[Ints, str, Any]] = [
    ((), "ge", ((), (), ())), ((5,), "ge", ((2,), (1,), ((0, 0),))), ((6,), "le", ((3,), (2,), ((1, 2),))),
    ((4, 5), "ge", ((2, 2), (2, 2), ((0, 0), (0, 1)))), ((5, 4), "ge", ((3, 2), (1, 2), ((2, 1), (-1, 0)))),
    ((2, 9, 8, 3), "ge", ((1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (0, 1), (0, 0)))),
    ((3,), "ge", ((5,), (1,), ((0, 0),))), ((7,), "le", ((2,), (3,), ((4, 3),)))]

select_and_gather_add_p: Op = Op(
    name="select_and_gather_add", params=("select_prim", *PARAMS), nargs=2, abstract=_gather_abstract,
    eager=_gather_eager, jvp=linear_in_first(lambda: select_and_gather_add_p), transpose=_gather_transpose,
    batch=_batch("select_and_gather_add"), cpu=_gather_cpu, hlo=_gather_hlo, linear_in=(0,),
    traits=EXACT | READS_ONCE,
    samples=_gather_samples())


# -------------------------------------------------------------------------------------------- scatter

def _undilated(shape: Ints, window_dimensions: Ints, window_strides: Ints, padding: Pads) -> Windows:
    ones = (1,) * len(shape)
    return Windows(shape, window_dimensions, window_strides, padding, ones, ones)


def _scatter_abstract(source: ShapedArray, x: ShapedArray, *, select_prim: str, **params: Any) -> ShapedArray:
    windows = _undilated(x.shape, **params)
    _check("select_and_scatter_add", x, source, select_prim, windows)
    if source.shape != windows.counts:
        raise TypeError("select_and_scatter_add source shape must be the shape of the windows, "
                        f"got {source.shape} and {windows.counts}.")
    return x


def _scatter_eager(source: np.ndarray, x: np.ndarray, *, select_prim: str, **params: Any) -> np.ndarray:
    at, found = _selected(x, _undilated(x.shape, **params), select_prim)
    out = np.zeros(x.size, at_least_float32(x.dtype))
    np.add.at(out, at[found], source.reshape(at.shape)[found].astype(out.dtype))
    return out.astype(x.dtype).reshape(x.shape)


def _scatter_cpu(b: Any, source: Any, x: Any, *, select_prim: str, **params: Any) -> Any:
    windows, wide = _undilated(x.shape, **params), at_least_float32(x.dtype)
    zero = b.const(0, wide)
    if 0 in x.shape or 0 in source.shape:
        return b.compute(x.shape, x.dtype, lambda *i: b.const(0, x.dtype))
    source = b.materialize(source)
    at = b.materialize(_selected_cpu(b, x, windows, select_prim))

    def step(p: Sequence[Any], r: Sequence[Any], total: Any) -> list[Any]:
        inside, k = windows.covering(b, p, r)
        here = as_scalar(b, row_major(x.shape, p), _INT64)

        def term() -> Any:
            return b.select(b.compare("eq", b.read(at, *k), here), b.convert(b.read(source, *k), wide), zero)
        return [b.add(total, choose(b, inside, term, lambda: zero))]
    (out,) = b.fold(x.shape, windows.reach, [zero], step)
    return converted(b, out, x.dtype)


def _scatter_hlo(b: Any, source: Any, x: Any, *, select_prim: str, **params: Any) -> Any:
    wide = at_least_float32(x.dtype)
    flat = b.full((prod(x.shape),), 0, wide)
    if 0 not in x.shape and 0 not in source.shape:
        (at,) = _selected_hlo(b, x, [], _undilated(x.shape, **params), select_prim)
        count = prod(source.shape)  # positions of -1 are out of bounds, and left out
        flat = b.op("stablehlo.scatter", [flat, b.reshape(at, (count, 1)), b.reshape(b.convert(source, wide), (count,))],
                    flat.aval, attrs={"scatter_dimension_numbers": windows_attribute(_FLAT, 2, gather=False),
                                      "indices_are_sorted": False, "unique_indices": False},
                    regions=[b.reducer("add", wide)])
    return b.reshape(b.convert(flat, x.dtype), x.shape)


def _scatter_transpose(ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
    if isinstance(x, Undefined):
        raise NotImplementedError("select_and_scatter_add is linear in its first operand only")
    ones = (1,) * aval_of(x).ndim
    return [select_and_gather_add_p.bind(ct, x, base_dilation=ones, window_dilation=ones, **params), None]


def _scatter_samples() -> Samples:
    params = [dict(zip(("window_dimensions", "window_strides", "padding"), p, strict=True)) for _, _, p in _CASES]
    return Samples(shapes=[[_undilated(s, **q).counts, s] for (s, _, _), q in zip(_CASES, params, strict=True)], wrt=(0,),
                   params=[{"select_prim": prim, **q} for (_, prim, _), q in zip(_CASES, params, strict=True)],
                   dtypes=("float32", "float64", "float16", "bfloat16", "int32"))


select_and_scatter_add_p: Op = Op(
    name="select_and_scatter_add", params=("select_prim", *PARAMS[:3]), nargs=2, abstract=_scatter_abstract,
    eager=_scatter_eager, jvp=linear_in_first(lambda: select_and_scatter_add_p), transpose=_scatter_transpose,
    batch=_batch("select_and_scatter_add"), cpu=_scatter_cpu, hlo=_scatter_hlo, linear_in=(0,), samples=_scatter_samples())


# -------------------------------------------------------------------------------------------- functions

def select_and_scatter_add(source: Any, operand: Any, select_prim: str, window_dimensions: Sequence[int],
                           window_strides: Sequence[int], padding: Any) -> Any:
    """For each window over the operand, adds source[window] to the window's selected element of an array of zeros.

    select_prim: "ge" selects the first of the greatest elements, "le" of the least. padding: as of reduce_window.
    The result has the shape of the operand. TypeError when shapes or dtypes don't fit.

    >>> select_and_scatter_add(np.float32([7, 9]), np.float32([1, 3, 2]), "ge", (2,), (1,), "VALID").tolist()
    [0.0, 16.0, 0.0]
    """
    shape = aval_of(operand).shape
    sizes, strides = as_shape(window_dimensions, "window_dimensions"), as_shape(window_strides, "window_strides")
    pads = as_pads("select_and_scatter_add", padding, lambda: padtype_to_pads(shape, sizes, strides, padding))
    return select_and_scatter_add_p.bind(source, operand, select_prim=select_prim, window_dimensions=sizes,
                                         window_strides=strides, padding=pads)
