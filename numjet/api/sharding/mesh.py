"""Meshes of this machine's devices, and the mesh in use."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import placements_in_use
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh, axis_names_of, current_mesh, using
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import Override, config, mesh_in_use, mesh_names_only
from numjet.runtime.device import Device, devices as _all_devices


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[Any], axis_types: Sequence[AxisType] | None = None, *,
              devices: Sequence[Device] | None = None) -> Mesh:
    """A mesh of devices, default: all of them. Raises ValueError if there are too few, and for sizes that are no positive
    integers.

    >>> make_mesh((1,), ("x",)).shape_tuple
    (('x', 1),)
    """
    if not all(isinstance(n, (int, np.integer)) for n in axis_shapes):
        raise ValueError("`axis_shapes` passed to `make_mesh` should be a sequence of ints. Got "
                         f"{tuple(axis_shapes)}")
    if any(n < 1 for n in axis_shapes):
        raise ValueError(f"make_mesh: expected axis_shapes from 1 on, got {tuple(axis_shapes)}")
    found = list(_all_devices() if devices is None else devices)
    size = prod(axis_shapes)
    if size > len(found):
        raise ValueError(f"Number of devices {len(found)} must be >= the product of mesh_shape {tuple(axis_shapes)}")
    types = (AxisType.Explicit,) * len(axis_names_of(axis_names)) if axis_types is None else axis_types
    return Mesh(np.array(found[:size], object).reshape(tuple(axis_shapes)), axis_names, types)


class set_mesh:
    """Sets the mesh of the calling thread, for good or, as a context manager, for a block.

    >>> with set_mesh(make_mesh((1,), ("x",))) as mesh:
    ...     get_abstract_mesh() == mesh.abstract_mesh
    True
    """

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        if current_trace() is not EVAL:
            raise ValueError("`set_mesh` can only be used outside of `jax.jit`. Maybe you want "
                             "`jax.sharding.use_abstract_mesh()`?")
        if mesh.manual_axes:
            raise ValueError(f"mesh {mesh} contains manual axes which is not allowed when using `jax.set_mesh`. Please use "
                             "`jax.shard_map` to enter into `Manual` mode instead.")
        if mesh.explicit_axes and mesh.size > 1 and not placements_in_use:
            placements_in_use.append(True)  # results are typed by this mesh
        self.mesh, self.before = mesh, (current_mesh(), config.numjet_mesh_names_only)
        _use(mesh, False)

    def _begin(self, steps: list[Any]) -> Mesh:
        steps.append(self.mesh)
        return self.mesh

    def _end(self, steps: list[Any]) -> None:
        _use(*self.before)

    __enter__, __exit__ = _native.block_methods(_begin, _end)


def _use(mesh: Mesh | AbstractMesh, names_only: bool) -> None:
    """Replaces the mesh of this thread. names_only: it only says what specifications mean."""
    if mesh.empty:
        mesh_in_use.clear_local()
        mesh_names_only.clear_local()
    else:
        mesh_in_use.set_local(mesh)
        mesh_names_only.set_local(names_only)


class use_abstract_mesh:
    """A block with an abstract mesh in use. ValueError for what is none, and for one of another size than the mesh in use: the
    devices stay."""

    def __init__(self, mesh: AbstractMesh):
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.AbstractMesh`. Got type: {type(mesh)}. Pass "
                             "mesh.abstract_mesh, or use set_mesh(mesh)")
        around = current_mesh().abstract_mesh
        if not mesh.empty and not around.empty and mesh.size != around.size:
            raise ValueError("use_abstract_mesh cannot change the size of the mesh. Got new mesh: "
                             f"{mesh} with size={mesh.size} and prev mesh: {around} with size={around.size}. Leave the "
                             "block of the one before, or set a mesh of other devices by set_mesh(mesh).")
        self.mesh = mesh
        self._block: Override = using(_on_devices_in_use(mesh))

    def _begin(self, steps: list[Any]) -> AbstractMesh:
        self._block.begin(steps)
        return self.mesh

    def _end(self, steps: list[Any]) -> None:
        self._block.end(steps)

    __enter__, __exit__ = _native.block_methods(_begin, _end)


def _on_devices_in_use(mesh: AbstractMesh) -> Mesh | AbstractMesh:
    """A mesh of these axes over the devices of the mesh in use; the abstract one where none has devices."""
    around = current_mesh()
    if mesh.empty or not isinstance(around, Mesh) or around.empty:
        return mesh
    return Mesh(around.devices.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)


def get_mesh() -> Mesh:
    """The mesh in use; an empty one without. ValueError while a function is traced."""
    if current_trace() is not EVAL:
        raise ValueError("`get_mesh` can only be used outside of `jax.jit`. Maybe you want `jax.sharding.get_abstract_mesh()`?")
    mesh = current_mesh()
    if not isinstance(mesh, Mesh):
        raise ValueError(f"get_mesh: {mesh} is abstract; get_abstract_mesh() returns it")
    return mesh


def get_abstract_mesh() -> AbstractMesh:
    """The abstract mesh in use; an empty one without."""
    return current_mesh().abstract_mesh
