"""Ahead-of-time stages of a jitted function (trace, lower, compile), and inspection: make_jaxpr, eval_shape."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from numjet import _native
from numjet.api.arguments import check_arrays, check_callable, debug_info, flatten_result, path_names, resolve_static
from numjet.api.costs import operations
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.named_axes import with_named_axes
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of, is_array_like
from numjet.foundation import dtypes
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_unflatten
from numjet.foundation.util import function_name
from numjet.runtime import backends, dispatch
from numjet.runtime.device import CPU, Device
from numjet.transforms.simplify import simplify


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist: for eval_shape, lower and callbacks.

    >>> import numjet as nj
    >>> nj.ShapeDtypeStruct((2,), nj.numpy.float32).shape
    (2,)
    """

    __slots__ = ("shape", "dtype", "weak_type", "sharding")

    def __init__(self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape, self.dtype = tuple(shape), dtypes.as_dtype(dtype)
        self.weak_type, self.sharding = weak_type, sharding

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self.aval.size)
    aval = property(lambda self: ShapedArray(self.shape, dtypes.canonicalize_dtype(self.dtype), self.weak_type))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some fields changed."""
        fields = {"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding, "weak_type": self.weak_type}
        return ShapeDtypeStruct(**{**fields, **changes})

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.long_name(self.dtype)}{weak})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype, self.weak_type) == (
            other.shape, other.dtype, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def __len__(self) -> int:
        return len(self.aval)


def abstract(x: Any) -> ShapedArray:
    """The aval of an array or of anything with shape and dtype."""
    if isinstance(x, ShapedArray):
        return x
    if is_array_like(x):
        return aval_of(x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(tuple(x.shape), dtypes.canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return aval_of(x)


def _struct(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def make_jaxpr(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), axis_env: Any = None,
               return_shape: bool = False, abstracted_axes: Any = None) -> Callable[..., Any]:
    """The function that, given example arguments, returns the jaxpr of `fun` (a ClosedJaxpr, which prints as text).

    axis_env: pairs (name, size) of axes that collectives in `fun` may name, as if vmap mapped over them.
    With return_shape: a pair of it and the pytree of ShapeDtypeStructs of the result.

    >>> import numjet as nj
    >>> nj.make_jaxpr(lambda x: x + 1)(2.0)
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """
    check_callable(fun)
    del abstracted_axes
    static, _ = resolve_static(fun, static_argnums, None)

    @functools.wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        with with_named_axes(axis_env or ()):
            closed, out_tree = trace_call(fun, args, kwargs, static, "make_jaxpr")
        if return_shape:
            return closed, tree_unflatten(out_tree, [_struct(a) for a in closed.out_avals])
        return closed
    return make


def trace_call(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int] = (),
               kind: str = "jit") -> tuple[ClosedJaxpr, PyTreeDef]:
    """The program of `fun` for example arguments, and the tree of its result."""
    dynamic = tuple(a for n, a in enumerate(args) if n not in static)
    leaves, in_tree = tree_flatten((dynamic, kwargs))
    described = [x for x in leaves if is_array_like(x) or not hasattr(x, "shape")]
    check_arrays(described, lambda: path_names(fun, args, kwargs, static), function_name(fun))
    out_tree: list[PyTreeDef] = []

    def flat(*xs: Any) -> list[Any]:
        values, named = tree_unflatten(in_tree, xs)
        rest = iter(values)
        full = [a if n in static else next(rest) for n, a in enumerate(args)]
        return flatten_result(fun(*full, **named), out_tree, fun)
    closed = trace_to_closed(flat, [abstract(x) for x in leaves], debug_info(kind, fun, args, kwargs, static))
    return closed, out_tree[0]


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of fun(*args, **kwargs), as a pytree of ShapeDtypeStructs, without computing anything.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.eval_shape(lambda a, b: a @ b, jnp.ones((2, 3)), nj.ShapeDtypeStruct((3, 4), jnp.float32)).shape
    (2, 4)
    """
    closed, out_tree = trace_call(fun, args, kwargs, kind="eval_shape")
    return tree_unflatten(out_tree, [_struct(a) for a in closed.out_avals])


class Traced(Record):
    """A function traced for given arguments."""
    jaxpr: ClosedJaxpr
    fun_name: str
    out_tree: PyTreeDef
    in_tree: PyTreeDef
    kept: list[int]
    donated: list[bool]
    device: Device

    @property
    def out_info(self) -> Any:
        """The pytree of ShapeDtypeStructs of the result."""
        return tree_unflatten(self.out_tree, [_struct(a) for a in self.jaxpr.out_avals])

    def lower(self) -> Lowered:
        """The program in the compiler's own representation."""
        return Lowered(self, simplify(self.jaxpr))


