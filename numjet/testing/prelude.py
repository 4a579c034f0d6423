"""Prelude of random programs: helper functions that their text may use besides NumPy's and lax's names.

They are written with names that JAX has, too. Scripts carry the text of the helpers that they use.
"""
from __future__ import annotations

import inspect
import math
import re
from typing import Any

import numpy as np

import numjet as nj
import numjet.numpy as jnp
import numjet.scipy.linalg
import numjet.scipy.special
from numjet import lax
from numjet.core.op import lookup
from numjet.testing import records


def to(x: Any, dtype: Any) -> Any:
    """x in a dtype, by unambiguous conversions: real parts, and integers of finite numbers."""
    x = jnp.asarray(x)
    dtype = jnp.dtype(dtype)
    if jnp.iscomplexobj(x) and not jnp.issubdtype(dtype, jnp.complexfloating):
        x = x.real
    if jnp.issubdtype(dtype, jnp.integer) and jnp.issubdtype(x.dtype, jnp.floating):
        x = jnp.where(jnp.abs(x) < 100, x, 7)
        if jnp.issubdtype(dtype, jnp.unsignedinteger):
            x = jnp.abs(x)
    return x.astype(dtype)


def fit(x: Any, shape: Any, dtype: Any) -> Any:
    """x cut or repeated to a shape, in a dtype."""
    x = jnp.ravel(jnp.asarray(x))
    n = math.prod(shape)
    if x.size == 0:
        x = jnp.zeros((1,), x.dtype)
    if x.size < n:
        x = jnp.tile(x, -(-n // x.size))
    return to(jnp.reshape(x[:n], shape), dtype)


def between(x: Any, low: Any, high: Any) -> Any:
    """x folded into a range."""
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return (low + (high - low) * (0.5 + 0.5 * jnp.sin(x))).astype(x.dtype)
    if x.dtype == jnp.bool_:
        return x
    low = max(int(low), int(jnp.iinfo(x.dtype).min))
    span = min(int(high), int(jnp.iinfo(x.dtype).max)) - low + 1
    return (x % jnp.asarray(max(1, min(span, 100)), x.dtype) + jnp.asarray(low, x.dtype)).astype(x.dtype)


def squash(x: Any) -> Any:
    """x with its size bounded, so that long programs don't end in infinities."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.tanh(x)
    return x / (1 + jnp.abs(x)) if jnp.iscomplexobj(x) else x


def total(tree: Any) -> Any:
    """One real number of all floating-point leaves, to differentiate."""
    parts = [
        jnp.sum(jnp.real(x).astype(jnp.float32) * 0.5) for x in nj.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)
    ]
    return sum(parts, jnp.float32(0))


def floats(tree: Any) -> Any:
    """The leaves that have derivatives."""
    return tuple(x for x in nj.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact))


def batch(x: Any, size: Any, axis: Any) -> Any:
    """`size` arrays like x along a new axis; not all alike."""
    if size == 0 or not jnp.ndim(x):
        return jnp.broadcast_to(jnp.expand_dims(x, axis), (*x.shape[:axis], size, *x.shape[axis:]))
    other = jnp.flip(x, 0) if not jnp.issubdtype(x.dtype, jnp.inexact) else x * jnp.asarray(0.75, x.dtype)
    return jnp.stack([other if k % 3 == 1 else x for k in range(size)], axis)


def leaves(tree: Any) -> Any:
    """The arrays of a result."""
    return tuple(nj.tree.leaves(tree))


def doubled(tree: Any) -> Any:
    """Tangents twice; those of integers are no numbers."""
    return nj.tree.map(lambda t: t if t.dtype == nj.dtypes.float0 else t + t, tree)


def with_jvp(f: Any) -> Any:
    """f with a forward rule of its own, which doubles the tangents."""
    g = nj.custom_jvp(f)
    g.defjvp(lambda primals, tangents: nj.tree.map(lambda x: x, nj.jvp(f, primals, doubled(tangents))))
    return g


def with_vjp(f: Any, optimize_remat: bool = False) -> Any:
    """f with a reverse rule of its own, which doubles the cotangents."""
    g = nj.custom_vjp(f)

    def forward(*args: Any) -> Any:
        return nj.vjp(f, *args)

    def backward(pull: Any, cts: Any) -> Any:
        return doubled(pull(cts))

    g.defvjp(forward, backward, optimize_remat=optimize_remat)
    return g


def rec(name: Any, case: Any, *args: Any, **params: Any) -> Any:
    """A record applied to operands, with parameters of one of its samples, or given ones."""
    return lookup(name).bind(*args, **(params if case is None else records.grid(lookup(name))[case][1]))


_HELPERS = {f.__name__: f for f in (to, fit, between, squash, total, floats, batch, leaves, doubled, with_jvp, with_vjp,
                                     rec)}


def names() -> dict[str, Any]:
    """The namespace of programs."""
    return {"nj": nj, "jnp": jnp, "lax": lax, "np": np, "math": math, **_HELPERS}


def text(program: str) -> str:
    """The text of the helpers that a program needs."""
    found: dict[str, str] = {}
    todo = program
    while True:
        new = [n for n in _HELPERS if n not in found and re.search(rf"\b{n}\(", todo)]
        if not new:
            break
        found.update((n, inspect.getsource(_HELPERS[n])) for n in new)
        todo = "\n".join(found[n] for n in new)
    imports = "from typing import Any\n" if found else ""
    imports += "import math\n" if "math." in "".join(found.values()) else ""
    if "rec" in found or re.search(r"\bprograms\.", program):
        imports += "from numjet.core.op import lookup\nfrom numjet.testing import programs, records\n"
    return imports + "\n\n" + "\n\n".join(found[n] for n in _HELPERS if n in found)
