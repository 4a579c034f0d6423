"""Dtypes of results where 64-bit numbers are enabled: those of quantiles, counts, ranks and angles."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

DTYPES = [("int8", "float32"), ("int32", "float32"), ("uint32", "float32"), ("int64", "float64"), ("bool", "float32"),
          ("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"), ("float64", "float64")]


@pytest.mark.parametrize(("given", "found"), DTYPES)
def test_quantiles_have_the_dtype_of_the_data(given, found):
    with nj.enable_x64(True):
        x = jnp.arange(4).astype(given)
        results = [jnp.quantile(x, q) for q in (0.5, np.float32(0.5), np.float64(0.5), jnp.array([0.25, 0.5]))]
        results += [jnp.percentile(x, 50), jnp.nanquantile(x, np.float64(0.5)), jnp.median(x), jnp.nanmedian(x)]
        assert [r.dtype.name for r in results] == [found] * len(results)
        weighted = jnp.quantile(x, 0.5, weights=jnp.ones(4), method="inverted_cdf")
        assert weighted.dtype == "float64"


def test_complex_shares_are_refused():
    with pytest.raises(ValueError, match="complex"):
        jnp.quantile(jnp.ones(3), 0.5j)


def test_counts_are_as_wide_as_indices():
    x = [3, 1, 1, 2 ** 32 + 1, -2 ** 33]
    with nj.enable_x64(True):
        counts = jnp.bincount(jnp.array(x), length=4)
        assert counts.dtype == "int64" and counts.tolist() == [1, 2, 0, 1]  # numbers beyond int32 do not wrap
        assert jnp.linalg.matrix_rank(jnp.ones((2, 2))).dtype == "int64"
    assert jnp.bincount(jnp.array([True, False, True])).tolist() == [1, 2]
    assert jnp.bincount(jnp.array([0, 2, 2 ** 32 - 1], "uint32"), length=3).tolist() == [1, 0, 1]
    assert jnp.linalg.matrix_rank(jnp.ones((2, 2))).dtype == "int32"


def test_angles_of_integers():
    with nj.enable_x64(True):
        assert jnp.angle(jnp.array([-1, 1])).dtype == "float64"
        assert jnp.angle(jnp.array([-1, 1], "float32")).dtype == "float32"
    assert jnp.angle(jnp.array([-1, 1])).tolist() == [np.float32(np.pi), 0]


def test_arrays_are_no_dtypes():
    x = jnp.arange(3)
    with pytest.warns(DeprecationWarning, match="Implicit conversion of an array to a dtype"):
        assert np.dtype(x) == np.int32
    nj.jit(lambda y: np.zeros(2, np.result_type(y)) + y)(1)   # of traced values NumPy gets it without a warning, as in JAX
    for make in (lambda d: jnp.zeros(2, d), lambda d: x.astype(d), lambda d: jnp.asarray([1.0], dtype=d)):
        with pytest.raises(ValueError, match="Passing an array as a dtype"):
            make(x)
        with pytest.raises(TypeError, match="Cannot construct a dtype from an array"):
            make(np.arange(3))
        assert make(np.float32(1)).dtype == np.float32
