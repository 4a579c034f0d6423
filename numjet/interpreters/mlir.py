"""Lowering rules of primitives that users define: `register_lowering` with `lower_fun`.

Backends compile programs of numjet's operations, and there is no MLIR to write: functions that would build some raise, with
what to use instead. A rule may look at its context (`avals_in`, `avals_out`, `module_context.platforms`) and call rules that
lower_fun made.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.host.callback import io_callback, pure_callback
from numjet.core.primitive import Primitive
from numjet.interpreters.lowering import PLATFORMS, Context as LoweringRuleContext, Lowerings, WritesMlir
from numjet.interpreters.rules import users_primitive


class LoweredFunction:
    """A lowering rule that computes a primitive by a function of arrays."""

    __slots__ = ("fun", "multiple_results")

    def __init__(self, fun: Callable[..., Any], multiple_results: bool):
        self.fun, self.multiple_results = fun, multiple_results

    @property
    def __name__(self) -> str:
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    def __call__(self, ctx: LoweringRuleContext, *args: Any, **params: Any) -> list[Any]:
        out = self.fun(*args, **params)
        if not self.multiple_results:
            return [out]
        if not isinstance(out, (list, tuple)):
            raise TypeError(f"mlir.lower_fun({self.__name__}, multiple_results=True) must give a list of arrays, got {out!r}; "
                            "for one array say multiple_results=False")
        return list(out)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweredFunction:
    """A lowering rule by a function: fun(*operands, **params) computes the results of the primitive with other operations.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> double = Primitive("double")
    >>> _ = double.def_abstract_eval(lambda x: x)
    >>> _ = register_lowering(double, lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> nj.jit(double.bind)(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return LoweredFunction(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Callable[..., Any], platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> Callable[..., Any]:
    """Compiles a primitive by the rule rule(ctx, *operands, **params), on one platform or on all others; returns the rule.

    The rule is traced, so it is made by `lower_fun`, or calls such rules. inline and cacheable are hints.

    Raises:
      TypeError: for numjet's own operations.
      NotImplementedError: when a program is compiled, if the rule writes MLIR.
    """
    if platform is not None and platform not in PLATFORMS:
        raise NotImplementedError(f"Registering an MLIR lowering rule for primitive {prim} for an unknown platform {platform}. "
                                  f"Known platforms are: {', '.join(PLATFORMS)}.")
    found = users_primitive(prim, "mlir.register_lowering")
    lowerings = found.inline.__self__ if found.inline is not None else Lowerings(found)
    lowerings.rules[platform] = rule
    found.inline, found.cpu, found.hlo = lowerings.inline, lowerings.cpu, lowerings.hlo  # type: ignore[method-assign]
    return rule


def emit_python_callback(ctx: LoweringRuleContext, callback: Callable[..., Sequence[Any]], token: Any, operands: Sequence[Any],
                         operand_avals: Sequence[Any], result_avals: Sequence[Any], *, has_side_effect: bool,
                         returns_token: bool = True, partitioned: bool = False, sharding: Any = None) -> tuple[Any, Any, Any]:
    """(results, token, None) of a call of a Python function inside of a lowering rule."""
    if partitioned or sharding is not None:
        raise NotImplementedError("emit_python_callback: programs run on one device; leave out partitioned and sharding")
    call = io_callback if has_side_effect else pure_callback
    return list(call(callback, list(result_avals), *operands)), token, None


class _LowerableEffects:
    """Accepts all types of effects: programs with them are compiled."""

    def add_type(self, effect_type: type) -> None:
        """Nothing to do: equations with effects keep their order."""

    def contains(self, effect: Any) -> bool:
        return True

    def filter_not_in(self, effects: Any) -> list[Any]:
        return []

    def filter_in(self, effects: Any) -> list[Any]:
        return list(effects)


lowerable_effects = _LowerableEffects()


# ------------------------------------------------------------------------------------------------ refused

def _refused(name: str, kind: str = "function") -> Any:
    """A function or class of JAX that raises when it is used."""
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise WritesMlir(f"numjet.interpreters.mlir.{name} builds MLIR")

    if kind == "class":
        return type(name, (), {"__new__": lambda cls, *args, **kwargs: refuse(), "__doc__": "Refused: numjet has no MLIR."})
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: numjet has no MLIR."
    return refuse


ConstantHandler, LoweringParameters, LoweringResult, Mesh, ModuleContext, SPMDAxisContext, ShapePolyLoweringState, \
    ShardingContext, Token, TokenSet, Value = (_refused(name, "class") for name in (
        "ConstantHandler", "LoweringParameters", "LoweringResult", "Mesh", "ModuleContext", "SPMDAxisContext",
        "ShapePolyLoweringState", "ShardingContext", "Token", "TokenSet", "Value"))
aval_to_ir_type, aval_to_ir_types, core_call_lowering, dense_int_array, dense_int_elements, dtype_to_ir_type, \
    flatten_ir_types, flatten_ir_values, i32_attr, i64_attr, ir_attribute, ir_constant, ir_constants, jaxpr_subcomp, \
    lower_jaxpr_to_fun, lower_jaxpr_to_module, make_ir_context, merge_mlir_modules, module_to_bytecode, module_to_string, \
    register_constant_handler, shape_tensor, token_type, unflatten_ir_values_like_types = map(_refused, (
        "aval_to_ir_type", "aval_to_ir_types", "core_call_lowering", "dense_int_array", "dense_int_elements",
        "dtype_to_ir_type", "flatten_ir_types", "flatten_ir_values", "i32_attr", "i64_attr", "ir_attribute", "ir_constant",
        "ir_constants", "jaxpr_subcomp", "lower_jaxpr_to_fun", "lower_jaxpr_to_module", "make_ir_context",
        "merge_mlir_modules", "module_to_bytecode", "module_to_string", "register_constant_handler", "shape_tensor",
        "token_type", "unflatten_ir_values_like_types"))
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3  # kinds of channels
ir_tree_registry: Any = None
ir_type_handlers: dict[type, Any] = {}
