"""The hlo slot of every record, on XLA's CPU client, against eager evaluation."""
import pytest

import numjet.random  # noqa: F401  (its cipher is a record, too)
from numjet.core.op import Missing, all_ops
from numjet.foundation.config import enable_x64
from numjet.runtime.device import devices
from numjet.testing import records

NAMES = sorted(n for n, op in all_ops().items() if not isinstance(op.samples, Missing) and not isinstance(op.hlo, Missing))


# Programs for whose expressions XLA takes seconds; test_special_values.py has other dtypes.
SLOW = ("igamma", "igammac", "igamma_grad_a", "log_igamma", "log_igammac", "regularized_incomplete_beta", "log_betainc",
        "betaincc", "log_betaincc", "random_gamma_grad", "igamma_grad_a_a", "igamma_grad_a_x",
        "random_gamma_grad_a", "random_gamma_grad_x", "polygamma", "cumlogsumexp")


@pytest.mark.parametrize("name", NAMES)
def test_hlo_agrees_with_eager(name):
    device = devices("xla_cpu")[0]
    with enable_x64():
        records.check_hlo(list(records.cases(all_ops()[name], 1 if name in SLOW else 10)), device)
