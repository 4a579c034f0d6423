"""Placement said in programs: reshard moves values, and functions with Auto or Explicit axes say where their edges are."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.arguments import check_callable
from numjet.api.sharding.placement import check_parts, resolved
from numjet.api.transfer import device_put
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh, current_mesh, using
from numjet.core.sharding.partition_spec import PartitionSpec, axes_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import Tracer, aval_of
from numjet.foundation.tree import tree_flatten, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.sharding import constrained


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The arrays of a pytree under other shardings over Explicit axes: now, or of traced values when the program runs.

    out_shardings: a NamedSharding, or a PartitionSpec for the mesh in use, or a pytree prefix of them.
    Raises TypeError for other shardings; ValueError for None, without a mesh, for Auto axes, and for shapes that the sharding
    does not fit.

    >>> import numjet as nj
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> reshard(nj.numpy.ones(2), nj.NamedSharding(mesh, nj.P("x"))).sharding.spec
    P('x',)
    """
    leaves, tree = tree_flatten(xs)
    given = flatten_axes("reshard out_shardings", tree, out_shardings)
    return tree_unflatten(tree, [_resharded(x, s) for x, s in zip(leaves, given, strict=True)])


def _resharded(x: Any, given: Any) -> Any:
    if given is None:
        raise ValueError("Reshard should only be used with out_shardings which are non-None and have a non-empty mesh. Got "
                         "sharding None.")
    if not isinstance(given, (NamedSharding, PartitionSpec)):
        raise TypeError("`out_sharding` argument of reshard only supports instances of `NamedSharding` or `PartitionSpec`. Got "
                        f"{given} of type: {type(given)}")
    if isinstance(given, PartitionSpec) and current_mesh().empty:
        raise ValueError("Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a "
                         f"NamedSharding instance or enter into a mesh context via `jax.set_mesh`. Got {given}")
    sharding = resolved("reshard", given)
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    for axis in axes_of(sharding.spec):
        if types[axis] is not AxisType.Explicit:
            raise ValueError(f"PartitionSpec passed to reshard cannot contain axis names that are of type Auto or Manual. Got "
                             f"PartitionSpec: {sharding.spec} with axis name: {axis} of type: {types[axis]}. Use "
                             "with_sharding_constraint for these")
    return _placed("reshard", x, sharding)


def _placed(what: str, x: Any, sharding: Any) -> Any:
    """A value under a sharding."""
    check_parts(f"One of {what} args", sharding, aval_of(x).shape)
    return constrained(x, sharding) if isinstance(x, Tracer) else device_put(x, sharding)


def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function in which the compiler divides along axes of the mesh in use, and whose results have shardings given here.

    axes: names of Explicit axes; default: all. out_sharding: for the results, a pytree prefix, or given with each call.
    Raises TypeError without out_sharding, ValueError without a mesh, KeyError for an axis that it lacks.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.set_mesh(nj.make_mesh((1,), ("x",))):
    ...     auto_axes(lambda a: a @ a.T, out_sharding=nj.P("x"))(jnp.ones((2, 2))).sharding.spec
    P('x',)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable(f)

    @functools.wraps(f)
    def decorated(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if out_sharding is None:
            raise TypeError("Missing required keyword argument: 'out_sharding': auto_axes has to know where the results are")
        mesh = _mesh("auto_axes")
        with using(_with_types(mesh, axes, AxisType.Auto)):
            out = f(*args, **kwargs)
        return _edge("auto_axes out_sharding", out, out_sharding, mesh)
    return decorated


def explicit_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function whose arguments have shardings given here, over axes of the mesh in use that are Explicit in it.

    axes: names of Auto axes; default: all. in_sharding: for the arguments, a pytree prefix of their tuple, or given with each
    call. Raises TypeError without in_sharding, ValueError without a mesh, KeyError for an axis that it lacks.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.set_mesh(nj.make_mesh((1,), ("x",), (AxisType.Auto,))):
    ...     explicit_axes(lambda a: a * 2, in_sharding=nj.P("x"))(jnp.ones(2)).tolist()
    [2.0, 2.0]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable(f)

    @functools.wraps(f)
    def decorated(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is None:
            raise TypeError("Missing required keyword argument: 'in_sharding': explicit_axes has to know where the arguments "
                            "are")
        mesh = _with_types(_mesh("explicit_axes"), axes, AxisType.Explicit)
        placed = _edge("explicit_axes in_sharding", args, in_sharding, mesh)
        with using(mesh):
            return f(*placed, **kwargs)
    return decorated


def _mesh(what: str) -> Mesh | AbstractMesh:
    mesh = current_mesh()
    if mesh.empty:
        raise ValueError(f"{what}: no mesh is in use: call it in `with jax.set_mesh(mesh):`")
    return mesh


def _with_types(mesh: Mesh | AbstractMesh, axes: Any, kind: AxisType) -> Mesh | AbstractMesh:
    """The mesh with some axes, or all, of another type."""
    chosen: Sequence[Any] = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    for axis in chosen:
        if axis not in mesh.axis_names:
            raise KeyError(f"{axis!r} is no axis of the mesh in use, whose axes are {mesh.axis_names}")
    types = tuple(kind if n in chosen else t for n, t in zip(mesh.axis_names, mesh.axis_types, strict=True))
    return mesh.update(axis_types=types)


def _edge(what: str, values: Any, given: Any, mesh: Mesh | AbstractMesh) -> Any:
    """The values of a pytree under shardings of a mesh."""
    leaves, tree = tree_flatten(values)
    placed = []
    with using(mesh):
        for x, s in zip(leaves, flatten_axes(what, tree, given), strict=True):
            placed.append(x if s is None else _placed(what, x, resolved(what, s)))
    return tree_unflatten(tree, placed)
