"""Shardings as libraries read them."""
from __future__ import annotations

from typing import Any

from numjet.core.sharding.mesh import current_mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding as NamedSharding

UNSPECIFIED = None  # what jit takes for in_shardings and out_shardings that are left out


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True) -> Any:
    """A sharding over the mesh in use, of which a PartitionSpec names axes. None: left to the compiler.

    Raises ValueError for a PartitionSpec without a mesh.
    """
    if isinstance(sharding, PartitionSpec):
        mesh = current_mesh()
        if mesh.empty:
            raise ValueError(f"{api_name}: a PartitionSpec needs a mesh in use; write `with jax.set_mesh(mesh):`, or give a "
                             "NamedSharding")
        sharding = NamedSharding(mesh, sharding)
    return None if isinstance(sharding, NamedSharding) and sharding.mesh.empty else sharding
