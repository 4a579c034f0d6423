"""Export: bytes and back, calls under every transformation, derivatives, registered nodes, platforms, damaged bytes."""
import contextlib
import hashlib
import random
import struct
import subprocess
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import export, lax, nn
from numjet.api.export import files, placements
from numjet.api.export.codec import Writer
from numjet.foundation import dtypes
from numjet.tools.damage import Altering, mutated

MUTATED = 300  # files per test


def there_and_back(fun, *args, vjp_order=0, **kwargs):
    return export.deserialize(export.export(nj.jit(fun))(*args, **kwargs).serialize(vjp_order=vjp_order))


def _loops(x):
    steps = lax.scan(lambda c, a: (c + a, c * a), x[0], x)[1]
    return lax.while_loop(lambda s: s < 10, lambda s: s * 2 + 1, jnp.abs(steps).sum())


PROGRAMS = {
    "elementwise": lambda x: jnp.sin(x) * 2 + jnp.where(x > 0, x, jnp.inf),
    "loops": _loops,
    "branches": lambda x: lax.cond(x.sum() > 0, lambda y: y[::2], lambda y: jnp.sort(y, axis=0)[:2], x),
    "indexing": lambda x: x.at[jnp.array([1, 2])].add(3.0)[:, jnp.array([0, 3])],
    "products": lambda x: (jnp.linalg.solve(x + 9 * jnp.eye(4), x), jnp.fft.fft(x), x @ x.T),
    "custom rules": lambda x: (nn.relu(x), nn.softmax(x), nn.silu(x)),
    "random": lambda x: nj.random.normal(nj.random.fold_in(nj.random.key(3), 1), (4,)) + x,
    "constants": lambda x: x + np.arange(16.0, dtype=np.float32).reshape(4, 4),
    "dtypes": lambda x: (x.astype(jnp.bfloat16), x > 0, lax.complex(x, x), x.astype(jnp.float16)),
    "calls": lambda x: nj.jit(jnp.tanh)(nj.jit(jnp.tanh)(x)),
    "no leaves": lambda x: (),
    "unused argument": lambda x: jnp.zeros((0, 3)),
    "batched": lambda x: nj.vmap(lambda r: jnp.cumsum(r))(x),
}


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.itemsize], ids=lambda d: d.name)
def test_constants_of_every_dtype_keep_their_bits(dtype, x64):
    """Constants of 64 bits once came back with 32, or 8."""
    given = np.array([-(2**40) - 1 if dtype.kind == "i" and dtype.itemsize == 8 else 1, 0, 1])
    constant = (given + 1e-12j if dtype.kind == "c" else given + 1e-12 if dtype == np.float64 else given).astype(dtype)
    got = there_and_back(lambda x: (x, constant), np.float32(0)).call(np.float32(0))[1]
    assert got.dtype == dtype and np.asarray(got).tobytes() == constant.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trips(name):
    fun, x = PROGRAMS[name], jnp.linspace(-2, 3, 16, dtype="float32").reshape(4, 4)
    found = there_and_back(fun, x)
    want, got = nj.jit(fun)(x), found.call(x)
    assert nj.tree.structure(want) == nj.tree.structure(got) == found.out_tree
    for w, g in zip(nj.tree.leaves(want), nj.tree.leaves(got), strict=True):
        assert (w.shape, w.dtype) == (g.shape, g.dtype)
        assert np.array_equal(np.asarray(w.astype("complex64")), np.asarray(g.astype("complex64")), equal_nan=True)
    assert found.serialize() == export.export(nj.jit(fun))(x).serialize()


