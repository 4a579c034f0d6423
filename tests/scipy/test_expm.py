"""expm: no infinity on the way, and the numbers of squarings that norms ask for."""
import numpy as np
import pytest
import scipy.linalg as dense

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.linalg import expm


@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 4.0, 50.0])
def test_matrices_of_any_norm_pass_the_search_for_infinities(scale):
    a = scale * np.array([[0.0, 1.0], [-1.0, 0.0]], np.float32)
    with nj.debug_infs(True), nj.debug_nans(True):
        np.testing.assert_allclose(expm(jnp.asarray(a)), dense.expm(a), rtol=1e-4, atol=1e-4)


def test_nan_stays_nan():
    assert jnp.isnan(expm(jnp.array([[jnp.nan, 0.0], [0.0, 1.0]]))).all()


def test_halves_are_refused_without_a_warning(recwarn):
    with pytest.raises(NotImplementedError, match="expm: Unsupported dtype float16"):
        expm(jnp.eye(2, dtype=jnp.float16))
    assert not recwarn.list


def test_squarings_that_no_matrix_needs_are_left_out():
    """Products stand in branches only, in every batch, and a batch's matrices have their own numbers of squarings."""
    batch = np.array([0.1, 1.0, 30.0], np.float32)[:, None, None] * np.array([[0.2, 1.0], [-1.0, 0.3]], np.float32)
    for f in (expm, nj.vmap(expm)):
        np.testing.assert_allclose(nj.jit(f)(batch), [dense.expm(a) for a in batch], rtol=1e-3)
    loops = [e for e in nj.make_jaxpr(expm)(batch).jaxpr.eqns if e.primitive.name == "scan"]
    bodies = [{e.primitive.name for e in loop.params["jaxpr"].eqns} for loop in loops]
    assert any("cond" in body for body in bodies)
    assert not any("dot_general" in body or "jit" in body for body in bodies)
