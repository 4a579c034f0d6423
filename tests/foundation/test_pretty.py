import pytest
from hypothesis import given, strategies as st

from numjet.foundation.pretty import bracket, brk, concat, group, join, line, nest, nothing, render, text

ARGS = bracket("f(", [text("first"), text("second")], ")")


def test_a_group_that_fits_stays_on_its_line():
    assert render(ARGS, 16) == "f(first, second)"
    assert render(ARGS, 15) == "f(\n  first,\n  second\n)"


def test_inner_groups_decide_for_themselves():
    doc = bracket("g(", [ARGS, text("third_argument")], ")")
    assert render(doc, 24) == "g(\n  f(first, second),\n  third_argument\n)"
    assert render(doc, 12) == "g(\n  f(\n    first,\n    second\n  ),\n  third_argument\n)"


def test_what_follows_a_group_counts():
    doc = concat([ARGS, text(" in"), brk(), text("end")])
    assert render(doc, 19) == "f(first, second) in\nend"
    assert render(doc, 18).startswith("f(\n")


def test_a_hard_line_breaks_the_groups_around_it_only():
    doc = group(concat([text("a"), brk(), group(concat([text("b"), brk(), text("c")])), line(), text("d")]))
    assert render(doc) == "a\nb c\nd"


def test_text_with_newlines_is_indented():
    assert render(nest(4, concat([text("a\nb"), line(), text("c")]))) == "a\n    b\n    c"


def test_breaks_outside_of_groups_are_newlines_and_leave_no_blanks_behind():
    assert render(concat([text("a "), brk(), text("b")])) == "a\nb"


def test_small_ones():
    assert render(nothing()) == "" == render(concat([]))
    assert render(join(text(", "), [])) == ""
    assert str(text("a") + text("b")) == "ab"


def test_long_documents_need_no_recursion():
    doc = nothing()
    for _ in range(20_000):
        doc = nest(0, concat([doc, text("x")]))
    assert render(doc) == "x" * 20_000


def documents():
    leaves = st.one_of(st.text("ab", max_size=4).map(text), st.sampled_from(["", " "]).map(brk))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(concat), inner.map(group), inner.map(lambda doc: nest(2, doc))
        ),
        max_leaves=12,
    )


@given(documents(), st.integers(1, 20))
def test_only_white_space_depends_on_the_width(doc, width):
    assert "".join(render(doc, width).split()) == "".join(render(doc, 10_000).split())


@given(documents())
def test_a_wide_page_breaks_no_group(doc):
    assert "\n" not in render(group(doc), 10_000)


@pytest.mark.parametrize("width", [1, 5, 40, 120])
def test_lines_keep_to_the_width_where_breaks_allow(width):
    doc = bracket("[", [text("x" * 3)] * 40, "]", indent=0)
    assert max(map(len, render(doc, width).split("\n"))) <= max(width, 4)
