"""Optimization barriers, tokens and sinks. A barrier hides its operands from the compiler; tokens order operations without
common values; a sink keeps what computes its operands from being removed."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Missing, Op, Samples, Zero
from numjet.core.traits import EXACT, KEEPS_APART
from numjet.foundation import tree
from numjet.lax.shape.rearrange import reshaped

TOKEN = ShapedArray((0,), np.dtype(np.bool_))


def _barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    return optimization_barrier_p.bind(*primals), _behind(tangents)


def _behind(values: Sequence[Any]) -> list[Any]:
    """The values that are not symbolic zeros, behind one barrier."""
    real = [v for v in values if not isinstance(v, Zero)]
    held = iter(optimization_barrier_p.bind(*real) if real else ())
    return [v if isinstance(v, Zero) else next(held) for v in values]


optimization_barrier_p: Op = Op(
    name="optimization_barrier", multiple=True, abstract=lambda *xs: list(xs), eager=lambda *xs: list(xs),
    jvp=_barrier_jvp, transpose=lambda cts, *xs: _behind(cts), linear_in=(0,),
    batch=lambda size, args, dims: (optimization_barrier_p.bind(*args), list(dims)),
    cpu=lambda b, *xs: [b.materialize(x) for x in xs],
    hlo=lambda b, *xs: b.op("stablehlo.optimization_barrier", xs, [x.aval for x in xs]), traits=EXACT | KEEPS_APART,
    samples=Samples(shapes=([(3,)], [(2, 3), ()], [(0,), (40,), (2,)]), dtypes=("float32", "bfloat16", "int8", "complex64"),
                    ulps=0))


def optimization_barrier(operand: Any, /) -> Any:
    """The operand, a pytree of arrays, whose values are computed before anything that uses a result of the barrier.

    The compiler merges no operation behind the barrier with an equal one before it, and simplifies nothing across it.
    Derivatives have barriers of their own.

    >>> optimization_barrier((1.0, {"a": 2}))
    (Array(1., dtype=float32, weak_type=True), {'a': Array(2, dtype=int32, weak_type=True)})
    """
    leaves, structure = tree.tree_flatten(operand)
    return tree.tree_unflatten(structure, optimization_barrier_p.bind(*leaves) if leaves else [])


# ------------------------------------------------------------------------------------------------ tokens

def _after_abstract(*tokens: ShapedArray) -> ShapedArray:
    if any((t.shape, t.dtype) != (TOKEN.shape, TOKEN.dtype) for t in tokens):
        raise TypeError("Arguments to after_all must be tokens, which after_all() makes, got "
                        + ", ".join(t.str_short() for t in tokens))
    return TOKEN


def _after_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, None]:
    plain = [t if d is None else reshaped(t, TOKEN.shape) for t, d in zip(args, dims, strict=True)]
    return after_all_p.bind(*plain), None


after_all_p: Op = Op(
    name="after_all", abstract=_after_abstract, eager=lambda *tokens: np.zeros(TOKEN.shape, TOKEN.dtype), jvp=ZERO,
    transpose=Missing("tokens have no values"), batch=_after_batch,
    cpu=lambda b, *tokens: b.constant(np.zeros(TOKEN.shape, TOKEN.dtype)),
    hlo=lambda b, *tokens: b.constant(np.zeros(TOKEN.shape, TOKEN.dtype)), traits=EXACT | KEEPS_APART,
    samples=Samples(shapes=([], [(0,)], [(0,), (0,)]), dtypes=("bool",)))


def after_all(*operands: Any) -> Any:
    """A token that comes after the given tokens; without operands, a new one.

    A token is an array without elements. Values that pass an optimization_barrier together with a token are computed before
    all operations that take the barrier's token. TypeError for operands that are no tokens.

    >>> after_all(after_all(), after_all()).shape
    (0,)
    """
    return after_all_p.bind(*operands)


def create_token(_: Any = None) -> Any:
    """A new token: after_all without operands. The argument is there for compatibility, and not read.

    >>> create_token().shape
    (0,)
    """
    return after_all()


# ------------------------------------------------------------------------------------------------ sinks

def _sink_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    dce_sink_p.bind(*primals)
    return [], []


def _sink_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[list[Any], list[int | None]]:
    dce_sink_p.bind(*args)
    return [], []


dce_sink_p: Op = Op(
    name="dce_sink", multiple=True, abstract=lambda *xs: [], eager=lambda *xs: [], jvp=_sink_jvp,
    transpose=Missing("it has no results"), batch=_sink_batch, cpu=lambda b, *xs: [], hlo=lambda b, *xs: [],
    effects=lambda: frozenset({effects.DEBUG}), samples=Missing("it has no results"))


def dce_sink(val: Any) -> None:
    """Keeps the computation of a pytree of arrays in traced programs, though nothing uses them. The compiler may still drop it.

    >>> import numjet as nj
    >>> [e.primitive.name for e in nj.make_jaxpr(lambda x: dce_sink(2 * x))(1.0).eqns]
    ['mul', 'dce_sink']
    """
    dce_sink_p.bind(*tree.tree_leaves(val))
