"""Exported functions: a program with the structure of its arguments and results, called like the function it came from."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from numjet import _native
from numjet.api import aot
from numjet.api.export.symbolic import axes_of, common_scope, shapes_text, specialized
from numjet.api.grad import vjp
from numjet.api.jit import jit
from numjet.api.transfer import default_backend
from numjet.control import custom_vjp
from numjet.control.call.call import named_call
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, subjaxprs
from numjet.core.sharding.distribution import Distribution, devices_of
from numjet.core.sharding.mesh import Mesh, current_mesh
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import Tracer, aval_of, is_array_like
from numjet.core.walk import all_eqns, eval_closed, first_mesh
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.foundation.memo import Memo
from numjet.foundation.record import Record
from numjet.foundation.symbolic.scope import SymbolicScope
from numjet.foundation.symbolic.solve import solve
from numjet.foundation.tree import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten, treedef_paths
from numjet.foundation.tree.prefix import equality_errors_treedef
from numjet.foundation.util import function_name
from numjet.lax import sharding
from numjet.runtime import backends
from numjet.transforms.simplify import simplify

minimum_supported_calling_convention_version = 1
maximum_supported_calling_convention_version = 3  # 2 has symbolic dimensions and use of global constants, 3 shardings
_SAME = {"xla_cpu": "cpu", "gpu": "cuda"}


class DisabledSafetyCheck(Record):
    """A check of exported functions that the user turns off."""
    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Allows calls on platforms other than those the function was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Allows a custom call that has no guarantee of stability."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the custom call that is allowed; None for other checks."""
        return self._impl.removeprefix("custom_call:") if self._impl.startswith("custom_call:") else None

    def __repr__(self) -> str:
        return self._impl


