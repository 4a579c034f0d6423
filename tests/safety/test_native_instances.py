"""Types of the native core whose objects only the core makes: Python code gets no object whose pointers are null."""
from __future__ import annotations

import subprocess
import sys

import pytest

import numjet.numpy as jnp
from numjet import _native

TYPES = sorted(name for name in dir(_native) if isinstance(getattr(_native, name), type))

PROBE = """
from numjet import _native
cls = getattr(_native, {name!r})
for make in (lambda: object.__new__(cls), lambda: cls.__new__(cls), lambda: cls()):
    try:
        made = make()
    except Exception:
        continue
    for attribute in dir(made):
        try:
            value = getattr(made, attribute)
        except Exception:
            continue
        if attribute in ("__class__", "__init_subclass__", "__subclasshook__"):
            continue
        for args in ((), (None,), (1,), (made,)):
            try:
                value(*args)
            except Exception:
                pass
    try:
        repr(made)
    except Exception:
        pass
print("alive")
"""


@pytest.mark.parametrize("make", [object.__new__, lambda cls: cls.__new__(cls), lambda cls: cls()])
@pytest.mark.parametrize("name", ["Array", "ArrayProperty", "PyTreeDef", "LoadedCode"])
def test_objects_are_not_made_from_outside(name, make):
    with pytest.raises(TypeError):
        make(getattr(_native, name))


def test_arrays_without_memory_are_not_made():
    with pytest.raises(TypeError, match="not safe"):
        object.__new__(type(jnp.ones(1)))


@pytest.mark.parametrize("name", TYPES)
def test_objects_without_values_do_not_crash_the_process(name):
    done = subprocess.run([sys.executable, "-c", PROBE.format(name=name)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith("alive"), done.stderr[-2000:]
