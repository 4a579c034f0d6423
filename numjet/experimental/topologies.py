"""Topologies: the devices for which programs are compiled, which need not be those at hand; here they are."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api.transfer import devices as all_devices
from numjet.core.sharding.mesh import AxisType, Mesh
from numjet.experimental.mesh_utils import create_device_mesh


class TopologyDescription:
    """The devices of a topology."""

    def __init__(self, devices: list[Any]):
        self.devices = devices

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices})"


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices at hand, of a platform.

    >>> len(get_attached_topology().devices)
    1
    """
    return TopologyDescription(all_devices(platform))


def get_topology_desc(topology_name: str = "", platform: str | None = None, **options: Any) -> TopologyDescription:
    """NotImplementedError, as JAX raises for CPUs: a CPU is described by itself alone, see `get_attached_topology`."""
    del topology_name, options
    raise NotImplementedError(f"topology not implemented for {platform or 'the default platform'}: programs are compiled for "
                              "the devices at hand, see get_attached_topology")


def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *,
              contiguous_submeshes: bool = False) -> Mesh:
    """A mesh of the devices of a topology, with Auto axes. ValueError for another number of them.

    >>> make_mesh(get_attached_topology(), (1,), ("x",)).axis_names
    ('x',)
    """
    grid = create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes)
    return Mesh(grid, axis_names, axis_types=(AxisType.Auto,) * len(axis_names))
