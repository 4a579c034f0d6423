"""The search for largest errors finds them, goes on where it stopped, and what docs/mathematics.md tells is true."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from numjet.cpu import mathlib
from tools.fit import exhaustive, page
from tools.fit.gap import largest_gap
from tools.fit.measure import bit_patterns, compiled, errors, reference

PAGE = Path(__file__).parents[3] / "docs" / "mathematics.md"
DOCUMENTED = page.parse(PAGE.read_text(encoding="utf8"))


def worst_place(op):
    """The operand of the largest float32 error that the page tells."""
    row = next(line for line in PAGE.read_text(encoding="utf8").splitlines() if line.startswith(f"| {op} | float32 |"))
    return np.float32(row.split("|")[8])


@pytest.mark.parametrize("op", exhaustive.FUNCTIONS)
def test_the_page_tells_of_every_function(op):
    for dtype in ("float32", "float64"):
        documented = [e for e in DOCUMENTED[op, dtype] if e is not None]
        assert documented and max(documented) <= mathlib.ACCURACY[op, dtype]


@pytest.mark.parametrize("op", exhaustive.UNARY)
def test_what_the_page_tells_is_true(op):
    """On other operands than those it was made from nowhere much more than it says; as much where it says the most is."""
    x = np.append(bit_patterns(np.float32, (1 << 18) - 1, seed=5), worst_place(op))
    found = exhaustive.Progress(1)
    found.look(op, x, compiled(op, x.dtype, len(x)))
    documented = DOCUMENTED[op, "float32"]
    assert all(e <= (t or 0.0) * 1.1 + 0.05 for e, t in zip(found.worst, documented, strict=True)), (found.worst, documented)
    assert max(found.worst) == pytest.approx(max(t for t in documented if t is not None), abs=0.006)


def test_the_quick_search_finds_what_the_slow_one_finds():
    x = np.linspace(-20, 20, 1 << 16, dtype=np.float32)
    run = compiled("logistic", x.dtype, len(x))
    found = exhaustive.Progress(1)
    found.look("logistic", x, run)
    every = errors("logistic", x, run(x))
    assert max(found.worst) == pytest.approx(every.max(), abs=1e-6)
    assert float.fromhex(found.places[int(np.argmax(found.worst))]) == x[np.argmax(every)]


@pytest.mark.parametrize("op", ["logistic", "expm1"])
def test_the_compiled_search_finds_the_largest_error(op):
    x = np.linspace(-20, 20, 1 << 14, dtype=np.float32)
    every = errors(op, x, compiled(op, x.dtype, len(x))(x))
    assert largest_gap(op, len(x), own=True)(x) == pytest.approx(every.max(), abs=1e-6)
    assert largest_gap(op, len(x), own=False)(x, reference(op, x)) == pytest.approx(every.max(), abs=1e-6)


def test_the_compiled_search_notices_nan_and_infinity():
    x = np.array([1, np.nan, np.inf, -np.inf, 200, 1e-45], np.float32)
    gap, right = largest_gap("exp", len(x), own=False), np.exp(x.astype(np.float64))
    right[4] = np.inf
    assert gap(x, right) < 1
    for place, wrong in ((0, np.nan), (1, 0.0), (2, 1e30), (3, np.nan), (4, 1e300), (5, 1.001)):
        assert not gap(x, np.where(np.arange(6) == place, wrong, right)) < 100, place


def test_a_wrong_function_is_noticed():
    x = np.linspace(1, 2, 1000, dtype=np.float32)
    found = exhaustive.Progress(1)
    found.look("exp", x, lambda x: np.where(x == x[500], np.nan, np.exp(x)))
    assert found.worst[2] == np.inf and float.fromhex(found.places[2]) == x[500]


def test_it_goes_on_where_it_stopped(tmp_path, capsys):
    state = tmp_path / "errors.json"
    options = ["--functions", "cbrt", "--stride", str(1 << 13), "--state", str(state)]
    assert exhaustive.main(options) == 0
    first = capsys.readouterr().out
    kept = json.loads(state.read_text())["cbrt float32"]
    assert kept["next"] == 2**32 and "| 10 <= |x| < 100" in first and first.startswith("cbrt")
    state.write_text(json.dumps({"cbrt float32": {**kept, "worst": [9.0] * 5}}))
    assert exhaustive.main(options) == 1, "the known errors exceed the bound"
    assert "9.000 ulp" in capsys.readouterr().out
    state.write_text(json.dumps({"cbrt float32": {**kept, "stride": 5, "worst": [9.0] * 5}}))
    assert exhaustive.main(options) == 0, "another stride begins anew"
    assert capsys.readouterr().out == first


def test_functions_of_two_operands_are_sampled(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(exhaustive, "PAIRS", 256)
    state = tmp_path / "errors.json"
    assert exhaustive.main(["--functions", "pow", "--dtype", "float64", "--state", str(state)]) == 0
    kept = json.loads(state.read_text())["pow float64"]
    assert kept["next"] == 5 * 256 and 0.3 < max(kept["worst"]) <= mathlib.ACCURACY["pow", "float64"]
    x, y = (float.fromhex(v) for v in kept["places"][int(np.argmax(kept["worst"]))].split())
    assert f"at {x!r}, {y!r}" in capsys.readouterr().out


def test_the_page_is_renewed(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\n{page.END}\nafter\n")
    known = {"exp float32": exhaustive.Progress(16, 2**32, [0.5, 0.6, 0.7, 0.8, 0.0], ["0x1p0"] * 4 + [""])}
    page.renew(path, known)
    assert page.parse(path.read_text()) == {("exp", "float32"): [0.5, 0.6, 0.7, 0.8, None]}
    assert "every 16th" in path.read_text() and "`exponential.py`" in path.read_text()
    path.write_text("nothing")
    with pytest.raises(ValueError, match="has no lines"):
        page.renew(path, known)
