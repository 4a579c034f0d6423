"""tools.show: functions are found, arguments read, all forms printed."""
from __future__ import annotations

import numpy as np
import pytest

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
    with pytest.raises(ValueError, match="'f33' is no dtype"):
        show.argument("f33[2]")
