"""The garbage collection guard: arrays in reference cycles are logged where the flag asks for it."""

from __future__ import annotations

import gc
import logging

import pytest

import numjet as nj
import numjet.numpy as jnp


def cycle():
    held = [jnp.ones(3)]
    held.append(held)


@pytest.mark.parametrize(("level", "make", "count"), [("log", cycle, 1), ("allow", cycle, 0), ("log", lambda: jnp.ones(3), 0)])
def test_arrays_in_cycles_are_logged(caplog, level, make, count):
    gc.collect()
    with caplog.at_level(logging.ERROR, "numjet"), nj.array_garbage_collection_guard(level):
        make()
        gc.collect()
    found = [r.getMessage() for r in caplog.records if "garbage collector" in r.getMessage()]
    assert len(found) == count
    assert not found or found[0].startswith("1 array was deleted by the Python garbage collector instead of reference counting")


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"new enum value must be in \['allow', 'log'\], got 'fatal'"):
        nj.config.update("jax_array_garbage_collection_guard", "fatal")
