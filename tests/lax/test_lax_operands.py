"""The elementwise functions and the reductions of numjet.lax on operands of every kind against NumPy and SciPy."""
from __future__ import annotations

import pytest

from tests.lax.lax_operands import CASES
from tests.operands import check_batched, check_compiled, check_derivatives, check_refused, check_values

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused or case.decided])
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["bfloat16", "special values reversed"])
    check_compiled(CASES[name], ["rank 0", "empty of rank 3", "uint8"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])
