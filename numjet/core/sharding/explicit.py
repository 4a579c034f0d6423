"""Shardings in types. Along axes of type Explicit, the type of a value says how its dimensions are divided (its *placement*),
and a rule of each operation gives the placements of results, when a program is traced or an operation runs. Where a rule
cannot tell, it raises ShardingTypeError. A placement also says in which memory space the value is; the operands of an
operation are in one, and so are its results.

Values whose types have no placement are divided along no Explicit axis, and in the device's own memory: programs without
such axes and moves have none, and pay for them with one look at an empty list per operation.
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.sharding.memory import Space, kind_of, space_of
from numjet.core.sharding.mesh import EMPTY, AbstractMesh, AxisType, Mesh, current_mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, parts_of
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.foundation.config import config
from numjet.foundation.errors import ShardingTypeError

Parts = tuple[Any, ...]  # per dimension: None, the name of an axis, or a tuple of names
Axes = frozenset[Any]
NONE: Axes = frozenset()
Rule = Callable[[Any, Sequence[ShapedArray], Sequence[ShapedArray], dict[str, Any]], Sequence[Parts]]


class Placement:
    """How the dimensions of values are divided along Explicit axes of a mesh, and in which memory space they are. Interned:
    equal ones are the same object.

    unreduced: Explicit or Manual axes whose devices have summands of the value. reduced: axes over which cotangents are such.
    The mesh of values that are not divided is the empty one.
    """

    __slots__ = ("mesh", "parts", "reduced", "unreduced", "memory")

    def __init__(self, mesh: AbstractMesh, parts: Parts, unreduced: Axes = NONE, reduced: Axes = NONE,
                 memory: Space = Space.Device):
        self.mesh, self.parts, self.unreduced, self.reduced, self.memory = mesh, parts, unreduced, reduced, memory

    divides = property(lambda self: not self.mesh.empty, doc="Whether axes are named, of parts or of sums.")
    spec = property(lambda self: PartitionSpec(*self.parts, unreduced=self.unreduced, reduced=self.reduced))
    sharding = property(lambda self: NamedSharding(self.mesh, self.spec))

    @property
    def dual(self) -> Placement:
        """The placement of cotangents: summands for what was reduced before, and the other way round."""
        if not self.unreduced and not self.reduced:
            return self
        found = placement(self.mesh, self.parts, self.reduced, self.unreduced, memory=self.memory)
        assert found is not None
        return found

    def sizes(self, shape: tuple[int, ...]) -> Iterator[str]:
        """The sizes of dimensions as text, with the axes along which they are divided: 8@x, 8@(x,y)."""
        for size, part in zip(shape, self.parts, strict=True):
            names = ",".join(map(str, parts_of(part)))
            yield f"{size}" if part is None else f"{size}@{names}" if not isinstance(part, tuple) else f"{size}@({names})"

    def of_shape(self, old: tuple[int, ...], new: tuple[int, ...]) -> Placement | None:
        """The placement of a type of another shape, which has the same trailing dimensions, or is these; those of others are
        not divided."""
        more = len(new) - len(old)
        if more >= 0 and new[more:] == old:
            return self.with_parts((*[None] * more, *self.parts))
        return self.with_parts(self.parts[-more:] if more < 0 and old[-more:] == new else (None,) * len(new))

    def with_parts(self, parts: Sequence[Any]) -> Placement | None:
        """The placement of dimensions that are divided in another way, with the same sums still to be made."""
        return placement(self.mesh, parts, self.unreduced, self.reduced, memory=self.memory)

    def __repr__(self) -> str:
        return f"Placement({self.mesh}, {self.spec}, {self.memory})"

    def __reduce__(self) -> Any:
        return functools.partial(placement, memory=self.memory), (self.mesh, self.parts, self.unreduced, self.reduced)


# as many as programs spell different shardings
_placements: dict[tuple[AbstractMesh, Parts, Axes, Axes, Space], Placement] = {}
_NO_MESH = EMPTY.abstract_mesh


def placement(mesh: AbstractMesh, parts: Sequence[Any], unreduced: Axes = NONE, reduced: Axes = NONE, *,
              memory: Space = Space.Device) -> Placement | None:
    """The placement of dimensions divided along axes of a mesh, in a memory space; None if none is divided, no sums are left,
    and the space is the device's own."""
    found = tuple(parts)
    if not unreduced and not reduced and all(p is None for p in found):
        if memory is Space.Device:
            return None
        mesh = _NO_MESH
    key = mesh, found, unreduced, reduced, memory
    if key not in _placements:
        _placements.setdefault(key, Placement(*key))
        if not placements_in_use:
            placements_in_use.append(True)
    return _placements[key]


