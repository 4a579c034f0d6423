"""Every function of scipy.stats on operands of every kind against SciPy."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from numjet.scipy import stats
from tests.operands import check_batched, check_complete, check_derivatives, check_refused, check_values
from tests.scipy.stats_operands import CASES, CONTINUOUS, DIFFERENTIATED, DISCRETE, ELSEWHERE, GROUPS, REFUSED, methods_of

EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)
DISTRIBUTIONS = (*CONTINUOUS, *DISCRETE, "multivariate_normal", "dirichlet", "multinomial")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_method_has_a_row(distribution):
    rows = {name.partition(".")[2]: case for name, case in CASES.items() if name.startswith(f"{distribution}.")}
    check_complete(methods_of(distribution), rows, ELSEWHERE)


def test_every_distribution_and_statistic_has_rows():
    check_complete(SimpleNamespace(mode=stats.mode, sem=stats.sem, rankdata=stats.rankdata),
                   {name: case for name, case in CASES.items() if "." not in name}, {})
    modules = {name for name, module in vars(stats).items()
               if {"logpdf", "logpmf"} & {*dir(module)} and not name.startswith("_")}
    assert modules - {"gaussian_kde"} == {*DISTRIBUTIONS}


@EVERY_FUNCTION
def test_values(name):
    check_values(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    check_refused(CASES[name])


@pytest.mark.parametrize("name", GROUPS)
def test_over_a_batch_and_compiled(name):
    check_batched(GROUPS[name], ["special values reversed", "rank 4"])


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name):
    check_derivatives(GROUPS[name])
