"""Scatter: sets windows of an array at computed positions, or combines them with updates."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, hull
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn
from numjet.core.op import Missing, Op, Samples, lookup
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES, NONE, SCATTERS
from numjet.core.walk import eval_jaxpr
from numjet.foundation.dimension import as_size
from numjet.lax.indexing.dimension_numbers import (
    GatherScatterMode,
    Rows,
    ScatterDimensionNumbers,
    as_gather,
    drops,
    shifted,
    wide_indices,
    windows_attribute,
)
from numjet.lax.indexing.gather import (
    check_ascending,
    check_batching,
    check_index_map,
    check_indices,
    random_values,
    with_paired_rows,
)
from numjet.lax.indexing.scatter_derivatives import (
    extremum_jvp,
    linear_jvp,
    linear_transpose,
    mul_jvp,
    mul_transpose,
    set_jvp,
    set_transpose,
)
from numjet.lax.indexing.scatter_lowering import cpu_rule, windows_of
from numjet.lax.scalar_programs import is_elementwise, run_eager, trace_update, update_program
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import broadcast_batch, call, moveaxis

# ------------------------------------------------------------------------------------------------ shapes

def _check_scatter(operand: ShapedArray, indices: ShapedArray, updates: ShapedArray,
                   numbers: ScatterDimensionNumbers) -> None:
    window, inserted, index_map, operand_batch, index_batch = numbers
    if operand.dtype != updates.dtype:
        raise TypeError(f"lax.scatter requires arguments to have the same dtypes, got {operand.dtype.name}, "
                        f"{updates.dtype.name}. (Tip: x.at[...] converts the updates.)")
    check_indices("scatter", indices)
    rank = indices.ndim - 1 + len(window)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}. The rank is that of the axes of the "
                        f"indices but the last, and update_window_dims {window}; the updates of scatter have shape "
                        f"{updates.shape}.")
    check_ascending("scatter", "update_window_dims", window, updates.ndim)
    check_ascending("scatter", "inserted_window_dims", inserted, operand.ndim)
    check_batching("scatter", operand, indices, inserted, "inserted_window_dims", index_map,
                   "scatter_dims_to_operand_dims", operand_batch, index_batch, "scatter_indices_batching_dims")
    check_index_map("scatter", indices, index_map, "scatter_dims_to_operand_dims", operand.ndim)
    size = len(window) + len(inserted) + len(operand_batch)
    if size != operand.ndim:
        raise TypeError(f"Scatter op has window of size {size}; doesn't match operand of rank {operand.ndim}.")
    _check_bounds(operand, indices, updates, numbers)


def _check_bounds(operand: ShapedArray, indices: ShapedArray, updates: ShapedArray,
                  numbers: ScatterDimensionNumbers) -> None:
    window = numbers.update_window_dims
    hidden = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    axes = [d for d in range(operand.ndim) if d not in hidden]
    for axis, w in zip(axes, window, strict=True):
        if updates.shape[w] > operand.shape[axis]:
            raise TypeError("scatter: Bounds of the window dimensions of updates must not exceed the bounds of the "
                            f"corresponding dimensions of operand. For dimension {w}, updates bound is "
                            f"{updates.shape[w]}, operand bound is {operand.shape[axis]}.")
    batch = [d for d in range(updates.ndim) if d not in window]
    for i, d in enumerate(batch):
        if updates.shape[d] != indices.shape[i]:
            raise TypeError("scatter: Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                            f"corresponding dimensions of scatter indices. For scatter dimension {i}, updates bound is "
                            f"{updates.shape[d]}, indices bound is {indices.shape[i]}.")


def _scatter_abstract(operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, *,
                      dimension_numbers: ScatterDimensionNumbers, **_: Any) -> ShapedArray:
    _check_scatter(operand, indices, updates, dimension_numbers)
    return operand


# ------------------------------------------------------------------------------------------------ eager

Combine = Callable[[np.ndarray, tuple[np.ndarray, ...], np.ndarray, dict[str, Any]], None]


def _eager(combine: Combine) -> Callable[..., np.ndarray]:
    """The eager slot of a scatter; combine(view, positions, rows, params) updates the view of the operand in place."""
    def eager(operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, **params: Any) -> np.ndarray:
        out = np.array(operand, order="C")
        windows = windows_of(operand, indices, updates, params["dimension_numbers"])
        if updates.size == 0 or out.size == 0:
            return out
        rows = Rows(windows, indices)
        values, positions = rows.from_windows(updates), rows.positions
        if drops(params["mode"]) and not rows.valid.all():
            values, positions = values[rows.valid], [p[rows.valid] for p in positions]
        with np.errstate(all="ignore"):
            combine(rows.view(out), tuple(positions), values, params)
        return out
    return eager


def _set(view: np.ndarray, positions: tuple[np.ndarray, ...], rows: np.ndarray, params: dict[str, Any]) -> None:
    if params["update_jaxpr"] is None:
        view[positions] = rows
    else:
        _apply(view, positions, rows, params["update_jaxpr"], params["update_consts"])


def _accumulate(ufunc: np.ufunc) -> Combine:
    def combine(view: np.ndarray, positions: tuple[np.ndarray, ...], rows: np.ndarray, params: dict[str, Any]) -> None:
        ufunc.at(view, positions, rows)
    return combine


def _apply(view: np.ndarray, positions: tuple[np.ndarray, ...], rows: np.ndarray, jaxpr: Jaxpr,
           consts: Sequence[Any]) -> None:
    """An element that occurs n times is updated n times: in rounds, in each of which every element occurs once."""
    flat = np.ravel_multi_index(positions, view.shape[:len(positions)])
    rounds = _occurrence(flat)
    for k in range(int(rounds.max(initial=-1)) + 1):
        chosen = tuple(p[rounds == k] for p in positions)
        view[chosen] = _call_update(jaxpr, consts, view[chosen], rows[rounds == k])


def _occurrence(flat: np.ndarray) -> np.ndarray:
    """For each entry, how many equal entries come before it."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    first = np.searchsorted(ordered, ordered, side="left")
    count = np.empty(flat.shape, np.int64)
    count[order] = np.arange(flat.size) - first
    return count