class Lowered(Record):
    """A simplified program, not compiled yet."""
    traced: Traced
    jaxpr: ClosedJaxpr

    @property
    def out_info(self) -> Any:
        return self.traced.out_info

    @property
    def in_tree(self) -> PyTreeDef:
        return self.traced.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self.traced.out_tree

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: dialect "loops" (the loop IR of the CPU compiler), "stablehlo" (for XLA; needs no device)
        or "jaxpr". Default: the input of its device's compiler. debug_info: StableHLO with the user's lines.

        Raises ValueError for other dialects.
        """
        if dialect == "jaxpr":
            return str(self.jaxpr)
        device = self.traced.device
        if dialect is None:
            dialect = "loops" if device == CPU else "stablehlo"
        if dialect == "loops":
            return backends.load_backend("cpu").as_text(self.jaxpr, self.traced.fun_name)
        if dialect != "stablehlo":
            raise ValueError(f"unknown dialect {dialect!r}: expected 'loops', 'stablehlo' or 'jaxpr'")
        platform = "xla_cpu" if device == CPU else device.platform
        donated = [self.traced.donated[k] for k in self.traced.kept]
        backend = backends.load_backend(platform)
        return backend.as_text(self.jaxpr, self.traced.fun_name, platform, donated, locations=debug_info)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates of the program's cost, as those of the compiled program."""
        return self.compile().cost_analysis()

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Machine code. Raises ValueError for compiler options: there are none."""
        if compiler_options:
            raise ValueError(f"unknown compiler options {sorted(compiler_options)}: expected none")
        traced = self.traced
        executable = dispatch.compile_closed(self.jaxpr, traced.fun_name, [traced.donated[k] for k in traced.kept],
                                             traced.device, traced.jaxpr)
        return Compiled(self.traced, executable, self.jaxpr)


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


class Compiled(Record):
    """A compiled program: call it with arguments like those it was traced for."""
    traced: Traced
    executable: Any
    jaxpr: ClosedJaxpr

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.traced.in_tree:
            raise TypeError(f"function compiled for arguments of structure {self.traced.in_tree}, called with {tree}")
        arrays = []
        for k, aval in zip(self.traced.kept, self.executable.in_avals, strict=True):
            got = aval_of(leaves[k])
            if got.shape != aval.shape or got.dtype != aval.dtype:
                raise TypeError(f"argument {k} of {self.traced.fun_name}: compiled for {aval.str_short()}, called with "
                                f"{got.str_short()}. Lower and compile the function for these arguments.")
            arrays.append(dispatch.as_array(leaves[k], aval, self.traced.device))
        outs = self.executable(arrays, [self.traced.donated[k] for k in self.traced.kept])
        return tree_unflatten(self.traced.out_tree, outs)

    @property
    def out_tree(self) -> PyTreeDef:
        return self.traced.out_tree

    @property
    def in_tree(self) -> PyTreeDef:
        return self.traced.in_tree

    def as_text(self) -> str:
        """The LLVM IR of the program; on XLA's devices, its optimised HLO."""
        return self.executable.program.text

    def cost_analysis(self) -> dict[str, float]:
        """Estimates: "flops" and "transcendentals" (see api.costs), "bytes accessed" (at least: every argument, result and
        temporary once), "nanoseconds" (of one thread, within an order of magnitude). On XLA's devices: XLA's estimates."""
        if self.traced.device != CPU:
            return self.executable.program.cost_analysis()
        memory, program = self.memory_analysis(), self.executable.program
        counts = operations(self.jaxpr.jaxpr)
        return {"flops": float(counts["flops"]), "transcendentals": float(counts["transcendentals"]),
                "bytes accessed": float(memory.argument_size_in_bytes + memory.output_size_in_bytes + program.temporaries),
                "nanoseconds": program.cost_ns}

    def memory_analysis(self) -> CompiledMemoryStats:
        """Memory needs of a run. All of it is planned ahead, so the numbers are exact; only buffers that libraries keep for
        the whole process (the packed operands of BLAS) do not count. On XLA's devices: XLA's numbers."""
        if self.traced.device != CPU:
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

    def runtime_executable(self) -> Any:
        """The native executable."""
        return self.executable.native


# Functions that empty the caches of each living jitted function.
cache_clearers: weakref.WeakValueDictionary[int, Callable[[], None]] = weakref.WeakValueDictionary()


def add_stages(jitted: Any, state: Any) -> Any:
    """Gives a jitted function its stages: trace, lower, eval_shape, clear_cache."""
    def trace(*args: Any, **kwargs: Any) -> Traced:
        """Traces the function for arguments, or for ShapeDtypeStructs in their place."""
        return state.traced(args, kwargs)

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """trace(*args, **kwargs).lower()"""
        return trace(*args, **kwargs).lower()

    def shapes(*args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result."""
        return trace(*args, **kwargs).out_info

    def clear_cache() -> None:
        """Drops all traces and compiled programs of this function."""
        state.traces.clear()
        alive = this()
        if alive is not None:
            kind.clear_cache(alive)
    kind = type(jitted)
    this = state.native = weakref.ref(jitted)  # a function that held itself would stay until garbage is collected
    cache_clearers[id(jitted)] = clear_cache  # lives as long as the function, whose attribute it is
    jitted.trace, jitted.lower, jitted.eval_shape, jitted.clear_cache = trace, lower, shapes, clear_cache
    return jitted
