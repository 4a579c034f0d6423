"""`custom_vjp`: functions with a reverse-mode rule of their own, `custom_gradient` and `closure_convert`."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from numjet import _native
from numjet.control.custom.custom_calls import (
    FunctionWithRules,
    UsersRule,
    check_results,
    for_rule,
    for_user,
    from_rule,
    is_symbolic_zero,
    positional,
    split_nondiff,
    with_fixed,
)
from numjet.control.custom.custom_jvp import FlatFunction, operands
from numjet.control.custom.custom_vjp_call import apply_custom_vjp
from numjet.core import batches
from numjet.core.aval import ShapedArray
from numjet.core.named_axes import checked_axes
from numjet.core.op import Zero
from numjet.core.refs import Ref, returned_ref, serials
from numjet.core.snapshots import frozen
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import Tracer, aval_of
from numjet.core.user_functions import debug_info, is_own, where
from numjet.core.walk import eval_jaxpr
from numjet.foundation import dtypes, lazy_import, source, tree
from numjet.foundation.record import Record
from numjet.foundation.tree import tree_map
from numjet.foundation.util import function_name, wraps
from numjet.lax.elementwise.convert import cast

remat_opt = lazy_import.Module("numjet.control.custom.remat_opt")


class CustomVJPPrimal(Record):
    """An argument of a forward rule with symbolic_zeros=True. `perturbed`: derivatives with respect to it are needed."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values in a pytree of CustomVJPPrimal.

    >>> custom_vjp_primal_tree_values([CustomVJPPrimal(1.0, True)])
    [1.0]
    """
    return tree_map(lambda leaf: leaf.value, tree, is_leaf=lambda leaf: type(leaf) is CustomVJPPrimal)


class custom_vjp(FunctionWithRules):
    """Gives a function its own rule for reverse-mode derivatives.

    Args:
      fun: the function; outside of traces it is called with Python control flow on concrete values.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated and not arrays, such as functions. The
        forward rule gets them in the order of the call, the backward rule first.

    >>> from numjet import lax
    >>> from numjet.control import custom_vjp
    >>> @custom_vjp
    ... def f(x, y):
    ...     return lax.sin(x) * y
    >>> f.defvjp(lambda x, y: (f(x, y), (lax.cos(x), lax.sin(x), y)),
    ...          lambda res, ct: (res[0] * ct * res[2], res[1] * ct))
    >>> float(f(0.0, 2.0))
    0.0
    """

    rules = ("fwd", "bwd")
    optimize_remat = False
    fwd: Callable[..., Any] | None
    bwd: Callable[..., Any] | None

    def defvjp(self, fwd: Callable[..., tuple[Any, Any]], bwd: Callable[..., Any], symbolic_zeros: bool = False,
               optimize_remat: bool = False) -> None:
        """Sets the rules.

        Args:
          fwd: the function's arguments -> (result, residuals); residuals are a pytree of arrays.
          bwd: (*nondiff arguments, residuals, cotangent of the result) -> tuple of cotangents, one per differentiated
            argument, of its structure; None stands for zero.
          symbolic_zeros: fwd gets CustomVJPPrimal values, bwd gets SymbolicZero for cotangents that are zero.
          optimize_remat: where only the result of fwd is read, as in the first pass of a `checkpoint`, the function itself is
            called instead. Without it the operations of fwd that make residuals only are left out; this is for those that make
            both, such as a callback.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError("defvjp(optimize_remat=True) does not support symbolic_zeros=True: use one of them")
        self.fwd, self.bwd, self.symbolic_zeros, self.optimize_remat = fwd, bwd, symbolic_zeros, optimize_remat

    @source.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name} using defvjp.")
        args = positional("custom_vjp", self.fun, args, kwargs)
        fixed, free, positions = split_nondiff("custom_vjp", args, self.nondiff_argnums)
        flat = FlatFunction(with_fixed(self.fun, fixed, positions), free, "custom_vjp")
        leaves = operands(free)
        fwd = _FlatForward(self, with_fixed(self.fwd, fixed, positions), flat)
        bwd = _FlatBackward(self, fixed, fwd, [aval_of(x) for x in leaves])
        forward = remat_opt.OptimizedForward(flat, fwd) if self.optimize_remat else fwd
        outs = apply_custom_vjp(flat, forward, bwd, name, self.symbolic_zeros, leaves)
        return tree.tree_unflatten(flat.out_tree, outs)


