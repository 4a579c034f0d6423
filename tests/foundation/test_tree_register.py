"""Registration of node types, Partial, and key entries."""

import dataclasses
import functools
import pickle
from collections import namedtuple

import pytest

import numjet.tree as short
import numjet.tree_util as tu


def new_class():
    return type("New", (), {})


def new_dataclass(**options):
    fields = [("a", int), ("b", int), ("c", int, dataclasses.field(default=2))]
    return dataclasses.make_dataclass("New", fields, **options)


def nothing(_):
    return (), None


REGISTER = {
    "node": lambda cls: tu.register_pytree_node(cls, nothing, lambda aux, c: None),
    "keys": lambda cls: tu.register_pytree_with_keys(cls, nothing, lambda aux, c: None),
    "static": tu.register_static,
    "dataclass": lambda cls: tu.register_dataclass(cls, ["a"], ["b"]),
}


@pytest.mark.parametrize("first", REGISTER.values(), ids=REGISTER.keys())
@pytest.mark.parametrize("second", REGISTER.values(), ids=REGISTER.keys())
def test_a_type_is_registered_once(first, second):
    cls = new_class()
    first(cls)
    with pytest.raises(ValueError, match=r"Duplicate pytree node registration: <class '.*New'>"):
        second(cls)


@pytest.mark.parametrize("cls", [list, tuple, dict, type(None), tu.Partial])
def test_builtin_nodes_are_registered(cls):
    with pytest.raises(ValueError, match="Duplicate"):
        tu.register_pytree_node(cls, nothing, lambda aux, c: None)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="must be a class, got 3"):
        tu.register_pytree_node(3, nothing, nothing)
    with pytest.raises(TypeError, match=r"flatten function .* must be callable, got None"):
        tu.register_pytree_node(new_class(), None, nothing)
    with pytest.raises(TypeError, match=r"unflatten function .* must be callable, got 1"):
        tu.register_pytree_node(new_class(), nothing, 1)
    with pytest.raises(AttributeError, match="no method 'tree_flatten'"):
        tu.register_pytree_node_class(new_class())
    with pytest.raises(AttributeError, match="no method 'tree_unflatten'"):
        tu.register_pytree_with_keys_class(type("New", (), {"tree_flatten_with_keys": nothing}))


@pytest.mark.parametrize("result", [3, (1,), (1, 2, 3), [(1,), None]])
def test_flatten_functions_must_return_a_pair(result):
    cls = new_class()
    tu.register_pytree_node(cls, lambda _: result, lambda aux, c: None)
    with pytest.raises(ValueError, match=r"should return a \(children, aux_data\) tuple, got .*New'>"):
        tu.tree_flatten(cls())


def test_children_must_be_iterable():
    cls = new_class()
    tu.register_pytree_node(cls, lambda _: (3, None), lambda aux, c: c)
    with pytest.raises(ValueError, match=r"where 'children' is iterable, got \(3, None\)"):
        tu.tree_flatten(cls())


def test_an_iterator_of_children_and_their_errors():
    def children():
        yield 1
        raise OSError("broken")

    good, bad = type("Good", (), {}), type("Bad", (), {})
    tu.register_pytree_node(good, lambda _: (iter([1, [2]]), "aux"), lambda aux, c: (aux, c))
    tu.register_pytree_node(bad, lambda _: (children(), None), lambda aux, c: None)
    assert tu.tree_map(lambda x: 10 * x, good()) == ("aux", (10, [20]))
    with pytest.raises(OSError, match="broken"):
        tu.tree_flatten(bad())


def test_node_class_decorator():
    @tu.register_pytree_node_class
    class Scaled:
        def __init__(self, value, unit):
            self.value, self.unit = value, unit

        def tree_flatten(self):
            return (self.value,), {"unit": self.unit}

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children, **aux)

    out = tu.tree_map(lambda x: x + 1, [Scaled(1, "mV")])[0]
    assert (type(out), out.value, out.unit) == (Scaled, 2, "mV")
    assert repr(tu.tree_structure(out)) == "PyTreeDef(CustomNode(Scaled[{'unit': 'mV'}], [*]))"
    assert tu.keystr(tu.tree_leaves_with_path([out])[0][0]) == "[0][<flat index 0>]"


