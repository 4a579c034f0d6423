"""Numbers taken out of a derivative: what NumPy and Python compute with them would have the derivative 0 without a word."""
import math

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.errors import ConcretizationTypeError, TracerArrayConversionError
from numjet.foundation.config import Override

LOSSES = {
    "float": (lambda x: float(x) ** 2, ConcretizationTypeError), "math": (lambda x: math.sin(x), ConcretizationTypeError),
    "complex": (lambda x: complex(x).real, ConcretizationTypeError),
    "tolist": (lambda x: x.tolist() * 2.0, ConcretizationTypeError),
    "tobytes": (lambda x: float(len(x.tobytes())), ConcretizationTypeError),
    "asarray": (lambda x: np.asarray(x) * 2, TracerArrayConversionError),
    "array of scalars": (lambda x: np.array([x, x]).sum(), TracerArrayConversionError),
    "ufunc": (lambda x: np.sin(x), TracerArrayConversionError),
    "function": (lambda x: np.dot(x, x), TracerArrayConversionError),
}
DERIVATIVES = {
    "grad": lambda f: nj.grad(f)(0.5), "jvp": lambda f: nj.jvp(f, (0.5,), (1.0,)), "vjp": lambda f: nj.vjp(f, 0.5),
    "linearize": lambda f: nj.linearize(f, 0.5), "jacfwd": lambda f: nj.jacfwd(f)(0.5), "jacrev": lambda f: nj.jacrev(f)(0.5),
    "hessian": lambda f: nj.hessian(f)(0.5), "constant under jit": lambda f: nj.jit(lambda: nj.grad(f)(0.5))(),
}


@pytest.mark.parametrize("derive", DERIVATIVES.values(), ids=DERIVATIVES)
@pytest.mark.parametrize("function, error", LOSSES.values(), ids=LOSSES)
def test_taking_numbers_out_of_a_derivative_raises(function, error, derive):
    with Override("numjet_numpy_dispatch", False), pytest.raises(error):   # NumPy's functions are NumPy's, as for JAX
        derive(function)


def test_the_message_names_the_derivative():
    with pytest.raises(TracerArrayConversionError, match=r"would drop its derivative.*stop_gradient"):
        nj.grad(lambda x: np.asarray(x).sum())(0.5)


KEPT = {
    "stopped": (lambda x: np.asarray(lax.stop_gradient(x)) * x, 1.5),
    "stopped float": (lambda x: float(lax.stop_gradient(x)) * x, 1.5),
    "stopped list": (lambda x: lax.stop_gradient(x).tolist() * x, 1.5), "comparison": (lambda x: np.asarray(x > 1) * x, 1.0),
    "arange": (lambda x: jnp.arange(2 * x).sum() * x, 3.0), "condition": (lambda x: 2 * x if x > 1 else x, 2.0),
    "int": (lambda x: int(x) * x, 1.0),
    "operator": (lambda x: np.float32(2) * x, 2.0),
    "index": (lambda x: np.arange(3.0)[jnp.argmax(jnp.stack([x, 2 * x]))] * x, 1.0),
}


@pytest.mark.parametrize("function, want", KEPT.values(), ids=KEPT)
def test_numbers_without_derivatives_are_known(function, want):
    with Override("numjet_numpy_dispatch", False):
        assert nj.grad(function)(1.5) == want
