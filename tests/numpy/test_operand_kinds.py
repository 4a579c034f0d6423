"""Every function of numpy, numpy.linalg and numpy.fft on operands of every kind against NumPy."""
from __future__ import annotations

import pytest

from tests.numpy.operand_kinds import CASES, DECISIONS, DTYPES, REFUSED
from tests.operands import check_batched, check_compiled, check_derivatives, check_refused, check_values

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_functions_are_found():
    assert {"sin", "add", "sum", "concatenate", "linalg.det", "fft.rfft", "pad"} <= {*CASES} and len(CASES) > 250
    assert {*DECISIONS} | {*REFUSED} | {*DTYPES} <= {*CASES}


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["bfloat16", "complex128 transposed", "special values reversed", "float64 matrices transposed"])
    check_compiled(CASES[name], ["rank 0", "empty", "uint8"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])
