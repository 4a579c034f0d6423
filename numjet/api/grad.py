"""Differentiation: grad, value_and_grad, jvp, vjp, linearize, Jacobians."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.api.arguments import (
    Auxiliary,
    argument_numbers,
    as_values,
    check_callable,
    debug_info,
    flat_function,
    flatten_result,
    path_names,
)
from numjet.api.eager_gradients import backward, linearize_at
from numjet.api.ref_arguments import joined, split_off
from numjet.api.vmap import vmap
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.named_axes import checked_axes
from numjet.core.op import Undefined, Zero
from numjet.core.snapshots import frozen
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace
from numjet.core.user_functions import is_own
from numjet.core.walk import eval_jaxpr
from numjet.foundation import dtypes, lazy_import, source
from numjet.foundation.config import config
from numjet.foundation.dimension import is_symbolic
from numjet.foundation.tree import (
    Partial,
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_transpose,
    tree_unflatten,
)
from numjet.foundation.util import function_name, replace_at, wraps
from numjet.lax.elementwise.arithmetic import add
from numjet.lax.elementwise.compare import eq
from numjet.lax.elementwise.convert import convert_dtype, size_constant
from numjet.lax.shape.create import broadcasted_iota
from numjet.lax.shape.rearrange import broadcast_in_dim, reshape
from numjet.lax.tangent import instantiate, zeros_like_aval
from numjet.lax.templates import call
from numjet.runtime.dispatch import as_array
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.linearize import Linear
from numjet.transforms.transpose import backward_pass

wanted_cotangents = lazy_import.Module("numjet.api.wanted_cotangents")


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The function that evaluates the gradient of `fun`.

    Args:
      fun: returns a scalar (with has_aux: a pair of a scalar and auxiliary data). Arguments in argnums are arrays or
        pytrees of arrays of floating (with holomorphic: complex; with allow_int: any) dtype.
      argnums: which positional argument, or arguments, to differentiate with respect to.
    Returns:
      A function of the same arguments. Its result has the structure of the argument (a tuple of such for a sequence
      argnums); with has_aux a pair (gradient, auxiliary data).
    Raises:
      TypeError: for a result that is no scalar, or arguments of other dtypes.

    >>> import numjet as nj
    >>> print(nj.grad(nj.numpy.tanh)(0.0))
    1.0
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun)
    @source.api_boundary
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g
    return grad_fun


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The function that evaluates both `fun` and its gradient; see `grad`.

    >>> import numjet as nj
    >>> value, g = nj.value_and_grad(lambda x: x ** 2)(3.0)
    >>> print(value, g)
    9.0 6.0
    """
    check_callable(fun)
    del reduce_axes
    argnums, nums = argument_numbers(argnums)

    @wraps(fun)
    @source.api_boundary
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        _check_any("grad", nums)
        picked = _pick(nums, args)
        if hooks.holds_above(picked):
            options = {"has_aux": has_aux, "holomorphic": holomorphic, "allow_int": allow_int}
            value, g = hooks.above["value_and_grad"](value_and_grad, fun, nums, args, kwargs, options)
            return value, g[0] if isinstance(argnums, int) else g
        leaves, in_tree = tree_flatten(picked)
        leaves = as_values(leaves, lambda: path_names(fun, args, kwargs), "grad")
        for leaf in leaves:
            _check_input("grad", aval_of(leaf), holomorphic, allow_int)
        aux = Auxiliary()

        def flat(*xs: Any) -> list[Any]:
            out = fun(*replace_at(args, nums, tree_unflatten(in_tree, xs)), **kwargs)
            if not has_aux:
                return [_scalar(out)]
            value, found = _with_aux(out)
            return [_scalar(value), *aux.take_apart(found)]
        outs, linear = linearize_at(flat, leaves, debug=debug_info("grad", fun, args, kwargs), wanted=1)
        _check_output(aval_of(outs[0]), holomorphic)
        one = aval_of(outs[0])
        seed = Literal(np.ones((), one.dtype)[()], one)
        grads = [as_array(g) if type(g) is Literal else instantiate(g) for g in pull_back(linear, [seed])]
        g = tree_unflatten(in_tree, grads)
        g = g[0] if isinstance(argnums, int) else tuple(g)
        value = (outs[0], aux.rejoin(outs[1:])) if has_aux else outs[0]
        return value, g
    return value_and_grad_fun


