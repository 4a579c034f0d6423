"""User-defined partitioning: a function that says itself how its work is divided among devices.

Shardy learns from the sharding rule how operands and results are divided together. When XLA divides the program, it calls
back with the shardings that it chose, and gets the program of one device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.body_tracing import trace_body
from numjet.control.shards import sharding_rule as rules
from numjet.control.shards.sharding_rule import SdyShardingRule
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Missing, Op
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation.dtypes import long_name
from numjet.foundation.record import Fields
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from numjet.foundation.util import function_name, wraps

_CLOSED = "custom_partitioning of a function that closes over traced values: pass these as arguments"


class PartitionedShape:
    """Shape, dtype and sharding of an operand or result, for a user's partition function."""

    __slots__ = ("shape", "dtype", "sharding")

    def __init__(self, shape: tuple[int, ...], dtype: Any, sharding: Any):
        self.shape, self.dtype, self.sharding = shape, dtype, sharding

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: ShapedArray(self.shape, self.dtype).size)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={long_name(self.dtype)}, sharding={self.sharding})"


class Partitioner(Fields):
    """What XLA asks when it divides one call: the user's functions, with the structure of operands and results."""

    partition: Callable[..., Any]
    infer: Callable[..., Any] | None
    propagate: Callable[..., Any] | None
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    static_args: tuple[Any, ...]
    mesh: Any

    def _shapes(self, avals: Sequence[ShapedArray], shardings: Sequence[Any], tree: PyTreeDef) -> Any:
        return tree_unflatten(tree, [PartitionedShape(a.shape, a.dtype, s) for a, s in zip(avals, shardings, strict=True)])

    def divide(self, ins: Sequence[Any], outs: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any], list[Any]]:
        """The program of one device for shardings of operands and results, and the shardings that it wants."""
        args, result = self._shapes(self.in_avals, ins, self.in_tree), self._shapes(self.out_avals, outs, self.out_tree)
        mesh, lower, result_shardings, arg_shardings = self.partition(*self.static_args, self.mesh, args, result)
        if mesh != self.mesh:
            raise ValueError(f"custom_partitioning: partition gave the mesh {mesh}, expected the one that it got, {self.mesh}")
        wanted, given = tree_leaves(arg_shardings), tree_leaves(result_shardings)
        if len(wanted) != len(ins) or len(given) != len(outs):
            raise ValueError(
                f"custom_partitioning: partition gave {len(wanted)} shardings of operands and {len(given)} of "
                f"results, expected {len(ins)} and {len(outs)}"
            )
        parts = [ShapedArray(s.shard_shape(a.shape), a.dtype) for a, s in zip(self.in_avals, wanted, strict=True)]
        program = trace_to_closed(lambda *xs: tree_leaves(lower(*tree_unflatten(self.in_tree, xs))), parts)
        expected = [ShapedArray(s.shard_shape(a.shape), a.dtype) for a, s in zip(self.out_avals, given, strict=True)]
        found = [ShapedArray(a.shape, a.dtype) for a in program.out_avals]
        if found != expected:
            raise ValueError(
                "custom_partitioning: Mismatch in result shapes. The function that partition gave returns "
                f"{[a.str_short() for a in found]}, the result shardings say {[a.str_short() for a in expected]}"
            )
        return program, wanted, given

    def results(self, ins: Sequence[Any]) -> list[Any]:
        """The shardings of results for those of operands."""
        if self.infer is None:
            raise ValueError("custom_partitioning: def_partition got no infer_sharding_from_operands")
        args = self._shapes(self.in_avals, ins, self.in_tree)
        result = self._shapes(self.out_avals, [None] * len(self.out_avals), self.out_tree)
        return tree_leaves(self.infer(*self.static_args, self.mesh, args, result))


def _hlo(
    b: Any,
    *args: Any,
    call: ClosedJaxpr,
    partition: Any,
    infer_sharding_from_operands: Any,
    propagate_user_sharding: Any,
    sharding_rule: Any,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    static_args: tuple[Any, ...],
    **_: Any,
) -> list[Any]:
    if b.partitions is None or b.shards is not None:
        return b.inline(call, args)
    ins, outs = tuple(a.aval for a in args), tuple(call.out_avals)
    asked = Partitioner(
        partition,
        infer_sharding_from_operands,
        propagate_user_sharding,
        in_tree,
        out_tree,
        ins,
        outs,
        static_args,
        b.partitions.given_mesh,
    )
    rule = sharding_rule
    if callable(rule) and not isinstance(rule, SdyShardingRule):
        rule = rule(*static_args, b.partitions.given_mesh, list(ins), list(outs))
        rule = rules.parse(rule) if isinstance(rule, str) else rule
    text = None if rule is None else rule.text([a.shape for a in ins], [a.shape for a in outs])
    return b.partitioned_call(args, list(outs), asked, text)


