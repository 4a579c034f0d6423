"""Fixtures for the tests of native code."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from numjet.foundation.config import Override


@pytest.fixture(autouse=True)
def all_tiers() -> Iterator[None]:
    """Programs get the second tier, as users' do."""
    with Override("numjet_tiers", "auto"):
        yield
