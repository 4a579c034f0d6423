"""Shardings name one device in all of JAX's ways."""
import operator
import pickle

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental import multihost_utils
from numjet.experimental.layout import Format, Layout, with_layout_constraint
from numjet.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec as P,
    SingleDeviceSharding,
    auto_axes,
    explicit_axes,
)

CPU = nj.devices()[0]
EIGHT = Mesh(np.array([nj.Device("cpu", k) for k in range(8)]).reshape(4, 2), ("x", "y"))


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
    assert x.sharding == sharding and jnp.ones(3).sharding == SingleDeviceSharding(CPU)
    f = nj.jit(lambda x: x + 1, in_shardings=sharding, out_shardings=(sharding))
    assert f(x).tolist() == [2, 2, 2]


def test_unusable_shardings_are_errors(mesh):
    other = nj.Device("gpu", 1)
    for error, text, make in [
        (ValueError, "Resource axis: z of .* is not found in mesh", lambda: NamedSharding(mesh, P("z"))),
        (ValueError, "has duplicate entries for `x`", lambda: NamedSharding(mesh, P("x", "x"))),
        (TypeError, "expected a Mesh and a PartitionSpec", lambda: NamedSharding(mesh, "x")),
        (ValueError, "Mesh requires the ndim of its first argument", lambda: Mesh([CPU], ("x", "y"))),
        (ValueError, "Number of axis names should match the number of axis_types", lambda: Mesh([CPU], ("x",), ())),
        (ValueError, "only valid for values of rank at least 1", lambda: NamedSharding(mesh, P("x")).shard_shape(())),
        (ValueError, "following memory kinds: device, pinned_host, unpinned_host. Got memory kind: hbm",
         lambda: SingleDeviceSharding(CPU).with_memory_kind("hbm")),
        (RuntimeError, "Unknown backend: 'gpu' requested, but it is not installed",
         lambda: nj.device_put(np.ones(2), NamedSharding(Mesh([CPU, other], "x"), P("x")))),
        (ValueError, "cannot contain a nested tuple", lambda: P("x", ("y", ("z",)))),
        (ValueError, "partitions cannot overlap with unreduced", lambda: P("x", unreduced={"x"})),
        (ValueError, "unreduced cannot contain None", lambda: P("x", unreduced={"y", None})),
        (TypeError, "unreduced in `__add__`", lambda: operator.add(P("x", unreduced={"y"}), (None,))),
        (TypeError, "Subclassing `jax.P` is prohibited", lambda: type("Own", (P,), {})),
        (ValueError, "Mesh axis names cannot be None", lambda: Mesh([CPU], (None,))),
        (TypeError, "axis_types passed to Mesh must be of type", lambda: AbstractMesh((2,), "x", axis_types="explicit")),
        (ValueError, "Unreduced axes .* not found in mesh", lambda: NamedSharding(mesh, P("x", unreduced={"a"}))),
        (ValueError, "can only refer to mesh axes .* `Explicit`", lambda: NamedSharding(mesh, P("x", unreduced={"y"}))),
        (ValueError, "partitioned 4 times, but the dimension size is 3",
         lambda: NamedSharding(EIGHT, P("x")).shard_shape((3,))),
        (ValueError, "For scalars the PartitionSpec should be P()",
         lambda: NamedSharding(mesh, P("x")).check_compatible_aval(())),
        (ValueError, "Number of devices 1 must be >=", lambda: nj.make_mesh((2,), ("x",))),
        (TypeError, "leaf specifications are expected to be PartitionSpec instances or None, but got 3",
         lambda: nj.jit(abs, in_shardings=3)),
        (TypeError, "^out_shardings leaf specifications", lambda: nj.jit(abs, out_shardings="x")),
        (ValueError, "in_shardings should not be specified",
         lambda: nj.jit(abs, in_shardings=SingleDeviceSharding(CPU), device=CPU)),
        (ValueError, "out_shardings should not be specified",
         lambda: nj.jit(abs, out_shardings=SingleDeviceSharding(CPU), backend="cpu")),
        (ValueError, "Received incompatible devices",
         lambda: nj.jit(abs, in_shardings=(SingleDeviceSharding(CPU), SingleDeviceSharding(other)))),
    ]:
        with pytest.raises(error, match=text):
            make()


