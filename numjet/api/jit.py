"""jit: a function is traced once per signature, compiled as a whole, and called through the native cache."""
from __future__ import annotations

import copyreg
import functools
import inspect
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.api import stages
from numjet.api.arguments import (
    check_arrays,
    check_callable,
    check_tracing,
    debug_info,
    flatten_result,
    path_names,
    placed,
    resolve_static,
    signature,
)
from numjet.api.jit_stages import add_stages, clear_native
from numjet.api.ref_arguments import NONE, RefArguments, aliases_of, joined, split_off
from numjet.core import hooks
from numjet.core.aval import ShapedArray, explicit, placements_in_use
from numjet.core.ir import ClosedJaxpr, Jaxpr, Var
from numjet.core.named_axes import scope as named_scope
from numjet.core.refs import Ref
from numjet.core.sharding.mesh import current_mesh, is_without_devices, over_devices, without_devices
from numjet.core.stage import DebugInfo, ResultTree, StageTrace, hoist_consts, trace_with_refs
from numjet.core.trace import EVAL, Tracer, current_trace
from numjet.core.user_functions import where
from numjet.core.walk import eval_jaxpr, first_mesh
from numjet.foundation import events, lazy_import, source
from numjet.foundation.config import config
from numjet.foundation.dimension import computed_sizes
from numjet.foundation.flags import parse_switch_or_count
from numjet.foundation.memo import Memo
from numjet.foundation.record import Fields
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from numjet.foundation.util import function_name, wraps
from numjet.runtime import dispatch, one_device
from numjet.runtime.device import CPU, Device, choose, devices, elsewhere, labels_in_use

if TYPE_CHECKING:
    from numjet.api import aot, cache_misses, fingerprint, stored_calls
    from numjet.control.call import call as calls
    from numjet.core.sharding import distribution
    from numjet.transforms import dce, simplify
else:
    aot = lazy_import.Module("numjet.api.aot")
    cache_misses = lazy_import.Module("numjet.api.cache_misses")
    stored_calls = lazy_import.Module("numjet.api.stored_calls")
    calls = lazy_import.Module("numjet.control.call.call")
    distribution = lazy_import.Module("numjet.core.sharding.distribution")
    dce = lazy_import.Module("numjet.transforms.dce")
    simplify = lazy_import.Module("numjet.transforms.simplify")
autograph = lazy_import.Module("numjet.api.autograph.function")
axes = lazy_import.Module("numjet.api.dynamic.axes")
dynamic = lazy_import.Module("numjet.api.dynamic.call")
key_reuse = lazy_import.Module("numjet.api.key_reuse")
programs = lazy_import.Module("numjet.api.export.programs")
hooks.set_program_bytes(lambda closed: programs.program_bytes(closed))
hooks.set_key_use(lambda op, args, params: key_reuse.use_by_operation(op, args, params))
placement = lazy_import.Module("numjet.api.sharding.placement")
sharding = lazy_import.Module("numjet.lax.sharding")

_OWN_REFERENCES = 3  # Python's, to the value of a mutable reference that nobody else holds: its slot, a list, an argument
_TRACES_PER_FUNCTION = 4096
_BYTES_PER_FUNCTION = 1 << 28


_traces_of: weakref.WeakKeyDictionary[FunctionType, dict[Any, Memo[Traced]]] = weakref.WeakKeyDictionary()  # by options


class Traced(Fields):
    """A function at one signature. `jaxpr` takes the leaves of the arguments, then the values of mutable references;
    `consts` are the values it closed over. trimming: what is done to results of data-dependent shape, or None."""
    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: PyTreeDef
    debug: DebugInfo
    refs: RefArguments = NONE
    trimming: Any = None

    def __post_init__(self) -> None:
        self._executables: dict[Any, Any] = {}
        self._mesh: Any = None
        self._closed: ClosedJaxpr | None = None
        self._key_use: Any = None
        self.key: Any = None  # of this, in its cache
        self.described: cache_misses.Key | None = None
        self.proof: str | None = None   # what says that the function is what it was when it was traced, if proven

    def key_use(self) -> Any:
        """What the program does to random keys, for jax_debug_key_reuse. KeyReuseError if it uses one twice."""
        if self._key_use is None:
            self._key_use = key_reuse.jaxpr_type_signature(self.jaxpr)
        return self._key_use

    @property
    def mesh(self) -> Any:
        """The mesh that operations of the program name; NO_MESH where none does."""
        if self._mesh is None:
            self._mesh = first_mesh(self.jaxpr) or NO_MESH
        return self._mesh

    def closed_over_nothing(self) -> ClosedJaxpr:
        """The program whose first inputs are the constants (one object, so that rules can cache by identity)."""
        if self._closed is None:
            self._closed = ClosedJaxpr(hoist_consts(self.jaxpr))
        return self._closed


NO_MESH = "none"  # of a program whose operations name no devices


