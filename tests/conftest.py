"""Fixtures for all tests."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from numjet.foundation.config import enable_x64


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="safety tests with the counts that releases are held to")


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit dtypes for the duration of a test."""
    with enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
