"""Programs that a widely used compiler got wrong, or died on."""
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def test_vmap_over_16385_rows():
    with nj.enable_x64():
        eye = jnp.eye(4)
        rows = np.random.default_rng(0).normal(size=(16_385, 4))
        out = nj.jit(nj.vmap(lambda row: jnp.sum((eye @ row) ** 2)))(rows)
        np.testing.assert_allclose(out, (rows ** 2).sum(1), rtol=1e-12)


def test_nested_scans_of_overlapping_slices_of_a_padded_array():
    x = np.arange(20, dtype=np.float32)

    @nj.jit
    def run(x):
        padded = jnp.pad(x, 5)

        def outer(_, i):
            _, blocks = lax.scan(lambda c, j: (c, lax.dynamic_slice(padded, (i + j,), (4,))), 0, jnp.arange(3))
            return 0, blocks
        return lax.scan(outer, 0, jnp.arange(20))[1]
    padded = np.pad(x, 5)
    want = np.stack([np.stack([padded[i + j:i + j + 4] for j in range(3)]) for i in range(20)])
    np.testing.assert_array_equal(run(x), want)


def test_shifted_copy_of_itself_then_reshape():
    x = np.arange(1000, dtype=np.float32)
    out = nj.jit(lambda v: lax.dynamic_update_slice(v, v[:-1], (1,)).reshape(10, 100) + 0)(x)
    np.testing.assert_array_equal(out, np.concatenate([x[:1], x[:-1]]).reshape(10, 100))


def test_contraction_of_rank_8_arrays_with_size_9():
    shape = (9, 1, 2, 9, 1, 2, 1, 9)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    out = nj.jit(lambda a, b: jnp.tensordot(a, b, axes=((0, 3, 7), (0, 3, 7))))(x, x)
    np.testing.assert_allclose(out, np.tensordot(x, x, axes=((0, 3, 7), (0, 3, 7))), rtol=1e-3, atol=1e-3)


def test_reductions_with_a_term_that_is_zero_under_grad():
    f = lambda x: jnp.sum(jnp.sin(x) + 0.0 * x + (x - x)) + jnp.sum(jnp.zeros(5) * x)
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(nj.jit(nj.grad(f))(x), np.cos(x), rtol=1e-6)


def test_floor_divide_in_a_fori_loop():
    out = nj.jit(lambda n: lax.fori_loop(0, 10, lambda i, c: c + (i - 7) // 3 + i // n, 0))(4)
    assert int(out) == sum((i - 7) // 3 + i // 4 for i in range(10))


def test_unrolled_products_and_updates_of_length_400():
    rng = np.random.default_rng(0)
    w = (rng.normal(size=(4, 4)) / 3).astype(np.float32)

    def chain(x):
        for k in range(400):
            x = x.at[k % 4].set(jnp.tanh(w @ x)[(k + 1) % 4])
        return x
    x = rng.normal(size=4).astype(np.float32)
    with nj.disable_jit():
        want = chain(jnp.asarray(x))
    np.testing.assert_allclose(nj.jit(chain)(x), want, rtol=1e-4, atol=1e-5)