class Call(Fields):
    """The arguments of one call, taken apart."""
    leaves: list[Any]
    in_tree: PyTreeDef
    avals: tuple[ShapedArray, ...]
    dynamic_args: tuple[Any, ...]
    static: tuple[tuple[Any, Any], ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    refs: tuple[tuple[int, Ref], ...] = ()  # mutable references, with their positions among all leaves; not in `leaves`

    def with_leaves(self, leaves: list[Any]) -> Call:
        """The call with other values of the same types."""
        return Call(leaves, *[getattr(self, name) for name in self._fields[1:]])

    @property
    def static_nums(self) -> list[int]:
        """The positions of static arguments."""
        return [which for which, _ in self.static if isinstance(which, int)]

    @property
    def given_refs(self) -> list[Ref]:
        return [ref for _, ref in self.refs]


class Jitted:
    """State of a jitted function; `call` is the slow path of the native call."""

    def __init__(self, fun: Callable[..., Any], options: dict[str, Any]):
        self.fun, self.name, self.options = fun, function_name(fun), options
        self.static_nums, self.static_names = resolve_static(fun, options["static_argnums"], options["static_argnames"])
        self.donate_nums, self.donate_names = resolve_static(fun, options["donate_argnums"], options["donate_argnames"],
                                                             "donate")
        by_name = options["static_argnames"] and options["donate_argnames"]
        common = {*self.static_names} & {*self.donate_names} if by_name else {*self.static_nums} & {*self.donate_nums}
        if common:
            kind = "argnames" if by_name else "argnums"
            raise ValueError(f"static_{kind} and donate_{kind} cannot intersect, got {sorted(common)} in both: a static "
                             "argument is no array, and has no memory to give away.")
        self.keep_unused, self.inline = options["keep_unused"], options["inline"]
        self.dynamic_shapes: bool | int | None = options.get("dynamic_shapes")
        self.device = _pinned(options["device"], options["backend"])
        self.shardings = options.get("shardings")
        self.named = options.get("named")  # shardings over one device
        self.native: Callable[[], Any] = lambda: None  # the function that calls this one, if it lives
        self.traces = self._traces()
        self.rotations = self.traces.rotations
        self._below: Jitted | None = None

    def _traces(self) -> Memo[Traced]:
        """The cache of the function's traces: one for all that `jit` returns for it with the same options, as in a loop that
        calls jit(f)(x). It lives as long as the function. Callable objects may be equal at a cost, or hold what changes: what
        `jit` returns for them has a cache of its own."""
        new = lambda: Memo[Traced]("traces of a function", _TRACES_PER_FUNCTION, _BYTES_PER_FUNCTION)
        if type(self.fun) is not FunctionType or self.options.get("compiler_options"):
            return new()
        given = self.shardings or self.named
        key = (self.static_nums, self.static_names, self.donate_nums, self.donate_names, self.keep_unused, self.inline,
               self.device, self.dynamic_shapes, self.named is None, None if given is None else given.key)
        return _traces_of.setdefault(self.fun, {}).setdefault(key, new())

    def forget(self) -> None:
        """Drops all traces."""
        self.traces.clear()

    def _forget_native(self) -> None:
        """Drops native cache entries when programs are dropped here; those in use are fetched from here again, and so count
        as used."""
        native = self.native()
        self.rotations = self.traces.rotations
        if native is not None:
            clear_native(native)

    # -- arguments
    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Splits off static arguments and flattens the others."""
        static: list[tuple[Any, Any]] = []
        dynamic = []
        static_nums = placed(self.static_nums, len(args))
        for n, a in enumerate(args):
            if n in static_nums:
                static.append((n, self._hashable(a, f"index {n}")))
            else:
                dynamic.append(a)
        named = {}
        for k, v in kwargs.items():
            if k in self.static_names:
                static.append((k, self._hashable(v, f"name {k!r}")))
            else:
                named[k] = v
        leaves, in_tree = tree_flatten((tuple(dynamic), named))
        if stages.only_shapes_matter():
            leaves = [stages.value_of_type(x) for x in leaves]
        leaves = [stages.ref_of_type(x) for x in leaves]
        given = [x for x in leaves if not isinstance(x, stages.STAND_INS)]
        names = lambda: path_names(self.fun, args, named, static_nums)
        refs: tuple[tuple[int, Ref], ...] = ()
        if any(isinstance(x, Ref) for x in given):
            leaves, refs = split_off(leaves, names, where(self.fun), "jit")
            given = [x for x in leaves if not isinstance(x, stages.STAND_INS)]
        check_arrays(given, names, f"function {self.name}")
        return Call(leaves, in_tree, tuple(map(stages.abstract, leaves)), tuple(dynamic), tuple(static), args, named, refs)

    def _hashable(self, value: Any, which: str) -> Any:
        try:
            hash(value)
        except TypeError:
            raise ValueError("Non-hashable static arguments are not supported: static arguments should be "
                             f"hashable, as they are part of the cache key. Argument with {which} of {self.name} is {value!r} "
                             f"of type {type(value)}. Pass a tuple instead of a list, or don't mark it static.") from None
        return value

    def donated(self, call: Call) -> list[bool]:
        """Which leaves the caller gives away."""
        if not self.donate_nums and not self.donate_names:
            return [False] * len(call.leaves)
        positions = {i for i, _ in call.refs}
        flags: list[bool] = []
        donate_nums, static_nums = placed(self.donate_nums, len(call.args)), call.static_nums
        for n, a in enumerate(call.args):
            if n not in static_nums:
                flags += [n in donate_nums] * len(tree_leaves(a))
        for k in sorted(call.kwargs):
            flags += [k in self.donate_names] * len(tree_leaves(call.kwargs[k]))
        return [f for i, f in enumerate(flags) if i not in positions]

    # -- tracing
    def trace(self, call: Call, reading: fingerprint.Reading | None = None) -> Traced:
        """The program for these avals, static values and settings: cached, or traced now. reading: of the function, if it was
        read."""
        refs = tuple((i, ref.aval) for i, ref in call.refs)
        if refs and current_trace() is not EVAL:  # rules may use the references after the call: trace with those themselves
            return self._trace_now(call, tuple(call.given_refs))
        key = _native.exact_key((call.in_tree, call.avals, call.static, config.trace_token(), named_scope(), refs))
        found = self._known(key)
        if found is not None:
            return found
        described = cache_misses.Key(call.in_tree, call.avals, call.static, config.trace_token(),
                                     (len(call.dynamic_args), tuple(sorted(call.kwargs))))
        events.miss("jit", lambda: self._why_missed(described, call))
        check_tracing(self.fun, "jit")
        epoch = _native.config_epoch()
        names = path_names(self.fun, call.args, call.kwargs, call.static_nums) if refs else ()
        with stored_calls.Scope(self.fun, call.static, reading) as scope:
            traced = self._trace_now(call, aliases_of(call.refs, names))
            scope.add(traced)
        traced.refs.check_closure(call.given_refs, [names[i] for i, _ in refs], where(self.fun))
        if traced.refs.lasting and not any(isinstance(c, Tracer) for c in traced.consts):
            if epoch == _native.config_epoch():  # else flags changed while it was made
                self.traces.put(key, traced)
                traced.key, traced.described = key, described
        if self.rotations != self.traces.rotations:
            self._forget_native()
        return traced

    def _known(self, key: Any) -> Traced | None:
        """The trace under a key, if there is one. Looking for it compares static arguments."""
        try:
            return self.traces.get(key)
        except Exception as error:
            raise ValueError("static arguments should be comparable using __eq__, as they are part of the cache key. Comparing "
                             f"those of a call of {self.name} with others raised {type(error).__name__}: {error}") from error

    def _why_missed(self, now: cache_misses.Key, call: Call) -> str:
        before = [t.described for t in self.traces.values() if t.described is not None]
        names = lambda: path_names(self.fun, call.args, call.kwargs, call.static_nums)
        return cache_misses.explain(self.fun, self.name, now, before, names)

    def _trace_now(self, call: Call, aliases: tuple[Ref, ...]) -> Traced:
        out_tree = ResultTree()
        given = self.shardings or self.named
        debug = debug_info("jit", self.fun, call.args, call.kwargs, call.static_nums, out_tree)

        def flat(*xs: Any) -> list[Any]:
            leaves = joined(xs, [(i, alias) for (i, _), alias in zip(call.refs, aliases, strict=True)])
            dynamic, named = tree_unflatten(call.in_tree, leaves)
            outs = flatten_result(self.fun(*self._rejoin(dynamic, call), **named, **self._static_named(call)), out_tree,
                                  self.fun)
            return outs if given is None else given.in_memories(outs, out_tree[0])
        events.count("trace")
        limit = self._limit()
        trimming: list[Any] = []
        with (events.span("trace", name=self.name), events.logged(lambda: f"tracing {self.name} for jit"),
              events.tracing(self.name)):
            traced = dynamic.padded(flat, None if limit is True else limit, trimming) if limit else flat
            jaxpr, consts, touched = trace_with_refs(traced, call.avals, debug)
        if trimming and (touched or self.shardings is not None):
            raise NotImplementedError(f"{debug.where()} has sizes that are computed when it runs, and mutable references or "
                                      "shardings over several devices: pass the values of references as arguments, return what "
                                      "is to be written, and leave out the shardings")
        return Traced(jaxpr, consts, out_tree[0], debug, RefArguments(aliases, touched), trimming[0] if trimming else None)

    def _limit(self) -> bool | int:
        """Whether sizes may be computed, or the bound of those that have none."""
        return config.dynamic_shapes if self.dynamic_shapes is None else self.dynamic_shapes

    def _rejoin(self, dynamic: Sequence[Any], call: Call) -> list[Any]:
        static = {k: v for k, v in call.static if isinstance(k, int)}
        rest = iter(dynamic)
        return [static[n] if n in static else next(rest) for n in range(len(call.args))]

    def _static_named(self, call: Call) -> dict[str, Any]:
        return {k: v for k, v in call.static if isinstance(k, str)}

    # -- running
    def _check_values(self, call: Call) -> None:
        """TypeError for an argument that has a type only."""
        for k, leaf in enumerate(call.leaves):
            if isinstance(leaf, stages.STAND_INS):
                name, shape = path_names(self.fun, call.args, call.kwargs, call.static_nums)[k], call.avals[k].str_short(False)
                raise TypeError(f"Argument '{name}' of shape {shape} of type {type(leaf)} is not a valid JAX type: it stands "
                                "for an array and has no value. Pass an array, or use lower or eval_shape.")

    @source.api_boundary
    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The slow path: (result, entry for the native cache or None)."""
        if config.disable_jit or computed_sizes.maker is not None:  # what computes sizes is one program
            return self.fun(*args, **kwargs), None
        if hooks.types_above and (above := hooks.call_above(self.below, args, kwargs)) is not None:
            return above[0], None
        call = self.take_apart(args, kwargs)
        self._check_values(call)
        known = self.traces.values()
        disk = (stored_calls.NOWHERE if self.named is not None
                else stored_calls.lookup(self.fun, self.name, self.options, call, known))
        if disk.name is not None and (stored := stored_calls.find(disk.name, call, self.donated(call), self.name)) is not None:
            return self._run_stored(stored, call)
        with _native.rare_collections:
            try:
                traced = self.trace(call, disk.reading)
            except hooks.ResultAbove:
                return hooks.call_above(self.below, args, kwargs, True)[0], None
            if current_trace() is not EVAL or any(isinstance(x, Tracer) for x in (*call.leaves, *traced.consts)):
                return self._bind(traced, call), None
            device = self.where(traced, call)
            executable, kept, donated = self.executable(traced, call, device)
        if traced.refs.touched:
            return self._run_with_refs(executable, kept, donated, traced, call, device), None
        values = [*call.leaves, *traced.consts]
        if config.debug_key_reuse:
            key_reuse.use_arguments(traced.key_use(), values)
        outs = _run(executable, kept, donated, call, device)
        if config.debug_key_reuse:
            key_reuse.mark_results(traced.key_use(), values, outs)
        if traced.trimming is not None:
            return tree_unflatten(traced.out_tree, traced.trimming.trimmed(outs)), None
        native = executable.native
        labels = self._labels(traced, values, device, outs)
        if disk.name is not None and labels is None and traced.proof == disk.proof and traced.refs.lasting:
            stored_calls.keep(disk.name, executable, kept, traced.out_tree)
        if labels is not None:
            native = one_device.Labelling(native, labels)
            outs = native.label(outs)
        return tree_unflatten(traced.out_tree, outs), _entry(native, kept, donated, call, traced.out_tree, len(outs))

    @property
    def below(self) -> Callable[[Any, Any], Any]:
        """The result of a call with arrays in the place of values above them."""
        jitted = self._below = self._below or Jitted(hooks.raised_above(self.fun), self.options)
        return lambda args, kwargs: jitted.call(args, kwargs)[0]

    def _run_stored(self, stored: stored_calls.Found, call: Call) -> tuple[Any, Any]:
        """As `call`, by a program that another process traced and compiled."""
        donated = _consumed(stored.executable, stored.kept, self.donated(call), CPU)
        outs = _run(stored.executable, stored.kept, donated, call, CPU)
        return tree_unflatten(stored.out_tree, outs), _entry(stored.executable.native, stored.kept, donated, call,
                                                            stored.out_tree, len(outs))

    def _labels(self, traced: Traced, values: Sequence[Any], device: Any, outs: Sequence[Any]) -> list[Any] | None:
        """The shardings that results on one device show, if any."""
        if not isinstance(device, Device):
            return None
        if self.named is not None:
            wanted = self.named.labels(traced.out_tree)
            if any(wanted):
                return [one_device.in_memory_of_type(s, a) for s, a in zip(wanted, traced.jaxpr.out_avals, strict=False)]
        label = one_device.label_of(values) if labels_in_use else None
        if label is None and placements_in_use:
            label = one_device.label_of_types(traced.jaxpr.out_avals, traced.mesh)
        if label is not None:
            return one_device.labels_like(label, traced.jaxpr.out_avals[:len(outs)])
        by_mesh = traced.mesh is not NO_MESH and device != CPU
        named = self.device is not None and self.options["backend"] is None
        return [None] * len(outs) if named or by_mesh else None

    def padded_program(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]) -> Any:
        """The program of a function with dynamic axes. args, kwargs: with ShapeDtypeStructs where padded; leaves: as given."""
        call = self.take_apart(args, kwargs)
        with _native.rare_collections:
            traced = self.trace(call)
            executable, kept, _ = self.executable(traced, call, self.where(traced, call.with_leaves(list(leaves))))
        short: Any = getattr(executable.program, "short", ({}, {}))
        ins, outs = ({i: (kept[n], size, less) for i, (n, size, less) in one.items()} for one in short)
        return axes.PaddedProgram(executable, [(k, ins.get(i)) for i, k in enumerate(kept)],
                                  [outs.get(i) for i in range(len(executable.out_avals))], traced.trimming, traced.out_tree)

    def _run_with_refs(self, executable: Any, kept: list[int], donated: list[bool], traced: Traced, call: Call,
                       device: Any) -> Any:
        """Runs a program that uses mutable references. It updates the memory of a reference that nobody else looks at."""
        values = traced.refs.read(call.given_refs)
        avals = [t.ref.aval.inner_aval for t in traced.refs.touched]
        owned = [t.written and sys.getrefcount(values[k]) <= _OWN_REFERENCES for k, t in enumerate(traced.refs.touched)]
        leaves = [dispatch.as_array(x, a, device) for x, a in zip([*call.leaves, *values], [*call.avals, *avals], strict=True)]
        given = [*donated[:len(call.leaves)], *owned]
        outs = executable([leaves[k] for k in kept], [given[k] for k in kept])
        labels = self._labels(traced, [*call.leaves, *values, *traced.consts], device, outs)
        if labels is not None:
            labels += [None] * (len(outs) - len(labels))  # of what references get
            outs = one_device.Labelling(executable.native, labels).label(outs)
        count = traced.out_tree.num_leaves
        traced.refs.write(call.given_refs, outs[count:])
        return tree_unflatten(traced.out_tree, outs[:count])

    def _bind(self, traced: Traced, call: Call) -> Any:
        """The call as an operation of the outer trace."""
        if self.options.get("compiler_options"):
            raise ValueError("`compiler_options` can only be passed to top-level `jax.jit`, whose program is compiled, and "
                             f"{self.name} is called in a traced function. Got {self.options['compiler_options']}.")
        if traced.trimming is not None:
            raise NotImplementedError(traced.trimming.why_not_nested(self.name))
        if computed_sizes.padding_tested and self._limit():
            raise NotImplementedError(dynamic.why_not_tested(self.name))
        values = traced.refs.read(call.given_refs)
        if self.shardings is not None:
            return self._bind_distributed(traced, call, self.shardings)
        if self.inline and isinstance(current_trace(), StageTrace):
            outs = eval_jaxpr(traced.jaxpr, traced.consts, *call.leaves, *values)
        else:
            outs = calls.named_call(traced.closed_over_nothing(), traced.consts, [*call.leaves, *values], self.name,
                              inline=self.inline, donated=[*self.donated(call), *[False] * len(values)],
                              keep_unused=self.keep_unused)
        count = traced.out_tree.num_leaves
        traced.refs.write(call.given_refs, outs[count:])
        return tree_unflatten(traced.out_tree, outs[:count])

    def _bind_distributed(self, traced: Traced, call: Call, shardings: Any) -> Any:
        """As _bind, with in_shardings and out_shardings as constraints."""
        inner = Jitted(self.fun, {**self.options, "shardings": None})
        ins = shardings.of_arguments(call.dynamic_args, call.kwargs, call.in_tree)
        outs = shardings.of_results(traced.out_tree)
        names = path_names(self.fun, call.args, call.kwargs, call.static_nums)
        placement.check_inputs(ins, call.leaves, call.avals, lambda: names)
        placement.check_results(outs, traced.out_tree, traced.jaxpr.out_avals)
        leaves = [sharding.constrained(x, s) for x, s in zip(call.leaves, ins, strict=True)]
        found = tree_flatten(inner._bind(traced, call.with_leaves(leaves)))[0]
        return tree_unflatten(traced.out_tree, [sharding.constrained(x, s) for x, s in zip(found, outs, strict=True)])

    def where(self, traced: Traced, call: Call) -> Any:
        """The device that runs a call, or how several do. A device that jit was given takes arguments from anywhere."""
        if self.device is not None and self.named is None:
            self._check_mesh(traced.mesh)
            return self.device
        named = self.shardings or traced.mesh
        if named is NO_MESH and not elsewhere() and self.device is None:
            return CPU
        names = functools.partial(path_names, self.fun, call.args, call.kwargs, call.static_nums)
        if self.device is not None:
            self._check_mesh(traced.mesh)
            return choose(self._staying(call), self.name, self.device, names())
        mesh = None if traced.mesh is NO_MESH else traced.mesh
        values = call.leaves if self._pinned(call.leaves, mesh) else (*call.leaves, *traced.consts)
        found = placement.devices_of_call(self.shardings, mesh, call.leaves, values, self.name, names())
        return found if isinstance(found, Device) else self._distributed(found, traced, call, names)

    def _pinned(self, leaves: Sequence[Any], mesh: Any) -> bool:
        """Whether arguments, shardings or operations say where a program runs: values that it closed over are copied there."""
        if self.shardings is not None and self.shardings.devices() is not None:
            return True
        return mesh is not None and not mesh.is_abstract or any(type(x) is _native.Array and x.committed for x in leaves)

    def _check_mesh(self, mesh: Any) -> None:
        """ValueError for a program whose operations name other devices than the one that the shardings name."""
        assert self.device is not None
        if mesh is not NO_MESH and not mesh.is_abstract and set(mesh.devices.flat) != {self.device}:
            raise ValueError("Received incompatible devices for jitted computation. Got explicit output sharding with device "
                             f"ids [{self.device.id}] of {self.name} and sharding_constraint inside jit with device ids "
                             f"{[d.id for d in mesh.devices.flat]}: operations name {mesh}. Use shardings over its devices.")

    def _staying(self, call: Call) -> list[Any]:
        """The arguments that a device named by shardings does not take from another one: those without in_shardings, and those
        that are divided."""
        assert self.named is not None
        ins = self.named.of_arguments(call.dynamic_args, call.kwargs, call.in_tree)
        placement.check_memories(ins, call.leaves)
        return [x if s is None or not isinstance(getattr(x, "device", None), Device) else None
                for x, s in zip(call.leaves, ins, strict=True)]

    def _distributed(self, over: Any, traced: Traced, call: Call, names: Callable[[], Sequence[str]]) -> Any:
        """How several devices run a call."""
        count = len(traced.refs.touched)
        ins, outs = [None] * len(call.leaves), [None] * traced.out_tree.num_leaves
        if self.shardings is not None:
            ins = self.shardings.of_arguments(call.dynamic_args, call.kwargs, call.in_tree)
            outs = self.shardings.of_results(traced.out_tree)
            placement.check_inputs(ins, call.leaves, call.avals, names)
            placement.check_results(outs, traced.out_tree, traced.jaxpr.out_avals)
        values = [*call.leaves, *traced.refs.read(call.given_refs)]
        more = len(traced.jaxpr.outvars) - len(outs)
        if placements_in_use:
            outs = self._typed_results(traced, values, outs)
        return placement.distribution_of(over, values, [*ins, *[None] * count], [*outs, *[None] * more],
                                         _mesh_in_use(traced) or over.mesh)

    def _typed_results(self, traced: Traced, values: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """The shardings of results: those given, else those that their types say."""
        there = [x.device for x in (*values, *traced.consts) if type(x) is _native.Array]
        mesh = distribution.mesh_of((*there, *outs)) or _mesh_in_use(traced)
        wanted = explicit.wanted(traced.jaxpr.out_avals[:len(outs)], mesh) if mesh is not None else ()
        return [o if o is not None else w for o, w in zip(outs, wanted or outs, strict=True)]

    def executable(self, traced: Traced, call: Call, device: Any) -> tuple[Any, list[int], list[bool]]:
        """The compiled program, which leaves it reads, and which it consumes."""
        if device not in traced._executables:
            closed, kept = self.thinned(traced)
            there = device if isinstance(device, Device) else device.replace(ins=tuple(device.ins[k] for k in kept))
            donated = _consumed(closed, kept, [*self.donated(call), *[t.written for t in traced.refs.touched]], device)
            with events.lowering(self.name):
                simple = simplify.simplify(closed)
            compiled = dispatch.compile_closed(simple, self.name, [donated[k] for k in kept], there, closed,
                                               self.options.get("compiler_options"), stored=True)
            traced._executables[device] = compiled, kept, donated
            if traced.key is not None:
                self.traces.grew(traced.key, compiled.nbytes)
        found: tuple[Any, list[int], list[bool]] = traced._executables[device]
        return found

    def thinned(self, traced: Traced) -> tuple[ClosedJaxpr, list[int]]:
        """The program without dead code, and the leaves that are its inputs."""
        jaxpr, used = dce.dce_jaxpr(traced.jaxpr, keep_inputs=self.keep_unused)
        live = {v for e in jaxpr.eqns for v in e.invars if isinstance(v, Var)} | {v for v in jaxpr.outvars if isinstance(v,
                Var)}
        consts = [(v, c) for v, c in zip(jaxpr.constvars, traced.consts, strict=True) if v in live]
        closed = ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in consts]), [c for _, c in consts])
        return closed, [k for k, u in enumerate(used) if u]

    @source.api_boundary
    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> aot.Traced:
        """The trace stage for these arguments."""
        call = self.take_apart(args, kwargs)
        found = self.trace(call)
        if found.trimming is not None:
            raise NotImplementedError(f"{self.name} has results or checks of computed size: call it; its stages (trace, lower, "
                                      "compile) describe programs whose results have known shapes")
        program, kept = self.thinned(found)
        names = path_names(self.fun, call.args, call.kwargs, call.static_nums)
        avals = tuple(joined(call.avals, [(i, ref.aval) for i, ref in call.refs]))
        donated = joined(self.donated(call), [(i, False) for i, _ in call.refs])
        with without_devices():
            where = self.where(found, call)
        signature = aot.Signature(self.name, call.in_tree, avals, donated, names, found.out_tree,
                                  tuple(found.jaxpr.out_avals[:found.out_tree.num_leaves]), where, found.refs, self.named,
                                  self.device is not None and self.named is None)
        return aot.Traced(signature, ClosedJaxpr(found.jaxpr, found.consts), program, kept)


