"""Every function of scipy.special on operands of every kind against SciPy."""
from __future__ import annotations

import pytest

from numjet.scipy import special
from tests.operands import (
    check_batched,
    check_complete,
    check_derivatives,
    check_holomorphic,
    check_refused,
    check_values,
)
from tests.scipy.special_operands import CASES, DIFFERENTIATED, ELSEWHERE, HOLOMORPHIC, PROGRAMS

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(special, CASES, ELSEWHERE)


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["special values reversed"], compiled=name not in PROGRAMS)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name):
    check_derivatives(CASES[name])


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_derivatives_at_complex_numbers(name):
    check_holomorphic(CASES[name])