custom_partitioning_p: Op = Op(
    name="custom_partitioning",
    multiple=True,
    programs=True,
    compiled=True,
    params=(
        "call",
        "partition",
        "infer_sharding_from_operands",
        "propagate_user_sharding",
        "decode_shardings",
        "sharding_rule",
        "in_tree",
        "out_tree",
        "static_args",
    ),
    abstract=lambda *avals, call, **_: call.out_avals,
    eager=lambda *args, call, **_: eval_closed(call, *args),
    jvp=Missing("wrap the function in custom_vjp or custom_jvp, and give it derivatives"),
    transpose=Missing("wrap the function in custom_vjp or custom_jvp, and give it derivatives"),
    batch=Missing("its partition function is for arrays without a batch: use lax.map, or custom_vmap around it"),
    cpu=lambda b, *args, call, **_: b.inline(call, args),
    hlo=_hlo,
    samples=Missing("holds a program and functions"),
)


class custom_partitioning:
    """A function whose partitioning over devices `def_partition` says. On one device it is the function itself.

    static_argnums: arguments that are Python values; they come first in calls of the user's functions.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> @custom_partitioning
    ... def double(x):
    ...     return x * 2
    >>> def partition(mesh, args, result):
    ...     return mesh, lambda x: x * 2, result.sharding, (args[0].sharding,)
    >>> _ = double.def_partition(partition, sharding_rule="... -> ...")
    >>> nj.jit(double)(jnp.ones(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()):
        self.fun, self.static_argnums = fun, tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        wraps(fun)(self)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Says how the function is partitioned.

        partition(*static, mesh, arg_shapes, result_shape) -> (mesh, function of parts, shardings of results, of operands).
        sharding_rule: a text (see SdyShardingRule), a SdyShardingRule, or a function(*static, mesh, operand types, result
        types) that gives one; the other arguments are the rule's. infer_sharding_from_operands, propagate_user_sharding: the
        same for XLA's former partitioner. ValueError for a rule that is not well formed.
        """
        kinds = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        if isinstance(sharding_rule, str):
            sharding_rule = rules.parse(sharding_rule, **kinds)
        elif sharding_rule is not None and not isinstance(sharding_rule, SdyShardingRule) and not callable(sharding_rule):
            raise TypeError(f"rule must be a str, a SdyShardingRule or a function, but got {type(sharding_rule)}")
        elif any(kinds.values()):
            raise ValueError(
                "factor kinds and sizes are part of sharding_rule, which is no text: give them there, got "
                f"{ {k: v for k, v in kinds.items() if v} }"
            )
        self.partition, self.infer, self.propagate = partition, infer_sharding_from_operands, propagate_user_sharding
        self.rule, self.decode = sharding_rule, decode_shardings
        return partition

    def __call__(self, *args: Any) -> Any:
        if self.partition is None:
            raise ValueError(
                f"custom_partitioning: {function_name(self.fun)} has no partition function: call def_partition first"
            )
        static = tuple(args[n] for n in self.static_argnums)
        dynamic = [a for n, a in enumerate(args) if n not in self.static_argnums]

        def fun(*given: Any) -> Any:
            rest = iter(given)
            return self.fun(*[a if n in self.static_argnums else next(rest) for n, a in enumerate(args)])

        fun.__name__ = function_name(self.fun)
        leaves, in_tree = tree_flatten(tuple(dynamic))
        body = trace_body(fun, in_tree, [aval_of(x) for x in leaves], "custom_partitioning")
        if body.consts:
            raise ValueError(_CLOSED)
        outs = custom_partitioning_p.bind(
            *leaves,
            call=body.jaxpr,
            partition=self.partition,
            infer_sharding_from_operands=self.infer,
            propagate_user_sharding=self.propagate,
            decode_shardings=self.decode,
            sharding_rule=self.rule,
            in_tree=in_tree,
            out_tree=body.out_tree,
            static_args=static,
        )
        return tree_unflatten(body.out_tree, outs)
