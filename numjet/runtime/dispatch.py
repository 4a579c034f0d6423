"""Dispatch: compiles jaxprs to executables for a device, caches and calls them."""
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet import _native
from numjet.core import hooks, nan_checks, transfers
from numjet.core.aval import ShapedArray, explicit, placements_in_use
from numjet.core.check import check_if_enabled
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op
from numjet.core.snapshots import snapshot
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace, escaped
from numjet.foundation import events, lazy_import
from numjet.foundation.config import config
from numjet.foundation.memo import Memo
from numjet.runtime import backends, compiler_options, gc_guard as gc_guard, one_device, prologue, verification
from numjet.runtime.device import CPU, Device, default_device, mesh_of_several
from numjet.runtime.settings import fast_paths_allowed

if TYPE_CHECKING:
    from numjet.core.sharding import distribution
    from numjet.core.sharding.distribution import Distribution, Several
    from numjet.runtime import stored_programs
else:
    stored_programs = lazy_import.Module("numjet.runtime.stored_programs")
    distribution = lazy_import.Module("numjet.core.sharding.distribution")

PROGRAM_BYTES = 1 << 16  # a lower bound for a program with its code, its plan and its jaxpr
forgetters: list[Callable[[], None]] = []  # empty the faster caches in front of the programs of operations


def _forget() -> None:
    for forget in forgetters:
        forget()


_operations: Memo[tuple[Executable, Any]] = Memo("programs of operations", 4096, 1 << 28, _forget)


class Executable:
    """A compiled program: takes Arrays for all inputs of its jaxpr, returns Arrays.

    `program` is the compiler's result; `native` is what runs: an executable of the native core, or of another backend.
    stored_as: its name on disk, if it is kept there.
    """

    __slots__ = ("program", "native", "name", "in_avals", "out_avals", "unverified", "stored_as", "__weakref__")

    def __init__(self, program: Any, native: Any, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], name: str):
        self.program, self.native, self.name = program, native, name
        self.in_avals, self.out_avals = list(in_avals), list(out_avals)
        self.unverified: verification.FirstCall | None = None
        self.stored_as: str | None = None

    @property
    def nbytes(self) -> int:
        """About what it takes in memory."""
        code, text = getattr(self.program, "compiled", None), getattr(self.program, "text", "")
        return PROGRAM_BYTES + len(text) + (0 if code is None else 2 * len(code.object_bytes))

    def __call__(self, args: Sequence[Any], donated: Sequence[bool] | None = None) -> list[Any]:
        check_execution(self.name)
        first = self.unverified
        if first is None:
            return self._run(args, donated)
        outs = first.run(lambda: self._run(args, donated), args)
        self.unverified = None
        return outs

    def _run(self, args: Sequence[Any], donated: Sequence[bool] | None) -> list[Any]:
        outs = self.native(list(args), donated)
        if nan_checks.checked_kinds() and type(self.native) is not _native.Executable:  # native programs check by themselves
            for out in outs:
                nan_checks.check_value(out._value, out.aval, self.name)
        return outs


def check_execution(name: str) -> None:
    """RuntimeError where the flag jax_no_execution forbids to run programs and operations."""
    if config.no_execution:
        raise RuntimeError(f"tried to execute function jit({name}), but the no_execution config option is set")


def usable_donations(in_avals: Sequence[Any], out_avals: Sequence[Any], donated: Sequence[bool]) -> list[bool]:
    """Which donated inputs a result can take over, as it has their size, and is in the same memory. Others are not consumed:
    callers keep them."""
    free = Counter((aval.nbytes, aval.memory_space) for aval in out_avals)
    found = []
    for aval, gives in zip(in_avals, donated, strict=True):
        key = aval.nbytes, aval.memory_space
        takes = gives and free[key] > 0
        free[key] -= takes
        found.append(takes)
    return found