def test_fields():
    def f(pair, *, unused, z):
        return {"out": pair[0] @ pair[1] * z}
    e = there_and_back(f, (jnp.ones((2, 3)), jnp.ones((3, 4))), unused=1, z=2.0)
    assert e.fun_name == "f" and [a.shape for a in e.in_avals] == [(2, 3), (3, 4), (), ()] and e.out_avals[0].shape == (2, 4)
    assert e.in_tree == nj.tree.structure(((((0, 0)),), {"unused": 0, "z": 0})) and e.module_kept_var_idx == (0, 1, 3)
    assert (e.platforms, e.nr_devices, e.uses_global_constants) == (("cpu",), 1, False)
    assert e.calling_convention_version == export.maximum_supported_calling_convention_version
    assert e.ordered_effects == e.unordered_effects == e.disabled_safety_checks == ()
    assert e.in_shardings_jax(None) == e.in_shardings_hlo == (None,) * 4 and e.out_shardings_jax(None) == (None,)
    assert "stablehlo.dot_general" in e.mlir_module() and "fun_name=f" in str(e)
    assert export.default_export_platform() == "cpu"


def test_static_arguments_and_weak_types():
    e = export.export(nj.jit(lambda x, n: x * n, static_argnums=1))(1.0, 3)
    assert e.call(2.0) == 6 and e.in_avals[0].weak_type and e.call(2.0).weak_type


def test_calls_inside_other_functions():
    f = there_and_back(lambda x, y: jnp.sin(x) @ y, jnp.ones((3, 3)), jnp.ones((3, 3))).call
    x = jnp.arange(9.0).reshape(3, 3)
    want = np.sin(np.asarray(x)) @ np.asarray(x)
    assert np.allclose(nj.jit(f)(x, x), want, atol=1e-5)
    assert np.allclose(nj.vmap(f)(x[None], x[None])[0], want, atol=1e-5)
    again = there_and_back(lambda x: f(f(x, x), x), x).call
    assert np.allclose(again(x), np.sin(want) @ np.asarray(x), atol=1e-4)


def test_derivatives_up_to_the_order_that_was_serialized():
    fun = lambda x: nn.relu(x) ** 3 * jnp.arange(3)
    e = there_and_back(fun, jnp.ones(3), vjp_order=2)
    first = lambda f: nj.grad(lambda x: f(x).sum())
    second = lambda f: nj.grad(lambda x: first(f)(x).sum())
    x = jnp.array([0.5, -1.0, 2.0])
    assert e.has_vjp() and e.vjp().has_vjp() and not e.vjp().vjp().has_vjp()
    assert first(e.call)(x).tolist() == first(fun)(x).tolist()
    assert nj.jit(second(e.call))(x).tolist() == second(fun)(x).tolist()
    with pytest.raises(ValueError, match="No VJP is available"):
        nj.grad(lambda x: second(e.call)(x).sum())(x)
    with pytest.raises(ValueError, match="No VJP is available"):
        there_and_back(fun, x).serialize(vjp_order=1)
    with pytest.raises(ValueError, match="0 or more"):
        e.serialize(vjp_order=-1)


def test_derivatives_with_integers():
    e = there_and_back(lambda n, x: (2 * n, x * n), jnp.arange(3), jnp.ones(3), vjp_order=1)
    assert [a.dtype for a in e.vjp().in_avals] == ["int32", "float32", nj.float0, "float32"]
    assert nj.grad(lambda x: e.call(jnp.arange(3), x)[1].sum())(jnp.ones(3)).tolist() == [0, 1, 2]


def test_keys():
    e = there_and_back(lambda key: nj.random.split(key, 2), nj.random.key(1))
    assert (nj.random.key_data(e.call(nj.random.key(5))) == nj.random.key_data(nj.random.split(nj.random.key(5)))).all()


def test_wide_types():
    with nj.enable_x64(True):
        data = export.export(nj.jit(lambda x: x + 1))(np.float64(1)).serialize()
        assert export.deserialize(data).call(np.float64(1e300)) == 1e300 + 1


# ------------------------------------------------------------------------------------------------ pytrees

Point = namedtuple("Point", "x y")
export.register_namedtuple_serialization(Point, serialized_name="test_export.Point")


class Labelled:
    def __init__(self, value, label):
        self.value, self.label = value, label


nj.tree_util.register_pytree_node(Labelled, lambda n: ((n.value,), n.label), lambda aux, c: Labelled(c[0], aux))
export.register_pytree_node_serialization(Labelled, serialized_name="test_export.Labelled",
                                          serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)


