"""Flattening, mapping, paths: against expectations written out and against a definition in plain Python."""

import re
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest
from hypothesis import given, settings, strategies as st

import numjet.tree as short
import numjet.tree_util as tu
from numjet.foundation import tree

Point = namedtuple("Point", "x y")


class Pair:
    def __init__(self, a, b, note=None):
        self.a, self.b, self.note = a, b, note

    def __eq__(self, other):
        return type(other) is type(self) and (self.a, self.b, self.note) == (other.a, other.b, other.note)


tu.register_pytree_node(Pair, lambda p: ((p.a, p.b), p.note), lambda note, children: Pair(*children, note))


class SubPair(Pair):
    pass


def plain_flatten(x):
    """The definition: leaves and the text of the treedef."""
    if x is None:
        return [], "None"
    if type(x) in (list, tuple):
        parts = [plain_flatten(child) for child in x]
        inside = ", ".join(text for _, text in parts)
        if type(x) is tuple and len(x) == 1:
            inside += ","
        return [leaf for leaves, _ in parts for leaf in leaves], f"[{inside}]" if type(x) is list else f"({inside})"
    if type(x) is dict:
        parts = [(key, *plain_flatten(x[key])) for key in sorted(x)]
        inside = ", ".join(f"{key!r}: {text}" for key, _, text in parts)
        return [leaf for _, leaves, _ in parts for leaf in leaves], "{" + inside + "}"
    if type(x) is Point:
        leaves, text = plain_flatten(list(x))
        return leaves, f"CustomNode(namedtuple[Point], {text})"
    if type(x) is Pair:
        leaves, text = plain_flatten([x.a, x.b])
        return leaves, f"CustomNode(Pair[{x.note}], {text})"
    return [x], "*"


TREES = {
    "leaf": 1.5,
    "none": None,
    "empty": [(), {}, [], None],
    "list": [1, 2, 3],
    "tuple": (1, (2,), ()),
    "dict": {"b": 1, "a": {"d": 2, "c": 3}},
    "int keys": {3: "c", 1: "a", 2: None},
    "tuple keys": {(1, 2): 3, (0, 5): 4},
    "mixed numbers": {1.5: 1, 1: 2},
    "unicode": {"é": 1, "z": 2, "😀": 3, "": 4},
    "namedtuple": Point(1, Point(2, [3])),
    "custom": [Pair(1, (2, None), "note"), Pair({"k": 1}, 2)],
    "subclass": SubPair(1, 2),
    "other containers": [{1, 2}, Counter("ab"), deque([1]), "text", b"bytes", range(3)],
    "many keys": {f"k{(i * 37) % 100}": i for i in range(100)},
    "long": list(range(1000)),
}


@pytest.fixture(params=TREES.values(), ids=TREES.keys())
def example(request):
    return request.param


def test_flatten_is_the_definition(example):
    leaves, treedef = tu.tree_flatten(example)
    expected_leaves, text = plain_flatten(example)
    assert leaves == expected_leaves
    assert repr(treedef) == f"PyTreeDef({text})"
    assert treedef.num_leaves == len(leaves)
    assert tu.tree_leaves(example) == leaves
    assert tu.tree_structure(example) == treedef


def test_unflatten_is_the_inverse(example):
    leaves, treedef = tu.tree_flatten(example)
    again = tu.tree_unflatten(treedef, leaves)
    assert type(again) is type(example)
    assert again == example
    assert treedef.flatten_up_to(again) == leaves
    assert tu.tree_map(lambda x: x, example) == again


def test_paths_reach_the_leaves(example):
    pairs, treedef = tu.tree_flatten_with_path(example)
    assert [leaf for _, leaf in pairs] == tu.tree_leaves(example)
    assert treedef == tu.tree_structure(example)
    for path, leaf in pairs:
        node = example
        for key in path:
            match key:
                case tu.SequenceKey(idx):
                    node = node[idx]
                case tu.DictKey(name):
                    node = node[name]
                case tu.GetAttrKey(name):
                    node = getattr(node, name)
                case tu.FlattenedIndexKey(index):
                    node = (node.a, node.b)[index]
        assert node is leaf


