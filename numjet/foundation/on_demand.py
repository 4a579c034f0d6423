"""Modules that are imported when they are first used, so that `import numjet` stays quick."""

from __future__ import annotations

import importlib
from typing import Any


class Module:
    """Stands for the module `name`, which is imported when an attribute of it is first asked for.

    >>> math = Module("math")
    >>> math.floor(1.5)
    1
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
