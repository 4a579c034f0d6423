"""The functions of the packages of scipy on operands of every kind against SciPy."""
from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

from tests.operands import (
    assert_same,
    check_batched,
    check_compiled,
    check_complete,
    check_derivatives,
    check_refused,
    check_values,
    leaves,
    quietly,
)
from tests.scipy import (
    cluster_operands,
    fft_operands,
    integrate_operands,
    interpolate_operands,
    linalg_operands,
    ndimage_operands,
    optimize_operands,
    signal_operands,
    sparse_operands,
)

TABLES = {"cluster.vq": cluster_operands, "fft": fft_operands, "integrate": integrate_operands,
          "interpolate": interpolate_operands, "linalg": linalg_operands, "ndimage": ndimage_operands,
          "optimize": optimize_operands, "signal": signal_operands, "sparse.linalg": sparse_operands}
CASES = {f"{module} {name}": case for module, table in TABLES.items() for name, case in table.CASES.items()}
EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


@pytest.mark.parametrize("module", TABLES)
def test_every_function_is_in_its_table(module):
    check_complete(importlib.import_module(f"numjet.scipy.{module}"), TABLES[module].CASES, TABLES[module].ELSEWHERE)


def _with_few_options(name):
    """The row with two of its options, as each compiles."""
    return dataclasses.replace(CASES[name], options=CASES[name].options[:2])


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_is_refused(name):
    check_refused(CASES[name])


@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name):
    case = _with_few_options(name)
    check_batched(case, ["bfloat16", "complex128 transposed", "special values reversed", "float64 matrices transposed"])
    check_compiled(case, ["rank 0", "empty", "uint8", "int32 matrix"])


@EVERY_FUNCTION
def test_derivatives(name):
    check_derivatives(_with_few_options(name))


_HOLDS_NAN = np.array([[[2, np.nan], [np.nan, 3]], [[2, 1], [1, 3]]], np.float32)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if name.startswith("linalg")
                                  and "no matrices" in case.compared()])
def test_a_matrix_that_holds_nan_is_alone_in_a_stack(name):
    case = CASES[name]
    with quietly():
        alone, stack = leaves(case.call(_HOLDS_NAN[1], {})), leaves(case.call(_HOLDS_NAN, {}))
    assert_same([x[1] for x in stack], alone, name)
    assert any(np.isnan(x[0]).any() for x in stack)
