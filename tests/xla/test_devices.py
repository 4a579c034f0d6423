"""Devices: where arrays live, where programs run, and what moves."""
import pickle

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import config


@pytest.fixture(scope="module")
def xla():
    return nj.devices("xla_cpu")[0]


@pytest.fixture(scope="module")
def cpu():
    return nj.devices("cpu")[0]


def test_an_array_lives_where_it_was_put(xla, cpu):
    x = nj.device_put(np.arange(4, dtype=np.float32), xla)
    assert x.device == xla and x.committed and x.devices() == {xla}
    y = nj.device_put(x, cpu)
    assert y.device == cpu and y.committed
    np.testing.assert_array_equal(np.asarray(y), [0, 1, 2, 3])


def test_programs_run_where_their_arguments_are_committed(xla, cpu):
    f = nj.jit(lambda x, y: x * 2 + y)
    there = f(nj.device_put(np.ones(3, np.float32), xla), 1.0)
    here = f(np.ones(3, np.float32), 1.0)
    assert there.device == xla and there.committed and here.device == cpu
    np.testing.assert_array_equal(np.asarray(there), np.asarray(here))


def test_operations_run_where_their_operands_are_committed(xla):
    x = nj.device_put(np.ones(3, np.float32), xla)
    for y in (x + x, x * 2, 1 - x, jnp.sin(x), x < 2):
        assert y.device == xla


def test_uncommitted_arrays_follow_committed_ones(xla):
    x, y = nj.device_put(np.ones(3, np.float32), xla), jnp.arange(3.0)
    assert not y.committed and (x + y).device == xla
    assert nj.jit(lambda a, b: a + b)(y, x).device == xla


def test_arguments_on_two_devices_raise(xla, cpu):
    x = nj.device_put(np.ones(3, np.float32), xla)
    y = nj.device_put(np.ones(3, np.float32), cpu)
    with pytest.raises(ValueError, match=r"incompatible devices for .*argument first of .* with shape float32\[3\]"):
        nj.jit(lambda first, second: first + second)(x, y)
    with pytest.raises(ValueError, match=r"incompatible devices for jitted computation. Got argument x of add"):
        x + y


def test_jit_names_its_device(xla, cpu):
    f = nj.jit(lambda x: x + 1, device=xla)
    assert f(np.ones(2, np.float32)).device == xla
    for _ in range(2):  # arguments are moved, also those that are committed elsewhere
        out = f(nj.device_put(np.ones(2, np.float32), cpu))
        assert out.device == xla and out.committed and out.tolist() == [2, 2]
    committed = nj.device_put(np.ones(2, np.float32), cpu)
    assert nj.jit(lambda: committed * 2, device=xla)().device == xla
    assert nj.jit(lambda x: x + 1, backend="xla_cpu")(1.0).device == xla
    with pytest.raises(ValueError, match="both a device and a backend"):
        nj.jit(lambda x: x, device=xla, backend="cpu")
    with pytest.raises(TypeError, match="device must be a Device"):
        nj.jit(lambda x: x, device="gpu")


def test_the_default_device_of_a_block_and_of_the_configuration(xla, cpu):
    with nj.default_device(xla):
        assert jnp.sin(1.0).device == xla and nj.jit(lambda x: x + 1)(1.0).device == xla
        assert not nj.jit(lambda x: x + 1)(1.0).committed
    assert jnp.sin(1.0).device == cpu
    config.update("jax_platforms", "xla_cpu")
    try:
        assert nj.default_backend() == "xla_cpu" and nj.devices() == [xla]
        assert jnp.sin(1.0).device == xla
    finally:
        config.update("jax_platforms", None)
    assert nj.default_backend() == "cpu" and nj.devices() == [cpu]


def test_what_is_not_there_says_what_to_do():
    with pytest.raises(RuntimeError, match="Unknown backend 'abacus': expected one of"):
        nj.devices("abacus")
    with pytest.raises(RuntimeError, match=r"pip install 'numjet\[tpu\]'"):
        nj.devices("tpu")
    with pytest.raises(ValueError, match="device_put: Received invalid value 'here'"):
        nj.device_put(1.0, "here")


def test_donated_arrays_are_deleted_and_their_memory_taken_over(xla):
    f = nj.jit(lambda x: x * 2, donate_argnums=0)
    x = nj.device_put(np.ones(1000, np.float32), xla)
    place = x.unsafe_buffer_pointer()
    y = f(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == place
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)


def test_large_constants_are_inputs_not_text(xla):
    big = jnp.arange(50_000, dtype=jnp.float32)
    f = nj.jit(lambda x: x + big, device=xla)
    assert len(f.lower(1.0).as_text("stablehlo")) < 5000
    np.testing.assert_array_equal(np.asarray(f(1.0)), np.arange(50_000, dtype=np.float32) + 1)


def test_programs_compile_once(xla):
    f = nj.jit(lambda x: x * 3)
    x = nj.device_put(np.ones(5, np.float32), xla)
    f(x)
    size = f.cache_size()
    f(f(x))
    assert f.cache_size() == size == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                                   "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "int4"])
def test_values_travel_both_ways_bit_by_bit(xla, dtype):
    with nj.enable_x64(True):
        x = jnp.asarray(np.arange(-3, 4), jnp.float32).astype(dtype)
        y = nj.device_put(x, xla)
        assert y.dtype == x.dtype and y.device == xla
        assert np.asarray(y).tobytes() == np.asarray(x).tobytes()
        assert nj.device_get(y).dtype == x.dtype


