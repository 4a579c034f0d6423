"""`scan`: a loop over the leading axis of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.call.body_tracing import Body, cached_with, trace_body
from numjet.control.call.ref_threading import Threaded, holds_refs, thread
from numjet.control.loops.carries import as_arrays, trace_with_carry, unchanged, with_invariants
from numjet.control.loops.scan_op import scan_p
from numjet.control.type_errors import check_carry, leaf_paths
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.refs import Ref, check_distinct, read, returned_ref, write
from numjet.core.trace import Tracer, aval_of
from numjet.core.user_functions import argument_names, where
from numjet.foundation import errors, source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension, as_size, computed_sizes, exceeds
from numjet.foundation.util import partition_list
from numjet.lax.indexing.slicing import index_in_dim
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import expand_dims


@source.api_boundary
def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False) -> tuple[Any, Any]:
    """Carries a value through `f` along the leading axis of `xs` and stacks the results.

    Like the Python loop

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    compiled as one loop. Differentiable in both modes; memory of reverse mode grows with the length.

    Args:
      f: (carry, x) -> (carry, y), of pytrees. The carry keeps its structure, shapes and dtypes.
      init: the first carry. Python scalars in it take the dtype that `f` returns for them.
      xs: pytree of arrays of shape (length, ...); None when there is nothing to read.
      length: number of steps; needed when `xs` has no arrays.
      reverse: from the last slice to the first; `ys` are in the order of `xs` in any case.
      unroll: steps per turn of the compiled loop, a hint; True or 0: all.

    Returns:
      The last carry, and the pytree of results, each of shape (length, ...).

    Raises:
      TypeError: the carry changes its structure or types; `f` does not return a pair.
      ValueError: lengths differ, or there is no length.

    >>> import numpy as np
    >>> from numjet import lax
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0.0, np.arange(4.0))
    >>> float(total), sums.tolist()
    (6.0, [0.0, 1.0, 3.0, 6.0])
    """
    _check_unroll(unroll)
    if hooks.holds_above((init, xs)):
        return hooks.above["scan"](scan, f, init, xs, {"length": length, "reverse": reverse, "unroll": unroll})
    return scan_by(scan_p.bind, f, init, xs, length, reverse, unroll)


def scan_by(bind: Callable[..., Any], f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None,
            reverse: bool, unroll: int | bool = 1) -> tuple[Any, Any]:
    """`scan` with the operation that `bind` applies."""
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    xs_flat, xs_tree = tree.tree_flatten(xs)
    count = scan_length(xs_flat, xs_tree, length)
    if config.disable_jit and count > 0:
        return _python_scan(f, init, xs, count, bool(reverse))
    if holds_refs((init, xs)):
        return _scan_refs(bind, f, init, xs, count, reverse, unroll)
    return thread(lambda refs: _scan(bind, f, init, xs, count, reverse, unroll) if refs is None
                  else _scan_threaded(refs, bind, f, init, xs, count, reverse, unroll))


def _scan_threaded(refs: Threaded, bind: Callable[..., Any], f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any,
                   *options: Any) -> Any:
    """The loop with the values of mutable references in its carry; results as `thread` wants them."""
    pure = refs.pure(f)

    def body(carry: tuple[Any, Any], x: Any) -> tuple[Any, Any]:
        (c, y), values = pure(carry[1], carry[0], x)
        return (c, values), y

    (carry, values), ys = _scan(bind, cached_with(f, body), (init, refs.values), xs, *options)
    return (carry, ys), values


def _scan_refs(bind: Callable[..., Any], f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, count: int,
               *options: Any) -> tuple[Any, Any]:
    """The loop over references among `xs`: a step gets a reference to the slice, which is written back."""
    leaves, in_tree = tree.tree_flatten((init, xs))
    check_distinct(leaves, lambda: argument_names(f, in_tree), where(f), "scan")
    for x in tree.tree_leaves(init):
        if isinstance(x, Ref):
            raise returned_ref(x, where(f), "scan")
    given, structure = tree.tree_flatten(xs)
    is_ref = tuple(isinstance(x, Ref) for x in given)
    changed: list[bool] = []

    def body(carry: Any, slices: Sequence[Any]) -> tuple[Any, Any]:
        own = [Ref(aval_of(x), x) if r else x for x, r in zip(slices, is_ref, strict=True)]
        carry, y = f(carry, tree.tree_unflatten(structure, own))
        changed[:] = [isinstance(o, Ref) and o.value is not x for o, x in zip(own, slices, strict=True)]
        return carry, (y, [o.value for o, c in zip(own, changed, strict=True) if c])

    values = [read(x) if r else x for x, r in zip(given, is_ref, strict=True)]
    carry, (ys, new) = scan_by(bind, body, init, values, count, *options)
    for ref, value in zip([x for x, c in zip(given, changed, strict=True) if c], new, strict=True):
        write(ref, value)
    return carry, ys


def _scan(bind: Callable[..., Any], f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, count: int, reverse: bool,
          unroll: int | bool) -> tuple[Any, Any]:
    xs_flat = tree.tree_leaves(xs)
    init_flat, init_tree = tree.tree_flatten(init)
    for a in map(aval_of, xs_flat):
        if a.placement is not None and a.placement.parts[0] is not None:
            raise ValueError(f"0th dimension of all xs should be replicated. Got {a.sharding.spec} for xs of type {a}: the "
                             f"steps of "
                             "a scan follow each other. Move xs with reshard.")
    x_avals = [a.update(shape=a.shape[1:]) for a in map(aval_of, xs_flat)]
    in_tree = tree.tree_structure((init, xs))

    def trace(carry: Sequence[ShapedArray]) -> Body:
        return trace_body(f, in_tree, [*carry, *x_avals], getattr(f, "traced_for", "scan"), captures=True)

    body, init_flat, init_avals = trace_with_carry(trace, init_flat, lambda b: _carry_out(b)[1], f)
    carry_tree, carry_avals = _carry_out(body)
    names = argument_names(f, in_tree)[: len(init_flat)]
    check_carry("scan", "body function", init_tree, carry_tree, init_avals, carry_avals, names, _root(f, in_tree), f)
    outs = _results(bind, body, init_flat, xs_flat, reverse=bool(reverse), length=count, unroll=_unroll(unroll, count))
    return tree.tree_unflatten(body.out_tree, outs)


def _results(bind: Callable[..., Any], body: Body, init: Sequence[Any], xs: Sequence[Any], **params: Any) -> list[Any]:
    """The results of the loop. Carries that the body never changes are constants of it, and results that are the slices of an
    operand are that operand: both need no copy per step, and depend on nothing that the loop depends on."""
    num_consts, num_carry = len(body.consts), len(init)
    fixed = unchanged(body.jaxpr, num_consts, num_carry)
    invars, outvars = body.jaxpr.jaxpr.invars, body.jaxpr.jaxpr.outvars
    operands = dict(zip(invars[num_consts + num_carry :], xs, strict=True))
    known = [*[x if f else None for x, f in zip(init, fixed, strict=True)],
             *[None if isinstance(v, Literal) else operands.get(v) for v in outvars[num_carry:]]]
    thin = with_invariants(body.jaxpr, num_consts, fixed, tuple(x is not None for x in known))
    changing, constant = partition_list(fixed, init)
    found = iter(bind(*constant, *body.consts, *changing, *xs, **params, jaxpr=thin,
                      num_consts=num_consts + len(constant), num_carry=len(changing)))
    return [next(found) if x is None else as_arrays(x) for x in known]


def _carry_out(body: Body) -> tuple[Any, list[ShapedArray]]:
    """Structure and avals of the carry that a body returns, the first of a pair (a tuple, a namedtuple or a list)."""
    children = body.out_tree.children()
    node = body.out_tree.node_data()
    if node is None or not issubclass(node[0], (tuple, list)) or len(children) != 2:
        returned = tree.tree_unflatten(body.out_tree, [a.str_short(short_dtypes=False) for a in body.jaxpr.out_avals])
        raise TypeError(f"scan body output must be a pair, got {returned}. Return (carry, y), with (carry, None) when there is "
                        "nothing to stack.")
    return children[0], body.jaxpr.out_avals[: children[0].num_leaves]


def _root(f: Callable[..., Any], in_tree: Any) -> str:
    """The user's name of the carry."""
    skeleton = tree.treedef_tuple([tree.tree_structure(0), tree.tree_structure(0)])
    return argument_names(f, skeleton)[0]


