"""Examples of the gallery are of the form that the site and the benchmark expect. The build of the site runs them."""
from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks import gallery
from benchmarks.run import environment

EXAMPLES = sorted(gallery.EXAMPLES.glob("*.py"))


def test_there_are_two_dozen():
    assert len(EXAMPLES) >= 24


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_form(path: Path):
    """A title, a computation `run()`, a check of its result, a picture; on one page."""
    source = path.read_text(encoding="utf8")
    tree = ast.parse(source)
    assert (ast.get_docstring(tree) or "").splitlines()[1].startswith("===")
    assert len(source.splitlines()) <= 120
    assert any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body)
    assert any(isinstance(node, ast.Assert) for node in tree.body) and "plt.show()" in source


def test_the_benchmark_runs_an_example():
    path = gallery.EXAMPLES / "optimal_transport.py"
    seconds = gallery.measure(path, jax=False)
    assert seconds > 0 and gallery.row(path, seconds, 2 * seconds).endswith(" | 2 |")


def test_imports_for_the_peer():
    text = "import numjet as nj\nimport numjet.numpy as jnp\nfrom numjet import lax\nfrom numjet.scipy.special import erf"
    assert gallery.for_jax(text).count("jax") == 4 and "numjet" not in gallery.for_jax(text)


def test_processes_compile_programs_but_no_modules():
    source = gallery.prelude((gallery.EXAMPLES / "optimal_transport.py").read_text(encoding="utf8"))
    assert "matplotlib" not in source
    kept = environment()
    assert kept["NUMJET_CACHE"] == "0" and "PYTHONDONTWRITEBYTECODE" not in kept


def test_an_example_without_run_is_refused():
    with pytest.raises(ValueError, match="no call of run"):
        gallery.prelude("x = 1")
