"""Every function of scipy.special on operands of every kind against SciPy."""
from __future__ import annotations

import dataclasses

import pytest

from numjet.scipy import special
from tests.operands import COMPLEX, EMPTY, check_batched, check_complete, check_derivatives, check_refused, check_values
from tests.scipy.special_operands import BATCHED_ELSEWHERE, CASES, DIFFERENTIATED, ELSEWHERE

# Kinds that only SciPy refuses.
UNANSWERED = {
    **{name: dict.fromkeys(COMPLEX, "the formula of real numbers") for name in ("expit", "logit", "boxcox", "boxcox1p")},
    "factorial2": {kind: "the formula between integers" for kind, x in CASES["factorial2"].kinds.items()
                   if x.dtype.kind not in "iuc"},
    **{name: {"bool": "0 and 1"} for name in "factorial perm diric spherical_in spherical_jn spherical_yn".split()},
    **{name: {"empty of rank 3": "what JAX has of no numbers"} for name in ("logsumexp", "softmax", "log_softmax")},
    "stirling2": dict.fromkeys(("bool", *EMPTY), "0 and 1, or no numbers")}
EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


def test_every_function_has_a_row():
    check_complete(special, CASES, ELSEWHERE)


@EVERY_FUNCTION
def test_values(name):
    check_values(dataclasses.replace(CASES[name], unanswered=UNANSWERED.get(name, {})))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_is_refused(name):
    check_refused(CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if name not in BATCHED_ELSEWHERE])
def test_over_a_batch_and_compiled(name):
    check_batched(CASES[name], ["special values reversed"])


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name):
    check_derivatives(CASES[name])