def compile_closed(closed: ClosedJaxpr, name: str = "main", donated: Sequence[bool] = (),
                   device: Device | Distribution = CPU, meant: ClosedJaxpr | None = None,
                   options: compiler_options.Options | None = None, stored: bool = False) -> Executable:
    """Compiles a closed jaxpr for a device, or several; constants are embedded. meant: the jaxpr before simplification.
    options: settings of XLA for this program. stored: another process may have compiled it, so that its text is not there."""
    if stored and device == CPU and options is None:
        return _known(closed, name, donated, meant)
    made = _compiled(closed, name, donated, device, options)
    made.unverified = verification.first_call(closed, meant, name)
    return made


def _known(closed: ClosedJaxpr, name: str, donated: Sequence[bool], meant: ClosedJaxpr | None) -> Executable:
    """A program from the disk, or compiled and kept there."""
    key = stored_programs.key(closed, name, donated)
    if key is None:
        return compile_closed(closed, name, donated, CPU, meant)
    found = stored_programs.find(key, lambda: backends.load_stored().errors(constants_computed(closed, name), name, donated))
    if found is not None:
        made = native_executable(found, closed.in_avals, closed.out_avals, name)
    else:
        began = time.perf_counter()
        made = compile_closed(closed, name, donated, CPU, meant)
        stored_programs.keep(key, made.program, began)
    made.stored_as = key
    return made


def stored_executable(key: str, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], name: str,
                      donated: Sequence[bool]) -> Executable | None:
    """The executable of a stored program without checks of its own, which has these inputs and results; or None."""
    program = stored_programs.find(key, lambda: backends.load_stored().errors(None, name, donated))
    if program is None or program.portable.checks:
        return None
    return native_executable(program, in_avals, out_avals, name)


def _compiled(closed: ClosedJaxpr, name: str, donated: Sequence[bool], device: Device | Distribution,
              options: compiler_options.Options | None) -> Executable:
    check_if_enabled(closed)
    events.count("compile")
    events.log_start(lambda: _start_of(closed, name))
    with (events.span("compile", name=name), events.logged(lambda: _end_of(name, device)), events.compiling(name),
          _native.rare_collections):
        if not isinstance(device, Device):
            loaded = backends.load_partitioned().compile_program(closed, name, tuple(donated), device, CPU, options)
            return Executable(loaded, loaded, closed.in_avals, closed.out_avals, name)
        if device.platform != "cpu":
            loaded = backends.load_backend(device.platform).compile_program(closed, name, tuple(donated), device, options)
            return Executable(loaded, loaded, closed.in_avals, closed.out_avals, name)
        compiler_options.not_read(options)
        closed = constants_computed(closed, name)
        program = backends.load_backend("cpu").compile_program(closed, name, tuple(donated))
        return native_executable(program, closed.in_avals, closed.out_avals, name, device, bool(closed.effects))


def compile_generic(samples: Sequence[ClosedJaxpr], name: str, points: Sequence[Sequence[int]], least: Sequence[int],
                    most: Sequence[int], names: int) -> tuple[Executable, list[int]]:
    """One program for the CPU for sizes from `least` to `most`, out of programs for some, and the least sizes that it is for.
    The first `names` sizes are independent, the others follow from them. NotImplementedError where there is none."""
    events.log_start(lambda: _start_of(samples[0], name))
    with (events.span("compile", name=name), events.logged(lambda: _end_of(name, CPU)), events.compiling(name),
          _native.rare_collections):
        program, low = backends.load_backend("cpu").compile_generic(samples, name, points, least, most, names)
        events.count("compile")
        return native_executable(program, samples[0].in_avals, samples[0].out_avals, name, CPU, bool(samples[0].effects)), low


def constants_computed(closed: ClosedJaxpr, name: str) -> ClosedJaxpr:
    """A program for the CPU with its work on constants done, where that pays."""
    def run(first: ClosedJaxpr) -> list[Any]:
        program = backends.load_backend("cpu").compile_program(first, f"{name}_constants")
        return native_executable(program, first.in_avals, first.out_avals, name)([])
    return prologue.computed_once(closed, run)


