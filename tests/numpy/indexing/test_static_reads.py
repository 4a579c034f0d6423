"""Reads of traced arrays by known indices."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet.numpy.indexing import static_reads

ARRAYS = [np.arange(n, dtype=np.float32).reshape(shape) for n, shape in ((5, (5,)), (24, (2, 3, 4)), (0, (3, 0)), (1, ()))]
INDICES = [0, -1, (slice(None), 1), (..., -2), (1, ..., None, 0), slice(None, None, -1), slice(4, 0, -2), slice(1, 1), None,
           (None, 0), (slice(-2, None), None), (), ..., (0, slice(None, None, 2), slice(3, None, -1)), (slice(7, 9),)]


def numpy_reads(x, idx):
    try:
        return np.asarray(x[idx])
    except IndexError:
        return None


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.shape))
def test_reads_are_those_of_numpy(x):
    known = [(idx, found) for idx in INDICES if (found := numpy_reads(x, idx)) is not None]
    assert known
    for got, (_, expected) in zip(nj.jit(lambda x: [x[idx] for idx, _expected in known])(x), known, strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.shape == expected.shape


def test_a_repeated_read_is_planned_once(monkeypatch):
    static_reads._steps.memo.clear()
    planned = []
    plan_index = static_reads.plan_index
    monkeypatch.setattr(static_reads, "plan_index", lambda *a: planned.append(a) or plan_index(*a))
    nj.make_jaxpr(lambda x: [x[1], x[1:3]] * 10 + [x[1] for _ in range(10)])(np.ones(4, np.float32))
    assert len(planned) == 2


def test_true_is_no_integer_and_clipped_integers_stay():
    x = np.arange(4, dtype=np.float32)
    assert nj.jit(lambda x: (x[1], x[True]))(x)[1].shape == (1, 4)
    assert nj.jit(lambda x: x[9])(x) == 3.0
    with pytest.raises(IndexError, match="Too many indices"):
        nj.jit(lambda x: x[0, 0])(x)


def test_gradients_and_batches():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert nj.grad(lambda x: x[1, ::-2].sum())(x).tolist() == [[0] * 4, [0, 1, 0, 1], [0] * 4]
    np.testing.assert_array_equal(nj.vmap(lambda r: r[-1, None])(x), x[:, -1, None])


def test_computed_sizes_are_read():
    assert nj.jit(lambda x: x[x > 1][::-1], dynamic_shapes=True)(np.arange(5.)).tolist() == [4, 3, 2]
