"""The tutorials of CONTRIBUTING.md, executed as a reader would: each file saved under its name, each command run beside it."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


def tutorials() -> dict[str, str]:
    """Sections of the page by title."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    return dict(re.findall(r"^## Tutorial: (.*?)\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL))


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    paths = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-ec", command], cwd=folder, env={**os.environ, **paths}, capture_output=True, text=True,
                          timeout=600, check=False)


def follow(text: str, folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Saves the files of a tutorial and runs its commands, in order."""
    done = []
    for language, code in _BLOCK.findall(text):
        if language == "sh":
            done.append(run(folder, code))
        else:
            (folder / _FILE.match(code)[1]).write_text(code, encoding="utf8")
    return done


@pytest.mark.parametrize("title", sorted(tutorials()))
def test_a_tutorial_works(title, tmp_path):
    commands = follow(tutorials()[title], tmp_path)
    assert commands
    assert all(c.returncode == 0 and " passed" in c.stdout for c in commands), [c.stdout + c.stderr for c in commands]


@pytest.mark.parametrize(("title", "right", "wrong", "says"), [
    ("add an operation", "return neg_p.bind(", "return (lambda x: x)(", "jvp of sech"),
    ("add an operation", "    hlo=SCALARS,", "", "missing 1 required keyword-only argument: 'hlo'"),
    ("add a compiler pass", 'prim("add", other, other)', 'prim("add", other, factor)', "test_results_keep_their_bits"),
])
def test_a_wrong_step_is_noticed(title, right, wrong, says, tmp_path):
    text = tutorials()[title]
    assert text.count(right) == 1
    (command,) = follow(text.replace(right, wrong), tmp_path)
    assert command.returncode and says in command.stdout


def test_there_are_two():
    assert sorted(tutorials()) == ["add a compiler pass", "add an operation"]
