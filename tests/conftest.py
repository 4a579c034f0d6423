"""Fixtures for all tests."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from numjet.foundation.config import enable_x64


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit dtypes for the duration of a test."""
    with enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
