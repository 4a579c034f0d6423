"""Sharding constraints: how a value inside of a program is distributed over devices, and changes of what types say of it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core import batches, hooks
from numjet.core.aval import ShapedArray
from numjet.core.op import LINEAR, Missing, Op
from numjet.core.sharding import explicit
from numjet.core.sharding.distribution import canonical
from numjet.core.sharding.layouts import sharding_of
from numjet.core.sharding.memory import Space, kind_of, space_of
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh, current_mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, parts_of
from numjet.core.sharding.shardings import IndivisibleError, NamedSharding, Sharding, SingleDeviceSharding
from numjet.core.trace import Array, Tracer, aval_of
from numjet.core.traits import EXACT
from numjet.foundation import tree
from numjet.foundation.errors import ShardingTypeError
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.device_put import device_put_p
from numjet.lax.shape.stacking import stage


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree, distributed over devices by `shardings` (a sharding, or a pytree of them).

    A PartitionSpec is for the mesh in use. In a traced function, what cannot be divided evenly is on all devices. ValueError
    for None and for shardings that do not fit the shapes; RuntimeError for a specification without a mesh; TypeError for what
    is no sharding.

    >>> import numjet as nj
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> nj.jit(lambda x: with_sharding_constraint(x + 1, nj.NamedSharding(mesh, nj.P("x"))))(nj.numpy.arange(2.0)).tolist()
    [1.0, 2.0]
    """
    leaves, structure = tree.tree_flatten(x)
    given = flatten_axes("with_sharding_constraint shardings", structure, shardings)
    return tree.tree_unflatten(structure, [_constraint(leaf, s) for leaf, s in zip(leaves, given, strict=True)])


def _constraint(x: Any, given: Any) -> Any:
    sharding = _checked(given)
    aval = aval_of(x)
    if not isinstance(x, Tracer):
        _check_stands_for(x, aval, sharding)
    shape = aval.shape
    manual = set(current_mesh().manual_axes) & set(axes_of(sharding.spec)) if isinstance(sharding, NamedSharding) else ()
    if manual and isinstance(x, Tracer):
        raise ValueError(f"with_sharding_constraint: the spec of {sharding} contains a manual axes {sorted(map(str, manual))} "
                         f"of mesh {current_mesh().abstract_mesh}: in the enclosing shard_map each device has its part along "
                         "them already. Name its other axes only.")
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        if sharding.mesh.are_all_axes_explicit:
            return _asserted(x, aval, sharding)
        if set(axes_of(sharding.spec)) & set(sharding.mesh.explicit_axes):
            raise ValueError("The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of "
                             "the mesh. "
                             f"Got spec={sharding.spec} and mesh={sharding.mesh.abstract_mesh}. You probably meant to use "
                             "`reshard` API?")
    try:
        sharding.check_compatible_aval(shape)
    except IndivisibleError as error:
        if isinstance(x, Tracer) and isinstance(sharding, NamedSharding):  # as JAX: a program divides what can be divided
            return constrained(stage(x), _even(sharding, shape))
        raise IndivisibleError(f"One of with_sharding_constraint arguments was given the sharding of {sharding}, which does "
                               f"not divide its shape: {error}") from None
    except ValueError as error:
        raise ValueError(f"One of with_sharding_constraint arguments is incompatible with its sharding annotation {sharding}: "
                         f"{error}") from None
    return _on_device(stage(x), sharding) if isinstance(sharding, SingleDeviceSharding) else constrained(stage(x), sharding)


def _check_stands_for(x: Any, aval: ShapedArray, sharding: Sharding) -> None:
    """Raises if an abstract mesh, for which none is in use, is not that of an array either."""
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.is_abstract or not current_mesh().empty:
        return
    if not isinstance(x, Array):
        raise ValueError("Target sharding contains a `jax.sharding.AbstractMesh` which requires the input passed should be a "
                         f"`jax.Array`. Got {type(x)} with shape {aval.str_short()}")
    there = x.sharding
    if not isinstance(there, NamedSharding):
        raise TypeError("The sharding on the input must be a `NamedSharding` since the target sharding has an `AbstractMesh` "
                        f"in it. Got sharding type {type(there)} for shape {aval.str_short()}")
    if there.mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(f"Mesh shape of the input {there.mesh.shape_tuple} does not match the mesh shape of the target "
                         f"sharding {sharding.mesh.shape_tuple} for shape {aval.str_short()}")


_ONE = ("_0",)  # the axes of the mesh of one device that no user made


