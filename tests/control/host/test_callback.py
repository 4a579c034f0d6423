"""pure_callback, io_callback and debug.callback: values, effects, errors, under every transformation."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.errors import JaxRuntimeError

F32 = nj.ShapeDtypeStruct((), np.float32)


def doubled(x: Any) -> Any:
    return nj.pure_callback(lambda v: np.asarray(v) * 2, F32, x)


def raising(x: Any) -> Any:
    raise ValueError("host function failed")


def names(f: Any, *args: Any) -> list[str]:
    return [e.primitive.name for e in nj.make_jaxpr(f)(*args).eqns]


@pytest.fixture(autouse=True)
def nothing_left():
    """Every test looks at the errors that it makes."""
    yield
    nj.effects_barrier()


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit, lambda f: nj.jit(nj.jit(f))])
def test_pure_callback_computes(wrap: Any) -> None:
    assert float(wrap(doubled)(1.5)) == 3.0


def test_callbacks_get_arrays_in_the_structure_of_the_arguments() -> None:
    seen: list[Any] = []

    def look(a: Any, *, b: Any) -> Any:
        seen.append((a, b))
        return {"sum": np.asarray(a["x"] + b[0])}

    f = nj.jit(lambda x, y: nj.pure_callback(look, {"sum": F32}, {"x": x}, b=(y, 2)))
    assert float(f(1.0, 2.0)["sum"]) == 3.0
    ((a, b),) = seen
    assert isinstance(a["x"], nj.Array) and isinstance(b, tuple) and int(b[1]) == 2


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (20, 30), (0, 4)])
def test_dtypes_and_shapes_pass_through(dtype: str, shape: tuple[int, ...]) -> None:
    x = jnp.ones(shape, dtype)
    y = nj.jit(lambda x: nj.pure_callback(lambda v: np.asarray(v), nj.ShapeDtypeStruct(shape, x.dtype), x))(x)
    assert y.dtype == x.dtype and y.shape == shape
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_64_bit_results() -> None:
    wide = nj.ShapeDtypeStruct((), np.float64)
    with pytest.raises(ValueError, match="64-bit"):
        nj.pure_callback(np.sin, wide, 1.0)
    with nj.enable_x64(True):
        f = nj.jit(lambda x: nj.pure_callback(lambda v: v * jnp.ones((), "float64"), wide, x))
        out = f(jnp.asarray(0.1, "float64"))
        assert out.dtype == np.float64 and float(out) == 0.1


def test_values_that_a_callback_keeps_do_not_change() -> None:
    kept: list[Any] = []
    f = nj.jit(lambda x: lax.fori_loop(0, 5, lambda i, c: (nj.debug.callback(kept.append, c), c + 1)[1], x))
    f(jnp.zeros(100)).block_until_ready()
    assert [float(k[7]) for k in kept] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_pure_callbacks_go_when_nobody_reads_them_and_others_stay() -> None:
    calls: list[str] = []

    @nj.jit
    def f(x: Any) -> Any:
        nj.pure_callback(lambda v: (calls.append("pure"), v)[1], F32, x)
        nj.io_callback(lambda v: calls.append("io"), None, x)
        nj.debug.callback(lambda v: calls.append("debug"), x)
        return x

    f(1.0).block_until_ready()
    assert calls == ["io", "debug"]


def test_a_callback_without_arguments_is_called_each_time() -> None:
    calls: list[int] = []
    f = nj.jit(lambda: nj.pure_callback(lambda: (calls.append(1), np.float32(len(calls)))[1], F32))
    assert [float(f()), float(f())] == [1.0, 2.0]


def test_order_in_a_program_and_between_programs() -> None:
    seen: list[tuple[str, float]] = []

    @nj.jit
    def f(x: Any) -> None:
        nj.io_callback(lambda v: seen.append(("a", float(v))), None, x, ordered=True)
        nj.debug.callback(lambda v: seen.append(("b", float(v))), x, ordered=True)

    for i in range(4):
        f(float(i))
    nj.effects_barrier()
    assert seen == [(n, float(i)) for i in range(4) for n in "ab"]


def test_names_and_effects_in_programs() -> None:
    def f(x: Any) -> Any:
        nj.debug.callback(lambda v: None, x)
        nj.debug.print("{}", x)
        nj.io_callback(lambda v: None, None, x, ordered=True)
        return doubled(x)

    assert names(f, 1.0) == ["debug_callback", "debug_print", "io_callback", "pure_callback"]
    assert {str(e) for e in nj.make_jaxpr(f)(1.0).effects} == {"Debug", "OrderedIO"}


# ------------------------------------------------------------------------------------------------ control flow


def test_inside_scan_while_and_cond() -> None:
    assert float(nj.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: doubled(c), x))(1.0)) == 8.0
    assert float(nj.jit(lambda x: lax.while_loop(lambda c: doubled(c) < 10, lambda c: c + 1, x))(0.0)) == 5.0
    ys = nj.jit(lambda xs: lax.scan(lambda c, x: (c + x, doubled(c)), 0.0, xs)[1])(jnp.arange(4.0))
    assert ys.tolist() == [0.0, 0.0, 2.0, 6.0]


def test_only_the_branch_taken_calls() -> None:
    seen: list[str] = []

    def say(word: str) -> Any:
        return lambda x: (nj.debug.callback(lambda v: seen.append(word), x), x)[1]

    f = nj.jit(lambda x: lax.cond(x > 0, say("positive"), say("negative"), x))
    f(1.0).block_until_ready()
    f(-1.0).block_until_ready()
    assert seen == ["positive", "negative"]


# ------------------------------------------------------------------------------------------------ derivatives


@pytest.mark.parametrize("call, what", [(nj.pure_callback, "Pure callbacks"), (nj.io_callback, "IO callbacks")])
def test_derivatives_are_refused_with_the_remedy(call: Any, what: str) -> None:
    f = lambda x: call(lambda v: v, F32, x)
    with pytest.raises(ValueError, match=f"{what} do not support JVP.*custom_jvp"):
        nj.grad(f)(1.0)
    assert float(nj.grad(lambda x: x * f(lax.stop_gradient(x)))(3.0)) == 3.0


def test_custom_jvp_around_a_callback() -> None:
    host = lambda g, x: nj.pure_callback(g, nj.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")

    @nj.custom_jvp
    def sin(x: Any) -> Any:
        return host(np.sin, x)

    sin.defjvp(lambda p, t: (sin(*p), host(np.cos, p[0]) * t[0]))
    for f in (nj.grad(sin), nj.jit(nj.grad(sin))):
        np.testing.assert_allclose(f(jnp.float32(1)), np.cos(1.0), rtol=1e-6)
    x = jnp.arange(3.0)
    np.testing.assert_allclose(nj.jit(nj.vmap(nj.grad(sin)))(x), np.cos(x), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_debug_callbacks_see_primal_values_once_in_order(wrap: Any) -> None:
    seen: list[float] = []

    def step(c: Any, x: Any) -> Any:
        nj.debug.callback(lambda v: seen.append(float(v)), c)
        return c * x, None

    df = wrap(nj.grad(lambda c: lax.scan(step, c, jnp.arange(1.0, 4.0))[0]))(2.0)
    assert float(df) == 6.0
    nj.effects_barrier()  # the derivative needs nothing of the loop that calls back, and may be there before it is done
    assert seen == [2.0, 2.0, 4.0]


# ------------------------------------------------------------------------------------------------ batches

SHAPES = {
    "sequential": [((), ())] * 3,
    "sequential_unrolled": [((), ())] * 3,
    "expand_dims": [((3,), (1,))],
    "broadcast_all": [((3,), (3,))],
    "legacy_vectorized": [((3,), ())],
}


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
@pytest.mark.parametrize("method", SHAPES)
def test_vmap_methods(method: str, wrap: Any) -> None:
    seen: list[Any] = []

    def add(x: Any, y: Any) -> Any:
        seen.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    f = lambda x: nj.pure_callback(add, F32, x, 10.0, vmap_method=method)
    assert wrap(nj.vmap(f))(jnp.arange(3.0)).tolist() == [10.0, 11.0, 12.0]
    assert seen == SHAPES[method]


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
def test_vmap_over_inner_axes_and_twice(method: str) -> None:
    shape = nj.ShapeDtypeStruct((2,), np.float32)
    f = lambda x: nj.pure_callback(lambda v: np.asarray(v) * 2, shape, x, vmap_method=method)
    x = jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(nj.vmap(nj.vmap(f, 0), 2)(x.transpose(1, 0, 2)), x.transpose(2, 1, 0) * 2)


def test_vmap_without_a_method_and_with_an_unknown_one() -> None:
    with pytest.raises(NotImplementedError, match="vmap_method"):
        nj.vmap(doubled)(jnp.ones(3))
    with pytest.raises(ValueError, match="'all'"):
        nj.pure_callback(np.sin, F32, 1.0, vmap_method="all")


def test_vmap_of_io_and_debug_callbacks() -> None:
    seen: list[float] = []
    note = lambda v: seen.append(float(v))
    nj.vmap(lambda x: nj.debug.callback(note, x))(jnp.arange(3.0))
    nj.jit(nj.vmap(lambda x: nj.io_callback(note, None, x)))(jnp.arange(3.0, 5.0))
    nj.effects_barrier()
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="ordered IO callback"):
        nj.vmap(lambda x: nj.io_callback(note, None, x, ordered=True))(jnp.arange(3.0))


# ------------------------------------------------------------------------------------------------ errors


@pytest.fixture
def queued() -> Iterator[None]:
    """Queues all programs, as those that compute for long are."""
    before = _native.set_inline_limit(0.0)
    yield
    _native.set_inline_limit(before)


@pytest.mark.parametrize("loop", [
    lambda f, x: f(x), lambda f, x: lax.fori_loop(0, 3, lambda _, c: f(c), x),
    lambda f, x: lax.while_loop(lambda c: c < 3, f, x)],
    ids=["no loop", "fori_loop", "while_loop"])
def test_when_a_short_program_returns_its_callbacks_have_run(loop: Any) -> None:
    seen: list[float] = []
    f = nj.jit(lambda x: loop(lambda c: (nj.debug.callback(lambda v: seen.append(float(v)), c), c + 1)[1], x))
    for _ in range(2):   # also the first time
        seen.clear()
        f(2.0)
        assert seen[0] == 2.0 and len(seen) in (1, 3)
    with pytest.raises(JaxRuntimeError, match="host function failed"):
        nj.jit(lambda x: loop(lambda c: nj.pure_callback(raising, F32, c), x))(1.0)


def test_a_short_program_has_its_effects_after_those_of_queued_ones() -> None:
    seen: list[str] = []
    go = threading.Event()
    slow = nj.jit(lambda x: (nj.debug.callback(lambda _: (go.wait(10), seen.append("slow")), x), jnp.sort(x @ x, 0))[1])
    short = nj.jit(lambda x: (nj.debug.callback(lambda _: seen.append("short"), x), x + 1)[1])
    slow.lower(jnp.ones((200, 200))).compile()
    slow(jnp.ones((200, 200)))
    short(1.0)
    go.set()
    nj.effects_barrier()
    assert seen == ["slow", "short"]


def test_callbacks_in_programs_get_arrays_that_are_not_weak() -> None:
    seen: list[bool] = []
    note = lambda v: (seen.append(v.weak_type), v)[1]
    nj.jit(lambda x: (nj.debug.callback(note, x), nj.pure_callback(note, F32, x))[1])(1.0).block_until_ready()
    nj.pure_callback(note, F32, 1.0)
    assert seen == [False] * 3


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_a_failing_callback(wrap: Any) -> None:
    f = wrap(lambda x: nj.pure_callback(raising, F32, x))
    with pytest.raises(JaxRuntimeError, match=r"raising at test_callback.py:\d+ failed: ValueError: host function failed") as e:
        f(1.0).block_until_ready()
    assert isinstance(e.value.__cause__, ValueError)


def test_errors_of_pending_computations_belong_to_their_results(queued: None) -> None:
    go = threading.Event()

    def fail(x: Any) -> Any:
        go.wait(10)
        raise KeyError(float(x))

    f = nj.jit(lambda x: nj.pure_callback(fail, F32, x))
    outs = [f(float(i)) for i in range(3)]
    later = nj.jit(lambda x: x + 1)(outs[1])
    go.set()
    for i in (2, 0, 1):
        with pytest.raises(JaxRuntimeError, match=rf"KeyError: {i}\.0"):
            float(outs[i])
    with pytest.raises(JaxRuntimeError, match=r"KeyError: 1\.0"):
        nj.block_until_ready({"a": later})


def test_effects_barrier_raises_what_nobody_has_seen_once(queued: None) -> None:
    out = nj.jit(lambda x: (nj.debug.callback(raising, x), x)[1])(1.0)
    with pytest.raises(JaxRuntimeError, match=r"debug.callback of raising .* host function failed"):
        nj.effects_barrier()
    nj.effects_barrier()
    with pytest.raises(JaxRuntimeError, match="host function failed"):
        out.block_until_ready()


def test_outside_of_programs_debug_callbacks_raise_their_own_exceptions() -> None:
    def fail(x: Any) -> None:
        raise KeyError(float(x))

    with pytest.raises(KeyError, match=r"1\.0"):
        nj.debug.callback(fail, 1.0)


def test_a_failure_ends_a_loop() -> None:
    seen: list[int] = []

    def check(i: Any) -> None:
        seen.append(int(i))
        if int(i) == 3:
            raise RuntimeError("three")

    f = nj.jit(lambda x: lax.fori_loop(0, 10, lambda i, c: (nj.debug.callback(check, i), c + i)[1], x))
    with pytest.raises(JaxRuntimeError, match="three"):
        f(0).block_until_ready()
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
@pytest.mark.parametrize(
    "result, message",
    [
        ((1.0, 2.0), "returned 2 arrays.*promises 1"),
        (None, "returned 0 arrays.*promises 1"),
        (np.ones(3, np.float32), r"returned float32\[3\] as result 0.*promises float32\[\]: return that shape"),
        (3, r"returned int32\[\] as result 0.*promises float32\[\]: convert it"),
        ("text", "as result 0.*promises float32"),
        (np.ma.masked_array(np.float32(1), True), "returned a masked array as result 0: arrays have no mask"),
    ],
)
def test_results_other_than_promised(result: Any, message: str, wrap: Any) -> None:
    f = wrap(lambda x: nj.pure_callback(lambda v: result, F32, x))
    with pytest.raises(JaxRuntimeError, match=message):
        f(1.0).block_until_ready()


def test_wide_results_are_narrowed_while_64_bits_are_off() -> None:
    assert nj.jit(lambda x: nj.pure_callback(lambda v: np.float64(0.5), F32, x))(1.0).dtype == np.float32


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="objects with shape and dtype"):
        nj.pure_callback(np.sin, 3, 1.0)
    with pytest.raises(TypeError, match=r"'mode' of type str.*functools.partial"):
        nj.io_callback(np.sin, F32, 1.0, "mode")
    for call in (lambda: nj.pure_callback(3, F32), lambda: nj.debug.callback("x", 1.0)):
        with pytest.raises(TypeError, match="expects a function"):
            call()


# ------------------------------------------------------------------------------------------------ threads


def test_callbacks_may_compute() -> None:
    inner = nj.jit(lambda a: (a @ a).sum())
    f = nj.jit(lambda x: nj.pure_callback(lambda v: inner(jnp.ones((64, 64))) * v, F32, x))
    assert float(f(2.0)) == 2 * 64.0**3


def test_the_caller_is_not_held_up_by_what_is_queued(queued: None) -> None:
    go = threading.Event()
    f = nj.jit(lambda x: nj.pure_callback(lambda v: (go.wait(10), v)[1], F32, x))
    start = time.perf_counter()
    out = f(1.0)
    assert time.perf_counter() - start < 9 and not out.is_ready()
    go.set()
    assert float(out) == 1.0


@pytest.mark.parametrize("depends", [True, False], ids=["dependent", "independent"])
def test_waiting_for_what_is_queued_behind_is_an_error_where_it_would_never_end(depends: bool, queued: None) -> None:
    later: list[Any] = []
    go = threading.Event()

    def wait(x: Any) -> Any:
        go.wait(10)
        return np.float32(later[0])

    first = nj.jit(lambda x: nj.pure_callback(wait, F32, x))(1.0)
    later.append(nj.jit(doubled)(first if depends else 1.0))
    go.set()
    if depends:
        for result in (first, later[0]):
            with pytest.raises(JaxRuntimeError, match="queued behind"):
                result.block_until_ready()
    else:
        assert float(first) == float(later[0]) == 2.0


def test_at_exit_callbacks_have_run_and_unseen_errors_are_printed() -> None:
    script = """
