"""Shared libraries of C source, for tests of foreign calls."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def compiled(source: str, folder: Path) -> str:
    """The path of the library that is made from the source in a folder; skips where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "handlers.c").write_text(source)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "handlers.c", "-o", "handlers.so"], cwd=folder, check=True)
    return str(folder / "handlers.so")
