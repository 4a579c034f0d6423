"""lax.reduce: reductions by any associative function of scalars.

Sums, products, extremes and logical functions become the operations of lax.reduce; other functions are written down as
a jaxpr and applied as a fold. The jaxpr may hold elementwise operations only, so that it works on whole arrays, too.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Expand, Missing, Op, Samples
from numjet.core.stage import DebugInfo, trace_to_jaxpr
from numjet.core.trace import Tracer, aval_of
from numjet.core.walk import eval_jaxpr
from numjet.foundation import dtypes, tree
from numjet.lax.axes import Ints, without
from numjet.lax.elementwise.arithmetic import add_p, mul_p
from numjet.lax.elementwise.convert import convert_dtype
from numjet.lax.reduction.reduce import (
    IDENTITIES,
    check_axes,
    check_half_sum,
    move_front,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
    tree_reduce,
)
from numjet.lax.scalar_programs import run_eager, run_scalars, without_calls
from numjet.lax.shape.rearrange import broadcast_in_dim, check_unsharded
from numjet.lax.shape.stacking import stage
from numjet.lax.templates import call

# The function of two scalars -> the reduction by it.
_REDUCTIONS = {str(op.reduces): op for op in (reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p,
                                              reduce_or_p, reduce_xor_p)}


# -------------------------------------------------------------------------------------------- the record

def _abstract(*avals: ShapedArray, computation: Any, jaxpr: Jaxpr, dimensions: Ints) -> list[ShapedArray]:
    half = len(avals) // 2
    xs, inits = avals[:half], avals[half:]
    if any(x.shape != xs[0].shape for x in xs):
        raise ValueError(f"reduce requires operands of equal shapes, got {', '.join(str(x.shape) for x in xs)}")
    if any(i.shape != () for i in inits):
        raise ValueError(f"reduce found non-scalar initial value: {[i.shape for i in inits]}")
    check_axes(dimensions, xs[0])
    for x, i in zip(xs, inits, strict=True):
        if x.dtype != i.dtype:
            raise TypeError("reduce operands must have the same dtypes as their initial values, got "
                            f"{x.dtype.name} and {i.dtype.name}")
    return [x.update(shape=without(x.shape, dimensions)) for x in xs]


def _reduced(*args: Any, computation: Any, jaxpr: Jaxpr, dimensions: Ints) -> list[Any]:
    """The reduction written with slices and the jaxpr on arrays: what is differentiated and vectorized."""
    half = len(args) // 2
    xs, inits = args[:half], args[half:]
    shape = aval_of(xs[0]).shape
    out_shape = without(shape, dimensions)
    starts = [broadcast_in_dim(i, out_shape, ()) for i in inits]
    if not all(shape[d] for d in dimensions):
        return starts

    def combine(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        return eval_jaxpr(jaxpr, (), *left, *right)
    return combine(starts, tree_reduce(combine, [move_front(x, dimensions) for x in xs]))


def _eager(*args: np.ndarray, computation: Any, jaxpr: Jaxpr, dimensions: Ints) -> list[np.ndarray]:
    half = len(args) // 2
    rest = without(range(args[0].ndim), dimensions)
    out_shape = tuple(args[0].shape[d] for d in rest)
    n = int(np.prod([args[0].shape[d] for d in dimensions], dtype=int))
    xs = [x.transpose(*dimensions, *rest).reshape(n, *out_shape) for x in args[:half]]
    starts = [np.broadcast_to(i, out_shape) for i in args[half:]]
    with np.errstate(all="ignore"):
        while n > 1:
            pairs = run_eager(jaxpr, (), [x[0:n - n % 2:2] for x in xs] + [x[1:n:2] for x in xs])
            xs = [np.concatenate([p, x[n - n % 2:]]) for p, x in zip(pairs, xs, strict=True)]
            n = (n + 1) // 2
        return run_eager(jaxpr, (), starts + [x[0] for x in xs]) if n else list(starts)


def _cpu(b: Any, *args: Any, computation: Any, jaxpr: Jaxpr, dimensions: Ints) -> list[Any]:
    half = len(args) // 2
    xs = args[:half]
    rest = without(range(xs[0].ndim), dimensions)

    def step(i: Sequence[Any], r: Sequence[Any], *carry: Any) -> list[Any]:
        at = dict(zip((*rest, *dimensions), (*i, *r), strict=True))
        index = [at[d] for d in range(xs[0].ndim)]
        return run_scalars(b, jaxpr, (), [*carry, *[b.read(x, *index) for x in xs]])
    return b.fold([xs[0].shape[d] for d in rest], [xs[0].shape[d] for d in dimensions],
                  [b.read(i) for i in args[half:]], step)


def _hlo(b: Any, *args: Any, computation: Any, jaxpr: Jaxpr, dimensions: Ints) -> list[Any]:
    xs = args[:len(args) // 2]
    outs = [x.aval.update(shape=without(x.shape, dimensions)) for x in xs]
    return b.op("stablehlo.reduce", args, outs, attrs={"dimensions": dimensions}, regions=[combining(b, jaxpr)])


def combining(b: Any, jaxpr: Jaxpr) -> Any:
    """The region of an HloBuilder that computes a jaxpr of scalars."""
    return b.region([v.aval for v in jaxpr.invars], lambda *vs: b.inline(ClosedJaxpr(jaxpr, []), vs), isolated=True)


def affine_program() -> Jaxpr:
    """Composition of affine maps x -> a x + b, for samples: a function of pairs, which does not commute."""
    a, c, d, e = (Var(ShapedArray((), np.dtype(np.float32))) for _ in range(4))
    ad, cd, out = (Var(ShapedArray((), np.dtype(np.float32))) for _ in range(3))
    eqns = [JaxprEqn([a, d], [ad], mul_p, {}), JaxprEqn([c, d], [cd], mul_p, {}), JaxprEqn([cd, e], [out], add_p, {})]
    return Jaxpr([], [a, c, d, e], [ad, out], eqns)


reduce_p = Op(
    name="reduce", params=("computation", "jaxpr", "dimensions"), multiple=True,
    abstract=_abstract, eager=_eager, jvp=Expand(_reduced), transpose=Missing("a general reduction is not linear"),
    batch=Expand(_reduced), cpu=_cpu, hlo=_hlo, samples=Samples(
        shapes=[[s, s, (), ()] for s in ((3,), (2, 5), (2, 3, 4), (0, 2))], ulps=32, params=[
            {"computation": None, "jaxpr": affine_program(), "dimensions": d} for d in ((0,), (1,), (0, 2), (0,))]))


# -------------------------------------------------------------------------------------------- public function

def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int],
           out_sharding: Any = None) -> Any:
    """Combines the elements of arrays along `dimensions`, starting from init_values, by an associative function.

    Args:
      operands: an array, or a tree of arrays of one shape, which are reduced together.
      init_values: a scalar, or a tree of them of the same structure; identities of the function.
      computation: function of two scalars (or of two trees of them, x and y) to one, made of elementwise operations.
        In which order elements are combined is not specified. Its result may be another tree with the same leaves.
      dimensions: the axes that the results lack. Without any the operands are the results, as in JAX.

    Returns:
      The reduced arrays, in the tree that the computation returns.

    Raises:
      TypeError: the function returns other dtypes or shapes than it takes, or dtypes differ. ValueError: it returns more or
        fewer scalars than it takes, or shapes or axes don't fit.
      NotImplementedError: the function uses operations that are not elementwise, or values of an outer function.

    >>> from numjet import lax
    >>> reduce(np.array([1, 5, 3], np.int32), np.int32(0), lax.max, (0,)).tolist()
    5
    """
    check_unsharded("reduce", out_sharding)
    xs, structure = tree.tree_flatten(operands)
    inits, init_structure = tree.tree_flatten(init_values)
    if structure != init_structure:
        raise ValueError("Operands must have the same tree structure as init_values: "
                         f"got {structure} and {init_structure}")
    axes = tuple(map(operator.index, dimensions))
    if not axes:
        return tree.tree_unflatten(structure, list(map(stage, xs)))
    avals = [aval_of(x) for x in xs]
    jaxpr, structure = trace_computation("reduce", computation, structure,
                                         [ShapedArray((), a.dtype, a.weak_type) for a in avals])
    monoid = monoid_of(jaxpr)
    given, inits = inits, [typed_init(i, a, monoid) for i, a in zip(inits, avals, strict=True)]
    if monoid == "add":
        check_half_sum(xs[0], axes)
    if monoid is not None and not any(aval_of(i).ndim for i in inits) and aval_of(inits[0]).dtype == avals[0].dtype:
        found = _by_monoid(monoid, xs[0], inits[0], axes)
        strong = found.aval.weak_type and not aval_of(given[0]).weak_type
        return tree.tree_unflatten(structure, [convert_dtype(found) if strong else found])
    outs = reduce_p.bind(*xs, *inits, computation=computation, jaxpr=jaxpr, dimensions=axes)
    return tree.tree_unflatten(structure, outs)


def typed_init(init: Any, aval: ShapedArray, monoid: str | None) -> Any:
    """The initial value in the dtype of its operand: a Python number of no higher kind, or the identity of a monoid (of any
    dtype). Others stay as they are, so that records refuse them: a rounded value would be another one.
    """
    if monoid is not None and is_identity(monoid, init, aval.dtype):
        value = np.asarray(IDENTITIES[monoid](aval.dtype))
    elif type(init) in (bool, int, float, complex) and _fits(init, aval.dtype):
        value = np.asarray(init)
    else:
        return init
    return Literal(value.astype(aval.dtype)[()], ShapedArray((), aval.dtype, True))


def _fits(number: complex, dtype: np.dtype) -> bool:
    kind = dtypes.kind(dtype)
    if kind in "iu":
        info = np.iinfo(dtype)
        return isinstance(number, int) and info.min <= number <= info.max
    lower: tuple[type, ...] = {"b": (bool,), "f": (int, float), "c": (int, float, complex)}[kind]
    return isinstance(number, lower)


def trace_computation(name: str, computation: Callable[..., Any], structure: Any,
                      avals: Sequence[ShapedArray]) -> tuple[Jaxpr, Any]:
    """The jaxpr of a function of two trees of scalars, a parameter of the function `name`, and the structure of its result.
    NotImplementedError unless it is elementwise throughout, ValueError for more or fewer scalars than it takes."""
    out_structure = None

    def flat(*args: Any) -> list[Any]:
        nonlocal out_structure
        half = len(avals)
        out = computation(tree.tree_unflatten(structure, args[:half]), tree.tree_unflatten(structure, args[half:]))
        leaves, out_structure = tree.tree_flatten(out)
        if len(leaves) != half:
            raise ValueError(f"{name} output must have as many leaves as the operands: {structure} vs. {out_structure}")
        return leaves

    jaxpr, consts = trace_to_jaxpr(flat, [*avals, *avals], DebugInfo(getattr(computation, "__name__", "computation"),
                                                                     "reduce"))
    if not consts:
        jaxpr = without_calls(jaxpr)
    _check_computation(jaxpr, consts, avals)
    return jaxpr, out_structure


def _check_computation(jaxpr: Jaxpr, consts: Sequence[Any], avals: Sequence[ShapedArray]) -> None:
    if consts:
        what = "tracers" if any(isinstance(c, Tracer) for c in consts) else "arrays"
        raise NotImplementedError(f"reduce: the computation uses {what} from outside of it: {consts}. "
                                  "Pass what it needs as operands, or use lax.scan.")
    for eqn in jaxpr.eqns:
        if not eqn.primitive.elementwise:
            raise NotImplementedError(f"reduce: the computation must be made of elementwise operations on scalars, "
                                      f"but it uses '{eqn.primitive.name}'; use lax.scan for other functions")
    got = [v.aval for v in jaxpr.outvars]
    if any(g.shape != () or g.dtype != a.dtype for g, a in zip(got, avals, strict=True)):
        raise TypeError("reduce: computation must return scalars of the dtypes it takes, "
                        f"{[dtypes.long_name(a.dtype) for a in avals]}, got {[str(g) for g in got]}")


def monoid_of(jaxpr: Jaxpr) -> str | None:
    """The function as one operation on its two parameters by which an operation reduces; None for other functions."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2 or jaxpr.outvars != list(jaxpr.eqns[0].outvars):
        return None
    eqn = jaxpr.eqns[0]
    name, dtype = eqn.primitive.name, jaxpr.invars[0].aval.dtype
    if name not in _REDUCTIONS or set(eqn.invars) != set(jaxpr.invars) or (dtype.kind == "b" and name in ("add", "mul")):
        return None
    return name


def _by_monoid(name: str, x: Any, init: Any, axes: Ints) -> Any:
    out = _REDUCTIONS[name].bind(x, axes=axes)
    return out if is_identity(name, init, aval_of(x).dtype) else call(name, out, broadcast_in_dim(init, aval_of(out).shape, ()))


def is_identity(name: str, init: Any, dtype: np.dtype) -> bool:
    """Whether an initial value is known, and the identity of a monoid."""
    if isinstance(init, Tracer):
        return False
    value = init.val if isinstance(init, Literal) else np.asarray(init)
    identity = np.asarray(IDENTITIES[name](dtype)).astype(dtype)
    infinity = {"max": -np.inf, "min": np.inf}.get(name) if dtypes.kind(dtype) in "biu" else None
    return value.ndim == 0 and bool((value == identity) | (infinity is not None and value == infinity))
