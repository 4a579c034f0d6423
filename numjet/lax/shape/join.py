"""Joining and splitting of arrays: concatenate, split, pad, tile."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import of_operands
from numjet.core.ir import Atom, JaxprEqn, Literal
from numjet.core.op import LINEAR, Op, Samples, Undefined
from numjet.core.trace import aval_of
from numjet.core.traits import LANES, MOVES, PADS, READS_ONCE
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_size, exceeds, largest
from numjet.foundation.errors import ShapeMismatchError
from numjet.lax.axes import Ints, as_axis, as_shape, cut_axis, insert, replace
from numjet.lax.elementwise.compare import select_n_p
from numjet.lax.rewrites import Producer
from numjet.lax.shape.rearrange import MOVED_DTYPES, broadcast_in_dim_p, filled, is_array, reshaped
from numjet.lax.tangent import instantiate, zeros_like_aval
from numjet.lax.templates import aligned_batch, broadcast_batch, call, promote_scalars

CHOICE = 2.0   # operations that it takes to choose between two places that an element may be in

PaddingConfig = tuple[tuple[int, int, int], ...]
_FALSE, _TRUE = (Literal(np.bool_(v), ShapedArray((), np.dtype(np.bool_))) for v in (False, True))


# -------------------------------------------------------------------------------------------- concatenate

def _others(x: ShapedArray, dimension: int) -> Ints:
    return x.shape[:dimension] + x.shape[dimension + 1:]


def _concatenate_abstract(*xs: ShapedArray, dimension: int) -> ShapedArray:
    if not xs:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    shapes = ", ".join(str(x.shape) for x in xs)
    first = xs[0]
    if any(x.ndim != first.ndim for x in xs):
        raise TypeError(f"concatenate: Cannot concatenate arrays with different numbers of dimensions: got {shapes}.")
    if not 0 <= dimension < first.ndim:
        raise TypeError(f"concatenate dimension out of bounds: dimension {dimension} for shapes {shapes}.")
    if any(_others(x, dimension) != _others(first, dimension) for x in xs):
        raise TypeError("concatenate: Cannot concatenate arrays with shapes that differ in dimensions other than the one being "
                        f"concatenated: concatenating along dimension {dimension} for shapes {shapes}.")
    if any(x.dtype != first.dtype for x in xs):
        names = ", ".join(dtypes.long_name(x.dtype) for x in xs)
        raise TypeError(f"lax.concatenate requires arguments to have the same dtypes, got {names}. "
                        "(Tip: numjet.numpy.concatenate promotes its arguments.)")
    total = sum(x.shape[dimension] for x in xs)
    return ShapedArray(insert(_others(first, dimension), dimension, total), first.dtype, all(x.weak_type for x in xs))


def _concatenate_eager(*xs: np.ndarray, dimension: int) -> np.ndarray:
    return np.concatenate(xs, axis=dimension)


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    sizes = tuple((x if isinstance(x, Undefined) else aval_of(x)).shape[dimension] for x in xs)
    parts = split_p.bind(ct, sizes=sizes, axis=dimension)
    return [part if isinstance(x, Undefined) else None for part, x in zip(parts, xs, strict=True)]


def _concatenate_cpu(b: Any, *xs: Any, dimension: int) -> Any:
    parts = [x for x in xs if x.shape[dimension]] or [xs[0]]
    starts = [0, *accumulate(x.shape[dimension] for x in parts)]
    shape = (*xs[0].shape[:dimension], starts[-1], *xs[0].shape[dimension + 1:])

    def read(part: int, *index: Any) -> Any:
        return b.read(parts[part], *index[:dimension], index[dimension] - starts[part], *index[dimension + 1:])

    def element(*index: Any) -> Any:
        return _pick(b, starts, index[dimension], 0, len(parts), lambda part: read(part, *index))
    return b.compute(shape, xs[0].dtype, element, moves=True, finds=CHOICE * (len(parts) - 1), reads=parts,
                     pieces=(parts, dimension))


def _pick(b: Any, starts: Sequence[int], index: Any, low: int, high: int, read: Callable[[int], Any]) -> Any:
    """Binary search: read(k) for the part k, among low to high - 1, that holds the index."""
    if high - low == 1:
        return read(low)
    middle = (low + high) // 2
    return choose(b, index < starts[middle], lambda: _pick(b, starts, index, low, middle, read),
                  lambda: _pick(b, starts, index, middle, high, read))


def choose(b: Any, cond: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """b.if_ that decides at once when the condition is a Python bool, as comparisons of known indices are."""
    if isinstance(cond, (bool, np.bool_)):
        return then() if cond else orelse()
    return b.if_(cond, then, orelse)


def _concatenate_shifts(eqn: JaxprEqn) -> list[tuple[int, int, int]]:
    """The first operand is shifted to the front, or the last one to the end."""
    axis, last = eqn.params["dimension"], len(eqn.invars) - 1
    new = [eqn.outvars[0].aval.shape[axis] - a.aval.shape[axis] for a in eqn.invars]
    return [(0, axis, new[0]), (last, axis, -new[last])]


concatenate_p: Op = Op(
    name="concatenate", params=("dimension",),
    abstract=_concatenate_abstract, eager=_concatenate_eager, jvp=LINEAR, transpose=_concatenate_transpose,
    batch=aligned_batch(lambda: concatenate_p, "dimension"), cpu=_concatenate_cpu,
    hlo=lambda b, *xs, dimension: b.concatenate(xs, dimension), linear_in=(0, 1),
    traits=MOVES | READS_ONCE | LANES, interval=of_operands,
    rewrites=lambda eqn, producer: eqn.invars[0] if len(eqn.invars) == 1 else None, shift=_concatenate_shifts,
    samples=Samples(
        shapes=([(3,), (2,)], [(2, 3), (2, 1)], [(2, 3), (0, 3)], [(2, 3, 4), (2, 5, 4)], [(4,)],
                [(1, 2), (2, 2), (3, 2)], [(0, 2), (0, 2)], [(1,)] * 9, [(3, 20), (3, 0), (3, 15)], [(8, 3), (2, 3)]),
        params=tuple({"dimension": d} for d in (0, 1, 0, 1, 0, 0, 0, 0, 1, 0)),
        dtypes=MOVED_DTYPES, ulps=0))


def concatenate(operands: Any, dimension: int) -> Any:
    """The operands one after the other along `dimension` (not negative). Other axes, and dtypes, must be equal.

    ValueError when there are no operands, TypeError when they don't fit.

    >>> concatenate([np.array([1, 2], np.int32), np.array([3], np.int32)], 0).tolist()
    [1, 2, 3]
    """
    xs = list(operands)
    if not xs:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    axis = operator.index(dimension)
    if len(xs) == 1 and is_array(xs[0]) and 0 <= axis < xs[0].ndim:
        return xs[0]
    return concatenate_p.bind(*xs, dimension=axis)


# -------------------------------------------------------------------------------------------- split

def _split_abstract(x: ShapedArray, *, sizes: Ints, axis: int) -> list[ShapedArray]:
    if any(exceeds(0, n) for n in sizes):
        raise ValueError(f"split: Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(f"split: Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
                         f"{list(x.shape)}")
    return [x.update(shape=(*x.shape[:axis], n, *x.shape[axis + 1:])) for n in sizes]


def _split_eager(x: np.ndarray, *, sizes: Ints, axis: int) -> list[np.ndarray]:
    return np.split(x, list(accumulate(sizes))[:-1], axis) if sizes else []


def _split_transpose(cts: Sequence[Any], x: Any, *, sizes: Ints, axis: int) -> list[Any]:
    return [concatenate_p.bind(*map(instantiate, cts), dimension=axis)]


def _split_cpu(b: Any, x: Any, *, sizes: Ints, axis: int) -> list[Any]:
    def part(start: int, n: int) -> Any:
        shape = (*x.shape[:axis], n, *x.shape[axis + 1:])
        return b.compute(shape, x.dtype, lambda *i: b.read(x, *i[:axis], i[axis] + start, *i[axis + 1:]), moves=True,
                         reads=(x,))
    return [part(start, n) for start, n in zip([0, *accumulate(sizes)], sizes, strict=False)]


def _split_hlo(b: Any, x: Any, *, sizes: Ints, axis: int) -> list[Any]:
    return [b.slice(x, replace((0,) * x.ndim, axis, start), replace(x.shape, axis, start + n))
            for start, n in zip([0, *accumulate(sizes)], sizes, strict=False)]


def _split_part(eqn: JaxprEqn, result: int) -> tuple[int, int]:
    return eqn.params["axis"], sum(eqn.params["sizes"][:result])


split_p: Op = Op(
    name="split", params=("sizes", "axis"), multiple=True,
    abstract=_split_abstract, eager=_split_eager, jvp=LINEAR, transpose=_split_transpose,
    batch=aligned_batch(lambda: split_p, "axis"), cpu=_split_cpu, hlo=_split_hlo, linear_in=(0,),
    traits=MOVES | LANES, part=_split_part, samples=Samples(
        shapes=((5,), (2, 5), (2, 5, 3), (3,), (0, 2), (3, 50)),
        params=tuple({"sizes": s, "axis": a} for s, a in (
            ((2, 3), 0), ((1, 0, 4), 1), ((2, 2, 1), 1), ((3,), 0), ((0, 0), 0), ((20, 30), 1))),
        dtypes=MOVED_DTYPES, ulps=0))


def split(operand: Any, sizes: Any, axis: int = 0) -> list[Any]:
    """The operand cut along `axis` into parts of `sizes`, which must sum to its size. ValueError otherwise.

    >>> [p.tolist() for p in split(np.arange(3, dtype=np.int32), (1, 2))]
    [[0], [1, 2]]
    """
    parts = as_shape(sizes)
    return list(split_p.bind(operand, sizes=parts, axis=as_axis(axis, aval_of(operand).ndim, "split")))


# -------------------------------------------------------------------------------------------- pad

def dilated(n: int, interior: int) -> int:
    """The size of an axis of n with `interior` elements between its neighbours."""
    return n + largest(n - 1, 0) * interior if interior else n


def _pad_abstract(x: ShapedArray, value: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
    if value.shape != ():
        raise ValueError(f"pad: padding_value must be a scalar; got np.shape(padding_value)={value.shape}")
    if x.dtype != value.dtype:
        raise TypeError("pad operand and padding_value must be same dtype: "
                        f"got {dtypes.long_name(x.dtype)} and {dtypes.long_name(value.dtype)}.")
    if len(padding_config) != x.ndim:
        raise ValueError("pad: length of padding_config must equal the number of axes of operand, "
                         f"got padding_config {padding_config} for operand shape {x.shape}")
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(f"pad: interior padding in padding_config must be nonnegative, got padding_config {padding_config}")
    shape = _padded_shape(x.shape, padding_config)
    if any(exceeds(0, n) for n in shape):
        raise ValueError(f"pad: Dimension size after padding is not at least 0, got result shape {shape}, "
                         f"for padding_config {padding_config} and operand shape {x.shape}")
    return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)


def _padded_shape(shape: Ints, config: PaddingConfig) -> Ints:
    return tuple(low + dilated(n, interior) + high for n, (low, high, interior) in zip(shape, config, strict=True))


def _kept(n: int, low: int, size: int, step: int) -> tuple[slice, slice]:
    """The elements of an axis of n that padding keeps, and their positions in the result of `size`."""
    first = max(0, -(low // step))  # the first i with low + i * step >= 0
    last = min(n, -((low - size) // step))  # the first i with low + i * step >= size
    if first >= last:
        return slice(0, 0), slice(0, 0)
    start = low + first * step
    return slice(first, last), slice(start, start + (last - first - 1) * step + 1, step)


def _pad_eager(x: np.ndarray, value: np.ndarray, *, padding_config: PaddingConfig) -> np.ndarray:
    shape = _padded_shape(x.shape, padding_config)
    out = np.full(shape, value, x.dtype)
    kept = [_kept(n, low, size, interior + 1)
            for n, size, (low, _, interior) in zip(x.shape, shape, padding_config, strict=True)]
    out[tuple(target for _, target in kept)] = x[tuple(source for source, _ in kept)]
    return out


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> list[Any]:
    zero = zeros_like_aval(ShapedArray((), aval_of(ct).dtype))
    shape = x.shape if isinstance(x, Undefined) else aval_of(x).shape
    ct_x = ct_value = None
    if isinstance(x, Undefined):
        cut = pad_p.bind(ct, zero, padding_config=tuple((-low, -high, 0) for low, high, _ in padding_config))
        steps = tuple(interior + 1 for _, _, interior in padding_config)
        ct_x = cut if all(s == 1 for s in steps) else call(
            "slice", cut, start_indices=(0,) * len(shape), limit_indices=aval_of(cut).shape, strides=steps)
    if isinstance(value, Undefined):
        # A mask rather than sum(ct) - sum(ct_x): no cancellation, and right for infinities.
        mask = _is_padding(shape, padding_config)
        of_padding = select_n_p.bind(mask, zeros_like_aval(aval_of(ct)), ct)
        ct_value = call("reduce_sum", of_padding, axes=tuple(range(len(shape))))
    return [ct_x, ct_value]


def _is_padding(shape: Ints, config: PaddingConfig) -> Any:
    inside = filled(_FALSE, shape)
    return pad_p.bind(inside, _TRUE, padding_config=config)


def _pad_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *,
               padding_config: PaddingConfig) -> tuple[Any, int]:
    (x, value), (dim, value_dim) = args, dims
    if value_dim is None:
        assert dim is not None
        return pad_p.bind(x, value, padding_config=insert(padding_config, dim, (0, 0, 0))), dim
    x = broadcast_batch(x, dim, size)
    zero = zeros_like_aval(ShapedArray((), aval_of(x).dtype))
    config = ((0, 0, 0), *padding_config)
    padded = pad_p.bind(x, zero, padding_config=config)
    filled = broadcast_in_dim_p.bind(value, shape=aval_of(padded).shape, broadcast_dimensions=(0,))
    return select_n_p.bind(_is_padding(aval_of(x).shape, config), padded, filled), 0


def _pad_cpu(b: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> Any:
    shape = _padded_shape(x.shape, padding_config)

    def element(*index: Any) -> Any:
        conds: list[Any] = []
        source = []
        for i, n, size, (low, _, interior) in zip(index, x.shape, shape, padding_config, strict=True):
            offset, step = i - low, interior + 1
            if low > 0:
                conds.append(offset >= 0)
            if size - low > dilated(n, interior):
                conds.append(offset < dilated(n, interior))
            if step > 1:
                conds.append(offset % step < 1)
            source.append(offset // step if step > 1 else offset)
        return choose(b, all_of(b, conds), lambda: b.read(x, *source), lambda: b.read(value))
    edges = sum((low > 0) + (high > 0) for low, high, _ in padding_config)
    steps = [(d, interior + 1) for d, (_, _, interior) in enumerate(padding_config) if interior]
    return b.compute(shape, x.dtype, element, moves=True, finds=CHOICE / 2 * edges, reads=(x, value),
                     dilation=steps[0] if len(steps) == 1 else None)


def all_of(b: Any, conds: Sequence[Any]) -> Any:
    """The conjunction of conditions, some of which may be Python bools."""
    total: Any = True
    for cond in conds:
        if isinstance(cond, (bool, np.bool_)):
            total = total if cond else False
        elif total is not False:
            total = cond if total is True else b.prim("and", total, cond)
    return total


def _pad_samples() -> Samples:
    cases: list[tuple[Ints, PaddingConfig]] = [
        ((), ()), ((3,), ((1, 2, 0),)), ((3,), ((-1, 2, 2),)), ((4,), ((-1, -2, 0),)), ((4,), ((0, -3, 1),)),
        ((2, 3), ((0, 1, 0), (2, -1, 1))), ((0,), ((1, 2, 2),)), ((1,), ((-1, 0, 5),)),
        ((2, 0, 2), ((0, 0, 0), (2, 0, 0), (1, 1, 1))), ((4,), ((-5, 2, 1),)), ((3,), ((-2, -1, 0),)),
        ((9, 12), ((1, 1, 1), (-2, 3, 2))), ((3, 30), ((0, 2, 0), (4, 0, 0)))]
    return Samples(shapes=[[shape, ()] for shape, _ in cases], params=[{"padding_config": c} for _, c in cases],
                   dtypes=MOVED_DTYPES, ulps=0)


def _pad_shifts(eqn: JaxprEqn) -> list[tuple[int, int, int]]:
    """The operand is shifted if it is padded at one end of one axis."""
    padded = [(d, *one) for d, one in enumerate(eqn.params["padding_config"]) if tuple(one) != (0, 0, 0)]
    if len(padded) != 1:
        return []
    axis, low, high, between = padded[0]
    return [(0, axis, high or -low)] if between == 0 and min(low, high) == 0 else []


def _pad_part(eqn: JaxprEqn, result: int) -> tuple[int, int] | None:
    """Negative padding along one axis takes a part."""
    axis = cut_axis(eqn, result)
    if axis is None:
        return None
    others = any(tuple(one) != (0, 0, 0) for d, one in enumerate(eqn.params["padding_config"]) if d != axis)
    low, high, between = eqn.params["padding_config"][axis]
    return None if low > 0 or high > 0 or between or others else (axis, -low)


def _no_padding(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    return eqn.invars[0] if all(p == (0, 0, 0) for p in map(tuple, eqn.params["padding_config"])) else None


pad_p = Op(
    name="pad", params=("padding_config",),
    abstract=_pad_abstract, eager=_pad_eager, jvp=LINEAR, transpose=_pad_transpose, batch=_pad_batch,
    cpu=_pad_cpu, hlo=lambda b, x, value, *, padding_config: b.pad(x, value, padding_config),
    linear_in=(0, 1), prepare=promote_scalars,
    traits=PADS | READS_ONCE | LANES, rewrites=_no_padding, interval=of_operands, shift=_pad_shifts, part=_pad_part,
    samples=_pad_samples())


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """The operand with `padding_value` before, after and between its elements.

    padding_config: per axis (low, high, interior): how many values to put before and after (negative: how many elements
    to cut off) and between neighbours. ValueError for a configuration that doesn't fit, TypeError for unequal dtypes.

    >>> pad(np.array([1, 2], np.int32), 0, [(1, 0, 2)]).tolist()
    [0, 1, 0, 0, 2]
    """
    config = tuple(tuple(map(as_size, entry)) for entry in padding_config)
    if any(len(entry) != 3 for entry in config):
        raise ValueError(f"padding_config must give (low, high, interior) for each axis, got {config}")
    return pad_p(operand, padding_value, padding_config=config)


# -------------------------------------------------------------------------------------------- tile

def _tile_abstract(x: ShapedArray, *, reps: Ints) -> ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(f"tile: reps length must be equal to the ndim of x, got len(reps)={len(reps)} and x.ndim={x.ndim}.")
    if any(r < 0 for r in reps):
        raise ShapeMismatchError(f"tile: reps must have every element be nonnegative, got {reps}.")
    return x.update(shape=tuple(n * r for n, r in zip(x.shape, reps, strict=True)))


def _tile_transpose(ct: Any, x: Any, *, reps: Ints) -> list[Any]:
    pairs = tuple(k for n, r in zip(x.shape, reps, strict=True) for k in (r, n))
    blocks = reshaped(ct, pairs)
    return [call("reduce_sum", blocks, axes=tuple(range(0, 2 * x.ndim, 2)))]


def _tile_batch(size: int, args: Sequence[Any], dims: Sequence[int], *, reps: Ints) -> tuple[Any, int]:
    return tile_p.bind(args[0], reps=insert(reps, dims[0], 1)), dims[0]


def _tile_cpu(b: Any, x: Any, *, reps: Ints) -> Any:
    """Copies along the first repeated axis are stored piece by piece, so that the operand is read once."""
    axis = next((d for d, r in enumerate(reps) if r != 1), None)
    if axis is None:
        return x
    n, count = x.shape[axis], reps[axis]
    part = _tile_cpu(b, x, reps=(*(1,) * (axis + 1), *reps[axis + 1:]))
    shape = (*x.shape[:axis], n * count, *part.shape[axis + 1:])
    wrapped = lambda k: k % n if n > 1 else 0
    return b.compute(shape, x.dtype, lambda *i: b.read(part, *i[:axis], wrapped(i[axis]), *i[axis + 1:]), moves=True,
                     parents=(part,), pieces=((part,) * count, axis) if count else None)


def _tile_hlo(b: Any, x: Any, *, reps: Ints) -> Any:
    blocks = tuple(k for r, n in zip(reps, x.shape, strict=True) for k in (r, n))
    shape = tuple(n * r for n, r in zip(x.shape, reps, strict=True))
    return b.reshape(b.broadcast(x, blocks, range(1, 2 * x.ndim, 2)), shape)


tile_p = Op(
    name="tile", params=("reps",),
    abstract=_tile_abstract, eager=lambda x, *, reps: np.tile(x, reps), jvp=LINEAR, transpose=_tile_transpose,
    batch=_tile_batch, cpu=_tile_cpu, hlo=_tile_hlo, linear_in=(0,), traits=MOVES,
    samples=Samples(
        shapes=((), (3,), (2, 3), (2, 3), (0, 2), (4, 9)),
        params=tuple({"reps": r} for r in ((), (2,), (1, 3), (2, 0), (2, 2), (3, 5))), dtypes=MOVED_DTYPES, ulps=0))


def tile(operand: Any, reps: Any) -> Any:
    """The operand repeated reps[i] times along axis i. TypeError unless there is one number, not negative, per axis.

    >>> tile(np.array([1, 2], np.int32), (2,)).tolist()
    [1, 2, 1, 2]
    """
    return tile_p.bind(operand, reps=as_shape(reps, "reps"))
