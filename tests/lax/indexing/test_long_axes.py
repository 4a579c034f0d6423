"""Axes of more than 2^31 elements: positions are right, or the error says that int32 does not hold them."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.lax.axes import is_long
from numjet.numpy.indexing.plan import positions_where

N = 2**31 + 10
LONG = nj.ShapeDtypeStruct((N,), np.int8)


@pytest.mark.parametrize("function", [
    lambda x: x.at[-1].set(7), lambda x: x.at[N - 3:].set(1), lambda x: x.at[np.array([N - 1])].add(1),
    lambda x: x[jnp.array([0, -1])], lambda x: lax.dynamic_slice(x, (N - 2,), (2,)),
    lambda x: lax.dynamic_update_slice(x, x[:2], (N - 2,)), lambda x: lax.dynamic_index_in_dim(x, -1)])
def test_positions_are_in_64_bits(function):
    closed = nj.make_jaxpr(function)(LONG)
    assert str(closed).count("i64") == 1
    literals = [a.val for e in closed.eqns for a in e.invars if hasattr(a, "val")]
    known = [np.asarray(v) for v in (*closed.consts, *literals)]
    assert any(v.dtype == np.int64 and v.max() >= N - 3 for v in known)
    short = str(nj.make_jaxpr(function)(nj.ShapeDtypeStruct((2**31 - 1,), np.int8)))
    assert "i64" not in short


def test_traced_positions_are_widened():
    closed = nj.make_jaxpr(lambda x, i: x[i])(LONG, nj.ShapeDtypeStruct((3,), np.int32))
    assert closed.eqns[-1].invars[1].aval.dtype == np.int64 and closed.out_avals[0].dtype == np.int8


@pytest.mark.parametrize("function", [
    jnp.argmax, jnp.argmin, jnp.argsort, lambda x: jnp.nonzero(x, size=3), lambda x: jnp.arange(N),
    lambda x: lax.iota("int32", N), lambda x: jnp.argwhere(x, size=2)])
def test_positions_that_int32_does_not_hold_are_errors(function):
    with pytest.raises(OverflowError, match=f"axis of {N} elements do not fit int32. Enable 64-bit"):
        nj.make_jaxpr(function)(LONG)


@pytest.mark.parametrize("function", [
    jnp.argmax, jnp.argmin, jnp.argsort, lambda x: jnp.nonzero(x, size=3), lambda x: jnp.arange(N),
    lambda x: jnp.argwhere(x, size=2)])
def test_64_bits_hold_them(function):
    with nj.enable_x64(True):
        assert all(a.dtype == np.int64 for a in nj.make_jaxpr(function)(LONG).out_avals)


def test_known_masks():
    mask = np.broadcast_to(np.zeros((), bool), (N,))
    assert is_long(mask.shape) and not is_long((2**31 - 1, 2**31 - 1))
    assert [p.dtype for p in positions_where(np.ones((2, 1), bool))] == [np.int32] * 2


def test_places_in_a_large_matrix_fit_where_flat_positions_do_not():
    matrix = nj.ShapeDtypeStruct((2**16, 2**16), np.int8)
    closed = nj.make_jaxpr(lambda x: jnp.nonzero(x, size=3))(matrix)
    assert [a.dtype for a in closed.out_avals] == [np.int32] * 2 and "i64" in str(closed)
    with pytest.raises(OverflowError, match="argmax: the positions along an axis of 4294967296 elements do not fit int32"):
        nj.make_jaxpr(jnp.argmax)(matrix)
