"""What libraries find when they look at numjet's functions and arrays by Python's own means."""
from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import numjet as nj
import numjet.numpy as jnp

ARRAY = type(jnp.zeros(()))


@pytest.mark.parametrize("module, name", [(nj.random, "normal"), (nj.random, "split"), (jnp, "sum"), (jnp, "concatenate"),
                                          (nj.scipy.special, "gammainc")])
def test_functions_are_functions(module: Any, name: str) -> None:
    """Libraries wrap all functions of a module, as scico does with jax.random."""
    function = getattr(module, name)
    assert inspect.isfunction(function)
    assert (name, function) in inspect.getmembers(module, inspect.isfunction)
    assert function.__code__.co_name == function.__name__
    assert function.__globals__["__name__"] == function.__module__
    for follow in (True, False):
        assert list(inspect.signature(function, follow_wrapped=follow).parameters) == inspect.getfullargspec(function)[0] + (
            inspect.getfullargspec(function).kwonlyargs)
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function


def test_defaults_are_those_of_the_function() -> None:
    assert jnp.sum.__defaults__[:2] == (None, None)  # type: ignore[attr-defined]
    assert jnp.sum.__closure__ is None  # type: ignore[attr-defined]
    assert nj.random.normal.__kwdefaults__ == {"out_sharding": None}  # type: ignore[attr-defined]


def test_properties_of_arrays_are_properties() -> None:
    """Libraries forward all properties of arrays, as scico's blocks of arrays do."""
    found = {name for name, value in inspect.getmembers(ARRAY) if isinstance(value, property)}
    assert {"shape", "dtype", "ndim", "size", "nbytes", "itemsize", "device", "aval", "weak_type", "T", "real", "at"} <= found
    x = jnp.ones((2, 3))
    for name in found:
        value = getattr(ARRAY, name)
        assert value.__get__(None, ARRAY) is value
        if name in ("shape", "ndim", "size", "dtype"):
            assert value.fget(x) == getattr(x, name)
            assert value.__doc__ == inspect.getdoc(value)


def test_properties_keep_to_arrays() -> None:
    x = jnp.ones(3)
    with pytest.raises(AttributeError, match="no setter"):
        x.shape = (4,)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"property shape is one of numjet\.ArrayImpl, got an instance of int"):
        ARRAY.shape.__get__(3)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="cannot create"):
        type(ARRAY.shape)()


class Blocks:
    """A sequence of arrays with the attributes of its parts."""

    dtype, ndim, shape = jnp.zeros(()).dtype, (1, 1), ((2,), (3,))

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> Any:
        return self.parts[k]   # which is enough to iterate


@pytest.mark.parametrize("join", [jnp.concatenate, jnp.hstack])
def test_sequences_may_look_like_arrays(join: Any) -> None:
    blocks = Blocks(jnp.ones(2), jnp.zeros(3))
    assert join(blocks).tolist() == nj.jit(lambda x, y: join(Blocks(x, y)))(*blocks).tolist() == [1, 1, 0, 0, 0]
    with pytest.raises(TypeError, match="expected a sequence of arrays, got one array without axes"):
        join(1.0)
