"""Every public function of the libraries has a test that names it, beside the example in its docstring."""
import importlib
import re
from pathlib import Path
from types import GenericAlias

import pytest

_LIBRARIES = [
    "numpy", "numpy.linalg", "numpy.fft", "scipy.linalg", "scipy.special", "scipy.signal", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.ndimage", "scipy.optimize", "scipy.spatial.transform", "scipy.cluster.vq",
    "scipy.sparse.linalg", "scipy.stats", "nn", "nn.initializers", "random", "image", "ops", "lax", "lax.linalg",
    "experimental.sparse", "experimental.jet", "experimental.ode", "tree", "dlpack",
]


@pytest.fixture(scope="module")
def words():
    texts = (path.read_text(encoding="utf8") for path in Path(__file__).parent.rglob("*.py"))
    return {word for text in texts for word in re.findall(r"\w+", text)}


@pytest.mark.parametrize("library", _LIBRARIES)
def test_functions_are_named_in_tests(library, words):
    module = importlib.import_module(f"numjet.{library}")
    names = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
    functions = [n for n in names if callable(getattr(module, n)) and not isinstance(getattr(module, n), (type, GenericAlias))]
    assert names and [n for n in functions if n not in words and not n.endswith("_p")] == []  # operations have samples
