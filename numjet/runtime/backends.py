"""The one lazy loader of machines: a compiler is imported when the first program is compiled."""
from __future__ import annotations

import importlib
from types import ModuleType

_MACHINES = {"cpu": "numjet.cpu.compiler"}


def machine(platform: str) -> ModuleType:
    """The module that compiles for a platform; it offers compile_program(closed, name, donated) -> Program."""
    if platform not in _MACHINES:
        raise RuntimeError(f"Unknown platform {platform!r}: expected one of {sorted(_MACHINES)}")
    return importlib.import_module(_MACHINES[platform])
