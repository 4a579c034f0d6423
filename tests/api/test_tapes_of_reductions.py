"""Reductions in tapes give the bits of the ufunc's `reduce`, for every dtype, shape and block of axes, and need no Python."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.runtime.device import CPU
from tests.api.test_eager_plans import python_calls

SHAPES = ((1,), (2,), (7,), (8,), (9,), (127,), (129,), (1000,), (3, 5), (9, 8), (130, 3), (2, 200), (4, 3, 17), (2, 3, 4, 5),
          (1, 1), (6, 1, 3))
DTYPES = ("float32", "float64", "int32", "uint8", "int64", "uint16", "bool", "complex64", "complex128", "float16")
FUNCTIONS = ("sum", "prod", "max", "min", "any", "all")


def blocks(rank: int) -> list[tuple[int, ...]]:
    """All runs of neighbouring axes, and one that is none."""
    return [tuple(range(a, b)) for a in range(rank) for b in range(a + 1, rank + 1)] + ([(0, rank - 1)] if rank > 2 else [])


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool) -> np.ndarray:
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)
    if special:
        x.flat[::3] = -0.0
        x.flat[1::7] = np.nan
        x.flat[4::11] = -np.inf
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return x > 0
        return (x + 1j * x[..., ::-1]).astype(dtype) if dtype.startswith("complex") else x.astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_shape_and_block_of_axes(rng, x64, dtype):
    """The tape is made for numbers, and run for special values as well."""
    for shape in SHAPES:
        for axes in blocks(len(shape)):
            for name in FUNCTIONS:
                fun = getattr(jnp, name)
                for special in (False, False, False, True):
                    x = jnp.asarray(values(rng, shape, dtype, special))
                    expected = fun.__wrapped__(x, axis=axes)
                    found = fun(x, axis=axes)
                    assert found.aval == expected.aval, (name, shape, axes)
                    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), (name, shape, axes, special)


def test_no_python(one_platform):
    """Where the devices of another platform are listed, every call asks whether it is meant for one of them."""
    x, m = jnp.arange(13.0), jnp.arange(77).reshape(7, 11)   # signatures of their own
    for fun in (lambda: x.sum(), lambda: m.sum(), lambda: m.max(axis=0), lambda: m.min(axis=1), lambda: x.prod(),
                lambda: (x > 3).any(), lambda: (m > 3).all(axis=1), lambda: x.mean()):
        assert python_calls(fun) == 0, inspect.getsource(fun)


def test_wrong_steps_are_refused():
    x, row, number = (ShapedArray(s, np.dtype(np.float32)) for s in ((3, 4), (4,), ()))
    index = np.add.types.index("ff->f")

    def tape(out: ShapedArray, *more: Any) -> Any:
        return _native.Tape((x,), (), (("reduce", (0,), (out,), more),), (1,), (out,), (), None, CPU)
    zero = np.float32(0).tobytes()
    good = tape(row, np.add, index, zero, 1, 3, 4)
    assert good.kinds() == ("reduce",)
    assert good.run((jnp.ones((3, 4)),)).tolist() == [3, 3, 3, 3]
    assert tape(number, np.add, index, None, 1, 12, 1).run((jnp.ones((3, 4)),)) == 12
    for sizes in ((1, 4, 3), (1, 3, 5), (0, 3, 4), (-1, -3, 4), (1, 0, 4), (2, 3, 4)):
        with pytest.raises(ValueError, match="does not fit"):
            tape(row, np.add, index, zero, *sizes)
    with pytest.raises(ValueError, match="does not fit"):
        tape(row, np.add, index, zero * 2, 1, 3, 4)
    with pytest.raises(TypeError, match="expected bytes"):
        tape(row, np.add, index, 0, 1, 3, 4)
    with pytest.raises(TypeError, match="is not for f"):
        tape(row, np.add, np.add.types.index("dd->d"), zero, 1, 3, 4)
    with pytest.raises(ValueError, match="no inner loop"):
        tape(row, np.sin, 0, zero, 1, 3, 4)
    with pytest.raises(ValueError, match="no inner loop"):
        tape(row, np.add, 999, zero, 1, 3, 4)
    with pytest.raises(TypeError, match="expected a ufunc"):
        tape(row, sum, 0, zero, 1, 3, 4)


def test_deleted_operands_are_reported():
    x = jnp.arange(4.0)
    for _ in range(3):
        jnp.sum(x)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        nj.block_until_ready(jnp.sum(x))
