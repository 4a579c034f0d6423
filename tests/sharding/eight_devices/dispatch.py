"""What a call of a compiled program of several devices does in Python: as much for hundreds of arrays as for one."""
import sys

import numpy as np
import pytest

import numjet as nj
from numjet.errors import JaxRuntimeError
from numjet.sharding import Mesh, NamedSharding as NS, PartitionSpec as P

M = Mesh(np.array(nj.devices()), ("x",))


def python_calls(function, *args):
    """The names of the Python and C functions that a call runs in the interpreter."""
    names = []

    def note(frame, event, arg):
        if event in ("call", "c_call"):
            names.append(frame.f_code.co_name if event == "call" else arg.__name__)
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return names[:-1]  # without setprofile itself


@pytest.mark.parametrize("donated", [(), (0,)])
def test_calls_per_step_do_not_depend_on_the_number_of_leaves(donated):
    step = nj.jit(lambda xs: [x + 1 for x in xs], donate_argnums=donated)
    found = []
    for count in (2, 40):
        leaves = [nj.device_put(np.arange(8.0) + k, NS(M, P("x"))) for k in range(count)]
        leaves = step(leaves)  # compiles, and gives arrays that it takes as they are
        keep = leaves if not donated else None
        found.append(python_calls(step, leaves))
        assert keep is None or [x.sharding for x in step(keep)] == [NS(M, P("x"))] * count
    few, many = found
    assert donated or (few == many and len(many) <= 8), (few, many)
    assert len([n for n in many if n == "__init__"]) == 0


def test_what_is_divided_otherwise_is_brought_there_leaf_by_leaf():
    step = nj.jit(lambda xs: [x * 2 for x in xs], in_shardings=NS(M, P("x")))
    values = [np.arange(8.0), nj.device_put(np.arange(8.0), NS(M, P())), nj.device_put(np.arange(8.0), NS(M, P("x")))]
    assert [x.tolist() for x in step(values[2:])] == [[*range(0, 16, 2)]]
    for given in (values[:1] * 3, values[:1] + values[2:] * 2):
        assert [x.tolist() for x in step(given)] == [[*range(0, 16, 2)]] * 3
    gone = nj.device_put(np.arange(8.0), NS(M, P("x")))
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        step([gone])


def test_waiting_for_many_leaves_is_one_call():
    leaves = lambda count: [nj.device_put(np.arange(8.0) + k, NS(M, P("x"))) for k in range(count)]
    few, many = (python_calls(nj.block_until_ready, {"a": leaves(count), "b": np.ones(2)}) for count in (2, 40))
    assert len([n for n in many if "wait" in n or "block" in n]) == len([n for n in few if "wait" in n or "block" in n]) <= 3


def test_waiting_for_many_leaves_raises_the_error_of_one():
    def refuse(x):
        raise ArithmeticError("refused")
    good = nj.device_put(np.arange(8.0), NS(M, P("x")))
    call = nj.jit(lambda x: nj.pure_callback(refuse, nj.ShapeDtypeStruct(x.shape, x.dtype), x))
    bad = call(good)
    with pytest.raises(nj.errors.JaxRuntimeError, match="refused"):
        nj.block_until_ready([good, bad, good])
    nj.effects_barrier()  # raises what was not raised yet
    call(good)
    for _ in range(2):  # nobody has read the result
        with pytest.raises(nj.errors.JaxRuntimeError, match="refused"):
            nj.effects_barrier()
        call(good)
    with pytest.raises(nj.errors.JaxRuntimeError, match="refused"):
        nj.effects_barrier()
    good.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        nj.block_until_ready([good])


@pytest.mark.parametrize("donated", [0, 1, (0, 1)])
def test_donated_parts_that_are_passed_twice_are_refused_before_anything_runs(donated):
    x = nj.device_put(np.arange(8.0), NS(M, P("x")))
    add = nj.jit(lambda a, b: a + b, donate_argnums=donated)
    for other in (x, nj.device_put(x, x.sharding)):  # the same array, another array of the same parts
        with pytest.raises(JaxRuntimeError, match=r"previously donated in the same call \(argument 1"):
            add(x, other)
        assert not x.is_deleted()
    assert add(x, x + 0).tolist() == [*range(0, 16, 2)]


def test_donated_parts_in_another_order_of_devices_are_refused_too():
    x, y = (nj.device_put(np.arange(8.0), NS(Mesh(devices, ("x",)), P("x"))) for devices in (M.devices, M.devices[::-1]))
    add = nj.jit(lambda a, b, c: a + b + c, donate_argnums=1)
    with pytest.raises(JaxRuntimeError, match=r"previously donated in the same call \(argument 2"):
        add(x, y, nj.device_put(y, y.sharding))
    assert add(x, y, y + 0).tolist() == [*range(0, 24, 3)]


