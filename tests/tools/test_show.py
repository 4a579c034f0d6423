"""tools.show: functions are found, arguments read, all forms printed."""
from __future__ import annotations

import re
import shlex
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.tools import show


def test_all_forms_are_printed(capsys):
    assert show.main(["lambda x: jnp.sin(x) * 1.0", "f32[3]"]) == 0
    text = capsys.readouterr().out
    for part in ("==== jaxpr ====", "mul b 1.0", "==== simplified ====", "==== loops ====\nfunction", "==== llvm ====",
                 "define i64", "==== asm ====", "ret"):
        assert part in text


def test_one_form_of_a_gradient_of_a_function_in_a_file(tmp_path, capsys):
    (tmp_path / "model.py").write_text("import numjet.numpy as jnp\ndef loss(x):\n    return jnp.sum(jnp.sin(x))\n")
    assert show.main([f"{tmp_path}/model.py:loss", "ones(2)", "--grad", "--stage", "jaxpr", "--sources"]) == 0
    text = capsys.readouterr().out
    assert "cos" in text
    assert "# model.py:3 (loss)" in text
    assert "====" not in text


def test_functions_of_modules():
    assert show.find_function("math:sin")(0.0) == 0.0
    with pytest.raises(ValueError, match="math defines no 'sine'"):
        show.find_function("math:sine")
    with pytest.raises(ValueError, match="is a int, not a function"):
        show.find_function("1 + 1")


def test_arguments():
    assert show.argument("i32[2,3]").dtype == np.int32
    assert show.argument("f32[]").shape == ()
    assert np.asarray(show.argument("arange(3.0) + 1")).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="'f33' is not a dtype"):
        show.argument("f33[2]")


def test_the_page_on_generated_code_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    """The file, the command and the output in docs/generated-code.md belong together."""
    page = (Path(__file__).parents[2] / "docs" / "generated-code.md").read_text(encoding="utf8")
    file, rest = re.search(r"```python\n([^`]*def predict.*?)```(.*)", page, re.DOTALL).groups()
    command, shown = re.findall(r"((?:^    .*\n)+)", rest, re.MULTILINE)[:2]
    (tmp_path / "model.py").write_text(file)
    monkeypatch.chdir(tmp_path)
    assert show.main(shlex.split(command)[3:]) == 0
    timeless = partial(re.sub, r"about [\d.]+ [mu]?s", "about a while")  # the estimate is for the CPU at hand
    assert timeless(capsys.readouterr().out.strip()) == timeless(textwrap.dedent(shown).strip())


def test_every_stage_is_dumped(tmp_path):
    nj.config.update("numjet_dump", str(tmp_path / "dump"))
    try:
        assert nj.jit(lambda x: jnp.sin(x) * 3)(2.0).shape == ()
    finally:
        nj.config.update("numjet_dump", None)
    files = {f.suffix: f.read_text() for f in (tmp_path / "dump").iterdir() if "lambda" in f.name}
    assert set(files) == {".jaxpr", ".loops", ".passes", ".planned", ".ll", ".s"}
    assert "sin" in files[".jaxpr"] and "sin(" in files[".loops"] and "sin(" not in files[".planned"]
    assert "define i64" in files[".ll"] and "ret" in files[".s"]
