"""debug.print, debug.breakpoint, debug_nans, debug_infs, and the diagnostics of the public facade."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    nj.effects_barrier()
    return capsys.readouterr().out.splitlines()


# ------------------------------------------------------------------------------------------------ print


def test_print_inside_and_outside_of_jit(capsys: Any) -> None:
    def f(x: Any) -> Any:
        nj.debug.print("x is {} and {y:.2f}, {z}", x, y=2 * x, z=[x, "s", None, 3])
        return x + 1

    wanted = "x is 41.0 and 82.00, [Array(41., dtype=float32), 's', None, Array(3, dtype=int32{})]"
    for g, weak in ((f, ", weak_type=True"), (nj.jit(f), "")):   # types of programs are not weak where Python sees them
        assert float(g(jnp.float32(41))) == 42.0
        assert printed(capsys) == [wanted.format(weak)]


def test_print_keeps_order_inside_scan(capsys: Any) -> None:
    def step(c: Any, x: Any) -> Any:
        nj.debug.print("before {}", x)
        nj.debug.print("after {}", c + x, ordered=True)
        return c + x, None

    nj.jit(lambda xs: lax.scan(step, 0, xs)[0])(jnp.arange(3))
    assert printed(capsys) == ["before 0", "after 0", "before 1", "after 1", "before 2", "after 3"]


def test_print_under_vmap_and_grad(capsys: Any) -> None:
    show = lambda x: (nj.debug.print("v {}", x), x**2)[1]
    nj.vmap(show)(jnp.arange(3))
    assert printed(capsys) == ["v 0", "v 1", "v 2"]
    assert float(nj.jit(nj.grad(show))(3.0)) == 6.0
    assert printed(capsys) == ["v 3.0"]


def test_print_uses_the_print_options_of_its_place(capsys: Any) -> None:
    with np.printoptions(precision=2):
        nj.jit(lambda x: nj.debug.print("{}", x))(jnp.full(2, 1 / 3))
    assert printed(capsys) == ["[0.33 0.33]"]


def test_print_without_values_and_braces(capsys: Any) -> None:
    nj.jit(lambda x: (nj.debug.print("here {{}}"), x)[1])(1.0)
    assert printed(capsys) == ["here {}"]


@pytest.mark.parametrize(
    "args, kwargs, error, message",
    [
        (("x {}",), {}, IndexError, "positional argument 0, but 0 were given"),
        (("x {a}",), {"b": 2}, KeyError, "'a', which is not among"),
        (("x 1", 1), {}, ValueError, r"Unused positional arguments to `jax.debug.print`: \[1\].*f-string"),
        (("x",), {"b": 2}, ValueError, r"Unused keyword arguments to `jax.debug.print`: \['b'\].*f-string"),
        ((3, 1), {}, TypeError, "format string first, got 3 of type int"),
        (("{!q}", 1), {}, ValueError, "unknown conversion"),
    ],
)
def test_print_errors(args: Any, kwargs: Any, error: type[Exception], message: str) -> None:
    for wrap in (lambda f: f, nj.jit):
        with pytest.raises(error, match=message):
            wrap(lambda: nj.debug.print(*args, **kwargs))()


def test_format_check_can_be_skipped(capsys: Any) -> None:
    nj.debug.print("x", 1, skip_format_check=True)
    assert printed(capsys) == ["x"]


# ------------------------------------------------------------------------------------------------ breakpoint


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_breakpoint_shows_values(wrap: Any) -> None:
    out = io.StringIO()

    def f(x: Any) -> Any:
        y = x * 2
        name = "unit"
        nj.debug.breakpoint(stdin=io.StringIO("p float(y), name\nc\n"), stdout=out)
        return y, name

    wrap(lambda x: f(x)[0])(3.0)
    nj.effects_barrier()
    assert "(6.0, 'unit')" in out.getvalue() and "test_debug.py" in out.getvalue()
    with pytest.raises(ValueError, match="unknown backend"):
        nj.debug.breakpoint(backend="web")


# ------------------------------------------------------------------------------------------------ invalid values


def logarithm(x: Any) -> Any:
    return jnp.log(x) * 2  # the line that messages name


LINE = logarithm.__code__.co_firstlineno + 1
PLACE = rf"test_debug.py:{LINE} in logarithm"


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit, nj.value_and_grad, lambda f: nj.jit(nj.value_and_grad(f))])
def test_nans_are_found_with_operation_and_line(wrap: Any) -> None:
    message = rf"invalid value \(nan\) encountered in log at .*{PLACE}"
    with nj.debug_nans(True), pytest.raises(FloatingPointError, match=message):
        nj.block_until_ready(wrap(logarithm)(-1.0))


def test_nans_are_found_in_batches() -> None:
    with nj.debug_nans(True), pytest.raises(FloatingPointError, match=PLACE):
        nj.jit(nj.vmap(logarithm))(jnp.array([1.0, -1.0])).block_until_ready()


def test_the_flag_takes_effect_on_compiled_functions_and_ends() -> None:
    f = nj.jit(logarithm)
    assert np.isnan(f(-1.0))
    with nj.debug_nans(True):
        with pytest.raises(FloatingPointError):
            f(-1.0).block_until_ready()
        assert float(f(1.0)) == 0.0
    assert np.isnan(f(-1.0))
    assert np.isnan(jnp.log(-1.0))


def test_nans_inside_loops_and_branches() -> None:
    def body(i: Any, c: Any) -> Any:
        return jnp.sqrt(c - 1)

    place = rf"sqrt at .*test_debug.py:{body.__code__.co_firstlineno + 1} in .*body"
    with nj.debug_nans(True):
        for wrap in (lambda f: f, nj.jit):
            with pytest.raises(FloatingPointError, match=place):
                wrap(lambda x: lax.fori_loop(0, 3, body, x))(2.5).block_until_ready()
            with pytest.raises(FloatingPointError, match="in sqrt"):
                wrap(lambda x: lax.cond(x > 0, lambda c: jnp.sqrt(-c), lambda c: c, x))(2.5).block_until_ready()
        f = nj.jit(lambda x: lax.cond(x > 0, lambda c: jnp.sqrt(-c), lambda c: c, x))
        assert float(f(-2.5)) == -2.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (50, 7)])
def test_dtypes_and_shapes_are_checked(dtype: str, shape: tuple[int, ...]) -> None:
    x = jnp.zeros(shape, dtype)
    for f in (lambda x: x / x, nj.jit(lambda x: x / x)):
        with nj.debug_nans(True), pytest.raises(FloatingPointError, match=r"\(nan\) encountered in div"):
            f(x).block_until_ready()
        with nj.debug_nans(True):
            assert f(x + 1).shape == shape


def test_infinities() -> None:
    f = lambda x: 1 / x
    for g in (f, nj.jit(f)):
        with nj.debug_nans(True):
            assert np.isinf(g(jnp.zeros(20))).all()
        with nj.debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\) encountered in div"):
            g(jnp.zeros(20)).block_until_ready()


def test_known_values_are_checked_where_they_stand() -> None:
    f = nj.jit(lambda: logarithm(jnp.float32(-1)))
    with nj.debug_nans(True), pytest.raises(FloatingPointError, match=PLACE):
        f().block_until_ready()


# ------------------------------------------------------------------------------------------------ diagnostics


def test_known_operations_while_tracing() -> None:
    @nj.jit
    def f(x: Any) -> Any:
        with nj.ensure_compile_time_eval():
            table = jnp.cumsum(jnp.arange(4))
            assert isinstance(table, nj.Array) and table[-1] == 6 and type(table) is type(jnp.ones(1))
            traced = x + 1
        return traced + table[-1]

    assert float(f(1.0)) == 8.0
    assert float(nj.grad(f)(1.0)) == 1.0
    assert nj.vmap(f)(jnp.arange(2.0)).tolist() == [7.0, 8.0]


def test_derivatives_survive_compile_time_evaluation() -> None:
    def f(x: Any) -> Any:
        with nj.ensure_compile_time_eval():
            return x * x

    assert float(nj.grad(f)(3.0)) == 6.0 and float(nj.jit(nj.grad(f))(3.0)) == 6.0


def test_clear_caches_traces_again() -> None:
    f = nj.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x))
    count = []
    g = nj.jit(lambda x: (count.append(1), f(x))[1])
    assert float(g(1.0)) == 8.0 and float(g(1.0)) == 8.0 and len(count) == 1
    nj.clear_caches()
    assert float(g(1.0)) == 8.0 and len(count) == 2
    assert float(f(1.0)) == 8.0


def test_named_call_and_typeof() -> None:
    assert float(nj.jit(nj.named_call(lambda x: x + 1, name="one"))(1.0)) == 2.0
    assert str(nj.typeof(jnp.ones(3))) == "float32[3]"
    with pytest.raises(TypeError, match="not a valid JAX type"):
        nj.typeof("x")


def test_environment_info(capsys: Any) -> None:
    text = nj.print_environment_info(return_string=True)
    assert f"numjet: {nj.__version__}" in text and f"numpy:  {np.__version__}" in text
    assert nj.print_environment_info() is None
    assert "python:" in capsys.readouterr().out



def test_options_may_come_in_a_call_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []
    nj.debug.print(ordered=True)("x: {x}", x=42)
    nj.debug.callback(ordered=True)(seen.append, 100)
    nj.effects_barrier()
    assert capsys.readouterr().out == "x: 42\n" and seen == [100]
    for call in (lambda: nj.debug.print(ordered=True, a=42), lambda: nj.debug.callback(None, 42, ordered=True)):
        with pytest.raises(TypeError, match="unexpected arguments in the two-call form"):
            call()
    with pytest.raises(ValueError, match=r"Unused keyword arguments to `jax.debug.print`"):
        nj.debug.print(ordered=True)("{a}", a=42, partitioned=True)
    with pytest.raises(TypeError, match="lacks its first argument"):
        nj.debug.print(ordered=True)()


def test_log_hands_lines_to_the_handlers(caplog: pytest.LogCaptureFixture) -> None:
    nj.jit(nj.vmap(lambda x: nj.debug.log("x={} {y}", x, y=2 * x)))(np.arange(2))
    nj.debug.log(partitioned=True)("now {}", 1)
    nj.effects_barrier()
    assert sorted(r.getMessage() for r in caplog.records) == ["now 1", "x=0 0", "x=1 2"]
    assert {(r.name, r.levelname, os.path.basename(r.pathname)) for r in caplog.records} == {
        ("numjet.debug", "INFO", os.path.basename(__file__))}
    with pytest.raises(TypeError, match=r'debug.log expects a format string.*write debug.log\("{}", value\)'):
        nj.debug.log(3)