def _on_device(x: Any, sharding: SingleDeviceSharding) -> Any:
    """x in a program that runs on one device, as a constraint says."""
    if not isinstance(x, Tracer):
        return device_put_p.bind(x, sharding=sharding, src=None)
    grid = np.empty(1, object)
    grid[0] = sharding.device
    return sharding_constraint_p.bind(x, sharding=NamedSharding(Mesh(grid, _ONE), PartitionSpec()))


def _even(sharding: NamedSharding, shape: Sequence[int]) -> NamedSharding:
    """The sharding without axes along which a shape cannot be divided evenly."""
    counts = [prod(sharding.mesh.shape[a] for a in parts_of(part)) for part in sharding.spec]
    return sharding.update(spec=PartitionSpec(*[part if shape[d] % n == 0 else None
                                                for d, (part, n) in enumerate(zip(sharding.spec, counts, strict=True))]))


def _asserted(x: Any, aval: ShapedArray, sharding: NamedSharding) -> Any:
    """x, whose type says what the sharding does, as all axes are Explicit. AssertionError where it does not."""
    explicit.check_fits(sharding, aval.shape)
    there, wanted = explicit.parts(aval), explicit.explicit_parts(sharding.mesh, sharding.spec, aval.ndim)
    if there != wanted:
        raise AssertionError("`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The "
                             f"array sharding: {PartitionSpec(*there)} did not match the sharding provided: "
                             f"{PartitionSpec(*wanted)}. Please use `jax.sharding.reshard` to shard your input to the sharding "
                             "you want.")
    return x if isinstance(x, Tracer) else resharded(x, sharding)


def put_traced(x: Any, placement: Any, src: Any) -> Any:
    """A value of a traced function on a device or under a sharding, which was checked. src: where its cotangents go back to."""
    to = _as_sharding(placement)
    if isinstance(to, NamedSharding) and to.mesh.explicit_axes and to.mesh.auto_axes:
        return in_space(_divided_now(stage(x), to), space_of(to.memory_kind))
    if not isinstance(placement, (Sharding, Space)):  # a device, which says nothing of memories
        to = to.with_memory_kind(kind_of(aval_of(x).memory_space))
    return device_put_p.bind(stage(x), sharding=to, src=_as_sharding(src))


def _as_sharding(placement: Any) -> Any:
    return placement if placement is None or isinstance(placement, (Sharding, Space)) else SingleDeviceSharding(placement)


def constrained(x: Any, sharding: Any) -> Any:
    """An array of a sharding that was checked; None, and shardings on one device, change nothing."""
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        return _divided_now(x, sharding)
    if not isinstance(sharding, NamedSharding) or sharding.num_devices == 1:
        return x
    return sharding_constraint_p.bind(x, sharding=sharding if isinstance(sharding.mesh, AbstractMesh) else canonical(sharding))


def _divided_now(x: Any, sharding: NamedSharding) -> Any:
    """x under a sharding over a mesh of which some axes are Explicit: its type says those, a constraint the others."""
    mesh = sharding.mesh
    x = resharded(x, sharding)
    rest = [tuple(a for a in parts_of(p) if a in mesh.auto_axes) for p in sharding.spec]
    return sharding_constraint_p.bind(x, sharding=sharding.update(spec=PartitionSpec(*rest))) if any(rest) else x


def _checked(given: Any) -> Sharding:
    given = sharding_of(given)
    if given is None:
        raise ValueError("One of with_sharding_constraint arguments got sharding None which is not allowed. Please only pass "
                         "`jax.sharding.Sharding` instances.")
    if isinstance(given, PartitionSpec):
        mesh = current_mesh()
        if mesh.empty:
            raise RuntimeError("with_sharding_constraint requires a non-empty mesh in context if you are passing "
                               "`PartitionSpec`s to shardings. You can define a context mesh via `jax.set_mesh(mesh)`. "
                               "Alternatively, provide `Sharding`s to shardings and then the mesh context manager is not "
                               f"required. Got {given}.")
        return NamedSharding(mesh, given)
    if is_empty(given):
        raise ValueError(f"One of shardings leaf specifications got an empty NamedSharding: {given} which is not allowed.")
    if not isinstance(given, Sharding):
        raise TypeError(f"with_sharding_constraint: shardings are objects with a device_set, got {given!r}")
    return given


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, sharding: NamedSharding) -> tuple[Any, int | None]:
    """The batch is divided as vmap's spmd_axis_name says, else as XLA likes."""
    (x,), (d,) = args, dims
    if d is None:
        return sharding_constraint_p.bind(x, sharding=sharding), None
    along = batches.current.spmd
    if not set(along) <= set(sharding.mesh.axis_names):
        given = SingleDeviceSharding(sharding.mesh.devices.flat[0]) if sharding.mesh.axis_names == _ONE else sharding
        raise ValueError("If you are using spmd_axis_name parameter of jax.vmap, please make sure to run your jitted function "
                         "inside the mesh context manager. Only `jax.lax.with_sharding_constraint` with a NamedSharding over a "
                         f"mesh that has the axis can be transformed with spmd_axis_name {along}, got {given}")
    if set(along) & set(axes_of(sharding.spec)):
        raise ValueError(f"vmap spmd_axis_name {along} cannot appear in with_sharding_constraint spec, but got spec "
                         f"{sharding.spec}: an axis divides the batch or a dimension of its elements, not both")
    parts = sharding.entries(max(d, len(sharding.spec)))
    parts.insert(d, along or UNCONSTRAINED)
    return sharding_constraint_p.bind(x, sharding=sharding.update(spec=PartitionSpec(*parts))), d


