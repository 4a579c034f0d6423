"""Primitives: operations that users define. They are made by name, and their slots are filled later.

A record of core/op.py is a primitive, too, one that is complete when it is made. Traces, passes and backends read the same
slots of both: of a user's primitive they are empty (`Missing`) until `numjet.interpreters` fills them with a user's rule,
brought to the form that core/op.py describes.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.traits import NONE, Traits
from numjet.foundation.record import Record

F = TypeVar("F", bound=Callable[..., Any])
Effects = frozenset


class Missing(Record):
    """Marker of a slot that cannot be filled, or not yet; `why` is shown to the user who needs it."""
    why: str


_NO_JVP = Missing("give it one: numjet.interpreters.ad.primitive_jvps[primitive] = rule, or ad.defjvp(primitive, ...)")
_NO_TRANSPOSE = Missing("give it one if it is linear: numjet.interpreters.ad.primitive_transposes[primitive] = rule, or "
                        "ad.deflinear2(primitive, rule). If not, its JVP rule must compute tangents with other operations")
_NO_BATCH = Missing("give it one: numjet.interpreters.batching.primitive_batchers[primitive] = rule")
_NO_SAMPLES = Missing("defined by a user")


class Primitive:
    """An operation that a user defines, made by its name; its slots are filled later.

    def_impl says how to evaluate it, def_abstract_eval what types its results have, numjet.interpreters.ad how to
    differentiate it, numjet.interpreters.batching how to vectorize it, and numjet.interpreters.mlir.register_lowering how to
    compile it. A slot that is needed and empty raises NotImplementedError, which names it.

    >>> import numjet.numpy as jnp
    >>> double = Primitive("double")
    >>> _ = double.def_impl(lambda x: 2 * x)
    >>> double.bind(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """

    name: str
    multiple: bool = False
    call_primitive = False
    ref_primitive = False
    ref_allocating = False
    skip_canonicalization = False
    # The slots of core/op.py. A user's primitive may hold programs, so passes treat it as one that does.
    params: tuple[str, ...] = ()
    eager: Any = Missing("its impl evaluates it")
    jvp: Any = _NO_JVP
    transpose: Any = _NO_TRANSPOSE
    batch: Any = _NO_BATCH
    samples: Any = _NO_SAMPLES
    elementwise: bool = False
    compiled: bool = True
    programs: bool = True
    every_batch: bool = False          # batch is called when no operand is batched, too
    effects: Any = None
    prepare: Any = None
    partial_eval: Any = None
    dce: Any = None
    collective: Any = None
    linear_in: Any = None
    traits: Traits = NONE
    function: str | None = None
    cost: float | None = None
    reduces: str | None = None
    rewrites: Any = None
    interval: Any = None
    typed: bool = False
    reports: frozenset[str] = frozenset()
    in_place: Any = None
    carries: Any = None
    shift: Any = None
    part: Any = None
    inline: Any = None
    simplify: Any = None
    functions: frozenset[str] = frozenset()
    printing: Any = None
    nargs: int = 1
    mesh: Any = None
    scope: str | None = None
    varying: Any = None
    places: Any = None
    moves: bool = False
    alone: Any = None
    take_consts: Any = None
    whole: Any = None

    def __init__(self, name: str):
        self.name = name

    @property
    def multiple_results(self) -> bool:
        """Whether results are a sequence."""
        return self.multiple

    @multiple_results.setter
    def multiple_results(self, value: bool) -> None:
        self.multiple = value

    @property
    def map_primitive(self) -> bool:
        """False: there are no primitives that map over devices."""
        return False

    @map_primitive.setter
    def map_primitive(self, value: bool) -> None:
        if value:
            raise NotImplementedError(f"primitive '{self.name}': map_primitive=True, a map over devices, is not supported; "
                                      "use numjet.vmap inside of its rules")

    @property
    def is_effectful(self) -> bool:
        return self.effects is not None

    # -- how it is applied
    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive to arrays, tracers and scalars: one result, or a list when `multiple_results`."""
        return _native.current_trace().process(self, args, params)

    def replay(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive of an equation, whose operands may be literals."""
        return self.bind(*map(hooks.user_value, args), **self.get_bind_params(params))

    def bind_with_trace(self, trace: Any, args: Sequence[Any], avals: Any, params: dict[str, Any] | None = None) -> Any:
        """As bind, by that trace. The third argument, types of the operands, may be left out."""
        return trace.process(self, args, avals if params is None else params)

    def def_bind_with_trace(self, bind_with_trace: F) -> F:
        raise NotImplementedError(f"primitive '{self.name}': def_bind_with_trace is not supported; override `bind` in a "
                                  "subclass of Primitive instead")

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with which bind(*operands, **parameters) applies an equation's primitive: those of the equation. For
        programs that it calls, `subfuns` has functions, too."""
        return dict(params)

    # -- evaluation
    def impl(self, *args: Any, **params: Any) -> Any:
        """The result for arrays, as def_impl says."""
        raise NotImplementedError(f"Evaluation rule for '{self.name}' not implemented: give it one with primitive.def_impl. "
                                  "If it can be compiled, that is functools.partial(xla.apply_primitive, primitive).")

    def def_impl(self, impl: F) -> F:
        """Evaluates the primitive by impl(*arrays, **params) from now on; usable as a decorator."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def evaluate(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The result of `impl`, which gets arrays in place of literals."""
        return self.impl(*[hooks.user_value(x) for x in args], **params)

    # -- types
    _rule_of_types: Callable[..., Any] | None = None

    def def_abstract_eval(self, abstract_eval: F) -> F:
        """Takes the types of results from abstract_eval(*avals, **params), one aval or a sequence; usable as a decorator."""
        self._rule_of_types, self.effects = abstract_eval, None
        return abstract_eval

    def def_effectful_abstract_eval(self, effectful_abstract_eval: F) -> F:
        """As def_abstract_eval; the function gives a pair of types and effects."""
        self._rule_of_types = self.effects = effectful_abstract_eval
        return effectful_abstract_eval

    def_effectful_abstract_eval2 = def_effectful_abstract_eval

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, Effects]:
        """The types of the results, and the effects."""
        out = self.abstract(*avals, **params)
        return out, self.effects_of(avals, params)

    def _types_and_effects(self, avals: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Effects]:
        if self._rule_of_types is None:
            raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented: transformations need the types "
                                      "of its results; give them with primitive.def_abstract_eval.")
        out = self._rule_of_types(*avals, **params)
        return (out, frozenset()) if self.effects is None else (out[0], frozenset(out[1]))

    def abstract(self, *avals: Any, **params: Any) -> Any:
        out, _ = self._types_and_effects(avals, params)
        if isinstance(out, (list, tuple)) != self.multiple:
            raise ValueError(f"{self.name}.abstract_eval() method should return a tuple or a list iff "
                             f"{self.name}.multiple_results. That is {self.multiple}, and it returned {out!r}")
        if not self.multiple:
            return self._checked(out)
        return [self._checked(a) for a in out]

    def _checked(self, aval: Any) -> ShapedArray:
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"the abstract evaluation rule of primitive '{self.name}' must give core.ShapedArray objects "
                            f"{'(a list of them) ' if self.multiple else ''}, got {aval!r} of type {type(aval).__name__}")
        return aval

    def effects_of(self, avals: Sequence[Any], params: dict[str, Any]) -> Effects:
        """The effects of an equation."""
        return self._types_and_effects(avals, params)[1]

    # -- lowering
    def cpu(self, b: Any, *args: Any, **params: Any) -> Any:
        raise self.no_lowering("cpu")

    def hlo(self, b: Any, *args: Any, **params: Any) -> Any:
        raise self.no_lowering(b.platform)

    def no_lowering(self, platform: str) -> NotImplementedError:
        """The error of a program that is to be compiled."""
        return NotImplementedError(
            f"MLIR translation rule for primitive '{self.name}' not found for platform {platform}. Programs are compiled from "
            "lowering rules: numjet.interpreters.mlir.register_lowering(primitive, mlir.lower_fun(f, multiple_results=...)), "
            "where f computes the primitive with other operations. A Python function is called with numjet.pure_callback.")

    def put_rule(self, slot: str, rule: Any) -> None:
        """Fills a slot."""
        setattr(self, slot, rule)

    def is_high(self, *avals: Any, **params: Any) -> bool:
        return False

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"primitive '{self.name}': to_lojax, a rule of types that stand for other types, is not "
                                  "supported; use mlir.register_lowering with mlir.lower_fun")

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name