@pytest.mark.parametrize(("spec", "part"), [
    (P("x", "y"), (2, 2)), (P("x"), (2, 4)), (P("y"), (4, 4)), (P(None, "y"), (8, 2)), (P(None, "x"), (8, 1)),
    (P(("x", "y")), (1, 4)), (P(), (8, 4)), (P(P.UNCONSTRAINED, "x"), (8, 1))])
def test_parts_of_arrays_on_several_devices(spec, part):
    whole = np.arange(32).reshape(8, 4)
    for mesh in (EIGHT, EIGHT.abstract_mesh):
        assert NamedSharding(mesh, spec).shard_shape((8, 4)) == part
    sharding = NamedSharding(EIGHT, spec)
    pieces = {device.id: whole[index] for device, index in sharding.devices_indices_map((8, 4)).items()}
    assert all(piece.shape == part for piece in pieces.values()) and len(pieces) == 8
    assert sorted({x for piece in pieces.values() for x in piece.ravel().tolist()}) == list(range(32))
    copies = 8 // (32 // (part[0] * part[1]))
    assert sum(piece.size for piece in pieces.values()) == 32 * copies and sharding.is_fully_replicated == (copies == 8)
    if spec == P("x", "y"):  # the last axis of the mesh runs fastest
        assert pieces[1].tolist() == [[2, 3], [6, 7]] and pieces[2].tolist() == [[8, 9], [12, 13]]


def test_equivalent_shardings(mesh):
    assert NamedSharding(EIGHT, P("x")).is_equivalent_to(NamedSharding(EIGHT, P("x", None)), 2)
    assert not NamedSharding(EIGHT, P("x")).is_equivalent_to(NamedSharding(EIGHT, P("y")), 2)
    abstract = EIGHT.abstract_mesh
    assert NamedSharding(abstract, P("x")).is_equivalent_to(NamedSharding(abstract, P("x")), 1)
    assert str(EIGHT) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))" and abstract.update_axis_types(
        {"x": AxisType.Explicit}).explicit_axes == ("x",)
    assert NamedSharding(abstract, P(), memory_kind="pinned_host").memory_kind == "pinned_host"


def test_none_is_a_sharding_where_there_are_no_arrays_to_place():
    with nj.set_mesh(nj.make_mesh((1,), ("x",), (AxisType.Auto,))):
        made = explicit_axes(lambda: jnp.ones(3, out_sharding=P("x")))
        assert made(in_sharding=None).tolist() == [1, 1, 1]
        with pytest.raises(TypeError, match="Missing required keyword argument: 'in_sharding'"):
            made()
        with pytest.raises(ValueError, match="out_shardings which are non-None"):
            explicit_axes(lambda x: 2 * x)(jnp.ones(3), in_sharding=None)
    with nj.set_mesh(nj.make_mesh((1,), ("x",), (AxisType.Explicit,))):
        assert auto_axes(lambda: None)(out_sharding=None) is None
        with pytest.raises(TypeError, match="Missing required keyword argument: 'out_sharding'"):
            auto_axes(lambda: None)()


def test_the_mesh_in_use():
    empty = Mesh(np.empty((), object), ())
    assert nj.sharding.get_mesh() == empty and empty.empty and empty.size == 0 and nj.sharding.get_abstract_mesh().empty
    mesh = nj.make_mesh((1,), "x")
    with nj.set_mesh(mesh):
        assert nj.sharding.get_mesh() is mesh and nj.sharding.get_abstract_mesh() == mesh.abstract_mesh
        with nj.sharding.use_abstract_mesh(nj.sharding.AbstractMesh((1,), ("y",))):
            assert nj.sharding.get_abstract_mesh().axis_names == ("y",)
        with pytest.raises(ValueError, match="cannot change the size of the mesh"):
            nj.sharding.use_abstract_mesh(EIGHT.abstract_mesh)
    with nj.sharding.use_abstract_mesh(EIGHT.abstract_mesh):
        assert nj.sharding.get_abstract_mesh().size == 8
    assert nj.sharding.get_mesh() == empty


