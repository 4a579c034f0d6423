"""Arrays in the other byte order are values like others, also where they are the first of their dtype and shape."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

FUNCTIONS = ("cumsum", "sum", "prod", "min", "max", "ptp", "sort", "abs", "square", "flip")


@pytest.mark.parametrize("order", [">", "native"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "u4", "i8", "c8", "c16"])
def test_foreign_byte_orders(dtype, order, x64):
    """Avals are interned: one whose dtype is not NumPy's own object would change what follows."""
    foreign = np.dtype(dtype).newbyteorder(">") if order == ">" else np.dtype(dtype).newbyteorder("S").newbyteorder("S")
    shape = (1, 3, {"f2": 5, "f4": 7, "f8": 9}.get(dtype, 11))   # that no other test has
    values = (np.arange(np.prod(shape)).reshape(shape) % 7 + 1.75 + (0.5j if dtype[0] == "c" else 0)).astype(dtype)
    x = values.astype(foreign)
    assert nj.typeof(x).dtype is np.dtype(dtype)
    for name in FUNCTIONS:
        axis = {} if name in ("abs", "square") else {"axis": 1}
        call = lambda x, name=name, axis=axis: getattr(jnp, name)(x, **axis)
        want = np.asarray(call(values))
        for got in (call(x), nj.jit(call)(x)):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, err_msg=name)
            assert got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(jnp.cumsum(x, axis=1)), np.cumsum(values, axis=1), rtol=1e-2)
