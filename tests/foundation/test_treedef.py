"""PyTreeDef as a value: comparing, hashing, printing, pickling, taking apart and putting together."""

import copy
import dataclasses
import gc
import pickle
import weakref
from collections import OrderedDict, defaultdict, namedtuple

import pytest

import numjet.tree_util as tu

Point = namedtuple("Point", "x y")


class Node:
    """One child; the metadata are whatever the test wants."""

    def __init__(self, child, aux=None):
        self.child, self.aux = child, aux


tu.register_pytree_node(Node, lambda n: ((n.child,), n.aux), lambda aux, children: Node(children[0], aux))


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    name: str = dataclasses.field(default="", metadata={"static": True})


structure = tu.tree_structure

EXAMPLES = [
    1,
    None,
    (),
    [1, (2, None), {}],
    {"b": 1, "a": [2]},
    {2: 1, 1: 2},
    Point(1, Point(2, 3)),
    OrderedDict(b=1, a=2),
    defaultdict(list, a=1),
    Node([1, 2], "aux"),
    Layer(1.0, "first"),
    tu.Partial(max, 1, key=2),
]


@pytest.mark.parametrize("x", EXAMPLES, ids=map(str, range(len(EXAMPLES))))
def test_pickle_and_copy(x):
    treedef = structure(x)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(treedef, protocol))
        assert again == treedef and hash(again) == hash(treedef) and repr(again) == repr(treedef)
        assert (again.num_leaves, again.num_nodes) == (treedef.num_leaves, treedef.num_nodes)
    assert copy.copy(treedef) is treedef and copy.deepcopy(treedef) is treedef


@pytest.mark.parametrize("x", EXAMPLES, ids=map(str, range(len(EXAMPLES))))
def test_node_data_and_children_put_it_together_again(x):
    treedef = structure(x)
    again = tu.PyTreeDef.from_node_data_and_children(tu.default_registry, treedef.node_data(), treedef.children())
    assert again == treedef
    assert sum(child.num_nodes for child in treedef.children()) + 1 == treedef.num_nodes
    assert len(treedef.child_keys()) == len(treedef.children())


@pytest.mark.parametrize(
    "x,data",
    [
        (1, None),
        (None, (type(None), None)),
        ([1], (list, None)),
        ({"b": 1, "a": 2}, (dict, ["a", "b"])),
        (Point(1, 2), (Point, None)),
        (Node(1, "aux"), (Node, "aux")),
        (Layer(1, "n"), (Layer, ("n",))),
        (OrderedDict(b=1), (OrderedDict, ("b",))),
        (defaultdict(int, b=1), (defaultdict, (int, ("b",)))),
    ],
    ids=lambda value: None,
)
def test_node_data(x, data):
    assert structure(x).node_data() == data


@pytest.mark.parametrize(
    "data,children,error,message",
    [
        ((dict, ["a"]), [1, 2], ValueError, "for 1 children, but 2 were given"),
        ((float, None), [1], ValueError, "<class 'float'> is not registered"),
        ((type(None), None), [1], ValueError, "for 0 children, but 1"),
        ((Layer, ("n",)), [1, 2], ValueError, "for 1 children, but 2"),
        ((Layer, None), [1], ValueError, "tuple of its metadata fields"),
        (None, [1], ValueError, "a leaf .* has no children"),
        ("text", [1], TypeError, "node data must be None or a tuple"),
        ((3, None), [1], TypeError, "expected a pytree node type, got 3"),
    ],
)
def test_parts_that_do_not_fit(data, children, error, message):
    with pytest.raises(error, match=message):
        tu.PyTreeDef.from_node_data_and_children(tu.default_registry, data, [structure(c) for c in children])


def test_treedef_tuple_and_children():
    assert tu.treedef_tuple([structure(1), structure([1, 2])]) == structure((1, [2, 3]))
    assert tu.treedef_tuple([]) == structure(())
    assert tu.treedef_children(structure(({"a": 1}, 2))) == [structure({"a": 0}), structure(0)]
    with pytest.raises(TypeError, match=r"expected a PyTreeDef .* got 1"):
        tu.treedef_tuple([1])
    assert [tu.treedef_is_leaf(structure(x)) for x in (1, None, (), [1])] == [True, True, True, False]


def test_compose():
    outer, inner = structure([0, (0, None)]), structure({"a": 0, "b": ()})
    composed = outer.compose(inner)
    assert composed == structure([{"a": 1, "b": ()}, ({"a": 1, "b": ()}, None)])
    assert (composed.num_leaves, composed.num_nodes) == (2, 9)
    assert composed.children()[1].children()[0] == inner
    assert outer.compose(structure(None)) == structure([None, (None, None)])