import numjet as nj
nj._native.set_inline_limit(0.0)   # queues them
def fail(x): raise ValueError("nobody looked")
nj.jit(lambda x: nj.debug.callback(fail, x))(1.0)
nj.jit(lambda x: nj.debug.print("last words {}", x))(2.0)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "last words 2.0\n"
    assert "ValueError: nobody looked" in ran.stderr and "JaxRuntimeError" in ran.stderr


def test_debug_callbacks_in_a_batched_cond():
    seen = []
    note = lambda tag: lambda x: (nj.debug.callback(lambda v: seen.append((tag, float(v))), x), x * tag)[1]
    out = nj.vmap(lambda p, x: nj.lax.cond(p, note(2), note(1), x))(np.array([True, False]), np.float32([3, 4]))
    nj.effects_barrier()
    assert out.tolist() == [6, 4] and {(2, 3.0), (1, 4.0)} <= set(seen)


def test_an_error_of_the_function_is_logged(caplog):
    def fail(x):
        raise ValueError("no")
    with pytest.raises(nj.errors.JaxRuntimeError, match="failed: ValueError: no"):
        nj.jit(lambda x: nj.pure_callback(fail, x, x))(np.float32(1)).block_until_ready()
    [record] = caplog.records
    assert record.getMessage() == "jax.pure_callback failed" and "Traceback" in caplog.text