def _check_any(name: str, nums: Sequence[int]) -> None:
    """ValueError for derivatives to no argument."""
    if not nums:
        raise ValueError(f"argnums is an empty sequence: {name} needs the number of at least one argument")


def _pick(nums: tuple[int, ...], args: Sequence[Any], of_jacobian: bool = False) -> tuple[Any, ...]:
    """The arguments of these numbers."""
    for n in nums:
        if n < -len(args) or of_jacobian and n >= len(args):
            raise ValueError("Positional argument indices of arguments to differentiate must have value greater than or equal "
                             f"to -len(args) and less than len(args), but got value {n} for len(args) == {len(args)}.")
        if n >= len(args):
            raise TypeError(f"differentiating with respect to argnums={n} requires at least {n + 1} "
                            f"positional arguments to be passed by the caller, but got only {len(args)} positional arguments.")
    return tuple(args[n] for n in nums)


def _with_aux(out: Any) -> tuple[Any, Any]:
    """A result as the pair (value, auxiliary data)."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(f"expected function with aux output to return a two-element tuple, but got type {type(out)} "
                        f"with value {out!r}")
    return out[0], out[1]


def _scalar(out: Any) -> Any:
    try:
        aval = aval_of(out)
    except TypeError:
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was: {out!r}. Return an array of "
                        "shape (), and auxiliary data through has_aux=True.") from None
    if aval.shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}. "
                        "Reduce it to a scalar, or use jacrev, jacfwd or vjp.")
    return frozen(out)


def _check_input(name: str, aval: ShapedArray, holomorphic: bool, allow_int: bool) -> None:
    kind = dtypes.kind(aval.dtype)
    if holomorphic:
        if kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {aval.dtype.name}.")
    elif kind in "biu":
        if not allow_int:
            raise TypeError(f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), "
                            f"but got {aval.dtype.name}. If you want to use Boolean- or integer-valued inputs, use vjp or set "
                            "allow_int to True.")
    elif kind == "V" and not allow_int:
        raise TypeError(f"{name} requires real- or complex-valued inputs, but got {dtypes.short_name(aval.dtype)}.")


_FOR_COMPLEX = ("For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions "
                "involving complex outputs, use jax.vjp directly.")


def _check_output(aval: ShapedArray, holomorphic: bool) -> None:
    kind = dtypes.kind(aval.dtype)
    if holomorphic and kind != "c":
        raise TypeError(f"grad with holomorphic=True requires outputs with complex dtype, but got {aval.dtype.name}.")
    if not holomorphic and kind != "f":
        hint = "For differentiation of functions with integer outputs, use jax.vjp directly." if kind != "c" else _FOR_COMPLEX
        raise TypeError("grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
                        f"but got {aval.dtype.name}. {hint}")


def pull_back(linear: Linear, cts: Sequence[Any]) -> list[Any]:
    """Cotangents (or Zero) of the primals, from cotangents of the results with nonzero tangents, in order."""
    chosen = [ct for ct, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
    with source.transformed("transpose"):
        found = iter(backward(linear.jaxpr, linear.consts, chosen))
    return [_as_weak(next(found), aval) if nz else Zero(aval.to_tangent_aval())
            for nz, aval in zip(linear.in_nonzero, linear.in_avals, strict=True)]


def _as_weak(ct: Any, primal: ShapedArray) -> Any:
    """A cotangent, weakly typed if the primal is: so that a step of descent leaves the type of a parameter as it is."""
    if not primal.weak_type or isinstance(ct, Zero) or aval_of(ct).weak_type:
        return ct
    return call("convert_element_type", ct, new_dtype=aval_of(ct).dtype, weak_type=True)


# ------------------------------------------------------------------------------------------------ vjp, jvp, linearize

def _linear_at(kind: Callable[..., Any], what: str, fun: Callable[..., Any], primals: Sequence[Any], has_aux: bool) -> Any:
    """(value, linear map as a pytree, aux if there is any) of a function; `kind` makes the map of the tangent program."""
    leaves, in_tree = tree_flatten(primals)
    names = lambda: path_names(fun, primals, {})
    leaves, refs = split_off(leaves, names, function_name(fun), what)
    leaves = as_values(leaves, names, what)
    out_tree: list[PyTreeDef] = []
    aux = Auxiliary()
    inner = _flat(fun, in_tree, out_tree, aux if has_aux else None)
    flat = (lambda *xs: inner(*joined(xs, refs))) if refs else inner
    count = (lambda: out_tree[0].num_leaves) if has_aux else None
    # Users look at residuals, so scalars are among them.
    outs, linear = linearize_at(flat, leaves, debug=debug_info(what, fun, primals, {}), wanted=count, inlines=False)
    n = out_tree[0].num_leaves
    made = kind(linear.replace(consts=[]), in_tree, out_tree[0], [aval_of(o) for o in outs[:n]], function_name(fun),
                [i for i, _ in refs])
    linear_map = made.bound(linear.consts, leaves)
    value = tree_unflatten(out_tree[0], outs[:n])
    return (value, linear_map, aux.rejoin(outs[n:])) if has_aux else (value, linear_map)


@source.api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()) -> Any:
    """The value of `fun` at primals, and the function from a cotangent of it to the cotangents of the primals.

    With has_aux `fun` returns (value, aux), and (value, vjp function, aux) is returned.

    >>> import numjet as nj
    >>> y, pull = nj.vjp(lambda a, b: a * b, 2.0, 3.0)
    >>> print(*pull(1.0))
    3.0 2.0
    """
    check_callable(fun)
    del reduce_axes
    if hooks.holds_above(primals):
        return hooks.above["vjp"](vjp, fun, primals, has_aux)
    try:
        return _linear_at(_Pullback, "vjp", fun, primals, has_aux)
    except hooks.ResultAbove:
        return hooks.above["vjp"](vjp, fun, primals, has_aux)


def _flat(fun: Callable[..., Any], in_tree: PyTreeDef, out_tree: list[PyTreeDef],
          aux: Auxiliary | None) -> Callable[..., list[Any]]:
    """`fun` of the leaves of its arguments. Its result, and auxiliary data if `aux` is given, are flattened."""
    def flat(*xs: Any) -> list[Any]:
        out = fun(*tree_unflatten(in_tree, xs))
        if aux is None:
            return flatten_result(out, out_tree, fun)
        value, found = _with_aux(out)
        return [*flatten_result(value, out_tree, fun), *aux.take_apart(found)]
    return flat


class _LinearMap:
    """A tangent program with the structures of its arguments and results; equal only to itself."""

    def __init__(self, linear: Linear, in_tree: PyTreeDef, out_tree: PyTreeDef, out_avals: Sequence[ShapedArray], name: str,
                 refs: Sequence[int] = ()):
        """refs: the positions of mutable references among the leaves of the arguments; they have no tangents."""
        self.linear, self.in_tree, self.out_tree, self.out_avals, self.name = linear, in_tree, out_tree, out_avals, name
        self.refs = list(refs)

    @property
    def args(self) -> tuple[Any, ...]:
        """The tangent program first, as in the partial that JAX has here: `linearize(f, x)[1].func.args[0]`."""
        return self.linear.jaxpr, self.linear.in_avals, self.in_tree, self.out_tree

    def __call__(self, *args: Any) -> Any:
        """The map, given what `bound` fixes, and its arguments."""
        raise NotImplementedError

    def bound(self, consts: list[Any], primals: Sequence[Any]) -> Partial:
        """The map with the values that its program reads, as a pytree."""
        return Partial(self, consts)


class _Pullback(_LinearMap):
    """From residuals and a cotangent to the cotangents of the primals."""

    _sources: list[int | None]  # of each value that the program reads: the leaf of the primals that it is

    def bound(self, consts: list[Any], primals: Sequence[Any]) -> VJP:
        places = {id(x): k for k, x in enumerate(primals)}
        self._sources = [places.get(id(c)) for c in consts]
        kept = [x if k in self._sources else NotNeeded() for k, x in enumerate(primals)]
        leaves = joined(kept, [(i, NotNeeded()) for i in self.refs])
        args_res = self.in_tree.walk(lambda children, _: tuple(children), None, leaves)  # classes may refuse such leaves
        return VJP(self, list(args_res), [c for c, s in zip(consts, self._sources, strict=True) if s is None])

    def _consts(self, args_res: Sequence[Any], opaque: Sequence[Any]) -> list[Any]:
        """The values that the program reads."""
        wanted, found = sorted({s for s in self._sources if s is not None}), tree_leaves(list(args_res))
        if len(found) != len(wanted):
            raise ValueError(f"the function returned by vjp of {self.name} reads {len(wanted)} arrays of the arguments, and "
                             f"its args_res hold {len(found)}: put back those that were taken out")
        at, rest = dict(zip(wanted, found, strict=True)), iter(opaque)
        return [next(rest) if s is None else at[s] for s in self._sources]

    @source.api_boundary
    def __call__(self, args_res: Sequence[Any], opaque: Sequence[Any], *cts_py: Any) -> Any:
        if len(cts_py) != 1:
            raise TypeError(f"The function returned by `jax.vjp` applied to {self.name} was called with {len(cts_py)} "
                            f"arguments, but functions returned by `jax.vjp` must be called with a single argument: the "
                            f"cotangent of what {self.name} returns, of the same structure. Pass the cotangents of "
                            "several results as one tuple.")
        leaves, tree = tree_flatten(cts_py[0])
        if tree != self.out_tree:
            raise ValueError(f"unexpected tree structure. The argument of a function returned by `jax.vjp` must match the "
                             f"structure of what {self.name} returned: got {tree}, but expected to match {self.out_tree}.")
        for leaf, aval in zip(leaves, self.out_avals, strict=True):
            _check_cotangent(leaf, aval)
        linear = self.linear.replace(consts=self._consts(args_res, opaque))
        cts = [_cast_weak(leaf, aval) for leaf, aval in zip(leaves, self.out_avals, strict=True)]
        found: list[Any] = [instantiate(g) for g in pull_back(linear, cts)]
        for i in self.refs:
            found.insert(i, None)
        return tree_unflatten(self.in_tree, found)


class VJP(Partial):
    """The function that vjp returns: from a cotangent of the result to a tuple of cotangents of the arguments.

    A pytree of the residuals: `args_res`, a list with one entry per argument, its arrays that the backward pass reads, and
    NotNeeded() in place of the others, nodes as tuples; `opaque_residuals`, the values that the forward pass computed. Entries
    of args_res may be taken out and put back, to free memory in between, one by one or all: f_vjp.args_res = [None, None].
    """

    @property
    def args_res(self) -> list[Any]:
        return self.args[0]

    @args_res.setter
    def args_res(self, entries: Sequence[Any]) -> None:
        self.args[0][:] = entries

    @property
    def opaque_residuals(self) -> list[Any]:
        return self.args[1]

    def with_refs(self, *refs: Any) -> Callable[..., Any]:
        """The function that adds cotangents to mutable references instead of returning them.

        Args:
          refs: one per argument of the differentiated function, a pytree like it: of references, which the cotangents are added
            to (the result has GradRef() there), of ad.DontWant() where the cotangent is not computed (DidntWant()), or of
            ad.GradValue() where it is returned. None: no cotangent of this argument is wanted.

        >>> import numjet as nj
        >>> total = nj.new_ref(1.0)
        >>> _, pull = nj.vjp(lambda x: 3 * x, 2.0)
        >>> pull.with_refs(total)(1.0)
        (GradRef(),)
        >>> float(total[...])
        4.0
        """
        return functools.partial(wanted_cotangents.accumulate, self, refs)


register_pytree_node(VJP, lambda f: ((f.args, f.keywords), f.func), lambda func, kids: VJP(func, *kids[0], **kids[1]))


class NotNeeded:
    """In place of an argument that a backward pass does not read: a pytree without leaves."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NotNeeded()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotNeeded)

    def __hash__(self) -> int:
        return hash(NotNeeded)


