"""Copies of large NumPy arrays of any strides into arrays of numjet."""
import numpy as np
import pytest

import numjet.numpy as jnp

_CASES = {
    "contiguous": lambda x: x,
    "outer part": lambda x: x[1:5],
    "outer part against its order": lambda x: x[::-1],
    "middle part": lambda x: x[:, :20],
    "inner part": lambda x: x[..., :9],
    "every second": lambda x: x[:, ::2, :, ::2],
    "against the order": lambda x: x[..., ::-1],
    "all against the order": lambda x: x[::-1, ::-1, ::-1, ::-1],
    "transposed": lambda x: x.T,
    "two axes exchanged": lambda x: x.swapaxes(1, 2),
    "the last axes exchanged": lambda x: x.swapaxes(2, 3),
    "the middle in front": lambda x: x.transpose(1, 2, 0, 3),
    "axes of length 1": lambda x: x[None, :, None, :, :, :, None],
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "broadcast in front": lambda x: np.broadcast_to(x[0], (3, 2, *x.shape[1:])),
    "one repeated element": lambda x: np.broadcast_to(x[0, 0, 0, 0], (700, 600)),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("case", _CASES)
def test_copies_keep_every_element(case, dtype):
    x = _CASES[case]((np.arange(8 * 40 * 36 * 33) % 2039).astype(dtype).reshape(8, 40, 36, 33))
    np.testing.assert_array_equal(np.asarray(jnp.asarray(x)), x)
