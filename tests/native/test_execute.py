"""Executables: inline and queued runs, misuse, scratch memory, donation."""
from __future__ import annotations

import weakref

import numpy as np
import pytest

from numjet import _native
from numjet.foundation.errors import JaxRuntimeError


def test_inline_execution(executable, array, device):
    add, before = executable("add"), _native.counters()
    x, y = array([1, 2, 3, 4], "float32"), array([10, 20, 30, 40], "float32")
    (out,) = add([x, y])
    assert out.tolist() == [11, 22, 33, 44]
    assert out.device is device and out.is_ready() and out.aval is x.aval and not out.committed
    after = _native.counters()
    assert add.call_count == 1
    assert after["executions"] == before["executions"] + 1 and after["enqueued"] == before["enqueued"]
    assert after["allocations"] == before["allocations"] + 1


def test_cost_in_the_middle_runs_inline_without_the_gil(executable, array):
    (out,) = executable("add_one", cost_ns=2e4)([array([1, 2, 3, 4], "float32")])
    assert out.is_ready() and out.tolist() == [2, 3, 4, 5]


def test_inline_limit(executable, array):
    x = array([1, 2, 3, 4], "float32")
    old = _native.set_inline_limit(0)
    try:
        before = _native.counters()["enqueued"]
        assert executable("add_one")([x])[0].tolist() == [2, 3, 4, 5]
        assert _native.counters()["enqueued"] == before + 1
    finally:
        assert _native.set_inline_limit(old) == 0
    with pytest.raises(TypeError):
        _native.set_inline_limit("often")


