"""Runs programs under the alias in processes of their own: it replaces modules of the whole process."""
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run_python(tmp_path):
    """Runs Python, with numjet importable, in an empty folder; returns the process."""
    def run(*arguments, **variables):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **variables}
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, cwd=tmp_path, env=env)
    return run


@pytest.fixture
def run_as_jax(run_python, tmp_path):
    """Runs a program after `import numjet.as_jax`; returns what it printed. It is a file, as libraries look up its source."""
    def run(program):
        (tmp_path / "program.py").write_text("import numjet.as_jax\n" + textwrap.dedent(program), encoding="utf8")
        done = run_python("program.py")
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run
