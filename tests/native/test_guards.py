"""No C++ exception reaches Python's C code: every function in its tables goes through native/runtime/python/guard.h."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = sorted(NATIVE.rglob("*.cpp"))

TABLE = re.compile(r"^\s*(?:static )?(PyMethodDef|PyGetSetDef|PyType_Slot) \w+\[\] = \{(.*?)\n?\s*\{(?:nullptr|0)", re.S | re.M)
METHOD = re.compile(r"^(?:nj::)?method<\w+>\(\)$")
GUARDED = re.compile(r"^(?:guarded<\w+>|nullptr|Py\w+)$")  # Python's own functions are as they are


def unguarded(text: str) -> list[str]:
    """What stands in a table of `text` as a bare function."""
    found = []
    for kind, body in TABLE.findall(text):
        if kind == "PyMethodDef":
            found += [f for f in re.findall(r'\{"\w+",\s*([^,]+?),\s*METH_', body) if not METHOD.match(f)]
        elif kind == "PyGetSetDef":
            pairs = re.findall(r'\{"\w+",\s*([^,]+?),\s*([^,]+?),', body)
            found += [f for pair in pairs for f in pair if not GUARDED.match(f)]
    found += [f for f in re.findall(r"(?:reinterpret_cast<void\*>|code_address)\((\w+)\)\}", text) if not f.startswith("Py")]
    found += [f for f in re.findall(r"->vectorcall = (.*?);", text) if not f.startswith("guarded<")]
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(NATIVE)))
def test_tables_are_guarded(source: Path) -> None:
    assert unguarded(source.read_text()) == []


def test_bare_functions_are_found() -> None:
    assert unguarded('PyMethodDef f[] = {\n    {"a", method<a>(), METH_O},\n    {"b", b, METH_O},\n    {nullptr}};') == ["b"]
    assert unguarded('PyGetSetDef g[] = {\n    {"a", guarded<a>, set_a, "", nullptr},\n    {nullptr}};') == ["set_a"]
    assert unguarded("PyType_Slot s[] = {slot<f>(Py_tp_call), {Py_tp_new, reinterpret_cast<void*>(make)}};") == ["make"]
    assert unguarded("jit->vectorcall = call;") == ["call"]


def test_all_tables_are_read() -> None:
    text = "\n".join(source.read_text() for source in SOURCES)
    tables = TABLE.findall(text)
    for kind in ("PyMethodDef", "PyGetSetDef"):
        assert sum(k == kind for k, _ in tables) == len(re.findall(rf"{kind} \w+\[\] = ", text))
    assert len(re.findall(r'\{"\w+",\s*(?:nj::)?method<', text)) > 80
