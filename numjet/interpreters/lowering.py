"""Lowering of primitives that users define: a rule is traced, and its program stands in place of the equation.

numjet has no MLIR, so a rule runs on tracers in place of MLIR values: `mlir.lower_fun(f)` calls f on them, and what f does is
written out on each backend. A rule that builds MLIR operations fails on its first one, and the error says what to use.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.primitive import Primitive
from numjet.core.stage import DebugInfo, trace_to_closed
from numjet.core.trace import aval_of
from numjet.foundation.record import Record
from numjet.foundation.util import function_name
from numjet.lax.elementwise.convert import convert_element_type_p

Rule = Callable[..., Any]
GPU = ("cuda", "rocm")
PLATFORMS = ("cpu", "gpu", "tpu", *GPU)
INSTEAD = ("Compute it with other operations: mlir.register_lowering(primitive, mlir.lower_fun(f, multiple_results=...)). "
           "Inside of f, call a Python function with numjet.pure_callback, or compiled code with numjet.ffi.ffi_call.")


class WritesMlir(NotImplementedError):
    """Something tried to build MLIR. what: what it was."""

    def __init__(self, what: str):
        super().__init__(f"{what}, which numjet does not have. {INSTEAD}")
        self.what = what


class Platform(Record):
    """The part of a module's context that rules may read."""
    platforms: tuple[str, ...]

    def add_keepalive(self, keepalive: Any) -> None:
        """Nothing to do: programs keep alive the functions that they call."""


class Context(Record):
    """The first argument of lowering rules."""
    module_context: Platform
    primitive: Any
    avals_in: tuple[ShapedArray, ...]
    avals_out: tuple[ShapedArray, ...]
    name_stack: Any = None
    traceback: Any = None
    tokens_in: Any = None
    tokens_out: Any = None
    const_lowering: Any = None
    axis_size_env: Any = None
    dim_var_values: tuple[Any, ...] = ()
    jaxpr_eqn_ctx: Any = None
    platforms: tuple[str, ...] | None = None


class Lowerings:
    """The lowering rules of one primitive, by platform; None: for all platforms that have no other."""

    __slots__ = ("primitive", "rules")

    def __init__(self, primitive: Primitive):
        self.primitive = primitive
        self.rules: dict[str | None, Rule] = {}

    def rule(self, platform: str) -> Rule | None:
        names = (platform, "gpu", None) if platform in GPU else (platform, None)
        return next((self.rules[name] for name in names if name in self.rules), None)

    def inline(self, eqn: JaxprEqn) -> tuple[ClosedJaxpr, Sequence[Any]] | None:
        """The `inline` slot: the program that stands for an equation, where it is the same on all platforms.

        None for a rule that fails: it fails again where the equation is lowered, which no equation is that stands in a branch
        for another platform.
        """
        if set(self.rules) != {None}:
            return None
        try:
            return program(self.primitive, self.rules[None], "cpu", [a.aval for a in eqn.invars], eqn.params), eqn.invars
        except Exception:
            return None

    def cpu(self, b: Any, *args: Any, **params: Any) -> Any:
        return self._written(b, "cpu", args, params)

    def hlo(self, b: Any, *args: Any, **params: Any) -> Any:
        return self._written(b, b.platform, args, params)

    def _written(self, b: Any, platform: str, args: Sequence[Any], params: dict[str, Any]) -> Any:
        rule = self.rule(platform)
        if rule is None:
            raise self.primitive.no_lowering(platform)
        outs = b.inline(program(self.primitive, rule, platform, [a.aval for a in args], params), args)
        return outs if self.primitive.multiple else outs[0]


def program(primitive: Primitive, rule: Rule, platform: str, avals: Sequence[ShapedArray],
            params: dict[str, Any]) -> ClosedJaxpr:
    """The program of a lowering rule for operands of these types."""
    out = primitive.abstract(*avals, **params)
    want = out if primitive.multiple else [out]
    context = Context(Platform((platform,)), primitive, tuple(avals), tuple(want), platforms=(platform,))

    def lowered(*args: Any) -> list[Any]:
        return _typed(primitive, _results(primitive, rule, _call(primitive, rule, context, args, params)), want)

    return trace_to_closed(lowered, avals, DebugInfo(function_name(rule), f"lowering of {primitive.name}"))


def _call(primitive: Primitive, rule: Rule, context: Context, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What a rule gives; an error inside of MLIR's own functions becomes one that says what to use."""
    try:
        return rule(context, *args, **params)
    except WritesMlir as error:
        raise _by_hand(primitive, error.what) from error
    except Exception as error:
        if _inside_mlir(error):
            raise _by_hand(primitive, f"{type(error).__name__}: {error}") from error
        raise


def _inside_mlir(error: BaseException) -> bool:
    """Whether an error comes out of the Python bindings of MLIR, which tracers do not fit."""
    tb, last = error.__traceback__, ""
    while tb is not None:
        last = tb.tb_frame.f_globals.get("__name__", "")
        tb = tb.tb_next
    return last.startswith("jaxlib.mlir") or "mlir" in str(error)


def _by_hand(primitive: Primitive, what: str) -> NotImplementedError:
    return NotImplementedError(f"the lowering rule of primitive '{primitive.name}' writes MLIR by hand ({what}), which numjet "
                               f"does not have. {INSTEAD}")


def _results(primitive: Primitive, rule: Rule, found: Any) -> list[Any]:
    """The flat results of a rule, which may give each as a sequence of one."""
    flat = [x for item in (found if isinstance(found, (list, tuple)) else [found])
            for x in (item if isinstance(item, (list, tuple)) else [item])]
    try:
        for x in flat:
            aval_of(x)
    except TypeError:
        raise _by_hand(primitive, f"it gives {[type(x).__name__ for x in flat]}") from None
    return flat


def _typed(primitive: Primitive, found: list[Any], want: Sequence[ShapedArray]) -> list[Any]:
    """The results in the types that abstract evaluation gave; TypeError for others than weak types."""
    got = [aval_of(x) for x in found]
    if [(a.shape, a.dtype) for a in got] != [(a.shape, a.dtype) for a in want]:
        raise TypeError(f"the lowering rule of primitive '{primitive.name}' gives results of types {_text(got)}, but its "
                        f"abstract evaluation rule says {_text(want)}")
    return [x if g is w else convert_element_type_p.bind(x, new_dtype=w.dtype, weak_type=w.weak_type)
            for x, g, w in zip(found, got, want, strict=True)]


def _text(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(a.str_short() for a in avals) or "(none)"
