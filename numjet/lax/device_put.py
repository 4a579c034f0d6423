"""Transfer between devices, or memories of a device, as an operation: outside of programs it moves arrays, and cotangents
back to where these were.

A program runs on the devices that it runs on: inside, the transfer is a constraint over these, and one device is no change. A
memory space is part of the type of its result.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Zero
from numjet.core.sharding import explicit
from numjet.core.sharding.memory import Space, kind_of, space_of
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT

Target = Sharding | Space  # under which sharding, or in which memory of the same devices


def _abstract(x: ShapedArray, *, sharding: Target, src: Any) -> ShapedArray:
    if isinstance(sharding, Space):
        return x.update(placement=explicit.in_memory(x.placement, x.ndim, sharding))
    return x.update(placement=explicit.placement_of(sharding, x.shape))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, sharding: Target, src: Any) -> tuple[Any, Any]:
    """The tangent remembers where the value was, if it is known."""
    (x,), (t,) = primals, tangents
    there = x.sharding if src is None and type(x) is _native.Array else src
    return (device_put_p.bind(x, sharding=sharding, src=src),
            t if isinstance(t, Zero) else device_put_p.bind(t, sharding=sharding, src=there))


def _transpose(ct: Any, x: Any, *, sharding: Target, src: Any) -> list[Any]:
    """Where nothing else is known, the cotangent goes back to the memory space that the value came from."""
    if src is not None:
        return [device_put_p.bind(ct, sharding=src, src=sharding)]
    space = x.aval.memory_space
    return [ct if aval_of(ct).memory_space is space else device_put_p.bind(ct, sharding=space, src=None)]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, sharding: Target, src: Any
           ) -> tuple[Any, int | None]:
    """The batch is on all devices."""
    (x,), (d,) = args, dims
    return device_put_p.bind(x, sharding=_with_batch(sharding, d), src=_with_batch(src, d)), d


def _with_batch(sharding: Any, d: int | None) -> Any:
    """The sharding of batches of values that have one."""
    if d is None or not isinstance(sharding, NamedSharding):
        return sharding
    parts = sharding.entries(max(d, len(sharding.spec)))
    parts.insert(d, None)
    return sharding.update(spec=PartitionSpec(*parts))


def _hlo(b: Any, x: Any, *, sharding: Target, src: Any) -> Any:
    """A constraint over the devices, and a move to another memory where the platform has several."""
    if b.partitions is not None and isinstance(sharding, NamedSharding) and sharding.num_devices > 1:
        x = b.op("sdy.sharding_constraint", [x], x.aval, attrs={"sharding": b.partitions.attribute(sharding, x.ndim)})
    space = sharding if isinstance(sharding, Space) else space_of(sharding.memory_kind)
    if b.platform == "cpu" or x.aval.memory_space is space:
        return x
    aval = x.aval.update(placement=explicit.in_memory(x.aval.placement, x.ndim, space))
    placed = f'{{_xla_buffer_placement = "{kind_of(space)}"}}'
    return b.op("stablehlo.custom_call", [x], aval, attrs={
        "call_target_name": '"annotate_device_placement"', "has_side_effect": "true", "mhlo.frontend_attributes": placed})


def _mesh(*, sharding: Target, src: Any) -> Any:
    return sharding.mesh if isinstance(sharding, NamedSharding) and sharding.num_devices > 1 else None


def _place(before: Sharding, *, sharding: Target, src: Any) -> Sharding:
    return before.with_memory_kind(kind_of(sharding)) if isinstance(sharding, Space) else sharding


device_put_p: Op = Op(
    name="device_put", params=("sharding", "src"), abstract=_abstract, eager=lambda x, **_: x, jvp=_jvp, transpose=_transpose,
    batch=_batch, linear_in=(0,), cpu=lambda b, x, **_: x, hlo=_hlo, traits=EXACT, mesh=_mesh, places=_place, moves=True,
    samples=Missing("needs several devices; tests/sharding has eight"))