def _mesh_in_use(traced: Traced) -> Any:
    """The mesh of devices that operations of a program name: for an abstract one the mesh in use. None where they name none."""
    if traced.mesh is NO_MESH:
        return None
    return over_devices(traced.mesh) or config.numjet_mesh


def _run(executable: Any, kept: Sequence[int], donated: Sequence[bool], call: Call, device: Any) -> list[Any]:
    """The results of a program for a call, which deletes the arguments that it consumes."""
    leaves = [dispatch.as_array(x, a, device) for x, a in zip(call.leaves, call.avals, strict=True)]
    outs: list[Any] = executable([leaves[k] for k in kept], [donated[k] for k in kept])
    return outs


def _entry(native: Any, kept: Sequence[int], donated: Sequence[bool], call: Call, out_tree: PyTreeDef, outs: int) -> Any:
    plan = tuple(("out", k) for k in range(outs))
    return _native.Entry(native, tuple(kept), tuple(donated), call.avals, out_tree, plan)


def _consumed(program: Any, kept: Sequence[int], donated: Sequence[bool], device: Any) -> list[bool]:
    """Which leaves a program consumes: of those donated, what it reads and a result can take over (of several devices, XLA
    finds these). Warns of others that it reads. program: what has in_avals and out_avals, the inputs being leaves `kept`."""
    found, given = [False] * len(donated), [donated[k] for k in kept]
    one = isinstance(device, Device)
    for k, takes in zip(kept, dispatch.usable_donations(program.in_avals, program.out_avals, given) if one else given,
                        strict=True):
        found[k] = takes
    unused = [str(aval) for k, aval in zip(kept, program.in_avals, strict=True) if donated[k] and not found[k]]
    if unused:
        warnings.warn(f"Some donated buffers were not usable: {', '.join(unused)}. No result has the size of these arguments, "
                      "so they are not consumed. Don't donate them.", stacklevel=source.user_stacklevel())
    return found