def left_out(mesh: Mesh | AbstractMesh) -> frozenset[Any]:
    """The axes of a mesh that types do not name: those of size 1, where the flag says so."""
    return frozenset(n for n, s in mesh.shape_tuple if s == 1) if config.remove_size_one_mesh_axis_from_type else frozenset()


def explicit_parts(mesh: Mesh | AbstractMesh, spec: PartitionSpec, ndim: int) -> Parts:
    """The Explicit axes of a specification, for each of `ndim` dimensions."""
    kept = set(mesh.explicit_axes) - left_out(mesh)
    given = [tuple(a for a in parts_of(part) if a in kept) for part in spec]
    return (*[None if not p else p[0] if len(p) == 1 else p for p in given], *[None] * (ndim - len(given)))


def placement_of(sharding: Any, shape: Sequence[int]) -> Placement | None:
    """The placement of values of a shape under a sharding. ValueError for one that does not fit the shape,
    TypeError for what is none."""
    if not isinstance(sharding, Sharding):
        raise TypeError(f"the sharding of a type is a Sharding or None, got {sharding!r} of type {type(sharding).__name__}")
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        check_fits(sharding, shape)
    return placement_by(sharding, len(shape))


def placement_by(sharding: Any, ndim: int) -> Placement | None:
    """The placement of values of `ndim` dimensions that a sharding means; None for what is none."""
    memory = space_of(getattr(sharding, "memory_kind", None))
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.explicit_axes:
        return in_memory(None, ndim, memory)
    mesh, spec = sharding.mesh, sharding.spec
    return placement(mesh.abstract_mesh, explicit_parts(mesh, spec, ndim), spec.unreduced, spec.reduced, memory=memory)


def in_memory(there: Placement | None, ndim: int, memory: Space) -> Placement | None:
    """A placement of `ndim` dimensions in a memory space."""
    if there is None:
        return placement(_NO_MESH, (None,) * ndim, memory=memory)
    return placement(there.mesh, there.parts, there.unreduced, there.reduced, memory=memory)


def check_fits(sharding: NamedSharding, shape: Sequence[int]) -> None:
    """ValueError for a specification that is longer than the shape, or does not divide it evenly."""
    spec = sharding.spec
    if len(spec) > len(shape):
        raise ValueError(f"Sharding {sharding} is only valid for values of rank at least {len(spec)}, but was applied to a "
                         f"value of rank {len(shape)}")
    for d, part in enumerate(spec):
        count = prod(sharding.mesh.shape[a] for a in parts_of(part))
        if part is not UNCONSTRAINED and shape[d] % count:
            raise ValueError(f"Sharding spec {parts_of(part)} implies that array axis {d} is partitioned {count} times, but "
                             f"does "
                             f"not evenly divide the dimension size {shape[d]}. Got shape: {tuple(shape)} and sharding "
                             f"{sharding}")


