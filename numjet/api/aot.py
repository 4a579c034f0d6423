"""Ahead-of-time compilation of a jitted function in stages: trace, lower, compile."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from numjet import _native
from numjet.api.ref_arguments import NONE, RefArguments
from numjet.api.stages import ShapeDtypeStruct, struct
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.refs import AbstractRef, Ref
from numjet.core.sharding.layouts import Format, Layout
from numjet.core.sharding.mesh import NO_PLATFORM
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import NAMED_CALL
from numjet.core.walk import all_eqns
from numjet.foundation import events, lazy_import
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, keystr, tree_flatten, tree_unflatten, treedef_children
from numjet.foundation.tree.prefix import equality_errors_treedef
from numjet.runtime import backends, dispatch
from numjet.runtime.device import CPU, Device
from numjet.transforms.simplify import simplify

costs = lazy_import.Module("numjet.api.costs")
stage_html = lazy_import.Module("numjet.api.stage_html")
shardings = lazy_import.Module("numjet.core.sharding.shardings")

CompilerOptions = Mapping[str, Any]
_PLATFORMS = ("cpu", "xla_cpu", "gpu", "cuda", "rocm", "tpu")
_DIALECTS = ("loops", "stablehlo", "hlo", "jaxpr")


class ArgInfo(Record):
    """Shape, dtype and donation of one leaf of the arguments of a staged function."""
    _aval: ShapedArray | AbstractRef
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype


class Wrapped(ABC):
    """A function that can be staged: jitted functions are instances, and objects with `__call__`, `trace` and `lower`.

    >>> import numjet as nj
    >>> isinstance(nj.jit(lambda x: x), Wrapped), isinstance(len, Wrapped)
    (True, False)
    """

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function, compiling it if necessary."""

    @abstractmethod
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Traces the function for arguments, or for ShapeDtypeStructs in their place."""

    @abstractmethod
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """trace(*args, **kwargs).lower()"""

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        return True if all(hasattr(other, name) for name in ("__call__", "trace", "lower")) else NotImplemented


Wrapped.register(_native.JitFunction)


class Signature(Record):
    """What all stages know of the call: its arguments, taken apart, and the structure of its result."""
    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray | AbstractRef, ...]  # of all leaves
    donated: list[bool]                # of all leaves
    names: tuple[str, ...]             # of all leaves, as the user would write them
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    device: Any                        # or how several take the arguments and give the results
    refs: RefArguments = NONE
    named: Any = None                  # the shardings over one device that jit was given
    takes_all: bool = False            # whether arguments come from anywhere, as jit was given the device

    @property
    def inputs_donated(self) -> list[bool]:
        """Of the program's inputs: the leaves that are arrays, then the values of mutable references."""
        flags = [d for d, a in zip(self.donated, self.in_avals, strict=True) if not isinstance(a, AbstractRef)]
        return [*flags, *[False] * len(self.refs.touched)]


class Stage(Record):
    """What all stages show of the call."""

    def __repr__(self) -> str:
        call = self.signature
        given, made = (", ".join(a.str_short() for a in avals) for avals in (call.in_avals, call.out_avals))
        return f"<{type(self).__name__} {call.fun_name}: ({given}) -> ({made}) on {call.device}>"

    @property
    def signature(self) -> Signature:
        """The arguments and results of the call."""
        raise NotImplementedError

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of (positional arguments, named arguments), without static ones."""
        return self.signature.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self.signature.out_tree

    @property
    def in_avals(self) -> Any:
        """(args, kwargs) with the abstract values of the leaves."""
        return tree_unflatten(self.in_tree, self.signature.in_avals)

    @property
    def out_avals(self) -> Any:
        """The result with the abstract values of its leaves."""
        return tree_unflatten(self.out_tree, self.signature.out_avals)

    @property
    def args_info(self) -> Any:
        """(args, kwargs) with an ArgInfo for each leaf: its shape, dtype and whether it is donated."""
        call = self.signature
        return tree_unflatten(self.in_tree, [ArgInfo(a, d) for a, d in zip(call.in_avals, call.donated, strict=True)])

    @property
    def out_info(self) -> Any:
        """The pytree of ShapeDtypeStructs of the result."""
        return tree_unflatten(self.out_tree, [struct(a) for a in self.signature.out_avals])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated leaves, counted over all leaves of the arguments."""
        return tuple(k for k, gives in enumerate(self.signature.donated) if gives)


