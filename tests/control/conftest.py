"""Every test here runs twice: operation by operation through the eager slots, and compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import numjet.control
import numjet.lax  # noqa: F401  (loads every record)
from numjet.core import hooks
from numjet.runtime import eager


@pytest.fixture(autouse=True, params=["eager", "compiled"])
def evaluation(request: pytest.FixtureRequest) -> Iterator[str]:
    """How operations that hold programs are evaluated."""
    previous = hooks.evaluate
    hooks.set_evaluate(eager.interpret if request.param == "eager" else eager.evaluate)
    yield request.param
    hooks.set_evaluate(previous)
