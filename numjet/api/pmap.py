"""Parallel map over devices: a shard_map over the first devices, as many as the mapped axes are long."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.api.arguments import check_callable, numbers_tuple, path_names, resolve_static
from numjet.api.jit import jit
from numjet.api.sharding.shard_map import shard_map
from numjet.api.vmap import with_one_participant
from numjet.core.sharding.mesh import Mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.trace import aval_of
from numjet.foundation.tree import tree_flatten, tree_leaves, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import wraps
from numjet.lax.shape.rearrange import expand_dims, squeeze
from numjet.lax.templates import moveaxis
from numjet.runtime.device import Device, devices as runtime_devices

_AXIS = "_internal_pmap_axis_name"  # of functions that have no axis_name; JAX's name for it


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence[Device] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Iterable[int] = ()) -> Any:
    """Compiles `fun` and runs it on several devices, each with its entry of the mapped axes of the arguments.

    `fun` gets arguments without these axes, whose size is the number of devices, and collectives over `axis_name` exchange
    between them. Programs of several devices need jaxlib: pip install 'numjet[xla]'.

    Args:
      axis_name: name for collectives such as lax.psum inside `fun`.
      in_axes: which axis of each positional argument is mapped: an int, None (every device gets all), or a tuple with one
        entry, or pytree of entries, per argument. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis stands in the results; None: the result of one device, without the axis.
      static_broadcasted_argnums: arguments that are Python values, hashable; each value is compiled for.
      devices, backend: where to run, a list of Devices or a platform's name; default: the first devices.
      axis_size: the number of devices.
      donate_argnums: arguments whose memory the result may take over; they are deleted by the call.
    Raises:
      ValueError: mapped axes of different sizes or more than there are devices, nothing is mapped, in_axes does not fit.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.pmap(lambda x: x / nj.lax.psum(x, "i"), axis_name="i")(jnp.array([[1.0, 2.0]])).tolist()
    [[1.0, 1.0]]
    """
    check_callable(fun)
    for name, axes in [("in_axes", in_axes), ("out_axes", out_axes)]:
        if any(type(entry) is not int for entry in tree_leaves(axes)):
            raise TypeError(f"pmap {name} must be an int, None, or (nested) container with those types as leaves, "
                            f"but got {axes}.")
    static = numbers_tuple(static_broadcasted_argnums)
    overlap = sorted(set(static) & set(numbers_tuple(donate_argnums)))
    if overlap:
        raise ValueError(f"static_broadcasted_argnums={static} and donate_argnums cannot intersect: both have {overlap}")
    static_positions = resolve_static(fun, static, None)[0]

    there = tuple(runtime_devices(backend)) if devices is None else tuple(devices)
    if not there:
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")

    @wraps(fun)
    def on_devices(*args: Any, **kwargs: Any) -> Any:
        if any(n >= len(args) for n in static_positions):
            raise ValueError(f"pmapped function has static_broadcasted_argnums={static} but was called with only {len(args)} "
                             f"positional argument{'' if len(args) == 1 else 's'}. All static broadcasted arguments must be "
                             "passed positionally.")
        leaves, in_tree = tree_flatten(([() if n in static_positions else a for n, a in enumerate(args)], kwargs))
        names = functools.partial(path_names, fun, args, kwargs, static_positions)
        axes = flatten_axes("pmap in_axes", in_tree, (_per_argument(in_axes, len(args), static_positions), 0))
        mapped = [(aval_of(x), d) for x, d in zip(leaves, axes, strict=True)]
        count = _checked_size(mapped, axis_size, names, len(there))

        def part(*parts: Any) -> Any:
            local = [x if d is None else squeeze(x, (d,)) for x, d in zip(parts, axes, strict=True)]
            own, named = tree_unflatten(in_tree, local)
            return fun(*[args[n] if n in static_positions else a for n, a in enumerate(own)], **named)
        if count == 1:
            return _with_axis(with_one_participant(part, axis_name)(*leaves), out_axes)
        return _on_several(fun, part, leaves, axes, there[:count], _AXIS if axis_name is None else axis_name, out_axes)
    one = there[0] if devices is not None and len(there) == 1 else None
    return jit(on_devices, static_argnums=static, donate_argnums=numbers_tuple(donate_argnums), device=one,
               backend=None if one is not None else backend)


def _on_several(fun: Callable[..., Any], part: Callable[..., Any], leaves: Sequence[Any], axes: Sequence[int | None],
                there: Sequence[Device], name: Any, out_axes: Any) -> Any:
    """The results of all devices. fun: the user's function; part: what each does with its entries, along axes of size 1."""
    grid = np.empty(len(there), object)
    grid[:] = there
    ins = tuple(PartitionSpec() if d is None else PartitionSpec(*[None] * (d % aval_of(x).ndim), name)
                for x, d in zip(leaves, axes, strict=True))
    trees: list[Any] = []

    def shard(*parts: Any) -> list[Any]:
        outs, tree = tree_flatten(part(*parts))
        trees[:] = tree, flatten_axes("pmap out_axes", tree, out_axes)
        return [x if d is None else expand_dims(x, (0,)) for x, d in zip(outs, trees[1], strict=True)]
    shard.owner = fun  # type: ignore[attr-defined]  # whom errors name
    outs = lambda: [PartitionSpec() if d is None else PartitionSpec(name) for d in trees[1]]
    whole = shard_map(shard, mesh=Mesh(grid, (name,)), in_specs=ins, out_specs=outs, check_vma=False)(*leaves)
    return tree_unflatten(trees[0], [x if d is None else moveaxis(x, 0, _target(d, aval_of(x).ndim))
                                     for x, d in zip(whole, trees[1], strict=True)])