def test_io_in_a_loop_whose_elements_stop_at_different_times_is_refused():
    def count(i):
        return lax.while_loop(lambda i: i < 5, lambda i: (nj.io_callback(lambda x: None, None, i), i + 1)[1], i)
    with pytest.raises(NotImplementedError, match="not supported in while_loop with batched predicate"):
        nj.vmap(count)(np.arange(2))


def test_callbacks_have_no_transpose():
    for kind, call in (("Pure", nj.pure_callback), ("IO", nj.io_callback)):
        with pytest.raises(ValueError, match=f"{kind} callbacks do not support transpose"):
            nj.linear_transpose(lambda x, call=call: call(lambda v: v, x, x), np.float32(1))(np.float32(1))


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float8_e5m2"])
def test_numbers_below_a_byte_in_programs(dtype):
    x = np.array([0, 1, 1, 0, 1, 0], np.int8).astype(dtype)
    f = nj.jit(lambda x: nj.pure_callback(np.asfortranarray, nj.ShapeDtypeStruct((2, 3), dtype), x.reshape(2, 3)))
    np.testing.assert_array_equal(f(x), x.reshape(2, 3))
    g = nj.jit(lambda x, y: (x[::-1].astype(jnp.float32), y.astype(dtype), jnp.concatenate([x, x])))
    back, made, twice = g(x, np.float32([1, 0]))
    assert back.tolist() == x[::-1].astype(np.float32).tolist() and made.dtype == twice.dtype == x.dtype
    np.testing.assert_array_equal(twice, np.concatenate([x, x]))


def test_ordered_debugging_in_branches_of_a_batch_happens_for_each_branch() -> None:
    seen: list[Any] = []

    def noting(name: str) -> Any:
        return lambda x: (nj.debug.callback(lambda v: seen.append((name, float(v))), x, ordered=True), x)[1]

    nj.vmap(lambda x: lax.cond(x > 0, noting("yes"), noting("no"), x))(jnp.arange(2.0))
    nj.effects_barrier()
    assert seen == [("no", 0.0), ("no", 1.0), ("yes", 0.0), ("yes", 1.0)]