trees = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda children: (
        st.lists(children, max_size=4)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), children, max_size=4)
        | st.dictionaries(st.integers(), children, max_size=3)
        | st.builds(Point, children, children)
        | st.builds(Pair, children, children, st.sampled_from([None, "n", ("a", 1)]))
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(trees)
def test_random_trees(x):
    leaves, treedef = tu.tree_flatten(x)
    expected, text = plain_flatten(x)
    assert leaves == expected
    assert repr(treedef) == f"PyTreeDef({text})"
    again = treedef.unflatten(leaves)
    assert again == x
    structure = tu.tree_structure(again)
    assert structure == treedef
    assert hash(structure) == hash(treedef)
    if text == repr(tu.tree_structure(0))[10:-1]:
        assert tu.treedef_is_leaf(treedef)
    assert [leaf for _, leaf in tu.tree_leaves_with_path(x)] == leaves
    assert sum(child.num_leaves for child in treedef.children()) + (treedef.node_data() is None) == len(leaves)


@settings(max_examples=80, deadline=None)
@given(trees, trees)
def test_equality_of_treedefs_is_equality_of_their_text(x, y):
    # Point and Pair metadata print as what they are, so texts tell all treedefs of these trees apart.
    a, b = tu.tree_structure(x), tu.tree_structure(y)
    assert (a == b) == (repr(a) == repr(b))
    assert (a != b) == (not a == b)


def test_dicts_are_rebuilt_sorted():
    assert list(tu.tree_map(lambda x: x, {"b": 1, "a": 2})) == ["a", "b"]
    assert list(tu.tree_map(lambda x: x, OrderedDict(b=1, a=2))) == ["b", "a"]


def test_key_order_cache_sees_other_orders_and_objects():
    for _ in range(3):
        for keys in ("abc", "cab", "bca", "ab", "ba"):
            tree_ = {key: ord(key) for key in keys}
            assert tu.tree_leaves(tree_) == sorted(map(ord, keys))
            fresh = {"".join(["pre", key]): ord(key) for key in keys}
            assert tu.tree_leaves(fresh) == sorted(map(ord, keys))


def test_string_subclass_keys_compare_by_their_own_order():
    class Backwards(str):
        def __lt__(self, other):
            return str.__gt__(self, other)

    assert tu.tree_leaves({Backwards("a"): 1, Backwards("b"): 2}) == [2, 1]


def test_ordered_dict_after_move_to_end():
    ordered = OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    assert tu.tree_leaves(ordered) == [2, 1]
    assert repr(tu.tree_structure(ordered)) == "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))"


def test_defaultdict_keeps_its_factory():
    out = tu.tree_map(lambda x: x + 1, defaultdict(list, {"b": 1, "a": 2}))
    assert type(out) is defaultdict and out.default_factory is list and list(out.items()) == [("a", 3), ("b", 2)]
    with pytest.raises(TypeError, match=r"defaultdict whose keys cannot be sorted: \[1, 'a'\]"):
        tu.tree_leaves(defaultdict(list, {1: 1, "a": 2}))


def test_unsortable_keys():
    with pytest.raises(ValueError, match=r"keys cannot be sorted.*got keys \(1, 'a'\).*OrderedDict") as info:
        tu.tree_flatten([{1: 1, "a": 2}])
    assert isinstance(info.value.__cause__, TypeError)


def test_is_leaf():
    assert tu.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert tu.tree_leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    seen = []
    tu.tree_flatten([1, (2,)], is_leaf=lambda x: bool(seen.append(x)))
    assert seen == [[1, (2,)], 1, (2,), 2]


