"""Fixtures for all tests."""
from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

from numjet.foundation.config import config, enable_x64

# Neither this process nor those that tests start keep programs in the cache of the user who runs the tests.
os.environ["NUMJET_CACHE"] = "0"
config.update("numjet_cache", "0")


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
