"""numjet.numpy.fft against numpy.fft."""
from __future__ import annotations

import numpy as np
import pytest

import numjet
import numjet.numpy as jnp

REAL = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * REAL[::-1]).astype(np.complex64)
NORMS = [None, "backward", "ortho", "forward"]


def check(name, x, **options):
    got, want = getattr(jnp.fft, name)(x, **options), getattr(np.fft, name)(x, **options)
    assert got.shape == want.shape
    assert got.dtype == (np.complex64 if want.dtype.kind == "c" else np.float32)
    np.testing.assert_allclose(np.asarray(got), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n, axis", [(None, -1), (3, 1), (8, 0), (1, 2), (7, -2)])
def test_one_axis(name, n, axis, norm):
    check(name, REAL if name in ("rfft", "ihfft") else COMPLEX, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("s, axes", [(None, None), (None, (1, 0)), ((2, 7), (0, 2)), ((4, 3, 6), (2, 0, 1)), (None, (-1,))])
def test_several_axes(name, s, axes, norm):
    x = REAL if name == "rfft" else COMPLEX
    check(name + "n", x, s=s, axes=axes, norm=norm)
    if axes is not None and len(axes) == 2:
        check(name + "2", x, s=s, axes=axes, norm=norm)


def test_the_last_axes_are_those_of_s():
    assert jnp.fft.fftn(REAL, s=(2, 3)).shape == (3, 2, 3)
    assert jnp.fft.fftn(REAL, axes=()).shape == (3, 4, 5)
    for x in (np.complex64(1 + 2j), REAL[0] + 2j):      # no axis along which irfftn would be real
        np.testing.assert_array_equal(jnp.fft.irfftn(x, axes=()), x)
    assert jnp.fft.fftn(np.ones((2,) * 5, np.float32)).shape == (2,) * 5
    assert jnp.fft.irfft(np.ones((4, 1), np.complex64)).shape == (4, 0)


def test_dtypes():
    assert jnp.fft.fft(jnp.ones(3, jnp.int8)).dtype == np.complex64
    assert jnp.fft.fft(jnp.ones(3, jnp.float16)).dtype == np.complex64
    assert jnp.fft.rfft(jnp.ones(3, bool)).dtype == np.complex64
    assert jnp.fft.irfft(REAL).dtype == np.float32
    with numjet.enable_x64(True):
        assert jnp.fft.fft(np.ones(3)).dtype == np.complex128 and jnp.fft.fftfreq(3).dtype == np.float64


@pytest.mark.parametrize("n, d", [(1, 1.0), (5, 1.0), (8, 0.25), (9, 3)])
def test_frequencies(n, d):
    np.testing.assert_allclose(np.asarray(jnp.fft.fftfreq(n, d)), np.fft.fftfreq(n, d), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(jnp.fft.rfftfreq(n, d)), np.fft.rfftfreq(n, d), rtol=1e-6)
    assert jnp.fft.fftfreq(n, d, dtype=jnp.float16).dtype == np.float16
    for scale in (jnp.float32(d), np.int8(2), jnp.bfloat16(0.5), True):   # also where its value is not known
        known, traced = jnp.fft.rfftfreq(n, scale), numjet.jit(lambda d: (jnp.fft.fftfreq(n, d), jnp.fft.rfftfreq(n, d)))(scale)
        np.testing.assert_allclose(traced[1], known, rtol=1e-6)
        np.testing.assert_allclose(traced[0], jnp.fft.fftfreq(n, scale), rtol=1e-6)


@pytest.mark.parametrize("axes", [None, 1, (0,), (-1, 0)])
def test_shifts(axes):
    x = np.arange(60).reshape(3, 4, 5)
    np.testing.assert_array_equal(np.asarray(jnp.fft.fftshift(x, axes)), np.fft.fftshift(x, axes))
    np.testing.assert_array_equal(np.asarray(jnp.fft.ifftshift(x, axes)), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize("call, text", [
    (lambda f: f.fft(REAL, axis=(1,)), "does not support multiple axes"), (lambda f: f.fft(REAL, n=0), "Shape should be"),
    (lambda f: f.fft(REAL, n=-1), "Shape should be"), (lambda f: f.fft(REAL, axis=5), "out of bounds"),
    (lambda f: f.fft(REAL, norm="foo"), "Invalid norm value foo"), (lambda f: f.fft2(REAL, s=(2,)), "different lengths"),
    (lambda f: f.fft2(REAL, axes=(0,)), "only supports 2 axes"), (lambda f: f.fftn(REAL, axes=(0, 0)), "repeated axes"),
    (lambda f: f.fftn(REAL, axes=(0, -3)), "repeated axes"), (lambda f: f.fft(1.0), "out of bounds"),
    (lambda f: f.rfft(COMPLEX), "only real valued"), (lambda f: f.ihfft(COMPLEX), "only real valued"),
    (lambda f: f.fftfreq(4, d=[1, 2]), "only takes a single value"), (lambda f: f.fftfreq([4]), "only takes an int")])
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call(jnp.fft)


def test_errors_name_the_function_as_programs_write_it():
    with pytest.raises(ValueError, match=r"jax\.numpy\.fft\.fft2 got \(2,\)"):
        jnp.fft.fft2(REAL, s=(2,))
    with pytest.raises(ValueError, match=r"The n argument of jax\.numpy\.fft\.fftfreq only takes"):
        jnp.fft.fftfreq([4])


def test_lists_are_refused():
    with pytest.raises(TypeError, match="requires ndarray or scalar arguments"):
        jnp.fft.fft([1, 2, 3])


def test_transformations():
    x = REAL[0, 0]
    power = lambda v: (jnp.abs(jnp.fft.rfft(v)) ** 2).sum()
    gradient = numjet.jit(numjet.grad(power))(x)
    step = np.eye(5, dtype=np.float32) * 1e-2
    want = [(np.sum(np.abs(np.fft.rfft(x + s)) ** 2) - np.sum(np.abs(np.fft.rfft(x - s)) ** 2)) / 2e-2 for s in step]
    np.testing.assert_allclose(np.asarray(gradient), want, rtol=1e-3, atol=1e-3)
    batched = numjet.vmap(jnp.fft.fft, in_axes=1, out_axes=1)(REAL)
    np.testing.assert_allclose(np.asarray(batched), np.fft.fft(REAL), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_no_axis_is_the_last(name):
    transform = getattr(jnp.fft, name)
    np.testing.assert_array_equal(transform(REAL, axis=None), transform(REAL))