def test_keys_class_decorator():
    @tu.register_pytree_with_keys_class
    class Keyed:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def tree_flatten_with_keys(self):
            return ((tu.GetAttrKey("a"), self.a), ("raw", self.b)), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    x = Keyed(1, {"k": 2})
    assert tu.tree_leaves(x) == [1, 2]
    assert [tu.keystr(path) for path, _ in tu.tree_leaves_with_path([x])] == ["[0].a", "[0]raw['k']"]
    with pytest.raises(ValueError, match=r"got a leaf of type int at key path raw\."):
        tu.tree_map(lambda *a: a, x, Keyed(1, 2))


def test_keys_must_come_in_pairs():
    cls = new_class()
    tu.register_pytree_with_keys(cls, lambda _: ([(1, 2, 3)], None), lambda aux, c: None, lambda _: ([1], None))
    assert tu.tree_leaves(cls()) == [1]
    with pytest.raises(ValueError, match=r"\(\(key, child\)..., aux_data\), but child 0 is \(1, 2, 3\)"):
        tu.tree_leaves_with_path(cls())


def test_static():
    @tu.register_static
    @dataclasses.dataclass(frozen=True)
    class Mode:
        name: str

    leaves, treedef = tu.tree_flatten([Mode("train"), 1])
    assert leaves == [1] and treedef.unflatten([2]) == [Mode("train"), 2]
    assert treedef == tu.tree_structure([Mode("train"), 5]) != tu.tree_structure([Mode("test"), 5])
    assert tu.tree_leaves_with_path(Mode("train")) == []


def test_a_registered_namedtuple_is_what_its_registration_says():
    cls = namedtuple("cls", "x y")
    assert tu.tree_leaves(cls(1, 2)) == [1, 2]
    tu.register_pytree_node(cls, lambda p: ((p.x,), p.y), lambda y, children: cls(children[0], y))
    assert tu.tree_leaves(cls(1, 2)) == [1]
    assert tu.tree_map(lambda x: 10 * x, cls(1, 2)) == cls(10, 2)


def test_dataclass_fields_by_metadata():
    @tu.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Layer:
        weight: object
        bias: object = None
        name: str = short.static(default="layer", repr=False)

    x = Layer([1, 2], name="first")
    assert tu.tree_map(lambda v: v + 1, x) == Layer([2, 3], None, "first")
    assert [tu.keystr(path) for path, _ in tu.tree_leaves_with_path(x)] == [".weight[0]", ".weight[1]"]
    assert repr(tu.tree_structure(x)) == "PyTreeDef(CustomNode(Layer[('first',)], [[*, *], None]))"
    assert tu.tree_structure(x) != tu.tree_structure(Layer([1, 2], name="second"))


def test_dataclass_fields_by_name_and_dropped():
    cls = tu.register_dataclass(new_dataclass(), ["b"], ["a"], drop_fields=["c"])
    out = tu.tree_map(lambda v: 10 * v, cls(1, 2, 3))
    assert (out.a, out.b, out.c) == (1, 20, 2)
    partial = functools.partial(tu.register_dataclass, data_fields=["a", "b", "c"], meta_fields=[])
    assert tu.tree_leaves(partial(new_dataclass())(1, 2, 3)) == [1, 2, 3]


def test_a_subclass_of_a_registered_dataclass_is_a_leaf():
    base = tu.register_dataclass(new_dataclass())
    derived = type("Derived", (base,), {})
    assert tu.tree_structure(derived(1, 2)) == tu.tree_structure(0)


@pytest.mark.parametrize(
    "make,args,error,message",
    [
        (new_dataclass, (["a"], ["b"]), ValueError, r"must include all .*Missing fields: {'c'}.*drop_fields"),
        (new_dataclass, (["a", "b", "c", "d"], []), ValueError, r"must include all .* init=True .*Unexpected fields: {'d'}"),
        (new_dataclass, (["a", "b", "c"], ["c"]), ValueError, r"must not overlap .*Overlapping fields: {'c'}"),
        (new_dataclass, (["a", "a", "b", "c"], []), ValueError, "must not overlap"),
        (new_dataclass, (["a", "b"],), TypeError, "must both be specified when either is"),
        (new_class, (), TypeError, "are required when nodetype is not a dataclass"),
        (new_class, ([1], []), TypeError, "field names .* must be strings, got 1"),
    ],
)
def test_dataclass_errors(make, args, error, message):
    with pytest.raises(error, match=message):
        tu.register_dataclass(make(), *args)


