"""Limited instruction sets: code and kernels as on another CPU give results within the bounds of this one's."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from numjet import _native

PROGRAM = """
    import json
    import numpy as np
    import numjet as nj, numjet.numpy as jnp
    from numjet.cpu.native_code import jit
    x = np.random.default_rng(0).normal(size=(37, 53)).astype(np.float32)
    def f(x):
        y = jnp.tanh(x @ x.T) + jnp.exp(jnp.cumsum(x, 1)[:, :37] / 9)
        return y.sum(), jnp.sort(y, 0)[3, 4], jnp.fft.fft(y)[2, 3].real, jnp.linalg.solve(y + 40 * jnp.eye(37), y)[5, 6], (
            y.astype(jnp.float16) * 3).astype(jnp.float32).max(), jnp.argmax(y), nj.random.normal(nj.random.key(0))
    host = jit.host()
    print(json.dumps([host.vector_bytes, [float(v) for v in nj.jit(f)(x)]]))
"""


def run(instruction_set: str) -> tuple[int, list[float]]:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "NUMJET_INSTRUCTION_SET": instruction_set})
    assert done.returncode == 0, done.stderr
    width, values = json.loads(done.stdout)
    return width, values


def test_results_agree():
    width, values = run("native")
    for name, vector_bytes in (("avx512", 64), ("avx2", 32), ("baseline", 16)):
        if vector_bytes > width:
            continue
        limited, others = run(name)
        assert limited == vector_bytes
        np.testing.assert_allclose(others, values, rtol=3e-5)


def test_a_set_that_this_cpu_does_not_have():
    environment = {**os.environ, "NUMJET_INSTRUCTION_SET": "avx1024"}
    done = subprocess.run([sys.executable, "-c", "import numjet"], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode != 0 and "NUMJET_INSTRUCTION_SET='avx1024'" in done.stderr


@pytest.mark.parametrize("level", [-1, 3])
def test_levels(level):
    with pytest.raises(ValueError, match=r"expected 0 \(portable\), 1 \(AVX2\) or 2 \(AVX-512\)"):
        _native.limit_instruction_set(level)
