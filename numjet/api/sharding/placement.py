"""Placements that users give: devices, shardings and specifications, checked against the arrays that they are for."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet import _native
from numjet.core.aval import placements_in_use
from numjet.core.sharding.distribution import Distribution, Several, canonical, devices_of, mesh_of
from numjet.core.sharding.layouts import Format, sharding_of, without_layout
from numjet.core.sharding.memory import DEVICE, space_of
from numjet.core.sharding.mesh import AbstractMesh, Mesh, current_mesh, over_devices
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from numjet.core.sharding.shardings import DuplicateSpecError, IndivisibleError, NamedSharding, Sharding
from numjet.foundation.record import Record
from numjet.foundation.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_leaves,
    tree_map,
    treedef_paths,
)
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.sharding import in_space
from numjet.runtime import one_device
from numjet.runtime.device import Device, choose, choose_for_mesh, devices as runtime_devices, mesh_of_several


def resolved(what: str, placement: Any) -> Any:
    """A sharding or device for what a user gave: a specification is for the mesh in use. TypeError for what is neither."""
    placement = sharding_of(placement)
    if isinstance(placement, PartitionSpec):
        mesh = current_mesh()
        if mesh.empty:
            if what.startswith("jit"):
                side = _side(what)
                raise RuntimeError(f"pjit requires a non-empty mesh in context if you are passing `PartitionSpec`s to {side}. "
                                   f"You can define a context mesh via `jax.set_mesh(mesh)`. Alternatively, provide "
                                   f"`Sharding`s to {side} and then the mesh context manager is not required. Got "
                                   f"{placement}.")
            raise ValueError(f"Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {what}: {placement} needs "
                             f"a mesh: call it in `with jax.set_mesh(mesh):`, or pass "
                             f"NamedSharding(mesh, {placement})")
        try:
            return NamedSharding(mesh, placement)
        except DuplicateSpecError as error:
            raise DuplicateSpecError(str(error).replace("NamedSharding spec", _side(what))) from None
    if isinstance(placement, NamedSharding) and isinstance(placement.mesh, AbstractMesh):
        return placement.update(mesh=_concrete(what, placement.mesh))
    if not isinstance(placement, (Sharding, Device)):
        raise TypeError(f"{_side(what)} leaf specifications are expected to be PartitionSpec instances or None, but got "
                        f"{placement}; a Sharding will do as well")
    return placement


def _side(what: str) -> str:
    """The parameter of jit that a text names."""
    return what.removeprefix("jit ") if what != "jit" else "in_shardings or out_shardings"


def _concrete(what: str, mesh: AbstractMesh) -> Mesh:
    """The mesh in use, for an abstract one of the same axes."""
    found = over_devices(mesh)
    if found is None:
        raise ValueError(f"{what}: {mesh} has no devices, and the mesh in use is {current_mesh()}: set one with these axes by "
                         "set_mesh")
    return found


def _struct_sharding(leaf: Any) -> Any:
    """The sharding of a ShapeDtypeStruct, over devices or their stand-ins; None for other values and without one."""
    sharding = None if type(leaf) is _native.Array else getattr(leaf, "sharding", None)
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        return sharding.update(mesh=_concrete("ShapeDtypeStruct", sharding.mesh), memory_kind=None)
    return sharding


def location(what: str, placement: Any) -> Any:
    """What arrays of a placement have as their device: a Device, or a sharding over several.

    Raises ValueError for what is no placement, and for devices that do not exist.
    """
    placement = sharding_of(placement)
    if not isinstance(placement, (Device, Sharding, PartitionSpec)):
        raise ValueError(f"{what}: Received invalid value {placement!r} as device. `jax.device_put` only accepts `None`, "
                         "`jax.sharding.Sharding`, `jax.Device`, a PartitionSpec, or a pytree of these values: expected one of "
                         f"{runtime_devices()}, one of devices(platform) for another platform, or a sharding. Received invalid "
                         f"value: {placement}")
    _check_constrained(what, placement)
    found = resolved(what, placement)
    return found if isinstance(found, Device) else canonical(found)


def label(what: str, given: Any) -> Sharding | None:
    """The sharding that arrays show, for a placement on one device that has a mesh, or names a memory."""
    return _as_label(resolved(what, given))


def check_one_way(device: Any, backend: str | None, **shardings: Any) -> None:
    """ValueError where both a device and shardings say where a program runs."""
    if device is not None or backend is not None:
        for name, given in shardings.items():
            if given is not None:
                raise ValueError(f"If backend or device is specified on jit, then {name} should not be specified.")


def placed(device: Any, in_shardings: Any, out_shardings: Any) -> tuple[Any, Any, Any]:
    """(the device that jit's arguments name, the shardings if they name several devices, those if they name one). Raises if
    device and shardings differ."""
    shardings = Shardings(in_shardings, out_shardings)
    named = shardings.devices()
    if named is None:
        return device, None, None
    if device is not None and named != device:
        raise ValueError(f"jit: device={device} differs from the device of the shardings, {named}: leave one out")
    return (named, None, shardings) if isinstance(named, Device) else (None, shardings, None)


def check_parts(what: str, sharding: Any, shape: Sequence[int]) -> None:
    """ValueError, naming `what`, where a sharding cannot divide an array of a shape evenly."""
    if not isinstance(sharding, NamedSharding):
        return
    try:
        sharding.check_compatible_aval(shape)
    except IndivisibleError as error:
        counts = sharding._parts(len(shape))
        d = next(d for d, (size, count) in enumerate(zip(shape, counts, strict=True)) if size % count)
        raise IndivisibleError(
            f"{what} was given the sharding of {sharding}, which implies that the global size of its dimension {d} should be "
            f"divisible by {counts[d]}, but it is equal to {shape[d]} (full shape: {tuple(shape)}). {error}") from None
    except ValueError as error:
        raise ValueError(f"{what} is incompatible with its sharding annotation {sharding}: {error}") from None


def of_struct(given: Any, shape: tuple[Any, ...]) -> Any:
    """The sharding of a struct: of a specification, over the mesh in use. ValueError for what is no sharding, and for one that
    does not fit; TypeError for a specification without a mesh."""
    if isinstance(given, Device):
        return given
    if isinstance(given, PartitionSpec):
        if current_mesh().empty:
            raise TypeError("When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty. Please use "
                            f"`jax.set_mesh` to set the mesh context. Got {given}.")
        given = NamedSharding(current_mesh(), given)
    if not isinstance(given, Sharding):
        raise ValueError("sharding should be an instance of `jax.sharding.Sharding`, `jax.sharding.PartitionSpec` or "
                         f"`jax.experimental.layout.Format`. Got {given} of type {type(given)}.")
    if isinstance(given, NamedSharding) and len(given.spec) > len(shape):
        raise ValueError(f"Sharding {given} is only valid for values of rank at least {len(given.spec)}, but was applied to a "
                         f"value of rank {len(shape)}.")
    return given


class Shardings(Record):
    """in_shardings and out_shardings of jit, as given, without layouts."""
    ins: Any
    outs: Any

    def __init__(self, ins: Any, outs: Any):
        super().__init__(_without_layouts(ins), _without_layouts(outs))
        for side, given in (("in_shardings", self.ins), ("out_shardings", self.outs)):
            for sharding in tree_leaves(given, is_leaf=_is_placement):
                _check_constrained(side, sharding)

    @property
    def key(self) -> Any:
        """What tells them from others, hashable, where the pytrees that were given may not be."""
        leaves, structure = tree_flatten((self.ins, self.outs), is_leaf=lambda x: x is None or _is_placement(x))
        return tuple(leaves), structure

    @property
    def names_memories(self) -> bool:
        """Whether some out_shardings name other memories than the devices' own."""
        return any(getattr(s, "memory_kind", None) not in (None, DEVICE) for s in tree_leaves(self.outs, is_leaf=_is_placement))

    def for_mesh_in_use(self) -> bool:
        """Whether some are specifications, or shardings over a mesh without devices: the mesh in use tells what they are."""
        return any(isinstance(s, PartitionSpec) or isinstance(s, NamedSharding) and isinstance(s.mesh, AbstractMesh)
                   for s in tree_leaves((self.ins, self.outs), is_leaf=_is_placement))

    def devices(self) -> Several | Device | None:
        """The devices that they name."""
        found = [resolved(f"jit {side}", s) for side, given in (("in_shardings", self.ins), ("out_shardings", self.outs))
                 for s in tree_leaves(given, is_leaf=_is_placement)]
        if not found:
            return None
        there = devices_of(found[0])
        for other in found[1:]:
            if set(devices_of(other)) != set(there):
                raise ValueError("Received incompatible devices for jitted computation. Got sharding "
                                 f"{found[0]} with device ids {[d.id for d in there]}, and {other} with "
                                 f"device ids {[d.id for d in devices_of(other)]}")
        return there[0] if len(there) == 1 else Several(there)

    def of_arguments(self, args: Sequence[Any], kwargs: Any, in_tree: PyTreeDef) -> list[Any]:
        """A sharding or None for each leaf of the arguments. ValueError for named arguments."""
        count = in_tree.num_leaves
        if self.ins is None:
            return [None] * count
        if kwargs:
            raise ValueError("pjit does not support kwargs when in_shardings is specified. Pass "
                             f"{', '.join(map(repr, kwargs))} by position")
        if isinstance(self.ins, (Sharding, PartitionSpec)):
            return [resolved("jit in_shardings", self.ins)] * count
        tree = tree_structure_of(args)
        given = tuple(self.ins) if isinstance(self.ins, list) else self.ins
        if type(given) is not tuple:
            raise ValueError("pjit in_shardings specification must be a tree prefix of the positional arguments tuple. In "
                             "particular, pjit in_shardings must either be a Sharding, a PartitionSpec, or a tuple of length "
                             f"equal to the number of positional arguments. But pjit in_shardings is not a tuple: got "
                             f"{type(given)} instead. pjit in_shardings might need to be wrapped in a singleton tuple.")
        if isinstance(given, tuple) and len(given) != len(args):
            raise ValueError("pjit in_shardings specification must be a tree prefix of the positional arguments tuple. In "
                             "particular, pjit in_shardings must either be a Sharding, a PartitionSpec, or a tuple of length "
                             "equal to the number of positional arguments. But pjit in_shardings is the wrong length: got a "
                             f"tuple or list of length {len(given)} for an args tuple of length {len(args)}.")
        found = flatten_axes("pjit in_shardings", tree, given)
        return [None if s is None else resolved("jit in_shardings", s) for s in found]

    def in_memories(self, leaves: Sequence[Any], out_tree: PyTreeDef) -> Sequence[Any]:
        """Results of a function that is traced, in the memories that out_shardings name."""
        given = self.of_results(out_tree) if self.names_memories or placements_in_use else ()
        if not any(isinstance(s, Sharding) for s in given):
            return leaves
        return [in_space(x, space_of(s.memory_kind)) if isinstance(s, Sharding) else x
                for x, s in zip(leaves, given, strict=True)]

    def labels(self, out_tree: PyTreeDef) -> list[Sharding | None]:
        """The shardings over one device that results show: those of out_shardings, else those beside the arguments'."""
        outs = [_as_label(s) for s in self.of_results(out_tree)]
        if any(outs):
            return outs
        first = next((s for s in map(_resolved_in, tree_leaves(self.ins, is_leaf=_is_placement))
                      if isinstance(s, NamedSharding)), None)
        whole = None if first is None else NamedSharding(first.mesh, PartitionSpec())
        return [whole] * out_tree.num_leaves

    def of_results(self, out_tree: PyTreeDef) -> list[Any]:
        """A sharding or None for each leaf of the result."""
        if self.outs is None:
            return [None] * out_tree.num_leaves
        given = flatten_axes("pjit out_shardings", out_tree, self.outs)
        return [None if s is None else resolved("jit out_shardings", s) for s in given]


def _check_constrained(what: str, sharding: Any) -> None:
    """ValueError for a sharding at the edge of programs, or of arrays, that leaves dimensions to the compiler."""
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    if isinstance(spec, PartitionSpec) and UNCONSTRAINED in spec.partitions:
        raise ValueError(f"Unconstrained dims are not allowed when passed to {what}: {sharding}. Say how each dimension is "
                         "divided; with_sharding_constraint can leave some to the compiler.")


def _as_label(sharding: Any) -> Sharding | None:
    """A placement that an array's device does not tell."""
    named = isinstance(sharding, NamedSharding) or (isinstance(sharding, Sharding) and sharding.memory_kind != DEVICE)
    return sharding if named else None


def tree_structure_of(args: Sequence[Any]) -> PyTreeDef:
    """The structure of the tuple of positional arguments."""
    return _native.pytree_structure(tuple(args))


def _without_layouts(given: Any) -> Any:
    return tree_map(without_layout, given, is_leaf=lambda x: x is None or isinstance(x, Format) or _is_placement(x))


def _resolved_in(sharding: Any) -> Any:
    return resolved("jit in_shardings", sharding)


def _is_placement(x: Any) -> bool:
    return isinstance(x, (Sharding, PartitionSpec, Device))


def check_inputs(shardings: Sequence[Any], leaves: Sequence[Any], avals: Sequence[Any], names: Callable[[], Sequence[str]]
                 ) -> None:
    """ValueError for arguments that their in_shardings cannot divide, that are committed to other shardings, or in another
    memory."""
    check_memories(shardings, leaves)
    for k, (sharding, leaf, aval) in enumerate(zip(shardings, leaves, avals, strict=True)):
        if sharding is None:
            continue
        check_parts(f"One of pjit arguments with pytree key path {names()[k]}", sharding, aval.shape)
        there = leaf.device if type(leaf) is _native.Array and leaf.committed else None
        if isinstance(there, Sharding) and isinstance(sharding, Sharding) and not there.is_equivalent_to(sharding, aval.ndim):
            raise ValueError(f"Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
                             f"{sharding},\narg sharding: {there} for arg {names()[k]}, arg type: {aval.str_short(False)}. "
                             "Move it with device_put, or leave in_shardings out.")


def check_memories(shardings: Sequence[Any], leaves: Sequence[Any]) -> None:
    """ValueError for arrays in other memories than their in_shardings name."""
    for sharding, leaf in zip(shardings, leaves, strict=True):
        if isinstance(sharding, Sharding) and type(leaf) is _native.Array:
            there = leaf.device if isinstance(leaf.device, Sharding) else one_device.sharding_of(leaf)
            if not there.has_kind(sharding.memory_kind):
                raise ValueError("Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got jit "
                                 f"memory kind: {sharding.memory_kind}, arg memory kind: {there.memory_kind} for arg type: "
                                 f"{leaf.aval.str_short(False)}. Move it: device_put(x, {sharding}).")


def check_results(shardings: Sequence[Any], out_tree: PyTreeDef, avals: Sequence[Any]) -> None:
    """ValueError for results that their out_shardings cannot divide."""
    if all(s is None for s in shardings):
        return
    for path, sharding, aval in zip(treedef_paths(out_tree), shardings, avals, strict=False):
        if sharding is not None:
            check_parts(f"One of pjit outputs with pytree key path result{keystr(path)}", sharding, aval.shape)


def devices_of_structs(leaves: Sequence[Any]) -> Several | None:
    """The devices of the first ShapeDtypeStruct with a sharding over several."""
    for leaf in leaves:
        sharding = _struct_sharding(leaf)
        if isinstance(sharding, Sharding) and sharding.num_devices > 1:
            return Several(devices_of(sharding))
    return None


def devices_of_call(named: Shardings | None, mesh: Any, leaves: Sequence[Any], values: Sequence[Any], what: str,
                    names: Sequence[str]) -> Several | Device:
    """The devices of a jitted call: those that its shardings or operations (mesh) name, structs are on, or values. ValueError
    where they differ, from each other or from those of the mesh in use."""
    if named is None and mesh is not None:
        found = (devices_of_structs(leaves) if mesh.is_abstract else None) or choose_for_mesh(values, what, mesh, names)
    else:
        found = choose(values, what, devices_of_structs(leaves) if named is None else named.devices(), names)
    around = mesh_of_several()
    if around is not None and {*devices_of(found)} != {*around.devices.flat}:
        k, at = next(((k, x.device) for k, x in enumerate(values) if type(x) is _native.Array and x.committed), (-1, found))
        who = f"argument {names[k]} of {what}" if 0 <= k < len(names) else f"shardings of {what}"
        raise ValueError(f"Received incompatible devices for jitted computation. Got {who} with device ids "
                         f"{[d.id for d in devices_of(at)]} and jit's context mesh with device ids "
                         f"{[d.id for d in around.devices.flat]}. Call it outside of `with jax.set_mesh(mesh):`, or move the "
                         "arguments with device_put.")
    return found


def distribution_of(over: Several, leaves: Sequence[Any], ins: Sequence[Any], outs: Sequence[Any], mesh: Any) -> Distribution:
    """How a program of several devices takes its arguments and gives its results."""
    taken = []
    for leaf, wanted in zip(leaves, ins, strict=True):
        there = leaf.device if type(leaf) is _native.Array else _struct_sharding(leaf)
        there = there if not isinstance(there, Sharding) or there.num_devices > 1 else None
        taken.append(wanted if wanted is not None else there if isinstance(there, Sharding) else None)
    given = () if all(s is None for s in outs) else tuple(outs)
    return Distribution(over.devices, tuple(taken), given, mesh_of((*taken, *given)) or mesh)
