"""`VJPHiPrimitive`: primitives with an implementation in Python and a rule per transformation, one class each.

A call is one operation on the arrays of its arguments, as that of a `custom_vjp` function: evaluation calls `expand`, reverse
mode the pair `vjp_fwd` and `vjp_bwd_retval`, forward mode `jvp`. Rules that a class lacks are derived from those that it has.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.diagnostics import typeof
from numjet.api.vmap import vmap
from numjet.as_jax import hijax_flat
from numjet.control.call.jaxpr_transforms import nonzero_flags, only_nonzero, with_zeros
from numjet.control.custom import custom_jvp, custom_vjp_call
from numjet.control.custom.custom_calls import Batch, Call, CustomCalls
from numjet.control.custom.linear_call import linear_call
from numjet.core.aval import ShapedArray
from numjet.core.op import Zero
from numjet.core.snapshots import frozen
from numjet.core.stage import StageTracer
from numjet.core.trace import aval_of, current_trace, is_array_like, set_trace
from numjet.foundation import tree
from numjet.foundation.tree.prefix import flatten_axes
from numjet.interpreters.batching import AxisData
from numjet.lax.tangent import add_any, instantiate
from numjet.transforms.vmap import BatchTrace


class Rules:
    """Derivative rules on flat arrays; None for one that there is not.

    fwd: (primals, which are perturbed) -> (results, residuals).
    bwd: () -> the backward rule for the residuals of the last forward pass, (residuals, cotangents) -> cotangents.
    jvp: (primals, tangents) -> (results, tangents).
    """

    __slots__ = ("bwd", "fwd", "jvp")

    def __init__(self, fwd: Any, bwd: Any, jvp: Any):
        self.fwd, self.bwd, self.jvp = fwd, bwd, jvp


def _differentiate(primals: Sequence[Any], tangents: Sequence[Any], name: str, *, rules: Rules) -> tuple[list[Any], list[Any]]:
    """Results and tangents: by the JVP rule in forward mode, by the rules of reverse mode where a tangent program is traced.

    A staged program may serve both modes: there the tangents are a linear function with both rules.
    """
    staged = [t for t in tangents if type(t) is StageTracer]
    if rules.fwd is None and rules.jvp is None:
        mode, method = ("grad", "vjp_fwd") if staged else ("jvp", "jvp")
        raise NotImplementedError(f"for {mode} support, subclass {name} must implement `{method}`. Derivative of {name}: its "
                                  "class has neither methods vjp_fwd and vjp_bwd_retval, for reverse mode, nor jvp, for "
                                  "forward mode, nor lin and linearized. Define those you need.")
    if rules.fwd is None or rules.jvp is not None and not staged:
        return rules.jvp(primals, tangents)
    bwd: list[Any] = []

    def fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        found = rules.fwd(primals, perturbed)
        bwd[:] = [rules.bwd()]
        return found

    backward = lambda residuals, cts: bwd[0](residuals, cts)
    if rules.jvp is None or any(t._trace.partial for t in staged):
        return custom_vjp_call.linearized(primals, tangents, name, fwd=fwd, bwd=backward)
    return _in_both_modes(primals, tangents, fwd, backward, rules.jvp)


def _in_both_modes(primals: Sequence[Any], tangents: Sequence[Any], fwd: Any, bwd: Any,
                   jvp: Any) -> tuple[list[Any], list[Any]]:
    nonzeros, avals = nonzero_flags(tangents), [aval_of(p) for p in primals]
    outs, residuals = fwd(primals, nonzeros)
    out_avals = [aval_of(o) for o in outs]
    wanted = tuple(a.to_tangent_aval().dtype.names is None for a in out_avals)
    chosen = lambda found, flags: [instantiate(t) for t, flag in zip(found, flags, strict=True) if flag]

    def push(known: Any, ts: Sequence[Any]) -> list[Any]:
        return chosen(jvp(known[0], with_zeros(nonzeros, ts, avals))[1], wanted)

    def pull(known: Any, cts: Sequence[Any]) -> list[Any]:
        return chosen(bwd(known[1], with_zeros(wanted, cts, out_avals)), nonzeros)

    outs_t = linear_call(push, pull, (list(primals), residuals), only_nonzero(tangents))
    return outs, with_zeros(wanted, outs_t, out_avals)


def _batched(batch: Batch, dims: Sequence[int | None], *, rules: Rules) -> dict[str, Any]:
    fwd = None if rules.fwd is None else custom_vjp_call.batched_forward(batch, rules.fwd, dims)
    bwd = None if rules.bwd is None else lambda: custom_vjp_call.batched_backward(batch, rules.bwd(), dims)
    jvp = None if rules.jvp is None else custom_jvp.batched_jvp(batch, dims, jvp=rules.jvp)["jvp"]
    return {"rules": Rules(fwd, bwd, jvp)}


_calls = CustomCalls("hi_primitive", ("rules",), _differentiate, _batched)


def apply(name: str, run: Callable[..., list[Any]], rules: Rules, held: Sequence[Any]) -> list[Any]:
    """Calls a function of flat arrays with derivative rules under the current trace."""
    return _calls.apply(Call(run, {"rules": rules}, name, True), held)


# -- pytrees of values


class Signature:
    """A pytree of types, those of arguments or of a result."""

    def __init__(self, types: Any):
        self.kinds, self.tree = tree.tree_flatten(types)

    def flat(self, values: Any) -> list[Any]:
        """The arrays of values of this structure, and their carriers."""
        return [x for leaf in self.tree.flatten_up_to(values) for x in hijax_flat.flat(leaf)]

    def values(self, held: Sequence[Any], make: Any = hijax_flat.whole) -> Any:
        return tree.tree_unflatten(self.tree, hijax_flat.values(self.kinds, held, make))

    def tangents(self, held: Sequence[Any], cotangents: bool = False) -> Any:
        """The tangents, or cotangents, of the values; symbolic zeros are among them."""
        def make(kind: Any, parts: Sequence[Any]) -> Any:
            above = cotangents and hijax_flat.is_above(kind) and hasattr(kind, "to_ct_aval")
            return hijax_flat.tangent(kind, parts, kind.to_ct_aval() if above else None)
        return tree.tree_unflatten(self.tree, hijax_flat.values(self.kinds, held, make))

    def flat_tangents(self, ts: Any) -> list[Any]:
        leaves = [None] * len(self.kinds) if ts is None else self.tree.flatten_up_to(ts)
        return [x for k, t in zip(self.kinds, leaves, strict=True) for x in hijax_flat.flat_tangent(k, t)]

    def flags(self, nonzeros: Sequence[bool]) -> Any:
        """For each value whether one of its arrays and carriers is perturbed."""
        rest = iter(nonzeros)
        per_value = [[next(rest) for _ in hijax_flat.flat_types(k)] for k in self.kinds]
        return tree.tree_unflatten(self.tree, list(map(any, per_value)))


def _without_zeros(t: Any) -> Any:
    """A tangent for a JVP rule: an array of zeros for a symbolic one, where there is such an array."""
    if type(t) is not Zero or not isinstance(t.aval, ShapedArray) or t.aval.dtype.names is not None:
        return t
    return instantiate(t)


class _Residuals:
    """What a forward rule keeps: arrays, and the rest, which is not traced."""

    def __init__(self, residuals: Any):
        leaves, self.tree = tree.tree_flatten(residuals)
        self.kinds = [typeof(x) if hijax_flat.type_of(x) is not None or is_array_like(x) and type(x) not in _NUMBERS else None
                      for x in leaves]
        self.fixed = [x if k is None else None for x, k in zip(leaves, self.kinds, strict=True)]
        self.arrays = [frozen(a) for x, k in zip(leaves, self.kinds, strict=True) if k is not None for a in hijax_flat.flat(x)]

    def rebuilt(self, arrays: Sequence[Any]) -> Any:
        found = iter(hijax_flat.values([k for k in self.kinds if k is not None], arrays, hijax_flat.whole))
        return tree.tree_unflatten(self.tree, [x if k is None else next(found)
                                               for x, k in zip(self.fixed, self.kinds, strict=True)])


_NUMBERS = frozenset((bool, int, float, complex))


class _Accumulator:
    """Collects the cotangent of an argument."""

    def __init__(self, aval: Any):
        self.aval, self.value = aval, None

    def accum(self, ct: Any) -> None:
        """Adds a cotangent; symbolic zeros count for nothing."""
        if ct is not None and type(ct) is not Zero:
            self.value = ct if self.value is None else (
                self.aval.vspace_add(self.value, ct) if hijax_flat.type_of(ct) is not None else add_any(self.value, ct))


# -- the user's side


class VJPHiPrimitive:
    """An operation that a user defines, with an implementation in Python and rules for derivatives and batches.

    A class sets in_avals (a tuple with the type of each argument, or a pytree of types), out_aval (the type of the result, or a
    pytree) and params (fixed values, which become attributes) in __init__, before it calls super().__init__(). `expand` gives
    the result by other operations. All other methods are for one transformation each, and only needed for that. `dce`, `remat`
    and `staging` of JAX say how programs are written, which this compiler finds out from `expand`.
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}.__init__ must set self.{name} before it calls super().__init__()")
        self.__dict__.update(self.params)
        self._takes, self._gives = Signature(tuple(self.in_avals)), Signature(self.out_aval)

    def expand(self, *args: Any) -> Any:
        """The result by other operations. Raises NotImplementedError: each class has its own."""
        raise self._lacks("expand", "evaluate it")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> tuple[Any, Any]:
        """The result, and what vjp_bwd_retval needs. nzs_in: which arguments are differentiated."""
        raise self._lacks("vjp_fwd", "differentiate it in reverse mode")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> tuple[Any, ...]:
        """The cotangents of all arguments; None for zero."""
        raise self._lacks("vjp_bwd_retval", "differentiate it in reverse mode")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Adds the cotangents of the arguments to accumulators, by their method `accum`."""
        for kinds, accums, ct in zip(self.in_avals, arg_accums, self.vjp_bwd_retval(res, outgrad), strict=True):
            own = Signature(kinds)
            leaves = [None] * len(own.kinds) if ct is None else own.tree.flatten_up_to(ct)
            for accum, leaf in zip(own.tree.flatten_up_to(accums), leaves, strict=True):
                accum.accum(leaf)

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result and its tangent; those of `lin` and `linearized`, if the class has them."""
        if type(self).lin is VJPHiPrimitive.lin:
            raise self._lacks("jvp", "differentiate it in forward mode")
        nonzeros = tree.tree_map(lambda t: type(t) is not Zero, tangents)
        out, residuals = self.lin(nonzeros, *primals)
        return out, self.linearized(residuals, *tangents)

    def lin(self, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
        """The result, and what `linearized` needs."""
        raise self._lacks("lin", "linearize it")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result, linear in the tangents."""
        raise self._lacks("linearized", "linearize it")

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        """The batch axis of the result."""
        raise self._lacks("batch_dim_rule", "say where the batch of its result is")

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:
        """The result over a batch and its batch axis. This one maps all rules."""
        out = vmap(self, tuple(dims), axis_size=axis_data.size)(*args)
        return out, tree.tree_map(lambda _: 0, out)

    def check(self, *arg_tys: Any) -> None:
        """Raises TypeError for arguments of other types than in_avals."""
        if tree.tree_structure(arg_tys) != self._takes.tree:
            raise TypeError(f"{self} takes arguments of structure {self._takes.tree}, got {tree.tree_structure(arg_tys)}")
        for got, want in zip(tree.tree_leaves(arg_tys), self._takes.kinds, strict=True):
            if _shape_and_dtype(got) != _shape_and_dtype(want):
                raise TypeError(f"{self} takes arguments of types {tuple(self.in_avals)}, got {arg_tys}")

    def __call__(self, *args: Any) -> Any:
        self.check(*tree.tree_map(typeof, args))
        trace, held = current_trace(), self._takes.flat(args)
        arrays = all(isinstance(k, ShapedArray) for k in (*self._takes.kinds, *self._gives.kinds))
        if isinstance(trace, BatchTrace) and arrays and type(self).batch is not VJPHiPrimitive.batch:
            return self._by_batch_rule(trace, held)
        return self._gives.values(apply(str(self), self._expanded, self._rules(), held))

    def _by_batch_rule(self, trace: BatchTrace, held: Sequence[Any]) -> Any:
        pairs = [trace.unpack(x) for x in held]
        dims = tree.tree_unflatten(self._takes.tree, [d for _, d in pairs])
        with set_trace(trace.parent):
            args = tree.tree_unflatten(self._takes.tree, [x for x, _ in pairs])
            if all(d is None for _, d in pairs):
                return self(*args)
            out, out_dims = self.batch(AxisData(trace.axis_name, trace.size), args, dims)
        axes = flatten_axes(f"batch axes of {self}", self._gives.tree, out_dims)
        outs = zip(self._gives.tree.flatten_up_to(out), axes, strict=True)
        return tree.tree_unflatten(self._gives.tree, [trace.pack(x, d) for x, d in outs])

    def _expanded(self, *held: Any) -> list[Any]:
        return self._gives.flat(self.expand(*self._takes.values(held, hijax_flat.plain)))

    def _rules(self) -> Rules:
        """The rules on flat arrays that the class has."""
        own = type(self)
        reverse = own.vjp_fwd is not VJPHiPrimitive.vjp_fwd
        forward = own.jvp is not VJPHiPrimitive.jvp or own.lin is not VJPHiPrimitive.lin
        last: list[_Residuals] = []

        def fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
            out, residuals = self.vjp_fwd(self._takes.flags(perturbed), *self._takes.values(primals))
            last[:] = [_Residuals(residuals)]
            return self._gives.flat(out), last[0].arrays

        return Rules(fwd if reverse else None, (lambda: self._backward(last[0])) if reverse else None,
                     self._flat_jvp if forward else None)

    def _backward(self, kept: _Residuals) -> Callable[..., list[Any]]:
        def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            accums = tree.tree_unflatten(self._takes.tree, list(map(_Accumulator, self._takes.kinds)))
            self.vjp_bwd(kept.rebuilt(residuals), self._gives.tangents(cts, cotangents=True), *accums)
            return self._takes.flat_tangents(tree.tree_map(lambda a: a.value, accums))
        return bwd

    def _flat_jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        ts = tree.tree_map(_without_zeros, self._takes.tangents(tangents), is_leaf=lambda t: type(t) is Zero)
        out, out_t = self.jvp(self._takes.values(primals), ts)
        return self._gives.flat(out), self._gives.flat_tangents(out_t)

    def _lacks(self, method: str, purpose: str) -> NotImplementedError:
        return NotImplementedError(f"subclass {type(self)} must implement `{method}`: {type(self).__name__} has no method "
                                   f"`{method}`, which is needed to {purpose}")

    def __repr__(self) -> str:
        return type(self).__name__

    def _key(self) -> tuple[Any, ...]:
        return type(self), tuple(self._takes.kinds), self._takes.tree, tuple(self._gives.kinds), self._gives.tree, \
            tuple(sorted(self.params.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VJPHiPrimitive) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _shape_and_dtype(kind: Any) -> Any:
    return (kind.shape, kind.dtype) if isinstance(kind, ShapedArray) else kind
