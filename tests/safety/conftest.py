"""Scale of the safety tests: counts fit for every run by default, those that releases are held to with `--full`."""

import pytest


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """How many times the default count a test repeats its attack."""
    return 20 if request.config.getoption("--full") else 1