def lowered_for_an_abstract_mesh(f=lambda x: x * 2):
    mesh = Mesh(np.array(nj.devices()[:2]), ("x",))
    struct = nj.ShapeDtypeStruct((8, 2), np.float32, sharding=NS(mesh.abstract_mesh, P("x")))
    return mesh, nj.jit(f).trace(struct).lower(lowering_platforms=("cpu",))


def test_devices_are_assigned_to_programs_over_abstract_meshes():
    mesh, lowered = lowered_for_an_abstract_mesh()
    x = nj.device_put(np.arange(16.0, dtype=np.float32).reshape(8, 2), NS(mesh, P("x")))
    out = lowered.compile(device_assignment=tuple(mesh.devices.flat))(x)
    assert out.sharding == NS(mesh, P("x")) and out.tolist() == (2 * np.asarray(x)).tolist()
    with pytest.raises(RuntimeError, match="device_assignment cannot be `None` during compilation"):
        lowered.compile()
    with pytest.raises(ValueError, match=r"size of abstract mesh 2 in .* must match the length of device assignment: 1"):
        lowered.compile(device_assignment=nj.devices()[:1])


@pytest.mark.parametrize("placement", [NS(Mesh(np.array(nj.devices()[:2]), ("x",)), P("x")), None])
def test_assigned_devices_are_those_that_arguments_name(placement):
    lowered = nj.jit(lambda x: x).lower(nj.ShapeDtypeStruct((8,), np.float32, sharding=placement))
    lowered.compile(device_assignment=nj.devices()[:2 if placement else 1])
    with pytest.raises(ValueError, match=r"must match the device_assignment calculated.* compile \[3\]"):
        lowered.compile(device_assignment=nj.devices()[3:4])


def test_a_device_given_to_jit_holds_for_compiled_programs_and_for_constraints():
    first, last = nj.devices()[0], nj.devices()[-1]
    x = nj.device_put(np.arange(8.0, dtype=np.float32), NS(M, P("x")))
    compiled = nj.jit(lambda x: x * 2, device=last).lower(nj.ShapeDtypeStruct((8,), np.float32)).compile()
    assert compiled(x).devices() == {last} and compiled(x).tolist() == [*range(0, 16, 2)]
    with pytest.raises(ValueError, match=r"explicit output sharding with device ids \[0\].*sharding_constraint inside jit"):
        nj.jit(lambda x: nj.lax.with_sharding_constraint(x, NS(M, P("x"))), device=first)(np.arange(8.0))
    with M, pytest.raises(ValueError, match="Mesh context manager should not be used with jit when backend or device"):
        nj.experimental.pjit.pjit(lambda x: x, device=first)(np.arange(8.0))


def test_constraints_on_one_device_know_no_axes_of_vmap():
    one = nj.sharding.SingleDeviceSharding(nj.devices()[0])
    with pytest.raises(ValueError, match=r"inside the mesh context manager.*SingleDeviceSharding"):
        nj.jit(nj.vmap(lambda x: nj.lax.with_sharding_constraint(x, one), spmd_axis_name="x"))(np.arange(8.0))


def test_values_closed_over_are_copied_to_where_arguments_or_shardings_are():
    d = nj.devices()
    c = nj.device_put(np.arange(4, dtype=np.float32), d[1])
    halves = NS(Mesh(np.array(d[4:6]), ("x",)), P("x"))
    f = nj.jit(lambda x: x + c)
    for x in (nj.device_put(np.ones(4, np.float32), there) for there in (d[2], d[3], halves)):
        for out in (f(x), nj.jit(nj.jit(f))(x), nj.jit(nj.grad(lambda x: (x * c).sum()))(x) + 1, f.lower(x).compile()(x)):
            assert out.devices() == x.devices()
            assert out.tolist() == [1, 2, 3, 4]
    split = nj.device_put(np.arange(4, dtype=np.float32), NS(Mesh(np.array(d[:2]), ("x",)), P("x")))
    for out in (nj.jit(lambda x: x + split)(nj.device_put(np.zeros(4, np.float32), d[7])),
                nj.jit(lambda: split, out_shardings=halves)(),
                nj.jit(lambda: nj.lax.with_sharding_constraint(c * 1, halves))()):
        assert out.devices() != c.devices()
        assert out.tolist() == [0, 1, 2, 3]
