"""Lowering of closed jaxprs to StableHLO modules, by the records' `hlo` slots."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numjet.core.aval import explicit, placements_in_use
from numjet.core.check import check_constant
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Var
from numjet.core.op import SCALARS, Expand, Missing
from numjet.core.sharding.distribution import Distribution
from numjet.core.sharding.memory import DEVICE, kind_of
from numjet.core.trace import Array
from numjet.foundation import compute_types, source, xla_metadata
from numjet.foundation.config import config
from numjet.xla import scalars, text
from numjet.xla.builder import Builder, HostCall, Value
from numjet.xla.shardy import Partitions

LARGE = 1 << 16  # constants of more bytes become inputs of the program


@dataclass
class Module:
    """A program as text. `constants`: values that it takes before its own inputs; `callbacks`: functions called by number."""
    text: str
    constants: list[np.ndarray]
    callbacks: list[HostCall]
    kept: list[Any] = field(default_factory=list)  # alive while the program is compiled


def lower(closed: ClosedJaxpr, name: str, platform: str, donated: Sequence[bool] = (), *, locations: bool = False,
          paths: bool = False, over: Distribution | None = None) -> Module:
    """The module whose function `main` computes a program.

    paths: whether results carry their paths in what the user's function returns.
    platform: cpu, cuda, rocm or tpu. donated: inputs whose memory a result of the same type may take over.
    over: the devices of a program of several, and the shardings of its inputs and results.
    Raises NotImplementedError for an operation without a lowering, with its name and the user's line.
    """
    partitions = None if over is None else Partitions(over.devices, over.mesh)
    b = Builder(platform, _Equations(locations), partitions)
    b.lower_part = functools.partial(_part, name, platform)
    b.names = (f"jit({name})",)
    b.compute_type = config.numjet_compute_type or None
    b.metadata = xla_metadata.of_scopes(config.numjet_xla_metadata.splitlines(), {})
    for v, c in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        check_constant(c, v.aval)
    constants = [c._value if isinstance(c, Array) else np.asarray(c) for c in closed.consts]  # random keys are no NumPy arrays
    large = [k for k, c in enumerate(constants) if c.nbytes > LARGE]
    avals = [closed.jaxpr.constvars[k].aval for k in large] + list(closed.in_avals)
    inputs = [Value(f"%arg{k}", a) for k, a in enumerate(avals)]
    consts: list[Any] = list(constants)
    for k, value in zip(large, inputs, strict=False):
        consts[k] = value
    outs = b.inline(ClosedJaxpr(closed.jaxpr, consts), inputs[len(large):])
    types = ", ".join(text.tensor(v.aval) for v in outs)
    b.line(f'"func.return"({", ".join(v.name for v in outs)}) : ({types}) -> ()')
    named = _result_names(closed) if paths else [[] for _ in outs]
    given = [False] * len(large) + (list(donated) or [False] * len(closed.in_avals))
    if partitions is None or over is None:
        taken, meshes = _inputs(inputs, given, outs), []
        types = ", ".join(text.tensor(v.aval) + text.attributes_of([*words, *_memory(None, a)])
                          for v, a, words in zip(outs, closed.out_avals, named, strict=True))
    else:
        taken = _sharded_inputs(partitions, inputs, (*[None] * len(large), *over.ins), given)
        types = ", ".join(_sharded_results(partitions, outs, over.outs or (None,) * len(outs), closed.out_avals, named))
        meshes = partitions.lines
    count = 1 if over is None else len(over.devices)
    head = [f"module @{_symbol(name)} attributes {{mhlo.num_partitions = {count} : i32, mhlo.num_replicas = 1 : i32}} {{",
            *meshes, f"  func.func public @main({', '.join(taken)}) -> ({types}) {{"]
    functions = [line for lines in b.functions.values() for line in lines]
    return Module("\n".join([*head, *b.lines, "  }", *functions, "}", ""]), [constants[k] for k in large], b.callbacks, b.kept)


def _part(name: str, platform: str, closed: ClosedJaxpr) -> str:
    """The text of what one device does in a call that a user divided."""
    module = lower(closed, name, platform)
    if module.constants or module.callbacks:
        raise NotImplementedError(f"custom_partitioning in {name}: the function of parts has constants of more than {LARGE} "
                                  "bytes, or calls Python: pass arrays as arguments, and call Python outside")
    return module.text


def _symbol(name: str) -> str:
    return "jit_" + "".join(c if c.isalnum() or c == "_" else "_" for c in name).rstrip("_")


def _inputs(inputs: Sequence[Value], donated: Sequence[bool], outs: Sequence[Value]) -> list[str]:
    """The parameters; a donated one names the result that takes over its memory, if one fits."""
    free = list(range(len(outs)))
    found = []
    for v, gives in zip(inputs, donated, strict=True):
        words = _memory(None, v.aval)
        taker = next((o for o in free if text.tensor(outs[o].aval) == text.tensor(v.aval)), None) if gives else None
        if taker is not None:
            free.remove(taker)
            words = [*words, f"tf.aliasing_output = {taker} : i32"]
        found.append(f"{v.name}: {text.tensor(v.aval)}{text.attributes_of(words)}")
    return found


def _result_names(closed: ClosedJaxpr) -> list[list[str]]:
    """The attribute of each result that says where it is in what the user's function returns, if that is known."""
    found = getattr(closed.jaxpr.debug_info, "result_paths", None)
    return [[] for _ in closed.out_avals] if found is None else [[f"jax.result_info = {text.quoted(path)}"] for path in found]