def _transpose(ct: Any, x: Any, *, sharding: NamedSharding) -> list[Any]:
    return [sharding_constraint_p.bind(ct, sharding=sharding) if sharding.num_devices == 1 else constrained(ct, sharding)]


def _hlo(b: Any, x: Any, *, sharding: NamedSharding) -> Any:
    if b.partitions is None:
        return x
    there = x.aval.placement
    if there is not None:  # the specification is of Auto axes
        given = sharding.entries(x.ndim)
        sharding = sharding.update(spec=PartitionSpec(*[o if p is UNCONSTRAINED else (*parts_of(o), *parts_of(p))
                                                        for o, p in zip(there.parts, given, strict=True)]))
    return b.op("sdy.sharding_constraint", [x], x.aval, attrs={"sharding": b.partitions.attribute(sharding, x.ndim)})


def _constrained_now(before: Any, *, sharding: NamedSharding) -> Any:
    """The sharding of an array of a sharding that is constrained outside of programs: what is left open stays as it is."""
    if UNCONSTRAINED not in sharding.spec.partitions:
        return sharding
    own = before.spec if isinstance(before, NamedSharding) and before.mesh.shape_tuple == sharding.mesh.shape_tuple else ()
    used = set(axes_of(sharding.spec))
    kept = [own[d] if d < len(own) and not used & set(parts_of(own[d])) else None for d in range(len(sharding.spec))]
    return sharding.update(spec=PartitionSpec(*[k if p is UNCONSTRAINED else p
                                                for k, p in zip(kept, sharding.spec, strict=True)]))


sharding_constraint_p: Op = Op(
    name="sharding_constraint", params=("sharding",), abstract=lambda x, *, sharding: x, eager=lambda x, *, sharding: x,
    jvp=LINEAR, transpose=_transpose, batch=_batch, linear_in=(0,),
    cpu=lambda b, x, *, sharding: x, hlo=_hlo, traits=EXACT, mesh=lambda *, sharding: sharding.mesh,
    places=_constrained_now,
    samples=Missing("needs several devices; tests/api/test_sharding.py puts arrays on eight"))


# ------------------------------------------------------------------------------------------------ Explicit axes

def resharded(x: Any, sharding: NamedSharding, from_auto: bool = False) -> Any:
    """A value under a sharding that was checked, of which its type then says the Explicit axes. from_auto: the compiler divided
    it before, and divides its cotangent."""
    return reshard_p.bind(x, dst_sharding=sharding, from_auto=from_auto)


def left_to_compiler(x: Any, axes: Sequence[Any] | None = None) -> Any:
    """A value along whose Explicit axes (default: all) the compiler divides from now on."""
    there = aval_of(x).placement
    if there is None:
        return x
    chosen = there.mesh.explicit_axes if axes is None else tuple(a for a in there.mesh.explicit_axes if a in axes)
    return mesh_cast_p.bind(x, axes=chosen) if chosen else x


def without_placement(x: Any) -> Any:
    """A value whose type says neither how it is divided nor, but for the default, in which memory it is."""
    return in_space(left_to_compiler(x), Space.Device)


def in_space(x: Any, space: Space) -> Any:
    """A value in a memory space."""
    return x if aval_of(x).memory_space is space else device_put_p.bind(x, sharding=space, src=None)