def test_is_leaf_must_return_a_bool_and_may_raise():
    with pytest.raises(ValueError, match="is_leaf must return True or False, but it returned 2"):
        tu.tree_flatten([1], is_leaf=lambda x: 2)
    with pytest.raises(ZeroDivisionError):
        tu.tree_flatten([1], is_leaf=lambda x: 1 / 0)


def test_is_leaf_with_path():
    pairs, treedef = tu.tree_flatten_with_path(
        {"a": [1, 2]}, is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True
    )
    assert pairs == [((tu.DictKey("a"),), [1, 2])]
    assert repr(treedef) == "PyTreeDef({'a': *})"
    out = tu.tree_map_with_path(lambda p, x: len(p), [1, [2]], is_leaf=lambda p, x: bool(p), is_leaf_takes_path=True)
    assert out == [1, 1]


def test_wrong_numbers_of_leaves():
    treedef = tu.tree_structure([1, 2])
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 2, got 1"):
        treedef.unflatten([1])
    with pytest.raises(ValueError, match="Too many leaves for PyTreeDef; expected 2"):
        treedef.unflatten(iter(int, 1))  # endless
    with pytest.raises(TypeError, match="not iterable"):
        treedef.unflatten(3)
    assert treedef.unflatten(x for x in "ab") == ["a", "b"]


MISMATCHES = [
    (
        {"x": [{"a": 1}]},
        {"x": [{"b": 1}]},
        "Expected dict with keys ['a'] but got dict with keys ['b'] at key path ['x'][0].",
    ),
    ([1, 2], [1], "Expected list of length 2 but got list of length 1 at the root."),
    ([1, 2], (1, 2), "Expected list of length 2 but got tuple of length 2 at the root."),
    ([{"a": 1}], [3], "Expected dict with keys ['a'] but got a leaf of type int at key path [0]."),
    ((0, None), (0, 1), "Expected None but got a leaf of type int at key path [1].\nNone is a node without children"),
    (Point(1, (2,)), Point(1, [2]), "Expected tuple of length 1 but got list of length 1 at key path .y."),
    (Point(1, 2), (1, 2), "Expected namedtuple Point of length 2 but got tuple of length 2 at the root."),
    (
        [Pair(1, 2, "m")],
        [Pair(1, 2, "n")],
        "Expected Pair with 2 children and metadata 'm' but got Pair with 2 children and metadata 'n' at key path [0].",
    ),
    ([Pair(1, ())], [Pair(1, 5)], "got a leaf of type int at key path [0][<flat index 1>]."),
    ({"a": 1}, OrderedDict(a=1), "Expected dict with keys ['a'] but got OrderedDict with 1 child and metadata ('a',)"),
    ({"a": 1, "b": 2}, {"a": 1}, "Expected dict with keys ['a', 'b'] but got dict with keys ['a'] at the root."),
]


@pytest.mark.parametrize("first,second,message", MISMATCHES)
def test_tree_map_says_where_trees_differ(first, second, message):
    with pytest.raises(ValueError) as info:
        tu.tree_map(lambda x, y: x, first, second)
    assert str(info.value).startswith("tree_map: pytree structure error: tree 1 does not match the structure of tree 0.\n")
    assert message in str(info.value)
    with pytest.raises(ValueError) as info:
        tu.tree_structure(first).flatten_up_to(second)
    assert message in str(info.value)


def test_tree_map_takes_prefixes():
    assert tu.tree_map(lambda x, y: (x, y), [0, 1], [{"a": 2}, None]) == [(0, {"a": 2}), (1, None)]
    assert tu.tree_map(lambda x, y, z: x + y + z, {"b": 1, "a": 2}, {"a": 10, "b": 20}, {"a": 5, "b": 5}) == {
        "a": 17,
        "b": 26,
    }
    with pytest.raises(ValueError, match="tree 2 does not match"):
        tu.tree_map(lambda *x: x, [1], [2], [3, 4])


