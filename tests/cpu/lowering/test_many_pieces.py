"""Arrays joined of thousands of small pieces: each is stored by itself, and no iteration searches among them."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu import compiler

JOINED = {"concatenate": (lambda a: jnp.concatenate(a) * 2, lambda a: np.concatenate(a) * 2),
          "stack": (lambda a: jnp.stack(a) * 2, lambda a: np.stack(a) * 2),
          "columns": (lambda a: jnp.stack(a, 1) * 2, lambda a: np.stack(a, 1) * 2),
          "sum": (lambda a: jnp.concatenate(a).sum(), lambda a: np.concatenate(a).sum())}


def pieces(count, size):
    return [np.arange(k % 7, k % 7 + size, dtype=np.float32) for k in range(count)]


@pytest.mark.parametrize("how", JOINED)
@pytest.mark.parametrize("count, size", [(70, 1), (70, 30), (300, 9), (1100, 2)])
def test_values(how, count, size):
    function, expected = JOINED[how]
    np.testing.assert_allclose(nj.jit(function)(pieces(count, size)), expected(pieces(count, size)), rtol=1e-5)


def test_pieces_of_several_shapes():
    parts = [np.full((k % 3, 2), k, np.float32) for k in range(400)]
    np.testing.assert_array_equal(nj.jit(jnp.concatenate)(parts), np.concatenate(parts))


@pytest.mark.parametrize("how", ["concatenate", "stack", "sum"])
@pytest.mark.parametrize("size", [2, 30])
def test_code_has_no_search_and_grows_with_the_pieces(how, size):
    lines = {}
    for count in (600, 1200):
        text = compiler.as_text(nj.make_jaxpr(JOINED[how][0])(pieces(count, size)), "f")
        assert "if " not in text and "select" not in text
        lines[count] = text.count("\n")
    assert lines[1200] <= 2.1 * lines[600]




def test_stacks_of_stacks_in_a_batch_are_one_loop():
    """Slopes of a chain of rotations, for each angle: each 4 x 4 matrix is computed where it is multiplied, in one loop."""
    def rotation(q):
        c, s = jnp.cos(q), jnp.sin(q)
        rows = [[c, -s, 0.0, 0.1], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.05], [0.0, 0.0, 0.0, 1.0]]
        return jnp.stack([jnp.stack([jnp.asarray(e, jnp.float32) for e in row]) for row in rows])

    def places(q):
        at, out = jnp.eye(4), []
        for k in range(len(q)):
            at = at @ rotation(q[k])
            out.append(at[:3, 3])
        return jnp.stack(out)
    q = np.linspace(-1, 1, 20).astype(np.float32)
    assert compiler.as_text(nj.make_jaxpr(nj.jacfwd(places))(q), "f").count("for ") <= 50   # a loop for each piece were 66
    np.testing.assert_allclose(nj.jit(nj.jacfwd(places))(q), nj.jacrev(places)(q), rtol=1e-4, atol=1e-5)