def divided_like_batch(x: Any, operand: Any, dim: int = 0) -> Any:
    """A value that was broadcast to a batch in axis `dim`, divided as the batch is."""
    part = explicit.mapped()
    if part is None:
        return x
    mesh, axes = part
    used = set(axes_of(PartitionSpec(*explicit.parts(aval_of(operand)))))
    if used & set(parts_of(axes)):
        return x
    unreduced, reduced = explicit.sums_of(aval_of(operand))
    parts = explicit.parts(aval_of(operand))
    return resharded(x, NamedSharding(mesh, PartitionSpec(*parts[:dim], axes, *parts[dim:], unreduced=unreduced,
                                                          reduced=reduced)))


def as_typed(x: Any, aval: ShapedArray) -> Any:
    """A cotangent, placed as the type of its variable says: a summand where that is reduced, reduced where it is a summand."""
    return as_tangent(x, aval if aval.placement is None else aval.update(placement=aval.placement.dual))


def as_tangent(x: Any, aval: ShapedArray) -> Any:
    """A tangent, placed as the type of its variable says."""
    x = in_space(x, aval.memory_space)
    there, wanted = aval_of(x).placement, aval.placement
    if there is wanted or aval_of(x).shape != aval.shape:
        return x
    mesh = (wanted if explicit.divides(aval) else there).mesh
    if mesh.manual_axes:
        x = hooks.as_shards(x, aval)
        there = aval_of(x).placement
    if there is wanted or not mesh.explicit_axes:
        return x
    return resharded(x, NamedSharding(mesh, wanted.spec if explicit.divides(aval) else PartitionSpec(*explicit.parts(aval))))