def test_tree_map_propagates_exceptions_of_the_function():
    def stop(x):
        raise StopIteration("f")

    with pytest.raises(StopIteration):
        tu.tree_map(stop, [1, 2])
    with pytest.raises(TypeError, match="not callable"):
        tu.tree_map(3, [1])


def test_map_with_path():
    out = tu.tree_map_with_path(
        lambda path, x, y: (tu.keystr(path), x + y), {"a": [1], "p": Point(2, None)}, {"a": [10], "p": Point(20, None)}
    )
    assert out == {"a": [("['a'][0]", 11)], "p": Point(("['p'].x", 22), None)}
    with pytest.raises(ValueError, match=r"tree_map_with_path: .*tree 1 .*\n.*length 2.*length 1 at key path \['a'\]"):
        tu.tree_map_with_path(lambda *x: x, {"a": [1, 2]}, {"a": [1]})


def test_reduce_and_all():
    assert tu.tree_reduce(lambda x, y: x - y, [10, (1, 2)]) == 7
    assert tu.tree_reduce(lambda x, y: (x, y), [1], None) == (None, 1)
    with pytest.raises(TypeError):
        tu.tree_reduce(lambda x, y: x, [])
    assert tu.tree_all([]) and not tu.tree_all([1, 0]) and tu.tree_all([1, None])
    assert not tu.tree_all([1, None], is_leaf=lambda x: x is None)


@pytest.mark.parametrize(
    "letters,expected",
    [("a", "a"), ("ab", "(ab)"), ("abc", "(a(bc))"), ("abcdefg", "((a(bc))((de)(fg)))")],
)
def test_reduce_associative_is_balanced(letters, expected):
    assert tu.tree_reduce_associative(lambda x, y: f"({x}{y})", list(letters)) == expected


def test_reduce_associative_of_nothing():
    assert tu.tree_reduce_associative(max, [], identity=7) == 7
    with pytest.raises(TypeError, match="identity"):
        tu.tree_reduce_associative(max, [])


def test_transpose():
    outer, inner = tu.tree_structure([0, 0]), tu.tree_structure({"a": 0, "b": (0, 0)})
    x = [{"a": 1, "b": (2, 3)}, {"a": 4, "b": (5, 6)}]
    expected = {"a": [1, 4], "b": ([2, 5], [3, 6])}
    assert tu.tree_transpose(outer, inner, x) == expected
    assert tu.tree_transpose(outer, None, x) == expected
    assert tu.tree_transpose(outer, tu.tree_structure(()), [(), ()]) == ()
    with pytest.raises(TypeError, match=r"pytree metadata \('b',\) at key path \[1\] where a .* pytree metadata \('a',\)"):
        tu.tree_transpose(outer, tu.tree_structure({"a": 0}), [{"a": 1}, {"b": 2}])
    with pytest.raises(ValueError, match="inner_treedef must be given"):
        tu.tree_transpose(tu.tree_structure([]), None, [])


class Cached:
    """A node whose metadata is the structure of its child."""

    def __init__(self, child):
        self.child, self.structure = child, tu.tree_structure(child)


class Flat:
    """A node whose children are the leaves of what it holds."""

    def __init__(self, tree):
        self.tree = tree
        self.leaves, self.structure = tu.tree_flatten(tree)


tu.register_pytree_node(Flat, lambda f: (f.leaves, f.structure), lambda s, leaves: Flat(tu.tree_unflatten(s, leaves)))
tu.register_pytree_node(Cached, lambda c: ((c.child,), c.structure), lambda _, kids: Cached(*kids))