def native_executable(program: Any, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], name: str,
                      device: Device = CPU, effects: bool = False) -> Executable:
    """The executable of a program for a CPU device."""
    native = _native.Executable(program.address, tuple(in_avals), tuple(out_avals), program.scratch_bytes,
                                tuple(program.aliases), program.cost_ns, program.on_error, program, device, name)
    if program.open_ended:
        native.set_open_ended()
    if program.mostly_python:
        native.set_in_call()
    if effects:
        native.set_effects()
    if program.on_second_call is not None:
        native.set_on_second_call(program.on_second_call)
    return Executable(program, native, in_avals, out_avals, name)


def _start_of(closed: ClosedJaxpr, name: str) -> str:
    return f"Compiling jit({name}) with global shapes and types ({', '.join(map(repr, closed.in_avals))})"


def _end_of(name: str, device: Device | Distribution) -> str:
    own = " (by numjet's own compiler)" if isinstance(device, Device) and device.platform == "cpu" else ""
    return f"XLA compilation of jit({name}){own}"


def as_array(x: Any, aval: ShapedArray | None = None, device: Device | Several | None = None, explicit: bool = False) -> Any:
    """An Array of anything that aval_of accepts; NumPy memory is copied. Arrays stay where they are.

    device: default the default device; the constants of a program that is being traced stay on the host. explicit: the user
    asked for this transfer.
    """
    if type(x) is _native.Array:
        return x
    if isinstance(x, Tracer):
        raise escaped(x)
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__(), aval, device, explicit)
    tracing = current_trace() is not EVAL
    everywhere = device is None and not tracing and mesh_of_several() is not None
    if device is None:
        device = CPU if fast_paths_allowed() or tracing or everywhere else default_device()
    elif not isinstance(device, Device):
        device = CPU  # from which the program of several devices takes it
    natural = aval_of(x)
    aval = natural if aval is None else aval
    if not tracing and (config.transfer_guard or config.transfer_guard_host_to_device):
        transfers.check("host_to_device", explicit, aval, device)
    if device == CPU and isinstance(x, np.ndarray):
        if tracing and aval is natural:
            return snapshot(x)  # functions read the same constants over and over
        return _on_mesh(host_array(x, aval)) if everywhere else host_array(x, aval)
    value = np.array(x.val if isinstance(x, Literal) else x, dtype=aval.dtype, order="C", copy=True).reshape(aval.shape)
    made = _placed(value, aval, device, False)
    return _on_mesh(made) if everywhere else made


def _on_mesh(array: Any) -> Any:
    """An array of the host on all devices of the mesh in use, if there are several."""
    mesh = mesh_of_several()
    return array if mesh is None else backends.load_partitioned().put(array, distribution.everywhere(mesh))


def host_array(x: np.ndarray, aval: ShapedArray) -> Any:
    """An Array of the host with a copy of a NumPy array; a view of an Array's memory, which is immutable, is shared."""
    if x.dtype == aval.dtype and aval.dtype.kind != "b" and _native.shows_array(x):  # integers viewed as bools are any byte
        return _native.from_numpy(x, aval, CPU)
    return _native.to_array(x, aval, CPU)


def owned_array(x: np.ndarray, aval: ShapedArray) -> Any:
    """An Array of a NumPy array that nobody else has, whose memory it takes over; on the default device."""
    if mesh_of_several() is not None:
        return _on_mesh(_placed(x, aval, CPU, False))
    return _placed(x, aval, CPU if fast_paths_allowed() else default_device(), False)


def _user_value(x: Any) -> Any:
    """A literal or NumPy value as an Array; all else, Python scalars included, as it is."""
    return as_array(x) if isinstance(x, (Literal, np.ndarray, np.generic)) else x


hooks.set_host_array(host_array)
hooks.set_hlo_sharding(lambda sharding, ndim: backends.load_partitioned().as_hlo(sharding, ndim))
hooks.set_literal_array(as_array)
hooks.set_user_value(_user_value)