register_pytree_node(NotNeeded, lambda one: ((), None), lambda _, kids: NotNeeded())


def _check_cotangent(leaf: Any, aval: ShapedArray) -> None:
    expected = aval.to_tangent_aval()
    if expected.dtype == dtypes.float0 and getattr(leaf, "shape", ()) == expected.shape:
        return  # nothing is read of it
    got = aval_of(leaf)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {got}, but expected "
                         f"{expected} because the corresponding output of the differentiated function had JAX type {aval}")


def _cast_weak(x: Any, aval: ShapedArray) -> Any:
    """An immutable tangent or cotangent; a Python scalar in the expected dtype."""
    if type(x) in (bool, int, float, complex) and aval.to_tangent_aval() is aval or type(x) in (int, float):
        return as_array(x, aval)
    return frozen(x)


@source.api_boundary
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `fun` at primals and its derivative along tangents (same structure, shapes and dtypes).

    >>> import numjet as nj
    >>> y, dy = nj.jvp(nj.numpy.sin, (0.0,), (2.0,))
    >>> print(y, dy)
    0.0 2.0
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primal and tangent arguments to jax.jvp must be tuples or lists; found "
                        f"{type(primals).__name__} and {type(tangents).__name__}.")
    if hooks.holds_above((primals, tangents)):
        return hooks.above["jvp"](jvp, fun, primals, tangents, has_aux)
    leaves, in_tree = tree_flatten(tuple(primals))
    tangent_leaves, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree or type(primals) is not type(tangents):
        primal_tree, tangent_tree = tree_structure(primals), tree_structure(tangents)
        raise TypeError("primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree "
                        f"structure {primal_tree} whereas tangents have tree structure {tangent_tree}.")
    numbers = [current_trace() is EVAL and type(p) in (float, complex) and type(t) is type(p)
               for p, t in zip(leaves, tangent_leaves, strict=True)]
    values = as_values(leaves, lambda: path_names(fun, primals, {}), "jvp")
    ts = [_checked_tangent(t, aval_of(p)) for p, t in zip(values, tangent_leaves, strict=True)]
    if any(numbers):   # rules of users get them as they are, and so do users where nothing is computed with them
        values = [leaf if number else value for leaf, value, number in zip(leaves, values, numbers, strict=True)]
        ts = [leaf if number else t for leaf, t, number in zip(tangent_leaves, ts, numbers, strict=True)]
    out_tree: list[PyTreeDef] = []
    aux = Auxiliary()
    flat = _flat(fun, in_tree, out_tree, aux if has_aux else None)
    debug = debug_info("jvp", fun, primals, {}) if config.check_tracer_leaks else None
    with source.transformed("jvp"):
        outs, outs_t = jvp_flat(flat, values, ts, debug)
    n = out_tree[0].num_leaves
    value = tree_unflatten(out_tree[0], outs[:n])
    tangent = tree_unflatten(out_tree[0], [instantiate(t) for t in outs_t[:n]])
    return (value, tangent, aux.rejoin(outs[n:])) if has_aux else (value, tangent)


