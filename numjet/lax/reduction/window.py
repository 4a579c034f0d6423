"""Reductions of windows: reduce_window, and its records for sums, maxima, minima and other associative functions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.op import LINEAR, Expand, Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, NONE, SCANS_OPERAND
from numjet.core.walk import eval_jaxpr
from numjet.foundation import dtypes, tree
from numjet.lax.axes import Ints, as_shape, insert
from numjet.lax.elementwise.compare import gt_p, lt_p, select_n_p
from numjet.lax.operands import at_least_float32, converted, scalar
from numjet.lax.reduction.reduce import IDENTITIES, on_bools
from numjet.lax.reduction.reduce_general import (
    affine_program,
    combining,
    is_identity,
    monoid_of,
    trace_computation,
    typed_init,
)
from numjet.lax.reduction.window_shapes import Pads, Windows, as_pads, check_windows, dilated, padtype_to_pads
from numjet.lax.scalar_programs import run_eager, run_scalars
from numjet.lax.shape.join import choose
from numjet.lax.shape.rearrange import broadcast_in_dim
from numjet.lax.tangent import no_tangent, zeros_like_aval
from numjet.lax.templates import call, kind_of

PARAMS = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")


def windows_of(shape: Ints, params: dict[str, Any]) -> Windows:
    """The windows that the parameters of a record describe."""
    return Windows(shape, *(params[name] for name in PARAMS))


def batched_params(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """The parameters for operands with a batch axis at `dim`."""
    single = {"padding": (0, 0)}
    return {k: insert(v, dim, single.get(k, 1)) if k in PARAMS else v for k, v in params.items()}


def samples_params(sizes: Ints, strides: Ints, padding: Pads, base: Ints | None = None,
                   dilation: Ints | None = None) -> dict[str, Any]:
    """Parameters by position, dilations left out when they are 1."""
    ones = (1,) * len(sizes)
    return dict(zip(PARAMS, (sizes, strides, padding, base or ones, dilation or ones), strict=True))


_CASES: Any = (
    ((), ((), (), ())), ((5,), ((2,), (1,), ((0, 0),))), ((6,), ((3,), (2,), ((1, 2),))),
    ((2, 5), ((1, 3), (1, 2), ((0, 0), (1, 1)))), ((4, 5), ((2, 2), (2, 2), ((0, 0), (0, 1)))),
    ((5, 4), ((2, 3), (2, 1), ((1, 0), (1, 1)), (2, 1), (1, 2))), ((7,), ((3,), (2,), ((-1, 2),), (2,), (3,))),
    ((0, 3), ((1, 2), (1, 1), ((0, 0), (0, 0)))), ((3,), ((5,), (1,), ((0, 0),))), ((0,), ((2,), (1,), ((2, 1),))),
    ((2, 9, 12, 3), ((1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (0, 1), (1, 1), (0, 0)))), ((20,), ((20,), (1,), ((19, 0),))))


# -------------------------------------------------------------------------------------------- sum, max, min

def _abstract(name: str, accepts: str) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, **params: Any) -> ShapedArray:
        if kind_of(x.dtype) not in accepts:
            raise TypeError(f"operand to {name} must have a number dtype, got {dtypes.long_name(x.dtype)}")
        windows = windows_of(x.shape, params)
        check_windows(name, windows)
        return x.update(shape=windows.counts)
    return abstract


def _eager(ufunc: np.ufunc, kind: str) -> Callable[..., np.ndarray]:
    def eager(x: np.ndarray, **params: Any) -> np.ndarray:
        windows = windows_of(x.shape, params)
        wide = _summed_in(kind, x.dtype)
        seen = windows.view(x, IDENTITIES[kind](x.dtype))
        axes = tuple(range(x.ndim, 2 * x.ndim))
        with np.errstate(all="ignore"):
            out = ufunc.reduce(seen.astype(wide, copy=False), axes, initial=wide.type(IDENTITIES[kind](wide)), dtype=wide)
            return np.asarray(out).astype(x.dtype)
    return eager


def _batch(name: str) -> Callable[..., tuple[Any, int]]:
    def rule(size: int, args: Sequence[Any], dims: Sequence[int], **params: Any) -> tuple[Any, int]:
        return call(name, args[0], **batched_params(params, dims[0])), dims[0]
    return rule


def _summed_in(kind: str, dtype: np.dtype) -> np.dtype:
    """The dtype in which the elements of a window are combined."""
    return at_least_float32(dtype) if kind == "add" else dtype


def _cpu(kind: str) -> Callable[..., Any]:
    def cpu(b: Any, x: Any, **params: Any) -> Any:
        windows, wide = windows_of(x.shape, params), _summed_in(kind, x.dtype)
        start = b.const(IDENTITIES[kind](wide), wide)
        if 0 in x.shape:
            return b.compute(windows.counts, x.dtype, lambda *i: b.const(IDENTITIES[kind](x.dtype), x.dtype))
        if prod(windows.sizes) > prod(windows.strides):
            x, windows = _padded(b, x, windows, b.const(IDENTITIES[kind](x.dtype), x.dtype))
        logical = on_bools(kind, x.dtype)

        def step(i: Sequence[Any], r: Sequence[Any], total: Any) -> list[Any]:
            inside, index = windows.locate(b, i, r)
            return [b.prim(logical, total, choose(b, inside, lambda: b.convert(b.read(x, *index), wide), lambda: start))]
        (out,) = b.fold(windows.counts, windows.sizes, [start], step)
        return converted(b, out, x.dtype)
    return cpu


def _padded(b: Any, x: Any, windows: Windows, fill: Any) -> tuple[Any, Windows]:
    """The array with its padding in memory, and the same windows over it: what is read many times needs no tests of bounds."""
    elements = windows._replace(sizes=(1,) * x.ndim, strides=(1,) * x.ndim, window_dilation=(1,) * x.ndim)

    def element(*index: Any) -> Any:
        if 0 in x.shape:
            return fill
        inside, at = elements.locate(b, index, (0,) * x.ndim)
        return choose(b, inside, lambda: b.read(x, *at), lambda: fill)
    if elements.counts == x.shape and not any(low for low, _ in windows.padding):
        return b.materialize(x), windows
    return b.materialize(b.compute(elements.counts, x.dtype, element, reads=(x,))), windows.over_padded


def reduce_windows(b: Any, xs: Sequence[Any], inits: Sequence[Any], windows: Windows, body: Any) -> list[Any]:
    """stablehlo.reduce_window of an HloBuilder. inits: identities, scalars; body: a region."""
    outs = [x.aval.update(shape=windows.counts) for x in xs]
    if 0 in xs[0].shape or 0 in windows.counts:
        return [b.broadcast(i, o.shape) for i, o in zip(inits, outs, strict=True)]
    if not windows.shape:
        return list(xs)
    return b.op("stablehlo.reduce_window", [*xs, *inits], outs, regions=[body], attrs={
        "window_dimensions": windows.sizes, "window_strides": windows.strides, "base_dilations": windows.base_dilation,
        "window_dilations": windows.window_dilation, "padding": windows.padding})


def _hlo(kind: str) -> Callable[..., Any]:
    def hlo(b: Any, x: Any, **params: Any) -> Any:
        wide = _summed_in(kind, x.dtype)
        init = b.constant(IDENTITIES[kind](wide), wide)
        (out,) = reduce_windows(b, [b.convert(x, wide)], [init], windows_of(x.shape, params), b.reducer(kind, wide))
        return b.convert(out, x.dtype)
    return hlo


def _sum_transpose(ct: Any, x: Any, *, window_dimensions: Ints, window_strides: Ints, padding: Pads,
                   base_dilation: Ints, window_dilation: Ints) -> list[Any]:
    """Each element gets the sum over the windows that hold it: windows over the result, with strides for dilations."""
    out = aval_of(ct).shape
    if 0 in out or 0 in x.shape:
        return [zeros_like_aval(x.aval)]
    pads = []
    for n, m, w, s, (low, _), base, d in zip(x.shape, out, window_dimensions, window_strides, padding, base_dilation,
                                             window_dilation, strict=True):
        span = dilated(w, d)
        before = span - 1 - low
        pads.append((before, dilated(n, base) + span - 1 - dilated(m, s) - before))
    return [reduce_window_sum_p.bind(
        ct, window_dimensions=window_dimensions, window_strides=base_dilation, padding=tuple(pads),
        base_dilation=window_strides, window_dilation=window_dilation)]


def _extreme_jvp(name: str, kind: str) -> Callable[..., tuple[Any, Any]]:
    """The tangent of the first of the greatest (or least) elements of each window."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        x, t = primals[0], tangents[0]
        out = call(name, x, **params)
        if isinstance(t, Zero) or kind_of(aval_of(x).dtype) != "f":
            return out, no_tangent(out)
        better, select = {"max": (gt_p, "ge"), "min": (lt_p, "le")}[kind]
        if not any(d > 1 for d in (*params["base_dilation"], *params["window_dilation"])):
            return out, call("select_and_gather_add", t, x, select_prim=select, **params)
        windows = windows_of(aval_of(x).shape, params)
        value, tangent, *rest = _pair_slices(windows, x, t, IDENTITIES[kind](aval_of(x).dtype))
        for new, new_tangent in zip(rest[::2], rest[1::2], strict=True):
            wins = better.bind(new, value)
            value = select_n_p.bind(wins, value, new)
            tangent = select_n_p.bind(wins, tangent, new_tangent)
        return out, tangent
    return jvp