def _pinned(device: Any, backend: str | None) -> Device | None:
    """The device that `device` and `backend` of jit name."""
    if device is not None and backend is not None:
        raise ValueError("can't specify both a device and a backend for jit, "
                         f"got device={device!r} and backend={backend!r}.")
    if device is not None and not isinstance(device, Device):
        raise TypeError(f"jit: device must be a Device such as devices()[0], got {device!r} of type {type(device).__name__}")
    return device if backend is None else devices(backend)[0]


def _checked_dynamic(value: Any) -> bool | int | None:
    """The option dynamic_shapes. ValueError for anything but a bool, a positive number or None."""
    try:
        return None if value is None else parse_switch_or_count(value)
    except ValueError as error:
        raise ValueError(f"jit: dynamic_shapes is True, False or a bound for sizes: {error}") from None


class JittedByMesh(Jitted):
    """A jitted function whose shardings are specifications: axes of the mesh in use at each call. One jitted function per
    mesh, made when the mesh is first in use, does the work."""

    def __init__(self, fun: Callable[..., Any], options: dict[str, Any]):
        super().__init__(fun, options)
        self.made: dict[Any, Any] = {}

    def here(self) -> Any:
        """The jitted function for the mesh in use. RuntimeError without one."""
        key = current_mesh(), is_without_devices()
        found = self.made.get(key)
        if found is None:
            device, shardings, named = placement.placed(self.options["device"], *self.options["by_mesh"])
            found = self.made[key] = _jitted(self.fun, {**self.options, "control_flow": False, "by_mesh": None,
                                                         "device": device, "shardings": shardings, "named": named})
        return found

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, None]:
        """The result, and no entry for the native cache: the function of the mesh has one."""
        return self.here()(*args, **kwargs), None

    def forget(self) -> None:
        """Drops all traces, for each mesh."""
        for jitted in self.made.values():
            jitted.clear_cache()

    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function traced for the mesh in use, or one without devices."""
        with without_devices():
            return self.here().trace(*args, **kwargs)


hooks.set_simplify(lambda closed: simplify.simplify(closed))


class _NotGiven:
    """The function of a `jit` that is called with options only and decorates later; `jit(None)` is a mistake."""

    def __repr__(self) -> str:
        return "<not given>"


_NOT_GIVEN = _NotGiven()


def jit(fun: Callable[..., Any] | _NotGiven = _NOT_GIVEN, /, *, in_shardings: Any = None, out_shardings: Any = None,
        static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool = False,
        compiler_options: dict[str, Any] | None = None, control_flow: bool = False,
        dynamic_shapes: bool | int | None = None, dynamic_axes: Any = None) -> Any:
    """Compiles `fun` as a whole: traced once per signature (shapes, dtypes, structure, static values), it runs natively.

    Args:
      fun: a pure function of arrays, scalars and pytrees of them.
      static_argnums, static_argnames: arguments that are Python values, hashable; each value is compiled for.
      donate_argnums, donate_argnames: arguments whose memory the result may take over; they are deleted by the call.
      keep_unused: keep arguments that the function does not read as inputs of the program.
      device, backend: where to run, a Device or a platform's name; default: where the arguments were put with
        device_put(x, device), else the default device.
      in_shardings, out_shardings: another way to name the device, by shardings on it (numjet.sharding).
      inline: write the function's equations into the program that calls it, instead of a call.
      control_flow: Python's `if`, `while` and `for` of `fun` work on traced values: jit(autograph(fun)).
      dynamic_shapes: sizes of arrays may depend on values (x[x < 0], unique, arange(n)): docs/dynamic-shapes.md. A number is
        the bound of sizes that have none. Default: the flag numjet_dynamic_shapes, which is off.
      dynamic_axes: one program for all sizes of some axes, named per positional argument, ({0: "batch"}, None), or by
        parameter, {"x": {0: "batch <= 4096"}}: docs/dynamic-shapes.md.
    Returns:
      A function like `fun`, with `lower(*args)`, `trace(*args)`, `eval_shape(*args)` and `clear_cache()`.
    Raises:
      TypeError or ValueError for arguments that are no arrays and not static, unhashable static values, or Python
      control flow on traced values (errors.TracerBoolConversionError).

    >>> import numjet as nj
    >>> print(nj.jit(lambda x: x * 2)(3))
    6
    """
    late, shardings, named = False, None, None
    if in_shardings is not None or out_shardings is not None:
        placement.check_one_way(device, backend, in_shardings=in_shardings, out_shardings=out_shardings)
        late = placement.Shardings(in_shardings, out_shardings).for_mesh_in_use()
        device, shardings, named = (device, None, None) if late else placement.placed(device, in_shardings, out_shardings)
    options = {"static_argnums": static_argnums, "static_argnames": static_argnames, "donate_argnums": donate_argnums,
               "donate_argnames": donate_argnames, "keep_unused": keep_unused, "inline": inline, "backend": backend,
               "device": device, "shardings": shardings, "named": named, "control_flow": control_flow,
               "dynamic_shapes": _checked_dynamic(dynamic_shapes), "compiler_options": compiler_options,
               "out_shardings": out_shardings, "by_mesh": (in_shardings, out_shardings) if late else None}
    make = functools.partial(_jitted, options=options) if dynamic_axes is None else functools.partial(
        _size_generic, spec=axes.Spec(dynamic_axes), options=options)
    return make if isinstance(fun, _NotGiven) else make(fun)


def _jitted(fun: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The jitted function, for options of `jit` that were looked at already."""
    check_callable(fun)
    kind = JittedByMesh if options.get("by_mesh") else Jitted
    state = kind(autograph.autograph(fun) if options["control_flow"] else fun, options)
    jitted = _native.JitFunction(state.call, state.static_nums, state.static_names, state.name)
    wraps(fun)(jitted)
    known = signature(fun)
    if known is not None:
        jitted.__signature__ = known
    jitted._jit_options, jitted._jit_state = options, state
    return add_stages(jitted, state)


