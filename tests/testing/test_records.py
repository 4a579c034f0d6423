"""Every slot of every record, on the record's own samples."""
import pytest

from numjet.core.op import Missing, all_ops
from numjet.testing import records

NAMES = sorted(n for n, op in all_ops().items() if not isinstance(op.samples, Missing))


def all_cases(name, limit):
    found = list(records.cases(all_ops()[name], limit))
    assert found, f"record {name} has no cases"
    return found


@pytest.mark.parametrize("name", NAMES)
def test_abstract_agrees_with_eager(name):
    for case in all_cases(name, 40):
        records.apply_eager(case)


@pytest.mark.parametrize("name", NAMES)
def test_cpu_agrees_with_eager(name):
    records.check_compiled(*all_cases(name, 10))


@pytest.mark.parametrize("name", NAMES)
def test_batch_agrees_with_a_loop(name):
    for case in all_cases(name, 10):
        records.check_batch(case)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name):
    for case in all_cases(name, 8):
        records.check_derivatives(case)
