"""Programs that were wrong once, found at random and reduced: each is a file here, as `numjet.tools.fuzz` prints it."""
import importlib.util
from pathlib import Path

import pytest

from numjet.testing import verdict

FILES = sorted(p for p in Path(__file__).parent.glob("*.py") if not p.name.startswith(("test_", "__")))


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_program_agrees(path):
    spec = importlib.util.spec_from_file_location(f"corpus_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = verdict.judge_function(module.program, module.arguments, module.X64, module.DONATED)
    assert found.wrong is None, f"{path.name}: {found.wrong}\n{module.__doc__}"
