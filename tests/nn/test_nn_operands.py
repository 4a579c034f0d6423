"""Every function of numjet.nn on operands of every kind against its definition in NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import nn
from tests.nn.nn_operands import CASES, ELSEWHERE
from tests.operands import check_batched, check_compiled, check_complete, check_derivatives, check_refused, check_values

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(nn, CASES, ELSEWHERE)


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@EVERY_FUNCTION
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["bfloat16", "complex128 transposed", "special values reversed"])
    check_compiled(CASES[name], ["rank 0", "empty", "uint8"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])


def test_derivatives_of_scaled_products():
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.5, 1, shape).astype(np.float32) for shape in ((1, 3, 4), (1, 2, 4), (1, 3, 2), (1, 2, 1))]
    nj.test_util.check_grads(nn.scaled_matmul, operands, order=2, rtol=2e-2, atol=2e-2)


def test_masked_rows_have_finite_derivatives():
    """What a mask leaves out may be NaN or infinite."""
    x, mask = np.float32([1, np.nan, 2, np.inf]), np.array([True, False, True, False])
    for function in (nn.softmax, nn.log_softmax, nn.logsumexp, nn.logmeanexp):
        slope = nj.grad(lambda v, f=function: nj.numpy.where(mask, f(v, where=mask), 0).sum())(x)
        assert np.isfinite(slope).all() and not slope[~mask].any(), function
