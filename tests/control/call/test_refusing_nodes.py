"""Pytree nodes whose constructors accept arrays only: control flow makes them of nothing else, messages name their leaves."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax, tree_util


@tree_util.register_pytree_with_keys_class
class Rows:
    """An array, whose shape the constructor reads."""

    def __init__(self, x):
        *_, self.width = x.shape
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    def tree_flatten_with_keys(self):
        return ((tree_util.GetAttrKey("x"), self.x),), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


ROWS = Rows(jnp.ones(3))


def double(rows):
    return Rows(rows.x * 2)


USES = {
    "jit": lambda: nj.jit(double)(ROWS).x,
    "lower": lambda: nj.jit(double).lower(ROWS).compile()(ROWS).x,
    "scan": lambda: lax.scan(lambda c, _: (double(c), None), ROWS, None, length=1)[0].x,
    "scan over": lambda: lax.scan(lambda c, r: (c, double(r)), 0, Rows(jnp.ones((2, 3))))[1].x[0],
    "while": lambda: lax.while_loop(lambda c: c.x[0] < 2, double, ROWS).x,
    "fori": lambda: lax.fori_loop(0, 1, lambda _, c: double(c), ROWS).x,
    "cond": lambda: lax.cond(jnp.array(True), double, lambda c: c, ROWS).x,
    "switch": lambda: lax.switch(jnp.array(1), [lambda c: c, double], ROWS).x,
    "map": lambda: lax.map(double, Rows(jnp.ones((2, 3)))).x[1],
    "checkpoint": lambda: nj.checkpoint(double)(ROWS).x,
    "vjp": lambda: nj.vjp(double, ROWS)[1](ROWS)[0].x,
    "solve": lambda: lax.custom_linear_solve(lambda r: Rows(r.x / 2), ROWS, lambda _, b: double(b), symmetric=True).x,
    "root": lambda: lax.custom_root(lambda r: Rows(r.x - 2), ROWS, lambda f, r: double(r), lambda g, y: y).x,
    "export": lambda: nj.export.export(nj.jit(lambda r: double(r).x))(ROWS).call(ROWS),
}


@pytest.mark.parametrize("use", USES)
def test_constructors_get_arrays_only(use):
    np.testing.assert_array_equal(USES[use](), [2, 2, 2])


def test_messages_name_the_leaves_of_such_nodes():
    with pytest.raises(TypeError, match=r"carry component c\[<flat index 0>\] has type float32\[3\]"):
        lax.scan(lambda c, _: (Rows(c.x[:2]), None), ROWS, None, length=1)
    with pytest.raises(TypeError, match=r"at path \['a'\]\[<flat index 0>\] has type float32\[3\]"):
        lax.cond(jnp.array(True), lambda r: {"a": r}, lambda r: {"a": Rows(r.x[:2])}, ROWS)


def test_residuals_of_such_nodes_are_tuples():
    pull = nj.vjp(lambda rows, factor: rows.x * factor["a"], ROWS, {"a": jnp.full(3, 2.0)})[1]
    assert [[x.tolist() for x in entry] for entry in pull.args_res] == [[[1, 1, 1]], [[2, 2, 2]]]
    assert pull(jnp.ones(3))[0].x.tolist() == [2, 2, 2]
