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
