"""Every function of numjet.experimental.sparse on matrices of every kind against NumPy's on the dense ones."""
from __future__ import annotations

import pytest

from numjet.experimental import sparse
from tests.experimental.sparse_operands import CASES, ELSEWHERE
from tests.operands import check_compiled, check_complete, check_derivatives, check_refused, check_values

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(sparse, CASES, ELSEWHERE)


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@EVERY_FUNCTION
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_compiled(name):
    check_compiled(CASES[name], ["bfloat16", "no rows"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])