@pytest.mark.parametrize("cost_ns", [100.0, 2e4])
def test_inline_errors_are_raised_by_the_call(failed, cost_ns, executable, array):
    with pytest.raises(failed) as caught:
        executable("fail", cost_ns=cost_ns, on_error=failed)([array([1, 2, 3, 4], "float32")])
    assert caught.value.status == 3 and caught.value.info == [0, 17, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("cost_ns", [100.0, 1e9])
def test_on_error_that_fails_itself(cost_ns, executable, array):
    x = array([1, 2, 3, 4], "float32")

    def run(on_error):
        executable("fail", cost_ns=cost_ns, on_error=on_error)([x])[0].block_until_ready()

    with pytest.raises(ZeroDivisionError):
        run(lambda status, info: 1 / 0)
    with pytest.raises(TypeError, match="on_error must return an exception, got 'no'"):
        run(lambda status, info: "no")


def test_misuse(executable, array, aval, device):
    add = executable("add")
    x = array([1, 2, 3, 4], "float32")
    with pytest.raises(TypeError, match="add: expected 2 arrays, got 1"):
        add([x])
    with pytest.raises(TypeError, match=r"add: expected float32\[4\] as argument 1, got float32\[3\]"):
        add([x, array([1, 2, 3], "float32")])
    with pytest.raises(TypeError, match=r"expected float32\[4\] as argument 1, got int32\[4\]"):
        add([x, array([1, 2, 3, 4], "int32")])
    with pytest.raises(TypeError, match=r"expected an Array of float32\[4\] as argument 0"):
        add([np.zeros(4, np.float32), x])
    with pytest.raises(TypeError):
        add(3)
    with pytest.raises(TypeError, match="donated_mask has 1 entries for 2 arrays"):
        add([x, x], [True])
    deleted = array([1, 2, 3, 4], "float32")
    deleted.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[4\]"):
        add([x, deleted])
    weak = array([1, 2, 3, 4], "float32", weak_type=True)
    assert add([weak, x])[0].tolist() == [2, 4, 6, 8]


def test_constructor_checks(failed, aval, device):
    v, w = aval((4,), "float32"), aval((8,), "float32")

    def make(address=1, ins=(v,), outs=(v,), scratch=0, aliases=(), on_error=failed):
        return _native.Executable(address, ins, outs, scratch, aliases, 1.0, on_error, None, device, "name")

    assert make(aliases=((0, 0),)).in_avals == (v,)
    cases = [
        ({"address": 0}, "address"),
        ({"scratch": -1}, "negative"),
        ({"aliases": ((0, 1),)}, "does not fit"),
        ({"aliases": ((1, 0),)}, "does not fit"),
        ({"aliases": ((-1, 0),)}, "does not fit"),
        ({"aliases": ((0, 0),), "outs": (w,)}, "into the buffer"),
        ({"aliases": ((0, 0), (1, 0)), "outs": (v, v)}, "shares"),
        ({"aliases": ((0, 0), (0, 1)), "ins": (v, v)}, "shares"),
    ]
    for kwargs, error in cases:
        with pytest.raises(ValueError, match=error):
            make(**kwargs)
    for kwargs in [{"on_error": 3}, {"ins": [v]}, {"aliases": (0,)}, {"aliases": ((0, 0, 0),)}, {"ins": (3,)}]:
        with pytest.raises((TypeError, AttributeError)):
            make(**kwargs)


def test_attributes(executable, aval, device):
    add = executable("add", scratch_bytes=10)
    assert add.in_avals == (aval((4,), "float32"),) * 2 and add.out_avals == (aval((4,), "float32"),)
    assert (add.scratch_bytes, add.cost_ns, add.name, add.device) == (10, 100.0, "add", device)
    assert weakref.ref(add)() is add and "2 inputs" in repr(add)


def test_scratch_comes_from_the_pool_and_goes_back(executable, array):
    x = array([1, 2, 3, 4], "float32")
    for cost in (100.0, 1e9):
        run = executable("add_one", scratch_bytes=5000, cost_ns=cost)
        before = _native.pool_stats()
        (out,) = run([x])
        assert out.tolist() == [2, 3, 4, 5]
        _native.synchronize()
        after = _native.pool_stats()
        assert after["allocations"] == before["allocations"] + 2
        assert after["live_bytes"] == before["live_bytes"] + 64
        del out


@pytest.mark.parametrize("cost_ns", [100.0, 2e4, 1e9])
def test_donation_takes_over_the_buffer(cost_ns, executable, aval, device):
    run = executable("add_one", aliases=((0, 0),), cost_ns=cost_ns)
    x = _native.to_array(np.zeros(4, np.float32), aval((4,), "float32"), device)
    address = x.unsafe_buffer_pointer()
    for _ in range(100):
        (y,) = run([x], [True])
        assert x.is_deleted()
        x = y
    assert x.tolist() == [100.0] * 4
    if cost_ns < 100e3:  # a queued computation that is just ending may still hold the buffer; the next one then copies
        assert x.unsafe_buffer_pointer() == address


@pytest.mark.parametrize("cost_ns", [100.0, 1e9])
def test_donation_never_overwrites_what_others_see(cost_ns, executable, array, aval, device):
    run = executable("add_one", aliases=((0, 0),), cost_ns=cost_ns)
    vector = aval((4,), "float32")

    def fresh():
        return _native.to_array(np.zeros(4, np.float32), vector, device)

    x = fresh()
    view, other = x._value, fresh()
    handle, exported = _native.rewrap(other), np.from_dlpack(x)
    user = np.zeros(4, np.float32)
    donated = [x, other, _native.from_numpy(user, vector, device)]
    assert [run([a], [True])[0].tolist() for a in donated] == [[1.0] * 4] * 3
    assert all(a.is_deleted() for a in donated)
    assert view.tolist() == exported.tolist() == handle.tolist() == user.tolist() == [0.0] * 4
    kept = fresh()
    assert run([kept], [False])[0].tolist() == [1.0] * 4 and run([kept])[0].tolist() == [1.0] * 4
    assert kept.tolist() == [0.0] * 4


def test_inline_donation_leaves_memory_that_a_queued_reader_needs(gate, executable, aval, device):
    x = _native.to_array(np.array([5], np.float32), aval((1,), "float32"), device)
    g = gate()
    (reader,) = executable("add", 1)([g.result, x])
    (y,) = executable("add_one", 1, aliases=((0, 0),))([x], [True])
    assert y.is_ready() and y.tolist() == [6.0]
    g.open()
    assert reader.tolist() == [6.0]


def test_queued_donation_behind_a_queued_reader_is_in_place_and_right(gate, executable, aval, device):
    x = _native.to_array(np.array([5], np.float32), aval((1,), "float32"), device)
    address = x.unsafe_buffer_pointer()
    g = gate()
    (reader,) = executable("add", 1)([g.result, x])
    (y,) = executable("add_one", 1, aliases=((0, 0),), cost_ns=1e9)([x], [True])
    g.open()
    assert reader.tolist() == [6.0] and y.tolist() == [6.0]
    assert y.unsafe_buffer_pointer() == address


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True]])
def test_donating_an_array_that_is_used_twice_raises(mask, executable, array):
    x = array([1, 2, 3, 4], "float32")
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match=r"previously donated.*f\(donated\(x\), x\)") as refused:
            executable("add")([x, x], mask)
        assert ("Attempt to donate the same buffer twice" in str(refused.value)) == all(mask)
        assert x.tolist() == [1, 2, 3, 4]
    assert executable("add")([x, x], [False, False])[0].tolist() == [2, 4, 6, 8]


def test_a_failed_execution_still_consumes_donated_arrays(failed, executable, array):
    x = array([1, 2, 3, 4], "float32")
    with pytest.raises(failed):
        executable("fail", on_error=failed)([x], [True])
    assert x.is_deleted()


@pytest.mark.parametrize("cost_ns", [2e4, 1e9])
def test_nobody_meets_a_donated_array_while_it_is_overwritten(cost_ns, from_python, array, aval):
    seen, x = [], array([1, 2, 3, 4], "float32")

    def callback(ins, outs, info):
        seen.append(x.is_deleted())
        return 0

    vector = aval((4,), "float32")
    from_python(callback, (vector,), (vector,), cost_ns=cost_ns)([x], [True])[0].block_until_ready()
    assert seen == [True]


def test_outputs_are_committed_when_an_input_is(executable, array):
    x, y = array([1, 2, 3, 4], "float32"), array([1, 2, 3, 4], "float32", committed=True)
    assert not executable("add")([x, x])[0].committed
    assert executable("add")([x, y])[0].committed
