"""Values of shards, which Python gets to know where shard_map runs outside of jit."""
import functools
import re

import numpy as np
import pytest

import numjet as nj
import numjet.experimental
import numjet.numpy as jnp
from numjet import lax
from numjet.api.sharding.shard_values import ShardValues

P = nj.P
AXES = ("x", "y")


def mesh_of(*sizes):
    return nj.sharding.Mesh(np.array(nj.devices()[:np.prod(sizes)]).reshape(sizes), AXES)


FOUR, ONE = mesh_of(2, 2), mesh_of(1, 1)
X = np.arange(16, dtype=np.float32).reshape(4, 4)
MESHES = pytest.mark.parametrize("mesh", [FOUR, ONE], ids=["four", "one"])


def run(f, *args, mesh=FOUR, **options):
    return nj.shard_map(f, mesh=mesh, in_specs=P(*AXES), out_specs=P(*AXES), **options)(*(args or (X,)))


def total(x):
    return lax.psum(x.sum(), AXES)


@MESHES
@pytest.mark.parametrize("f", [
    lambda x: -x if total(x) > 0 else x,
    lambda x: -x if lax.psum(x, AXES)[:1, :1] >= 0 else x,
    lambda x: x * (float(total(x)) / -120),
    lambda x: x * (np.asarray(total(x)) / -120),
    lambda x: x * (total(x).item() / -120),
    lambda x: x - x[int(total(x)) - 120:] * 2,
    lambda x: x * -jnp.nonzero(lax.psum(x, AXES) >= 0)[0].size / x.size,
    lambda x: x - 2 * x[jnp.arange(lax.pmax(jnp.int32(x.shape[0]), AXES))],
    lambda x: -x if lax.axis_size("x") * lax.psum(1.0, "y") > 0 else x,
], ids=range(9))
def test_python_gets_what_is_the_same_on_all_devices(f, mesh):
    np.testing.assert_array_equal(run(f, mesh=mesh), -X)


@MESHES
def test_values_print_as_on_each_device(mesh):
    texts = []
    run(lambda x: (texts.extend([str(x), repr(lax.psum(x.sum(), "x")), f"{nj.random.key(1)}"]), x)[1], mesh=mesh)
    own, sums, keys = texts
    sizes = mesh.devices.shape
    parts = X.reshape(sizes[0], 4 // sizes[0], sizes[1], 4 // sizes[1]).swapaxes(1, 2)
    for (i, j), device in np.ndenumerate(mesh.devices):
        head = f"On {device} at mesh coordinates (x, y,) = ({i}, {j}):\n"
        assert f"{head}{parts[i, j]}\n" in own
        assert f"{head}{parts[:, j].sum()}\n" in sums
        assert f"{head}Array((), dtype=key<fry>)" in keys


def test_a_loop_of_python_runs_each_operation_once(monkeypatch):
    seen = []
    make = ShardValues._make
    monkeypatch.setattr(ShardValues, "_make", lambda self, var, eqns: (seen.extend(map(id, eqns)), make(self, var, eqns))[1])

    def newton(x):
        root, steps = x, 0
        while lax.pmax(jnp.abs(root * root - x).max(), AXES) > 1e-3:
            root, steps = (root + x / root) / 2, steps + 1
        assert 3 < steps < 12
        return root
    np.testing.assert_allclose(run(newton, X + 1), np.sqrt(X + 1), rtol=1e-4)
    assert len(seen) == len(set(seen)) > 20


@MESHES
def test_derivatives_inside_and_outside(mesh):
    branch = lambda x: x * x if total(x) > 0 else -x
    np.testing.assert_array_equal(nj.grad(lambda x: run(branch, x, mesh=mesh).sum())(X), 2 * X)
    np.testing.assert_array_equal(nj.grad(lambda x: run(branch, x, mesh=mesh).sum())(-X), -np.ones_like(X))
    inside = lambda x: nj.grad(lambda x: branch(x).sum())(x)
    np.testing.assert_array_equal(run(inside, mesh=mesh), 2 * X)
    np.testing.assert_array_equal(nj.jvp(lambda x: run(branch, x, mesh=mesh), (X,), (X,))[1], 2 * X * X)


@MESHES
def test_the_function_runs_anew_for_other_values(mesh):
    f = lambda x: x if total(x) > 0 else -x
    np.testing.assert_array_equal(run(f, X, mesh=mesh), X)
    np.testing.assert_array_equal(run(f, -X, mesh=mesh), X)


def test_what_differs_is_not_known():
    for f, options in ((lambda x: x if x.sum() > 0 else -x, {}), (lambda x: x if total(x) > 0 else -x, {"check_vma": False}),
                       (lambda x: x if lax.axis_index("x") else -x, {})):
        with pytest.raises(nj.errors.TracerBoolConversionError, match=r"Devices may have different values of it.*lax\.psum"):
            run(f, **options)
    with pytest.raises(nj.errors.TracerArrayConversionError):
        run(np.asarray)


def test_what_depends_on_an_effect_is_not_known():
    def f(x):
        seen = nj.experimental.io_callback(np.abs, nj.ShapeDtypeStruct((), np.float32), total(x))
        return x if lax.pmax(seen, AXES) > 0 else -x
    with pytest.raises(nj.errors.TracerBoolConversionError):
        run(f)


@MESHES
def test_programs_have_no_values(mesh):
    f = functools.partial(run, lambda x: x if total(x) > 0 else -x, mesh=mesh)
    for call, x in ((nj.jit(f), X), (nj.vmap(f), X[None]), (nj.make_jaxpr(f), X), (functools.partial(nj.eval_shape, f), X)):
        with pytest.raises(nj.errors.TracerBoolConversionError):
            call(x)


@MESHES
def test_a_value_that_leaves_the_function_is_not_known_any_more(mesh):
    left = []
    run(lambda x: (left.append(total(x)), x)[1], mesh=mesh)
    assert re.fullmatch(r"JitTracer\(.*\)", repr(left[0]))
    with pytest.raises((nj.errors.UnexpectedTracerError, nj.errors.ConcretizationTypeError)):
        float(left[0])


@MESHES
def test_devices_are_refused_where_values_are_known(mesh):
    f = lambda x: x + nj.device_put(1, nj.devices()[0])
    with pytest.raises(ValueError, match=r"not allowed within shard_map-decorated functions, but got device cpu:0"):
        run(f, mesh=mesh)
    np.testing.assert_array_equal(nj.jit(lambda x: run(f, x, mesh=mesh))(X), X + 1)


def test_types_are_checked_over_one_device_as_over_many():
    swap = lambda x, y: lax.scan(lambda c, _: (c[::-1], None), (x, y), None, length=2)[0]
    for mesh in (ONE, FOUR):
        f = nj.shard_map(swap, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
        with pytest.raises(TypeError, match=r"This might be fixed by applying `jax.lax.pcast\(..., \('x',\)"):
            f(X[:, 0], X[:4 // mesh.shape["x"], 0])
