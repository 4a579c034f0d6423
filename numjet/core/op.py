"""The operation record: everything about one operation, in one place, checked when it is made.

Slots (a function, or one of the markers below):
  abstract(*avals, **params) -> aval            list of avals when `multiple`
  eager(*ndarrays, **params) -> ndarray         the reference implementation; every other slot is tested against it
  jvp(primals, tangents, **params) -> (out, tangent)   tangents may be Zero;
      LINEAR: linear in all operands together; ZERO: no derivative; PerArg(f, g): f(t, out, *primals, **params) each
  transpose(ct, *args, **params) -> cotangent per operand; linear operands come as Undefined, known ones give None
  batch(size, args, dims, **params) -> (out, dim)      dims: int or None per operand; lists when `multiple`
  cpu(b, *handles, **params) -> handle          b: core.emit.LoopBuilder (ScalarBuilder for elementwise records)
  hlo(b, *values, **params) -> value             b: core.emit.HloBuilder; or the name of a StableHLO operation; Expand(fn);
      SCALARS: the cpu rule of an elementwise record, on whole tensors
  samples                                        inputs on which the generic record test runs
Optional slots
  partial_eval(trace, args, params), dce(eqn, used results) -> eqn, or None to drop it: see transforms
  rewrites(eqn, facts) -> atom | eqn | None      an exact identity: what may stand in place of the equation; atoms when
      `multiple`. facts: see core/intervals.py
  interval(eqn, known) -> Interval                the interval of an integer result (a list when `multiple`), from those of
      the operands: see core/intervals.py
  in_place(eqn) -> positions of operands whose memory its results may take over
  carries(eqn) -> Carries                        of a loop: where its state is
  shift(eqn) -> (operand, axis, by) per way in which the result is an array shifted along an axis (to the front if by > 0) of
      which that operand is what stays; part(eqn, result) -> (axis, start) if the result is a part of operand 0, whole
      along all other axes, else None
What it is like
  traits                                         see core/traits.py
  function                                       of an elementwise record: the function of loop IR that it applies, which
                                                 gives its cost; cost: what it takes per element, in additions, for others
  reduces                                        of a reduction: how two elements combine (add, mul, max, ...)
Of operations that hold programs
  inline(eqn) -> (program, operands) | None      the program that stands in place of the equation
  simplify(eqn, simplify) -> Rewritten           its simpler form, with the programs in it simplified: see transforms.simplify
  functions                                      parameters that are functions, which a program as text does not have
Its text
  printing                                       the PrintingRule of core/printer.py; None: parameters in alphabetical order
A record does not change after it is made, but for rules of derivatives and batches, and a function that evaluates it, that a
user puts in the place of its own.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.primitive import Missing as Missing, Primitive
from numjet.core.trace import EVAL, aval_of, set_trace
from numjet.core.traits import DESCRIPTIONS, NONE, Traits
from numjet.core.walk import eval_closed
from numjet.foundation import locks
from numjet.foundation.linear_util import WrappedFun
from numjet.foundation.record import Fields, Record
from numjet.foundation.tree import register_pytree_node

F = TypeVar("F", bound=Callable[..., Any])


class _Marker:
    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


LINEAR = _Marker("LINEAR")
ZERO = _Marker("ZERO")
SCALARS = _Marker("SCALARS")
_UNFILLED = _Marker("UNFILLED")


class PerArg:
    """One derivative per operand: f(t, out, *primals, **params) -> tangent, or None where there is none."""

    __slots__ = ("rules",)

    def __init__(self, *rules: Callable[..., Any] | None):
        self.rules = rules


class Expand(Record):
    """Derive the slot by tracing `fn(*args, **params)`, which is written with other operations."""
    fn: Callable[..., Any]


class Samples(Record):
    """Inputs for the generic record test.

    shapes: one entry per case: a shape used for every operand, or a list of shapes, one per operand.
    params: one dict per case (repeated when there is one). dtypes: names; an entry may be a tuple, one per operand.
    low, high: range of random values (integers: rounded). make: optional function(rng, shapes, dtype, params) -> operands.
    ulps / rtol: allowed difference between backends and eager; rtol for sums that may cancel, of the matrix' largest.
    order: derivative order tested (0: none).
    wrt: operands with respect to which derivatives are tested (default: all inexact ones).
    """
    shapes: Sequence[Any] = ((), (3,), (2, 3, 4))
    params: Sequence[dict[str, Any]] = ({},)
    dtypes: Sequence[Any] = ("float32",)
    low: float = -2.0
    high: float = 2.0
    make: Callable[..., Any] | None = None
    ulps: float = 4
    rtol: float | None = None
    order: int = 2
    wrt: Sequence[int] | None = None


class Zero:
    """A symbolic zero: a tangent or cotangent known to be zero, for which no array is made."""

    __slots__ = ("aval",)
    instantiate: Callable[..., Any]  # the array of zeros; lax.tangent, which knows operations, defines it

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class Undefined:
    """Placeholder of a linear operand when an operation is transposed: only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)

    def __jax_array__(self) -> Any:
        """TypeError: rules of linear operations do not ask for the value."""
        raise TypeError("Only linear functions can be transposed: an operation needs the value of an operand of type "
                        f"{self.aval}, which depends on the arguments, as a product of two such values does. Transpose the "
                        "derivative of the function at a point, from linearize or vjp, instead.")

    def __repr__(self) -> str:
        return f"Undefined({self.aval})"


