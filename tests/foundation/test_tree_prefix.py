"""Prefixes of trees, and explanations of how trees differ."""

import dataclasses
from collections import namedtuple

import pytest

import numjet.tree as short
import numjet.tree_util as tu
from numjet.foundation import tree

Point = namedtuple("Point", "x y")
structure = tu.tree_structure


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    name: str = short.static(default="n")


@pytest.mark.parametrize(
    "prefix,full,expected",
    [
        (0, [1, (2, 3)], [0, 0, 0]),
        (0, None, []),
        ((0, 1), ([7, 8], {"a": 9}), [0, 0, 1]),
        ({"a": 1, "b": (2, 3)}, {"b": (0, [0, 0]), "a": 0}, [1, 2, 3, 3]),
        ([1, None], [{"a": 4}, None], [1]),
        (Point(1, 2), Point((0, 0), Layer([0, 0])), [1, 1, 2, 2]),
        (Layer(5), Layer([1, 2]), [5, 5]),
    ],
)
def test_broadcast_prefix(prefix, full, expected):
    assert tree.broadcast_prefix(prefix, full) == expected
    assert tu.tree_leaves(tu.tree_broadcast(prefix, full)) == expected
    assert structure(tu.tree_broadcast(prefix, full)) == structure(full)
    assert not tree.prefix_errors(prefix, full)


def test_broadcast_prefix_is_leaf():
    assert short.broadcast([1, (2, 3)], [(4, 5), (6, 7)], is_leaf=lambda x: isinstance(x, tuple)) == [
        (1, 1),
        ((2, 3), (2, 3)),
    ]
    assert tree.broadcast_prefix((None, 0), ([1, 2], 3), is_leaf=lambda x: x is None) == [None, None, 0]


METADATA = "the pytree node metadata does not match"
DIFFERENCES = [
    ({"x": (1,)}, {"x": (1, 2)}, "['x']", "tuple of length 1", "tuple of length 2", "the lengths do not match"),
    ((1, 2), [1, 2], "", "<class 'tuple'>", "<class 'list'>", "their Python types differ"),
    ([{"a": 1}], [{"b": 1}], "[0]", "<class 'dict'> with pytree metadata ('a',)", "<class 'dict'> with pytree metadata ('b',)",
     METADATA),
    ([{"a": 1}], [{}], "[0]", "<class 'dict'> with 1 child", "<class 'dict'> with 0 children",
     "the numbers of children do not match, with the symmetric difference of key sets: {'a'}"),
    (Point((1,), 2), Point(3, 2), ".x", "<class 'tuple'>", "<class 'int'>", "their Python types differ"),
    (Point(1, 2), (1, 2), "", f"{Point}", "<class 'tuple'>", "their Python types differ"),
    ([None], [1.0], "[0]", "<class 'NoneType'>", "<class 'float'>", "their Python types differ"),
    (Layer(1, "a"), Layer(1, "b"), "", f"{Layer} with pytree metadata ('a',)", f"{Layer} with pytree metadata ('b',)",
     METADATA),
]


@pytest.mark.parametrize("first,second,path,thing1,thing2,explanation", DIFFERENCES)
def test_every_explanation(first, second, path, thing1, thing2, explanation):
    [difference] = tree.equality_errors(first, second)
    assert (tu.keystr(difference.path), *difference[1:]) == (path, thing1, thing2, explanation)
    [backwards] = tree.equality_errors(second, first)
    assert backwards == (difference.path, thing2, thing1, explanation)
    [of_treedefs] = tree.equality_errors_treedef(structure(first), structure(second))
    assert tu.keystr(of_treedefs.path) == path and of_treedefs.explanation == explanation


PREFIX_ERRORS = [
    ({"x": (1,)}, {"x": (1, 2)}, "['x']", "tuple of length 1", "tuple of length 2"),
    ((1, 2), [1, 2], "", "tuple of length 2", "list of length 2"),
    ([{"a": 1}], [{"b": 1}], "[0]", "dict with keys ['a']", "dict with keys ['b']"),
    (Point((1,), 2), Point(3, 2), ".x", "tuple of length 1", "leaf of type int"),
    (Point(1, 2), (1, 2), "", "namedtuple Point", "tuple of length 2"),
    ([None], [1.0], "[0]", "NoneType", "leaf of type float"),
    (Layer(1, "a"), Layer(1, "b"), "", "Layer with 1 child and metadata ('a',)", "Layer with 1 child and metadata ('b',)"),
]