def test_transpose_takes_containers_of_other_types_and_metadata():
    pair = tu.tree_structure((0, 0))
    assert tu.tree_transpose(tu.tree_structure([0, 0]), pair, [[1, 2], [3, 4]]) == ([1, 3], [2, 4])
    found = tu.tree_transpose(tu.tree_structure(Cached(0)), pair, Cached((1, 2)))
    assert [c.child for c in found] == [1, 2]
    found = tu.tree_transpose(pair, tu.tree_structure(Cached([0, 0])), (Cached([1, 2]), Cached((3, 4))))
    assert found.child == [(1, 3), (2, 4)]
    outer, inner = tu.tree_structure(Flat([0, 0])), tu.tree_structure(Flat((0, 0)))
    found = tu.tree_transpose(outer, inner, Flat([Flat((1, 2)), Flat((3, 4))]))
    assert [part.leaves for part in found.tree] == [[1, 3], [2, 4]]
    for wrong in [[1, 2, 3, 4], [1, (2, 3), 4], [(1, 2, 3), 4]]:
        with pytest.raises(TypeError, match="tree_transpose: Mismatch"):
            tu.tree_transpose(tu.tree_structure([0, 0]), pair, wrong)


def test_all_leaves():
    assert tu.all_leaves([]) and tu.all_leaves([1, "a"])
    assert not tu.all_leaves([1, (2,)]) and not tu.all_leaves([None])
    assert tu.all_leaves([(1,)], is_leaf=lambda x: isinstance(x, tuple))


@pytest.mark.parametrize(("expected", "got", "phrase"), [
    ([1, 2], [7], "List arity mismatch: 1 != 2; list: [7]."),
    ((1,), (7, 8), "Tuple arity mismatch: 2 != 1; tuple: (7, 8)."),
    ({"a": 1}, {"b": 7}, "Dict key mismatch; expected keys: ['a']; present keys: ['b']."),
    ([(1,)], [{"a": 7}], "Expected tuple, got {'a': 7}."),
    ({"a": [1]}, {"a": 7}, "Expected list, got 7."),
    (None, [2], "Expected None, got [2]."),
    (Point(1, 2), (1, 2), "Expected named tuple, got (1, 2)."),
    ([Pair(1, 2, "n")], [(1, 2)], "Custom node type mismatch: expected type: <class"),
    (Pair(1, 2, "n"), Pair(1, 2, "m"), "Mismatch custom node data: 'n' != 'm'; value: "),
])
def test_flatten_up_to_names_the_difference(expected, got, phrase):
    with pytest.raises(ValueError, match=re.escape(phrase)):
        tu.tree_structure(expected).flatten_up_to(got)


def test_one_level():
    assert tu.flatten_one_level({"b": 1, "a": [2]}) == (([2], 1), ("a", "b"))
    assert tu.flatten_one_level(Pair(1, 2, "n")) == ([1, 2], "n")
    assert tu.flatten_one_level([1, (2,)]) == ([1, (2,)], None)
    pairs, data = tu.flatten_one_level_with_keys(Point(1, 2))
    assert list(pairs) == [(tu.GetAttrKey("x"), 1), (tu.GetAttrKey("y"), 2)] and data is Point
    for function in (tu.flatten_one_level, tu.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match=r"can't tree-flatten type .*int.* leaf"):
            function(1)
    assert tu.is_tree_node(type(None)) and tu.is_tree_node(Pair) and not tu.is_tree_node(SubPair)


def test_deep_trees_and_cycles_raise():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    cycle = {"a": []}
    cycle["a"].append(cycle)
    for bad in (deep, cycle):
        for call in (tu.tree_flatten, tu.tree_leaves_with_path, tu.tree_structure):
            with pytest.raises(RecursionError, match="nested too deeply, or a container holds itself"):
                call(bad)


def test_a_raised_recursion_limit_does_not_crash():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(RecursionError, match="more than 4000 levels"):
            tu.tree_flatten(deep)
    finally:
        sys.setrecursionlimit(limit)


def test_400_levels_are_fine():
    nested = 1
    for _ in range(400):
        nested = [nested]
    assert tu.tree_leaves(nested) == [1]
    assert tu.tree_structure(nested).flatten_up_to(nested) == [1]
    assert repr(tu.tree_structure(nested)).count("[") == 400