def test_keys_travel(xla):
    key = nj.random.key(7)
    there = nj.device_put(key, xla)
    assert there.device == xla
    np.testing.assert_array_equal(nj.random.key_data(nj.device_put(there, nj.devices("cpu")[0])), nj.random.key_data(key))


def test_weak_types_survive_on_a_device(xla):
    x = nj.device_put(2.0, xla)
    assert x.weak_type and (x * jnp.int32(3)).weak_type and (1 - x).weak_type and nj.jit(lambda a: a * 2)(x).weak_type
    assert (x * nj.device_put(np.float16(3), xla)).dtype == np.float16
    assert not nj.device_put(np.float32(2), xla).weak_type


@pytest.mark.parametrize("value", [2.0, np.float32(2), np.ones(3, np.float32)])
def test_derivatives_stay_on_the_device_with_their_weak_type(xla, value):
    x = nj.device_put(value, xla)
    total = lambda a: jnp.sum(jnp.sin(a))
    for d in (nj.grad(total)(x), nj.jacfwd(total)(x), nj.vjp(total, x)[1](nj.numpy.ones_like(total(x)))[0]):
        assert d.device == xla and d.committed
    assert nj.grad(jnp.sin)(nj.device_put(2.0, xla)).weak_type and nj.grad(jnp.sin)(2.0).weak_type
    assert isinstance(nj.grad(lambda a: a)(2.0), nj.Array)


def test_arrays_made_like_others_lie_beside_them(xla):
    x = nj.device_put(np.array([0.0, 5.0, 7.0], np.float32), xla)
    for y in (jnp.zeros_like(x), jnp.full_like(x, 3), jnp.nonzero(x)[0], jnp.copy(x), jnp.array(x), x.copy()):
        assert y.device == xla and y.committed
    assert x.copy().unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert not jnp.zeros_like(jnp.ones(3)).committed


def test_indices_stay_on_the_device(xla):
    places = nj.device_put(np.array([2, 0]), xla)
    y = jnp.zeros(3).at[places].add(np.float32(1.5))
    assert y.device == xla and y.committed and y.tolist() == [1.5, 0, 1.5]
    assert jnp.arange(3)[places].device == xla and jnp.arange(6).reshape(2, 3)[1, places].tolist() == [5, 3]


def test_values_of_the_host_go_to_the_default_device(xla, cpu):
    made = {"asarray": lambda: jnp.asarray(np.ones(2)), "list": lambda: jnp.array([1, 2]), "scalar": lambda: jnp.asarray(3.0),
            "zeros": lambda: jnp.zeros(3), "arange": lambda: jnp.arange(3), "nonzero": lambda: jnp.nonzero(np.ones(2))[0],
            "index": lambda: jnp.arange(5)[np.array([1, 2])], "update": lambda: jnp.arange(5).at[1].set(7),
            "normal": lambda: nj.random.normal(nj.random.key(0), (2,))}
    with nj.default_device(xla):
        for name, make in made.items():
            assert make().device == xla and not make().committed, name
    for name, make in made.items():
        assert make().device == cpu, name


@pytest.mark.parametrize("value", [2.0, np.arange(3, dtype=np.int8), np.complex64(1j)])
def test_arrays_pickle(xla, cpu, value):
    for device in (cpu, xla):
        x = nj.device_put(value, device)
        y = pickle.loads(pickle.dumps(x))
        assert y.device == cpu and y.aval == x.aval and np.asarray(y).tobytes() == np.asarray(x).tobytes()
    key = nj.random.key(3)
    assert (nj.random.key_data(pickle.loads(pickle.dumps(key))) == nj.random.key_data(key)).all()


def test_empty_arrays(xla):
    x = nj.device_put(np.zeros((0, 3), np.float32), xla)
    assert np.asarray(x + 1).shape == (0, 3)


def test_several_virtual_devices_in_a_fresh_process(run_python):
    run_python("""
        import numjet as nj, numpy as np
        nj.config.update("jax_num_cpu_devices", 3)
        a, b, c = nj.devices("xla_cpu")
        x, y = nj.device_put(np.ones(2, np.float32), b), nj.device_put(np.ones(2, np.float32), c)
        assert (x + x).device == b and (y * 2).device == c
        assert nj.device_put(x, c).device == c
        try:
            x + y
        except ValueError as error:
            assert "device ids [1] on platform XLA_CPU" in str(error) and "device ids [2]" in str(error)
        else:
            raise AssertionError("mixed devices must raise")
    """)


def test_no_module_of_jax_is_imported(run_python):
    run_python("""
        import sys, numjet as nj
        nj.jit(lambda x: x + 1, backend="xla_cpu")(1.0)
        assert "jaxlib" in sys.modules and "jax" not in sys.modules
    """)


def test_jaxlib_is_not_imported_by_the_cpu_backend(run_python):
    run_python("""
        import sys, numjet as nj
        nj.jit(lambda x: x + 1)(1.0)
        assert "jaxlib" not in sys.modules
    """)


def test_stablehlo_text_needs_no_jaxlib(run_python):
    run_python("""
        import sys, numjet as nj
        sys.modules["jaxlib"] = None   # as if it were not installed
        assert "stablehlo.add" in nj.jit(lambda x: x + 1).lower(1.0).as_text("stablehlo")
    """)