def _call_update(jaxpr: Jaxpr, consts: Sequence[Any], old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if is_elementwise(jaxpr):
        return run_eager(jaxpr, consts, (old, new))[0]
    out = np.empty_like(old)
    for i in np.ndindex(*old.shape):
        out[i] = np.asarray(eval_jaxpr(jaxpr, consts, np.asarray(old[i]), np.asarray(new[i]))[0])
    return out


# ------------------------------------------------------------------------------------------------ batch

def _batch(name: str) -> Callable[..., tuple[Any, int]]:
    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *,
              dimension_numbers: ScatterDimensionNumbers, **params: Any) -> tuple[Any, int]:
        operand, updates = (broadcast_batch(args[i], dims[i], size) for i in (0, 2))
        indices = args[1] if dims[1] is None else moveaxis(args[1], dims[1], 0)
        numbers = shifted(dimension_numbers, operand=True, indices=dims[1] is not None)
        return call(name, operand, indices, updates, dimension_numbers=numbers, **params), 0
    return batch


def _hlo(combine: str | None) -> Callable[..., Any]:
    """The hlo slot; StableHLO's scatter leaves out windows beyond the bounds."""
    def rule(b: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
             mode: GatherScatterMode, indices_are_sorted: bool, unique_indices: bool, update_jaxpr: Any,
             update_consts: Any) -> Any:
        if 0 in updates.shape or 0 in operand.shape:
            return operand

        def value(old: Any, new: Any) -> Any:
            if combine is not None:
                return lookup(combine).cpu(b.scalars(()), old, new)
            return new if update_jaxpr is None else b.inline(ClosedJaxpr(update_jaxpr, list(update_consts)), [old, new])
        indices = wide_indices(b, indices)
        if mode is GatherScatterMode.CLIP:
            indices = windows_of(operand, indices, updates, dimension_numbers).clipped_hlo(b, indices)
        scalar = ShapedArray((), operand.dtype)
        return b.op("stablehlo.scatter", [operand, indices, updates], operand.aval, attrs={
            "scatter_dimension_numbers": windows_attribute(as_gather(dimension_numbers), indices.ndim, gather=False),
            "indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices},
            regions=[b.region([scalar, scalar], value, isolated=True)])
    return rule


# ------------------------------------------------------------------------------------------------ records

_CASES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], ScatterDimensionNumbers]] = [
    ((5,), (4, 1), (4,), ScatterDimensionNumbers((), (0,), (0,))),
    ((4, 3), (3, 1), (3, 3), ScatterDimensionNumbers((1,), (0,), (0,))),
    ((4, 3), (2, 2, 1), (2, 2, 2), ScatterDimensionNumbers((0,), (1,), (1,))),
    ((4, 5, 3), (2, 2), (2, 5, 2), ScatterDimensionNumbers((1, 2), (0,), (0, 2))),
    ((3, 4, 2), (2, 3, 1), (2, 3, 2), ScatterDimensionNumbers((2,), (1,), (1,), (0,), (1,))),
    ((4, 5), (2,), (2, 3), ScatterDimensionNumbers((0, 1), (), (1, 0))),
    ((3, 2), (0,), (3, 2), ScatterDimensionNumbers((0, 1), (), ())),
    ((4,), (0, 1), (0,), ScatterDimensionNumbers((), (0,), (0,))),
]