class _FlatForward(UsersRule):
    """The user's forward rule on flat arguments; records the structure of the residuals."""

    __slots__ = ("call", "flat", "kept", "out_tree", "owner", "res_tree", "symbolic")

    def __init__(self, owner: custom_vjp, call: Callable[..., Any], flat: FlatFunction):
        self.owner, self.call, self.flat, self.symbolic = owner, call, flat, owner.symbolic_zeros
        self.rule = owner.fwd
        self.res_tree: Any = None
        self.kept: dict[int, Any] = {}  # the residuals that are Python scalars or references, by position: they stay such
        self.out_tree: Any = None

    def __call__(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        values = list(map(for_user, primals))
        given = list(map(CustomVJPPrimal, values, perturbed)) if self.symbolic else values
        first_new = next(serials)
        pair = self.call(*self.flat.arguments(given))
        name = function_name(self.owner.fun)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"Custom VJP fwd rule {self} for function {name} must produce a pair (list or tuple of length two) "
                            f"where the first element represents the primal output (equal to that of the function {name}) "
                            f"and the second element represents residuals (i.e. values stored from the forward pass for use on "
                            f"the backward pass), but instead of a pair the fwd rule {self} produced {pair}.")
        outs, out_tree = tree.tree_flatten(pair[0])
        residuals, self.res_tree = tree.tree_flatten(pair[1])
        self._check_results(name, (out_tree, [aval_of(x) for x in outs]))
        self.flat.out_tree = self.out_tree = out_tree
        self.kept = {k: r for k, r in enumerate(residuals) if type(r) in (bool, int, float, complex) or isinstance(r, Ref)}
        for ref in (*[x for x in outs if isinstance(x, Ref)],
                    *[x for x in self.kept.values() if isinstance(x, Ref) and x.serial > first_new]):
            raise returned_ref(ref, where(self.rule), "custom_vjp fwd function")
        return list(map(frozen, outs)), [frozen(r) for k, r in enumerate(residuals) if k not in self.kept]

    def _check_results(self, name: str, got: tuple[Any, list[ShapedArray]]) -> None:
        own = (self.flat.out_tree, self.flat.out_avals)
        check_results(
            lambda same: f"Custom VJP fwd rule {self} for function {name} must produce a pair (list or tuple of length two) "
            f"where the first element represents the primal output (equal to the output of the custom_vjp-decorated function "
            f"{name}) and the second element represents residuals (i.e. values stored from the forward pass for use on the "
            f"backward pass)", "fwd rule", f"custom_vjp-decorated function {name}", own, got)

    def structured(self, residuals: Sequence[Any]) -> Any:
        """The residuals as the user's rule returned them."""
        rest = iter(residuals)
        leaves = [self.kept[k] if k in self.kept else for_user(next(rest)) for k in range(self.res_tree.num_leaves)]
        return tree.tree_unflatten(self.res_tree, leaves)


