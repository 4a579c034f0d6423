"""numjet.nn.initializers: dtypes, shapes, compiled and over a batch of keys, and the variance that each promises."""
from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.nn import initializers
from tests.operands import Elsewhere, check_complete

# With the variance of (fan_in, fan_out); None where numbers depend on each other, or are no random ones.
INITIALIZERS = {
    "zeros": (initializers.zeros, None), "ones": (initializers.ones, None), "constant": (initializers.constant(1.5), None),
    "uniform": (initializers.uniform(0.5), lambda m, n: 0.25 / 12), "normal": (initializers.normal(0.5), lambda m, n: 0.25),
    "truncated_normal": (initializers.truncated_normal(0.5), lambda m, n: 0.25 * 0.87962566103423978 ** 2),
    "variance_scaling": (initializers.variance_scaling(3.0, "fan_geo_avg", "normal"), lambda m, n: 3 / math.sqrt(m * n)),
    "glorot_normal": (initializers.glorot_normal(), lambda m, n: 2 / (m + n)),
    "glorot_uniform": (initializers.glorot_uniform(), lambda m, n: 2 / (m + n)),
    "xavier_normal": (initializers.xavier_normal(), lambda m, n: 2 / (m + n)),
    "xavier_uniform": (initializers.xavier_uniform(), lambda m, n: 2 / (m + n)),
    "he_normal": (initializers.he_normal(), lambda m, n: 2 / m), "he_uniform": (initializers.he_uniform(), lambda m, n: 2 / m),
    "kaiming_normal": (initializers.kaiming_normal(), lambda m, n: 2 / m),
    "kaiming_uniform": (initializers.kaiming_uniform(), lambda m, n: 2 / m),
    "lecun_normal": (initializers.lecun_normal(), lambda m, n: 1 / m),
    "lecun_uniform": (initializers.lecun_uniform(), lambda m, n: 1 / m),
    "orthogonal": (initializers.orthogonal(), None), "delta_orthogonal": (initializers.delta_orthogonal(), None)}
REAL = {"uniform", "truncated_normal"}  # bounds in the complex plane are none
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
          "complex64": np.complex64, "complex128": np.complex128}
MATRICES = ((3, 4), (0, 3), (1, 1), (2, 3, 4), (3, 0), (2, 1, 3, 5))
FIELDS = ((3, 2, 4), (3, 3, 0, 4), (1, 1, 1), (2, 3, 1, 2, 2))
EVERY_ONE = pytest.mark.parametrize("name", INITIALIZERS)


def pairs():
    return [(name, dtype) for name in INITIALIZERS for dtype in DTYPES if name not in REAL or "complex" not in dtype]


def test_every_initializer_is_tested():
    check_complete(initializers, {}, {name: Elsewhere("nn/test_initializers.py", "random") for name in INITIALIZERS})


@pytest.mark.parametrize("name, dtype", pairs())
def test_dtypes_and_shapes(name, dtype):
    init = INITIALIZERS[name][0]
    with nj.enable_x64("64" in dtype or "128" in dtype):
        for shape in (FIELDS if name == "delta_orthogonal" else MATRICES)[:6 if dtype == "float32" else 2]:
            found = init(random.key(0), shape, DTYPES[dtype])
            assert (found.shape, found.dtype) == (shape, DTYPES[dtype])
            assert np.isfinite(np.asarray(found).astype(complex)).all()


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name, dtype in pairs() if INITIALIZERS[name][1]])
def test_variance_in_every_dtype(name, dtype):
    init, variance = INITIALIZERS[name]
    with nj.enable_x64("64" in dtype or "128" in dtype):
        found = np.asarray(init(random.key(1), (90, 60), DTYPES[dtype])).astype(complex)
    mean = 0.25 if name == "uniform" else 0
    assert abs((abs(found - mean) ** 2).mean() / variance(90, 60) - 1) < 0.06


@EVERY_ONE
def test_compiled_and_over_a_batch_of_keys(name):
    init, shape = INITIALIZERS[name][0], (3, 2, 4)
    keys = random.split(random.key(2), 3)
    rows = np.stack([init(key, shape) for key in keys])
    for found in (nj.jit(nj.vmap(lambda key: init(key, shape)))(keys), nj.vmap(lambda key: init(key, shape))(keys)):
        np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nj.jit(init, static_argnums=1)(keys[0], shape), rows[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("column_axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_in_every_dtype(column_axis, dtype):
    with nj.enable_x64("64" in dtype or "128" in dtype):
        found = initializers.orthogonal(2.0, column_axis)(random.key(0), (3, 5, 2), DTYPES[dtype])
        columns = np.moveaxis(np.asarray(found).astype(complex), column_axis, -1).reshape(-1, found.shape[column_axis])
    unit = 4 * np.eye(columns.shape[1])
    np.testing.assert_allclose(columns.conj().T @ columns, unit, atol=8e-2 if "16" in dtype else 1e-5)


@pytest.mark.parametrize("name", sorted(REAL))
def test_no_complex_bounds(name):
    with pytest.raises((TypeError, ValueError)):
        INITIALIZERS[name][0](random.key(0), (2, 2), jnp.complex64)


def test_derivatives_of_the_scale():
    for make in (initializers.uniform, initializers.normal, initializers.truncated_normal, initializers.orthogonal):
        draw = lambda scale, make=make: make(scale)(random.key(0), (3, 2))
        np.testing.assert_allclose(nj.jacfwd(draw)(2.0), draw(2.0) / 2, rtol=1e-6, atol=1e-7)