def typed(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """The type of an array under a sharding (or on a device): its Explicit axes and its memory space are part of it."""
    there = placement_by(sharding, aval.ndim)
    return aval if aval.placement is there else aval.update(placement=there)


def type_sharding(aval: ShapedArray) -> NamedSharding:
    """What a type shows as its sharding."""
    if divides(aval):
        return aval.placement.sharding
    return NamedSharding(current_mesh().abstract_mesh, PartitionSpec(*[None] * aval.ndim))


def divides(aval: ShapedArray) -> bool:
    """Whether a type says that values are divided, or that sums are left."""
    return aval.placement is not None and aval.placement.divides


def parts(aval: ShapedArray) -> Parts:
    """The axes along which each dimension is divided."""
    return (None,) * aval.ndim if aval.placement is None else aval.placement.parts


def concrete(there: Placement, mesh: Any) -> NamedSharding:
    """The sharding over devices that a placement means in a program over a mesh: dimensions may also be divided along its
    other axes. mesh: a Mesh with the same axes."""
    if not isinstance(mesh, Mesh) or (there.divides and mesh.size != there.mesh.size):
        raise ValueError(f"The mesh of a type, {there.mesh}, has other axes than the mesh that the program runs on: {mesh}")
    over = mesh if not there.divides else _with_axes(mesh, there.mesh)
    return NamedSharding(over, there.spec, memory_kind=kind_of(there.memory))


def _with_axes(mesh: Mesh, wanted: AbstractMesh) -> Mesh:
    """The devices of a mesh with the axes of another one of the same size."""
    if mesh.shape_tuple == wanted.shape_tuple:
        return mesh_like(mesh, wanted.axis_types)
    return Mesh(mesh.devices.reshape(wanted.axis_sizes), wanted.axis_names, wanted.axis_types)


def mesh_like(mesh: Any, types: tuple[AxisType, ...]) -> Any:
    """The mesh with axes of these types."""
    return mesh if mesh.axis_types == types else _retyped(mesh, types)


@functools.lru_cache(maxsize=1024)
def _retyped(mesh: Any, types: tuple[AxisType, ...]) -> Any:
    return mesh.update(axis_types=types)


def wanted(avals: Sequence[Any], mesh: Any) -> tuple[NamedSharding | None, ...]:
    """The shardings of results over a mesh of devices, as their types say; () where these say nothing. None: the compiler
    chooses. Where all axes are Explicit, it does not: what is divided along none is on all devices."""
    if not mesh.are_all_axes_explicit:
        return ()
    return tuple(NamedSharding(mesh, PartitionSpec(*[None] * a.ndim)) if a.placement is None else concrete(a.placement, mesh)
                 for a in avals)


# ------------------------------------------------------------------------------------------------ types of results

class _State(threading.local):
    lenient: bool = False
    mapped: Any = None


_state = _State()


def is_lenient() -> bool:
    """Whether operations that rules write may leave to the compiler what types do not tell."""
    return _state.lenient


def lenient(flag: bool = True) -> _native.Scope:
    """A block in which results that the rules cannot place are left to the compiler: operations of derivatives and batches,
    which users did not write."""
    return _native.Scope(_state, "lenient", flag)


def mapped() -> Any:
    """The axes along which the innermost batch is divided, or None."""
    return _state.mapped


def mapping(part: Any) -> _native.Scope:
    """A block in which the innermost batch is divided along axes."""
    return _native.Scope(_state, "mapped", part)


def over_batch(aval: Any, mesh: AbstractMesh, part: Any) -> Placement | None:
    """The placement of a batch of values in axis 0 that is divided along axes of a mesh, unless the values are themselves."""
    used = set(axes_of(PartitionSpec(*parts(aval))))
    front = None if used & set(parts_of(part)) else part
    return placement(mesh, (front, *parts(aval)), *sums_of(aval), memory=aval.memory_space)


def in_types(avals: Sequence[Any]) -> bool:
    """Whether a type has a placement."""
    return any(a.placement is not None for a in avals)


def abstract(op: Any, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """As op.abstract, with placements. ShardingTypeError where the operation's rule cannot tell that of a result."""
    if not _by_rules(op, avals):
        return op.abstract(*avals, **params)  # programs have the types of their results
    out = op.abstract(*[a.update(placement=None) for a in avals], **params)
    outs = out if op.multiple else [out]
    memory = _memory_of_results(op, avals)
    if not any(map(divides, avals)):
        placed = [o.update(placement=in_memory(None, o.ndim, memory)) for o in outs]
        return placed if op.multiple else placed[0]
    mesh = _mesh_of(op, avals)
    found = hooks.sharding_rule(op)(op, avals, outs, params)
    sums = hooks.sums_rule(op, avals) if any(has_sums(a) for a in avals) else (NONE, NONE)
    placed = [_checked(op, avals, o, mesh, p, *sums, memory=memory) for o, p in zip(outs, found, strict=True)]
    return placed if op.multiple else placed[0]


def _by_rules(op: Any, avals: Sequence[Any]) -> bool:
    """Whether rules tell the placements of results, and not the operation itself."""
    itself = getattr(op, "programs", False) or getattr(op, "typed", False) or getattr(op, "places", None) is not None
    return in_types(avals) and not itself


def abstract_or_auto(op: Any, avals: Sequence[Any], params: dict[str, Any]) -> tuple[Any, bool]:
    """(the types of results, whether types say where they are). In a lenient block they need not."""
    try:
        if not is_lenient() or not _by_rules(op, avals) or _other_memory(hooks.data_operands(op, avals)) is None:
            return abstract(op, avals, params), True
    except ShardingTypeError:
        if not is_lenient():
            raise
    return op.abstract(*[a.update(placement=None) for a in avals], **params), False


def _other_memory(arrays: Sequence[Any]) -> Any:
    """The first type that names another memory space than the first one does; None if there is none."""
    return next((a for a in arrays if a.memory_space is not arrays[0].memory_space), None)


def _memory_of_results(op: Any, avals: Sequence[Any]) -> Space:
    """The memory space of the operands. ValueError where they are in different ones."""
    arrays = hooks.data_operands(op, avals)
    other = _other_memory(arrays)
    if other is not None:
        raise ValueError(f"memory_space of all inputs passed to `{op.name}` must be the same. Got one operand with type: "
                         f"{arrays[0].str_short(False)} and another operand with type: {other.str_short(False)}. Move one of "
                         f"them: device_put(x, jax.memory.Space.{arrays[0].memory_space.name})")
    return arrays[0].memory_space if arrays else Space.Device


def _mesh_of(op: Any, avals: Sequence[Any]) -> AbstractMesh:
    """The mesh of the operands. ValueError for operands of several, and for another one than in use."""
    meshes = {a.placement.mesh for a in avals if divides(a)}
    if len(meshes) > 1:
        first, second = sorted(meshes, key=str)[:2]
        raise ValueError(f"Mesh for all inputs should be equal. Got one mesh: {first} and another mesh: {second}, for "
                         f"operands of "
                         f"{op.name}: {', '.join(a.str_short() for a in avals)}. Move them with reshard, or by auto_axes and "
                         "explicit_axes.")
    there, around = meshes.pop(), current_mesh()
    if around.empty or is_lenient():
        return there
    if around.shape_tuple != there.shape_tuple or _left_to_compiler(avals, around):
        raise ValueError(f"For primitive {op.name}, context mesh {around.abstract_mesh} should match the aval mesh {there} "
                         f"for shape "
                         f"{next(a for a in avals if divides(a))}. Call it in `with jax.set_mesh(mesh):` of that "
                         "mesh, or without a mesh.")
    return there


def _left_to_compiler(avals: Sequence[Any], around: Mesh | AbstractMesh) -> bool:
    """Whether types name axes along which the compiler divides where the mesh is in use."""
    used = {a for aval in avals if divides(aval) for a in axes_of(PartitionSpec(*aval.placement.parts))}
    return not used.isdisjoint(around.auto_axes)


def has_sums(aval: Any) -> bool:
    """Whether a type says that sums are still to be made, of its values or of cotangents."""
    there = aval.placement
    return there is not None and bool(there.unreduced or there.reduced)


def sums_of(aval: Any) -> tuple[Axes, Axes]:
    """The axes whose devices have summands of values of a type, and those over which cotangents are such."""
    return (NONE, NONE) if aval.placement is None else (aval.placement.unreduced, aval.placement.reduced)


def _checked(op: Any, avals: Sequence[Any], out: ShapedArray, mesh: AbstractMesh, found: Parts, unreduced: Axes,
             reduced: Axes, *, memory: Space) -> ShapedArray:
    """The type of a result, with a placement that it can have."""
    spec = PartitionSpec(*found)
    used = axes_of(spec)
    if len(set(used)) < len(used):
        shown = out.update(placement=Placement(mesh, tuple(found)))
        raise ShardingTypeError(f"{op.name} operation with inputs: {', '.join(a.str_short() for a in avals)} produces an "
                                f"illegally "
                                f"sharded result: {shown.str_short()}")
    there = placement(mesh, found, unreduced, reduced, memory=memory)
    if there is None:
        return out
    for d, part in enumerate(found):
        count = prod(mesh.shape[a] for a in parts_of(part))
        if out.shape[d] % count:
            raise ShardingTypeError(f"{op.name} operation with inputs: {', '.join(a.str_short() for a in avals)} gives a "
                                    f"result "
                                    f"of shape {out.shape}, whose dimension {d} mesh axes {parts_of(part)} cannot divide into "
                                    f"{count} equal parts. Move the operands with reshard.")
    return out.update(placement=there)


def with_types(mesh: Mesh | AbstractMesh, axes: Any, kind: AxisType) -> Any:
    """The mesh with some axes of another type."""
    chosen = set(axes)
    return mesh_like(mesh, tuple(kind if n in chosen else t for n, t in zip(mesh.axis_names, mesh.axis_types, strict=True)))
