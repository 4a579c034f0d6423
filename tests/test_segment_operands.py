"""Every function of numjet.ops on operands of every kind against loops over the rows of the data."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import ops
from tests.operands import check_compiled, check_complete, check_derivatives, check_refused, check_values
from tests.segment_operands import CASES

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(ops, CASES, {})


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@EVERY_FUNCTION
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_compiled(name):
    check_compiled(CASES[name], ["rank 0", "empty", "uint8", "bfloat16", "special values reversed", "complex64"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])


@pytest.mark.parametrize("name", ops.__all__)
def test_over_a_batch(name):
    """Of data, of numbers, and of both."""
    function, rng = getattr(ops, name), np.random.default_rng(0)
    data, ids = rng.normal(0, 1, (4, 6, 2)).astype(np.float32), rng.integers(-1, 4, (4, 6)).astype(np.int32)
    for axes in ((0, None), (None, 0), (0, 0)):
        operands = [x if axis == 0 else x[0] for x, axis in zip((data, ids), axes, strict=True)]
        found = nj.jit(nj.vmap(lambda x, k: function(x, k, 3), axes))(*operands)
        rows = [function(data[k if axes[0] == 0 else 0], ids[k if axes[1] == 0 else 0], 3) for k in range(4)]
        np.testing.assert_allclose(found, np.stack(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ops.__all__)
def test_no_segments(name):
    for data in (np.ones((3, 2), np.float32), np.ones((0, 2), np.int32)):
        assert getattr(ops, name)(data, np.zeros(len(data), np.int32), 0).shape == (0, 2)


def test_derivatives_of_products_of_different_segments():
    data, ids = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2), np.array([2, 0, 1])
    slope = nj.jacrev(lambda x: ops.segment_prod(x, ids, 3, unique_indices=True))(data)
    np.testing.assert_allclose(slope, np.einsum("kn,ij->kinj", np.eye(3)[:, ids], np.eye(2)))
