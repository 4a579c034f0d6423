"""The benchmark program measures what its goals name, and its table and picture say what was measured."""
from __future__ import annotations

import json

import numpy as np
import pytest

import numjet as nj
from benchmarks import __main__ as command, goals, plot, run, workloads


def test_every_measurement_has_a_goal_and_every_goal_a_measurement():
    assert set(goals.GOALS) == set(workloads.WORKLOADS) | {"import_package"}


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (31e-9, "31 ns")])
def test_units(seconds, text):
    assert goals.show(seconds) == text


def test_verdicts():
    assert goals.Goal("", seconds=1e-2).met(5e-3, None) is True
    assert goals.Goal("", share=0.5).met(5e-3, 9e-3) is False
    assert goals.Goal("", share=0.5).met(5e-3, None) is None


def test_table_has_a_row_per_measurement():
    ours, jax = {"eager_add": 1e-6, "lorenz": 2e-3}, {"eager_add": 4e-6}
    lines = command.table(ours, jax).splitlines()
    assert len(lines) == 4 and len({len(line) for line in lines}) == 1
    assert "| 4 " in lines[2] and " yes |" in lines[2] and "| 2 ms" in lines[3]


def test_picture(tmp_path):
    plot.save({"eager_add": 1e-6, "lorenz": 2e-3}, {"eager_add": 4e-6}, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_lorenz_is_the_lorenz_system():
    """After one step of size h the path has moved by h times the velocity, up to h squared."""
    path = np.asarray(workloads._lorenz(nj, 1, h=1e-3)(nj.numpy.array([1.0, 2.0, 3.0])))
    np.testing.assert_allclose((path[0] - [1, 2, 3]) / 1e-3, [10, 23, -6], atol=0.2)


def test_a_measurement_in_a_process_of_its_own(tmp_path, capsys):
    out = tmp_path / "numbers.json"
    command.main(["--only", "cached_call", "--picture", str(tmp_path / "p.png"), "--json", str(out)])
    assert 0 < json.loads(out.read_text())["numjet"]["cached_call"] < 1
    assert "cached jit call" in capsys.readouterr().out


def test_a_failing_worker_is_reported():
    with pytest.raises(RuntimeError, match="no_such_package"):
        run.times("python3", "no_such_package", ["eager_add"])
