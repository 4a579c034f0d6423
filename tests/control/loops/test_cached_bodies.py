"""Bodies of loops that ask modules, classes and objects for attributes are traced once, while these attributes are the same."""

import gc
import types
import unittest
import weakref

import numpy as np
import pytest

from numjet import lax

XS = np.arange(3.0, dtype=np.float32)


class _Config: ...


@pytest.mark.parametrize("make", [_Config, lambda: type("Config", (), {}), lambda: types.ModuleType("mine")])
def test_one_trace_while_attributes_are_the_same(make):
    holder, count = make(), 0
    holder.factor, holder.other = 2.0, []

    def body(c, x):
        nonlocal count
        count += 1
        return c + x * holder.factor, None

    total = lambda: float(lax.scan(body, np.float32(0), XS)[0])
    assert [total(), total()] == [6.0, 6.0] and count == 1
    holder.other = [1]
    assert total() == 6.0 and count == 1
    holder.factor = 3.0
    assert total() == 9.0 and count == 2


def test_methods_of_pythons_library_are_fixed():
    case, count = unittest.TestCase(), 0

    def body(c, x):
        nonlocal count
        count += 1
        case.assertEqual(x.shape, ())
        return c + x, None

    for _ in range(3):
        lax.scan(body, np.float32(0), XS)
    assert count == 1


class _Model:
    def __init__(self):
        self.weight = 2.0

    def step(self, c, x):
        return c + x * self.weight

    @property
    def double(self):
        return 2 * self.weight


@pytest.mark.parametrize("body_of", [lambda m: lambda c, x: (m.step(c, x), None),
                                     lambda m: lambda c, x: (c + x * m.double / 2, None),
                                     lambda m: lambda c, x: (c + x * getattr(m, "weight"), None)])  # noqa: B009
def test_methods_and_properties_may_read_anything(body_of):
    model = _Model()
    body = body_of(model)
    assert float(lax.scan(body, np.float32(0), XS)[0]) == 6.0
    model.weight = 3.0
    assert float(lax.scan(body, np.float32(0), XS)[0]) == 9.0


def test_an_object_that_holds_its_body_is_freed():
    def used():
        model = _Model()
        model.body = lambda c, x: (c + x * model.weight, None)
        lax.scan(model.body, np.float32(0), XS)
        return weakref.ref(model)

    gone = used()
    gc.collect()
    assert gone() is None
