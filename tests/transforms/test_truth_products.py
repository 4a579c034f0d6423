"""Products with bools: selections, whatever the number, in and outside of `jit`."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.transforms.simplify import simplify

X = np.float32([[np.inf, -2, np.nan], [-np.inf, 3, np.nan]])
M = np.array([[False] * 3, [True] * 3])
CHOSEN = np.where(M, X, 0)

FUNCTIONS = {
    "operator": lambda x, m: x * m,
    "reflected": lambda x, m: m * x,
    "function": jnp.multiply,
    "chain": lambda x, m: x * 1.5 * m / 1.5,
    "rows by vmap": lambda x, m: nj.vmap(lambda x, m: x * m)(x, m),
    "rows by scan": lambda x, m: lax.scan(lambda c, xm: (c, xm[0] * xm[1]), 0.0, (x, m))[1],
    "elements by map": lambda x, m: lax.map(lambda xm: xm[0] * xm[1], (x.ravel(), m.ravel())).reshape(x.shape),
}
CONVERTED = {
    "astype": lambda x, m: x * m.astype(x.dtype),
    "lax": lambda x, m: lax.mul(x, lax.convert_element_type(m, x.dtype)),
    "twice": lambda x, m: (x * m.astype(x.dtype)) * m.astype(x.dtype),
    "reshaped": lambda x, m: (x.ravel() * m.astype(x.dtype).ravel()).reshape(x.shape),
    "transposed": lambda x, m: (x.T * m.astype(x.dtype).T).T,
    "rows by scan": lambda x, m: lax.scan(lambda c, xm: (c, xm[0] * xm[1].astype("float32")), 0.0, (x, m))[1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int8", "uint32"])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_of_every_dtype(dtype, wrap):
    with nj.enable_x64(True):
        x = jnp.asarray(np.where(np.isfinite(X), X, 7) if jnp.dtype(dtype).kind in "iu" else X).astype(dtype)
        for _ in range(4):   # tapes take over
            found = wrap(jnp.multiply)(x, jnp.asarray(M))
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(found), np.where(M, np.asarray(x), np.zeros((), x.dtype)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_a_bool_selects(name, wrap):
    np.testing.assert_array_equal(wrap(FUNCTIONS[name])(jnp.asarray(X), jnp.asarray(M)), CHOSEN)


@pytest.mark.parametrize("name", CONVERTED)
def test_a_converted_bool_selects_in_programs(name):
    np.testing.assert_array_equal(nj.jit(CONVERTED[name])(X, M), CHOSEN)


@pytest.mark.parametrize("scalar", [np.inf, -np.inf, np.nan, -3.0, 2])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_scalars(scalar, wrap):
    found = wrap(lambda m: (scalar * m, m * scalar))(jnp.asarray(M))
    for one in found:
        np.testing.assert_array_equal(one, np.where(M, scalar, 0))
        assert not np.signbit(np.asarray(one)[0]).any()
    np.testing.assert_array_equal(wrap(lambda x, m: x * m)(jnp.float32(scalar), jnp.bool_(False)), 0)


def test_masks_that_are_broadcast_are_numbers():
    with np.errstate(invalid="ignore"):
        expected = X * M[:, :1]
    for wrap in (lambda f: f, nj.jit):
        np.testing.assert_array_equal(wrap(jnp.multiply)(jnp.asarray(X), jnp.asarray(M[:, :1])), expected)


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_gradients_of_what_the_mask_excludes_are_zero(wrap):
    x, m = jnp.float32([np.inf, 4, np.nan]), np.array([False, True, False])
    np.testing.assert_array_equal(wrap(nj.grad(lambda x: jnp.sum(x * 3 * m)))(x), [0, 3, 0])
    np.testing.assert_array_equal(nj.jit(nj.grad(lambda x, m: jnp.sum(x * x * m)))(x, m), [0, 8, 0])
    tangent = wrap(lambda x, m: nj.jvp(lambda x: x * m, (x,), (jnp.float32([np.nan, 1, np.inf]),))[1])(x, m)
    np.testing.assert_array_equal(tangent, [0, 1, 0])


def test_the_program_that_users_see_is_a_product():
    closed = nj.make_jaxpr(jnp.multiply)(X, M)
    assert [e.primitive.name for e in closed.eqns] == ["convert_element_type", "mul"]
    assert [e.primitive.name for e in simplify(closed).eqns] == ["broadcast_in_dim", "select_n"]
