"""What NumPy has and numjet.numpy has not says what to use instead."""
import numpy as np
import pytest

import numjet.numpy as jnp
from numjet.numpy.absent import INSTEAD

CALLABLE = sorted(name for name in dir(np) if name[0] != "_" and callable(getattr(np, name)))


def test_all_functions_and_types_of_numpy_are_there_or_have_a_remedy():
    assert [name for name in CALLABLE if not hasattr(jnp, name) and name not in INSTEAD] == []
    assert [name for name in INSTEAD if hasattr(jnp, name)] == []


@pytest.mark.parametrize("name, text", [("matrix", "use two axes"), ("datetime64", "by NumPy first"), ("nditer", "vmap"),
                                        ("errstate", "jax_debug_nans"), ("poly1d", "polyval"), ("longdouble", "float64")])
def test_the_error_tells(name, text):
    with pytest.raises(AttributeError, match=f"module 'numjet.numpy' has no attribute '{name}': .*{text}"):
        getattr(jnp, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$"):
        assert jnp.no_such_name
