"""Topologies: the devices at hand as one, and meshes of them."""
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental import topologies


def test_the_devices_at_hand_are_a_topology():
    found = topologies.get_attached_topology()
    assert list(found.devices) == nj.devices() == list(topologies.get_attached_topology("cpu").devices)
    mesh = topologies.make_mesh(found, (len(found.devices),), ("x",))
    assert mesh.axis_types == (nj.sharding.AxisType.Auto,) and dict(mesh.shape) == {"x": len(found.devices)}
    argument = nj.ShapeDtypeStruct((8,), jnp.float32, sharding=nj.NamedSharding(mesh, nj.P("x")))
    assert nj.jit(lambda x: x * 2).lower(argument).compile()(jnp.ones(8)).tolist() == [2] * 8


def test_what_is_refused():
    found = topologies.get_attached_topology()
    with pytest.raises(ValueError, match="must equal the product of mesh_shape"):
        topologies.make_mesh(found, (len(found.devices) + 1,), ("x",))
    with pytest.raises(NotImplementedError, match="topology not implemented for cpu"):
        topologies.get_topology_desc(platform="cpu")
