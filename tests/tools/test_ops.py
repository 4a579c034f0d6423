"""tools.ops: the table of records."""
from __future__ import annotations

from numjet.core.op import LINEAR, ZERO, Expand, Missing, PerArg, all_ops
from numjet.tools import ops


def test_every_operation_has_a_row(capsys):
    assert ops.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["operation", "kind", "parameters"]
    assert {line.split()[0] for line in lines[2:-2]} == set(all_ops())
    assert lines[-1].startswith(f"{len(all_ops())} operations, ")


def test_holes_come_with_reasons(capsys):
    assert ops.main(["--holes"]) == 0
    text = capsys.readouterr().out
    for name, slot, why in ops.holes():
        assert isinstance(getattr(all_ops()[name], slot), Missing)
        assert why in text


def test_markdown(tmp_path):
    page = tmp_path / "docs" / "ops.md"
    assert ops.main(["--markdown", "--output", str(page)]) == 0
    text = page.read_text()
    assert all(f"| {name} |" in text for name in all_ops())
    assert "## Missing" in text


def test_states():
    found = [ops.state(v) for v in (LINEAR, ZERO, Missing("x"), Expand(abs), PerArg(abs), abs, "name")]
    assert found == ["linear", "zero", "-", "derived", "per operand", "yes", "name"]