# Nodes without children: functions that users transform may return them.
register_pytree_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))
register_pytree_node(Undefined, lambda operand: ((), operand.aval), lambda aval, _: Undefined(aval))


_registry: dict[str, Op] = {}
replaced: set[Op] = set()  # operations that a user's function evaluates
overridden: dict[tuple[Op, str], Any] = {}  # rules of numjet's in whose place a user's stand


class Op(Fields, Primitive):
    """The record of one operation; calling it applies the operation to arrays, tracers and scalars."""
    name: str
    params: tuple[str, ...] = ()
    abstract: Any = _UNFILLED
    eager: Any = _UNFILLED
    jvp: Any = _UNFILLED
    transpose: Any = _UNFILLED
    batch: Any = _UNFILLED
    cpu: Any = _UNFILLED
    hlo: Any = _UNFILLED
    samples: Any = _UNFILLED
    nargs: int = 1                     # operands that samples make when a case names one shape for all
    multiple: bool = False
    elementwise: bool = False          # cpu is a rule on scalars: cpu(b, *scalars, **params)
    compiled: bool = False             # evaluated by compiling it (loops, calls), not by its eager slot
    programs: bool = False             # parameters hold programs: batch gets axis_name, too, for the collectives in them
    effects: Any = None                # effects(**params) -> frozenset, for operations that do more than compute
    prepare: Any = None                # prepare(args, params) -> (args, params): canonicalises a user's call
    partial_eval: Any = None
    dce: Any = None
    collective: Any = None             # batch rule for the axis named in params
    linear_in: Any = None              # operand positions the transpose accepts
    traits: Traits = NONE
    function: str | None = None
    cost: float | None = None
    reduces: str | None = None
    rewrites: Any = None
    interval: Any = None
    reports: frozenset[str] = frozenset()  # parameters that only say what an error is about
    in_place: Any = None
    carries: Any = None
    shift: Any = None
    part: Any = None
    inline: Any = None
    scope: str | None = None           # around the names of the operations of its program in lowered text: "jit({name})"
    simplify: Any = None
    functions: frozenset[str] = frozenset()
    printing: Any = None
    mesh: Any = None                   # mesh(**params): the mesh of an operation that names devices
    varying: Any = None                # of a collective in shard_map: see core/stage.py, Varying
    places: Any = None                 # places(sharding of the operand, **params): that of the result of an operation that
                                       # says how values are divided, whose abstract slot gives placements
    typed: bool = False                # the abstract slot takes and gives placements
    alone: Any = None                  # alone(aval, sharding of the operand, **params): that of the result where the operation
                                       # runs by itself over several devices, or None for the compiler's choice
    moves: bool = False                # whether such an operation takes operands of other devices
    take_consts: Any = None            # take_consts(args, params) -> (args, params): with the constants of its programs, as
                                       # those have that users trace by themselves, among the operands
    whole: Any = None                  # whole(args) -> args: as users' traces get them, where rules of JAX know no scalars

    def __post_init__(self) -> None:
        slots = ("abstract", "eager", "jvp", "transpose", "batch", "cpu", "hlo", "samples")
        unfilled = [s for s in slots if getattr(self, s) is _UNFILLED]
        if unfilled:
            raise TypeError(f"op {self.name!r}: fill these slots or mark them Missing(reason): {unfilled}")
        if unknown := self.traits - DESCRIPTIONS.keys():
            raise TypeError(f"op {self.name!r}: these are no traits of core/traits.py: {sorted(unknown)}")
        if self.function and (not self.elementwise or self.cost):
            raise TypeError(f"op {self.name!r}: only elementwise operations apply a function, which gives their cost")
        if self.carries is not None and (self.in_place is None or not self.programs):
            raise TypeError(f"op {self.name!r}: what carries state holds programs and says which operands it replaces")
        if self.name in _registry:
            raise ValueError(f"op {self.name!r} exists already")
        _registry[self.name] = self

    def __setattr__(self, field: str, value: Any) -> None:
        if _registry.get(self.name) is self:
            raise AttributeError(f"op {self.name!r} does not change: give it {field!r} when it is made, or set it in a copy "
                                 "of the operation, which copy.copy makes")
        self.__dict__[field] = value

    def __copy__(self) -> Op:
        """A user's operation with the same rules, by the same markers: it may be renamed, and is in no table of ours."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: Any) -> Op:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name, where it is a record of ours: programs compare records by identity, and rules may be no module's."""
        return (lookup, (self.name,)) if _registry.get(self.name) is self else super().__reduce_ex__(protocol)

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Canonicalises the operands (when the record has `prepare`), then applies the operation."""
        try:
            if self.prepare is not None:
                args, params = self.prepare(self, args, params)
            return _native.current_trace().process(self, args, params)
        except TypeError:
            self._check_arguments(args)
            raise

    def _check_arguments(self, args: Sequence[Any]) -> None:
        """TypeError that says which of a user's arguments is no array."""
        for k, x in enumerate(args):
            try:
                aval_of(x)
            except TypeError as error:
                raise TypeError(f"Error interpreting argument to {self.name} as a JAX value. The problematic value is of type "
                                f"{type(x)} and was passed to {self.name} at position {k}. {error}") from None

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the operation to operands that need no canonicalisation (inside rules)."""
        if params and len(params) > len(self.params):
            params = self.known_params(params)
        if self.take_consts is not None:
            args, params = self.take_consts(args, params)
        return _native.current_trace().process(self, args, params)

    replay = bind

    def known_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters without those of JAX that this record does not have (`sharding`, `accuracy`), where they are None."""
        return {k: v for k, v in params.items() if k in self.params or (v is not None and k != "subfuns")}

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with which `bind` applies an equation; `subfuns` has the functions of one with rules of its own."""
        if "call_jaxpr" not in params:
            return dict(params)
        rules = [params[name] for name in self.params if name in self.functions]
        functions = functools.partial(eval_closed, params["call_jaxpr"]), *rules
        return {**params, "subfuns": tuple(map(WrappedFun, functions))}

    def put_rule(self, slot: str, rule: Any) -> None:
        """Puts a user's rule into a slot of derivatives or batches; programs derived before keep the old one."""
        if slot not in ("jvp", "transpose", "batch", "dce", "every_batch"):
            raise AttributeError(f"op {self.name!r} does not change in {slot!r}")
        own = overridden.setdefault((self, slot), getattr(self, slot, None))
        if rule is own:
            del overridden[self, slot]
        self.__dict__[slot] = rule

    def effects_of(self, avals: Sequence[Any], params: dict[str, Any]) -> frozenset[Any]:
        """The effects of an equation."""
        return frozenset() if self.effects is None else self.effects(**params)

    def impl(self, *args: Any, **params: Any) -> Any:
        """The result for arrays, by this record."""
        with set_trace(EVAL):
            return hooks.evaluate_own(self, args, params)

    def def_impl(self, impl: F) -> F:
        """Evaluates the operation by impl(*arrays, **params) from now on, where it runs by itself: programs are compiled as
        before. The `impl` of before puts it back. While an operation is replaced, all run without their fast paths."""
        if getattr(impl, "__func__", None) is Op.impl and impl.__self__ is self:  # type: ignore[attr-defined]
            self.__dict__.pop("impl", None)
            replaced.discard(self)
        else:
            self.__dict__["impl"] = impl
            replaced.add(self)
        _native.config_changed()
        return impl

    def _fixed(self, *_: Any) -> Any:
        raise TypeError(f"'{self.name}' is numjet's own operation, whose rules do not change. Define a primitive of your own, "
                        "or a function with numjet.custom_jvp, custom_vjp or custom_batching.custom_vmap.")

    def_abstract_eval = def_effectful_abstract_eval = _fixed  # type: ignore[assignment]
    def_effectful_abstract_eval2 = def_bind_with_trace = _fixed  # type: ignore[assignment]


later: list[str] = []  # modules whose records are made when they are first needed


def all_ops() -> dict[str, Op]:
    """All records by name, those of the modules in `later` included."""
    for module in later:
        locks.import_module(module)
    return _registry


def lookup(name: str) -> Op:
    """The record of that name."""
    return _registry[name] if name in _registry else all_ops()[name]