def _check_unroll(unroll: Any) -> None:
    if isinstance(unroll, Tracer):
        raise errors.ConcretizationTypeError(
            unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value.")
    if not isinstance(unroll, bool) and (not isinstance(unroll, (int, np.integer)) or unroll < 0):
        raise ValueError(f"`unroll` must be a `bool` or a non-negative `int`, got {unroll!r}.")


def _unroll(unroll: int | bool, length: Any) -> int:
    """How many steps are written out; one where `length` is computed when the program runs and all of them are asked for."""
    whole = unroll is True or (unroll == 0 and unroll is not False)
    if whole and isinstance(length, Dimension):
        return 1
    return max(length, 1) if whole else max(int(unroll), 1)


def scan_length(xs_flat: Sequence[Any], xs_tree: Any, length: Any) -> int:
    sizes = _leading_sizes(xs_flat)
    if length is not None:
        length = _known_length(length)
        if any(n != length for n in sizes):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                             f"{sorted(set(sizes))}: {_shapes(xs_flat, xs_tree)}.")
        if exceeds(0, length):
            raise ValueError(f"scan got a negative `length`: {length}.")
        return length
    if len(set(sizes)) > 1:
        raise ValueError("scan got values with different leading axis sizes: "
                         f"{', '.join(map(str, sizes))}. The shapes are {_shapes(xs_flat, xs_tree)}.")
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return sizes[0]