def test_walk():
    treedef = structure([1, {"b": 2, "a": None}, Point(1, 2), Node(1, "aux")])
    out = treedef.walk(lambda children, data: (children, data), None, range(5))
    assert out == ((0, ((((), None), 1), ["a", "b"]), ((2, 3), Point), ((4,), "aux")), None)
    assert structure([1, 2]).walk(lambda children, _: sum(children), lambda leaf: 10 * leaf, [1, 2]) == 30
    with pytest.raises(ValueError, match="Too few"):
        treedef.walk(lambda *a: a, None, [1])


def test_from_iterable_tree():
    assert tu.build_tree(structure([1, (2, {"a": 3})]), ("x", ["y", ["z"]])) == ["x", ("y", {"a": "z"})]
    with pytest.raises(ValueError, match="expected a node of 2 children, got 1"):
        tu.build_tree(structure([1, 2]), [1])


def test_differing_treedefs():
    values = [
        1,
        None,
        (),
        [],
        {},
        (1,),
        [1],
        {"a": 1},
        {"b": 1},
        {1: 1},
        Point(1, 2),
        (1, 2),
        [[1], 2],
        [1, [2]],
        Node(1, "a"),
        Node(1, "b"),
        Node([1], "a"),
        Layer(1, "a"),
        Layer(1, "b"),
        OrderedDict(a=1),
        defaultdict(int, a=1),
        defaultdict(list, a=1),
        namedtuple("Point", "x y")(1, 2),
    ]
    treedefs = [structure(x) for x in values]
    for i, a in enumerate(treedefs):
        for j, b in enumerate(treedefs):
            assert (a == b) == (i == j) and (a != b) == (i != j)
    assert len(set(treedefs)) == len(treedefs)
    assert len({hash(treedef) for treedef in treedefs}) == len(treedefs)


def test_comparing_with_something_else():
    assert structure(1) != 3 and not structure(1) == "PyTreeDef(*)"
    with pytest.raises(TypeError):
        structure(1) < structure(2)  # noqa: B015


def test_no_constructor_and_immutable():
    with pytest.raises(TypeError, match="cannot create"):
        tu.PyTreeDef()
    with pytest.raises(AttributeError):
        structure(1).num_leaves = 3


def test_unhashable_metadata_hash_by_the_rest():
    a, b = structure(Node(1, [1, 2])), structure(Node(1, [1, 2]))
    assert a == b and hash(a) == hash(b)
    assert a != structure(Node(1, [3]))


def test_metadata_that_cannot_be_compared():
    class Bad:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    with pytest.raises(ValueError, match=r"checking equality of metadata .*Node.* arrays belong among the children") as info:
        structure(Node(1, Bad())) == structure(Node(1, Bad()))  # noqa: B015
    assert isinstance(info.value.__cause__, RuntimeError)
    bad = Bad()
    assert structure(Node(1, bad)) == structure(Node(2, bad))  # the same object


def test_keyboard_interrupt_in_metadata_is_not_swallowed():
    class Interrupting:
        def __hash__(self):
            raise KeyboardInterrupt

        def __eq__(self, other):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hash(structure(Node(1, Interrupting())))
    with pytest.raises(KeyboardInterrupt):
        structure(Node(1, Interrupting())) == structure(Node(1, Interrupting()))  # noqa: B015


def test_repr_escapes_and_quotes():
    assert repr(structure({"a\"'": 1})) == "PyTreeDef({'a\"\\'': *})"
    assert repr(structure(Node(1, "é"))) == "PyTreeDef(CustomNode(Node[é], [*]))"
    assert repr(structure(Node(1, "\ud800"))) == "PyTreeDef(CustomNode(Node[\\ud800], [*]))"


def test_repr_propagates_errors_of_metadata():
    class Bad:
        def __str__(self):
            raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="no text"):
        repr(structure(Node(1, Bad())))


@pytest.mark.parametrize("make", [lambda aux: Node(1, aux), lambda aux: [Node({"a": 1}, aux)]])
def test_cycles_through_metadata_are_collected(make):
    class Holder:
        pass

    holder = Holder()
    holder.treedef = structure(make(holder))
    holder.table = {}
    holder.table["treedef"] = structure(make(holder.table))
    alive = weakref.ref(holder)
    del holder
    gc.collect()
    assert alive() is None


def test_invalid_pickle_states():
    for state in [(), (None, None), ((list, None, 1),), ((float, None, 0),), (3,)]:
        with pytest.raises((ValueError, TypeError)):
            tu.PyTreeDef._from_state(state)
