"""Rare collections: the garbage collector's thresholds while programs are traced and compiled."""
from __future__ import annotations

import gc
import threading

import pytest

import numjet as nj
from numjet import _native


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_raised_inside_and_restored(thresholds):
    with _native.rare_collections:
        inside = gc.get_threshold()
        with _native.rare_collections:
            assert gc.get_threshold() == inside
        assert gc.get_threshold() == inside
    assert inside[0] > thresholds[0] and gc.get_threshold() == thresholds


def test_restored_after_an_error(thresholds):
    with pytest.raises(ZeroDivisionError), _native.rare_collections:
        _ = 1 / 0
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("chosen", [(0, 10, 10), (10**7, 10, 10)])
def test_collections_that_are_rare_already_stay(chosen):
    gc.set_threshold(*chosen)
    with _native.rare_collections:
        assert gc.get_threshold()[0] == chosen[0]
    assert gc.get_threshold()[0] == chosen[0]


def test_what_is_set_inside_stays():
    with _native.rare_collections:
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_blocks_of_several_threads(thresholds):
    """The last one to leave restores."""
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with _native.rare_collections:
            entered.set()
            leave.wait(10)
    thread = threading.Thread(target=other)
    with _native.rare_collections:
        thread.start()
        assert entered.wait(10)
    assert gc.get_threshold() != thresholds
    leave.set()
    thread.join()
    assert gc.get_threshold() == thresholds


def test_compiling_restores(thresholds):
    nj.jit(lambda x: x + 1)(1.0)
    assert gc.get_threshold() == thresholds
