"""Padding: a trace that runs operations on symbolic arrays as operations on padded ones.

An array with computed sizes is a padded array of fixed shape, whose axes have the bounds of those sizes, beside the sizes
themselves, which are scalars of the program. The elements within the sizes come first along every axis. What follows them is
padding and may be anything; rules see to it that it reaches no element and no result.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import INT32, chosen, remainder
from numjet.control.checks.size_ops import check_sizes_p
from numjet.core.aval import ShapedArray
from numjet.core.ir import Jaxpr, subjaxprs
from numjet.core.op import Op
from numjet.core.stage import StageTrace
from numjet.core.trace import Trace, Tracer, aval_of, set_trace
from numjet.core.walk import all_eqns, eval_closed
from numjet.foundation import source
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.foundation.symbolic.dims import Operation
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p, sub_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import eq_p, ge_p, max_p, min_p, select_n_p
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.shape.dimension import dim_as_value_p
from numjet.lax.shape.leading import filled_p, inside_p

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these operations.

    rule(trace, op, xs, avals, outs, **params): xs are the padded operands, avals their symbolic avals, outs those of the
    results (one, or a list for operations of several results). It returns the padded results. Of operations that hold programs:
    rule(trace, op, args, **params), which returns what the operation does.
    """
    def put(fun: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, fun))
        return fun
    return put


class PaddedTracer(Tracer):
    """An array with computed sizes; `value` is the padded array."""

    __slots__ = ("value",)

    def __init__(self, trace: PaddingTrace, value: Any, aval: ShapedArray):
        self._trace, self.value, self.aval = trace, value, aval

    def origin_text(self) -> str:
        return self.value.origin_text() if isinstance(self.value, Tracer) else ""

    def made_at(self) -> Any:
        return self.value.made_at() if isinstance(self.value, Tracer) else None


