"""Memory overwritten: an update out of bounds was written, as the small result of an operation before stood in registers."""
import numpy as np

import numjet.numpy as jnp

X64, DONATED = False, ()


def arguments():
    x = np.linspace(-1, 1, 96, dtype=np.float32)
    return [x[:65].reshape(1, 65), x[65:].reshape(1, 31), np.int32(2)]


def program(v0, v1, v2):
    v3 = jnp.tensordot(v0, jnp.ones(65), 1)
    v4 = v1.at[v2].multiply(0.5)
    return (v3, v4, v1.at[2 * v2].set(7.0), v1.at[-v2].add(v3[0]))
