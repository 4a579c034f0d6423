"""Classes of errors of bad input: NumPy's, and JAX's where that has another one."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp

X, V, C = jnp.arange(12.0).reshape(3, 4), jnp.arange(4.0), jnp.ones(2, jnp.complex64)
CASES = {
    "axis of a sum": (lambda: jnp.sum(V, axis=5), (ValueError, IndexError)),
    "axis of argmax": (lambda: V.argmax(5), (ValueError, IndexError)),
    "axis of a sort": (lambda: jnp.sort(V, axis=5), (ValueError, IndexError)),
    "axis of swapaxes": (lambda: jnp.swapaxes(X, 0, 5), (ValueError, IndexError)),
    "shapes of a sum": (lambda: X + jnp.ones((2, 4)), (TypeError, ValueError)),
    "shapes of where": (lambda: jnp.where(V > 0, V, jnp.ones(3)), (TypeError, ValueError)),
    "sizes of reshape": (lambda: jnp.reshape(V, (3,)), (TypeError, ValueError)),
    "sizes of reshape by -1": (lambda: jnp.reshape(V, (0, -1)), (TypeError, ValueError)),
    "shapes of matmul": (lambda: X @ X, (TypeError, ValueError)),
    "shapes of multi_dot": (lambda: jnp.linalg.multi_dot([X, X]), (ValueError,)),
    "negative repetitions": (lambda: jnp.tile(V, -1), (TypeError, ValueError)),
    "cholesky of a matrix that is not square": (lambda: jnp.linalg.cholesky(X), (np.linalg.LinAlgError,)),
    "eigh of a matrix that is not square": (lambda: jnp.linalg.eigh(X), (np.linalg.LinAlgError,)),
    "pinv of a vector": (lambda: jnp.linalg.pinv(V), (np.linalg.LinAlgError,)),
    "three numbers of padding": (lambda: jnp.pad(V, (1, 2, 3)), (ValueError,)),
    "number of weights": (lambda: jnp.cov(X, aweights=jnp.ones(3)), (RuntimeError,)),
    "complex heaviside": (lambda: jnp.heaviside(C, C), (TypeError,)),
    "complex frexp": (lambda: jnp.frexp(C), (TypeError,)),
    "complex number as a float": (lambda: jnp.array(1j, dtype=jnp.float32), (TypeError,)),
    "axis of prefix sums of a number": (lambda: jnp.cumsum(2, axis=2), (ValueError, IndexError)),
    "axis of a list of prefix products": (lambda: jnp.cumprod(2, axis=[0]), (TypeError,)),
    "a range up to nothing": (lambda: jnp.arange(None), (TypeError,)),
    "a range from nothing": (lambda: jnp.arange(None, 3), (TypeError,)),
    "float as an index to insert at": (lambda: jnp.insert(V, 1.5, 0), (TypeError,)),
}


@pytest.mark.parametrize("name", CASES)
def test_classes(name):
    call, classes = CASES[name]
    with pytest.raises(Exception) as caught:
        call()
    assert all(isinstance(caught.value, kind) for kind in classes)