def _pair_slices(windows: Windows, x: Any, t: Any, identity: Any) -> list[Any]:
    """x0, t0, x1, t1, ...: the elements of every window and their tangents."""
    dtype = aval_of(x).dtype
    values, tangents = windows.slices(x, scalar(identity, dtype)), windows.slices(t, scalar(0, dtype))
    return [part for pair in zip(values, tangents, strict=True) for part in pair]


def _record(name: str, accepts: str, ufunc: np.ufunc, kind: str, jvp: Any,
            transpose: Any, names: Sequence[str]) -> Op:
    return Op(
        name=name, params=PARAMS, abstract=_abstract(name, accepts), eager=_eager(ufunc, kind), jvp=jvp,
        transpose=transpose, batch=_batch(name), cpu=_cpu(kind), hlo=_hlo(kind),
        linear_in=(0,) if jvp is LINEAR else None, traits=SCANS_OPERAND | (NONE if kind == "add" else EXACT),
        samples=Samples(shapes=[s for s, _ in _CASES], params=[samples_params(*p) for _, p in _CASES], dtypes=names,
                        ulps=8 if kind == "add" else 0))


_NOT_LINEAR = "a maximum of windows is not linear: its derivative is select_and_gather_add"
reduce_window_sum_p = _record(
    "reduce_window_sum", "iufc", np.add, "add", LINEAR, _sum_transpose,
    ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "complex64"))