def _placed(value: np.ndarray, aval: ShapedArray, device: Device, committed: bool) -> Any:
    """An Array on a device, of immutable values."""
    if device.platform == "cpu":
        return _native.from_numpy(value, aval, device, committed)
    return backends.load_backend(device.platform).put(value, aval, device, committed)


def copied(array: Any) -> Any:
    """An Array that shares no memory with the given one, on its device."""
    if not isinstance(array.device, Device):
        fresh = _placed(np.array(array._value), array.aval, CPU, False)
        return backends.load_partitioned().put(fresh, array.device)
    return _placed(np.array(array._value), array.aval, array.device, array.committed)


def move(array: Any, device: Any) -> Any:
    """The array on a device, or distributed by a sharding over several, committed."""
    if array.device == device:
        if array._sharding is not None or (array.aval.placement is not None and isinstance(device, Device)):
            return placed_as(array, None)
        return array if array.committed else _native.rewrap(array, committed=True)
    if array._sharding is not None:
        array = placed_as(array, None)
    if not isinstance(device, Device) and _among_devices(array.device, device):
        return _resharded(array, device)
    transfers.check("device_to_device", True, array.aval, device)
    if not isinstance(device, Device):
        if not device.is_fully_addressable:
            backends.load_processes().check_same(array, "device_put")
        return backends.load_partitioned().put(array, device)
    if not isinstance(array.device, Device) and not array.device.is_fully_addressable:
        raise ValueError("When the second argument to `device_put` is a Device, the first argument must be a fully addressable "
                         "array or a non-addressable array with a single device sharding. Got an array of shape "
                         f"{array.aval.str_short()} with devices {[str(d) for d in distribution.devices_of(array.device)]}")
    if device.platform == "cpu" and array._remote is None:
        return _native.rewrap(array, device=device, committed=True)
    return _placed(array._value, array.aval, device, True)


def placed_as(array: Any, sharding: Any) -> Any:
    """The array, which is on the one device of a sharding, with that as its sharding, and in the memory that it names; None for
    none, and the device's own memory."""
    before, typed = array.aval.memory_space, explicit.typed(array.aval, sharding) if array.aval.placement or sharding else None
    if typed is not None and typed.memory_space is not before and array._remote is not None:
        array = _placed(array._value, typed, array.device, True)
    return one_device.labelled(array, sharding)


def _among_devices(before: Any, after: Any) -> bool:
    """Whether the devices that have an array exchange its parts for another sharding: they are the same."""
    return not isinstance(before, Device) and set(distribution.devices_of(before)) == set(distribution.devices_of(after))


def sharding_platform(sharding: Any) -> str:
    """The platform of the devices of a sharding."""
    return distribution.devices_of(sharding)[0].platform


def _resharded(array: Any, sharding: Any) -> Any:
    """An array of several devices under another sharding over them: XLA's program of the identity moves its parts."""
    local = array.device.is_fully_addressable and sharding.is_fully_addressable
    if array.device.is_equivalent_to(sharding, array.ndim) or (local and sharding_platform(sharding) == "cpu"):
        return backends.load_partitioned().put(array, sharding)
    key = ("reshard", array.aval, array.device, sharding)
    found = _operations.get(key)
    if found is None:
        over = distribution.Distribution(distribution.devices_of(sharding), (array.device,), (sharding,), sharding.mesh)
        var = Var(array.aval)
        found = compile_closed(ClosedJaxpr(Jaxpr([], [var], [var], [])), "reshard", device=over), {}
        _operations.put(key, found, found[0].nbytes)
    return found[0]([array])[0]


def distributed(arrays: Sequence[Any], over: Several, outs: tuple[Any, ...] = ()) -> Distribution:
    """How a program of several devices takes arrays: as they are distributed; the others every device gets in whole."""
    ins = tuple(None if isinstance(a.device, Device) else a.device for a in arrays)
    return distribution.Distribution(over.devices, ins, outs, distribution.mesh_of((*ins, *outs)) or over.mesh)


