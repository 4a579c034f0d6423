"""Sums of booleans over a named axis that didn't depend on it were int64 under x64, and int32 inside of programs."""
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

X64, DONATED = True, ()


def arguments():
    return [np.array([True, False])]


def program(v0):
    v1 = nj.vmap(lambda a: lax.psum(jnp.any(v0), "i"), axis_name="i")(v0)
    v2 = nj.vmap(lambda a: lax.psum(True, "i"), axis_name="i")(v0)
    return (v1, v2)
