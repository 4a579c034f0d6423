"""nj.explain says what the compiler did: fusions and why not, loops, copies, memory, with the user's lines."""
from __future__ import annotations

import inspect

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.ir.printer import show
from numjet.cpu.lowering.lower import lower
from numjet.cpu.remarks import Recorder


def line_of(fun, offset=0):
    """The number of a line of a function, from its first."""
    return inspect.getsourcelines(fun)[1] + offset


def fates(report):
    return [(o.name, o.fate) for o in report.operations]


def test_a_chain_is_one_loop_and_nothing_is_stored():
    def fun(x):
        y = jnp.sin(x)
        return jnp.sum(y * 2)
    report = nj.explain(fun)(np.ones(1000, np.float32))
    assert fates(report) == [("sin", "fused"), ("mul", "fused"), ("reduce_sum", "registers")]
    assert [o.location.line for o in report.operations] == [line_of(fun, k) for k in (1, 2, 2)]
    assert report.operations[0].location.text == "y = jnp.sin(x)"
    assert "into mul" in report.operations[0].why and "read once" in report.operations[0].why
    (loop,) = report.loops
    assert (loop.trips, loop.mode, loop.pieces) == ((1000,), "vector", 1)
    assert (loop.writes, loop.fuses) == (("reduce_sum",), ("sin", "mul"))
    assert report.scratch_bytes == report.temporaries == 0 and not report.copies and not report.calls


def test_why_an_array_is_stored():
    def fun(x, w):
        e = jnp.exp(x)
        return (e / jnp.sum(e, axis=1, keepdims=True)) @ w
    report = nj.explain(fun)(np.ones((64, 64), np.float32), np.ones((64, 64), np.float32))
    why = {o.name: o.why for o in report.operations if o.fate == "stored"}
    assert "read 2 times" in why["exp"] and "about 12 operations per element" in why["exp"]
    assert why["div"] == "operand of a matrix product"
    assert why["dot_general"] == "dot_general writes it"
    (call,) = report.calls
    assert "gemm" in call.symbol and call.location.line == line_of(fun, 2)


def test_results_loops_and_views():
    report = nj.explain(lambda x: (x * 2, jnp.reshape(jnp.cumsum(x), (10, 10))))(np.ones(100, np.float32))
    assert [(o.name, o.fate) for o in report.operations if o.name in ("mul", "reshape")] == [
        ("mul", "stored"), ("reshape", "shared")]
    assert next(o.why for o in report.operations if o.name == "mul") == "result"


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_copies_say_why_and_donating_avoids_them():
    def fun(x):
        return x.at[3].set(0.0)
    x = np.ones(1000, np.float32)
    (copy,) = nj.explain(fun)(x).copies
    assert copy.nbytes == 4000 and copy.location.line == line_of(fun, 1) and "donate" in copy.why
    assert not nj.explain(nj.jit(fun, donate_argnums=0))(x).copies


def test_an_old_value_read_later_is_a_copy():
    def fun(x):
        y = jnp.sort(x)
        z = y.at[0].set(5.0)
        return jnp.dot(y, z)
    report = nj.explain(fun)(np.ones(100, np.float32))
    assert [(c.nbytes, c.why) for c in report.copies] == [(400, "updated while its old value is still read later")]


def test_loops_of_the_program():
    def step(carry, x):
        carry = jnp.tanh(carry + x)
        return carry, jnp.sum(carry)

    def fun(xs):
        return lax.scan(step, jnp.zeros(50), xs)
    report = nj.explain(fun)(np.ones((7, 50), np.float32))
    (loop,) = [one for one in report.loops if one.trips[0] == 7]
    assert loop.mode == "serial" and [inner.trips for inner in loop.inside] == [(50,), (50,)]
    assert loop.inside[0].writes == ("tanh",) and loop.inside[0].fuses == ("add",)
    assert loop.inside[0].locations == (loop.inside[0].locations[0],)
    assert loop.inside[0].locations[0].line == line_of(step, 1)
    assert "read 2 times" in next(o.why for o in report.operations if o.name == "tanh")


def test_trips_known_only_at_run_time():
    report = nj.explain(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))(5)
    (loop,) = report.loops
    assert loop.trips == (None,) and "loop over ?" in str(loop)


