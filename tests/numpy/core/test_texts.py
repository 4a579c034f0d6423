"""Numbers as text and letters of dtypes, as NumPy writes them; names of NumPy that JAX has not."""
from functools import partial
from itertools import product

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

NUMBERS = (0, 1, -1, 5, -10, 255, 2**31 - 1, -(2**31))


@pytest.mark.parametrize("number", NUMBERS)
def test_digits_of_integers(number):
    for given in (number, jnp.int32(number), np.int64(number)):
        for base in (2, 3, 16, 36):
            assert jnp.base_repr(given, base, 2) == np.base_repr(number, base, 2)
        for width in (None, 32, 40):
            assert jnp.binary_repr(given, width) == np.binary_repr(number, width)


def test_digits_of_numbers():
    for x, options in product((0.1, 1e10, -2.5e-7, np.nan, -np.inf, 0.0), ({}, {"precision": 3}, {"trim": "-", "sign": True})):
        for dtype in (np.float16, np.float32):
            with np.errstate(over="ignore"):
                own = dtype(x)
            assert jnp.format_float_positional(jnp.asarray(own), **options) == np.format_float_positional(own, **options)
            assert jnp.format_float_scientific(jnp.asarray(own), **options) == np.format_float_scientific(own, **options)


@pytest.mark.parametrize("write, x, error", [
    (jnp.base_repr, 1.5, TypeError), (jnp.binary_repr, jnp.ones(2, int), TypeError), (jnp.base_repr, (3, 37), ValueError),
    (jnp.format_float_positional, jnp.ones(2), TypeError), (jnp.format_float_scientific, jnp.zeros(0), TypeError)])
def test_what_is_no_number_is_refused(write, x, error):
    with pytest.raises(error):
        write(*x) if isinstance(x, tuple) else write(x)


@pytest.mark.parametrize("write", [jnp.base_repr, jnp.binary_repr, jnp.format_float_positional, jnp.format_float_scientific])
def test_traced_numbers_have_no_text(write):
    with pytest.raises(nj.errors.ConcretizationTypeError, match=write.__name__):
        nj.jit(lambda x: len(write(x)))(3)


def test_letters_of_dtypes():
    assert all(jnp.typename(c) == np.typename(c) for c in "?bBhHiIlLqQfdFDSU")
    for letters in product("fdFDgi", repeat=2):
        assert jnp.mintypecode(letters) == np.mintypecode(letters)
    assert jnp.mintypecode([jnp.ones(2), jnp.ones(2, jnp.complex64)]) == "F"


def test_names_of_c_types():
    for name in "half byte ubyte short ushort intc uintc intp uintp longlong ulonglong long ulong".split():
        assert jnp.dtype(getattr(jnp, name)) == np.dtype(getattr(np, name))


def test_rows_and_indices():
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jnp.row_stack([x, x + 1]), np.vstack([x, x + 1]))
    np.testing.assert_array_equal(nj.grad(lambda v: jnp.row_stack([v, v * v])[1].sum())(x), 2 * np.arange(3.0))
    np.testing.assert_array_equal(nj.vmap(lambda v: jnp.row_stack([v, v]))(x[None])[0], np.vstack([x, x]))
    for shape in ((2, 3), ((2, 3),), (), (0,), (4,)):
        assert list(jnp.ndindex(*shape)) == list(np.ndindex(*shape))


@pytest.mark.parametrize("call, error", [(partial(jnp.copyto, jnp.ones(2), 1.0), TypeError),
                                         (partial(jnp.asfortranarray, jnp.ones(2)), NotImplementedError)])
def test_what_needs_changing_arrays_or_layouts_says_what_to_do(call, error):
    with pytest.raises(error, match=r"jnp\."):
        call()


def test_shape_errors_of_linear_algebra():
    with pytest.raises(jnp.linalg.LinAlgError):
        jnp.linalg.pinv(jnp.ones(3))
    assert jnp.linalg.LinAlgError is np.linalg.LinAlgError
