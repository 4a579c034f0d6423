"""Environments and sources of libraries, below one folder: two virtual environments, one without JAX."""
from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
JAXLIB, JAX = "jaxlib==0.10.2", "jax==0.10.2"
SIDES = ("numjet", "jax")


def libraries() -> dict[str, dict[str, Any]]:
    """The table of libraries, by name."""
    table = tomllib.loads((HERE / "libraries.toml").read_text(encoding="utf8"))
    common = table.pop("common")["requires"]
    return {name: {**row, "requires": [*common, *row.get("requires", ())]} for name, row in table.items()}


def python(work: Path, side: str) -> Path:
    """The interpreter of an environment."""
    return work / f"env-{side}" / "bin" / "python"


def pip(work: Path, side: str, *arguments: str) -> None:
    """Runs pip in an environment. Raises CalledProcessError if it fails."""
    subprocess.run([python(work, side), "-m", "pip", "-q", "--disable-pip-version-check", *arguments], check=True)


def prepare(work: Path, side: str, row: dict[str, Any], name: str) -> None:
    """Makes an environment with what a library needs. Libraries come without their requirements: these name JAX."""
    if not python(work, side).exists():
        subprocess.run([sys.executable, "-m", "venv", work / f"env-{side}"], check=True)
    marker = work / f"env-{side}" / f"{name}-{row['version']}.done"
    if marker.exists():
        return
    pip(work, side, "install", *row["requires"], JAXLIB, *([JAX] if side == "jax" else []))
    pip(work, side, "install", "--no-deps", f"{name}=={row['version']}", *row.get("libraries", ()))
    marker.touch()


def source(work: Path, name: str, row: dict[str, Any]) -> Path:
    """The folder of a library's source distribution, downloaded and unpacked with the first call.

    Raises FileNotFoundError if tests that the distribution leaves out are not there yet.
    """
    version = row["version"]
    folder = work / f"{name}-{version}"
    if not folder.exists():
        archive = work / "sdists" / f"{name}-{version}.tar.gz"
        if not archive.exists():
            subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "download", "--no-deps",
                            "--no-binary", name, f"{name}=={version}", "-d", archive.parent], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter="data")
    if "tests" in row and not (folder / "tests").exists():
        raise FileNotFoundError(f"The source distribution of {name} has no tests: copy {row['tests']} to {folder / 'tests'}.")
    return folder