def is_empty(sharding: Any) -> bool:
    """Whether a sharding is of a mesh without axes, as typeof(x).sharding is where no mesh is in use: it says nothing."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def out_sharding_of(name: str, given: Any) -> NamedSharding:
    """The sharding over Explicit axes that a user gave as out_sharding of a function. TypeError for what is no sharding;
    ValueError without a mesh, for axes that are not Explicit, and for another mesh than the one in use."""
    if not isinstance(given, (NamedSharding, PartitionSpec)):
        raise TypeError(f"`out_sharding` argument of {name} only supports instances of `NamedSharding` or `PartitionSpec`. Got "
                        f"{given} of type: {type(given)}")
    mesh = current_mesh()
    if isinstance(given, PartitionSpec):
        if mesh.empty:
            raise ValueError("Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a "
                             "NamedSharding instance or enter into a mesh context via `jax.set_mesh`. Got "
                             f"{given}")
        given = NamedSharding(mesh, given)
    elif not mesh.empty and mesh.abstract_mesh != given.mesh.abstract_mesh:
        raise ValueError(f"Context mesh {mesh.abstract_mesh} should match the mesh of sharding {given.mesh.abstract_mesh} "
                         f"passed "
                         f"to {name}: leave the mesh out, and pass a PartitionSpec.")
    types = dict(zip(given.mesh.axis_names, given.mesh.axis_types, strict=True))
    for axis in axes_of(given.spec):
        if types[axis] is not AxisType.Explicit:
            raise ValueError(f"PartitionSpec passed to {name} cannot contain axis names that are of type Auto or Manual. Got "
                             f"PartitionSpec: {given.spec} with axis name: {axis} of type: {types[axis]}. Use "
                             "with_sharding_constraint for these")
    return given


def with_out_sharding(name: str, fun: Callable[..., Any], given: Any, *args: Any) -> Any:
    """fun(*args), whose result has the sharding that a user gave as out_sharding. The compiler finds the way there."""
    if is_empty(given):
        return fun(*args)
    sharding = out_sharding_of(name, given)
    out = fun(*map(left_to_compiler, args))
    sharding = _cut(sharding, aval_of(out).ndim)
    explicit.check_fits(sharding, aval_of(out).shape)
    return resharded(out, sharding, from_auto=True)


def check_sums(spec: PartitionSpec, contracted: Sequence[Sequence[Any]]) -> None:
    """ShardingTypeError unless the axes along which a result is to be unreduced are those of contracted dimensions."""
    left, right = map(tuple, contracted)
    if not spec.unreduced:
        return
    if left != right:
        raise ShardingTypeError("lhs and rhs contracting dims should be sharded identically when out_sharding provided to "
                                f"dot_general mentions unreduced_axes. Got lhs_contracting_spec={left}, "
                                f"rhs_contracting_spec={right}")
    if set(spec.unreduced) != set(axes_of(PartitionSpec(*left))):
        raise ShardingTypeError("out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced "
                                f"axes={frozenset(spec.unreduced)} and contracting spec={left}")


def _cut(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """The sharding without what it says of dimensions that an array does not have, if they are not divided."""
    spec = sharding.spec
    if len(spec) <= ndim or any(part is not None for part in spec[ndim:]):
        return sharding
    return sharding.update(spec=PartitionSpec(*spec[:ndim], unreduced=spec.unreduced, reduced=spec.reduced))


def created(name: str, x: Any, given: Any) -> Any:
    """A new array under the sharding that a user gave as out_sharding; along Auto axes a constraint."""
    mesh = current_mesh() if isinstance(given, PartitionSpec) else getattr(given, "mesh", None)
    if mesh is None or not (mesh.empty or mesh.explicit_axes):
        return with_sharding_constraint(x, given)
    return with_out_sharding(name, lambda: x, given)


def _reshard_abstract(x: ShapedArray, *, dst_sharding: NamedSharding, from_auto: bool) -> ShapedArray:
    return x.update(placement=explicit.in_memory(explicit.placement_of(dst_sharding, x.shape), x.ndim, x.memory_space))


def _reshard_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, dst_sharding: NamedSharding, from_auto: bool
                   ) -> tuple[Any, int | None]:
    """The batch stays divided as it is."""
    (x,), (d,) = args, dims
    if d is None:
        return resharded(x, dst_sharding, from_auto), None
    aval = aval_of(x)
    parts = list(explicit.explicit_parts(dst_sharding.mesh, dst_sharding.spec, aval.ndim - 1))
    mapped = explicit.mapped()
    parts.insert(d, explicit.parts(aval)[d] if mapped is None else mapped[1])
    spec = dst_sharding.spec.update(partitions=tuple(parts))
    return resharded(x, dst_sharding.update(spec=spec), from_auto), d


def _reshard_transpose(ct: Any, x: Any, *, dst_sharding: NamedSharding, from_auto: bool) -> list[Any]:
    return [left_to_compiler(ct, dst_sharding.mesh.explicit_axes) if from_auto else ct]


def _reshard_hlo(b: Any, x: Any, *, dst_sharding: NamedSharding, from_auto: bool) -> Any:
    if b.partitions is None:
        return x
    mesh, spec = dst_sharding.mesh, dst_sharding.spec
    return b.placed(x, mesh, explicit.explicit_parts(mesh, spec, x.ndim), spec.unreduced)


reshard_p: Op = Op(
    name="reshard", params=("dst_sharding", "from_auto"), abstract=_reshard_abstract,
    eager=lambda x, **_: x, jvp=LINEAR, transpose=_reshard_transpose, batch=_reshard_batch, linear_in=(0,),
    cpu=lambda b, x, **_: x, hlo=_reshard_hlo, traits=EXACT,
    mesh=lambda *, dst_sharding, from_auto: dst_sharding.mesh,
    places=lambda before, *, dst_sharding, from_auto: dst_sharding.with_memory_kind(before.memory_kind),
    samples=Missing("needs a mesh; tests/sharding has eight devices"))


def _cast_abstract(x: ShapedArray, *, axes: tuple[Any, ...]) -> ShapedArray:
    if x.placement is None:
        return x
    there = explicit.placement_of(_cast(x.placement.sharding, axes=axes), x.shape)
    return x.update(placement=explicit.in_memory(there, x.ndim, x.memory_space))


def _cast(before: Any, *, axes: tuple[Any, ...]) -> Any:
    """A sharding along whose axes the compiler divides."""
    if not isinstance(before, NamedSharding):
        return before
    mesh, spec = explicit.with_types(before.mesh, axes, AxisType.Auto), before.spec
    return NamedSharding(mesh, spec.update(unreduced=spec.unreduced - {*axes}, reduced=spec.reduced - {*axes}),
                         memory_kind=before.memory_kind)


def _cast_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Any, ...]) -> tuple[Any, int | None]:
    """The batch stays divided as it is."""
    (x,), (d,) = args, dims
    kept = () if d is None else parts_of(explicit.parts(aval_of(x))[d])
    return left_to_compiler(x, [a for a in axes if a not in kept]), d


mesh_cast_p: Op = Op(
    name="mesh_cast", params=("axes",), abstract=_cast_abstract, eager=lambda x, **_: x, jvp=LINEAR,
    transpose=lambda ct, x, **_: [ct], batch=_cast_batch, linear_in=(0,), cpu=lambda b, x, **_: x,
    hlo=lambda b, x, **_: x, traits=EXACT, places=_cast,
    samples=Missing("changes types that need a mesh; tests/sharding has eight devices"))
