"""The list of what is called in jaxlib: it is complete, and the jaxlib that is installed has it."""
import ast
import importlib
from pathlib import Path

import pytest

from numjet.xla import plugin

ROOT = Path(plugin.__file__).parents[2]
LISTED = [(place, name) for line in (ROOT / "docs" / "jaxlib.md").read_text(encoding="utf8").splitlines()
          if line.startswith("    jaxlib") for place, names in [line.strip().split(": ")] for name in names.split()]


def _owner(place):
    """The module or class of a dotted name."""
    parts = place.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise AssertionError(place)


@pytest.mark.parametrize("place", sorted({place for place, _ in LISTED}))
def test_jaxlib_has_what_is_called(place):
    plugin.library()
    owner = _owner(place)
    assert [name for p, name in LISTED if p == place and not hasattr(owner, name)] == []


def _called(tree):
    """Names after `xla`, `plugin.library()` and `plugin.bindings()`, and modules of jaxlib that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner in ("xla", "plugin.library()", "plugin.bindings()", "bindings()", "library()"):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("jaxlib."):
            yield node.value


def test_the_list_is_complete():
    plugin.library()
    names, places = {name for _, name in LISTED}, {place for place, _ in LISTED}
    missing = {f"{path.name}: {name}" for path in (ROOT / "numjet" / "xla").glob("*.py")
               for name in _called(ast.parse(path.read_text(encoding="utf8")))
               if name not in names and name not in places and not name.startswith("jaxlib.mlir.dialects.")}
    assert missing == set()
