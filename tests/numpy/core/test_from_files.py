"""Arrays from texts and files, and conversions that check."""
import io

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp


def test_texts_and_files(tmp_path):
    assert jnp.loadtxt(io.StringIO("1 2\n3 4")).tolist() == [[1, 2], [3, 4]]
    gaps = jnp.genfromtxt(io.StringIO("1,,3"), delimiter=",")
    assert gaps.dtype == np.float32 and gaps[0] == 1 and bool(jnp.isnan(gaps[1]))
    with pytest.raises(TypeError):
        jnp.genfromtxt(io.StringIO("a b"), dtype=str)
    np.arange(4, dtype=np.int32).tofile(tmp_path / "numbers")
    assert jnp.fromfile(tmp_path / "numbers", dtype=np.int32).tolist() == [0, 1, 2, 3]


def test_conversions():
    record = np.rec.array([(1,), (2,)], dtype=[("a", int)])
    assert isinstance(jnp.asanyarray([1, 2]), nj.Array) and jnp.asanyarray(record.a).tolist() == [1, 2]
    assert jnp.asarray_chkfinite([1.0, 2.0]).tolist() == [1, 2]
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="infs or NaNs"):
            jnp.asarray_chkfinite([1.0, bad])
    assert jnp.common_type(jnp.ones(2), jnp.ones(2, jnp.complex64)) == np.complex64
    with pytest.raises(TypeError):
        jnp.common_type(jnp.ones(2, bool))


@pytest.mark.parametrize("bins", [1, 10, np.array([0.0, 0.5, 2.0])])
@pytest.mark.parametrize("values", [np.array([0.1, 0.7, 1.5]), np.array([3.0]), np.zeros(0)])
def test_edges_of_bins(values, bins):
    found = jnp.histogram_bin_edges(values.astype(np.float32), bins)
    np.testing.assert_allclose(found, np.histogram_bin_edges(values, bins), rtol=1e-6)


def test_print_options():
    before = jnp.get_printoptions()["precision"]
    try:
        jnp.set_printoptions(precision=3)
        assert jnp.get_printoptions()["precision"] == 3
    finally:
        jnp.set_printoptions(precision=before)


def test_dtypes_of_dlpack():
    for dtype in ("float32", "int8", "complex64", "bfloat16", "bool"):
        assert nj.dlpack.is_supported_dtype(dtype)
        x = jnp.zeros(2, dtype)
        assert jnp.from_dlpack(x).dtype == dtype
    assert not nj.dlpack.is_supported_dtype("int4")
