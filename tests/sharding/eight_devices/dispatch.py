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
