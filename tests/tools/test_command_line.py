"""`python -m numjet`: the list of tools, unknown names, and a tool's own arguments."""
import importlib.util
import sys

import pytest

from numjet.tools.command_line import TOOLS, main


def test_without_a_tool_the_list(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in TOOLS)


def test_an_unknown_tool_names_the_nearest(capsys):
    assert main(["doctr"]) == 2
    assert "Did you mean doctor?" in capsys.readouterr().err


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_a_module_that_can_be_run(name):
    module, text = TOOLS[name]
    found = importlib.util.find_spec(module)
    runs = found.submodule_search_locations is None or importlib.util.find_spec(f"{module}.__main__")
    assert runs and text


def test_a_tool_gets_its_arguments(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["numjet"])
    monkeypatch.delitem(sys.modules, "numjet.tools.show", raising=False)
    with pytest.raises(SystemExit) as stop:
        main(["show", "lambda x: x + 1", "f32[3]", "--stage", "jaxpr"])
    assert not stop.value.code and "add a 1.0:f32[]" in capsys.readouterr().out
