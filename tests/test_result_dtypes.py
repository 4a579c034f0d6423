"""The dtypes of the libraries' results against a table of JAX's."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import image, lax, nn, ops
from numjet.experimental import ode, sparse
from numjet.experimental.sparse import linalg as sparse_solvers
from numjet.foundation.config import enable_x64
from numjet.scipy import cluster, fft, integrate, linalg, ndimage, signal, special, stats
from numjet.scipy.sparse import linalg as solvers
from numjet.scipy.spatial import transform
from tests.operands import quietly
from tests.result_dtypes import KINDS, KINDS_X64, ROWS, SHAPES

NAMES = {"np": np, "jnp": jnp, "lax": lax, "nn": nn, "ops": ops, "image": image, "st": stats, "sig": signal, "sla": linalg,
         "sfft": fft, "ndi": ndimage, "integ": integrate, "special": special, "vq": cluster.vq, "rot": transform,
         "spl": solvers, "sparse": sparse, "ode": ode, "spsl": sparse_solvers,
         "bcoo": lambda x: sparse.BCOO.fromdense(x, nse=9), "I4": np.array([0, 0, 1, 2]),
         "M4": np.array([True, False, True, True]), "A4": np.arange(4.0), "A3": np.arange(3.0),
         "F4": np.ones(4, np.float32), "F3": np.ones(3, np.float32)}


def _character(dtype: np.dtype) -> str:
    return "E" if dtype.name == "bfloat16" else dtype.char.replace("q", "l").replace("Q", "L")


def _found(call, shape, kind):
    """The characters of the dtypes of results, from the program alone."""
    operand = nj.ShapeDtypeStruct(shape, kind)
    return "".join(_character(x.dtype) for x in nj.tree.leaves(nj.eval_shape(call, operand, operand)))


@pytest.mark.parametrize("row", range(len(ROWS)))
@pytest.mark.parametrize("x64", [False, True], ids=["32 bits", "x64"])
def test_dtypes_are_those_of_the_table(row, x64):
    shape, narrow, wide, calls = ROWS[row]
    wanted, kinds = (wide, KINDS_X64) if x64 else (narrow, KINDS)
    wanted = wanted.split() if " " in wanted else wanted
    differ = []
    with enable_x64(x64), quietly():
        for text in map(str.strip, calls.split(";")):
            call = eval(f"lambda x, y: {text}", NAMES)
            differ += [(text, np.dtype(kind).name, found, want) for kind, want in zip(kinds, wanted, strict=True)
                       if "-" not in want and (found := _found(call, SHAPES[shape], kind)) != want]
    assert not differ


def test_dtypes_outside_of_jit_are_those_of_programs():
    for text in ("jnp.cumulative_prod(x)", "jnp.histogram(x, bins=A4)[0]", "jnp.take(A4, x)", "jnp.unwrap(x, period=4)",
                 "jnp.select([x], [x])", "jnp.histogram2d(x, x, bins=2, weights=x)[0]", "sig.csd(x, None)[1]"):
        call = eval(f"lambda x, y: {text}", NAMES)
        for kind in (bool, np.int8, np.uint8, np.float32):
            if text.startswith("jnp.take") and kind is np.float32:
                continue
            with quietly():
                assert _character(call(jnp.ones(4, kind), None).dtype) == _found(call, (4,), kind), (text, kind)
