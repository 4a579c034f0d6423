"""`while_loop` and `fori_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.call.body_tracing import Body, cached_with, trace_body
from numjet.control.call.ref_threading import Threaded, thread
from numjet.control.loops.carries import as_arrays, trace_with_carry, unchanged, with_invariants, without_inputs
from numjet.control.loops.scan import scan
from numjet.control.loops.while_op import while_p
from numjet.control.type_errors import check_carry
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.trace import Tracer, aval_of
from numjet.core.user_functions import argument_names, where
from numjet.core.walk import use_counts
from numjet.foundation import dtypes, errors, source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension
from numjet.foundation.util import partition_list
from numjet.lax.elementwise.arithmetic import add
from numjet.lax.elementwise.compare import lt
from numjet.lax.elementwise.convert import convert_element_type_p


@source.api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Applies `body_fun` as long as `cond_fun` holds.

    Like the Python loop

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    compiled as one loop. Differentiable in both modes. In reverse mode the values in front of a bounded number of steps are
    stored, and the others computed again from those (see the flag `numjet_loop_checkpoint_bytes`): any number of steps needs
    the same memory. Under vmap with a condition per element the loop runs until the last element is done; elements that are
    done keep their values.

    Args:
      cond_fun: value -> boolean scalar.
      body_fun: value -> next value, of the same structure, shapes and dtypes.
      init_val: pytree of arrays. Python scalars in it take the dtype that `body_fun` returns for them.

    Raises:
      TypeError: the body changes the structure or types of the value; the condition is no boolean scalar.
      NotImplementedError: in reverse mode, where the loop has side effects, such as prints: steps are computed again.

    >>> from numjet import lax
    >>> int(lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 3))
    192
    """
    if not callable(cond_fun) or not callable(body_fun):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if hooks.holds_above(init_val):
        return hooks.above["while_loop"](while_loop, cond_fun, body_fun, init_val)
    if config.disable_jit and not any(isinstance(x, Tracer) for x in tree.tree_leaves(init_val)):
        try:
            return _python_loop(cond_fun, body_fun, init_val)
        except errors.ConcretizationTypeError:
            pass  # the condition depends on a captured tracer: the loop is staged
    try:
        return thread(lambda refs: _while_loop(cond_fun, body_fun, init_val) if refs is None
                      else _threaded(refs, cond_fun, body_fun, init_val))
    except _ConditionWrites:
        return _rotated(cond_fun, body_fun, as_arrays(init_val))


class _ConditionWrites(Exception):
    """The condition of a loop writes mutable references."""


