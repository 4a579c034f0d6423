"""Metadata of the distributions `jax` and `jaxlib`: importlib.metadata.version("jax") is the version whose names numjet has."""
from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from numjet.as_jax.names import VERSION_TEXT


class AliasDistribution(Distribution):
    """A distribution without files, installed by nobody."""

    def __init__(self, name: str):
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION_TEXT}\nSummary: numjet under JAX's name\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent / path


def matching(name: str | None) -> list[Distribution]:
    """The distributions of a name; None: all."""
    return [AliasDistribution(own) for own in ("jax", "jaxlib") if name is None or name.lower() == own]