def _checked_tangent(t: Any, aval: ShapedArray) -> Any:
    expected = aval.to_tangent_aval()
    if getattr(t, "dtype", None) == dtypes.float0:
        got = ShapedArray(np.shape(t), dtypes.float0)
    else:
        got = aval_of(t)
    adapts = got.weak_type and dtypes.kind(expected.dtype) in "fc" and dtypes.kind(got.dtype) == "f"
    if got.dtype != expected.dtype and not adapts:
        raise TypeError("primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool "
                        f"primal dtype the tangent dtype must be float0. Got primal dtype {aval.dtype.name} and so expected "
                        f"tangent dtype {dtypes.long_name(expected.dtype)}, "
                        f"but got tangent dtype {got.dtype.name} instead.")
    if got.shape != expected.shape:
        raise ValueError(f"jvp called with different primal and tangent shapes; Got primal shape {aval.shape} and tangent "
                         f"shape as {got.shape}")
    return Zero(expected) if expected.dtype == dtypes.float0 else _cast_weak(t, aval)


def _check_varies_alike(t: Any, aval: ShapedArray) -> None:
    """ValueError for a tangent that varies over other axes of the mesh than its primal value, inside of shard_map."""
    got = frozenset() if getattr(t, "dtype", None) == dtypes.float0 else aval_of(t).vma
    if not checked_axes() or got == aval.vma or aval.to_tangent_aval().dtype == dtypes.float0:
        return
    cast = lambda axes: f"applying `jax.lax.pcast(..., {tuple(sorted(axes, key=str))}, to='varying')` to the"
    clauses = [f"{cast(got - aval.vma)} primal value passed to `jax.linearize`"] if got - aval.vma else []
    if aval.vma - got:
        clauses.append(f"{cast(aval.vma - got)} tangent value passed to the function that `jax.linearize` returned")
    raise ValueError("linearized function called on tangent values inconsistent with the original primal values: "
                     f"Got tangent aval {aval_of(t)} for primal aval {aval}, so the varying manual axes do not match. "
                     f"This might be fixed by {', and '.join(clauses)}.")


