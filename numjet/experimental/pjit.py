"""`pjit`: a jitted function that also runs on the mesh of the block it is called in."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.jit import jit
from numjet.core.sharding.mesh import current_mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import Sharding
from numjet.foundation.config import Override, mesh_names_only
from numjet.foundation.tree import tree_map
from numjet.foundation.util import wraps

__all__ = ["pjit"]


class _Unspecified:
    """The shardings of a `pjit` that is given none, which differ from None on a mesh."""

    def __repr__(self) -> str:
        return "<unspecified>"


_UNSPECIFIED = _Unspecified()


def pjit(fun: Callable[..., Any], in_shardings: Any = _UNSPECIFIED, out_shardings: Any = _UNSPECIFIED,
         static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
         donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
         keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool = False,
         compiler_options: dict[str, Any] | None = None) -> Any:
    """`jit` of `fun` with these options, which in a block `with mesh:` runs on that mesh, as in one of `set_mesh(mesh)`; there
    a sharding of None means undivided.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.sharding.Mesh(nj.devices()[:1], ("x",)):
    ...     pjit(lambda x: x * 2, in_shardings=nj.P("x"))(jnp.arange(2.0)).tolist()
    [0.0, 2.0]
    """
    options: dict[str, Any] = {
        "static_argnums": static_argnums, "static_argnames": static_argnames, "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames, "keep_unused": keep_unused, "device": device, "backend": backend, "inline": inline,
        "compiler_options": compiler_options}
    shardings = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    given = {side: s for side, s in shardings.items() if s is not _UNSPECIFIED}
    jitted = jit(fun, **given, **options)
    on_mesh = jit(fun, **{side: _undivided(s) for side, s in given.items()}, **options)

    def inside(outside: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(outside)
        def called(*args: Any, **kwargs: Any) -> Any:
            if current_mesh().empty:
                return outside(*args, **kwargs)
            if device is not None or backend is not None:
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
