"""Common parts of loops: carries whose Python scalars adapt to the loop, and fixpoints over flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.call.body_tracing import Body
from numjet.control.call.jaxpr_transforms import Flags, cached_by_program, union
from numjet.control.type_errors import same_type
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Var
from numjet.core.snapshots import frozen
from numjet.core.trace import aval_of
from numjet.core.user_functions import is_own
from numjet.foundation import dtypes, tree
from numjet.foundation.dtypes.table import float0
from numjet.foundation.util import partition_list, split_list
from numjet.lax.collective.varying import pvary_p
from numjet.lax.elementwise.convert import convert_dtype, convert_element_type_p

EXACT_ROUNDS = 4   # of a fixpoint, before all dependent flags are raised, too


def trace_with_carry(
    trace: Callable[[list[ShapedArray]], Body], init: Sequence[Any], outputs: Callable[[Body], list[ShapedArray]],
    fun: Callable[..., Any]
) -> tuple[Body, list[Any], list[ShapedArray]]:
    """Traces a loop's body; weakly typed initial values take the dtype that the body returns for them. In functions of shards
    initial values of numjet's own loops vary over the axes over which what the body returns for them does; users are asked
    for a `pcast` (see control.type_errors).

    trace: traces the body for a carry of these avals. outputs: avals of the carry that a traced body returns. fun: the body.
    Returns the body, the initial values and their avals. Stops when nothing is left to adapt; the caller checks
    whether the types then agree.
    """
    init, joins = list(init), is_own(fun)
    while True:
        avals = [aval_of(x) for x in init]
        body = trace(avals)
        out = outputs(body)
        if len(out) != len(avals):
            return body, init, avals
        wanted = [_adapted(a, b) for a, b in zip(avals, out, strict=True)]
        axes = [_missing_axes(a, b) if joins else () for a, b in zip(avals, out, strict=True)]
        if all(w is None for w in wanted) and not any(axes):
            return body, init, avals
        init = [x if w is None else _strong(x, w) for x, w in zip(init, wanted, strict=True)]
        init = [pvary_p.bind(x, axes=over) if over else x for x, over in zip(init, axes, strict=True)]


def _strong(x: Any, dtype: np.dtype) -> Any:
    """x in `dtype`, not weakly typed. A Python scalar remains a literal of the program."""
    found = convert_dtype(x, dtype)
    return np.asarray(found)[()] if dtypes.is_python_scalar(x) else found


def _missing_axes(before: ShapedArray, after: ShapedArray) -> tuple[Any, ...]:
    """The axes of the mesh over which a value of the carry should vary from the start."""
    return () if before.shape != after.shape else tuple(sorted(after.vma - before.vma, key=str))


def _adapted(before: ShapedArray, after: ShapedArray) -> Any:
    """The dtype that a weakly typed value of the carry should have from the start; None to leave it."""
    if not before.weak_type or before.shape != after.shape or same_type(before, after):
        return None
    return dtypes.result_type(before, after)


def fixpoint(step: Callable[[Flags], tuple[Any, Sequence[bool]]], start: Sequence[bool],
             leads: Callable[[], Sequence[int]] | None = None) -> tuple[Any, Flags]:
    """Fixpoint: raises flags until step(flags) -> (result, flags) raises none; that result and the flags.

    Ends, as flags are only ever raised. leads: for every flag, the flags that may follow from it, as bits of a number. In a
    long chain, all flags that may follow are raised at once after a few rounds: that may be more than necessary, but
    every round costs as much as the whole derivation.
    """
    flags, rounds = tuple(start), 0
    while True:
        result, out = step(flags)
        raised = union(flags, out)
        if raised == flags:
            return result, flags
        rounds += 1
        flags = raised if rounds < EXACT_ROUNDS or leads is None else _followers(raised, leads())


def _followers(flags: Flags, leads: Sequence[int]) -> Flags:
    """The flags, and all that may follow from them."""
    found = 0
    stack = [k for k, flag in enumerate(flags) if flag]
    while stack:
        k = stack.pop()
        if not found >> k & 1:
            found |= 1 << k
            new = leads[k] & ~found
            stack += [j for j in range(len(flags)) if new >> j & 1]
    return tuple(bool(found >> k & 1) for k in range(len(flags)))


def forwards(body: ClosedJaxpr, num_consts: int, num_carry: int, differentiated: bool = False) -> Callable[[], list[int]]:
    """For every carry of a loop, the carries of the next iteration that depend on it; see `fixpoint`.

    differentiated: without carries that have no derivative, as integers.
    """
    def leads() -> list[int]:
        reads = _carries_read(body, num_consts, num_carry)
        if differentiated:
            outs = body.jaxpr.outvars[:num_carry]
            reads = [r if v.aval.to_tangent_aval().dtype != float0 else 0 for r, v in zip(reads, outs, strict=True)]
        return [sum(1 << j for j, read in enumerate(reads) if read >> k & 1) for k in range(num_carry)]
    return leads


def backwards(body: ClosedJaxpr, num_consts: int, num_carry: int) -> Callable[[], list[int]]:
    """For every carry of the next iteration, the carries that it depends on; see `fixpoint`."""
    return lambda: _carries_read(body, num_consts, num_carry)


def _carries_read(body: ClosedJaxpr, num_consts: int, num_carry: int) -> list[int]:
    """For every carry that an iteration returns, the bits of those that it depends on."""
    jaxpr = body.jaxpr
    reads = {v: 1 << k for k, v in enumerate(jaxpr.invars[num_consts : num_consts + num_carry])}
    for eqn in jaxpr.eqns:
        bits = 0
        for atom in eqn.invars:
            if isinstance(atom, Var):
                bits |= reads.get(atom, 0)
        if bits:
            reads.update((v, bits) for v in eqn.outvars)
    return [reads.get(v, 0) if isinstance(v, Var) else 0 for v in jaxpr.outvars[:num_carry]]


def unchanged(body: ClosedJaxpr, num_consts: int, num_carry: int) -> Flags:
    """Loop invariants: the carries that the body returns as they came."""
    carry = body.jaxpr.invars[num_consts : num_consts + num_carry]
    return tuple(v is out for v, out in zip(carry, body.jaxpr.outvars, strict=False))


@cached_by_program
def with_invariants(body: ClosedJaxpr, num_consts: int, fixed: Flags, dropped: Flags) -> ClosedJaxpr:
    """The body with those carries as constants, in front of the others, and without the results that `dropped` marks."""
    jaxpr = body.jaxpr
    consts, carry, rest = split_list(jaxpr.invars, [num_consts, len(fixed)])
    changing, constant = partition_list(fixed, carry)
    outs = [v for v, drop in zip(jaxpr.outvars, dropped, strict=True) if not drop]
    return ClosedJaxpr(jaxpr.replace(invars=[*constant, *consts, *changing, *rest], outvars=outs))


@cached_by_program
def without_inputs(closed: ClosedJaxpr, dropped: Flags) -> ClosedJaxpr:
    """The program without inputs that nothing reads."""
    kept = [v for v, drop in zip(closed.jaxpr.invars, dropped, strict=True) if not drop]
    return ClosedJaxpr(closed.jaxpr.replace(invars=kept))


def as_arrays(values: Any) -> Any:
    """A pytree with its scalars as (weakly typed) arrays and NumPy's arrays as immutable ones, for a loop's body."""
    def convert(x: Any) -> Any:
        x = frozen(x)
        if not isinstance(x, (bool, int, float, complex, np.generic)):
            return x
        aval = aval_of(x)
        return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)
    return tree.tree_map(convert, values)
