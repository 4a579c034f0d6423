"""Placement said in programs: reshard moves values, and functions with Auto or Explicit axes say where their edges are."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numjet.api.arguments import check_callable
from numjet.api.sharding.placement import check_parts
from numjet.core.sharding.explicit import with_types
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh, current_mesh, using
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import Array, Tracer, aval_of, is_array_like
from numjet.foundation.tree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import wraps
from numjet.lax.shape.stacking import stage
from numjet.lax.sharding import is_empty, left_to_compiler, out_sharding_of, resharded


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
    if given is None or is_empty(given):
        raise ValueError("Reshard should only be used with out_shardings which are non-None and have a non-empty mesh. Got "
                         f"sharding {given}.")
    return _placed("reshard", x, out_sharding_of("reshard", given))


def _placed(what: str, x: Any, sharding: Any, from_auto: bool = False) -> Any:
    """A value under a sharding over Explicit axes."""
    check_parts(f"One of {what} args", sharding, aval_of(x).shape)
    return resharded(x if isinstance(x, Tracer) else stage(x), sharding, from_auto)


def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function in which the compiler divides along axes of the mesh in use, and whose results have shardings given here.

    axes: names of Explicit axes; default: all. out_sharding: for the results, a pytree prefix, or given with each call.
    Raises TypeError without out_sharding, ValueError without a mesh, KeyError for an axis that it lacks.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> with nj.set_mesh(nj.make_mesh((1,), ("x",))):
    ...     auto_axes(lambda a: a @ a.T, out_sharding=nj.P("x"))(jnp.ones((2, 2))).sharding.spec
    P('x', None)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable(f)

    @wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        given = _given("auto_axes", "out_sharding", "results", out_sharding, kwargs)
        mesh = _mesh("auto_axes", (args, given))
        chosen = _chosen(mesh, axes)
        if all(mesh.axis_types[mesh.axis_names.index(a)] is AxisType.Auto for a in chosen):
            return f(*args, **kwargs)  # the compiler has them already
        with using(with_types(mesh, chosen, AxisType.Auto)):
            out = f(*tree_map(lambda x: left_to_compiler(stage(x), chosen) if is_array_like(x) else x, args), **kwargs)
        return _edge("auto_axes out_sharding", out, given, mesh)
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

    @wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        given = _given("explicit_axes", "in_sharding", "arguments", in_sharding, kwargs)
        outer = _mesh("explicit_axes", (args, given))
        chosen = _chosen(outer, axes)
        mesh = with_types(outer, chosen, AxisType.Explicit)
        placed = _edge("explicit_axes in_sharding", args, given, mesh)
        with using(mesh):
            out = f(*placed, **kwargs)
        turned = [a for a in chosen if a not in outer.explicit_axes]
        return tree_map(lambda x: left_to_compiler(x, turned) if is_array_like(x) else x, out)
    return decorated


def _given(what: str, name: str, values: str, default: Any, kwargs: dict[str, Any]) -> Any:
    """The shardings of a call, taken out of its keywords, else those of the function. TypeError if neither has any: None
    counts in a call, where it says that there are no arrays to place."""
    if name not in kwargs and default is None:
        raise TypeError(f"Missing required keyword argument: '{name}': {what} has to know where the {values} are")
    return kwargs.pop(name, default)


def _mesh(what: str, given: Any) -> Mesh | AbstractMesh:
    """The mesh in use, else that of a sharding or of an argument's type."""
    mesh = current_mesh()
    if mesh.empty:
        for x in tree_leaves(given, is_leaf=lambda x: isinstance(x, (NamedSharding, PartitionSpec))):
            sharding = x if isinstance(x, NamedSharding) else getattr(x, "sharding", None) if isinstance(x, Array) else None
            sharding = aval_of(x).sharding if isinstance(x, Tracer) else sharding
            if isinstance(sharding, NamedSharding) and not sharding.mesh.empty:
                return sharding.mesh
        raise ValueError("Context mesh cannot be empty. Please use `jax.set_mesh` API to enter into a mesh context when using "
                         f"`{what}` API: `with jax.set_mesh(mesh):`")
    return mesh


def _chosen(mesh: Mesh | AbstractMesh, axes: Any) -> tuple[Any, ...]:
    """The axes that a user names; default: all. KeyError for others than the mesh's, NotImplementedError for Manual ones."""
    chosen: tuple[Any, ...] = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    for axis in chosen:
        if axis not in mesh.axis_names:
            raise KeyError(f"{axis!r} is no axis of the mesh in use, whose axes are {mesh.axis_names}")
        if axis in mesh.manual_axes:
            raise NotImplementedError("Going from `Manual` AxisType to `Auto` or `Explicit` AxisType is not allowed: inside of "
                                      f"shard_map each device has its own part along {axis!r}. Leave it out of `axes`, or out "
                                      "of shard_map's axis_names.")
    return chosen


def _edge(what: str, values: Any, given: Any, mesh: Mesh | AbstractMesh) -> Any:
    """The values of a pytree under shardings of a mesh."""
    leaves, tree = tree_flatten(values)
    placed = []
    with using(mesh):
        for x, s in zip(leaves, flatten_axes(what, tree, given), strict=True):
            if s is None:
                raise ValueError(f"{what}: an array needs a sharding that is not None, as it is for {aval_of(x).str_short()}: "
                                 "Reshard should only be used with out_shardings which are non-None")
            placed.append(_placed(what, x, out_sharding_of(what, s), True))
    return tree_unflatten(tree, placed)
