"""Pauses of Python's garbage collector: while numjet is imported, and what they leave."""
import gc
import subprocess
import sys

import pytest

from numjet.foundation.collector import paused


@pytest.fixture(autouse=True)
def as_before():
    before = gc.isenabled()
    yield
    (gc.enable if before else gc.disable)()


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def objects() -> list[list[object]]:
    return [[] for _ in range(50_000)]


def test_nothing_is_collected_within_a_pause_or_at_its_end():
    gc.enable()
    with paused():
        before, made = collections(), objects()
        assert collections() == before and not gc.isenabled()
    assert gc.isenabled() and collections() <= before + 1 and len(made) == 50_000


def test_cycles_made_within_a_pause_are_collected_later():
    class Node:
        alive = 0

        def __init__(self) -> None:
            self.itself = self
            Node.alive += 1

        def __del__(self) -> None:
            Node.alive -= 1
    with paused():
        Node()
    gc.collect()
    assert Node.alive == 0


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_pauses_in_pauses_end_with_the_outer_one():
    gc.enable()
    with paused():
        with paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_the_pause():
    gc.enable()
    with pytest.raises(ZeroDivisionError), paused():
        1 / 0  # noqa: B018
    assert gc.isenabled()


@pytest.mark.parametrize("prelude, after", [("", "gc.isenabled() and gc.get_freeze_count() == 0"),
                                            ("gc.disable()", "not gc.isenabled()"),
                                            ("gc.freeze()", "gc.isenabled() and gc.get_freeze_count() == frozen")])
def test_import_collects_nothing_and_leaves_the_collector_as_it_was(prelude, after):
    program = f"""
import gc, numpy
{prelude}
frozen, before = gc.get_freeze_count(), gc.get_stats()[2]["collections"]
import numjet
assert gc.get_stats()[2]["collections"] == before
assert {after}
"""
    subprocess.run([sys.executable, "-c", program], check=True)