class PaddingTrace(Trace):
    """Applies the rule of every operation that touches an array with computed sizes; all else goes to the parent."""

    __slots__ = ("codes", "expected", "parent", "program", "sizes", "values")

    def __init__(self, parent: StageTrace, program: Any, values: dict[str, Any] | None = None):
        """values: those of variables that the program around this one computes."""
        super().__init__()
        self.parent, self.program = parent, program
        self.values: dict[str, Any] = dict(values or {})  # of variables; arrays hold one per iteration of a loop that ended
        self.sizes: dict[Any, Any] = {}  # of expressions
        self.codes: list[Any] = []  # of checks: 0, or the number of the one that failed
        self.expected: set[tuple[Any, str]] = set()

    pads = True   # whether arrays may have padding

    def below(self, stage: StageTrace) -> PaddingTrace:
        """The trace for the body of a loop or branch, which knows the sizes around it."""
        return PaddingTrace(stage, self.program, self.values)

    # -- operations
    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if not any(type(a) is PaddedTracer for a in args) and not mentions_sizes(op, params):
            with set_trace(self.parent):
                return op.bind(*args, **params)
        if op is dim_as_value_p:
            with set_trace(self.parent):
                out = op.abstract(**params)
                return convert_element_type(self.size(params["dim"]), out.dtype)
        if op.programs:
            return self.program_rule(op, args, params)
        avals = [aval_of(a) for a in args]
        outs = op.abstract(*avals, **params)
        found = RULES.get(op.name) or (RULES["elementwise"] if op.elementwise else None)
        if found is None:
            raise self.no_rule(op, [*avals, *(outs if op.multiple else [outs])])
        with set_trace(self.parent):
            made = found(self, op, [self.unpack(a) for a in args], avals, outs, **params)
        if op.multiple:
            return [self.pack(x, a) for x, a in zip(made, outs, strict=True)]
        return self.pack(made, outs)

    def program_rule(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Operations that hold programs: calls are run, loops and branches have rules of their own."""
        found = RULES.get(op.name)
        if found is not None:
            return found(self, op, args, **params)
        inlined = _inlined(op, args, params)
        if inlined is None:
            raise self.no_rule(op, [aval_of(a) for a in args])
        return eval_closed(*inlined)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, *,
                                symbolic_zeros: bool) -> Any:
        """The function: derivatives are taken in front of padding."""
        return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Sequence[Any], /, *,
                                out_trees: Any, symbolic_zeros: bool) -> Any:
        """As process_custom_jvp_call."""
        return fun.call_wrapped(*tracers)

    def no_rule(self, op: Op, avals: Sequence[ShapedArray]) -> NotImplementedError:
        """The error for an operation that cannot follow computed sizes."""
        shaped = [a for a in avals if is_symbolic(a.shape)]
        shapes = ", ".join(dict.fromkeys(a.str_short() for a in shaped)) or "no operand of computed size"
        legend = self.program.scope.legend(tuple(n for a in shaped for n in a.shape))
        return NotImplementedError(
            f"The operation '{op.name}' cannot follow sizes that are computed when the program runs: {shapes}. {legend}Give "
            "the array a known size in front of it: nonzero and unique take size= and fill_value=, and jnp.where(mask, x, 0) "
            "keeps the shape of x. Or call it on a result outside of the function with dynamic_shapes.")

    def unpack(self, x: Any) -> Any:
        """The padded array of an operand."""
        return x.value if type(x) is PaddedTracer else x

    def pack(self, value: Any, aval: ShapedArray) -> Any:
        """The tracer of a result: symbolic shapes are kept beside the padded array."""
        return PaddedTracer(self, value, aval) if is_symbolic(aval.shape) else value

    # -- sizes
    def shape(self, shape: Iterable[Any]) -> tuple[int, ...]:
        """The shape of the padded array."""
        return tuple(map(self.program.scope.bound, shape))

    def size(self, n: Any) -> Any:
        """The value of a size: an int32 of the program."""
        if not isinstance(n, Dimension):
            return np.int32(n)
        if n not in self.sizes:
            self.sizes[n] = self._evaluated(n)
        return self.sizes[n]

    def _evaluated(self, dim: Any) -> Any:
        total: Any = None
        for monomial, coefficient in dim.terms:
            term: Any = np.int32(coefficient)
            for factor, exponent in monomial:
                value = self._factor(factor)
                for _ in range(exponent):
                    term = mul_p.bind(term, value)
            total = term if total is None else add_p.bind(total, term)
        return total

    def _variable(self, name: str) -> Any:
        value = self.values.get(name)
        if value is None or aval_of(value).shape:
            raise NotImplementedError(
                f"The size {name} is computed in the body of a loop or a branch, and may be another one in each iteration; its "
                f"number is asked for outside{here()}. {self.program.scope.legend((name,))}Return what has a known size "
                "from the body: a sum, jnp.where(mask, x, 0) in the place of x[mask], or nonzero(size=...).")
        return value

    def bind_size(self, dim: Any, value: Any) -> None:
        """Says which number a variable is from here on."""
        self.values[str(dim)] = convert_element_type(value, INT32)
        self.sizes.clear()

    def _factor(self, factor: Any) -> Any:
        if not isinstance(factor, Operation):
            return self._variable(factor)
        a, b = map(self.size, factor.args)
        if factor.name in ("max", "min"):
            return (max_p if factor.name == "max" else min_p).bind(a, b)
        rest = remainder(a, b)
        return rest if factor.name == "mod" else div_p.bind(sub_p.bind(a, rest), b)

    # -- checks
    def check(self, holds: Any, message: str) -> None:
        """Raises ValueError with the message after the program ran, unless a bool scalar holds."""
        self.program.messages.append(message)
        self.codes.append(select_n_p.bind(holds, np.int32(len(self.program.messages)), np.int32(0)))

    def expect(self, x: Any, what: str) -> None:
        """Checks that an expression of sizes is at least 0."""
        legend = self.program.scope.legend((x,))
        self.check_size(x, f"{what}: {x} is not at least 0. {legend}".rstrip())

    def check_size(self, x: Any, message: str) -> None:
        """Raises ValueError with the message if an expression of sizes is below 0: in front of the run if all of its variables
        are arguments, as they are always known then."""
        if (x, message) in self.expected:
            return
        self.expected.add((x, message))
        if self is self.program.outermost and self.program.is_given(x):
            self.program.given_checks.append((x, message))
            return
        with set_trace(self.parent):
            self.check(ge_p.bind(self.size(x), np.int32(0)), message)

    def code(self) -> Any:
        """0, or the number of the first check that failed."""
        found: Any = np.int32(0)
        for code in reversed(self.codes):
            found = select_n_p.bind(eq_p.bind(code, np.int32(0)), code, found)
        return found

    # -- masks
    def inside(self, aval: ShapedArray, axes: Iterable[int] | None = None) -> Any:
        """Where a padded array has elements, as bools of its shape; None where it has no padding.

        axes: those along which it is asked (default: all).
        """
        shape = self.shape(aval.shape)
        found: Any = None
        for axis in range(len(shape)) if axes is None else axes:
            if isinstance(aval.shape[axis], Dimension):
                held = inside_p.bind(self.size(aval.shape[axis]), shape=shape, axis=axis)
                found = held if found is None else and_p.bind(found, held)
        return found

    def masked(self, x: Any, aval: ShapedArray, fill: Any, axes: Iterable[int] | None = None) -> Any:
        """A padded array with `fill` in its padding."""
        if aval.dtype.names is not None:
            mask = self.inside(aval, axes)
            return x if mask is None else chosen(mask, x, np.asarray(fill).astype(aval.dtype)[()])
        value = np.asarray(fill).astype(aval.dtype)[()]
        for axis in range(len(aval.shape)) if axes is None else axes:
            if isinstance(aval.shape[axis], Dimension):
                x = filled_p.bind(x, self.size(aval.shape[axis]), value, axis=axis)
        return x


def spread_like(n: int, value: Any) -> Any:
    """A number of the dtype of a scalar; the greatest of the dtype, if that is less."""
    dtype = aval_of(value).dtype
    return np.asarray(min(n, np.iinfo(dtype).max), dtype)[()]


def here() -> str:
    """The user's line, for messages."""
    frame = source.user_frame()
    return "" if frame is None else f" {source.on_line(frame)}"


# ------------------------------------------------------------------------------------------------ what mentions sizes

def mentions_sizes(op: Op, params: dict[str, Any]) -> bool:
    """Whether parameters hold computed sizes, or checks of such."""
    if op is check_sizes_p:
        return True
    return any(map(_holds_size, params.values())) or op.programs and any(_program_mentions(j) for j in subjaxprs(params))


def _holds_size(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_size, value))
    return isinstance(value, Dimension)


def _program_mentions(jaxpr: Jaxpr) -> bool:
    if any(is_symbolic(v.aval.shape) for v in (*jaxpr.invars, *jaxpr.constvars)):
        return True
    return any(is_symbolic(v.aval.shape) for e in all_eqns(jaxpr) for v in e.outvars) or any(
        mentions_sizes(e.primitive, e.params) for e in jaxpr.eqns)


def _inlined(op: Op, args: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...] | None:
    """(program, *operands) of a call; None for operations that are no calls."""
    if op.inline is None:
        return None
    trace = StageTrace()
    inputs = [trace.new_input(aval_of(a)) for a in args]
    trace.process(op, inputs, params)
    given = dict(zip(trace.invars, args, strict=True))
    found = op.inline(trace.eqns[-1])
    if found is None:
        return None
    program, operands = found
    return program, *[given.get(a, a) for a in operands]