def test_user_code_may_change_containers_meanwhile():
    class Clearing:
        pass

    victims = [[Clearing(), 5, 6], {"a": Clearing(), "b": 2, "c": 3}, (Clearing(), {"z": 1})]

    def flatten(_):
        victims[0].clear()
        victims[1].clear()
        return (), None

    tu.register_pytree_node(Clearing, flatten, lambda aux, children: Clearing())
    assert tu.tree_leaves(victims) == [5, 6, 1]  # the dict was empty when its turn came
    assert victims[:2] == [[], {}]
    victims[1].update(a=Clearing(), b=2, c=3)
    assert tu.tree_leaves(victims[1]) == [2, 3]
    shared = [[1, 2, 3], [4]]
    assert tu.tree_leaves(shared, is_leaf=lambda x: bool(x == 1 and shared.clear())) == [1, 2, 3, 4]


def test_a_key_may_change_its_dict_meanwhile():
    class Key:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return self.value == other.value

        def __lt__(self, other):
            changed.pop(self, None)
            return self.value < other.value

    changed = {Key(i): i for i in (3, 1, 2)}
    assert tu.tree_leaves(changed) == [1, 2, 3]
    assert len(changed) < 3


def test_leaves_list_may_change_while_unflattening():
    class Changing:
        pass

    leaves = [object(), object(), object()]
    kept = list(leaves)

    def unflatten(aux, children):
        leaves.clear()
        return children

    tu.register_pytree_node(Changing, lambda _: ((0,), None), unflatten)
    assert tu.tree_structure([Changing(), 0, 0]).unflatten(leaves) == [(kept[0],), kept[1], kept[2]]


def test_threads_flatten_at_once():
    errors = []

    def work(seed):
        for i in range(300):
            x = {f"{seed}{j}": [j, Pair(i, None)] for j in range(i % 9)}
            if plain_flatten(x)[0] != tu.tree_leaves(x):
                errors.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_references_are_balanced():
    leaf = object()
    x = {"a": [leaf, (leaf, Point(leaf, None))], "b": Pair(leaf, leaf)}
    y = {"a": [leaf, (leaf, Point(leaf, 1))], "b": Pair(leaf, leaf)}

    def everything():
        leaves, treedef = tu.tree_flatten(x)
        treedef.unflatten(leaves)
        treedef.flatten_up_to(x)
        tu.tree_leaves_with_path(x)
        tu.tree_map_with_path(lambda p, a: a, x)
        tu.flatten_one_level_with_keys(x)
        for bad in (lambda: treedef.flatten_up_to(y), lambda: treedef.unflatten(leaves[1:])):
            with pytest.raises(ValueError):
                bad()

    everything()
    before = sys.getrefcount(leaf)
    for _ in range(20):
        everything()
    assert sys.getrefcount(leaf) == before


def test_short_names_are_the_same_functions():
    for name in short.__all__:
        assert getattr(short, name) is getattr(tree, name if name == "static" else f"tree_{name}")


def test_functions_of_the_module_tree():
    x = {"a": [1, 2], "b": (3, None)}
    assert short.leaves_with_path(x) == tu.tree_leaves_with_path(x)
    named = short.map_with_path(lambda path, a, b: (tu.keystr(path), a + b), x, x)
    assert named == {"a": [("['a'][0]", 2), ("['a'][1]", 4)], "b": (("['b'][0]", 6), None)}
    order = short.reduce_associative(lambda a, b: f"({a}{b})", ["a", "b", "c", "d"])
    assert order == "((ab)(cd))"
    assert short.reduce_associative(lambda a, b: a + b, [], identity=5) == 5
    with pytest.raises((TypeError, ValueError)):
        short.reduce_associative(lambda a, b: a + b, [])
