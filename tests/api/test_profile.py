"""nj.profile: what it measures, and what it shows."""

from __future__ import annotations

import inspect
import json
import re

import pytest

import numjet as nj
import numjet.numpy as jnp


def model(w, x):
    hidden = jnp.tanh(x @ w)
    ordered = jnp.sort(hidden, axis=0)
    _, sums = nj.lax.scan(lambda c, row: (jnp.sin(c) + row, jnp.sum(jnp.cumsum(jnp.cos(row)))), ordered[0], ordered)
    return sums


FIRST = inspect.getsourcelines(model)[1]
W, X = jnp.ones((40, 40)), jnp.ones((3000, 40))


@pytest.fixture(scope="module")
def found():
    return nj.profile(model, seconds=0.02)(W, X)


def test_statements_are_nested_and_add_up(found):
    whole = found.statements[0]
    assert whole.what == "whole program" and whole.parent == -1 and whole.runs == found.runs >= 3
    for k, s in enumerate(found.statements):
        inside = [t for t in found.statements if t.parent == k]
        assert s.runs % found.runs == 0 and s.parent < k
        assert s.own == s.nanoseconds - sum(t.nanoseconds for t in inside) >= 0
    assert sum(line.nanoseconds for line in found.lines) == pytest.approx(found.nanoseconds)


def test_time_is_attributed_to_the_users_lines(found):
    lines = {line.location.line for line in found.lines if line.location.file == __file__}
    assert {FIRST + 1, FIRST + 2, FIRST + 3} <= lines
    sorts = [s for s in found.statements if s.what.startswith("nj_sort")]
    assert sorts and all([at.line for at in s.locations] == [FIRST + 2] for s in sorts)


def test_costly_statements_inside_of_serial_loops_are_measured():
    def outer(x):
        return nj.lax.fori_loop(0, 7, lambda i, x: jnp.sort(x) + jnp.sin(x), x)

    measured = nj.profile(outer, seconds=0)(jnp.arange(5000.0))
    inner = [s for s in measured.statements if s.what.startswith("nj_sort")]
    assert measured.runs == 3 and [s.runs for s in inner] == [21]
    assert measured.statements[inner[0].parent].runs == 3


def test_gradients_batches_and_calls_of_python():
    measured = nj.profile(nj.grad(lambda w: jnp.sum(model(w, X))), seconds=0)(W)
    assert measured.nanoseconds > 0
    call = lambda x: nj.pure_callback(lambda x: x + 1, x, x)
    assert "Python callback" in [s.what for s in nj.profile(call, seconds=0)(X).statements]
    assert nj.profile(nj.vmap(lambda x: x * 2), seconds=0)(jnp.ones((0, 3))).runs == 3


def test_arguments_are_not_consumed_and_the_function_is_left_alone():
    step = nj.jit(lambda x: jnp.sin(x) + 1, donate_argnums=0)
    x = jnp.arange(9.0)
    nj.profile(step, seconds=0)(x)
    assert x[0] == 0 and step.cache_size() == 0


def test_the_table(found):
    text = str(found)
    assert re.search(r"^model: .* per run, \d+ runs$", text.splitlines()[0])
    assert re.search(rf" %  +\S+ \S+  test_profile.py:{FIRST + 2} +ordered = jnp.sort\(hidden, axis=0\)$", text, re.M)


def test_the_timeline(found, tmp_path):
    found.save(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert len(events) == len(found.events) > found.runs
    assert all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in events)
    assert "whole program" in {e["name"] for e in events}


def test_the_flame_graph(found, tmp_path):
    found.save(tmp_path / "f.html")
    page = (tmp_path / "f.html").read_text()
    widths = [float(w) for w in re.findall(r"width:([\d.]+)%", page)]
    lefts = [float(w) for w in re.findall(r"left:([\d.]+)%", page)]
    assert len(widths) == len(found.statements) and widths[0] == 100
    assert all(left + width <= 100.01 for left, width in zip(lefts, widths, strict=True))
    assert "jnp.sort(hidden, axis=0)" in page and "http" not in page and found._repr_html_() in page


def test_bad_input(found, tmp_path):
    with pytest.raises(TypeError, match="callable"):
        nj.profile(3)
    with pytest.raises(ValueError, match="negative"):
        nj.profile(model, seconds=-1)
    with pytest.raises(ValueError, match=r"\.html .*\.json"):
        found.save(tmp_path / "x.txt")
    with pytest.raises(NotImplementedError, match="mutable references"):
        nj.profile(lambda r: r[...])(nj.new_ref(jnp.ones(3)))
