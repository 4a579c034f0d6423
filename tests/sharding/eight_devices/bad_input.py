"""Bad input: the classes of JAX's errors, before anything runs, and messages that name argument, shape, specification, mesh."""
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp  # noqa: F401
from numjet import (
    lax,
    sharding as sh,
)
from numjet.experimental.layout import Format, Layout  # noqa: F401
from numjet.sharding import AxisType, Mesh, NamedSharding as NS, PartitionSpec as P  # noqa: F401

D = np.array(nj.devices())
M, M2 = Mesh(D.reshape(4, 2), ("x", "y")), Mesh(D[:4].reshape(2, 2), ("x", "y"))
W = np.arange(64, dtype=np.float32).reshape(8, 8)
CASES = [line.split(" !! ") for line in (Path(__file__).parent / "bad_input_cases.txt").read_text().splitlines()
         if line[0] != "#"]


def put(*spec, m=M):
    return nj.device_put(W, NS(m, P(*spec)))


@pytest.mark.parametrize("text, kind", CASES)
def test_classes_are_those_of_jax(text, kind):
    with pytest.raises(Exception) as caught:
        eval(text, dict(globals()))
    assert kind in {cls.__name__ for cls in type(caught.value).__mro__}
    assert len(str(caught.value)) > 20, "says what to do"


MESH_TEXT = "Mesh('x': 4, 'y': 2"


@pytest.mark.parametrize("call, parts", [
    (lambda: nj.jit(lambda d: d, in_shardings=NS(M, P("x")))({"k": W[:3]}), ["d['k']", "(3, 8)", "P('x',)", MESH_TEXT]),
    (lambda: nj.jit(lambda a: {"r": a[:3]}, out_shardings=NS(M, P("x")))(W), ["result['r']", "(3, 8)", "P('x',)", MESH_TEXT]),
    (lambda: nj.jit(lambda a: a, in_shardings=NS(M, P("x", "y", None)))(W), ["argument", " a", "P('x', 'y', None)", MESH_TEXT]),
    (lambda: nj.jit(lambda a: a, in_shardings=NS(M, P("x")))(put("y")),
     ["arg a", "arg type: float32[8,8]", "P('x',)", "P('y',)", MESH_TEXT]),
    (lambda: nj.device_put(W[:3], NS(M, P("x"))), ["device_put", "(3, 8)", "P('x',)", MESH_TEXT]),
    (lambda: nj.jit(lambda a, b: a + b)(put("x"), put("x", m=M2)),
     ["argument a of <lambda> with shape float32[8,8]", "argument b", "[0, 1, 2, 3]"]),
    (lambda: nj.jit(lambda a: a, in_shardings=NS(M, P("x"))).lower(W).compile()(put("y")),
     ["Argument a", "float32[8,8]", "Passed sharding: Named", "P('y',)", "Required sharding: NamedSharding", MESH_TEXT]),
    (lambda: nj.jit(lambda a: a, in_shardings=(NS(M, P("x")), NS(M, P("y"))))(W), ["length 2", "args tuple of length 1"]),
    (lambda: nj.shard_map(lambda a: a, mesh=M, in_specs=P("x"), out_specs=P("x"))(W[:3]), ["args[0]", "f32[3,8]", "P('x',)"]),
    (lambda: NS(M, P("z")), ["z", "P('z',)", "('x', 'y')"]),
])
def test_messages_name_argument_shape_specification_and_mesh(call, parts):
    with pytest.raises(ValueError) as caught:
        call()
    assert not [part for part in parts if part not in str(caught.value)], str(caught.value)


def test_abstract_meshes_stand_for_those_of_the_operands():
    f = nj.jit(lambda a: lax.with_sharding_constraint(a, NS(M.abstract_mesh, P("x"))))
    assert f(put("y")).sharding == NS(M, P("x"))
    with sh.use_abstract_mesh(M.abstract_mesh):
        assert nj.jit(lambda a: lax.with_sharding_constraint(a, P("x")))(put("y")).sharding.spec == P("x")
    found = nj.eval_shape(nj.jit(lambda a: a, out_shardings=NS(M, P("y"))), W)
    assert found.sharding == NS(M, P("y"))
    with nj.set_mesh(M):
        assert nj.ShapeDtypeStruct((8, 8), np.float32, sharding=P("x")).sharding == NS(M, P("x"))


def test_constraints_in_programs_divide_what_can_be_divided():
    f = nj.jit(lambda a: lax.with_sharding_constraint(a * 2, NS(M, P("x", "y"))))
    assert f(W[:3]).sharding.spec == P(None, "y") and (f(W[:3]) == 2 * W[:3]).all()
    with pytest.raises(ValueError, match="does not divide its shape"):
        lax.with_sharding_constraint(W[:3], NS(M, P("x")))