def _memory(sharding: Any, aval: Any) -> list[str]:
    """The attribute that names the memory of an input or result, if it is not the device's own: that of a sharding, else
    that of a type."""
    kind = sharding.memory_kind if sharding is not None else DEVICE if aval.placement is None else kind_of(aval.memory_space)
    return [] if kind in (None, DEVICE) else [f'mhlo.memory_kind = "{kind}"']


def _sharded_inputs(partitions: Partitions, inputs: Sequence[Value], shardings: Sequence[Any], donated: Sequence[bool]
                    ) -> list[str]:
    """The parameters with their shardings; XLA chooses the results that take over the memory of donated ones."""
    found = []
    for v, sharding, gives in zip(inputs, shardings, donated, strict=True):
        there = partitions.whole(text.rank(v.aval)) if sharding is None else partitions.attribute(sharding, text.rank(v.aval))
        words = [f"sdy.sharding = {there}", *_memory(sharding, v.aval), *["jax.buffer_donor = true"] * gives]
        found.append(f"{v.name}: {text.tensor(v.aval)}{text.attributes_of(words)}")
    return found


def _sharded_results(partitions: Partitions, outs: Sequence[Value], shardings: Sequence[Any], avals: Sequence[Any],
                     named: Sequence[list[str]]) -> list[str]:
    """The types of the results with their names and shardings."""
    divided = [[*words, f"sdy.sharding = {there}"] if (there := _result_sharding(partitions, v.aval, s)) else words
               for v, s, words in zip(outs, shardings, named, strict=True)]
    return [text.tensor(v.aval) + text.attributes_of([*words, *_memory(s, a)])
            for v, s, a, words in zip(outs, shardings, avals, divided, strict=True)]


def _result_sharding(partitions: Partitions, aval: Any, sharding: Any) -> str | None:
    """The attribute of a result's sharding. XLA chooses where none is given, but does not divide the words of keys."""
    if sharding is not None:
        return partitions.attribute(sharding, text.rank(aval))
    return partitions.chosen(aval.ndim) if text.word_count(aval.dtype) else None