class Exported(Record):
    """A function exported for given shapes. Made by `export.export` and `export.deserialize`; see `call` and `serialize`.

    in_tree: the structure of (args, kwargs). in_avals, out_avals: shapes and dtypes of the leaves. nr_devices: how many run it:
    where it is 1, arguments may be divided over any number of devices; else over that number, and those of jit's shardings, if
    it had any, hold for every call. in_shardings, out_shardings: these, for each leaf, over meshes without devices, or None.
    platforms: those it may run on. ordered_effects, unordered_effects: always empty, as programs with effects are refused.
    module_kept_var_idx: the leaves that the program reads. scope: of the symbolic dimensions in its shapes; None without any.
    uses_global_constants: whether it, or an exported function that it calls, is for many shapes or several platforms.
    """
    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    program: ClosedJaxpr
    _get_vjp: Callable[[Exported], Exported] | None
    nr_devices: int = 1
    ordered_effects: tuple[str, ...] = ()
    unordered_effects: tuple[str, ...] = ()
    _orders: int = 0  # of the derivatives that were read with it
    uses_global_constants: bool = False
    scope: SymbolicScope | None = None
    in_shardings: tuple[NamedSharding | None, ...] = ()
    out_shardings: tuple[NamedSharding | None, ...] = ()
    _distribution: Distribution | None = None  # over the devices that it was exported with

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: the serialized function, with the derivatives it was loaded with. Serialize it to choose others."""
        return _serializer[1], (bytes(self.serialize(self._orders)),)

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """None for each leaf of the arguments: shardings are over axes of a mesh, see in_shardings_jax."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """None for each leaf of the result: shardings are over axes of a mesh, see out_shardings_jax."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: Mesh) -> tuple[NamedSharding | None, ...]:
        """The sharding over a mesh for each leaf of the arguments, None where none was named. ValueError for a mesh with other
        axes than that of the export."""
        return tuple(_over(mesh, s) for s in self.in_shardings)

    def out_shardings_jax(self, mesh: Mesh) -> tuple[NamedSharding | None, ...]:
        """As in_shardings_jax, of the result."""
        return tuple(_over(mesh, s) for s in self.out_shardings)

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, in_avals={self.in_avals}, out_avals={self.out_avals}, ...)"

    def mlir_module(self, serialized: bool = True) -> str:
        """The program in StableHLO, as text, for the first of the platforms. serialized is a hint: text serves both."""
        return backends.load_backend("xla_cpu").as_text(self.program, self.fun_name, _lowered(self.platforms[0]),
                                                        over=self._distribution)

    def has_vjp(self) -> bool:
        """Whether `vjp` is available."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The exported derivative: a function of the leaves of the arguments, then the cotangents of the leaves of the
        result; it returns the cotangents of the leaves of the arguments (float0 for integers).

        ValueError where the function was serialized without it.
        """
        if self._get_vjp is None:
            raise ValueError("No VJP is available: serialize the function with vjp_order >= 1")
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, for `export.deserialize`. vjp_order: how often a reader may differentiate it.

        ValueError for programs that call Python functions, for those whose operations name a mesh, for nodes of pytrees that
        are not registered, and for a vjp_order above what is available.
        """
        mesh = first_mesh(self.program.jaxpr)
        if mesh is not None:
            raise ValueError(f"cannot serialize {self.fun_name}: operations in it name {mesh}, and a file names no devices. "
                             "Leave out constraints and shard_map; shardings of arguments and results are written.")
        return _serializer[0](self, vjp_order)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: eagerly, or as part of a function that is being traced, differentiated or batched.

        ValueError for arguments of another structure, shape or dtype, on another platform, and on another number of devices
        than the several for which it was exported.
        """
        found, tree = tree_flatten_with_path((args, kwargs))
        if tree != self.in_tree:
            raise ValueError(_structure_message(self.in_tree, tree))
        for (path, leaf), aval in zip(found, self.in_avals, strict=True):
            _check_leaf(_where(path), leaf, aval, self.fun_name)
        leaves = [leaf for _, leaf in found]
        self._check_platform(leaves)
        return tree_unflatten(self.out_tree, self._call_flat(leaves, self._program_for(leaves)))

    def _program_for(self, leaves: list[Any]) -> ClosedJaxpr:
        """The program for the sizes of the arguments. ValueError for those that it was not exported for."""
        if self.scope is None:
            return self.program
        paths, shapes = paths_of(self.in_tree), [aval_of(x).shape for x in leaves]
        values = solve(axes_of(paths, self.in_avals, shapes), self.scope, shapes_text(paths, self.in_avals))
        key = tuple(values.items())
        programs = _specialized.setdefault(self.program, Memo("programs of exported functions", _PROGRAMS))
        found = programs.get(key)
        if found is None:
            found = programs.put(key, specialized(self.program, values))
        return found

    def _call_flat(self, leaves: list[Any], program: ClosedJaxpr) -> Sequence[Any]:
        if self.uses_global_constants:
            _general.add(program.jaxpr)

        there = self._devices_of(leaves)
        ins, outs = ([over_devices(there, s) for s in side] for side in (self.in_shardings, self.out_shardings))

        def run(*leaves: Any) -> list[Any]:
            kept = [sharding.constrained(leaves[k], ins[k]) for k in self.module_kept_var_idx]
            found = named_call(program, (), kept, f"call_exported_{self.fun_name}", keep_unused=True)
            return [sharding.constrained(x, s) for x, s in zip(found, outs, strict=True)]

        def forward(*leaves: Any) -> tuple[list[Any], Sequence[Any]]:
            return run(*leaves), leaves

        def backward(leaves: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(self.vjp().call(*leaves, *cotangents))
        fun = custom_vjp(run)
        fun.defvjp(forward, backward)
        return fun(*leaves)

    def _devices_of(self, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
        """The devices that a call runs on, where arguments tell; None where that is known when a program around it runs."""
        values = [x.concrete() if isinstance(x, Tracer) else x for x in leaves]
        given = (devices_of(x.device) for x in values if isinstance(x, _native.Array) and x.committed)
        return next((found for found in given if len(found) == self.nr_devices), None)

    def _check_platform(self, leaves: Sequence[Any]) -> None:
        given = [devices_of(x.device) for x in leaves if isinstance(x, _native.Array) and x.committed]
        unknown = any(isinstance(x, Tracer) for x in leaves) or not current_mesh().empty
        count = max(map(len, given), default=self.nr_devices if unknown else 1)
        if self.nr_devices not in (1, count):
            raise ValueError(f"Function '{self.fun_name}' was exported for {self.nr_devices} devices and is called in a "
                             f"context with {count} devices. Put the arguments on {self.nr_devices} devices, or export the "
                             "function for one, which any number may call.")
        if DisabledSafetyCheck.platform() in self.disabled_safety_checks:
            return
        found = {devices[0].platform for devices in given}
        for name in found or {default_backend()}:
            platform = _SAME.get(name, name)
            if platform not in self.platforms:
                raise ValueError(f"Function '{self.fun_name}' was exported for platforms '{self.platforms}' but it is used on "
                                 f"'{platform}'. Export it with platforms=({platform!r},).")


_PROGRAMS = 256
_specialized: WeakKeyDictionary[ClosedJaxpr, Memo[ClosedJaxpr]] = WeakKeyDictionary()  # for sizes of calls
_general: WeakSet[Jaxpr] = WeakSet()  # programs of functions that were exported for many shapes or platforms


def _calls_general(program: ClosedJaxpr) -> bool:
    """Whether a program calls an exported function that is for many shapes or platforms."""
    return any(inner in _general for eqn in all_eqns(program.jaxpr) for inner in subjaxprs(eqn.params))


_serializer: list[Callable[..., Any]] = []


def set_serializer(serialize: Callable[[Exported, int], bytearray], deserialize: Callable[[bytes], Exported]) -> None:
    """Called by api.export.files, which knows the format."""
    _serializer[:] = [serialize, deserialize]


def _lowered(platform: str) -> str:
    return "xla_cpu" if platform == "cpu" else platform


def _structure_message(expected: PyTreeDef, got: PyTreeDef) -> str:
    differences = [f"    * at {keystr(path)}: expected {was}, got {now}, so {why}"
                   for path, was, now, why in equality_errors_treedef(expected, got)]
    return ("The invocation args and kwargs must have the same pytree structure as when the function was exported, but they "
            "have the following structural differences:\n" + "\n".join(differences))


def _where(path: Any) -> str:
    return ("args" if path[0].idx == 0 else "kwargs") + keystr(path[1:])


def paths_of(in_tree: PyTreeDef) -> list[str]:
    """The leaves of the arguments, as messages name them."""
    return list(map(_where, treedef_paths(in_tree)))


def _check_leaf(where: str, leaf: Any, aval: ShapedArray, name: str) -> None:
    """Raises ValueError for an argument that the function was not exported for."""
    if not is_array_like(leaf):
        raise ValueError(f"{where} of the exported function {name} is {leaf!r} of type {type(leaf)}: expected {aval}")
    got = aval_of(leaf)
    if got.ndim != aval.ndim:
        raise ValueError(f"Rank mismatch for {where}: expected {aval.ndim} for {aval}, got {got.ndim} for {got}. Export the "
                         "function for these arguments.")
    for axis, (n, m) in enumerate(zip(aval.shape, got.shape, strict=True)):
        if n != m and not isinstance(n, Dimension):
            raise ValueError(f"Shape mismatch for {where}.shape[{axis}] (expected same constant): expected {n} of {aval}, got "
                             f"{m} of {got}. Export the function for these arguments.")
    if got.dtype != aval.dtype:
        raise ValueError(f"Dtype mismatch for {where}: expected {aval}, got {got}. Convert the argument.")


# ------------------------------------------------------------------------------------------------ making them

def default_export_platform() -> str:
    """The platform that functions are exported for by default: that of the default device; cpu, cuda or tpu."""
    found = default_backend()
    return _SAME.get(found, found)


def export(fun_jit: aot.Wrapped, *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[DisabledSafetyCheck] = (), _override_lowering_rules: Any = None
           ) -> Callable[..., Exported]:
    """Exports a jitted function: the result, given example arguments or ShapeDtypeStructs, is an `Exported`.

    platforms: where it may be called, such as cpu, cuda, rocm and tpu; default: `default_export_platform()`.
    disabled_checks: checks of calls to leave out.
    Raises ValueError for functions that are not jitted; those of numjet's libraries count as jitted.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> from numjet import export
    >>> data = export.export(nj.jit(lambda x: 2 * jnp.sin(x)))(jnp.ones(3)).serialize(vjp_order=1)
    >>> f = export.deserialize(data).call
    >>> f(jnp.zeros(3)).tolist(), nj.grad(lambda x: f(x).sum())(jnp.zeros(3)).tolist()
    ([0.0, 0.0, 0.0], [2.0, 2.0, 2.0])
    """
    fun = jit(fun_jit) if _of_library(fun_jit) else fun_jit
    if not isinstance(fun, aot.Wrapped):
        raise ValueError(f"Function to be exported must be the result of `jit`, got {fun_jit!r}: write export(jit(f))")
    if _override_lowering_rules is not None:
        raise ValueError("export: _override_lowering_rules are rules of MLIR, which numjet's programs do not have; leave them "
                         "out")
    names = _checked_platforms(platforms)

    def make(*args: Any, **kwargs: Any) -> Exported:
        _check_scopes(args, kwargs, function_name(fun))
        return exported(fun.trace(*args, **kwargs), names, tuple(disabled_checks))
    return make


def _check_scopes(args: tuple[Any, ...], kwargs: dict[str, Any], fun_name: str) -> None:
    """Raises ValueError for symbolic dimensions of different scopes."""
    found, _ = tree_flatten_with_path((args, kwargs))
    symbolic = [(_where(path), x) for path, x in found if is_symbolic(getattr(x, "shape", ()))]
    common_scope([where for where, _ in symbolic], [x for _, x in symbolic], fun_name)


def _of_library(fun: Any) -> bool:
    """Whether a function such as jnp.sin is one of numjet's own, which need no jit."""
    packages = ("numjet.numpy.", "numjet.lax.", "numjet.nn.")
    return isinstance(fun, (FunctionType, _native.EagerFunction)) and fun.__module__.startswith(packages)


def _checked_platforms(platforms: Sequence[str] | None) -> tuple[str, ...]:
    if platforms is None:
        return (default_export_platform(),)
    names = (platforms,) if isinstance(platforms, str) else tuple(platforms)
    if not names or not all(isinstance(p, str) and p for p in names):
        raise ValueError(f"export: platforms must be names such as cpu, cuda, rocm and tpu, got {platforms!r}")
    return names


def exported(traced: aot.Traced, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...]) -> Exported:
    """A traced function, exported."""
    call, over = traced.call, traced.call.device
    in_avals, paths = arrays_only(call.in_avals), paths_of(call.in_tree)
    scope = common_scope(paths, in_avals, call.fun_name)
    if scope is None:
        program = simplify(traced.program)
    else:  # simplified for the sizes of a call
        solve(axes_of(paths, in_avals, [a.shape for a in in_avals]), scope, shapes_text(paths, in_avals))
        program = specialized(traced.program, {})
    general = scope is not None or len(platforms) > 1 or _calls_general(traced.program)
    if program.effects:
        raise ValueError(f"cannot export {call.fun_name}: it has effects ({', '.join(sorted(map(str, program.effects)))}), "
                         "which call Python. Leave out callbacks, printing and debugging.")
    return Exported(call.fun_name, call.in_tree, in_avals, call.out_tree, arrays_only(call.out_avals),
                    platforms, checks, maximum_supported_calling_convention_version, tuple(traced.kept), program,
                    lambda primal: _export_vjp(traced, platforms, checks), len(devices_of(over)),
                    uses_global_constants=general, scope=scope,
                    in_shardings=without_devices(_named(over, "ins", in_avals), over),
                    out_shardings=without_devices(_named(over, "outs", call.out_avals), over),
                    _distribution=_of_program(over, traced.kept))


def _of_program(over: Any, kept: Sequence[int]) -> Distribution | None:
    """How a program takes the arguments that it reads, if it is one of several devices."""
    return over.replace(ins=tuple(over.ins[k] for k in kept)) if isinstance(over, Distribution) else None


def _named(over: Any, side: str, avals: Sequence[Any]) -> tuple[Any, ...]:
    """The shardings of arguments ("ins") or results ("outs") of a program, None where none was named."""
    return (getattr(over, side, ()) or (None,) * len(avals))[:len(avals)]


def without_devices(named: Sequence[Any], over: Any) -> tuple[NamedSharding | None, ...]:
    """Shardings over meshes without devices. NotImplementedError for several meshes whose devices are in different orders."""
    found = []
    for s in named:
        if s is not None and devices_of(s) != devices_of(over):
            raise NotImplementedError(f"export: the devices of {s} are in another order than those of the program, "
                                      f"{[d.id for d in devices_of(over)]}. Use meshes with one order of devices.")
        found.append(None if s is None else s.update(mesh=s.mesh.abstract_mesh))
    return tuple(found)


def over_devices(devices: Sequence[Any] | None, s: NamedSharding | None) -> NamedSharding | None:
    """A sharding over the devices of a call, if they are known."""
    if devices is None or s is None:
        return s
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return s.update(mesh=Mesh(grid.reshape(s.mesh.axis_sizes), s.mesh.axis_names, s.mesh.axis_types))


def _over(mesh: Mesh, s: NamedSharding | None) -> NamedSharding | None:
    """A sharding over a mesh of devices."""
    if s is not None and mesh.shape_tuple != s.mesh.shape_tuple:
        raise ValueError(f"NamedSharding new mesh {mesh} does not match the mesh used for export {s.mesh}. Use the axes of "
                         "that mesh, over any devices.")
    return None if s is None else s.update(mesh=mesh)


def _export_vjp(traced: aot.Traced, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...]) -> Exported:
    """The derivative of the program as it was traced, whose calls still have their own rules."""
    call = traced.call

    def backward(*values: Any) -> Any:
        primals, cotangents = values[:len(call.in_avals)], values[len(call.in_avals):]
        return vjp(lambda *xs: eval_closed(traced.closed, *xs), *primals)[1](list(cotangents))
    backward.__name__ = f"{call.fun_name}_vjp"
    tangents = [a.to_tangent_aval() for a in arrays_only(call.out_avals)]
    ins, outs = _named(call.device, "ins", call.in_avals), _named(call.device, "outs", call.out_avals)
    named: dict[str, Any] = {"in_shardings": (*ins, *outs), "out_shardings": tuple(ins)} if any((*ins, *outs)) else {}
    given = map(aot.struct, (*arrays_only(call.in_avals), *tangents))
    return exported(jit(backward, **named).trace(*given), platforms, checks)


def arrays_only(avals: Sequence[Any]) -> tuple[ShapedArray, ...]:
    """Abstract values, which must be those of arrays."""
    for aval in avals:
        if not isinstance(aval, ShapedArray):
            raise ValueError(f"cannot export a function that takes or returns {aval}: expected arrays, as a reference belongs "
                             "to the process that made it")
    return tuple(avals)