reduce_window_max_p = _record(
    "reduce_window_max", "biuf", np.maximum, "max", _extreme_jvp("reduce_window_max", "max"),
    Missing(_NOT_LINEAR), ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool"))
reduce_window_min_p = _record(
    "reduce_window_min", "biuf", np.minimum, "min", _extreme_jvp("reduce_window_min", "min"),
    Missing(_NOT_LINEAR), ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool"))


# -------------------------------------------------------------------------------------------- other functions

def _general_abstract(*avals: ShapedArray, jaxpr: Jaxpr, consts: tuple[Any, ...], **params: Any) -> list[ShapedArray]:
    half = len(avals) // 2
    xs, inits = avals[:half], avals[half:]
    if any(i.shape != () for i in inits):
        raise TypeError("reduce_window expected init_values to be scalars but init_values have shapes "
                        f"{[i.shape for i in inits]}.")
    if any(x.shape != xs[0].shape for x in xs):
        raise TypeError(f"reduce_window requires operands of equal shapes, got {[x.shape for x in xs]}.")
    for x, i in zip(xs, inits, strict=True):
        if x.dtype != i.dtype:
            raise TypeError("reduce_window operands must have the same dtypes as their initial values, got "
                            f"{x.dtype.name} and {i.dtype.name}")
    windows = windows_of(xs[0].shape, params)
    check_windows("reduce_window", windows)
    return [x.update(shape=windows.counts) for x in xs]


def _general_eager(*args: np.ndarray, jaxpr: Jaxpr, consts: tuple[Any, ...], **params: Any) -> list[np.ndarray]:
    half = len(args) // 2
    windows = windows_of(args[0].shape, params)
    carry = [np.broadcast_to(i, windows.counts) for i in args[half:]]
    views = [windows.view(x, i) for x, i in zip(args[:half], args[half:], strict=True)]
    with np.errstate(all="ignore"):
        for r in np.ndindex(*windows.sizes):
            carry = run_eager(jaxpr, (), [*carry, *[v[(..., *r)] for v in views]])
    return [np.asarray(c) for c in carry]


def _general_traced(*args: Any, jaxpr: Jaxpr, consts: tuple[Any, ...], **params: Any) -> list[Any]:
    """The same with whole arrays, one element of all windows after the other: what is differentiated and batched."""
    half = len(args) // 2
    windows = windows_of(aval_of(args[0]).shape, params)
    carry = [broadcast_in_dim(i, windows.counts, ()) for i in args[half:]]
    for terms in zip(*[windows.slices(x, i) for x, i in zip(args[:half], args[half:], strict=True)], strict=True):
        carry = eval_jaxpr(jaxpr, (), *carry, *terms)
    return carry


def _general_cpu(b: Any, *args: Any, jaxpr: Jaxpr, consts: tuple[Any, ...], **params: Any) -> list[Any]:
    half = len(args) // 2
    windows = windows_of(args[0].shape, params)
    inits = [b.read(i) for i in args[half:]]
    padded = [_padded(b, x, windows, init) for x, init in zip(args, inits, strict=False)]
    xs, plain = [x for x, _ in padded], padded[0][1]

    def step(i: Sequence[Any], r: Sequence[Any], *carry: Any) -> list[Any]:
        _, index = plain.locate(b, i, r)
        return run_scalars(b, jaxpr, (), [*carry, *[b.read(x, *index) for x in xs]])
    return b.fold(plain.counts, plain.sizes, inits, step)


def _general_hlo(b: Any, *args: Any, jaxpr: Jaxpr, consts: tuple[Any, ...], **params: Any) -> list[Any]:
    """Padding is made explicit, as XLA leaves it out where it assumes that the initial values are identities."""
    half = len(args) // 2
    windows = windows_of(args[0].shape, params)
    xs, inits = list(args[:half]), args[half:]
    if not windows.shape:
        return b.inline(ClosedJaxpr(jaxpr, []), [*inits, *xs])
    if 0 not in windows.counts:
        config = [(low, high, d - 1) for (low, high), d in zip(windows.padding, windows.base_dilation, strict=True)]
        xs = [b.pad(x, init, config) for x, init in zip(xs, inits, strict=True)]
        windows = windows.over_padded
    return reduce_windows(b, xs, inits, windows, combining(b, jaxpr))


def _affine_samples() -> Samples:
    cases = [_CASES[k] for k in (0, 1, 2, 5, 6, 7, 9)]
    return Samples(shapes=[[s, s, (), ()] for s, _ in cases], ulps=64, rtol=1e-4,
                   params=[{"jaxpr": affine_program(), "consts": (), **samples_params(*p)} for _, p in cases])


reduce_window_p = Op(
    name="reduce_window", params=("jaxpr", "consts", *PARAMS), multiple=True, abstract=_general_abstract,
    eager=_general_eager, jvp=Expand(_general_traced), transpose=Missing("a general reduction is not linear"),
    batch=Expand(_general_traced), cpu=_general_cpu, hlo=_general_hlo, traits=SCANS_OPERAND, samples=_affine_samples())


# -------------------------------------------------------------------------------------------- public function

def reduce_window(operand: Any, init_value: Any, computation: Callable[[Any, Any], Any], window_dimensions: Any,
                  window_strides: Any = None, padding: Any = "VALID", base_dilation: Any = None,
                  window_dilation: Any = None) -> Any:
    """Combines the elements of every window that moves over an array by an associative function of two scalars.

    Args:
      operand: an array, or a tree of arrays of one shape, which are reduced together.
      init_value: a scalar (or a tree of them): the identity of the function; padding has this value, too.
      computation: the function, made of elementwise operations. In which order elements are combined is not specified.
      window_dimensions: size of the window per axis.
      window_strides: distances between neighbouring windows; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or (low, high) per axis; negative numbers cut off.
      base_dilation, window_dilation: distances between neighbouring elements of the operand, and of the window.

    Raises:
      TypeError: sizes are not positive, or not one per axis; the function does not fit the dtypes. RuntimeError: an
      unknown name of a padding. NotImplementedError: the function is not elementwise.

    >>> from numjet import lax
    >>> reduce_window(np.array([1., 5., 2., 3.], np.float32), -np.inf, lax.max, (2,)).tolist()
    [5.0, 5.0, 3.0]
    """
    xs, structure = tree.tree_flatten(operand)
    inits, init_structure = tree.tree_flatten(init_value)
    if structure != init_structure:
        raise ValueError(f"Operands must have the same tree structure as init_values: {structure} vs. {init_structure}")
    avals = [aval_of(x) for x in xs]
    params = window_params("reduce_window", avals[0].shape, window_dimensions, window_strides, padding, base_dilation,
                           window_dilation)
    jaxpr, out_structure = trace_computation("reduce_window", computation, structure,
                                             [ShapedArray((), a.dtype, a.weak_type) for a in avals])
    if out_structure != structure:
        raise ValueError("reduce_window output must have the same tree structure as the operands "
                         f"{structure} vs. {out_structure}")
    name = monoid_of(jaxpr)
    inits = [typed_init(i, a, name) for i, a in zip(inits, avals, strict=True)]
    if name in _RECORDS and _is_identity(name, inits[0], avals[0].dtype):
        return tree.tree_unflatten(structure, [_RECORDS[name].bind(xs[0], **params)])
    return tree.tree_unflatten(structure, reduce_window_p.bind(*xs, *inits, jaxpr=jaxpr, consts=(), **params))


_RECORDS = {"add": reduce_window_sum_p, "max": reduce_window_max_p, "min": reduce_window_min_p}


def _is_identity(name: str, init: Any, dtype: np.dtype) -> bool:
    return not aval_of(init).shape and (name == "add" or dtype.kind != "c") and is_identity(name, init, dtype)


def window_params(name: str, shape: Ints, sizes: Any, strides: Any, padding: Any, base: Any,
                  dilation: Any) -> dict[str, Any]:
    """A record's parameters from those of a public function; checked."""
    ones = (1,) * len(shape)
    given = [ones if v is None else as_shape(v, what) for v, what in (
        (sizes, "window_dimensions"), (strides, "window_strides"), (base, "base_dilation"), (dilation, "window_dilation"))]
    sizes, strides, base, dilation = given
    check_windows(name, Windows(shape, sizes, strides, ((0, 0),) * len(shape), base, dilation))
    pads = as_pads(name, padding, lambda: padtype_to_pads(
        [dilated(n, d) for n, d in zip(shape, base, strict=True)],
        [dilated(n, d) for n, d in zip(sizes, dilation, strict=True)], strides, padding))
    params = dict(zip(PARAMS, (sizes, strides, pads, base, dilation), strict=True))
    check_windows(name, windows_of(shape, params))
    return params
