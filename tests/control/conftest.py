"""Every test here runs twice: operation by operation through the eager slots, and compiled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import numjet.control
import numjet.lax  # noqa: F401  (loads every record)
from numjet.core import hooks
from numjet.foundation.config import enable_x64
from numjet.runtime import eager


@pytest.fixture(autouse=True, params=["eager", "compiled"])
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """How operations that hold programs are evaluated."""
    previous = hooks.evaluate
    hooks.set_evaluate(eager.interpret if request.param == "eager" else eager.evaluate)
    yield request.param
    hooks.set_evaluate(previous)


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit dtypes for the duration of a test."""
    with enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
