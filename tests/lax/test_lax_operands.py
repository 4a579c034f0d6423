"""The functions of numjet.lax on operands of every kind against NumPy and SciPy."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from numjet import lax
from tests.lax import shape_operands
from tests.lax.lax_operands import CASES as OF_NUMBERS
from tests.operands import check_batched, check_compiled, check_complete, check_derivatives, check_refused, check_values

CASES = {**OF_NUMBERS, **shape_operands.CASES}
EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_is_in_its_table():
    functions = {name: getattr(lax, name) for name in dir(lax) if not name.endswith("_p")}
    check_complete(SimpleNamespace(**{name: f for name, f in functions.items() if not hasattr(f, "__origin__")}),
                   CASES, shape_operands.ELSEWHERE)


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
