"""numjet.image: sums written out in NumPy, SciPy's and published values, derivatives, special shapes, errors."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import image
from numjet.core.walk import all_eqns
from numjet.foundation.config import enable_x64

METHODS = ("linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")
X = np.array([1.0, 2, 4, 8, 16, -3, 2])
# JAX 0.10: X to 3 and 9 pixels with antialias, without, and scaled by 0.7 and moved by 0.3, with, without
VALUES = {
    "linear": ([2.0714285, 7.9411764, 2.8571434], [1.6666666, 8, -1.3333349], [1.15, 2.517241, 6.666668, 10.419356, -0.5],
               [1, 2.4285712, 6.5714293, 14.642862, -0.5]),
    "cubic": ([1.6129037, 8.7326, 2.7298405], [1.535714, 8, -2.750002],
              [0.94829136, 2.2915995, 6.97937, 11.315338, -0.88874245],
              [0.9206729, 2.3263488, 6.1942434, 15.41746, -1.4705882]),
    "cubic-pytorch": ([1.6129037, 8.7326, 2.7298405], [1.4629627, 8, -3.5370405],
                      [0.94829136, 2.2915995, 6.97937, 11.315338, -0.88874245],
                      [0.9007838, 2.3714435, 5.8744516, 15.264677, -2.28125]),
    "lanczos3": ([1.2282048, 8.9316225, 2.925778], [1.5485448, 8, -3.4879675],
                 [0.9886505, 1.9409295, 7.5763435, 11.428774, -1.2224276],
                 [0.9541011, 2.3179972, 5.3221297, 15.265634, -2.3300734]),
}


@pytest.mark.parametrize("method", VALUES)
def test_values_of_jax(method):
    down, hard, moved, moved_hard = VALUES[method]
    for antialias, small, scaled in ((True, down, moved), (False, hard, moved_hard)):
        np.testing.assert_allclose(image.resize(jnp.array(X), (3,), method, antialias), small, rtol=1e-5, atol=1e-5)
        got = image.scale_and_translate(jnp.array(X), (5,), (0,), jnp.array([0.7]), jnp.array([0.3]), method, antialias)
        np.testing.assert_allclose(got, scaled, rtol=2e-5, atol=2e-5)


def test_area_is_the_mean_of_what_lies_below():
    np.testing.assert_allclose(image.resize(jnp.arange(14.0), (7,), "area"), np.arange(14.0).reshape(7, 2).mean(1))
    np.testing.assert_allclose(image.resize(jnp.array(X), (14,), "area"), np.repeat(X, 2))
    np.testing.assert_allclose(image.resize(jnp.array(X), (3,), "area")[0], (1 + 2 + 4 / 3) / (7 / 3), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float16, np.complex64])
def test_nearest_takes_pixels_and_keeps_dtypes(dtype):
    x = np.arange(15).reshape(3, 5).astype(dtype)
    got = image.resize(x, (6, 2), "nearest")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.repeat(x, 2, 0)[:, [1, 3]])


@pytest.mark.parametrize("dtype,expected", [(np.int32, np.float32), (np.bool_, np.float32), (np.float16, np.float16),
                                            (jnp.bfloat16, jnp.bfloat16), (np.complex64, np.complex64)])
def test_dtypes(dtype, expected):
    got = image.resize(X.astype(dtype), (4,), "cubic")
    assert got.dtype == expected
    want = image.resize(X.astype(dtype).astype(np.complex64), (4,), "cubic")
    np.testing.assert_allclose(np.asarray(got).astype(np.complex64), want, atol=1e-1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_constant_images_stay_constant(method, antialias):
    got = image.resize(np.full((5, 4), 3.0, np.float32), (2, 9), method, antialias)
    np.testing.assert_allclose(got, 3.0, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives(method):
    x = np.random.default_rng(0).standard_normal((5, 6))
    with enable_x64():
        def f(x, scale, translation):
            return image.scale_and_translate(x, (4, 7), (0, 1), scale, translation, method)
        args = (jnp.array(x), jnp.array([0.83, 1.21]), jnp.array([0.13, -0.38]))
        tangents = tuple(jnp.ones(a.shape) * 0.3 for a in args)
        _, change = nj.jvp(f, args, tangents)
        step = 1e-6
        ahead, behind = (f(*(a + s * t for a, t in zip(args, tangents, strict=True))) for s in (step, -step))
        np.testing.assert_allclose(change, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)
        back = nj.vjp(f, *args)[1](jnp.ones((4, 7)))
        np.testing.assert_allclose(sum(jnp.sum(b * t) for b, t in zip(back, tangents, strict=True)), jnp.sum(change), rtol=1e-9)


def test_jit_and_vmap_agree():
    x = jnp.array(np.random.default_rng(0).standard_normal((3, 5, 6)), jnp.float32)
    def f(x, s):
        return image.scale_and_translate(x, (4, 6), (-2,), s, s / 3, "lanczos3")
    s = jnp.array([[0.7], [1.0], [1.8]])
    with nj.numpy_rank_promotion("raise"):
        got = nj.jit(nj.vmap(f))(x, s)
    np.testing.assert_allclose(got, np.stack([f(a, b) for a, b in zip(x, s, strict=True)]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape,target", [((1,), (0,)), ((5, 5), (5, 0)), ((0, 3), (0, 5)), ((), ())])
@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_empty_images_and_scalars(shape, target, method):
    assert image.resize(jnp.ones(shape), target, method).shape == target


@pytest.mark.parametrize("call,error,match", [
    (lambda: image.resize(X, (3,), "foo"), ValueError, "Unknown resize method"),
    (lambda: image.resize(X, (3, 4), "linear"), ValueError, "number of dimensions"),
    (lambda: image.resize(X, (-3,), "linear"), ValueError, "negative"),
    (lambda: image.resize(X, (3.5,), "linear"), TypeError, "integer"),
    (lambda: image.resize(X[:0], (3,), "linear"), ValueError, "empty axis"),
    (lambda: image.scale_and_translate(X, (3,), (0,), X[:1], X[:1], "nearest"), ValueError, "Nearest"),
    (lambda: image.scale_and_translate(X, (3,), (0,), X[:2], X[:1], "linear"), ValueError, "one scale and translation"),
    (lambda: image.scale_and_translate(X, (3,), (), X[:0], X[:0], "linear"), ValueError, "spatial_dims"),
    (lambda: image.scale_and_translate(X, (3,), (1,), X[:1], X[:1], "linear"), ValueError, "out of bounds"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def products(order, size, target):
    """Multiply-adds of resampling one axis after the other."""
    shape, cost = list(size), 0
    for d in order:
        cost += math.prod(shape) * target[d]
        shape[d] = target[d]
    return cost


@pytest.mark.parametrize("size, target", [((30, 20), (60, 5)), ((20, 30), (5, 60)), ((9, 50, 20), (18, 10, 15)),
                                          ((8, 8), (16, 12))])
def test_axes_are_resampled_in_the_cheapest_order(size, target):
    pixels = jnp.asarray(np.random.default_rng(0).normal(size=size), jnp.float32)
    program = nj.make_jaxpr(lambda x: image.resize(x, target, "linear"))(pixels).jaxpr
    dots = [e for e in all_eqns(program) if e.primitive.name == "dot_general"]
    terms = [math.prod(e.invars[0].aval.shape[d] for d in e.params["dimension_numbers"][0][0]) for e in dots]
    cost = sum(math.prod(e.outvars[0].aval.shape) * n for e, n in zip(dots, terms, strict=True))
    assert cost == min(products(order, size, target) for order in itertools.permutations(range(len(size))))
    step = pixels
    for d in range(len(size)):
        step = image.resize(step, [target[k] if k <= d else size[k] for k in range(len(size))], "linear")
    np.testing.assert_allclose(image.resize(pixels, target, "linear"), step, rtol=1e-5, atol=1e-5)
