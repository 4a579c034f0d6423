"""Scopes: attributes that have another value for a block."""
from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace

import pytest

from numjet import _native


def test_the_value_holds_inside_and_is_restored_whatever_happens():
    owner = SimpleNamespace(x=1)
    with _native.Scope(owner, "x", 2) as value:
        assert (owner.x, value) == (2, 2)
        with pytest.raises(ZeroDivisionError), _native.Scope(owner, "x", 3):
            _ = 1 / 0
        assert owner.x == 2
    assert owner.x == 1


def test_a_scope_is_entered_once_and_left_after_that():
    owner = SimpleNamespace(x=1)
    scope = _native.Scope(owner, "x", 2)
    with pytest.raises(RuntimeError, match="had not been entered"):
        scope.__exit__(None, None, None)
    with scope, pytest.raises(RuntimeError, match="entered once"):
        scope.__enter__()
    assert owner.x == 1


def test_errors_of_the_owner_are_raised():
    with pytest.raises(AttributeError, match="x"), _native.Scope(SimpleNamespace(), "x", 2):
        pass
    with pytest.raises(TypeError):
        _native.Scope(SimpleNamespace(), 1, 2)
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del _native.thread.trace


def test_each_thread_has_a_trace_of_its_own():
    found = []
    with _native.Scope(_native.thread, "trace", "mine"):
        thread = threading.Thread(target=lambda: found.append(_native.thread.trace))
        thread.start()
        thread.join()
        assert _native.current_trace() == "mine"
    assert found == [_native.current_trace()]


def test_cycles_through_a_scope_are_collected():
    class Owner:
        pass
    owner = Owner()
    owner.scope = _native.Scope(owner, "scope", owner)
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None
