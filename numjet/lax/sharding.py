"""Sharding constraints: how a value inside of a program is distributed over devices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core.op import LINEAR, Missing, Op
from numjet.core.sharding.distribution import canonical
from numjet.core.sharding.mesh import AbstractMesh, current_mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from numjet.core.sharding.shardings import IndivisibleError, NamedSharding, Sharding
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT
from numjet.foundation import tree
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.shape.stacking import stage


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree, distributed over devices by `shardings` (a sharding, or a pytree of them).

    A PartitionSpec is for the mesh in use. ValueError for None, for shardings that do not fit the shapes, and for a
    specification without a mesh; TypeError for what is no sharding.

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
    shape = aval_of(x).shape
    try:
        sharding.check_compatible_aval(shape)
    except IndivisibleError as error:
        raise IndivisibleError(f"One of with_sharding_constraint arguments was given the sharding of {sharding}, which does "
                               f"not divide its shape: {error}") from None
    except ValueError as error:
        raise ValueError(f"One of with_sharding_constraint arguments is incompatible with its sharding annotation {sharding}: "
                         f"{error}") from None
    return constrained(stage(x), sharding)


def constrained(x: Any, sharding: Any) -> Any:
    """An array of a sharding that was checked; None, and shardings on one device, change nothing."""
    if not isinstance(sharding, NamedSharding) or sharding.num_devices == 1:
        return x
    return sharding_constraint_p.bind(x, sharding=sharding if isinstance(sharding.mesh, AbstractMesh) else canonical(sharding))


def _checked(given: Any) -> Sharding:
    if given is None:
        raise ValueError("with_sharding_constraint: one of the shardings is None, which names no devices; pass a sharding")
    if isinstance(given, PartitionSpec):
        mesh = current_mesh()
        if mesh.empty:
            raise RuntimeError("with_sharding_constraint requires a non-empty mesh if you are passing `PartitionSpec`s or "
                               f"`None` to shardings, got {given}: call it in `with jax.set_mesh(mesh):`, or pass a "
                               "NamedSharding")
        return NamedSharding(mesh, given)
    if not isinstance(given, Sharding):
        raise TypeError(f"with_sharding_constraint: shardings are objects with a device_set, got {given!r}")
    return given


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, sharding: NamedSharding) -> tuple[Any, int | None]:
    """The batch may be distributed as XLA likes."""
    (x,), (d,) = args, dims
    if d is None:
        return sharding_constraint_p.bind(x, sharding=sharding), None
    parts = [*sharding.spec, *[None] * (aval_of(x).ndim - 1 - len(sharding.spec))]
    parts.insert(d, UNCONSTRAINED)
    return sharding_constraint_p.bind(x, sharding=sharding.update(spec=PartitionSpec(*parts))), d


def _transpose(ct: Any, x: Any, *, sharding: NamedSharding) -> list[Any]:
    return [constrained(ct, sharding)]


def _hlo(b: Any, x: Any, *, sharding: NamedSharding) -> Any:
    if b.partitions is None:
        return x
    return b.op("sdy.sharding_constraint", [x], x.aval, attrs={"sharding": b.partitions.attribute(sharding, x.ndim)})


sharding_constraint_p: Op = Op(
    name="sharding_constraint", params=("sharding",), abstract=lambda x, *, sharding: x, eager=lambda x, *, sharding: x,
    jvp=LINEAR, transpose=_transpose, batch=_batch, linear_in=(0,),
    cpu=lambda b, x, *, sharding: x, hlo=_hlo, traits=EXACT, mesh=lambda *, sharding: sharding.mesh,
    samples=Missing("needs several devices; tests/api/test_sharding.py puts arrays on eight"))
