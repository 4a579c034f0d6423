"""Shardings name one device in all of JAX's ways."""
import pickle

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

CPU = nj.devices()[0]


@pytest.fixture
def mesh():
    return Mesh(np.array([CPU]).reshape(1, 1), ("x", "y"))


@pytest.mark.parametrize(("spec", "text"), [(P(), "P()"), (P("x"), "P('x',)"), (P("x", None), "P('x', None)"),
                                            (P(("x", "y")), "P(('x', 'y'),)"),
                                            (P(P.UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')")])
def test_specifications_are_values(spec, text):
    assert repr(spec) == text and pickle.loads(pickle.dumps(spec)) == spec and hash(spec) == hash(P(*spec))
    assert list(spec + P("z")) == [*spec, "z"] and spec.count("z") == 0 and spec != tuple(spec)


def test_meshes_show_their_axes(mesh):
    assert mesh.shape == {"x": 1, "y": 1} and mesh.size == 1 and not mesh.empty and mesh.axis_names == ("x", "y")
    assert mesh.axis_types == (AxisType.Auto,) * 2 and mesh.device_ids.tolist() == [[0]] and mesh.local_devices == [CPU]
    assert mesh == Mesh([[CPU]], ["x", "y"]) != nj.make_mesh((1, 1), ("x", "y"))
    assert repr(nj.make_mesh((1,), ("a",))) == "Mesh(axis_sizes=(1,), axis_names=('a',), axis_types=(Explicit,))"


def test_every_device_has_the_whole_array(mesh):
    for sharding in (SingleDeviceSharding(CPU), NamedSharding(mesh, P("x", ("y",)))):
        assert sharding.device_set == {CPU} and sharding.is_fully_replicated and sharding.shard_shape((4, 3)) == (4, 3)
        assert sharding.devices_indices_map((4, 3)) == {CPU: (slice(None), slice(None))}
        assert sharding.is_equivalent_to(SingleDeviceSharding(CPU), 2) and sharding.with_memory_kind("device") == sharding


def test_arrays_are_put_and_computed_by_shardings(mesh):
    sharding = NamedSharding(mesh, P("x"))
    x = nj.device_put({"a": np.ones(3)}, {"a": sharding})["a"]
    assert x.sharding == SingleDeviceSharding(CPU) == jnp.ones(3).sharding
    f = nj.jit(lambda x: x + 1, in_shardings=sharding, out_shardings=(sharding))
    assert f(x).tolist() == [2, 2, 2]


def test_unusable_shardings_are_errors(mesh):
    other = nj.Device("gpu", 1)
    for error, text, make in [
        (ValueError, "Resource axis: z of .* is not found in mesh", lambda: NamedSharding(mesh, P("z"))),
        (ValueError, "has duplicate entries for `x`", lambda: NamedSharding(mesh, P("x", "x"))),
        (TypeError, "expected a Mesh and a PartitionSpec", lambda: NamedSharding(mesh, "x")),
        (ValueError, "Mesh requires the ndim of its first argument", lambda: Mesh([CPU], ("x", "y"))),
        (ValueError, "expected an axis type for each of", lambda: Mesh([CPU], ("x",), ())),
        (ValueError, "only valid for values of rank at least 1", lambda: NamedSharding(mesh, P("x")).shard_shape(())),
        (ValueError, "expected 'device', got 'pinned_host'", lambda: SingleDeviceSharding(CPU).with_memory_kind("pinned_host")),
        (NotImplementedError, "arrays are on one device", lambda: NamedSharding(Mesh([CPU, other], "x"), P("x"))),
        (ValueError, "Number of devices 1 must be >=", lambda: nj.make_mesh((2,), ("x",))),
        (TypeError, "expected shardings, got 3", lambda: nj.jit(abs, in_shardings=3)),
        (NotImplementedError, "programs run on one device",
         lambda: nj.jit(abs, in_shardings=(SingleDeviceSharding(CPU), SingleDeviceSharding(other)))),
    ]:
        with pytest.raises(error, match=text):
            make()
