"""The benchmark program measures what its goals name, and its table and picture say what was measured."""
from __future__ import annotations

import json

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from benchmarks import __main__ as command, arrays, eager_functions, function_sweep, goals, page, plot, run, workloads


def test_every_measurement_has_a_goal_and_every_goal_a_measurement():
    assert set(goals.GOALS) == set(workloads.WORKLOADS) | {"import_package"}


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (31e-9, "31 ns")])
def test_units(seconds, text):
    assert goals.show(seconds) == text


def test_verdicts():
    assert goals.Goal("", "", seconds=1e-2).met(5e-3, None) is True
    assert goals.Goal("", "", share=0.5).met(5e-3, 9e-3) is False
    assert goals.Goal("", "", share=0.5).met(5e-3, None) is None


TIMES = {"numjet": {"eager_add": 1e-6, "lorenz": 2e-3, "sort": 1e-3}, "jax": {"eager_add": 4e-6}, "numpy": {"sort": 2e-3}}


def test_table_has_a_row_per_measurement():
    lines = page.table(TIMES).splitlines()
    assert len(lines) == 5 and len({len(line) for line in lines}) == 1
    assert lines[2].startswith("| dispatch") and "| 4 " in lines[2] and " yes |" in lines[2]
    assert "| 2 ms" in lines[3] and lines[4].split("|")[5].strip() == "2 ms"


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_picture(tmp_path, suffix):
    plot.save(TIMES, tmp_path / f"plot.{suffix}")
    assert (tmp_path / f"plot.{suffix}").stat().st_size > 5000


def test_groups_stand_apart_in_the_picture():
    places, groups = plot.rows_of(list(TIMES["numjet"]))
    assert list(groups) == ["dispatch", "loops", "data"]
    assert places["lorenz"] - places["eager_add"] == 1 + plot.GAP


def test_a_page_is_renewed(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    for _ in range(2):
        page.renew(path, TIMES, "a machine")
    text = path.read_text()
    assert text.startswith("before") and text.endswith("after\n") and "old" not in text
    assert text.count("a machine.") == 1 and "images/benchmarks.png" in text
    assert (tmp_path / "images" / "benchmarks.png").exists()
    path.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines"):
        page.renew(path, TIMES, "a machine")


def test_the_rows_of_a_front_page_are_renewed(tmp_path):
    path = tmp_path / "README.md"
    title = goals.GOALS["eager_add"].title
    path.write_text(f"# name\n| {title} | 9 ms | 8 ms |\n| another | 1 ms | 2 ms |\n")
    page.renew_rows(path, TIMES)
    assert path.read_text() == f"# name\n| {title} | 1 us | 4 us |\n| another | 1 ms | 2 ms |\n"


def test_the_page_of_the_documentation_has_its_marks():
    text = (run.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf8")
    assert page.BEGIN in text and page.END in text


def test_lorenz_is_the_lorenz_system():
    """After one step of size h the path has moved by h times the velocity, up to h squared."""
    path = np.asarray(workloads._lorenz(nj, 1, h=1e-3)(nj.numpy.array([1.0, 2.0, 3.0])))
    np.testing.assert_allclose((path[0] - [1, 2, 3]) / 1e-3, [10, 23, -6], atol=0.2)


@pytest.mark.parametrize("name", [name for name, case in arrays.CASES.items() if case.numpy])
def test_packages_compute_the_same(name):
    """On the first rows of the inputs: what is timed on NumPy is what is timed on numjet."""
    case = arrays.CASES[name]
    square = name in ("cholesky", "small_systems", "attention")
    inputs = [x[:40, :40] if x.ndim == 2 else x[:40] % 40 if x.dtype == np.int32 else x[:40] for x in case.inputs()]
    inputs = case.inputs() if square else inputs
    with nj.enable_x64(case.x64):
        ours = np.asarray(case.make(nj)(*inputs))
    np.testing.assert_allclose(ours, case.make(arrays.NumPy)(*inputs), rtol=2e-4, atol=2e-4)


def test_measurements_in_processes_of_their_own(tmp_path, capsys):
    out = tmp_path / "numbers.json"
    command.main(["--only", "cached_call", "sum_columns", "--picture", str(tmp_path / "p.png"), "--json", str(out)])
    first = capsys.readouterr().out
    kept = json.loads(out.read_text())
    assert 0 < kept["times"]["numjet"]["cached_call"] < 1 and list(kept["times"]["numpy"]) == ["sum_columns"]
    assert "cached jit call" in first and "numjet 0.1.0, numpy" in kept["machine"]
    command.main(["--from", str(out), "--picture", str(tmp_path / "again.png")])
    assert capsys.readouterr().out == first


def test_a_failing_worker_is_reported():
    with pytest.raises(RuntimeError, match="no_such_package"):
        run.seconds("python3", "no_such_package", "eager_add")


def test_function_sweep(capsys, monkeypatch):
    """Each call runs with numjet on eight elements; those that NumPy has not are told."""
    found = function_sweep.main(["small", "np.clip(x", "np.bincount(i, l", "special.xlogy", "--repeat", "1", "--over", "1e9"])
    assert [m.text.split("(")[0] for m in found] == ["np.clip", "np.bincount", "special.xlogy"]
    assert [bool(m.error) for m in found] == [False, True, False] and found[0].ratio > 0
    assert "0 of 2 are over" in capsys.readouterr().out
    host = function_sweep.arrays(**function_sweep.SMALL)
    names = function_sweep.names_of("numjet")
    for text in function_sweep.ALL[::11]:
        function_sweep.function_of(text, names)(*map(jnp.asarray, host))


def test_eager_functions(capsys):
    ratios = eager_functions.main(["sin", "x[1:3]", "random.split", "--repeat", "1"])
    assert set(ratios) == {"sin", "x[1:3]", "random.split"} and "of 3 take at most" in capsys.readouterr().out
    assert len(eager_functions.CALLS) + len(eager_functions.PAIRS) > 100
