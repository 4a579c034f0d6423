"""Operations are evaluated by their eager slots in these tests: what a record means, before any machine."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import numjet.lax  # noqa: F401  (loads every record)
from numjet.core import hooks
from numjet.foundation.config import enable_x64
from numjet.runtime import eager


@pytest.fixture(autouse=True)
def _by_eager_slots() -> Iterator[None]:
    previous = hooks.evaluate
    hooks.set_evaluate(eager.interpret)
    yield
    hooks.set_evaluate(previous)


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit dtypes for the duration of a test."""
    with enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
