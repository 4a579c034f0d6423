"""Callables of any kind are transformed."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
from numjet.foundation import util


class _Model:
    """A callable whose `__name__` is no text, as a module of a library may have a field of that name."""

    __name__ = property(lambda self: np.float32(2))

    def __call__(self, x: Any) -> Any:
        return x * 2


@pytest.mark.parametrize("transformed", [
    lambda f: nj.jit(f)(1.0), lambda f: nj.vmap(f)(np.ones(1, np.float32))[0], lambda f: nj.grad(f)(1.0),
    lambda f: nj.value_and_grad(f)(1.0)[0], lambda f: nj.checkpoint(f)(1.0), lambda f: nj.hessian(f)(1.0) + 2,
    lambda f: nj.jacrev(f)(1.0), lambda f: nj.eval_shape(f, 1.0).size + 1, lambda f: nj.pmap(f)(np.ones(1, np.float32))[0],
    lambda f: nj.make_jaxpr(f)(1.0).eqns[0].invars[1].val])
def test_callables_with_a_name_that_is_no_text_are_transformed(transformed: Any) -> None:
    assert transformed(_Model()) == 2
    assert util.function_name(_Model()) == "_Model" and util.wraps(_Model())(lambda x: x).__name__ == "<lambda>"


def test_nothing_is_not_a_function_to_compile() -> None:
    with pytest.raises(TypeError, match="Expected a callable value, got None"):
        nj.jit(None)
    assert nj.jit()(_Model())(1.0) == 2