def _rotated(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Loop rotation: the condition is computed before the loop and at the end of its body, which may write references."""
    def body(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        value = body_fun(carry[1])
        return cond_fun(value), value

    return while_loop(lambda carry: carry[0], cached_with(body_fun, body), (cond_fun(init_val), init_val))[1]


def _threaded(refs: Threaded, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """The loop with the values of mutable references in its carry; results as `thread` wants them."""
    pure_cond, pure_body = refs.pure(cond_fun), refs.pure(body_fun)

    def not_done(carry: tuple[Any, Any]) -> Any:
        holds, values = pure_cond(carry[1], carry[0])
        if any(new is not old for new, old in zip(values, carry[1], strict=True)):
            raise _ConditionWrites  # whether or not the body, which is traced first, uses the references, too
        return holds

    def body(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        return pure_body(carry[1], carry[0])

    return _while_loop(cached_with(cond_fun, not_done), cached_with(body_fun, body), (init_val, refs.values))


def _while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    init, init_tree = tree.tree_flatten(init_val)
    in_tree = tree.treedef_tuple([init_tree])
    body, init, avals = trace_with_carry(
        lambda carry: trace_body(body_fun, in_tree, carry, "while_body", captures=True), init, lambda b: b.jaxpr.out_avals,
        body_fun)
    check_carry("while_loop", "body function", init_tree, body.out_tree, avals, body.jaxpr.out_avals,
                argument_names(body_fun, in_tree), _root(body_fun), body_fun)
    cond = trace_body(cond_fun, in_tree, avals, "while_cond", captures=True)
    _check_condition(cond_fun, cond)
    return tree.tree_unflatten(body.out_tree, _results(cond, body, init))


def _results(cond: Body, body: Body, init: Sequence[Any]) -> list[Any]:
    """The results of the loop. Carries that the body never changes and the condition never reads are constants of the body."""
    count = len(body.consts)
    read = use_counts(cond.jaxpr.jaxpr)
    asked = [v in read for v in cond.jaxpr.jaxpr.invars[len(cond.consts) :]]
    fixed = tuple(f and not a for f, a in zip(unchanged(body.jaxpr, count, len(init)), asked, strict=True))
    changing, constant = partition_list(fixed, init)
    found = iter(while_p.bind(
        *cond.consts, *constant, *body.consts, *changing,
        cond_jaxpr=without_inputs(cond.jaxpr, (*(False,) * len(cond.consts), *fixed)), cond_nconsts=len(cond.consts),
        body_jaxpr=with_invariants(body.jaxpr, count, fixed, fixed), body_nconsts=len(constant) + count))
    return [as_arrays(x) if f else next(found) for x, f in zip(init, fixed, strict=True)]


def _root(body_fun: Callable[..., Any]) -> str:
    return argument_names(body_fun, tree.tree_structure((0,)))[0]


def _check_condition(cond_fun: Callable[..., Any], cond: Body) -> None:
    if cond.out_tree.num_leaves != 1 or not tree.treedef_is_leaf(cond.out_tree):
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {cond.out_tree}.")
    (aval,) = cond.jaxpr.out_avals
    if aval.shape != () or aval.dtype != np.bool_:
        raise TypeError(f"cond_fun must return a boolean scalar, but got output type(s) [{aval!r}]. It is {where(cond_fun)}."
                        f"{' Use jnp.all(...) or jnp.any(...).' if aval.shape else ''}")


def _python_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any) -> Any:
    """The loop in Python, for `disable_jit`."""
    value = as_arrays(value)
    while cond_fun(value):
        value = body_fun(value)
    return value


@source.api_boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Applies `body_fun(i, value)` for i from `lower` to `upper` - 1.

    With known bounds it is a `scan`, whose reverse mode stores what each step needs; with traced bounds a `while_loop`, whose
    reverse mode computes again what does not fit a bounded memory.

    Args:
      lower, upper: integer scalars; no steps when upper <= lower.
      body_fun: (i, value) -> next value, of the same structure, shapes and dtypes. With known bounds, or with a Python
        int as `lower`, i is weakly typed, as a Python int is; otherwise it has the dtype of the bounds.
      init_val: pytree of arrays.
      unroll: steps per turn of the compiled loop; more than one for known bounds only.

    Raises:
      TypeError: bounds that are no real numbers or of different types; the body changes the value's structure or types.
      ValueError: `unroll` with traced bounds.

    >>> from numjet import lax
    >>> int(lax.fori_loop(0, 5, lambda i, x: x + i, 0))
    10
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    if hooks.holds_above(init_val):
        return hooks.above["fori_loop"](fori_loop, lower, upper, body_fun, init_val, {"unroll": unroll})
    aval = _bound_aval(lower, upper)
    low, high = _known_int(lower), _known_int(upper)
    if low is None or high is None:
        if not (unroll is None or unroll is False or unroll == 1 and unroll is not True):  # more than a step per turn
            raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known: here "
                             "`lower` or `upper` is traced.")
        return _dynamic_loop(lower, upper, body_fun, init_val, aval)
    if config.disable_jit and high > low:
        init_val = as_arrays(init_val)
        for i in range(low, high):
            init_val = body_fun(as_arrays(i), init_val)
        return init_val
    (_, value), _ = scan(_counted(body_fun), (low, init_val), None, length=max(high - low, 0),
                         unroll=1 if unroll is None else unroll)
    return value


def _bound_aval(lower: Any, upper: Any) -> ShapedArray:
    """The common type of the bounds; Python ints adapt."""
    avals = [aval_of(lower), aval_of(upper)]
    strong = {a.dtype for a in avals if not a.weak_type}
    kinds = {dtypes.kind(a.dtype) for a in avals}
    if len(strong) > 1 or len(kinds) > 1 or not kinds <= set("iufb"):
        raise TypeError("lower and upper arguments to fori_loop must have equal types, got "
                        f"{avals[0].dtype.name} and {avals[1].dtype.name}; both must be real numbers")
    if any(a.shape for a in avals):
        raise TypeError(
            f"lower and upper arguments to fori_loop must be scalars, got shapes {avals[0].shape} and {avals[1].shape}"
        )
    return ShapedArray((), strong.pop()) if strong else avals[0]


def _known_int(x: Any) -> int | None:
    if isinstance(x, Dimension):
        return None
    if isinstance(x, Tracer):
        value = x.concrete()
        return None if value is None or isinstance(value, Tracer) else int(np.asarray(value)[()])
    return int(np.asarray(x)[()])


def _counted(body_fun: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def body(loop_carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, value = loop_carry
        return (add(i, 1), body_fun(i, value)), None

    body.carry_note = _carry_note(1)  # type: ignore[attr-defined]
    body.traced_for = "fori_loop"  # type: ignore[attr-defined]
    return cached_with(body_fun, body)


def _carry_note(position: int) -> str:
    return f"The loop is a fori_loop: loop_carry[{position}] is init_val, which body_fun(i, init_val) gets and returns."


def _dynamic_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, aval: ShapedArray) -> Any:
    def body(loop_carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, end, value = loop_carry
        return add(i, 1), end, body_fun(i, value)

    body.carry_note = _carry_note(2)  # type: ignore[attr-defined]

    def not_done(loop_carry: tuple[Any, Any, Any]) -> Any:
        return lt(loop_carry[0], loop_carry[1])

    start = aval_of(lower) if aval_of(lower).dtype == aval.dtype else aval  # from a Python int i counts as weakly typed
    return while_loop(not_done, cached_with(body_fun, body), (_bound(lower, start), _bound(upper, aval), init_val))[2]


def _bound(x: Any, aval: ShapedArray) -> Any:
    if isinstance(x, Dimension):
        x = x.__jax_array__()
    if not isinstance(x, Tracer):
        return np.asarray(x, aval.dtype).item() if aval.weak_type else np.asarray(x, aval.dtype)
    return x if x.aval is aval else convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)
