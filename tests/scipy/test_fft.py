"""numjet.scipy.fft against SciPy."""
import numpy as np
import pytest
import scipy.fft as oracle

import numjet as nj
from numjet.scipy import fft
from numjet.testing.records import check_function

NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis(name, kind):
    ours, theirs = getattr(fft, name), getattr(oracle, name)
    rng = np.random.default_rng(0)
    with nj.enable_x64(True):
        for n in (2, 3, 4, 7) if kind == 1 else (1, 2, 3, 4, 7):
            x = rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))
            for norm in NORMS if n == 3 else NORMS[:1]:
                np.testing.assert_allclose(ours(x.real, kind, norm=norm), theirs(x.real, kind, norm=norm), atol=1e-13)
        np.testing.assert_allclose(ours(x, kind, 5, 0), theirs(x, kind, 5, 0), atol=1e-13)
        np.testing.assert_allclose(nj.vmap(lambda v: ours(v, kind, 2))(x.real), theirs(x.real, kind, 2), atol=1e-13)


def test_several_axes():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    with nj.enable_x64(True):
        for options in ({}, {"axes": ()}, {"axes": (0, -1)}, {"s": (5, 2)}, {"s": (3, 7), "axes": (2, 1)}):
            for name in ("dctn", "idctn"):
                want = getattr(oracle, name)(x, **options)
                np.testing.assert_allclose(getattr(fft, name)(x, **options), want, atol=1e-12)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_derivatives(kind):
    with nj.enable_x64(True):
        check_function(lambda x: [fft.dct(x, kind) ** 2], [np.random.default_rng(0).standard_normal(5)], 2, f"dct {kind}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool", "complex64"])
def test_dtypes(dtype):
    want = "complex64" if dtype == "complex64" else "float32"
    out = fft.dct(nj.numpy.ones(3, dtype))
    assert out.dtype == want and not out.weak_type
    np.testing.assert_allclose(out, [6, 0, 0], atol=1e-6)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: fft.dct(x, 5), NotImplementedError, "types 1, 2, 3 and 4"),
    (lambda x: fft.dct(x, norm="x"), ValueError, "norm='x'"),
    (lambda x: fft.dct(x, n=0), ValueError, "at least 1 element"),
    (lambda x: fft.dct(x[0, 0]), ValueError, "out of bounds"),
    (lambda x: fft.dct([1.0]), TypeError, "list"),
    (lambda x: fft.dctn(x, axes=(0, 0)), ValueError, "repeated axis"),
    (lambda x: fft.dctn(x, s=(1, 2), axes=(0,)), ValueError, "one length"),
    (lambda x: fft.idctn(x, s=(1, 2, 3)), ValueError, r"at most x.ndim \(2\)"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("dtype", ["float16", "int32", "bool"])
def test_no_axes_leave_the_array(dtype):
    x = nj.numpy.ones((2, 3), dtype)
    assert fft.dctn(x, axes=()).dtype == fft.idctn(x, axes=()).dtype == x.dtype
