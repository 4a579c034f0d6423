"""`pjit`: a jitted function that also runs on the mesh of the block it is called in."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.jit import jit
from numjet.core.sharding.mesh import current_mesh
from numjet.foundation.config import Override, mesh_names_only
from numjet.foundation.util import wraps

__all__ = ["pjit"]


def pjit(fun: Callable[..., Any], **options: Any) -> Any:
    """`jit(fun, **options)`, which in a block `with mesh:` runs on that mesh, as in one of `set_mesh(mesh)`.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.sharding.Mesh(nj.devices()[:1], ("x",)):
    ...     pjit(lambda x: x * 2, in_shardings=nj.P("x"))(jnp.arange(2.0)).tolist()
    [0.0, 2.0]
    """
    jitted = jit(fun, **options)

    def inside(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def called(*args: Any, **kwargs: Any) -> Any:
            if current_mesh().empty:
                return method(*args, **kwargs)
            with _placed():
                return method(*args, **kwargs)
        return called
    called: Any = inside(jitted)
    called.trace, called.lower, called.eval_shape = map(inside, (jitted.trace, jitted.lower, jitted.eval_shape))
    called.clear_cache = jitted.clear_cache
    return called


def _placed() -> Override:
    """A block in which programs run on the mesh in use."""
    return mesh_names_only(False)