def _samples(dtypes_: Sequence[str], unique: bool, order: int, program: str | None) -> Samples:
    modes = (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)

    def make(rng: np.random.Generator, shapes: Any, dtype: Any, params: dict[str, Any]) -> list[np.ndarray]:
        operand, indices, updates = shapes
        vectors = rng.integers(-2, 6, indices)
        if unique and indices and indices[-1]:
            distinct = np.arange(vectors[..., 0].size).reshape(indices[:-1])
            vectors = np.repeat(distinct[..., None], indices[-1], -1)
        return [random_values(rng, operand, dtype), vectors.astype(np.int32), random_values(rng, updates, dtype)]

    params = [{"dimension_numbers": numbers, "mode": mode, "indices_are_sorted": False, "unique_indices": unique,
                   "update_jaxpr": None, "update_consts": ()}
              for (_, _, _, numbers) in _CASES for mode in (modes[:1] if unique else modes)]
    shapes = [list(case[:3]) for case in _CASES for _ in (modes[:1] if unique else modes)]
    return Samples(shapes=shapes, params=params, dtypes=dtypes_, make=make, order=order, wrt=(0, 2),
                   ulps=8 if program else 0)


_PARAMS = ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode", "update_jaxpr", "update_consts")
_NUMBERS = ("float32", "int32", "uint8", "complex64", "float16")
_ALL = ("float32", "int32", "uint8", "bool", "complex64", "bfloat16", "float64", "int64")


