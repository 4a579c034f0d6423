"""Operations are evaluated by their eager slots in these tests: the semantics of a record, without a backend."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import numjet.lax  # noqa: F401  (loads every record)
from numjet.core import hooks
from numjet.runtime import eager


@pytest.fixture(autouse=True)
def _by_eager_slots() -> Iterator[None]:
    previous = hooks.evaluate
    hooks.set_evaluate(eager.interpret)
    yield
    hooks.set_evaluate(previous)
