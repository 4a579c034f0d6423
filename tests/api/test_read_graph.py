"""Graphs of what functions read: texts and digests, what they tell apart, and how many steps they take."""
from __future__ import annotations

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api import fingerprint, stored_calls
from numjet.api.read_graph import Graph, Leaf, Node, Parts
from tests.api.test_stored_calls_changes import cache as cache


def graph(nodes: dict[Node, Parts]) -> Graph:
    made = Graph(fingerprint.digest)
    made.nodes.update(nodes)
    return made


def test_text_numbers_objects_in_the_order_they_are_reached():
    one = {1: ["f", 2, 3, 2], 2: ["g", Leaf(7, 100)], 3: ["h", Leaf(7, 108), Leaf(8)]}
    two = {11: ["f", 12, 13, 12], 12: ["g", Leaf(17, 500)], 13: ["h", Leaf(17, 508), Leaf(18)]}
    assert graph(one).text(1) == graph(two).text(11)
    two[13][1] = Leaf(17, 516)
    assert graph(one).text(1) != graph(two).text(11)
    two[13][1] = Leaf(19, 508)
    assert graph(one).text(1) != graph(two).text(11)


def test_digests_see_changes_through_cycles_wherever_they_begin():
    nodes: dict[Node, Parts] = {1: ["a", 2], 2: ["b", 3], 3: ["c", 2, 4], 4: ["d"], 5: ["e", 3]}
    forward, backward = graph(nodes), graph(nodes)
    assert {k: forward.digest(k) for k in nodes} == {k: backward.digest(k) for k in reversed(list(nodes))}
    assert len({forward.digest(k) for k in nodes}) == 5
    changed = graph({**nodes, 2: ["b'", 3]})
    assert [k for k in nodes if changed.digest(k) != forward.digest(k)] == [1, 2, 3, 5]
    assert forward.reaching(4) == {1, 2, 3, 4, 5} and forward.reaching(1) == {1}


@pytest.fixture
def steps(monkeypatch, cache):
    """How many parts were read and looked at by readings."""
    made = []
    read = fingerprint.Reading.__init__

    def counted(self, *args, **kwargs):
        made.append(self)
        read(self, *args, **kwargs)
    monkeypatch.setattr(stored_calls.Reading, "__init__", counted)
    return lambda: sum(r._reader.count + r._reader.graph.steps for r in made)


SCALE = 2.0


def nested(depth: int, leaf):
    fun = leaf
    for _ in range(depth):
        fun = nj.jit((lambda inner: lambda x: jnp.sin(inner(x)) * SCALE)(fun))
    return fun


@pytest.mark.parametrize("leaf", [lambda x: x * 2, lambda x: x * UNPROVEN[0]], ids=["proven", "unproven"])
@pytest.mark.parametrize("form", [nj.jit, nj.grad, lambda f: nj.jit(nj.grad(f))], ids=["jit", "grad", "jit of grad"])
def test_nested_functions_are_read_in_linear_time(steps, leaf, form):
    counts = []
    for depth in (4, 8, 16):
        before = steps()
        form(nested(depth, leaf))(0.5)
        counts.append(steps() - before)
    assert counts[0] > 0
    assert counts[2] - counts[1] <= 2 * (counts[1] - counts[0])


UNPROVEN = [3]


def test_traces_within_are_proven_until_something_changes(cache):
    global SCALE
    inner = nj.jit(lambda x: x * SCALE)
    outer = nj.jit(lambda x: inner(x) + 1)
    outer(1.0)
    read = lambda: fingerprint.Reading(lambda x: outer(inner(x))).unproven
    assert read() is None
    SCALE = 4.0
    try:
        assert "traced before" in str(read())
    finally:
        SCALE = 2.0


@pytest.mark.parametrize("form", [lambda f: nj.jit(nj.grad(f))(0.5), lambda f: nj.vmap(nj.grad(f))(jnp.ones(2)),
                                  lambda f: nj.jvp(f, (0.5,), (1.0,))], ids=["jit of grad", "vmap of grad", "jvp"])
def test_sixty_nested_functions_fit_into_pythons_stack(form):
    form(nested(60, lambda x: x * 2))
