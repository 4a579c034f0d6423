"""Choice of where on a device operations run: its processor, that of its host, or a stream of its own."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from numjet.core.sharding.memory import Space
from numjet.foundation import compute_types
from numjet.foundation.config import Override
from numjet.foundation.source import named_scope
from numjet.foundation.tree import tree_flatten, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import wraps
from numjet.lax.sharding import in_space


class compute_on(contextlib.ContextDecorator):
    """A block, or a decorator of functions, whose operations run on a part of the device: "device", "device_host",
    "tpu_sparsecore" or "gpu_stream:#".

    XLA gets it as an attribute of the operations. On the CPU, whose host it is, they run where all others do. TypeError for
    what is no text, ValueError for other types.

    >>> import numjet as nj
    >>> nj.jit(compute_on("device_host")(lambda x: x * 2))(3.0).tolist()
    6.0
    """

    def __init__(self, compute_type: str):
        self._scope = named_scope(compute_types.scope_name(compute_type))
        self._flag = Override("numjet_compute_type", compute_type)  # programs that are called in the block are others

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._flag.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        self._flag.__exit__(*exc_info)
        self._scope.__exit__(*exc_info)


def compute_on2(f: Callable[..., Any] | None = None, *, compute_type: str, out_memory_spaces: Any,
                compiler_options: Any = None) -> Callable[..., Any]:
    """The function with its operations on a part of the device, as `compute_on`, and its results in memory spaces.

    out_memory_spaces: a `jax.memory.Space`, or a pytree of them. TypeError for other values; NotImplementedError for
    compiler_options.

    >>> from numjet.memory import Space
    >>> import numjet.numpy as jnp
    >>> compute_on2(lambda x: x * 2, compute_type="device_host", out_memory_spaces=Space.Device)(jnp.arange(2.0))
    Array([0., 2.], dtype=float32)
    """
    if compiler_options is not None:
        raise NotImplementedError("compute_on2: compiler_options of a part of a program are not supported; give those of the "
                                  "program to jit")

    def decorated(fun: Callable[..., Any]) -> Callable[..., Any]:
        inside = compute_on(compute_type)(fun)

        @wraps(fun)
        def called(*args: Any, **kwargs: Any) -> Any:
            leaves, structure = tree_flatten(inside(*args, **kwargs))
            spaces = flatten_axes("compute_on2 out_memory_spaces", structure, out_memory_spaces)
            return tree_unflatten(structure, [_moved(x, space) for x, space in zip(leaves, spaces, strict=True)])
        return called
    return decorated if f is None else decorated(f)


def _moved(x: Any, space: Any) -> Any:
    if not isinstance(space, Space):
        raise TypeError(f"compute_on2: out_memory_spaces are of type jax.memory.Space, got {space!r}")
    return in_space(x, space)
