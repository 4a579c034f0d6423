"""`cond` and `switch`: branches chosen by a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.branches.cond_op import Branches, clamped, cond_p, forwarded, with_common_consts, without_outs
from numjet.control.call.body_tracing import Body, trace_body
from numjet.control.call.ref_threading import holds_refs, thread, without_refs
from numjet.control.loops.carries import as_arrays
from numjet.control.type_errors import check_branches
from numjet.core import hooks
from numjet.core.nan_checks import check_parts, checked_kinds
from numjet.core.snapshots import frozen
from numjet.core.trace import Array, Tracer, aval_of, current_trace, is_array_like, is_users
from numjet.core.user_functions import is_own, where
from numjet.core.walk import eval_closed
from numjet.foundation import source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension
from numjet.lax.collective.varying import as_varying
from numjet.lax.elementwise.compare import clamp, ne
from numjet.lax.elementwise.convert import cast, convert_dtype, convert_element_type_p

_missing: Any = object()
_INT32 = np.dtype(np.int32)


@source.api_boundary
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = _missing) -> Any:
    """true_fun(*operands) where `pred` holds, else false_fun(*operands); only one of them runs.

    (Under vmap with a predicate per element both run, and each element takes its own result.) With a known predicate, only
    the chosen function becomes part of the program.

    Args:
      pred: boolean scalar; numbers count as true when they are not zero.
      true_fun, false_fun: functions of the operands, whose results have equal structures and types.
      operands: pytrees of arrays. `operand=x` is an older way to give a single one, and so is
        `cond(pred, true_operand, true_fun, false_operand, false_fun)`, with an operand for each function.

    Raises:
      TypeError: the predicate is not a scalar; the functions disagree on the structure or types of the result.

    >>> from numjet import lax
    >>> float(lax.cond(True, lambda x: x + 1, lambda x: x - 1, 10.0))
    11.0
    """
    if len(operands) == 2 and operand is _missing and _are_of_two_operands(true_fun, false_fun, operands[1]):
        return _cond_of_two_operands(pred, true_fun, false_fun, *operands)
    if not callable(true_fun) or not callable(false_fun):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _only_operands("cond", operands, operand)
    _check_predicate(pred)
    if config.disable_jit and not isinstance(pred, Tracer):
        return (true_fun if np.asarray(pred) != 0 else false_fun)(*operands)
    if aval_of(pred).dtype != np.bool_:
        pred = ne(pred, np.zeros((), aval_of(pred).dtype))
    index = np.int32(bool(pred)) if not isinstance(pred, Tracer) else cast(pred, _INT32)
    return branch("cond", index, [false_fun, true_fun], ["false_fun", "true_fun"], operands)


def _are_of_two_operands(second: Any, third: Any, fifth: Any) -> bool:
    """Whether the arguments after the predicate are true_operand, true_fun, false_operand, false_fun."""
    return callable(third) and callable(fifth) and not callable(second)  # operands may be callable, too


def _cond_of_two_operands(pred: Any, true_operand: Any, true_fun: Callable[..., Any], false_operand: Any,
                          false_fun: Callable[..., Any]) -> Any:
    return cond(pred, lambda true, false: true_fun(true), lambda true, false: false_fun(false), true_operand, false_operand)


@source.api_boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _missing) -> Any:
    """branches[index](*operands); only that branch runs. An index out of bounds takes the nearest branch.

    Args:
      index: integer scalar.
      branches: functions of the operands, whose results have equal structures and types.
      operands: pytrees of arrays.

    Raises:
      TypeError: the index is not an integer scalar; branches disagree on the structure or types of the result.
      ValueError: there are no branches.

    >>> from numjet import lax
    >>> float(lax.switch(5, [lambda x: x, lambda x: x * 2], 10.0))
    20.0
    """
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _only_operands("switch", operands, operand)
    if isinstance(index, Dimension):
        index = index.__jax_array__()
    _check_index(index)
    branches = list(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    if not isinstance(index, Tracer):
        known = clamped(np.asarray(index), len(branches))
        if config.disable_jit:
            return branches[known](*operands)
        index = np.int32(known)
    else:
        index = clamp(np.int32(0), convert_dtype(index, _INT32), np.int32(len(branches) - 1))
    return branch("switch", index, branches, ["branch 0", *[f"branch{i}" for i in range(1, len(branches))]], operands)


def _only_operands(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The positional operands, or the single one of the keyword `operand`; TypeError for both."""
    if operand is _missing:
        return operands
    if operands:
        raise TypeError("if 'operand' keyword is passed then no positional operands can be passed, "
                        f"got operand={operand!r} and positional operands {operands}, in a call of {name}")
    return (operand,)


def _check_predicate(pred: Any) -> None:
    if pred is None:
        raise TypeError("cond predicate is None: expected a boolean or a number")
    if not is_array_like(pred):
        if callable(pred):
            raise TypeError(f"Pred type must be either boolean or number, got {pred}. Pass its result, pred(...).")
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}. Pred type must be either boolean or number")
    aval = aval_of(pred)
    if aval.shape:
        raise TypeError(
            f"Pred must be a scalar, got {pred} of shape {aval.shape}. To choose element by element, use jnp.where(pred, a, b)."
        )
    if aval.dtype.kind not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {aval}.")


