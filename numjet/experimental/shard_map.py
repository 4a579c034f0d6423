"""`shard_map` under its former name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.sharding.shard_map import shard_map as _shard_map


def shard_map(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True) -> Any:
    """As numjet.shard_map, with positional arguments; check_rep is its check_vma.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> float(shard_map(lambda a: nj.lax.psum(a.sum(), "x"), mesh, nj.P("x"), nj.P())(jnp.arange(4.0)))
    6.0
    """
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)
