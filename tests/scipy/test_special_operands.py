"""Every function of scipy.special on operands of every kind against SciPy."""
from __future__ import annotations

import pytest

from numjet.scipy import special
from tests.operands import check_batched, check_complete, check_derivatives, check_refused, check_values
from tests.scipy.special_operands import BATCHED_ELSEWHERE, CASES, DIFFERENTIATED, ELSEWHERE

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(special, CASES, ELSEWHERE)


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_is_refused(name):
    check_refused(CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if name not in BATCHED_ELSEWHERE])
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["special values reversed"])


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name):
    check_derivatives(CASES[name])
