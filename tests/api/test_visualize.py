"""Pictures of programs: every equation has a box in its place, with what became of it; the page is self-contained."""
from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core import program_graph


def walk(x):
    def step(carry, row):
        return carry + jnp.sin(row), carry * 2

    return lax.scan(step, 0.0, x)[1]


def drawing(f, *args):
    return nj.visualize(f)(*args).drawing


def test_every_equation_has_a_box_and_its_fate():
    nodes = drawing(lambda x: jnp.sum(jnp.sin(x) * 2), jnp.ones(1000)).nodes
    assert [(n.name, n.fate) for n in nodes if n.kind == "operation"] == [
        ("sin", "fused"), ("mul", "fused"), ("reduce_sum", "registers")]
    assert nodes[0].text == ("a", "f32[1000]") and nodes[1].text[0] == "b = sin a"


def test_edges_lead_from_what_is_read():
    found = drawing(lambda x, y: (x + y) * x, jnp.ones(3), jnp.ones(3))
    names = {n.key: n.text[0].split(" =")[0] for n in found.nodes}
    assert {(names[a], names[b]) for a, b in found.edges} == {("a", "c"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "result 0")}


def test_bodies_are_drawn_inside():
    found = drawing(walk, jnp.ones(5))
    scan = next(n for n in found.nodes if n.name == "scan")
    assert {"sin", "add", "mul"} <= {n.name for n in scan.inside[0].nodes}


def boxes_overlap(nodes):
    return any(a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height
               for k, a in enumerate(nodes) for b in nodes[:k])


@pytest.mark.parametrize("f", [lambda x: walk(x) + lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
                               lambda x: sum((jnp.roll(x, k) * k for k in range(9)), 0 * x), lambda x: x, lambda x: 3.0])
def test_boxes_do_not_overlap_and_stand_below_what_they_read(f):
    found = drawing(f, jnp.ones(5))
    places = {n.key: n for n in found.nodes}
    assert not boxes_overlap(found.nodes)
    assert all(places[a].y + places[a].height < places[b].y for a, b in found.edges)
    assert all(0 <= n.x and n.x + n.width <= found.width and n.y + n.height <= found.height for n in found.nodes)
    for node in found.nodes:
        for inner in node.inside:
            assert not boxes_overlap(inner.nodes)
            assert node.width > inner.width and node.height > inner.height


def test_the_page_is_one_file(tmp_path):
    page = nj.visualize(walk)(jnp.ones(5))
    page.save(tmp_path / "walk.html")
    text = (tmp_path / "walk.html").read_text()
    assert not re.search(r"""(src|href)=|https?://""", text)
    svg = re.search(r"<svg.*?</svg>", text, re.DOTALL)[0]
    quoted = re.sub(r"([\w-]+)=([^\s'\"/>]+)(?=[\s/>])", r"\1='\2'", svg)
    shapes = ElementTree.fromstring(quoted)
    assert len([e for e in shapes.iter("g") if "data-key" in e.attrib]) == len(list(page.drawing.all_nodes()))
    info = json.loads(re.search(r"<script type='application/json'>(.*?)</script>", text, re.DOTALL)[1])
    assert any("sin" in about and "test_visualize.py" in about for about in info.values())
    assert "Source lines" in text and "Loops" in text and page._repr_html_() in f"<div>{page._repr_html_()}</div>"


def test_names_cannot_end_the_script():
    def f(x):
        return x + 1

    f.__name__ = "</script><b>"
    text = nj.visualize(f)(1.0).html()
    assert "<b>" not in text.split("Source lines")[0].split("<h1>")[1].split("</h1>")[0]


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"saved as \.html"):
        nj.visualize(walk)(jnp.ones(3)).save(tmp_path / "walk.png")


def test_loops_name_their_boxes():
    page = nj.visualize(lambda x: jnp.sum(jnp.sin(x) * 2))(jnp.ones(1000))
    rows = re.findall(r"<div class=row data-keys='([\d ]*)'>vector loop", page.html())
    assert [len(keys.split()) for keys in rows] == [3]


def calls(n):
    """Python calls that drawing a chain of n equations takes."""
    def chain(x):
        for _ in range(n):
            x = jnp.sin(x) + x
        return x

    closed = nj.make_jaxpr(chain)(1.0)
    report = nj.explain(lambda x: x)(1.0)
    count = 0

    def note(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        program_graph.Drawer(report).draw(closed.jaxpr, "chain")
    finally:
        sys.setprofile(None)
    return count


def test_drawing_is_linear():
    assert calls(400) < 2.2 * calls(200)
