"""Sharding constraints. There is one device, so a constraint is checked and changes nothing."""
from __future__ import annotations

from typing import Any

from numjet.foundation import tree
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.shape.stacking import stage


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a pytree, distributed over devices by `shardings` (a sharding, or a pytree of them).

    A sharding is an object with a `device_set`; sets of one device are fulfilled. NotImplementedError for several devices,
    ValueError for None, TypeError for what is no sharding.
    """
    leaves, structure = tree.tree_flatten(x)
    for sharding in flatten_axes("with_sharding_constraint shardings", structure, shardings):
        _check(sharding)
    return tree.tree_unflatten(structure, [stage(leaf) for leaf in leaves])


def _check(sharding: Any) -> None:
    if sharding is None:
        raise ValueError("with_sharding_constraint: one of the shardings is None, which names no devices; pass a sharding")
    devices = getattr(sharding, "device_set", None)
    if devices is None:
        raise TypeError(f"with_sharding_constraint: shardings are objects with a device_set, got {sharding!r}")
    if len(devices) != 1:
        raise NotImplementedError(f"with_sharding_constraint: arrays here are on one device, got a sharding over "
                                  f"{len(devices)}: {sharding!r}")
