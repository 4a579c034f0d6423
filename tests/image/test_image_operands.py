"""Every function of numjet.image on operands of every kind against sums written in NumPy."""
from __future__ import annotations

import pytest

from numjet import image
from tests.image.image_operands import CASES
from tests.operands import check_batched, check_compiled, check_complete, check_derivatives, check_values

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(image, CASES, {})


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["bfloat16", "int32 of rank 4"])
    check_compiled(CASES[name], ["rank 0", "empty of rank 3", "complex64"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(CASES[name])