@pytest.mark.parametrize("tree", [
    Point(1.0, (2.0, None)), Labelled(1.0, "name"), [Point(Labelled(1.0, "é"), [])], OrderedDict([("b", 1.0), ("a", 2.0)]),
    {1: 1.0, 3: {}}, {"k": [Labelled(2.0, "")]}])
def test_nodes(tree):
    e = there_and_back(lambda t: (t, t), tree)
    assert e.out_tree == nj.tree.structure((tree, tree)) and e.in_tree == nj.tree.structure(((tree,), {}))
    assert nj.tree.structure(e.call(tree)) == e.out_tree


def test_registration_errors():
    Other = namedtuple("Other", "a")
    with pytest.raises(ValueError, match=r"Cannot serialize .* unregistered type .*Other"):
        export.export(nj.jit(lambda x: x))(Other(1.0)).serialize()
    with pytest.raises(ValueError, match="register_pytree_node_serialization"):
        export.register_namedtuple_serialization(str, serialized_name="n")
    with pytest.raises(ValueError, match="Duplicate serialization registration of type"):
        export.register_namedtuple_serialization(Point, serialized_name="test_export.Point2")
    with pytest.raises(ValueError, match="Duplicate serialization registration for serialized_name"):
        export.register_namedtuple_serialization(Other, serialized_name="test_export.Point")
    with pytest.raises(ValueError, match="must call first"):
        export.register_pytree_node_serialization(object, serialized_name="n", serialize_auxdata=str,
                                                  deserialize_auxdata=str)


# ------------------------------------------------------------------------------------------------ wrong use

def test_wrong_arguments():
    e = there_and_back(lambda a, *, b: a + b, jnp.ones(4), b=jnp.ones(4))
    for args, kwargs, message in [
            ((jnp.ones(6),), {"b": jnp.ones(4)},
             r"Shape mismatch for args\[0\]\.shape\[0\] \(expected same constant\): expected 4"),
            ((jnp.ones(4),), {"b": jnp.ones(6)}, r"Shape mismatch for kwargs\['b'\]\.shape\[0\]"),
            ((jnp.ones((1, 4)),), {"b": jnp.ones(4)}, r"Rank mismatch for args\[0\]"),
            ((jnp.ones(4, jnp.int32),), {"b": jnp.ones(4)}, r"Dtype mismatch for args\[0\]"),
            (("text",), {"b": jnp.ones(4)}, r"args\[0\] of the exported function .* is 'text'"),
            ((), {"b": jnp.ones(4)}, "must have the same pytree structure")]:
        with pytest.raises(ValueError, match=message):
            e.call(*args, **kwargs)


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(lambda x: x)
    with pytest.raises(ValueError, match="must be names such as cpu"):
        export.export(nj.jit(jnp.sin), platforms=())
    with pytest.raises(ValueError, match="leave them out"):
        export.export(nj.jit(jnp.sin), _override_lowering_rules=())
    with pytest.raises(ValueError, match="has effects"):
        export.export(nj.jit(lambda x: (nj.debug.print("{}", x), x)[1]))(1.0)
    with pytest.raises(ValueError, match=r"cannot serialize the operation pure_callback.*leave out callbacks"):
        there_and_back(lambda x: nj.pure_callback(np.sin, x, x), jnp.ones(3))


def test_platforms():
    e = export.export(jnp.sin, platforms=("tpu", "cuda"))(1.0)
    assert e.uses_global_constants
    with pytest.raises(ValueError, match=r"Function 'sin' was exported for platforms .* but it is used on 'cpu'"):
        export.deserialize(e.serialize()).call(1.0)
    off = [export.DisabledSafetyCheck.platform(), export.DisabledSafetyCheck.custom_call("x")]
    e = export.export(nj.jit(jnp.sin), platforms=("tpu",), disabled_checks=off)(1.0)
    assert export.deserialize(e.serialize()).call(0.0) == 0
    assert [c.is_custom_call() for c in e.disabled_safety_checks] == [None, "x"]


