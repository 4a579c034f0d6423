"""Arrays that other threads write while a call reads them: the result may be of either state, but nothing is read or written
out of bounds, and nothing that the call gave back changes any more."""
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.config import index_checks

ROWS = 1 << 17  # from 65536 on, rows are selected by native code without the lock
CALLS = 12


@contextmanager
def writing(step: Callable[[int], None]) -> Iterator[None]:
    """Another thread runs step(0), step(1), ... until the block ends."""
    stop = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        k = 0
        try:
            while not stop.is_set():
                step(k)
                k += 1
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failed, failed


MASKED: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "read": lambda x, m: x[m],
    "read_in_jit": lambda x, m: nj.jit(lambda a: a[m])(x),
    "compress": lambda x, m: jnp.compress(m, x, axis=0),
    "nonzero": lambda x, m: x[jnp.nonzero(m)[0]],
    "update": lambda x, m: x.at[m].set(x[0]),
    "where": lambda x, m: jnp.where(m if x.ndim == 1 else m[:, None], x, x[0]),
    "argument": lambda x, m: nj.jit(lambda a, b: jnp.where(b if a.ndim == 1 else b[:, None], a, a[0]))(x, m),
    "extract": lambda x, m: jnp.extract(m, x) if x.ndim == 1 else x,
}


@pytest.mark.parametrize("width", [None, 3])
@pytest.mark.parametrize("how", MASKED)
def test_masks_that_change_while_rows_are_selected(how, width, scale):
    shape = (ROWS,) if width is None else (ROWS, width)
    x = jnp.ones(shape)
    mask = np.zeros(ROWS, bool)
    mask[::7] = True

    def step(k: int) -> None:
        mask[:] = True
        mask[5:] = False

    with writing(step):
        for _ in range(CALLS * scale):
            out = np.asarray(MASKED[how](x, mask))
            assert out.shape[1:] == shape[1:] and len(out) <= ROWS and (out == 1).all()


INDEXED: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "read": lambda x, i: x[i],
    "read_two_axes": lambda x, i: x.reshape(-1, 4)[i % 1000, i % 4],
    "read_in_jit": lambda x, i: nj.jit(lambda a: a[i])(x),
    "read_by_argument": lambda x, i: nj.jit(lambda a, j: a[j])(x, i),
    "take_clip": lambda x, i: jnp.take(x, i, mode="clip"),
    "take_wrap": lambda x, i: jnp.take(x, i, mode="wrap"),
    "take_along": lambda x, i: jnp.take_along_axis(x, i, axis=0),
    "at_set": lambda x, i: x.at[i].set(1.0),
    "at_add": lambda x, i: x.at[i].multiply(1.0),
    "at_get": lambda x, i: x.at[i].get(mode="fill", fill_value=1.0),
    "segment_sum": lambda x, i: jnp.clip(nj.ops.segment_sum(x[: len(i)], i, num_segments=10), 1, 1),
    "bincount": lambda x, i: jnp.clip(jnp.bincount(jnp.abs(i) % 10, length=10), 1, 1),
    "eager_slot": lambda x, i: lax.gather(np.ones(64, np.float32), i[:, None] % 64, lax.GatherDimensionNumbers((), (0,), (0,)),
                                          (1,), mode="clip"),
}


@pytest.mark.parametrize("count", [100, 5000, 1 << 17])
@pytest.mark.parametrize("how", INDEXED)
def test_indices_that_leave_the_bounds_while_they_are_used(how, count, scale):
    x = jnp.ones(ROWS)
    places = np.zeros(count, np.int32)

    def step(k: int) -> None:
        places[:] = (2**31 - 1, 0, -(2**31), ROWS - 1)[k % 4]

    with writing(step), index_checks("off"):
        for _ in range(CALLS * scale if count < 1 << 17 else CALLS // 3):
            out = np.asarray(INDEXED[how](x, places))
            assert ((out == 1) | np.isnan(out)).all()


def test_shapes_that_change_while_arrays_are_copied(scale):
    x = np.ones((1 << 9, 1 << 9), np.float32)
    shapes = [(1 << 9, 1 << 9), (1 << 18,), (2,) * 18, (1 << 17, 2), (1, 1, 1 << 18)]
    f = nj.jit(lambda a: jnp.sum(a))

    def step(k: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x.shape = shapes[k % len(shapes)]

    with writing(step):
        for _ in range(40 * scale):
            for call in (f, jnp.asarray, nj.device_put, lambda a: lax.neg(lax.neg(a)), lambda a: nj.jit(lambda: a)()):
                try:
                    out = call(x)
                except (TypeError, ValueError):  # the shape changed between two looks at it
                    continue
                assert float(jnp.sum(out)) == 1 << 18


def test_results_stay_what_they_are_while_arguments_are_written(scale):
    x = np.zeros(ROWS * 4, np.float32)

    def step(k: int) -> None:
        x[:] = k

    f = nj.jit(lambda a: (a, a * 1, jnp.flip(a)))
    with writing(step):
        for _ in range(CALLS * scale):
            results = [jnp.asarray(x), *f(x), nj.device_put(x), *nj.vjp(lambda a: a, x)[:1], lax.rev(x, (0,)), jnp.add(x, 0)]
            first = [np.array(r) for r in results]
            again = [np.array(r) for r in results]
            assert all((a == b).all() for a, b in zip(first, again, strict=True))