@source.api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` at primals, and its derivative there as a linear function of tangents.

    >>> import numjet as nj
    >>> y, push = nj.linearize(nj.numpy.sin, 0.0)
    >>> print(push(2.0))
    2.0
    """
    check_callable(fun)
    if hooks.holds_above(primals):
        return hooks.above["linearize"](linearize, fun, primals, has_aux)
    return _linear_at(_Pushforward, "linearize", fun, primals, has_aux)


class _Pushforward(_LinearMap):
    """From consts and tangents to the tangent of the value."""

    @source.api_boundary
    def __call__(self, consts: Sequence[Any], *tangents: Any) -> Any:
        leaves, tree = tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(f"linearized function was called with tangents of structure {tree}, expected {self.in_tree}")
        try:
            ts = [_checked_tangent(t, a) for t, a in zip(leaves, self.linear.in_avals, strict=True)]
        except (TypeError, ValueError) as error:
            raise ValueError("linearized function called on tangent values inconsistent with the original primal values: "
                             f"{error}") from None
        for t, a in zip(leaves, self.linear.in_avals, strict=True):
            _check_varies_alike(t, a)
        nonzero = [t for t, nz in zip(ts, self.linear.in_nonzero, strict=True) if nz]
        outs = iter(eval_jaxpr(self.linear.jaxpr, list(consts), *nonzero))
        flat = [next(outs) if nz else instantiate(Zero(a.to_tangent_aval()))
                for nz, a in zip(self.linear.out_nonzero, self.out_avals, strict=True)]
        return tree_unflatten(self.out_tree, flat)


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The transpose of a linear function; primals (arrays or ShapeDtypeStructs) say the shapes and dtypes of its arguments.

    Raises TypeError when a part of the function is not linear.
    """
    del reduce_axes
    leaves, in_tree = tree_flatten(primals)
    avals = [_strong(x) if hasattr(x, "shape") else aval_of(x) for x in leaves]
    flat, out_tree = flat_function(fun, in_tree)
    jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info("linear_transpose", fun, primals, {}))
    joins = is_own(fun)
    if joins and checked_axes():  # the transpose is that of one shard's function: nothing is summed over the devices
        over = frozenset[Any]().union(*[v.aval.vma for v in jaxpr.outvars])
        avals = [a.update(vma=a.vma | over) for a in avals]
        jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info("linear_transpose", fun, primals, {}))
    kinds = {dtypes.kind(v.aval.dtype) in "fc" for v in (*jaxpr.invars, *jaxpr.outvars)}
    if len(kinds) == 2:
        raise TypeError("linear_transpose only supports float and complex inputs and outputs, or integers on both sides, but "
                        f"{function_name(fun)} takes {[a.str_short() for a in avals]} and returns "
                        f"{[v.aval.str_short() for v in jaxpr.outvars]}.")

    @source.api_boundary
    def transposed(consts: Sequence[Any], ct: Any) -> Any:
        cts, tree = tree_flatten(ct)
        if tree != out_tree[0]:
            raise TypeError(f"cotangent tree does not match function output, expected {out_tree[0]} but got {tree}")
        for c, v in zip(cts, jaxpr.outvars, strict=True):
            _check_transposed(aval_of(c), v.aval, joins)
        typed = [_cast_weak(c, v.aval) for c, v in zip(cts, jaxpr.outvars, strict=True)]
        with source.transformed("transpose"):
            found = backward_pass(jaxpr, consts, [Undefined(a) for a in avals], typed)
        return tuple(tree_unflatten(in_tree, [instantiate(g) for g in found]))
    return Partial(transposed, consts)


def _strong(x: Any) -> ShapedArray:
    """The shape and dtype of an array or a ShapeDtypeStruct, and over which axes of the mesh it varies."""
    aval = x.aval if isinstance(x, Tracer) else x
    return ShapedArray(x.shape, x.dtype, vma=aval.vma if type(aval) is ShapedArray else frozenset())


def _check_transposed(got: ShapedArray, expected: ShapedArray, joins: bool) -> None:
    """TypeError for a cotangent of another type than the result's. joins: it may vary over other axes of the mesh, of a
    function of numjet's own."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise TypeError(f"cotangent type does not match function output, expected {expected.str_short()} but got "
                        f"{got.str_short()}")
    if checked_axes() and got.vma != expected.vma and not joins:
        raise TypeError(f"cotangent type does not match function output, expected {expected} but got {got}: they vary over "
                        "different axes of the mesh. Apply jax.lax.pcast(..., to='varying') to the argument of "
                        "linear_transpose, or to the cotangent.")


# ------------------------------------------------------------------------------------------------ Jacobians

def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode: the better choice for more outputs than inputs.

    The result has, for every output leaf, the structure of the argument; shapes are output shape + input shape.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.jacfwd(lambda x: x ** 2)(jnp.arange(2.0)).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    check_callable(fun)
    argnums, nums = argument_numbers(argnums)

    @wraps(fun)
    @source.api_boundary
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        _check_any("jacfwd", nums)
        picked = _pick(nums, args, of_jacobian=True)
        for leaf in tree_leaves(picked):
            _check_jacobian_input("jacfwd", aval_of(leaf), holomorphic)
        partial = lambda *xs: fun(*replace_at(args, nums, xs), **kwargs)
        push = lambda ts: jvp(partial, picked, ts, has_aux=has_aux)
        outs = vmap(push, out_axes=(None, -1, None) if has_aux else (None, -1))(_basis(picked))
        y, jac = outs[0], outs[1]
        for leaf in tree_leaves(y):
            _check_jacobian_output("jacfwd", aval_of(leaf), holomorphic)
        example = picked[0] if isinstance(argnums, int) else picked
        result = tree_map(lambda j, out: _unravel(example, _numbers(j, out), -1), jac, y)
        return (result, outs[2]) if has_aux else result
    return jacfun


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
           allow_int: bool = False) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode: the better choice for more inputs than outputs. See jacfwd."""
    check_callable(fun)
    argnums, nums = argument_numbers(argnums)

    @wraps(fun)
    @source.api_boundary
    def jacfun(*args: Any, **kwargs: Any) -> Any:
        _check_any("jacrev", nums)
        picked = _pick(nums, args, of_jacobian=True)
        for leaf in tree_leaves(picked):
            _check_input("jacrev", aval_of(leaf), holomorphic, allow_int)
        partial = lambda *xs: fun(*replace_at(args, nums, xs), **kwargs)
        found = vjp(partial, *picked, has_aux=has_aux)
        y, pull = found[0], found[1]
        for leaf in tree_leaves(y):
            _check_jacobian_output("jacrev", aval_of(leaf), holomorphic)
        jac = vmap(pull)(_basis(y))
        jac = tree_map(_numbers, jac, picked)
        jac = jac[0] if isinstance(argnums, int) else tuple(jac)
        rows = tree_map(lambda j: _unravel(y, j, 0), jac)
        example = picked[0] if isinstance(argnums, int) else picked
        result = tree_transpose(tree_structure(example), tree_structure(y), rows)
        return (result, found[2]) if has_aux else result
    return jacfun


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar (or any) function: jacfwd of jacrev.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.hessian(lambda x: x[0] * x[1])(jnp.ones(2)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums, has_aux=has_aux,
                  holomorphic=holomorphic)


def _check_jacobian_input(name: str, aval: ShapedArray, holomorphic: bool) -> None:
    kind = dtypes.kind(aval.dtype)
    if holomorphic and kind != "c":
        raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {aval.dtype.name}.")
    if not holomorphic and kind != "f":
        raise TypeError(f"{name} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True.")


def _check_jacobian_output(name: str, aval: ShapedArray, holomorphic: bool) -> None:
    kind = dtypes.kind(aval.dtype)
    if holomorphic and kind != "c":
        raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, but got {aval.dtype.name}.")
    if not holomorphic and kind != "f" and name == "jacrev":
        hint = "For differentiation of functions with integer outputs, use jax.vjp directly." if kind != "c" else _FOR_COMPLEX
        raise TypeError("jacrev requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. {hint}")


def _numbers(j: Any, like: Any) -> Any:
    """A derivative by or of integers, which is zero, in their dtype."""
    aval = aval_of(j)
    if aval.dtype != dtypes.float0:
        return j
    own = aval_of(like)
    return zeros_like_aval(ShapedArray(aval.shape, own.dtype, own.weak_type))


def _basis(tree: Any) -> Any:
    """For a tree of arrays of n elements in all: the n unit vectors, as a tree of arrays with a leading axis."""
    leaves, treedef = tree_flatten(tree)
    avals = [aval_of(x) for x in leaves]
    total = sum(a.size for a in avals)
    if is_symbolic((total,)):
        return tree_unflatten(treedef, _unit_vectors(avals, total))
    out, start = [], 0
    for a in avals:
        block = np.zeros((total, a.size), a.dtype)
        block[np.arange(start, start + a.size), np.arange(a.size)] = 1
        out.append(as_array(block.reshape(total, *a.shape), ShapedArray((total, *a.shape), a.dtype, a.weak_type)))
        start += a.size
    return tree_unflatten(treedef, out)


def _unit_vectors(avals: Sequence[ShapedArray], total: Any) -> list[Any]:
    """The leaves of _basis by operations, where a size is not known while the function is traced."""
    out, start = [], 0
    for a in avals:
        rows, columns = (broadcasted_iota(np.int32, (total, a.size), d) for d in range(2))
        block = eq(rows, add(columns, broadcast_in_dim(size_constant(start, np.dtype(np.int32)), (total, a.size), ())))
        out.append(reshape(convert_dtype(block, a.dtype, a.weak_type), (total, *a.shape)))
        start += a.size
    return out


def _unravel(tree: Any, x: Any, axis: int) -> Any:
    """Splits an axis of x into the leaves of a tree, and gives each its leaf's shape."""
    leaves, treedef = tree_flatten(tree)
    shape = aval_of(x).shape
    axis %= len(shape)
    out, start = [], 0
    for leaf in leaves:
        aval = aval_of(leaf)
        lo, hi = [0] * len(shape), list(shape)
        lo[axis], hi[axis] = start, start + aval.size
        part = call("slice", x, start_indices=tuple(lo), limit_indices=tuple(hi), strides=None)
        out.append(call("reshape", part, new_sizes=(*shape[:axis], *aval.shape, *shape[axis + 1:]), dimensions=None))
        start += aval.size
    return tree_unflatten(treedef, out)
