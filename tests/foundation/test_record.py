"""foundation.record and foundation.on_demand."""
from __future__ import annotations

import copy
import pickle
import sys

import pytest

from numjet.foundation.lazy_import import Module
from numjet.foundation.record import Fields, Record


class Point(Record):
    """A record."""
    x: int
    y: int = 5


class Other(Record):
    """One with the same fields."""
    x: int
    y: int = 5


class Node(Fields):
    """One that changes."""
    name: str
    size: int = 0

    def __post_init__(self) -> None:
        self.children: list[Node] = []


@pytest.mark.parametrize("made", [Point(1), Point(1, 5), Point(x=1), Point(y=5, x=1), Point(1, y=5), Point(3).replace(x=1)])
def test_records_have_positional_named_and_default_fields_and_are_equal_by_value(made):
    assert (made.x, made.y) == (1, 5)
    assert made == Point(1) and hash(made) == hash(Point(1)) and made != Point(2) and made != Other(1) and made != (1, 5)
    assert repr(made) == "Point(x=1, y=5)"
    match made:
        case Point(a, b):
            assert (a, b) == (1, 5)


@pytest.mark.parametrize(("args", "named", "why"), [
    ((), {}, r"Point misses the fields \['x'\]"),
    ((1, 2, 3), {}, "got 3 positional arguments"),
    ((1,), {"x": 1}, r"got the fields \['x'\] twice"),
    ((1,), {"z": 1}, r"takes the fields \['x', 'y'\], got \['z'\]"),
])
def test_wrong_fields_raise(args, named, why):
    with pytest.raises(TypeError, match=why):
        Point(*args, **named)


def test_records_do_not_change():
    point = Point(1)
    with pytest.raises(AttributeError, match="cannot assign to field 'x': Point is immutable"):
        point.x = 2
    with pytest.raises(AttributeError, match="cannot delete field 'x'"):
        del point.x
    assert point.x == 1


def test_records_are_copied_and_pickled():
    assert copy.deepcopy(Point(1, 2)) == pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


def test_fields_that_change_are_compared_by_identity():
    one, two = Node("a"), Node(name="a")
    assert one != two and one == one and len({one, two}) == 2
    one.children.append(two)
    one.size = 3
    assert two.children == [] and repr(one) == "Node(name='a', size=3)"


def test_a_module_is_imported_when_an_attribute_is_asked_for(monkeypatch):
    colours = Module("colorsys")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert "colorsys" not in sys.modules
    assert colours.rgb_to_hsv(0.0, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert "colorsys" in sys.modules
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = colours.nothing
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = Module("no_such_module").f
