"""`pjit`: a jitted function that also runs on the mesh of the block it is called in."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.jit import jit
from numjet.core.sharding.mesh import current_mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import Sharding
from numjet.foundation.config import Override, mesh_names_only
from numjet.foundation.tree import tree_map
from numjet.foundation.util import wraps

__all__ = ["pjit"]


def pjit(fun: Callable[..., Any], **options: Any) -> Any:
    """`jit(fun, **options)`, which in a block `with mesh:` runs on that mesh, as in one of `set_mesh(mesh)`; there a sharding
    of None means undivided.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.sharding.Mesh(nj.devices()[:1], ("x",)):
    ...     pjit(lambda x: x * 2, in_shardings=nj.P("x"))(jnp.arange(2.0)).tolist()
    [0.0, 2.0]
    """
    jitted = jit(fun, **options)
    on_mesh = jit(fun, **{k: _undivided(v) if k in ("in_shardings", "out_shardings") else v for k, v in options.items()})

    def inside(outside: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(outside)
        def called(*args: Any, **kwargs: Any) -> Any:
            if current_mesh().empty:
                return outside(*args, **kwargs)
            if options.get("device") is not None or options.get("backend") is not None:
                raise ValueError("Mesh context manager should not be used with jit when backend or device is also specified as "
                                 f"an argument to jit. The mesh in use is {current_mesh()}.")
            with _placed():
                return method(*args, **kwargs)
        return called

    def clear_cache() -> None:
        """Drops all traces and compiled programs of this function."""
        jitted.clear_cache()
        on_mesh.clear_cache()
    called: Any = inside(jitted, on_mesh)
    called.trace, called.lower = inside(jitted.trace, on_mesh.trace), inside(jitted.lower, on_mesh.lower)
    called.eval_shape, called.clear_cache = inside(jitted.eval_shape, on_mesh.eval_shape), clear_cache
    return called


def _undivided(shardings: Any) -> Any:
    """Shardings with a specification that divides nothing where there is None."""
    leaf = lambda x: x is None or isinstance(x, (PartitionSpec, Sharding))
    return tree_map(lambda x: PartitionSpec() if x is None else x, shardings, is_leaf=leaf)


def _placed() -> Override:
    """A block in which programs run on the mesh in use."""
    return mesh_names_only(False)