def test_arrays_of_parts(mesh):
    x = jnp.arange(6.0).reshape(2, 3)
    (shard,) = x.addressable_shards
    assert shard.device == CPU and shard.index == (slice(None),) * 2 and shard.replica_id == 0 and shard.data is x
    assert [s.data.shape for s in x.global_shards] == [(2, 3)]
    sharding = NamedSharding(mesh, P("x"))
    made = nj.make_array_from_callback((2, 3), sharding, lambda index: x[index])
    again = nj.make_array_from_single_device_arrays((2, 3), sharding, [x])
    with nj.set_mesh(mesh):
        local = nj.make_array_from_process_local_data(P("x"), {"a": np.asarray(x)}, (2, 3))
    constructed = nj.ArrayImpl(x.aval, sharding, [x], committed=True)
    for out in (made, again, local["a"], constructed):
        assert out.tolist() == x.tolist() and out.committed


@pytest.mark.parametrize(("error", "text", "make"), [
    (TypeError, "`arrays` argument should be a list", lambda s, x: nj.make_array_from_single_device_arrays((3,), s, x)),
    (ValueError, "`dtype` must be provided", lambda s, x: nj.make_array_from_single_device_arrays((3,), s, [])),
    (ValueError, "must match the dtype", lambda s, x: nj.make_array_from_single_device_arrays((3,), s, [x], dtype=int)),
    (ValueError, "Expected 1 per-device arrays", lambda s, x: nj.make_array_from_single_device_arrays((3,), s, [x, x])),
    (ValueError, "Expected shard shape", lambda s, x: nj.make_array_from_single_device_arrays((4,), s, [x])),
    (ValueError, "requires a list of concrete arrays",
     lambda s, x: nj.jit(lambda x: nj.make_array_from_single_device_arrays((3,), s, [x]))(x)),
    (ValueError, "Expected shard shape", lambda s, x: nj.make_array_from_callback((4,), s, lambda i: x)),
    (ValueError, "must have matching dtypes. Got float32, expected int32",
     lambda s, x: nj.ArrayImpl(x.aval.update(dtype=np.dtype(np.int32)), s, [x])),
    (ValueError, "Expected 1 per-device arrays", lambda s, x: nj.ArrayImpl(x.aval, s, [])),
    (NotImplementedError, "committed=False", lambda s, x: nj.ArrayImpl(x.aval, s, [x], committed=False)),
    (TypeError, "expected arrays on their devices", lambda s, x: nj.ArrayImpl(x.aval, s, [np.ones(3)])),
    (TypeError, "missing 2 required positional arguments", lambda s, x: nj.ArrayImpl([1, 2])),
    (TypeError, "sharding should be an instance of `jax.sharding`", lambda s, x: nj.make_array_from_callback((3,), None, x)),
    (nj.errors.UnexpectedTracerError, "cannot be called within a traced context",
     lambda s, x: nj.jit(lambda x: nj.make_array_from_callback((3,), s, lambda i: x))(x)),
    (ValueError, "expected global_shape", lambda s, x: nj.make_array_from_process_local_data(s, x, (4,))),
    (ValueError, "does not have the structure", lambda s, x: nj.make_array_from_process_local_data(s, {"a": x}, {"b": (3,)})),
])
def test_parts_that_do_not_fit_are_errors(error, text, make):
    with pytest.raises(error, match=text):
        make(SingleDeviceSharding(CPU), jnp.ones(3, jnp.float32))


def test_shard_map():
    mesh, x = nj.make_mesh((1, 1), ("x", "y")), jnp.arange(6.0).reshape(2, 3)

    def f(a):
        return nj.lax.psum(a * 2, "x"), nj.lax.axis_index("y"), nj.lax.all_gather(a, ("x", "y"), tiled=True)

    g = nj.shard_map(f, mesh=mesh, in_specs=P("x", "y"), out_specs=(P(None, "y"), P(), P()), check_vma=False)
    for call in (g, nj.jit(g)):
        total, index, gathered = call(x)
        assert total.tolist() == (2 * x).tolist() and int(index) == 0 and gathered.tolist() == x.tolist()
    grad = nj.grad(lambda a: g(a)[0].sum())(x)
    assert grad.tolist() == np.full((2, 3), 2).tolist()
    with nj.set_mesh(mesh):
        h = nj.shard_map(lambda a: nj.lax.pmean(a, ("x", "y")), out_specs=P())
        assert h(x).tolist() == x.tolist() and nj.vmap(h)(x).tolist() == x.tolist()
        assert nj.smap(lambda a: nj.lax.psum(a, "x"), in_axes=0, out_axes=0, axis_name="x")(x).tolist() == x.tolist()


