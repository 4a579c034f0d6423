"""The native core has what `numjet/_native.pyi` declares and nothing else, so that comparing this file's text with the one
that the core was built with tells whether the two fit (numjet/foundation/current_core.py)."""
from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from numjet import _native
from numjet.foundation import current_core

STUB = Path(__file__).parents[2] / "numjet" / "_native.pyi"
FOR_CHECKERS = {"__getattr__", "__setattr__", "__init__", "__buffer__", "__name__", "__qualname__", "__wrapped__"}
SET_ABOVE = {"Array", "JitFunction"}    # types that get methods from the layers above


def names(body: list[ast.stmt]) -> set[str]:
    """What a block of the stub declares."""
    functions = {s.name for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef)}
    return functions | {s.target.id for s in body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}


def declared() -> dict[str, ast.ClassDef]:
    return {s.name: s for s in ast.parse(STUB.read_text(encoding="utf8")).body if isinstance(s, ast.ClassDef)}


def public(names: object) -> set[str]:
    return {name for name in names if not name.startswith("__")}


def test_the_module_has_what_is_declared():
    types_only = {"PoolStats", "Counters", "KernelTypes", "_Thread", "_RareCollections"}
    stated = names(ast.parse(STUB.read_text(encoding="utf8")).body)
    assert stated - types_only == public(vars(_native))


@pytest.mark.parametrize("name", sorted(public(vars(_native)) & declared().keys()))
def test_types_have_what_is_declared(name):
    stated, present = names(declared()[name].body), set(vars(getattr(_native, name)))
    assert stated - FOR_CHECKERS <= present
    assert name in SET_ABOVE or public(present) <= stated


def test_kernels_have_the_types_that_are_declared():
    stated = {s.target.id: ast.literal_eval(s.annotation.slice) for s in declared()["KernelTypes"].body}
    assert stated == _native.kernel_types()


def test_the_core_knows_what_it_was_built_with():
    assert _native.declarations == STUB.read_bytes()


def imported(checkout: Path) -> str:
    """The last line of what importing the package of a checkout says."""
    ran = subprocess.run([sys.executable, "-c", "import numjet"], cwd=checkout, env={"PYTHONPATH": str(checkout)},
                         capture_output=True, text=True, timeout=60, check=False)
    return ran.stderr.strip().splitlines()[-1] if ran.returncode else ""


def a_checkout(folder: Path, *, core: bool) -> Path:
    """The few files that are read before the core is."""
    (folder / "native").mkdir()
    (folder / "native" / "build_dev.sh").write_text("")
    for file in ("__init__.py", "foundation/__init__.py", "foundation/current_core.py",
                 "foundation/collector.py", "_native.pyi"):
        (folder / "numjet" / file).parent.mkdir(exist_ok=True)
        shutil.copy(STUB.parent / file, folder / "numjet" / file)
    if core:
        (folder / "numjet" / Path(_native.__file__).name).symlink_to(_native.__file__)
    return folder


def test_a_missing_core_is_an_error_that_says_how_to_build_it(tmp_path):
    said = imported(a_checkout(tmp_path, core=False))
    assert said.startswith("ImportError: numjet's native core is missing in ")
    assert f"run `PYTHON={sys.executable} sh {tmp_path / 'native' / 'build_dev.sh'}`" in said


def test_a_core_built_from_other_sources_is_an_error_that_names_a_difference(tmp_path):
    checkout = a_checkout(tmp_path, core=True)
    with (checkout / "numjet" / "_native.pyi").open("a", encoding="utf8") as stub:
        stub.write("# A comment is no difference to name.\ndef made_later(x: int, /) -> int: ...\n")
    said = imported(checkout)
    assert said.startswith("ImportError: numjet's native core was built from other sources than the Python files in ")
    assert "`def made_later(x: int, /) -> int: ...`" in said and "build_dev.sh" in said


def test_an_installed_package_compares_nothing(tmp_path):
    checkout = a_checkout(tmp_path, core=True)
    (checkout / "native" / "build_dev.sh").unlink()
    (checkout / "numjet" / "_native.pyi").write_text("")
    assert imported(checkout).startswith("ImportError: cannot import name 'lazy_import'")


def test_a_core_that_knows_no_declarations_is_older():
    message = current_core._stale(None, b"x: int\n")
    assert message is not None and "for example" not in message