def _known_length(length: Any) -> Any:
    if isinstance(length, Dimension) or isinstance(length, Tracer) and computed_sizes.maker is not None:
        return as_size(length)
    if not isinstance(length, Tracer):
        return int(length)
    value = length.concrete()
    if value is None or isinstance(value, Tracer):
        raise errors.ConcretizationTypeError(
            length,
            "The `length` argument to `scan` expects a concrete `int` value. For scan-like iteration with a dynamic "
            "length, use `while_loop` or `fori_loop`.",
        )
    return int(value)


def _leading_sizes(xs_flat: Sequence[Any]) -> list[int]:
    shapes = [_value_aval(x).shape for x in xs_flat]
    scalars = [str(x) for x, shape in zip(xs_flat, shapes, strict=True) if not shape]
    if scalars:
        raise ValueError(f"scan got value with no leading axis to scan over: {', '.join(scalars)}.")
    return [shape[0] for shape in shapes]


def _value_aval(x: Any) -> ShapedArray:
    return x.aval.inner_aval if isinstance(x, Ref) else aval_of(x)


def _shapes(xs_flat: Sequence[Any], xs_tree: Any) -> str:
    return ", ".join(f"xs{path} {_value_aval(x)}" for path, x in zip(leaf_paths(xs_tree), xs_flat, strict=True))


def _python_scan(f: Callable[..., Any], init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """The loop in Python, for `disable_jit`: `f` sees numbers; prints and debuggers work in it."""
    carry, ys = as_arrays(init), []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree.tree_map(lambda a, i=i: index_in_dim(a, i, keepdims=False), xs))
        ys.append(y)
    return carry, tree.tree_map(lambda *leaves: _stack(leaves), *(ys[::-1] if reverse else ys))


def _stack(values: Sequence[Any]) -> Any:
    return concatenate([expand_dims(v, (0,)) for v in values], 0)