@pytest.mark.parametrize("first,second,path,thing1,thing2", PREFIX_ERRORS)
def test_every_prefix_error(first, second, path, thing1, thing2):
    [error] = tree.prefix_errors(first, second)
    assert isinstance(error("axes"), ValueError)
    head, where, text, *_ = str(error("axes")).splitlines()
    assert head.startswith("pytree structure error: different ") and where == f"    axes{path}"
    assert text.startswith(f"axes{path} is a {thing1} but the full tree has a {thing2} there: ")
    with pytest.raises(ValueError, match=r"\n    prefix tree"):
        tree.broadcast_prefix(first, second)
    with pytest.raises(ValueError, match="Expected"):
        structure(first).prefix_counts(structure(second))


def test_all_differences_are_reported():
    first = {"a": 1, "b": (1, 2), "c": [1, {"k": 0}]}
    second = {"a": [1], "b": (1,), "c": [1, {"l": 0}]}
    assert [tu.keystr(d.path) for d in tree.equality_errors(first, second)] == ["['a']", "['b']", "['c'][1]"]
    assert len(tree.prefix_errors(first, second)) == 2  # the leaf at 'a' is a prefix
    assert list(tree.equality_errors(first, first)) == []
    assert list(tree.equality_errors_treedef(structure(first), structure(first))) == []


def test_equality_errors_is_leaf():
    is_leaf = lambda x: isinstance(x, tuple)
    assert list(tree.equality_errors([(1, 2)], [(3,)], is_leaf)) == []
    [difference] = tree.equality_errors([(1, 2)], [[3]], is_leaf)
    assert difference.thing1 == "<class 'tuple'>"


def test_flatten_axes():
    treedef = structure(([1, 2], {"a": 3}, None))
    assert tree.flatten_axes("in_axes", treedef, 0) == [0, 0, 0]
    assert tree.flatten_axes("in_axes", treedef, None) == [None, None, None]
    assert tree.flatten_axes("in_axes", treedef, (0, None, 5)) == [0, 0, None]
    assert tree.flatten_axes("in_axes", treedef, ([0, 1], {"a": 2}, None)) == [0, 1, 2]
    assert tree.flatten_axes("in_axes", structure([1]), "batch") == ["batch"]


@pytest.mark.parametrize(
    "axes,message",
    [
        ((0, 1), "vmap in_axes is a tuple of length 2 but the full tree has a tuple of length 3 there"),
        ([0, 1, 2], "vmap in_axes is a list of length 3 but the full tree has a tuple of length 3 there"),
        (((0,), None, None), "vmap in_axes[0] is a tuple of length 1 but the full tree has a list of length 2 there"),
        ((0, {"b": 1}, None), "vmap in_axes[1] is a dict with keys ['b'] but the full tree has a dict with keys ['a'] there"),
        (((0,), (1,), None), "Mismatch details (2 found):\npytree structure error: different types at key path"),
        ((0, {"a": [1]}, None), "vmap in_axes[1]['a'] is a list of length 1 but the full tree has a leaf there"),
    ],
)
def test_flatten_axes_errors(axes, message):
    with pytest.raises(ValueError) as info:
        tree.flatten_axes("vmap in_axes", structure(([1, 2], {"a": 3}, None)), axes)
    assert message in str(info.value)
    assert str(info.value).startswith("vmap in_axes specification must be a tree prefix of the corresponding value")


def test_tree_equal_structure():
    assert tree.tree_equal_structure([1, (2,)], [3, (4,)], ["a", ("b",)])
    assert not tree.tree_equal_structure([1], [1], [(1,)])
    assert tree.tree_equal_structure([(1, 2)], [(1,)], is_leaf=lambda x: isinstance(x, tuple))


def test_long_descriptions_are_cut():
    first, second = {f"key{i}": 0 for i in range(1000)}, {f"name{i}": 0 for i in range(1000)}
    [difference] = tree.equality_errors(first, second)
    assert len(difference.thing1) < 500
    with pytest.raises(ValueError) as info:
        tu.tree_map(lambda x, y: x, first, second)
    assert len(str(info.value)) < 1200
