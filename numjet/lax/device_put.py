"""Transfer between devices as an operation: outside of programs it moves arrays, and cotangents back to where these were.

A program runs on the devices that it runs on: inside, the transfer is a constraint over these, and one device is no change.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Zero
from numjet.core.sharding import explicit
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.core.traits import EXACT


def _abstract(x: ShapedArray, *, sharding: Sharding, src: Any) -> ShapedArray:
    return x.update(placement=explicit.placement_of(sharding, x.shape))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, sharding: Sharding, src: Any) -> tuple[Any, Any]:
    """The tangent remembers where the value was, if it is known."""
    (x,), (t,) = primals, tangents
    there = x.sharding if src is None and type(x) is _native.Array else src
    return (device_put_p.bind(x, sharding=sharding, src=src),
            t if isinstance(t, Zero) else device_put_p.bind(t, sharding=sharding, src=there))


def _transpose(ct: Any, x: Any, *, sharding: Sharding, src: Any) -> list[Any]:
    return [ct if src is None else device_put_p.bind(ct, sharding=src, src=sharding)]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, sharding: Sharding, src: Any
           ) -> tuple[Any, int | None]:
    """The batch is on all devices."""
    (x,), (d,) = args, dims
    return device_put_p.bind(x, sharding=_with_batch(sharding, d), src=_with_batch(src, d)), d


def _with_batch(sharding: Any, d: int | None) -> Any:
    """The sharding of batches of values that have one."""
    if d is None or not isinstance(sharding, NamedSharding):
        return sharding
    parts = [*sharding.spec, *[None] * (d - len(sharding.spec))]
    parts.insert(d, None)
    return sharding.update(spec=PartitionSpec(*parts))


def _hlo(b: Any, x: Any, *, sharding: Sharding, src: Any) -> Any:
    if b.partitions is None or not isinstance(sharding, NamedSharding) or sharding.num_devices == 1:
        return x
    return b.op("sdy.sharding_constraint", [x], x.aval, attrs={"sharding": b.partitions.attribute(sharding, x.ndim)})


def _mesh(*, sharding: Sharding, src: Any) -> Any:
    return sharding.mesh if isinstance(sharding, NamedSharding) and sharding.num_devices > 1 else None


device_put_p: Op = Op(
    name="device_put", params=("sharding", "src"), abstract=_abstract, eager=lambda x, **_: x, jvp=_jvp, transpose=_transpose,
    batch=_batch, linear_in=(0,), cpu=lambda b, x, **_: x, hlo=_hlo, traits=EXACT, mesh=_mesh,
    places=lambda before, *, sharding, src: sharding, moves=True,
    samples=Missing("needs several devices; tests/sharding has eight"))
