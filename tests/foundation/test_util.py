import functools
import gc
import threading

import pytest
from hypothesis import given, strategies as st

from numjet.foundation import util
from numjet.foundation.config import enable_x64


@given(st.lists(st.tuples(st.booleans(), st.integers())))
def test_merge_undoes_partition(pairs):
    flags, values = [flag for flag, _ in pairs], [value for _, value in pairs]
    falses, trues = util.partition_list(flags, values)
    assert trues == [value for flag, value in pairs if flag]
    assert util.merge_lists(flags, falses, trues) == values


def test_partition_and_merge_check_lengths():
    with pytest.raises(ValueError, match="1 flags for 2 values"):
        util.partition_list([True], [1, 2])
    with pytest.raises(ValueError, match="ask for 1 and 1 values, got 0 and 2"):
        util.merge_lists([True, False], [], [1, 2])


@given(st.lists(st.integers()), st.lists(st.integers(0, 4)))
def test_split_list_pieces_make_the_whole(values, sizes):
    if sum(sizes) > len(values):
        with pytest.raises(ValueError, match="cannot take pieces"):
            util.split_list(values, sizes)
        return
    pieces = util.split_list(values, sizes)
    assert [len(piece) for piece in pieces[:-1]] == sizes
    assert [value for piece in pieces for value in piece] == values


def test_replace_at():
    values = (1, 2, 3)
    assert util.replace_at(values, (0, -1), [5, 6]) == [5, 2, 6] and values == (1, 2, 3)
    with pytest.raises(ValueError):
        util.replace_at(values, (0, 1), [5])


def test_names():
    assert util.function_name(functools.partial(functools.partial(len))) == "len"
    assert util.function_name(threading.local()) == "_local" or util.function_name(threading.local()) == "local"


@pytest.mark.parametrize("axis, expected", [(0, 0), (2, 2), (-1, 2), (-3, 0), (True, 1)])
def test_axes_count_from_the_front(axis, expected):
    assert util.canonicalize_axis(axis, 3) == expected


@pytest.mark.parametrize("axis, ndim", [(3, 3), (-4, 3), (0, 0), (-1, 0)])
def test_axis_out_of_bounds(axis, ndim):
    with pytest.raises(ValueError, match=f"^axis {axis} is out of bounds for array of dimension {ndim}$"):
        util.canonicalize_axis(axis, ndim)
    with pytest.raises(ValueError, match=r"^source axis"):
        util.canonicalize_axis(axis, ndim, "source axis")


def test_an_axis_is_an_integer():
    with pytest.raises(TypeError, match=r"axis must be an integer, got 1.5 of type float: .*interpreted as an integer"):
        util.canonicalize_axis(1.5, 2)


class Key:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def test_weak_cache_goes_by_identity_and_arguments():
    calls = []

    @util.weakref_lru_cache
    def f(key, x, *, y=0):
        calls.append(x)
        return [x]

    one, two = Key(), Key()
    assert f(one, 1) is f(one, 1) and len(calls) == 1
    f(two, 1)
    f(one, 2)
    f(one, 1, y=1)
    assert len(calls) == 4
    with enable_x64(True):
        f(one, 1)
    assert len(calls) == 5 and f.cache_info() == (1, 5, 2048, 5)
    f.evict(one)
    assert f.cache_info()[3] == 1
    assert f.__name__ == "f"


def test_weak_cache_forgets_the_dead():
    @util.weakref_lru_cache
    def f(key):
        return object()

    keys = [Key() for _ in range(5)]
    for key in keys:
        f(key)
    del key, keys[2:]
    gc.collect()
    assert f.cache_info()[3] == 2
    keys.clear()
    gc.collect()
    assert f.cache_info()[3] == 0 and not f._keys_of


def test_weak_cache_drops_the_least_recently_used():
    calls = []

    @util.weakref_lru_cache(max_size=2)
    def f(key):
        calls.append(key)

    a, b, c = Key(), Key(), Key()
    for key in (a, b, a, c, a, b):
        f(key)
    assert [key is one for key, one in zip(calls, (a, b, c, b), strict=True)] == [True] * 4
    assert f.cache_info()[3] == 2


def test_clear_caches_empties_all():
    @util.weakref_lru_cache
    def g(key):
        return 1

    key = Key()
    g(key)
    util.clear_caches()
    assert g.cache_info()[3] == 0


def test_errors_are_not_remembered():
    tries = []

    @util.weakref_lru_cache
    def f(key):
        tries.append(1)
        raise KeyError("once more")

    key = Key()
    for _ in range(2):
        with pytest.raises(KeyError):
            f(key)
    assert len(tries) == 2
