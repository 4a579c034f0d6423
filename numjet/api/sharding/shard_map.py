"""Functions of shards: `shard_map` runs a function on each device's part of the arguments, with collectives over the axes of
a mesh. Programs run on one device, so the parts are the whole, and each axis of the mesh has one participant.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from numjet.api.arguments import check_callable
from numjet.api.sharding.mesh import get_abstract_mesh
from numjet.api.vmap import with_one_participant
from numjet.core.sharding.mesh import AbstractMesh, Mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import aval_of
from numjet.foundation.tree import keystr, tree_flatten_with_path, tree_map
from numjet.foundation.tree.prefix import broadcast_prefix
from numjet.foundation.util import function_name


class _Infer:
    def __repr__(self) -> str:
        return "Infer"


INFER = _Infer()


def shard_map(f: Callable[..., Any] | None = None, /, *, out_specs: Any, in_specs: Any = INFER,
              mesh: Mesh | AbstractMesh | None = None, axis_names: Iterable[Any] = frozenset(), check_vma: bool = True) -> Any:
    """A function that applies `f` to each device's part of its arguments and puts the parts of the results together.

    Args:
      out_specs, in_specs: a PartitionSpec, or a pytree prefix of them, for the results and the tuple of arguments; without
        in_specs arguments stand as they are.
      mesh: default the mesh in use (set_mesh). NotImplementedError for one of several devices.
      axis_names: the axes over which `f` has collectives; default: all.
      check_vma: checks of what varies over which axes hold for axes of one device in any case.
    Raises:
      ValueError: without a mesh; for arguments and results of fewer dimensions than their specification has.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> total = shard_map(lambda a: nj.lax.psum(a.sum(), "x"), mesh=mesh, in_specs=nj.P("x"), out_specs=nj.P())
    >>> float(total(jnp.arange(4.0)))
    6.0
    """
    del check_vma
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names)
    check_callable(f)
    name = f"shard_map of {function_name(f)}"

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        over = _one_device(name, get_abstract_mesh() if mesh is None else mesh)
        if in_specs is not INFER:
            _check_specs(f"{name}: in_specs", over, in_specs, args)
        out = _with_axes(f, axis_names or over.axis_names)(*args)
        _check_specs(f"{name}: out_specs", over, out_specs, out)
        return out
    return mapped


def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = INFER, out_axes: Any, axis_name: Any) -> Any:
    """shard_map over one axis of the mesh in use, with the axes of arguments and results that it divides.

    in_axes, out_axes: an int, None, or a pytree prefix of them.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.set_mesh(nj.make_mesh((1,), ("x",))):
    ...     float(smap(lambda a: nj.lax.psum(a.sum(), "x"), in_axes=0, out_axes=None, axis_name="x")(jnp.arange(4.0)))
    6.0
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: Any) -> PartitionSpec:
        if axis is not None and (not isinstance(axis, int) or axis < 0):
            raise TypeError(f"smap: expected axes that are None or ints from 0 on, got {axis!r}")
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    specs = functools.partial(tree_map, spec, is_leaf=lambda x: x is None)
    return shard_map(f, out_specs=specs(out_axes), in_specs=INFER if in_axes is INFER else specs(in_axes),
                     axis_names={axis_name})


def _one_device(name: str, mesh: Any) -> Mesh | AbstractMesh:
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"{name}: expected a Mesh, got {mesh!r}")
    if mesh.empty:
        raise ValueError(f"{name}: no mesh was given, and none is in use: pass mesh=, or call it in `with jax.set_mesh(mesh):`")
    if mesh.size != 1:
        raise NotImplementedError(f"{name}: programs run on one device, got a mesh of {mesh.size}: {mesh}")
    return mesh


def _check_specs(what: str, mesh: Any, specs: Any, values: Any) -> None:
    """Raises what NamedSharding raises for specifications that do not fit, with the path of the value."""
    paths, _ = tree_flatten_with_path(values)
    given = broadcast_prefix(specs, values, is_leaf=lambda x: x is None or isinstance(x, PartitionSpec))
    for (path, value), spec in zip(paths, given, strict=True):
        if spec is not None:
            try:
                NamedSharding(mesh, spec).shard_shape(aval_of(value).shape)
            except ValueError as error:
                raise ValueError(f"{what} at {keystr(path) or 'the result'}: {error}") from None


def _with_axes(f: Callable[..., Any], names: Iterable[Any]) -> Callable[..., Any]:
    """`f` where collectives know axes of these names, each of one participant."""
    return functools.reduce(with_one_participant, names, f)
