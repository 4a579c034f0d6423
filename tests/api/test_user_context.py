"""Contexts of users."""
import importlib

import pytest

import numjet as nj


def test_traces_depend_on_contexts():
    context, count = nj.make_user_context(1), [0]

    @nj.jit
    def f(x):
        count[0] += 1
        return x * context.value
    f(1)
    first = count[0]
    for _ in range(2):
        with context(3):
            assert f(2) == 6
        assert f(2) == 2
    assert count[0] == first + 1
    context.set_global(5)
    assert context.get_global() == context.value == 5 and f(2) == 10
    context.set_global(1)
    assert count[0] == first + 2
    with pytest.raises(ValueError, match="a context holds hashable values"):
        context([])


def test_a_new_context_changes_nothing():
    f = nj.jit(lambda x: x + 1)
    f(1)
    with nj.explain_cache_misses(True):
        context = nj.make_user_context()
        assert f(1) == 2 and context.value is None


def test_configurations_made_later_know_contexts():
    nj.make_user_context(1)
    module = importlib.import_module("numjet.foundation.config")
    other = module.Config(module._Shared({}))
    assert set(other.values) == set(nj.config.values)
