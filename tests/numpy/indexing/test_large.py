"""Indexing of and by large arrays outside of jit: the same values as by NumPy, from one program or native copy each."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import _native, numpy as jnp
from numjet.foundation import events
from numjet.foundation.config import index_checks
from numjet.runtime.eager_compile import LARGE

N = 2 * LARGE + 77
RNG = np.random.default_rng(0)
TABLE = RNG.integers(-99, 99, (1000, 3)).astype(np.float32)
LONG = RNG.integers(-99, 99, N).astype(np.float32)
PLACES = RNG.integers(-1000, 1000, N).astype(np.int32)
MASK = RNG.uniform(size=N) < 0.3


def compilations(run):
    before = events.counters().get("compile", 0)
    nj.block_until_ready(run())
    return events.counters().get("compile", 0) - before


READS = {
    "rows": (lambda x, i: x[i], lambda x, i: x[i]), "column": (lambda x, i: x[i, 1], lambda x, i: x[i, 1]),
    "columns": (lambda x, i: x[i, 1:], lambda x, i: x[i, 1:]), "new": (lambda x, i: x[None, i], lambda x, i: x[None, i]),
    "two": (lambda x, i: x[i, i % 3], lambda x, i: x[i, i % 3]),
    "dots": (lambda x, i: x[..., i % 3], lambda x, i: x[..., i % 3]),
    "mode": (lambda x, i: x.at[i + 500].get(mode="clip", wrap_negative_indices=False),
             lambda x, i: x[np.clip(i + 500, 0, 999)])}


@pytest.mark.parametrize("name", READS)
def test_reads(name):
    ours, by_numpy = READS[name]
    places = PLACES[:LARGE] if name != "dots" else PLACES[:LARGE // 16].repeat(16)[:LARGE]
    x, i = (jnp.asarray(TABLE[:, :3]) if name != "dots" else jnp.asarray(TABLE[:4])), jnp.asarray(places)
    out = ours(x, i)
    assert np.asarray(out).tolist() == by_numpy(np.asarray(x), places).tolist() and out.dtype == np.float32


def test_a_read_is_one_program_for_all_places_of_a_shape():
    x, one, other = jnp.asarray(TABLE), jnp.asarray(PLACES), jnp.asarray(PLACES[::-1].copy())
    assert compilations(lambda: x[one, 2]) == 1 and compilations(lambda: x[other, 2]) == 0


@pytest.mark.parametrize("op", ["set", "add", "multiply", "min", "max", "subtract"])
@pytest.mark.parametrize("scalar", [False, True])
def test_updates(op, scalar):
    places = RNG.permutation(N).astype(np.int32) - N // 2
    values = 2 if scalar else RNG.integers(-9, 9, N).astype(np.float32)
    out = getattr(jnp.asarray(LONG).at[jnp.asarray(places)], op)(values)
    expected = LONG.copy()
    combine = {"set": lambda a, v: v, "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum,
               "subtract": np.subtract}[op]
    expected[places] = combine(expected[places], values)
    assert np.asarray(out).tolist() == expected.tolist() and out.dtype == np.float32


def test_sums_at_places_that_come_often():
    out = jnp.zeros(1000, jnp.int32).at[jnp.asarray(PLACES)].add(1)
    assert np.asarray(out).tolist() == np.bincount(PLACES % 1000, minlength=1000).tolist()


def test_updates_of_another_dtype_warn_every_time():
    x = jnp.zeros(1000, jnp.int32)
    for _ in range(2):
        with pytest.warns(FutureWarning, match="incompatible types"):
            x.at[jnp.asarray(PLACES)].add(np.float32(0.5))


def test_places_out_of_bounds():
    x, i = jnp.asarray(TABLE[:, 0]), jnp.asarray(np.where(MASK, 5000, PLACES))
    with index_checks("off"):
        assert np.asarray(x[i]).tolist() == TABLE[np.where(MASK, 999, PLACES), 0].tolist()
    out = np.asarray(jnp.zeros(1000, jnp.int32).at[i].add(1))
    assert out.tolist() == np.bincount(PLACES[~MASK] % 1000, minlength=1000).tolist()
    filled = np.asarray(x.at[i].get(mode="fill", fill_value=7))
    assert (filled[MASK] == 7).all()


def test_errors_are_those_of_small_arrays():
    i = jnp.asarray(PLACES)
    with pytest.raises(IndexError, match="Too many indices"):
        jnp.asarray(LONG)[i, i]
    with pytest.raises(ValueError, match="broadcast"):
        jnp.asarray(LONG).at[i].set(np.ones(7, np.float32))
    with pytest.raises(TypeError):
        jnp.asarray(LONG)[i.astype(np.float32)]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("mask", [MASK, np.zeros(N, bool), np.ones(N, bool), ~MASK & (np.arange(N) < 70_000)],
                         ids=["some", "none", "all", "first"])
def test_masks_select(mask, dtype):
    values = (LONG > 0 if dtype == "bool" else LONG).astype(dtype)
    out = jnp.asarray(values)[jnp.asarray(mask)]
    assert out.dtype == values.dtype and np.asarray(out).tobytes() == values[mask].tobytes()


@pytest.mark.parametrize("shape, rank", [((300, 400, 3), 2), ((N, 5), 1), ((500, 300), 2)], ids=str)
def test_masks_over_leading_axes(shape, rank):
    values = RNG.normal(size=shape).astype(np.float32)
    mask = RNG.uniform(size=shape[:rank]) < 0.5
    assert np.asarray(jnp.asarray(values)[jnp.asarray(mask)]).tolist() == values[mask].tolist()


@pytest.mark.parametrize("op, change", [("set", lambda x: 3), ("add", lambda x: x + 3), ("multiply", lambda x: x * 3)])
def test_masks_update(op, change):
    x = jnp.asarray(LONG)
    assert np.asarray(getattr(x.at[jnp.asarray(MASK)], op)(3)).tolist() == np.where(MASK, change(LONG), LONG).tolist()
    assert np.asarray(x).tolist() == LONG.tolist()


@pytest.mark.parametrize("part", [
    np.s_[::2], np.s_[5:-5], np.s_[::-1], np.s_[-3::-7], np.s_[None, 1:]], ids=str)
def test_large_slices_are_copies(part):
    x = jnp.asarray(np.tile(LONG, 8))
    out = x[part]
    assert np.asarray(out).tolist() == np.tile(LONG, 8)[part].tolist() and out.unsafe_buffer_pointer() % 64 == 0
    x.delete()
    assert np.asarray(out).tolist() == np.tile(LONG, 8)[part].tolist()


@pytest.mark.parametrize("part", [np.s_[:, ::2], np.s_[::2], np.s_[::-1, ::-1], np.s_[3:, None, 5:600], np.s_[:, 7]], ids=str)
def test_large_slices_of_matrices(part):
    x = RNG.normal(size=(700, 900)).astype(np.float32)
    assert np.asarray(jnp.asarray(x)[part]).tolist() == x[part].tolist()


def test_native_parts_refuse_what_does_not_fit():
    aval, device = jnp.zeros(3).aval, jnp.zeros(3).device
    with pytest.raises(ValueError, match="C-contiguous mask"):
        _native.selected(np.ones(3, np.float32), np.ones(4, bool), lambda n: aval, device)
    with pytest.raises(TypeError, match="has not the bytes of 2 rows"):
        _native.selected(np.ones(3, np.float32), np.array([True, False, True]), lambda n: aval, device)
    with pytest.raises(TypeError, match="expected an ndarray like the aval"):
        _native.copied(np.ones(4, np.float32), aval, device)


@pytest.mark.parametrize("descending", [False, True])
def test_bins_of_many_elements(descending):
    x = jnp.asarray(LONG)
    bins = np.array([-50, 0, 10, 77], np.float32)[::-1 if descending else 1]
    for right in (False, True):
        assert np.asarray(jnp.digitize(x, bins, right)).tolist() == np.digitize(LONG, bins, right).tolist()
    table = np.sort(TABLE[:, 0])
    assert np.asarray(jnp.searchsorted(table, x)).tolist() == np.searchsorted(table, LONG).tolist()
    assert np.asarray(jnp.histogram(x, 10)[0]).tolist() == np.histogram(LONG, 10)[0].tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float32", "float64", "complex128"])
def test_reversed_copies(dtype, x64):
    """Large arrays against their order, of lengths that no register divides."""
    for size in (65_536, 100_003, 262_147):
        x = (np.arange(size) % 251).astype(dtype)
        a = jnp.asarray(x)
        for part in (slice(None, None, -1), slice(-3, 5, -1), slice(None, None, -2)):
            np.testing.assert_array_equal(a[part], x[part])
    x = (np.arange(600_000) % 251).astype(dtype).reshape(3, 200, 1000)
    a = jnp.asarray(x)
    for index in (np.s_[:, :, ::-1], np.s_[::-1, :, ::-1], np.s_[::-1], np.s_[:, ::-1, 7:993], np.s_[1, :, 990:3:-1]):
        np.testing.assert_array_equal(a[index], x[index])


def test_bincount_counts_negative_numbers_as_zero() -> None:
    assert jnp.bincount(jnp.array([-2])).tolist() == [1] and jnp.bincount(jnp.array([-2, 1])).tolist() == [1, 1]
    assert jnp.bincount(jnp.array([-5, -1]), minlength=2).tolist() == [2, 0] and jnp.bincount(jnp.array([], int)).shape == (0,)
