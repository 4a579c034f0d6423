"""Mutated files: a few of each kind here, 10,000 by `python -m numjet.tools.damage`."""
import random
import subprocess
import sys

import pytest

from numjet.tools import damage


@pytest.mark.parametrize("kind", ["exported", "forged exported", "executable", "forged executable"])
def test_mutated_files_are_refused_or_other_programs(kind):
    read = damage.KINDS[kind]()
    refused = [read(random.Random(number)) for number in range(25)]
    assert all(refused) or "forged" in kind


def test_workers_report_crashes_and_code(capsys, monkeypatch):
    assert damage.main(["--count", "10", "--kinds", "forged executable"]) == 0
    assert "10 files" in capsys.readouterr().out
    monkeypatch.setattr(damage, "SECONDS", 0.01)
    assert "more than" in damage.run("exported", 0, 0, 1)["wrong"][0]


WATCHED = """
from numjet.tools import damage
found = []
damage._watch(found.append)
eval("1 + 1")
try:
    import this_is_no_module
except ImportError:
    pass
print([text.split()[0] for text in found])
"""


def test_what_runs_code_is_reported():
    done = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['compile', 'exec', 'import']"


def test_platforms_that_no_machine_has():
    whole, *trees = damage.executables()[2]
    forged = damage.files.sealed(whole[:8], whole[damage.HEAD:].replace(b"cpu", b"qpu", 1))
    with pytest.raises(ValueError, match="compiled for 'qpu'"):
        damage.serialize_executable.deserialize_and_load(forged, *trees)