@pytest.mark.parametrize(("error", "text", "options"), [
    (ValueError, "The context mesh cannot be empty", {}),
    (RuntimeError, "device 1 of a mesh .* has 1 device. .*jax_num_cpu_devices", {"mesh": EIGHT, "in_specs": P()}),
    (ValueError, r"lower rank than their in_specs: args\[0\] of shape",
     {"mesh": nj.make_mesh((1,), "x"), "in_specs": P("x", None)}),
    (ValueError, "was given out_specs that do not fit its mesh: .*z.* is not found",
     {"mesh": nj.make_mesh((1,), "x"), "out_specs": P("z")}),
    (TypeError, "instance for its mesh, got 'x'", {"mesh": "x"}),
])
def test_shard_map_refuses(error, text, options):
    with pytest.raises(error, match=text):
        nj.shard_map(lambda a: a, **{"out_specs": P(), **options})(jnp.ones(3))


def test_one_process():
    assert nj.process_indices() == [0]
    with pytest.raises(ValueError, match="coordinator_address should be defined"):
        nj.distributed.initialize()
    nj.distributed.initialize(num_processes=1, process_id=0)
    with pytest.raises(RuntimeError, match="only be called once"):
        nj.distributed.initialize(num_processes=1, process_id=0)
    nj.distributed.shutdown()
    assert not nj.distributed.is_initialized()
    many = nj.experimental.multihost_utils
    x = jnp.arange(3)
    assert many.process_allgather({"a": x})["a"].shape == (1, 3) and many.process_allgather(x, tiled=True).shape == (3,)
    assert many.broadcast_one_to_all(x).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="expected one source"):
        many.broadcast_one_to_all(x, is_source=False)
    mesh = Mesh(nj.experimental.mesh_utils.create_device_mesh((1,)), "x")
    assert many.host_local_array_to_global_array([x, x], mesh, [P("x"), P()])[0].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="must equal the product of mesh_shape"):
        nj.experimental.mesh_utils.create_device_mesh((2,))