class _FlatBackward(UsersRule):
    """The user's backward rule on flat residuals and cotangents, with its results checked."""

    __slots__ = ("fixed", "fwd", "in_avals", "owner", "symbolic")

    def __init__(self, owner: custom_vjp, fixed: Sequence[Any], fwd: _FlatForward, in_avals: Sequence[ShapedArray]):
        self.owner, self.fixed, self.fwd, self.in_avals = owner, fixed, fwd, in_avals
        self.symbolic = owner.symbolic_zeros
        self.rule: Any = owner.bwd

    def __call__(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        given = [for_rule(c, self.symbolic) for c in cts]
        out = self.rule(*self.fixed, self.fwd.structured(residuals), tree.tree_unflatten(self.fwd.out_tree, given))
        in_tree = self.fwd.flat.in_tree
        leaves = _expanded(out, in_tree)
        if leaves is None:
            raise TypeError(
                "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args "
                "tuple of the primal function, and in particular must produce a tuple of length equal to the number "
                f"of arguments to the primal function, but got bwd output structure {tree.tree_structure(out)} for "
                f"primal input structure {in_tree}."
            )
        refs = {i for i, _ in self.fwd.flat.refs}
        if any(leaves[i] is not _Nothing for i in refs):
            raise NotImplementedError(f"the bwd rule {self} returns a cotangent for a mutable reference: expected None. Write "
                                      "it to a reference, or pass the value, ref[...], instead.")
        paths = map(tree.keystr, tree.treedef_paths(in_tree))
        given_cts = [(p, c) for i, (p, c) in enumerate(zip(paths, leaves, strict=True)) if i not in refs]
        joins = is_own(self.rule)
        return [_checked(p, c, a, joins) for (p, c), a in zip(given_cts, self.in_avals, strict=True)]


class _Nothing:
    """Placeholder of each leaf of an argument whose cotangent was given as None."""


def _expanded(out: Any, in_tree: tree.PyTreeDef) -> list[Any] | None:
    """One cotangent for each leaf of the arguments, where the backward rule may return None or one cotangent in place of a
    part. None if its result does not fit. Structures are compared without making the arguments' nodes, as the constructors of
    users may make nodes that equal no others."""
    if not isinstance(out, (tuple, list)):
        return None
    entries, prefix = _native.pytree_flatten(tuple(out) if isinstance(out, list) else out, is_symbolic_zero, True)
    try:
        counts = prefix.prefix_counts(in_tree)
    except ValueError:
        return None
    return [_Nothing if c is None else c for c, count in zip(entries, counts, strict=True) for _ in range(count)]


def _checked(path: str, ct: Any, aval: ShapedArray, joins: bool) -> Any:
    """The cotangent for an argument. joins: it may vary over other axes of the mesh, in a rule of numjet's own."""
    expected = aval.to_ct_aval()
    if ct is _Nothing:
        return Zero(expected)
    if is_symbolic_zero(ct):
        _check_symbolic_zero(path, ct, expected)
    ct = from_rule(ct)
    if type(ct) is Zero or expected.dtype == dtypes.float0:
        return Zero(expected)
    got = aval_of(ct)
    if got.shape != expected.shape or (got.dtype.kind == "c" and expected.dtype.kind != "c"):
        raise _unlike(path, got, aval, "shapes" if got.shape != expected.shape else "dtypes")
    varies = {*checked_axes()} - {*batches.current.spmd}
    if got.vma & varies != expected.vma & varies and not joins:
        raise _unlike(path, got, aval, "varying manual axes", _cast_text(got.vma & varies, expected.vma & varies))
    if got.dtype != expected.dtype:
        return cast(ct, expected.dtype)
    return frozen(ct)


def _unlike(path: str, got: ShapedArray, aval: ShapedArray, what: str, remedy: str = "") -> ValueError:
    return ValueError("Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal "
                      f"function, but at output{path} the bwd rule produced an output of type {got} corresponding to an "
                      f"input of type {aval}, so the {what} do not match{remedy}")


def _cast_text(got: Set[Any], wanted: Set[Any]) -> str:
    """What a rule does with a cotangent that varies over other axes of the mesh than its argument."""
    text = lambda axes: tuple(sorted(axes, key=str))
    casts = [f"return the sum over the devices, jax.lax.psum(..., {text(got - wanted)})"] if got - wanted else []
    if wanted - got:
        casts.append(f"apply jax.lax.pcast(..., {text(wanted - got)}, to='varying') to it")
    return f". In the rule, {', and '.join(casts)}."


def _check_symbolic_zero(path: str, ct: Any, expected: ShapedArray) -> None:
    if (ct.shape, ct.dtype) != (expected.shape, expected.dtype):
        raise ValueError("Custom VJP bwd rule produced a SymbolicZero with a shape/dtype that does not match the corresponding "
                         f"input tangent shape/dtype: at output{path} it was {ct.aval}, expected {expected}. Consider just "
                         "returning a None here instead of a SymbolicZero object.")


def custom_gradient(fun: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
    """Makes a function with a rule from one that returns its result and its rule.

    Args:
      fun: arguments -> (result, function from the result's cotangent to the cotangents of the arguments: a tuple, or
        a single one for a single argument).

    Returns:
      A function of the same arguments that returns the result.

    >>> from numjet.control import custom_gradient
    >>> f = custom_gradient(lambda x: (x * x, lambda ct: 10.0 * ct))
    >>> float(f(3.0))
    9.0
    """

    @wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    wrapped = custom_vjp(lambda *args, **kwargs: value(*args, **kwargs))
    wraps(fun)(wrapped)

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        result, rule = fun(*args, **kwargs)
        return result, _rule_as_data(rule, result, len(args))

    wrapped.defvjp(fwd, lambda rule, ct: rule(ct))
    return wrapped


def _rule_as_data(rule: Callable[..., Any], result: Any, count: int) -> tree.Partial:
    """A pytree function with the values that the rule closes over as its leaves."""
    leaves, ct_tree = tree.tree_flatten(result)
    avals = [aval_of(x).to_ct_aval() for x in leaves]
    out_tree: Any = None

    def flat(*cts: Any) -> list[Any]:
        nonlocal out_tree
        out = rule(tree.tree_unflatten(ct_tree, cts))
        outs, out_tree = tree.tree_flatten(out if isinstance(out, tuple) or count != 1 else (out,))
        return outs

    jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info(rule, tree.treedef_tuple([ct_tree]), "custom_gradient"))

    def apply(*args: Any) -> Any:
        *values, ct = args
        return tree.tree_unflatten(out_tree, eval_jaxpr(jaxpr, values, *tree.tree_leaves(ct)))

    return tree.Partial(apply, *consts)


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Turns the traced values that a function closes over into arguments.

    For functions that are passed to custom_vjp functions through nondiff_argnums and may close over differentiated values.

    Args:
      fun: function of arrays.
      example_args: arguments, for their shapes and dtypes.

    Returns:
      (converted, values): converted(*args, *values) is fun(*args) and closes over nothing that is differentiated.
    """
    leaves, in_tree = tree.tree_flatten(example_args)
    out_tree: Any = None

    def flat(*xs: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree.tree_flatten(fun(*tree.tree_unflatten(in_tree, xs)))
        return outs

    jaxpr, consts = trace_to_jaxpr(flat, [aval_of(x) for x in leaves], debug_info(fun, in_tree, "closure_convert"))
    traced = [isinstance(c, Tracer) and aval_of(c).to_tangent_aval().dtype != dtypes.float0 for c in consts]
    values = [c for c, m in zip(consts, traced, strict=True) if m]
    expected = tree.tree_structure((*example_args, *values))

    def converted(*args_and_values: Any) -> Any:
        leaves, got = tree.tree_flatten(args_and_values)
        if got != expected:
            raise TypeError("The inputs to the closure produced by closure_convert must have the same structure as the example "
                            f"arguments followed by the {len(values)} values that it returned: {expected}, but got {got}")
        xs, given = leaves[:in_tree.num_leaves], iter(leaves[in_tree.num_leaves:])
        merged = [next(given) if m else c for c, m in zip(consts, traced, strict=True)]
        return tree.tree_unflatten(out_tree, eval_jaxpr(jaxpr, merged, *xs))

    return converted, values
