"""IndexError while compiling: elements of empty arrays were asked for."""
import numpy as np

import numjet.numpy as jnp
from numjet import lax

X64, DONATED = False, ()


def arguments():
    return [np.array([-2], np.int32), np.zeros((0, 0), np.float32), np.float32(1)]


def program(v0, v1, v2):
    v3 = v0[:0].at[v0, None].apply(jnp.negative)
    v4 = lax.while_loop(lambda c: c[0] < 0, lambda c: c, (jnp.int32(0), v1))[1]
    v5 = lax.pad(v4, v2, ((1, 2, 0), (1, 2, 0)))
    v6 = v1.at[jnp.array([1], "int32"), jnp.array([0], "int32")].multiply(v2, mode="clip")
    return (v3, v5, v6)