def test_dataclass_errors_in_user_code_propagate():
    cls = new_class()
    tu.register_dataclass(cls, ["missing"], [])
    with pytest.raises(AttributeError, match="missing"):
        tu.tree_flatten(cls())


def test_partial():
    def f(*args, **kwargs):
        return args, kwargs

    p = tu.Partial(f, 1, key=2)
    assert p(3) == ((1, 3), {"key": 2})
    assert isinstance(p, functools.partial)
    assert tu.tree_leaves(p) == [1, 2]
    assert tu.tree_map(lambda x: 10 * x, p)(3) == ((10, 3), {"key": 20})
    assert tu.tree_structure(p) == tu.tree_structure(tu.Partial(f, 5, key=6)) != tu.tree_structure(tu.Partial(max, 1))
    assert pickle.loads(pickle.dumps(tu.Partial(max, 1)))(3, 2) == 3
    with pytest.raises(TypeError):
        tu.Partial(3)


@pytest.mark.parametrize("inner", [functools.partial, tu.Partial])
def test_partial_of_a_partial_keeps_it_whole(inner):
    big = object()
    make = lambda x: tu.Partial(inner(divmod, x), 4)
    assert tu.tree_leaves(make(9)) == [4]
    assert make(9)() == (2, 1)
    assert tu.tree_structure(make(big)) == tu.tree_structure(make(big))
    assert hash(tu.tree_structure(make(big))) == hash(tu.tree_structure(make(big)))
    assert tu.tree_structure(make(big)) != tu.tree_structure(make(object()))
    assert repr(make(9)).endswith("Partial(<built-in function divmod>, 9), 4)") or inner is functools.partial


KEYS = [
    (tu.SequenceKey(3), "SequenceKey(idx=3)", "[3]", "3"),
    (tu.DictKey("a"), "DictKey(key='a')", "['a']", "a"),
    (tu.DictKey((1, 2)), "DictKey(key=(1, 2))", "[(1, 2)]", "(1, 2)"),
    (tu.GetAttrKey("name"), "GetAttrKey(name='name')", ".name", "name"),
    (tu.FlattenedIndexKey(2), "FlattenedIndexKey(key=2)", "[<flat index 2>]", "2"),
]


@pytest.mark.parametrize("key,representation,text,simple", KEYS)
def test_key_entries(key, representation, text, simple):
    assert repr(key) == representation and str(key) == text
    assert tu.keystr((key, "foo", 5)) == text + "foo5"
    assert tu.keystr((key, "foo"), simple=True, separator="/") == simple + "/foo"
    again = pickle.loads(pickle.dumps(key))
    assert again == key and hash(again) == hash(key) and type(again) is type(key)
    with pytest.raises(AttributeError):
        setattr(key, key.__match_args__[0], 1)


def test_key_entries_of_different_classes_differ():
    assert tu.SequenceKey(1) != tu.FlattenedIndexKey(1) != tu.DictKey(1) != tu.SequenceKey(1)
    assert len({key for key, *_ in KEYS}) == len(KEYS)


@pytest.mark.parametrize(
    "make", [lambda: tu.SequenceKey("a"), lambda: tu.GetAttrKey(1), lambda: tu.FlattenedIndexKey(None)]
)
def test_key_entries_check_their_types(make):
    with pytest.raises(TypeError, match=r"must be (int|str), got"):
        make()


def test_registry():
    registry = tu.default_registry
    assert registry.flatten([1, 2]) == tu.tree_flatten([1, 2])
    assert registry.flatten([1, (2,)], lambda x: isinstance(x, tuple))[0] == [1, (2,)]
    assert registry.flatten_with_path([1], lambda path, x: not path)[0] == [((), [1])]
    assert registry.flatten_one_level(1) is None and registry.flatten_one_level([1]) == ([1], None)
    assert registry.flatten_one_level_with_keys([1]) == (((tu.SequenceKey(0), 1),), None)
    assert registry.is_node(list) and not registry.is_node(int)
    with pytest.raises(TypeError, match="expected a class, got 3"):
        registry.is_node(3)