def _target(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"pmap out_axes {axis} is out of range for a result of rank {rank} (mapped axis included)")
    return axis % rank


def _per_argument(in_axes: Any, count: int, static: Sequence[int]) -> Any:
    """in_axes with an entry for each positional argument, where it has entries; those of static arguments count nothing."""
    if not isinstance(in_axes, tuple):
        return in_axes
    if len(in_axes) == count - len(static):  # static arguments have no entry
        given = iter(in_axes)
        return [() if n in static else next(given) for n in range(count)]
    if len(in_axes) != count:
        raise ValueError(f"pmap in_axes must have an entry for each positional argument: it has {len(in_axes)}, and {count} "
                         "arguments were passed")
    return [() if n in static else entry for n, entry in enumerate(in_axes)]


def _checked_size(mapped: Sequence[tuple[Any, int | None]], axis_size: int | None, names: Callable[[], Sequence[str]],
                  available: int) -> int:
    """The size of the mapped axes. ValueError unless some axis is mapped, all are of one size, and there are the devices."""
    if all(d is None for _, d in mapped):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    sizes = {} if axis_size is None else {axis_size: "the argument axis_size"}
    for n, (aval, d) in enumerate(mapped):
        if d is None:
            continue
        if not -aval.ndim <= d < aval.ndim:
            raise ValueError(f"pmap maps over axis {d} of argument {names()[n]}, which has shape {aval.shape} and no such "
                             "axis.")
        sizes.setdefault(aval.shape[d], f"axis {d} of argument {names()[n]} of shape {aval.shape}")
    if len(sizes) > 1:
        listed = "\n".join(f"  * {what} has size {size}" for size, what in sizes.items())
        raise ValueError(f"pmap got inconsistent sizes for array axes to be mapped:\n{listed}")
    ((size, what),) = sizes.items()
    if size > available:
        there = "there is 1" if available == 1 else f"there are {available}"
        raise ValueError(f"pmap maps over the devices, and {there}: {what} has size {size}. compiling computation that "
                         f"requires {size} logical devices, but only {available} XLA devices are available. Reshape it to "
                         "(device_count(), ...), or use vmap.")
    return size


def _with_axis(out: Any, out_axes: Any) -> Any:
    """Results of one device with the mapped axis where out_axes says."""
    leaves, tree = tree_flatten(out)
    axes = flatten_axes("pmap out_axes", tree, out_axes)
    return tree_unflatten(tree, [_moved(x, d) for x, d in zip(leaves, axes, strict=True)])


def _moved(x: Any, axis: int | None) -> Any:
    """A result of one device with the mapped axis at `axis`."""
    if axis is None:
        return x
    rank = aval_of(x).ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"pmap out_axes {axis} is out of range for a result of rank {rank} (mapped axis included)")
    return expand_dims(x, (axis,))
