"""What notebooks show: well-formed HTML whose text is that of the program, with names and the user's lines marked."""
from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

import numjet as nj
from numjet import lax, numpy as jnp
from numjet.core import notebook
from numjet.core.report_html import report

VOID = {"br", "meta", "input"}


class Checked(HTMLParser):
    """Refuses tags that are not closed, and collects the text of each tag and class."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get("class", "")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for tag, kind in self.open:
            self.found.setdefault(f"{tag}.{kind}" if kind else tag, []).append(data)

    def text(self, where):
        return "".join(self.found[where])


def f(x, y):
    """Branches, loops, a quoted string with a tag and braces, results without a name."""
    a, b = lax.scan(lambda c, _: (jnp.sin(c) * y, c.sum()), x, None, length=3)
    nj.debug.print("a {} <b>{{ sin", a)
    return {"out": lax.cond(b.sum() > 0, lambda: a, lambda: -a)}, jnp.linalg.inv(jnp.eye(3) * y)


X = (jnp.ones(4), 2.0)


@pytest.mark.parametrize("of", [lambda p: p, lambda p: p.jaxpr])
def test_a_jaxpr_s_text_is_the_printed_one_with_lines(of):
    jaxpr = of(nj.make_jaxpr(f)(*X))
    found = Checked(jaxpr._repr_html_())
    assert " ".join(found.text("pre").split()) == " ".join(jaxpr.pretty_print(source_info=True).split())
    assert {"scan", "sin", "mul", "reduce_sum", "debug_print", "cond", "lu"} <= {w.strip() for w in found.found["span.o"]}
    assert set(found.found["span.k"]) == {"lambda", "let", "in"}
    assert any(line.startswith("# test_notebook.py:") for line in found.found["span.s"])


def test_variables_are_marked_where_they_are_bound_and_read():
    found = Checked(nj.make_jaxpr(lambda a, b: jnp.sin(a) + b * 2.0)(1.0, 2.0)._repr_html_())
    assert found.found["span.v"] == ["a", "b", "c", "a", "d", "b", "e", "c", "d", "e"]
    assert found.found["span.c"] == ["2.0"]


def test_quoted_text_is_escaped_and_holds_no_variables():
    text = nj.make_jaxpr(f)(*X)._repr_html_()
    assert "<b>" not in text and html.escape("'a {} <b>{{ sin'", quote=True) in text


def test_an_empty_program():
    assert Checked(nj.make_jaxpr(lambda: ())()._repr_html_()).text("pre").split() == "{ lambda ; . let in () }".split()


@pytest.mark.parametrize("stage", ["traced", "lowered", "compiled"])
def test_stages_show_arguments_results_and_program(stage):
    jitted = nj.jit(f, donate_argnums=0)
    made = jitted.trace(*X)
    made = {"traced": made, "lowered": made.lower(), "compiled": made.lower().compile()}[stage]
    found = Checked(made._repr_html_())
    cells = found.found["code"]
    assert cells[:4] == ["x", "f32[4]", "y", "f32[]"] and "result[0]['out']" in cells and "result[1]" in cells
    assert "donated" in found.found["td"] and "lambda" in found.text("pre")
    assert repr(made) == f"<{stage.capitalize()} f: (f32[4], f32[]) -> (f32[4], f32[3,3]) on cpu:0>"


def test_compiled_programs_show_their_memory():
    compiled = nj.jit(lambda x: x + 1).lower(jnp.ones(1000)).compile()
    cells = Checked(compiled._repr_html_()).found["td"]
    assert cells[cells.index("results") + 1:][:1] == ["results in donated memory"]
    assert Checked(compiled._repr_html_()).found["td.n"][2:4] == ["4,000", "4,000"]


def test_arguments_that_are_references():
    ref = nj.new_ref(jnp.ones(3))
    found = Checked(nj.jit(lambda r: r[...] * 2).trace(ref)._repr_html_())
    assert "result" in found.found["code"]


def test_reports_list_loops_operations_and_lines():
    made = nj.explain(lambda x: (jnp.sin(x) * 2 + x.T @ x).sum(0))(jnp.ones((800, 800)))
    found = Checked(made._repr_html_())
    assert {"Loops", "Library calls", "Large buffers"} <= set(found.found["h4"])
    assert {"fused", "stored"} <= {text for kind, texts in found.found.items() if "fate" in kind for text in texts}
    assert str(made).split("\n")[0].partition(": ")[2] in found.text("p")


def test_long_lists_of_operations_end():
    def many(x):
        for k in range(500):
            x = jnp.sin(x) + k
        return x

    text = report(nj.explain(many)(jnp.ones(8)))
    assert re.search(r"and \d+ more: print\(report\) lists them all", text) and text.count("<tr>") < 450


@pytest.mark.parametrize("word", ["<script>", "a & b", "'quoted' \"twice\""])
def test_user_text_is_escaped(word):
    assert word not in notebook.table(("x",), [[notebook.escaped(word)]]) and word not in notebook.folded(word, "")
    assert word not in notebook.program(word).replace(notebook._SCRIPT, "")