def test_large_loops_are_shared_and_large_arrays_listed():
    def fun(x):
        y = jnp.exp(x)
        return jnp.sort(y) + y
    report = nj.explain(fun)(np.ones(1 << 20, np.float32))
    assert report.loops[0].pieces > 1 and report.loops[0].trips == (1 << 20,)
    assert {(a.kind, a.nbytes) for a in report.allocations} == {("temporary", 1 << 22), ("result", 1 << 22)}
    assert all(a.location.line in (line_of(fun, 1), line_of(fun, 2)) for a in report.allocations)


def test_gradients_have_the_lines_of_the_function():
    def fun(x):
        y = jnp.sin(x)
        return jnp.sum(y * y)
    report = nj.explain(nj.grad(fun))(np.ones(1000, np.float32))
    assert {o.location.line for o in report.operations} == {line_of(fun, 1), line_of(fun, 2)}


def test_text_and_shapes_in_place_of_arrays():
    report = nj.explain(lambda x: jnp.sum(jnp.sin(x)))(nj.ShapeDtypeStruct((1000,), jnp.float32))
    text = repr(report)
    assert text == str(report) and "1 loop, 0 library calls, 0 copies" in text.splitlines()[0]
    assert "sin f32[1000]: fused, into reduce_sum (test_explain.py:" in text


def test_explaining_changes_nothing():
    """Lowering with a recorder gives the same function as without."""
    fun = nj.grad(lambda x: jnp.sum(jnp.exp(x) @ jnp.cumsum(x, 0)))
    closed = nj.jit(fun).lower(np.ones((40, 40), np.float32)).jaxpr
    assert show(lower(closed, "f", recorder=Recorder()).function) == show(lower(closed, "f").function)


def test_not_a_function():
    with pytest.raises(TypeError, match="callable"):
        nj.explain(3)


@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")
def test_conversions_of_whole_arrays_in_loops_are_warned_of():
    def fun(x, v):
        return lax.fori_loop(0, 10, lambda i, x: x.at[i].set(v * x[i]), x)
    report = nj.explain(fun)(np.zeros(10_000, np.int32), np.float32(2))
    (warning,) = report.warnings
    assert "every iteration of scan converts all of i32[10000] to f32[10000]" in str(warning) and str(warning) in str(report)
    assert warning.location.line == line_of(fun, 1)
    assert not nj.explain(fun)(np.zeros(100, np.int32), np.float32(2)).warnings
    assert not nj.explain(fun)(np.zeros(10_000, np.float16), np.float32(2)).warnings
    scanned = lambda xs: lax.scan(lambda c, x: (c + jnp.sum(x.astype(np.float32)), None), 0.0, xs)
    assert not nj.explain(scanned)(np.zeros((3, 10_000), np.float16)).warnings


def test_a_padded_array_whose_neighbours_are_read_is_stored():
    def blur(u, width=3):
        p = jnp.pad(u, width // 2, mode="edge")
        return sum(p[i:i + len(u), j:j + u.shape[1]] * (i + 2.0 * j) for i in range(width) for j in range(width))
    (stored,) = [o for o in nj.explain(blur)(np.ones((256, 256), np.float32)).operations if o.fate == "stored"
                 and o.name == "concatenate"]
    assert "read 9 times, and it takes about 16 operations to find an element" in stored.why
    report = nj.explain(blur)(np.ones((40, 40), np.float32))
    assert any(o.name == "concatenate" and o.fate == "stored" for o in report.operations) and not report.warnings
    cross = lambda u: (lambda p: p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2])(jnp.pad(u, 1, mode="edge"))
    (warning,) = nj.explain(cross)(np.ones((20, 20), np.float32)).warnings
    assert "concatenate f32[22,22] is computed 4 times, at about 16 operations per element" in str(warning)


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "constant"])
def test_neighbours_in_a_padded_array(mode):
    def blur(u, pad):
        p = pad(u, 1, mode=mode)
        return sum(p[i:i + 70, j:j + 130] * np.float32(i + 2.0 * j) for i in range(3) for j in range(3))
    u = np.random.default_rng(0).normal(size=(70, 130)).astype(np.float32)
    np.testing.assert_allclose(nj.jit(lambda u: blur(u, jnp.pad))(u), blur(u, np.pad), 1e-5, 1e-5)
