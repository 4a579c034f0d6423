"""Fixtures for the tests of numjet.scipy."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from numjet.foundation.config import Override


@pytest.fixture(autouse=True)
def quick_code() -> Iterator[None]:
    """Code that LLVM did not optimize: these functions are long, and run for a moment."""
    with Override("numjet_tiers", "quick"):
        yield