def _scattered(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the operand and the updates, of which elements are chosen."""
    return hull([known.interval(eqn.invars[0]), known.interval(eqn.invars[2])])


def _record(name: str, program: str | None, combine: Combine, jvp: Any, transpose: Any,
            names: Sequence[str], *, unique: bool = False, order: int = 2) -> Op:
    return Op(name=name, params=_PARAMS, abstract=_scatter_abstract, eager=_eager(combine), jvp=jvp,
              transpose=transpose, batch=_batch(name), cpu=cpu_rule(program), hlo=_hlo(program),
              samples=_samples(names, unique, order, program), in_place=lambda eqn: (0,),
              interval=_scattered if program in (None, "min", "max") else None, rewrites=with_paired_rows,
              traits=SCATTERS | LANES | (EXACT if program in (None, "min", "max") else NONE))


scatter_p = _record("scatter", None, _set, set_jvp, set_transpose, _ALL)
scatter_add_p = _record("scatter-add", "add", _accumulate(np.add), linear_jvp("scatter-add"),
                        linear_transpose("scatter-add"), _NUMBERS)
scatter_sub_p = _record("scatter-sub", "sub", _accumulate(np.subtract), linear_jvp("scatter-sub"),
                        linear_transpose("scatter-sub"), _NUMBERS)
scatter_mul_p = _record("scatter-mul", "mul", _accumulate(np.multiply), mul_jvp, mul_transpose, _NUMBERS, unique=True)
scatter_min_p = _record("scatter-min", "min", _accumulate(np.minimum), extremum_jvp("scatter-min"),
                        Missing("scatter_min is not linear"), ("float32", "int32", "uint8", "float16"), order=1)
scatter_max_p = _record("scatter-max", "max", _accumulate(np.maximum), extremum_jvp("scatter-max"),
                        Missing("scatter_max is not linear"), ("float32", "int32", "uint8", "float16"), order=1)


# ------------------------------------------------------------------------------------------------ public

def _scatter(op: Op, program: str | None, operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers,
             indices_are_sorted: bool, unique_indices: bool, mode: Any, jaxpr: Any = None, consts: Any = ()) -> Any:
    if program is not None:
        jaxpr = update_program(program, aval_of(operand).dtype)
    numbers = ScatterDimensionNumbers(*(tuple(map(int, dims)) for dims in numbers))
    return op.bind(operand, indices, updates, dimension_numbers=numbers, indices_are_sorted=bool(indices_are_sorted),
                   unique_indices=bool(unique_indices), mode=GatherScatterMode.from_any(mode), update_jaxpr=jaxpr,
                   update_consts=consts)


def scatter(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
            indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None) -> Any:
    """`operand` with windows replaced by `updates`. Where windows overlap, later updates win.

    Args:
      operand: array.
      scatter_indices: integer array; its last axis holds the index vectors, one per window.
      updates: array of the operand's dtype: the windows.
      dimension_numbers: which axes correspond, a ScatterDimensionNumbers.
      indices_are_sorted, unique_indices: promises about the indices, for faster code (and simpler derivatives).
      mode: what happens out of bounds: "drop" (default) leaves windows out that are not wholly inside, "clip" moves
        them inside, "promise_in_bounds" says that there are none (and drops them).

    Raises:
      TypeError: shapes, dtypes and dimension numbers do not fit together. ValueError: indices are no integers.

    >>> import numpy as np
    >>> numbers = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter(np.zeros(3, np.float32), np.int32([[1], [7]]), np.float32([5, 6]), numbers).tolist()
    [0.0, 5.0, 0.0]
    """
    return _scatter(scatter_p, None, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_add(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, adding the updates; equal indices accumulate.

    >>> import numpy as np
    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_add(np.zeros(3, np.float32), np.int32([[1], [1]]), np.float32([5, 6]), numbers).tolist()
    [0.0, 11.0, 0.0]
    """
    return _scatter(scatter_add_p, "add", operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_sub(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, subtracting the updates; equal indices accumulate."""
    return _scatter(scatter_sub_p, "sub", operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_mul(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, multiplying by the updates; differentiable in them only with unique_indices=True."""
    return _scatter(scatter_mul_p, "mul", operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_min(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, taking the minimum with the updates; NaN wins. Ties share the derivative equally."""
    return _scatter(scatter_min_p, "min", operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_max(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, taking the maximum with the updates; NaN wins. Ties share the derivative equally."""
    return _scatter(scatter_max_p, "max", operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode)


def scatter_apply(operand: Any, scatter_indices: Any, func: Callable[[Any], Any],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None) -> Any:
    """As `scatter`, applying a function of one scalar to the elements; elements that occur n times get it n times.

    Args:
      func: from a scalar of the operand's dtype to one; it may not close over traced values.
      update_shape: the shape that updates would have.

    Raises:
      NotImplementedError: when differentiated, or when func closes over traced values.

    >>> import numpy as np
    >>> from numjet import lax
    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> triple = lambda x: lax.mul(x, 3.0)
    >>> scatter_apply(np.float32([1, 2]), np.int32([[1], [1]]), triple, numbers, update_shape=(2,)).tolist()
    [1.0, 18.0]
    """
    if not callable(func):
        raise TypeError(f"scatter_apply: func must be a function of one scalar, got {func!r}")
    dtype = aval_of(operand).dtype
    jaxpr, consts = trace_update(func, dtype)
    updates = zeros_like_aval(ShapedArray(tuple(map(as_size, update_shape)), dtype))
    return _scatter(scatter_p, None, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                    unique_indices, mode, jaxpr, consts)