def test_meshes_of_several_hosts_keep_the_devices_of_each_together():
    devices = [nj.Device("cpu", k, process_index=k // 2) for k in range(8)]
    make = nj.experimental.mesh_utils.create_hybrid_device_mesh
    ids = lambda *args, **options: [[d.id for d in row] for row in make(*args, process_is_granule=True, **options)]
    assert ids((1, 2), (4, 1), devices) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert ids((2, 1), (2, 2), devices) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert ids((1, 2), (1, 4), devices[::-1]) == [[1, 0, 3, 2, 5, 4, 7, 6]]
    assert ids((1, 2), (1, 4), devices[::-1], should_sort_granules_by_key=False) == [[7, 6, 5, 4, 3, 2, 1, 0]]
    for shape, granules, text in [((2, 1), (2, 1), "Number of slices 4"), ((2,), (2, 2), "as many dimensions"),
                                  ((3, 1), (4, 1), "must equal the product of mesh_shape")]:
        with pytest.raises(ValueError, match=text):
            make(shape, granules, devices, process_is_granule=True)
    with pytest.raises(ValueError, match="pass process_is_granule=True"):
        make((2, 1), (4, 1), devices)


def test_a_mesh_that_is_set_again_leaves_nothing(mesh):
    with mesh:
        for _ in range(3):
            nj.set_mesh(nj.make_mesh((1,), "z"))
        assert nj.sharding.get_mesh().axis_names == ("z",)
    assert nj.sharding.get_mesh().empty


def test_specifications_of_jit_are_for_the_mesh_in_use_at_the_call():
    traces = []

    @nj.jit(out_shardings=nj.P("x"), static_argnums=1)
    def f(x, n):
        traces.append(n)
        return x * n

    x = jnp.arange(4.0)
    with pytest.raises(RuntimeError, match=r"jit requires a non-empty mesh in context.*set_mesh"):
        f(x, 2)
    meshes = [nj.make_mesh((1,), ("x",)), nj.make_mesh((1, 1), ("y", "x"))]
    for mesh in (*meshes, *meshes):
        with nj.set_mesh(mesh):
            assert f(x, 2).tolist() == [0, 2, 4, 6]
            assert f(x, 2).sharding == nj.NamedSharding(mesh, nj.P("x"))
            assert f.lower(x, 2).compile()(x).tolist() == [0, 2, 4, 6]
            assert nj.grad(lambda x: f(x, 3).sum())(x).tolist() == [3, 3, 3, 3]
    counted = len(traces)
    with nj.set_mesh(meshes[0]):
        f(x, 2)
        assert len(traces) == counted
        f.clear_cache()
        f(x, 2)
        assert len(traces) == counted + 1


def test_shardings_without_a_mesh_say_nothing_to_functions_that_make_arrays():
    x, key = jnp.ones((4, 8)), nj.random.key(0)
    empty, of_product = nj.typeof(x).sharding, nj.typeof(jnp.ones((4, 4))).sharding
    assert empty.mesh.empty
    assert (nj.random.bernoulli(key, 0.5, (4, 8), out_sharding=empty) == nj.random.bernoulli(key, 0.5, (4, 8))).all()
    for made in (jnp.zeros((4, 8), out_sharding=empty), nj.lax.full((4, 8), 0.0, sharding=empty),
                 jnp.array(x, out_sharding=empty), x.reshape(8, 4, out_sharding=empty).T,
                 nj.jit(lambda: jnp.ones((4, 8), out_sharding=empty))()):
        assert made.shape == (4, 8)
    assert (jnp.dot(x, x.T, out_sharding=of_product) == 8).all()
    with nj.set_mesh(nj.make_mesh((1,), ("x",))):
        assert (jnp.dot(x, x.T, out_sharding=of_product) == 8).all()
    with pytest.raises(ValueError, match="got an empty NamedSharding"):
        nj.lax.with_sharding_constraint(x, empty)
    with pytest.raises(ValueError, match="non-None and have a non-empty mesh"):
        nj.sharding.reshard(x, empty)
    with pytest.raises(ValueError, match="not under a mesh context"):
        jnp.zeros((4, 8), out_sharding=P(None))


def test_formats_stand_where_shardings_do():
    x = jnp.ones((3, 4))
    assert x.format == Format(Layout((0, 1), ()), x.sharding)
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    assert nj.device_put(x, x.format).format == x.format and nj.device_put(x, Format(None, x.sharding)).committed
    f = nj.jit(lambda x, y: {"a": x, "b": y}, in_shardings=(Format(Layout.AUTO), None), out_shardings=x.sharding)
    compiled = f.lower(x, x[0]).compile()
    assert compiled.input_formats[0][1].layout == Layout((0,), ()) and compiled.output_formats["a"] == x.format
    assert nj.jit(lambda x: x, in_shardings=x.format, out_shardings=x.format)(x).format == x.format
    struct = nj.ShapeDtypeStruct((3, 4), "float32", sharding=x.format)
    assert struct.sharding == x.sharding and struct.update(shape=(4, 3)).format == x.format
    assert nj.ShapeDtypeStruct((3, 4), "float32").format == Format()
    assert nj.jit(lambda x: with_layout_constraint(2 * x, Layout((0, 1))))(x).sum() == 24
    turned = Layout((1, 0))
    for call in (lambda: nj.device_put(x, Format(turned, x.sharding)), lambda: with_layout_constraint(x, turned),
                 lambda: nj.lax.with_sharding_constraint(x, Format(turned, x.sharding))):
        with pytest.raises(NotImplementedError, match="last dimension dense"):
            call()
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank of the value should match"):
        with_layout_constraint(x[0], turned)
    with pytest.raises(ValueError, match="Sharding has to be concrete"):
        Format(turned)
    for arguments in ((3,), (None, 3)):
        with pytest.raises(TypeError, match="Invalid value received for the"):
            Format(*arguments)


def test_a_process_alone_hears_of_no_preemption(monkeypatch):
    assert multihost_utils.reached_preemption_sync_point(3) is False
    monkeypatch.setattr(multihost_utils, "is_initialized", lambda: True)
    with pytest.raises(NotImplementedError, match="no notice of preemption"):
        multihost_utils.reached_preemption_sync_point(3)
