"""nj.benchmark: what it counts, how it treats arguments, and what it shows."""
from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core import benchmark_report
from numjet.core.benchmark_report import Benchmark, Limits
from numjet.foundation import events, lazy_import
from numjet.tools import bench

LIMITS = Limits("float32", 1e11, 2e10, 32 << 20, "4 threads")


def made(**changes) -> Benchmark:
    """A benchmark with known times."""
    given = {"name": "step", "times": (4e-3, 1e-3, 2e-3, 3e-3, 5e-3), "loops": 1, "trace": 1e-3, "compile": 2e-2,
             "cached": False, "operations": 6e7, "open_ended": False, "moved": 6e7, "limits": LIMITS}
    return Benchmark(**{**given, **changes})


def test_counts():
    a = jnp.ones((20, 30))
    found = nj.benchmark(lambda a, b: jnp.tanh(a @ b), seconds=0)(a, a.T)
    assert found.operations == 2 * 20 * 20 * 30 + 400 and found.moved == 4 * (600 + 600 + 400)
    assert not found.open_ended and len(found.times) >= 5 and all(t > 0 for t in found.times)
    assert found.trace > 0 and found.compile > 0 and found.limits.flops > 0 and found.limits.bandwidth > 0


def test_while_loops_count_at_least():
    found = nj.benchmark(lambda x: lax.while_loop(lambda x: x[0] < 9, lambda x: x + 1, x), seconds=0)(jnp.zeros(7))
    assert found.open_ended and "at least" in {row[0]: row[2] for row in found.rows()}["arithmetic"]


def test_double_precision_has_limits_of_its_own(x64):
    found = nj.benchmark(lambda x: x + 1, seconds=0)(jnp.ones(3))
    assert found.limits.dtype == "float64" and found.moved == 48


def test_limits_are_measured_once():
    nj.benchmark(lambda x: x + 1, seconds=0)(jnp.ones(3))
    with events.counting() as grown:
        nj.benchmark(lambda x: x - 1, seconds=0)(jnp.ones(3))
    assert grown["compile"] <= 2   # as a stage, and by the calls


def test_donated_arguments_are_kept():
    step = nj.jit(lambda s, x: {"w": s["w"] + x}, donate_argnums=0)
    state = {"w": jnp.arange(4.0)}
    found = nj.benchmark(step, seconds=0)(state, jnp.ones(4))
    assert found.loops == 1
    np.testing.assert_array_equal(state["w"], np.arange(4.0))


def test_static_arguments_and_keywords():
    power = nj.jit(lambda x, n, *, scale: scale * x ** n, static_argnums=1)
    assert nj.benchmark(power, seconds=0)(jnp.ones(5), 3, scale=2.0).name == "<lambda>"
    assert nj.benchmark(nj.vmap(lambda x: x * 2), seconds=0)(jnp.ones((0, 3))).operations == 0


def test_figures():
    b = made()
    assert (b.median, b.best, b.quartiles) == (3e-3, 1e-3, (2e-3, 4e-3)) and b.spread == pytest.approx(2 / 3)
    assert b.flops_per_second == pytest.approx(2e10) == b.bytes_per_second and b.intensity == 1 and LIMITS.ridge == 5
    assert not b.in_cache and b.least == pytest.approx(3e-3)          # by memory
    assert made(moved=1e6).least == pytest.approx(6e-4)               # in the caches: by arithmetic
    assert made(times=(1e-3,)).quartiles == (1e-3, 1e-3)


def test_the_table():
    text = str(made())
    assert text.splitlines()[0] == "step on 4 threads"
    assert "3 ms" in text and "median of 5 calls; half of them in 2 ms to 4 ms, best 1 ms" in text
    assert "20 GFLOP/s" in text and "20 % of 100 GFLOP/s" in text and "60 MB of arguments and results; 100 %" in text
    assert "traced in 1 ms, compiled in 20 ms" in text and "from the cache on disk" in str(made(cached=True))
    assert "they fit the caches" in str(made(moved=1e6)) and "runs of 50 calls" in str(made(loops=50))
    page = made(name="<lambda>")._repr_html_()
    assert "&lt;lambda&gt;" in page and "<lambda>" not in page and page.count("<tr>") == 6


def test_the_roofline(tmp_path):
    pytest.importorskip("matplotlib")
    for b in (made(), made(moved=1e5), made(moved=1e10)):
        axes = b.plot()
        roof, point = axes.get_lines()[0], axes.get_lines()[2]
        assert max(roof.get_ydata()) == LIMITS.flops and roof.get_xdata()[1] == LIMITS.ridge
        assert point.get_xdata()[0] == b.intensity and point.get_ydata()[0] == b.flops_per_second
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        assert left < b.intensity < right and low < b.flops_per_second < high
    assert made().plot(axes) is axes
    made().save(tmp_path / "roofline.svg")
    ElementTree.parse(tmp_path / "roofline.svg")
    with pytest.raises(ValueError, match="does no arithmetic"):
        made(operations=0.0).plot()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(benchmark_report, "figure", lazy_import.Module("matplotlib.figure"))
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        made().plot()


def test_bad_input():
    with pytest.raises(TypeError, match="callable"):
        nj.benchmark(3)
    with pytest.raises(ValueError, match="negative"):
        nj.benchmark(jnp.sin, seconds=-1)
    with pytest.raises(NotImplementedError, match="mutable references"):
        nj.benchmark(lambda r: r[...] * 2)(nj.new_ref(jnp.ones(3)))
    with pytest.raises(TypeError):
        nj.benchmark(lambda x: jnp.sin(x, x, x))(jnp.ones(3))


def test_the_command(tmp_path, capsys):
    (tmp_path / "model.py").write_text("import numjet.numpy as jnp\ndef loss(w, x):\n    return jnp.sum(jnp.tanh(x @ w))\n")
    assert bench.main([f"{tmp_path}/model.py:loss", "ones((4, 3))", "f32[5,4]", "--grad", "--seconds", "0"]) == 0
    assert capsys.readouterr().out.startswith("loss on ")
