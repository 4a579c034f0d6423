"""What goes wrong on a device raises Python exceptions that say what happened, and the device goes on working."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.errors import JaxRuntimeError

ONES = np.ones(3, np.float32)


@pytest.fixture
def xla():
    device = nj.devices("xla_cpu")[0]
    yield device
    assert float(nj.jit(lambda x: x + 1, device=device)(1.0)) == 2


def test_out_of_memory(xla):
    huge = nj.jit(lambda x: jnp.sin(jnp.broadcast_to(x, (1 << 22, 1 << 22))), device=xla)
    with pytest.raises(JaxRuntimeError, match="Out of memory allocating 70368744177664 bytes"):
        huge(1.0).block_until_ready()


@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("donated", [(0,), (0, 1)])
def test_an_array_donated_and_given_once_more(xla, donated):
    x = nj.device_put(ONES, xla)
    with pytest.raises(JaxRuntimeError, match="previously donated in the same call"):
        nj.jit(lambda a, b: a + b, donate_argnums=donated)(x, x)


def test_donated_arrays_cannot_be_used_again(xla):
    f, x = nj.jit(lambda a: a + 1, donate_argnums=0), nj.device_put(ONES, xla)
    f(x)
    for use in (f, lambda a: a + 1, np.asarray, lambda a: nj.device_put(a, nj.devices("cpu")[0])):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
            use(x)


def test_deleted_arrays(xla):
    x = nj.device_put(ONES, xla)
    x.delete()
    x.delete()
    assert x.is_deleted()
    for use in (lambda: repr(x), lambda: x + 1, x.block_until_ready, x.unsafe_buffer_pointer, lambda: nj.jit(jnp.sin)(x)):
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            use()


def _raises(v):
    raise ValueError("the sky is falling")


@pytest.mark.parametrize(("callback", "message"), [
    (_raises, r"^pure_callback of _raises at test_errors.py:.* failed: ValueError: the sky is falling(\n|$)"),
    (lambda v: np.ones(4, np.float32), r"float32\[4\]"),
    (lambda v: np.ones(3, np.int64), "returned int32.* promises float32"),
    (lambda v: (v, v), "pure_callback: .*2"),
    (lambda v: "x", "pure_callback"),
])
def test_callbacks_that_fail(xla, callback, message):
    f = lambda x: nj.pure_callback(callback, nj.ShapeDtypeStruct((3,), np.float32), x)
    for run in (nj.jit(f, device=xla), f):
        with pytest.raises(JaxRuntimeError, match=message) as caught:
            np.asarray(run(nj.device_put(ONES, xla)))
        assert callback is not _raises or isinstance(caught.value.__cause__, ValueError)


def test_debug_callbacks_that_fail(xla):
    f = nj.jit(lambda x: [nj.debug.callback(_raises, x), x + 1][1], device=xla)
    with pytest.raises(JaxRuntimeError, match="the sky is falling"):
        f(1.0).block_until_ready()
        nj.effects_barrier()


@pytest.mark.parametrize(("flag", "numerator", "kind"), [("jax_debug_nans", 0.0, "nan"), ("jax_debug_infs", 1.0, "inf")])
def test_invalid_values_are_found(xla, flag, numerator, kind):
    x = nj.device_put(np.float32(numerator), xla)
    nj.config.update(flag, True)
    try:
        with pytest.raises(FloatingPointError, match=rf"invalid value \({kind}\) encountered in div .*test_errors"):
            x / 0
        with pytest.raises(FloatingPointError, match=rf"invalid value \({kind}\) encountered in divide"):
            nj.jit(divide)(x)
    finally:
        nj.config.update(flag, False)


def divide(x):
    return x / 0


def test_programs_for_other_shapes(xla):
    compiled = nj.jit(lambda x: x, device=xla).lower(ONES).compile()
    with pytest.raises(TypeError, match=r"compiled with float32\[3\] and called with float32\[4\]"):
        compiled(np.ones(4, np.float32))
