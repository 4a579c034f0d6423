"""Products of a matrix, or its transpose, and a vector: lanes follow the axis that lies in order in memory."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.native_code import jit

FORMS = {
    "K.T @ u": lambda K, u: K.T @ u,
    "u @ K": lambda K, u: u @ K,
    "K @ v": lambda K, u: K.T.T @ u,
    "u @ K.T": lambda K, u: u @ K.T,
    "K.T @ u[:, None]": lambda K, u: (K.T @ u[:, None])[:, 0],
    "gradient": lambda K, u: nj.vjp(lambda v: K @ v, jnp.zeros(K.shape[1], K.dtype))[1](u)[0],
    "batch": lambda K, u: jnp.einsum("zij,zi->zj", jnp.stack([K, K + 1]), jnp.stack([u, u]))[0],
}
SHAPES = [(1, 9), (9, 8), (33, 17), (300, 3)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", FORMS)
def test_every_layout(name, dtype):
    if name == "gradient" and dtype == "int32":
        return
    form, rng = FORMS[name], np.random.default_rng(0)
    with nj.enable_x64(True):
        for rows, columns in SHAPES:
            across = name in ("K @ v", "u @ K.T")
            K, u = (rng.integers(-3, 4, s).astype(np.float64) for s in ((rows, columns), columns if across else rows))
            want = np.asarray(jnp.asarray(K @ u if across else u @ K, dtype))
            for fun in (form, lambda K, u: lax.fori_loop(0, 2, lambda i, c: form(K, u + 0 * c[0]), form(K, u))):
                got = nj.jit(fun)(jnp.asarray(K, dtype), jnp.asarray(u, dtype))
                np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("n", [16, 100, 160])
@pytest.mark.parametrize("name", ["K.T @ u", "gradient", "u @ K"])
def test_no_element_is_gathered(name, n):
    form = FORMS[name]
    fun = lambda K, u: lax.fori_loop(0, 9, lambda i, u: form(K, u) * 0.1, u)
    planned = compiler.planned(nj.make_jaxpr(nj.jit(fun))(np.ones((n, n), np.float32), np.ones(n, np.float32)), "f")
    assert "gather" not in llvm.emit(planned, jit.host())