def _size_generic(fun: Callable[..., Any], spec: Any, options: dict[str, Any]) -> Any:
    """The function that is compiled for many sizes. ValueError for options that hold for the padded arguments only."""
    for name in ("donate_argnums", "donate_argnames", "shardings", "by_mesh"):
        if options[name] is not None:
            what = "shardings over devices" if name in ("shardings", "by_mesh") else name
            raise ValueError(f"jit: dynamic_axes copies the arguments, so {what} cannot be used beside it: leave one of them "
                             "out")
    plain = _jitted(fun, options)
    named = autograph.autograph(fun) if options["control_flow"] else fun
    nums, names = resolve_static(fun, options["static_argnums"], options["static_argnames"])
    behind = (n if n < 0 else n + axes.ADDED for n in nums)
    inner = {**options, "static_argnums": (1, *behind), "static_argnames": names, "control_flow": False,
             "dynamic_shapes": options["dynamic_shapes"] or True}
    known = signature(fun)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [] if known is None else [p.name for p in known.parameters.values() if p.kind in kinds]
    state = axes.Generic(named, spec, parameters, lambda f: Jitted(f, inner), plain)
    jitted: Any = _native.JitFunction(state.call, nums, names, function_name(fun))
    wraps(fun)(jitted)
    if known is not None:
        jitted.__signature__ = known
    jitted._jit_options, jitted._dynamic_axes = options, spec
    this = weakref.ref(jitted)
    state.native = lambda: this()
    jitted._jit_stages = {**plain._jit_stages, "clear_cache": state.clear_cache}
    return jitted


def with_stages(fun: Callable[..., Any]) -> Any:
    """The function if it has the stages of a jitted one, else the jitted function. TypeError for what cannot be called."""
    check_callable(fun)
    return fun if hasattr(fun, "trace") and hasattr(fun, "lower") else jit(fun)


def _reduced(jitted: Any) -> Any:
    """For pickle and copy: the name of a function that is decorated where it is defined, else the function and options."""
    found: Any = sys.modules.get(jitted.__module__)
    for name in jitted.__qualname__.split("."):
        found = getattr(found, name, None)
    by_name = found is jitted or not hasattr(jitted, "__wrapped__")
    if by_name:
        return jitted.__qualname__
    spec = getattr(jitted, "_dynamic_axes", None)
    given = jitted.__wrapped__, jitted._jit_options
    return (_jitted, given) if spec is None else (_size_generic, (given[0], spec, given[1]))


copyreg.pickle(_native.JitFunction, _reduced)


