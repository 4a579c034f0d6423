"""tools.replay: recordings of equal code are equal, a changed program is named with its first stage that differs."""
from __future__ import annotations

from pathlib import Path

import pytest

from numjet.foundation.config import Override
from numjet.tools import replay, replay_corpus

SCRIPT = """
import numjet as nj
import numjet.numpy as jnp

def {name}(x):
    return jnp.sin(x) {factor}

nj.jit({name})(jnp.ones(3))
"""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "CORPUS", ())

    def make(folder: str, name: str = "f", factor: str = "* 2") -> Path:
        script = tmp_path / "script.py"
        script.write_text(SCRIPT.format(name=name, factor=factor))
        assert replay.record(tmp_path / folder, [str(script)]) == []
        return tmp_path / folder

    return make


def test_equal_programs_are_equal(recorded, capsys):
    before, after = recorded("before"), recorded("after")
    assert {p.suffix for p in before.glob("*/*nj.f*")} == set(replay.STAGES)
    assert replay.main(["compare", str(before), str(after)]) == 0
    assert capsys.readouterr().out.startswith("0 of ")


def test_the_first_stage_that_differs_is_shown(recorded, capsys):
    before, after = recorded("before"), recorded("after", factor="* 3")
    assert replay.main(["compare", str(before), str(after)]) == 1
    text = capsys.readouterr().out
    assert "nj.f.jaxpr" in text and "-    c:f32[3] = mul b 2.0:f32[]" in text and ".ll" not in text


def test_renamed_words_are_equal(recorded):
    before, after = recorded("before"), recorded("after")
    for path in after.glob("*/*.ll"):
        path.write_text(path.read_text().replace("define", "declare_it"))
    assert [name.rpartition(".")[2] for name, _ in replay.differences(before, after)].count("ll") > 0
    assert not list(replay.differences(before, after, [("define", "declare_it")]))


def test_a_program_that_is_missing_and_a_script_that_fails(recorded, tmp_path):
    before, after = recorded("before"), recorded("after")
    next(after.glob("*/*nj.f.jaxpr")).unlink()
    ((name, text),) = replay.differences(before, after)
    assert name.endswith("nj.f") and "only in" in text
    (tmp_path / "bad.py").write_text("raise SystemExit(3)")
    (failure,) = replay.record(tmp_path / "other", [str(tmp_path / "bad.py")])
    assert "exit status 3" in failure


def test_the_corpus_compiles(tmp_path, monkeypatch):
    """A small part of each kind of source."""

    with Override("numjet_dump", str(tmp_path)):
        replay_corpus.main(["operations", "3/60"])
        replay_corpus.main(["random", "0", "2"])
    names = {p.name.partition("_")[2] for p in tmp_path.glob("*.ll")}
    assert len(names) >= 5 and any("random_1" in n for n in names)
