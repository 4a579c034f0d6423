"""The element behind the block was 0: the rest of an update was read from memory that nothing had written."""
import numpy as np

import numjet.numpy as jnp
from numjet import lax

X64, DONATED = False, ()


def arguments():
    return [np.array([[1, 2, 2, 0, 2, 2, 2, -2, 0, 1, -1, -1, 1, 2, 0, -2, 1, 2, -1]], np.int32)]


def program(v0):
    block = jnp.ravel(v0)[:17].reshape(1, 17).astype("uint8")
    v1 = lax.dynamic_update_slice(v0.astype("uint8"), block, [jnp.int32(1), jnp.ravel(v0)[:1].reshape(())])
    return (v1,)