def _check_index(index: Any) -> None:
    if not is_array_like(index):
        shape = _shape_of_sequence(index)
        if shape:
            raise TypeError(f"Branch index must be scalar, got {index} of shape {shape}.")
        raise TypeError(f"Index type must be an integer, got {index}. It is a {type(index).__name__}.")
    aval = aval_of(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if aval.dtype.kind not in "iu":
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype.name}")


def _shape_of_sequence(x: Any) -> tuple[int, ...]:
    return (len(x), *(_shape_of_sequence(x[0]) if x else ())) if isinstance(x, (list, tuple)) else ()


def branch(
    kind: str, index: Any, functions: Sequence[Callable[..., Any]], names: Sequence[str], operands: Sequence[Any]
) -> Any:
    """The function number `index` (in bounds), applied to the operands. kind, names: for messages."""
    if hooks.holds_above(operands):
        return hooks.above["branch"](branch, kind, index, functions, names, operands)
    if holds_refs(operands):
        operands, functions = without_refs(operands, functions, kind)
    return thread(lambda refs: _branch(kind, index, functions, names, operands) if refs is None
                  else _branch(kind, index, [refs.pure(f) for f in functions], names, [refs.values, *operands]))


def _branch(
    kind: str, index: Any, functions: Sequence[Callable[..., Any]], names: Sequence[str], operands: Sequence[Any]
) -> Any:
    leaves, in_tree = tree.tree_flatten(tuple(operands))
    leaves = [frozen(x) for x in leaves]
    avals = [aval_of(x) for x in leaves]
    # The order in which functions are traced, and in which messages speak of them: true_fun first.
    order = [1, 0] if kind == "cond" else list(range(len(functions)))
    trace = lambda f: trace_body(f, in_tree, avals, kind, captures=True)
    bodies = _traced_once([functions[i] for i in order], trace)
    if all(map(is_own, functions)):
        bodies = _varying_alike([functions[i] for i in order], bodies, trace)
    bodies = [bodies[i] for i in order]  # both orders are their own inverse
    check_branches(kind, [names[i] for i in order], [where(functions[i]) for i in order], [bodies[i].out_tree for i in order],
                   [bodies[i].jaxpr.out_avals for i in order])
    if not isinstance(index, Tracer) and not is_users(current_trace()):
        outs = _evaluate(bodies[int(index)], bodies, leaves)
    else:
        branches, consts = with_common_consts([(b.jaxpr, b.consts) for b in bodies])
        outs = _bind(index, [*consts, *leaves], branches)
    return tree.tree_unflatten(bodies[0].out_tree, outs)


def _traced_once(functions: Sequence[Callable[..., Any]], trace: Callable[[Callable[..., Any]], Body]) -> list[Body]:
    """The body of each function. A function that stands for several branches is traced once: its side effects happen once."""
    bodies: dict[int, Body] = {}
    for f in functions:
        if id(f) not in bodies:
            bodies[id(f)] = trace(f)
    return [bodies[id(f)] for f in functions]


def _varying_alike(functions: Sequence[Callable[..., Any]], bodies: list[Body], trace: Callable[[Callable[..., Any]], Body]
                   ) -> list[Body]:
    """The bodies of numjet's own functions, whose results vary over the axes of the mesh over which those of any of them do;
    users are asked for a `pcast` (see control.type_errors)."""
    if len({b.out_tree for b in bodies}) > 1:
        return bodies
    over = [frozenset[Any]().union(*[a.vma for a in outs]) for outs in zip(*[b.jaxpr.out_avals for b in bodies], strict=True)]

    def varied(f: Callable[..., Any]) -> Callable[..., Any]:
        def branch(*args: Any) -> Any:
            leaves, structure = tree.tree_flatten(f(*args))
            missing = [tuple(sorted(axes - aval_of(x).vma, key=str)) for x, axes in zip(leaves, over, strict=True)]
            return tree.tree_unflatten(structure, [as_varying(x, m) for x, m in zip(leaves, missing, strict=True)])
        return branch
    fits = [all(a.vma == axes for a, axes in zip(b.jaxpr.out_avals, over, strict=True)) for b in bodies]
    return [b if fit else trace(varied(f)) for f, b, fit in zip(functions, bodies, fits, strict=True)]


def _bind(index: Any, args: list[Any], branches: Branches) -> list[Any]:
    """The results of the operation; those that every branch passes through are the arguments themselves, so they depend on
    no index, mapped or not."""
    passed = forwarded(branches)
    found = iter(cond_p.bind(index, *args, branches=tuple(without_outs(b, passed) for b in branches)))
    return [next(found) if i is None else as_arrays(args[i]) for i in passed]


def _evaluate(chosen: Body, bodies: Sequence[Body], leaves: Sequence[Any]) -> list[Any]:
    """The chosen branch, operation by operation; a result is weakly typed where that of the first branch is."""
    outs = eval_closed(chosen.jaxpr, *chosen.consts, *leaves)
    if checked_kinds():
        for x in outs:
            check_parts(x, "cond")
    return [_typed(x, a.weak_type) for x, a in zip(outs, bodies[0].jaxpr.out_avals, strict=True)]


def _typed(x: Any, weak: bool) -> Any:
    aval = aval_of(x)
    if aval.weak_type == weak and isinstance(x, (Array, Tracer)):
        return x
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=weak)