class Traced(Stage):
    """A function traced for given arguments. `closed` reads all leaves of the arguments, `program` those in `kept`."""
    call: Signature
    closed: ClosedJaxpr
    program: ClosedJaxpr
    kept: list[int]

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program as traced, which prints as text; its inputs are all leaves of the arguments."""
        return self.closed

    def _repr_html_(self) -> str:
        return stage_html.traced(self)

    @property
    def signature(self) -> Signature:
        return self.call

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self.call.fun_name

    @property
    def consumed(self) -> list[bool]:
        """Which inputs the program consumes: of those donated, what a result can take over."""
        given = [self.call.inputs_donated[k] for k in self.kept]
        one = isinstance(self.call.device, Device) and any(given)
        return dispatch.usable_donations(self.program.in_avals, self.program.out_avals, given) if one else given

    def lower(self, *, lowering_platforms: Sequence[str] | None = None, _private_parameters: Any = None) -> Lowered:
        """The program in the compiler's own representation.

        lowering_platforms: for which platforms: "cpu" (numjet's compiler), "xla_cpu", "cuda", "rocm", "gpu" or "tpu" (XLA);
        default: that of the device. Only a program for the platform of its device compiles; others are text to look at.
        ValueError for other names.
        """
        if _private_parameters is not None:
            raise TypeError("lower: _private_parameters are JAX's own; numjet has none, leave it out")
        own = self.call.device.platform
        if own == NO_PLATFORM and lowering_platforms is None:
            raise ValueError("Passing lowering_platforms via jax.export or jit(f).trace(*args).lower(lowering_platforms=...) "
                             f"is required when only AbstractMesh exists in a jitted computation. {self.fun_name} runs on "
                             f"{len(self.call.device.devices)} devices of which nothing is known: say of which platform, or "
                             "set a mesh of devices with jax.set_mesh")
        platforms = (own,) if lowering_platforms is None else _checked_platforms(lowering_platforms)
        with events.lowering(self.fun_name):
            simple = simplify(self.program)
        return Lowered(self, simple, platforms)


def _checked_platforms(given: Sequence[str]) -> tuple[str, ...]:
    platforms = (given,) if isinstance(given, str) else tuple(given)
    unknown = [p for p in platforms if p not in _PLATFORMS]
    if unknown or not platforms:
        raise ValueError(f"lowering_platforms must name some of {', '.join(_PLATFORMS)}, got {given!r}")
    return platforms


class Lowered(Stage):
    """A simplified program, not compiled yet."""
    traced: Traced
    jaxpr: ClosedJaxpr
    platforms: tuple[str, ...]

    def _repr_html_(self) -> str:
        return stage_html.lowered(self)

    @property
    def signature(self) -> Signature:
        return self.traced.call

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: dialect "loops" (the loop IR of the CPU compiler), "stablehlo" (for XLA; needs no device;
        as MLIR prints it where jaxlib is installed), "hlo" (needs jaxlib) or "jaxpr". Default: "stablehlo", as in JAX.
        debug_info: StableHLO and HLO with the user's lines and the names of scopes. For several platforms: one text for each,
        under a heading.

        Raises ValueError for other dialects.
        """
        chosen = self._dialect(dialect)
        if chosen == "jaxpr":
            return str(self.jaxpr)
        if chosen == "loops":
            return backends.load_backend("cpu").as_text(self.jaxpr, self.traced.fun_name)
        texts = [self._text(chosen, p, debug_info) for p in self.platforms]
        return texts[0] if len(texts) == 1 else "".join(f"// platform {p}\n{t}" for p, t in zip(self.platforms, texts,
                                                                                              strict=True))

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object: a ClosedJaxpr for "jaxpr", a function of loop IR for "loops"; of jaxlib's classes, an
        MLIR module for "stablehlo" (the default, as in JAX) and an XlaComputation for "hlo".

        Raises ValueError for other dialects, and for "stablehlo" and "hlo" of a program for several platforms.
        """
        chosen = self._dialect(dialect)
        if chosen == "jaxpr":
            return self.jaxpr
        if chosen == "loops":
            return backends.load_backend("cpu").loop_ir(self.jaxpr, self.traced.fun_name)
        if len(self.platforms) > 1:
            raise ValueError(f"compiler_ir: one program per platform, and this was lowered for {', '.join(self.platforms)}: "
                             "lower it for one of them")
        backend = self._xla()
        return backend.module_of(self._text("stablehlo", self.platforms[0], False), chosen)

    def _dialect(self, given: str | None) -> str:
        if given is None:
            return "stablehlo"
        if given not in _DIALECTS:
            raise ValueError(f"unknown dialect: {given}. Expected one of {', '.join(map(repr, _DIALECTS))}.")
        return given

    def _xla(self) -> Any:
        return backends.load_backend("xla_cpu")

    def _text(self, dialect: str, platform: str, debug_info: bool) -> str:
        donated = self.traced.consumed
        over = inputs_on(self.traced.call.device, self.traced.kept)
        program = self.traced.program
        named = any(NAMED_CALL <= eqn.primitive.traits for eqn in all_eqns(program.jaxpr))
        shown = simplify(program, keeps_names=True) if named else self.jaxpr
        text = self._xla().as_text(shown, self.traced.fun_name, platform, donated, locations=debug_info,
                                   over=None if isinstance(over, Device) else over)
        if dialect == "stablehlo":
            return text if debug_info else self._xla().printed(text)
        return self._xla().hlo_text(text, metadata=debug_info)

    def cost_analysis(self) -> dict[str, float]:
        """Counts of the program as it was traced, without compiling it: "flops" and "transcendentals" (see api.costs),
        "bytes accessed" (operands and results of every operation, as if each read and wrote memory)."""
        return {name: float(count) for name, count in costs.counts(self.traced.program.jaxpr).items()}

    def compile(self, compiler_options: CompilerOptions | None = None, *, device_assignment: Any = None) -> Compiled:
        """Machine code for the device of the call.

        compiler_options: settings of XLA for this program, by name. numjet's own compiler, which compiles for the CPU, warns
        that it does not read them. device_assignment: the devices of a program over an AbstractMesh, in the mesh's order.
        Raises JaxRuntimeError for unknown options and values of another type, ValueError for a program that was lowered for
        other platforms, and for other devices than those that the arguments name; RuntimeError where none are named.
        """
        traced = self._placed(device_assignment)
        call = traced.call
        if device_assignment is None and backends.canonical(call.device.platform) not in map(_canonical, self.platforms):
            raise ValueError(f"compile: lowered for {', '.join(self.platforms)}, but the arguments are on {call.device} of "
                             f"platform {call.device.platform}: lower for that platform, or put the arguments elsewhere")
        donated = traced.consumed
        over = inputs_on(call.device, traced.kept)
        executable = dispatch.compile_closed(self.jaxpr, call.fun_name, donated, over, traced.program, compiler_options)
        return Compiled(traced, executable, self.jaxpr)

    def _placed(self, devices: Sequence[Device] | None) -> Traced:
        """The traced function on devices that a user assigns to it."""
        there = self.traced.call.device
        known = there.platform != NO_PLATFORM
        if devices is None:
            if not known:
                raise RuntimeError("device_assignment cannot be `None` during compilation. Please pass a tuple of devices to "
                                   f"`.compile(device_assignment=)`: {self.traced.fun_name} was lowered for an AbstractMesh, "
                                   "which has no devices. Or set a mesh of devices with jax.set_mesh before")
            return self.traced
        of_call = (there,) if isinstance(there, Device) else there.devices
        if known and tuple(devices) != of_call:
            raise ValueError("device_assignment passed to `.compile` must match the device_assignment calculated from array "
                             f"shardings and out_shardings. Got device ids passed to compile {[d.id for d in devices]} and "
                             "devices ids calculated from array shardings and out_shardings "
                             f"{[d.id for d in of_call]}")
        if known:
            return self.traced
        if len(devices) != len(of_call):
            raise ValueError(f"The size of abstract mesh {len(of_call)} in {there.mesh} must match the length of device "
                             f"assignment: {len(devices)}")
        return self.traced.replace(call=self.traced.call.replace(device=there.on(devices)))


def inputs_on(device: Any, kept: Sequence[int]) -> Any:
    """The device, or how several take the arguments that the program reads."""
    return device if isinstance(device, Device) else device.replace(ins=tuple(device.ins[k] for k in kept))


def _canonical(platform: str) -> str:
    return "gpu" if platform == "rocm" else backends.canonical(platform)


class CompiledMemoryStats(Record):
    """Bytes that a run of a program needs, known before it runs. Names as in JAX; `host_...`, the memory of a host beside
    its accelerator, is zero here.

    temp_size_in_bytes: the scratch arena, which all temporaries share, and `workspace_size_in_bytes`, the most that library
    routines (LAPACK, transforms, sorts) take while they run. Alias: results that take over donated arguments.
    """
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    workspace_size_in_bytes: int
    extra_memory_in_bytes: int   # allocated by a run: new results and temporaries, in the pool's sizes of blocks
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """Arguments, and all allocations of a run."""
        return self.argument_size_in_bytes + self.extra_memory_in_bytes


def _formats(found: Any, structure: PyTreeDef, avals: Sequence[Any]) -> Any:
    """Shardings, as a pytree that has None for what is not read, beside the layout of all arrays."""
    given = tree_flatten(found, is_leaf=lambda s: s is None)[0]
    return tree_unflatten(structure, [None if s is None else Format(Layout.of_rank(a.ndim), s)
                                      for s, a in zip(given, avals, strict=True)])


class Compiled(Stage):
    """A compiled program: call it with arguments like those it was traced for."""
    traced: Traced
    executable: Any
    jaxpr: ClosedJaxpr

    def _repr_html_(self) -> str:
        return stage_html.compiled(self)

    @property
    def signature(self) -> Signature:
        return self.traced.call

    @property
    def out_info(self) -> Any:
        """The pytree of ShapeDtypeStructs of the result, with shardings where several devices run the program."""
        if isinstance(self.traced.call.device, Device):
            return super().out_info
        there = self.executable.program.out_shardings
        return tree_unflatten(self.out_tree, [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=s)
                                              for a, s in zip(self.signature.out_avals, there, strict=False)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program. TypeError for arguments of another structure, shape or dtype, and for traced ones."""
        call = self.traced.call
        arrays, refs = self.operands(args, kwargs)
        self._check_shardings(arrays)
        outs = self.executable(arrays, self.traced.consumed)
        count = call.out_tree.num_leaves
        call.refs.write(refs, outs[count:])
        return tree_unflatten(call.out_tree, outs[:count])

    def operands(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Ref]]:
        """The arrays that the executable takes, and the mutable references among the arguments. TypeError as for a call."""
        call, kept = self.traced.call, self.traced.kept
        leaves, tree = tree_flatten((args, kwargs))
        if tree != call.in_tree:
            raise TypeError(_structure_message(call.in_tree, tree))
        for leaf in leaves:
            if isinstance(leaf, Tracer):
                raise TypeError("Cannot apply JAX transformations to a function lowered and compiled for a particular "
                                f"signature. Detected argument of Tracer type {type(leaf).__name__}. Call the jitted "
                                "function itself.")
        self._check_types([x.aval if isinstance(x, Ref) else aval_of(x) for x in leaves])
        refs = [x for x in leaves if isinstance(x, Ref)]
        leaves = [*[x for x in leaves if not isinstance(x, Ref)], *call.refs.read(refs)]
        return [dispatch.as_array(leaves[k], a, call.device) for k, a in zip(kept, self.executable.in_avals, strict=True)], refs

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program, as calling the object does."""
        return self(*args, **kwargs)

    def _check_types(self, given: Sequence[ShapedArray | AbstractRef]) -> None:
        call = self.traced.call
        wrong = [f"Argument {name!r} compiled with {aval} and called with {got}"
                 for name, aval, got in zip(call.names, call.in_avals, given, strict=True)
                 if got.shape != aval.shape or got.dtype != aval.dtype]
        if wrong:
            raise TypeError("Argument types differ from the types for which this computation was compiled. Perhaps you are "
                            "calling the compiled executable with a different enable_x64 mode than when it was AOT compiled? "
                            "The mismatches are:\n" + "\n".join(wrong) + "\nLower and compile the function for these "
                            "arguments.")

    def _check_shardings(self, arrays: Sequence[Any]) -> None:
        """ValueError for arguments that are divided in other ways than those that the program was compiled for. The values of
        mutable references, which come last, move to where it runs."""
        call = self.traced.call
        if call.takes_all:
            return
        count = sum(not isinstance(a, AbstractRef) for a in call.in_avals)
        kept = [k for k in self.traced.kept if k < count]
        arrays = arrays[:len(kept)]
        if isinstance(call.device, Device):
            here = call.device
            if not any(x.committed and x.device is not here and x.device != here for x in arrays):
                return
            required: Sequence[Any] = [shardings.SingleDeviceSharding(here)] * len(arrays)
        else:
            required = self.executable.program.in_shardings[:len(kept)]
        wrong = [f"Argument {call.names[k] if k < len(call.names) else k} with shape {x.aval}:\n  Passed sharding: "
                 f"{x.sharding}\n  Required sharding: {s}"
                 for k, x, s in zip(kept, arrays, required, strict=True)
                 if x.committed and isinstance(s, shardings.Sharding) and x.device is not s
                 and not x.sharding.is_equivalent_to(s, x.ndim)]
        if wrong:
            raise ValueError("Computation was compiled for input shardings that disagree with the shardings of arguments "
                             f"passed to it. Here are the {len(wrong)} mismatches:\n" + "\n".join(wrong) + "\nMove the "
                             "arguments with device_put, or call the jitted function, which compiles for them.")

    def as_text(self) -> str:
        """The LLVM IR of the program; on XLA's devices, its optimised HLO."""
        return self.executable.program.text

    def cost_analysis(self) -> dict[str, float]:
        """Estimates: "flops" and "transcendentals" (see api.costs), "bytes accessed" (at least: every argument, result and
        temporary once), "nanoseconds" (of one thread, within an order of magnitude). On XLA's devices: XLA's estimates."""
        if not isinstance(self.traced.call.device, Device) or self.traced.call.device.platform != CPU.platform:
            return self.executable.program.cost_analysis()
        memory, program = self.memory_analysis(), self.executable.program
        counts = costs.operations(self.jaxpr.jaxpr)
        return {"flops": float(counts["flops"]), "transcendentals": float(counts["transcendentals"]),
                "bytes accessed": float(memory.argument_size_in_bytes + memory.output_size_in_bytes + program.temporaries),
                "nanoseconds": program.cost_ns}

    def memory_analysis(self) -> CompiledMemoryStats:
        """Memory needs of a run. All of it is planned ahead, so the numbers are exact; only buffers that libraries keep for
        the whole process (the packed operands of BLAS) do not count. On XLA's devices: XLA's numbers."""
        if not isinstance(self.traced.call.device, Device) or self.traced.call.device.platform != CPU.platform:
            return CompiledMemoryStats(**self.executable.program.memory_stats())
        program, e = self.executable.program, self.executable
        outs, workspace = e.out_avals, program.workspace_bytes()
        aliased = {o for o, _ in program.aliases}
        sizes = [a.nbytes for k, a in enumerate(outs) if k not in aliased]
        blocks = sum(map(_native.pool_capacity, [*sizes, *[n for n in (program.scratch_bytes,) if n]]))
        return CompiledMemoryStats(
            argument_size_in_bytes=sum(a.nbytes for a in e.in_avals), output_size_in_bytes=sum(a.nbytes for a in outs),
            alias_size_in_bytes=sum(outs[o].nbytes for o in aliased), temp_size_in_bytes=program.scratch_bytes + workspace,
            generated_code_size_in_bytes=len(program.compiled.object_bytes), workspace_size_in_bytes=workspace,
            extra_memory_in_bytes=blocks + workspace)

    @property
    def input_shardings(self) -> Any:
        """(args, kwargs) with the sharding of each leaf; None for those that the program does not read."""
        call, kept = self.traced.call, self.traced.kept
        found: list[Any] = [None] * len(call.in_avals)
        given = self._named(call.in_tree) if call.named is not None else [None] * len(found)
        for k, s in zip(kept, self._shardings("in", len(kept)), strict=True):
            found[k] = s if given[k] is None else given[k]
        return tree_unflatten(call.in_tree, found)

    @property
    def output_shardings(self) -> Any:
        """The result with the sharding of each leaf."""
        call = self.traced.call
        count = call.out_tree.num_leaves
        found = self._shardings("out", count)[:count]
        if call.named is not None:
            found = [s if n is None else n for s, n in zip(found, call.named.labels(call.out_tree), strict=True)]
        return tree_unflatten(call.out_tree, found)

    @property
    def input_formats(self) -> Any:
        """(args, kwargs) with the sharding of each leaf, and its layout, which is that of all arrays."""
        return _formats(self.input_shardings, self.traced.call.in_tree, self.traced.call.in_avals)

    @property
    def output_formats(self) -> Any:
        """The result with the sharding and the layout of each leaf."""
        return _formats(self.output_shardings, self.out_tree, self.signature.out_avals)

    def _named(self, tree: PyTreeDef) -> list[Any]:
        """The in_shardings of jit over one device, for all leaves."""
        args = tree_unflatten(tree, range(tree.num_leaves))[0]
        return self.traced.call.named.of_arguments(args, {}, tree)

    def _shardings(self, side: str, count: int) -> list[Any]:
        device = self.traced.call.device
        if isinstance(device, Device):
            return [shardings.SingleDeviceSharding(device)] * count
        return list(getattr(self.executable.program, f"{side}_shardings"))

    def runtime_executable(self) -> Any:
        """The native executable."""
        return self.executable.native


def _structure_message(compiled: PyTreeDef, given: PyTreeDef) -> str:
    """What differs between the arguments of a call and those that a program was compiled for."""
    found = []
    for place, expected, got in zip(("args", "kwargs"), treedef_children(compiled), treedef_children(given), strict=True):
        for path, was, now, why in equality_errors_treedef(expected, got):
            found.append(f"    * at {place}{keystr(path)}, seen {was} but now given {now}, so {why}")
    return ("Function compiled with input pytree does not match the input pytree it was called with. "
            f"There are {len(found)} mismatches, including:\n" + "\n".join(found[:10]))
