"""Operations on a part of a device: on the CPU they run as all others, and XLA's programs say so."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental.compute_on import compute_on, compute_on2
from numjet.memory import Space

W = np.arange(4, dtype=np.float32)
HOST = '_xla_compute_type = "host"'


def lines(f, op):
    return [line for line in nj.jit(f).lower(W).as_text().splitlines() if f"stablehlo.{op}" in line]


def block(x):
    with compute_on("device_host"):
        y = jnp.sin(x)
    return jnp.cos(y)


def test_values_are_the_same_and_programs_name_the_part():
    assert nj.jit(block)(W).tolist() == nj.jit(lambda x: jnp.cos(jnp.sin(x)))(W).tolist()
    assert np.allclose(block(W), np.cos(np.sin(W)), atol=1e-6)
    assert HOST in lines(block, "sine")[0] and HOST not in lines(block, "cosine")[0]
    jitted = compute_on("device_host")(nj.jit(lambda x: x * 2))
    f = lambda x: jitted(x) + 1
    assert f(W).tolist() == nj.jit(f)(W).tolist() == [1, 3, 5, 7]
    assert HOST in lines(f, "multiply")[0] and HOST not in lines(f, "add")[0]
    eqns = nj.make_jaxpr(block)(W).eqns
    assert [e.ctx.compute_type for e in eqns] == ["device_host", None]

    def again(x):
        with eqns[0].ctx.manager:
            return jnp.sin(x)
    assert nj.make_jaxpr(again)(W).eqns[0].ctx.compute_type == "device_host"


def test_jitted_functions_in_a_block_are_programs_of_their_own():
    traced = []

    @nj.jit
    def f(x):
        traced.append(x)
        return x * 2
    f(W), f(W)
    with compute_on("device_host"):
        assert f(W).tolist() == [0, 2, 4, 6] and HOST in f.lower(W).as_text()
    assert len(traced) == 2 and HOST not in f.lower(W).as_text()


def test_transformations_keep_the_part():
    scaled = compute_on("device_host")(lambda x: jnp.exp(x) * 2)
    assert HOST in lines(nj.vmap(scaled), "exponential")[0]
    grad = nj.grad(lambda x: jnp.sin(scaled(x)).sum())
    assert all(HOST in line for line in lines(grad, "multiply")) and HOST not in lines(grad, "cosine")[0]
    assert all(HOST in line for line in lines(lambda x: nj.lax.scan(lambda c, a: (c, scaled(a)), 0.0, x)[1], "exponential"))


@pytest.mark.parametrize("kind, words", [
    ("device", '_xla_compute_type = "dense"'), ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
    ("gpu_stream:1", '_xla_stream_annotation = "1"')])
def test_parts(kind, words):
    inner = compute_on(kind)(lambda x: x * 2)
    assert words in lines(compute_on("device_host")(lambda x: inner(x) + 1), "multiply")[0]


def test_results_in_memories():
    f = compute_on2(lambda x: (x * 2, x + 1), compute_type="device_host", out_memory_spaces=(Space.Host, Space.Device))
    for g in (f, nj.jit(f)):
        assert list(map(str, map(nj.typeof, g(W)))) == ["float32<host>[4]", "float32[4]"]
    decorated = compute_on2(compute_type="device_host", out_memory_spaces=Space.Host)(jnp.sin)
    assert str(nj.typeof(decorated(W))) == "float32<host>[4]"


def test_bad_parts_are_errors():
    with pytest.raises(ValueError, match=r"Invalid compute type zz. Current supported values are `device_host`"):
        compute_on("zz")
    with pytest.raises(ValueError, match="Invalid compute type gpu_stream:x"):
        compute_on("gpu_stream:x")
    with pytest.raises(TypeError, match="compute_type argument must be a string"):
        compute_on(3)
    with pytest.raises(TypeError, match=r"out_memory_spaces are of type jax.memory.Space, got 3"):
        compute_on2(jnp.sin, compute_type="device", out_memory_spaces=3)(W)
    with pytest.raises(NotImplementedError, match="compiler_options"):
        compute_on2(jnp.sin, compute_type="device", out_memory_spaces=Space.Host, compiler_options={})