def operation(op: Op, avals: Sequence[ShapedArray], params: dict[str, Any], device: Device | Distribution = CPU) -> Executable:
    """The program of an operation, compiled once for its avals, parameters and device, or devices."""
    key = (op, device, config.token, tuple(avals), _key(params))
    found = _operations.get(key)
    if found is None:
        epoch = _native.config_epoch()
        meant = one_equation(op, avals, params)
        name = params.get("name", op.name) if op.programs else op.name
        with events.lowering(name):
            program = hooks.simplify(meant) if op.compiled else meant
        found = compile_closed(program, name, device=device, meant=meant, stored=True), params
        if epoch == _native.config_epoch():  # else flags changed while it was made
            _operations.put(key, found, found[0].nbytes)
    return found[0]


def run_operation(op: Op, args: Sequence[Any], params: dict[str, Any], device: Device | Several = CPU) -> Any:
    """Compiles an operation (once for its avals, parameters and device) and runs it."""
    avals = [aval_of(a) for a in args]
    arrays = [as_array(a, aval, device) for a, aval in zip(args, avals, strict=True)]
    outs = () if isinstance(device, Device) else _wanted_results(op, avals, arrays, params, device)
    out = operation(op, avals, params, device if isinstance(device, Device) else distributed(arrays, device, outs))(arrays)
    if op.mesh is not None and isinstance(device, Device) and device != CPU:  # which its parameters name
        out = [_native.rewrap(x, committed=True) for x in out]
    return out if op.multiple else out[0]


def _wanted_results(op: Op, avals: Sequence[ShapedArray], arrays: Sequence[Any], params: dict[str, Any], over: Several
                    ) -> tuple[Any, ...]:
    """The shardings of the results of an operation; () where the compiler chooses."""
    typed = _typed_results(op, avals, arrays, params, over) if placements_in_use else ()
    if typed or op.alone is None:
        return typed
    wanted = op.alone(avals[0], arrays[0].device, **params)
    return () if wanted is None else (wanted,)


def _typed_results(op: Op, avals: Sequence[ShapedArray], arrays: Sequence[Any], params: dict[str, Any], over: Several
                   ) -> tuple[Any, ...]:
    """The shardings of the results of an operation, where its operands' types say how they are divided."""
    mesh = distribution.mesh_of([a.device for a in arrays]) or over.mesh
    if mesh is None or not (explicit.in_types(avals) or op.programs or mesh.are_all_axes_explicit):
        return ()
    out, known = explicit.abstract_or_auto(op, avals, params)
    return explicit.wanted(out if op.multiple else [out], mesh) if known else ()


def put_under(array: Any, sharding: Any) -> Any:
    """An Array under a sharding over any number of devices, which it shows."""
    there = distribution.canonical(sharding)
    if not isinstance(there, Device):
        return move(array, there)
    return placed_as(array if array.device == there else move(array, there), sharding)


def clear_operations() -> None:
    """Drops the compiled programs of single operations."""
    _operations.clear()
    _forget()


def _key(params: dict[str, Any]) -> tuple[Any, ...]:
    """The parameters by value; those without a hash by identity, as the cache keeps them alive."""
    names = sorted(params)
    key = tuple(_native.exact_key(params[name]) for name in names)
    try:
        hash(key)
    except TypeError:
        key = tuple(id(params[name]) for name in names)
    return (*names, *key)


def result_types(op: Op, avals: Sequence[ShapedArray], params: dict[str, Any]) -> Any:
    """The type of the result of an operation, or a list of them, with placements."""
    return explicit.abstract_or_auto(op, avals, params)[0] if placements_in_use else op.abstract(*avals, **params)


def one_equation(op: Op, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
    """The program of a single operation."""
    out = result_types(op, avals, params)
    outs = out if op.multiple else [out]
    invars, outvars = [Var(a) for a in avals], [Var(a) for a in outs]
    effects = op.effects_of(avals, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(invars, outvars, op, params, effects)]))