# ------------------------------------------------------------------------------------------------ bytes from elsewhere

HEAD = struct.calcsize("<8sHQ32s")


@pytest.fixture(scope="module")
def blob():
    def f(x, t):
        steps = lax.scan(lambda c, a: (c + a, c * a), x[0], x)[1]
        chosen = lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
        random_bits = nj.random.bits(nj.random.key(0))
        return steps.sum() + nn.relu(chosen)[1:3].sum() + np.arange(3.0, dtype=np.float32), {"k": t, "r": random_bits}
    return bytes(export.export(nj.jit(f))(jnp.ones((4, 4)), (1, Point(2, 3))).serialize(vjp_order=1))


def sealed(content):
    """A file whose length and checksum are right."""
    digest = hashlib.sha256(struct.pack("<HQ", 2, len(content)) + content).digest()
    return struct.pack("<8sHQ32s", b"\x93numjetX", 2, len(content), digest) + content


def test_damaged_files_raise_an_error(blob):
    rng = random.Random(1)
    for _ in range(MUTATED):
        damaged = mutated(rng, blob)
        if damaged != blob:
            with pytest.raises(ValueError, match="deserialize"):
                export.deserialize(damaged)


def test_other_values_raise_an_error_or_are_programs(blob):
    """Well written, with huge counts, other types and names, and a right checksum."""
    whole, rng = export.deserialize(blob), random.Random(3)
    counted = Altering(rng)
    files._write(counted, whole, 0)
    refused = 0
    for _ in range(MUTATED):
        writer = Altering(rng, {rng.randrange(counted.written)})
        with contextlib.suppress(ValueError, TypeError, OverflowError):   # what no writer writes
            files._write(writer, whole, 0)
        try:
            export.deserialize(sealed(bytes(writer.data)))
        except ValueError as error:
            assert "deserialize" in str(error)
            refused += 1
    assert MUTATED // 2 < refused < MUTATED


def test_forged_files_raise_an_error_or_are_programs(blob):
    """With a right checksum, as someone would write it who wants to do harm."""
    assert sealed(blob[HEAD:]) == blob
    rng = random.Random(2)
    for _ in range(MUTATED):
        forged = mutated(rng, blob[HEAD:])
        try:
            found = export.deserialize(sealed(forged))
        except ValueError as error:
            assert "deserialize" in str(error)
        else:
            assert export.deserialize(found.serialize()).fun_name == found.fun_name


def test_other_files(blob):
    for data, message in [(b"", "no function"), (b"x" * 200, "no function"), (blob[:-1], "damaged"), (blob + b"x", "damaged"),
                          (sealed(b"\x04"), "calling convention version 4"), (sealed(b""), "cannot read"),
                          (sealed(b"\x01\x00" + b"\x05" * 1000), "nested more than|cannot read"),
                          (blob[:8] + b"\x03\x00" + blob[10:], "format version 3")]:
        with pytest.raises(ValueError, match=message):
            export.deserialize(data)
    with pytest.raises(TypeError, match="takes the bytes"):
        export.deserialize("text")


def test_another_process(tmp_path):
    data = export.export(nj.jit(PROGRAMS["products"]))(jnp.ones((4, 4))).serialize()
    (tmp_path / "f.bin").write_bytes(data)
    code = ("import sys, numjet.numpy as jnp\nfrom numjet import export\n"
            "f = export.deserialize(open(sys.argv[1], 'rb').read())\nprint(f.call(jnp.ones((4, 4)))[2].tolist())")
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "f.bin")], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str([[4.0] * 4] * 4)


def test_shardings_with_sums_that_wait_are_not_serialized():
    mesh = nj.make_mesh((1,), ("x",), axis_types=(nj.sharding.AxisType.Explicit,))
    for spec in (nj.P(None, unreduced={"x"}), nj.P(None, reduced={"x"})):
        with pytest.raises(ValueError, match=r"cannot serialize a function with the sharding .*Reshard its arguments"):
            placements.write_shardings(Writer(), [nj.NamedSharding(mesh, spec)])
