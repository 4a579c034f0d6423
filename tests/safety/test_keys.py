"""Keys of caches: nothing stands for what is only equal to it."""

import collections
import enum
import itertools
import math

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.foundation.record import Record

key = _native.exact_key


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    pass


class Pair(collections.namedtuple("Pair", "a b")):
    __slots__ = ()


class Other(collections.namedtuple("Other", "a b")):
    __slots__ = ()


class Fill(Record):
    value: object


class Own:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Own and self.value == other.value

    def __hash__(self):
        return hash(self.value)


@nj.tree_util.register_pytree_node_class
class Node:
    def __init__(self, child, aux):
        self.child, self.aux = child, aux

    def tree_flatten(self):
        return (self.child,), self.aux

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)


ONES = [1, True, 1.0, 1 + 0j, np.int32(1), np.int64(1), np.float32(1), np.bool_(True), ml_dtypes.bfloat16(1), Number.ONE]
ZEROS = [0, False, 0.0, -0.0, complex(0, 0), complex(0, -0.0), complex(-0.0, 0), np.float32(0), np.float32(-0.0), np.float64(0),
         np.complex64(0), np.complex64(complex(0, -0.0))]
REST = ["1", Text("1"), b"1", None, Ellipsis, (), int, float, np.dtype("float32"), np.dtype(">f4"),
        math.nan, np.float32(math.nan), len,
        Own(1), Own(2)]
WRAPS = [lambda x: x, lambda x: (x,), lambda x: [x], lambda x: {"k": x}, lambda x: {x: 1}, lambda x: frozenset([x]),
         lambda x: ((), (x, 2)), lambda x: Pair(x, 2), lambda x: Other(x, 2), lambda x: Fill(x), lambda x: slice(x, None),
         lambda x: (Fill((x,)),), lambda x: nj.tree_util.tree_structure(Node(0, x)),
         lambda x: nj.tree_util.tree_structure({x: 0})]


def samples(n):
    return [WRAPS[n](x) for x in (*ONES, *ZEROS, *REST)]


@pytest.mark.parametrize("n", range(len(WRAPS)))
def test_different_things_have_different_keys_and_the_same_ones_the_same(n):
    keys, again = list(map(key, samples(n))), list(map(key, samples(n)))
    for k, (one, other) in enumerate(zip(keys, again, strict=True)):
        assert hash(one) == hash(other) and one == other, samples(n)[k]
    for a, b in itertools.combinations(range(len(keys)), 2):
        assert keys[a] != keys[b] or hash(keys[a]) != hash(keys[b]), (samples(n)[a], samples(n)[b])


def test_containers_of_the_same_things_differ():
    made = [key(wrap(3)) for wrap in WRAPS[:12]]
    assert len(set(made)) == len(made)


def test_what_stands_for_itself_is_its_own_key():
    for value in (3, "a", None, (1, 2), ("a", (3, None)), int, np.dtype(np.int8), jnp.ones, Own):
        assert key(value) is value


def test_lists_within_lists_without_end_are_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        key(endless)


def test_errors_of_the_values_are_heard():
    class Broken(Record):
        x: int

        def __exact_key__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        key((Broken(1),))
    with pytest.raises(TypeError, match="expected a dict"):
        _native.exact_items([])
    assert _native.exact_items({"a": 1, "b": (2,)}) == ("a", 1, "b", (2,))


def test_static_arguments_are_what_they_are():
    seen = []
    f = nj.jit(lambda s: (seen.append(s), 0)[1], static_argnums=0)
    for round_ in range(3):
        for value in (*ONES, *ZEROS, *REST[:9], (1,), (True,), (0.0,), (-0.0,), Pair(0.0, 1), Pair(-0.0, 1), math.nan):
            before = len(seen)
            f(value)
            assert len(seen) - before == (round_ == 0), (round_, value)
            if round_ == 0:
                assert seen[-1] is value or type(seen[-1]) is type(value)


def test_results_have_the_keys_they_were_given():
    f = nj.jit(lambda tree: tree)
    for one in (1, True, 1.0):
        assert [type(k) for k in f({one: 2.0})] == [type(one)]
    for aux in (0.0, -0.0, 0, False, (0.0,), (-0.0,)):
        for _ in range(2):
            assert repr(f(Node(1.0, aux)).aux) == repr(aux)


@pytest.mark.parametrize("size", [4, 70_000])
def test_numbers_of_both_signs_fill(size):
    x, far = jnp.arange(100.0), np.full(size, 1000, np.int32)
    for fill in (0.0, -0.0, 1.0, -0.0, 0.0, True, 2, 0, math.nan, np.float32(-0.0)):
        got = np.asarray(x.at[far].get(mode="fill", fill_value=fill))
        assert np.array_equal(got.view(np.int32), np.full(size, fill, np.float32).view(np.int32)), fill
        got = np.asarray(jnp.take(x, far, mode="fill", fill_value=fill))
        assert np.array_equal(got.view(np.int32), np.full(size, fill, np.float32).view(np.int32)), fill


@pytest.mark.parametrize("size", [4, 70_000])
def test_paddings_and_constants_of_both_signs(size):
    x = jnp.ones(size)
    for value in (0.0, -0.0, 0.0, 1, True):
        want = np.float32(value).view(np.int32)
        assert np.asarray(nj.lax.pad(x, jnp.float32(value), [(1, 1, 0)]))[[0, -1]].view(np.int32).tolist() == [want] * 2
        assert np.asarray(jnp.pad(x, 1, constant_values=value))[0].view(np.int32) == want
        assert np.asarray(jnp.nan_to_num(jnp.full(size, math.nan), nan=value))[0].view(np.int32) == want
        assert np.asarray(jnp.where(x > 2, x, value))[0].view(np.int32) == want
        assert np.asarray(jnp.full(size, value, np.float32))[0].view(np.int32) == want
