"""Random programs agree op by op and compiled; the generator is deterministic and shrinks."""
import pytest

from numjet.testing import programs
from numjet.tools import fuzz


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_programs_agree(start):
    for seed in range(start, start + 20):
        p = programs.Generator(seed).program()
        wrong = fuzz.difference(p, seed)
        assert wrong is None, f"seed {seed}: {wrong}\n{programs.script(p, seed)}"


def test_deep_programs_agree():
    for seed in range(1000, 1012):
        p = programs.Generator(seed, length=6, depth=3).program()
        assert fuzz.difference(p, seed) is None, programs.script(p, seed)


def test_random_programs_agree_on_the_xla_machine():
    for seed in range(2000, 2012):
        p = programs.Generator(seed).program()
        assert fuzz.difference(p, seed, "xla_cpu") is None, programs.script(p, seed)


def test_same_seed_same_program():
    assert programs.source(programs.Generator(5).program()) == programs.source(programs.Generator(5).program())


def test_shrinking_keeps_what_fails():
    p = programs.Generator(3, length=12).program()
    marked = next(i.text for i in p.body)
    small = programs.shrink(p, lambda q: any(i.text == marked for i in q.body))
    assert any(i.text == marked for i in small.body) and len(small.body) <= len(p.body)
    assert sum(i.text == marked for i in small.body) == 1
