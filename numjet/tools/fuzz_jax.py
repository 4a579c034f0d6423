"""Another process that runs programs by JAX: the same text, under the other package's names."""
from __future__ import annotations

import base64
import pickle
import subprocess
from typing import Any

import numpy as np

from numjet.testing import prelude, programs

_SERVER = """
import base64, os, pickle, sys, warnings
import numpy as np
import jax, jax.numpy, jax.scipy.linalg, jax.scipy.special
out = os.fdopen(os.dup(1), "wb", buffering=0)
os.dup2(2, 1)
warnings.simplefilter("ignore")
jax.config.update("jax_platforms", "cpu")

def answer(text, args, x64):
    space = {"np": np, "nj": jax, "jnp": jax.numpy, "lax": jax.lax}
    jax.config.update("jax_enable_x64", x64)
    try:
        exec(text, space)
        result = jax.jit(space["program"])(*[jax.numpy.asarray(x) for x in args])
        return [np.asarray(x) for x in result]
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"

for n, line in enumerate(sys.stdin.buffer):
    out.write(base64.b64encode(pickle.dumps(answer(*pickle.loads(base64.b64decode(line))))) + b"\\n")
    if n % 100 == 99:
        jax.clear_caches()
"""


class JaxProcess:
    """JAX in another Python."""

    def __init__(self, python: str):
        self.process = subprocess.Popen([python, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)

    def run(self, p: programs.Program) -> list[np.ndarray] | str:
        """The program's results, or the error that it raised."""
        text = programs.source(p)
        assert self.process.stdin is not None and self.process.stdout is not None
        request = (prelude.text(text) + "\n" + text, programs.arguments(p), p.x64)
        self.process.stdin.write(base64.b64encode(pickle.dumps(request)) + b"\n")
        line = self.process.stdout.readline()
        found: Any = pickle.loads(base64.b64decode(line)) if line.endswith(b"\n") else "the other process ended"
        return found