class _Equations:
    """Lowers single equations."""

    def __init__(self, locations: bool):
        self.locations = locations

    def __call__(self, b: Builder, eqn: JaxprEqn, args: Sequence[Value]) -> list[Value]:
        outer = b.location, b.names, b.compute_type, b.metadata
        if placements_in_use:
            args = [_typed(a, v.aval) for a, v in zip(args, eqn.invars, strict=True)]
        if self.locations:
            b.location = _location(eqn, (*b.names, *source.names_of(eqn.source)))
            b.names = (*b.names, *eqn.scopes)
        if compute_types.in_use:
            b.compute_type = compute_types.of_scopes(source.names_of(eqn.source)) or b.compute_type
        if xla_metadata.in_use:
            b.metadata = xla_metadata.of_scopes(source.names_of(eqn.source), b.metadata)
        try:
            outs = self._rule(b, eqn, args)
        finally:
            b.location, b.names, b.compute_type, b.metadata = outer
        if placements_in_use and b.partitions is not None:
            outs = _placed(b, eqn, outs)
        for out, var in zip(outs, eqn.outvars, strict=True):
            if out.shape != var.aval.shape or text.element(out.dtype) != text.element(var.aval.dtype):
                raise AssertionError(f"{eqn.primitive.name}: its hlo rule gave {out}, abstract says {var.aval}")
        return outs

    def _rule(self, b: Builder, eqn: JaxprEqn, args: Sequence[Value]) -> list[Value]:
        op, params, rule = eqn.primitive, eqn.params, eqn.primitive.hlo
        if any(text.word_count(a.dtype) for a in args) and not _takes_keys(eqn):
            return self._by_words(b, eqn, args)
        if isinstance(rule, Missing):
            where = f" ({eqn.source})" if eqn.source is not None else ""
            raise NotImplementedError(f"'{op.name}' has no lowering for the XLA backend: {rule.why}{where}. "
                                      "Run this part on numjet's own CPU backend.")
        if isinstance(rule, Expand):
            return b.trace(rule.fn, args, **params)
        if op.elementwise:
            args = [b.broadcast(a, eqn.outvars[0].aval.shape) for a in args]
        if rule is SCALARS:
            return [scalars.elementwise(op.cpu, b, args, params)]
        if isinstance(rule, str):
            return [b.op(rule, args, eqn.outvars[0].aval)]
        out = rule(b, *args, **params)
        return list(out) if op.multiple else [out]

    def _by_words(self, b: Builder, eqn: JaxprEqn, args: Sequence[Value]) -> list[Value]:
        """An operation that moves keys: done to each of their words, which have an axis of their own."""
        of_word = lambda aval: aval.update(dtype=_WORD) if text.word_count(aval.dtype) else aval
        by_word = eqn.replace(outvars=[Var(of_word(v.aval)) for v in eqn.outvars])
        parts = [b.words(a) if text.word_count(a.dtype) else None for a in args]
        count = next(len(p) for p in parts if p is not None)
        found = [self._rule(b, by_word, [a if p is None else p[k] for a, p in zip(args, parts, strict=True)])
                 for k in range(count)]
        return [b.of_words(outs, v.aval.dtype) if text.word_count(v.aval.dtype) else outs[0]
                for v, *outs in zip(eqn.outvars, *found, strict=True)]


_WORD = np.dtype(np.uint32)


def _takes_keys(eqn: JaxprEqn) -> bool:
    """Whether an equation takes keys as they are: it holds programs, calls Python, or takes keys apart."""
    op = eqn.primitive
    return bool(op.programs or eqn.effects) or "callback" in op.params or op.name == "bitcast_convert_type"


def _typed(value: Value, aval: Any) -> Value:
    """A value whose type says in which memory it is."""
    if value.aval.memory_space is aval.memory_space:
        return value
    placed = explicit.in_memory(value.aval.placement, value.ndim, aval.memory_space)
    found = Value(value.name, value.aval.update(placement=placed), value.known)
    found.counts = value.counts
    return found


def _placed(b: Builder, eqn: JaxprEqn, outs: Sequence[Value]) -> list[Value]:
    """The results of an equation, divided as their types say; those of whose types none is, in whole on all devices where
    the operands' types say how they are divided."""
    if eqn.primitive.places is not None:
        return list(outs)
    operand = next((a.aval.placement for a in eqn.invars if explicit.divides(a.aval)), None)
    found = []
    for out, var in zip(outs, eqn.outvars, strict=True):
        there = var.aval.placement
        if explicit.divides(var.aval):
            out = b.placed(out, there.mesh, there.parts, there.unreduced)
        elif operand is not None and out.ndim and not eqn.primitive.programs:
            out = b.placed(out, operand.mesh, (None,) * out.ndim)
        found.append(out)
    return found


def _location(eqn: JaxprEqn, names: tuple[str, ...]) -> str:
    """The operation's name behind those of the scopes around it, and the user's line."""
    path, frame = text.quoted(f"{source.names_text(names)}/{eqn.primitive.name}"), eqn.source
    if frame is None:
        return f" loc({path})"
    return f" loc({path}({text.quoted(frame.file)}:{max(1, frame.line)}:1))"
