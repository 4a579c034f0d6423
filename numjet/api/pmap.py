"""Parallel map over devices: of which numjet has one, so that mapped axes have size 1 and the axis name stands for them."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numjet.api.arguments import as_tuple, check_callable, path_names, resolve_static
from numjet.api.jit import jit
from numjet.api.vmap import with_one_participant
from numjet.core.trace import aval_of
from numjet.foundation.tree import tree_flatten, tree_leaves, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.lax.shape.rearrange import expand_dims, squeeze
from numjet.runtime.device import Device


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence[Device] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Iterable[int] = ()) -> Any:
    """Compiles `fun` and runs it on every device, each with its part of the arguments: programs run on one device here.

    So mapped axes have size 1. `fun` gets arguments without them, and collectives over `axis_name` see one participant.

    Args:
      axis_name: name for collectives such as lax.psum inside `fun`.
      in_axes: which axis of each positional argument is mapped: an int, None (every device gets all), or a tuple with one
        entry, or pytree of entries, per argument. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis stands in the results; None: the result of one device, without the axis.
      static_broadcasted_argnums: arguments that are Python values, hashable; each value is compiled for.
      devices, backend: where to run, a list of one Device or a platform's name.
      axis_size: the number of devices, 1.
      donate_argnums: arguments whose memory the result may take over; they are deleted by the call.
    Raises:
      ValueError: a mapped axis or axis_size is not 1, nothing is mapped, `devices` are not one, in_axes does not fit.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.pmap(lambda x: x / nj.lax.psum(x, "i"), axis_name="i")(jnp.array([[1.0, 2.0]])).tolist()
    [[1.0, 1.0]]
    """
    check_callable(fun)
    for name, axes in [("in_axes", in_axes), ("out_axes", out_axes)]:
        if any(type(entry) is not int for entry in tree_leaves(axes)):
            raise TypeError(f"pmap {name} must be an int, None, or (nested) container with those types as leaves, "
                            f"but got {axes}.")
    static = as_tuple(static_broadcasted_argnums)
    overlap = sorted(set(static) & set(as_tuple(donate_argnums)))
    if overlap:
        raise ValueError(f"static_broadcasted_argnums={static} and donate_argnums cannot intersect: both have {overlap}")
    static_positions = resolve_static(fun, static, None)[0]

    @functools.wraps(fun)
    def on_one_device(*args: Any, **kwargs: Any) -> Any:
        if any(n >= len(args) for n in static_positions):
            raise ValueError(f"pmapped function has static_broadcasted_argnums={static} but was called with only {len(args)} "
                             f"positional argument{'' if len(args) == 1 else 's'}. All static broadcasted arguments must be "
                             "passed positionally.")
        leaves, in_tree = tree_flatten(([() if n in static_positions else a for n, a in enumerate(args)], kwargs))
        names = functools.partial(path_names, fun, args, kwargs, static_positions)
        axes = flatten_axes("pmap in_axes", in_tree, (_per_argument(in_axes, len(args), static_positions), 0))
        _check_sizes([(aval_of(x), d) for x, d in zip(leaves, axes, strict=True)], axis_size, names)

        def part(*parts: Any) -> Any:
            own, named = tree_unflatten(in_tree, parts)
            return fun(*[args[n] if n in static_positions else a for n, a in enumerate(own)], **named)
        local = [x if d is None else squeeze(x, (d,)) for x, d in zip(leaves, axes, strict=True)]
        return _with_axis(with_one_participant(part, axis_name)(*local), out_axes)
    return jit(on_one_device, static_argnums=static, donate_argnums=as_tuple(donate_argnums), backend=backend,
               device=_one_device(devices))


def _one_device(devices: Sequence[Device] | None) -> Device | None:
    if devices is None:
        return None
    if len(devices) != 1:
        raise ValueError(f"'devices' argument to pmap must be non-empty, or None, and a program runs on one device: "
                         f"give a list of one, got {len(devices)}")
    return devices[0]


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


def _check_sizes(mapped: Sequence[tuple[Any, int | None]], axis_size: int | None, names: Callable[[], Sequence[str]]) -> None:
    """ValueError unless some axis is mapped, and all that are have size 1."""
    if all(d is None for _, d in mapped):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    if axis_size not in (None, 1):
        raise ValueError(f"pmap: axis_size is the number of devices, 1, got {axis_size}. To map over more, use vmap.")
    for n, (aval, d) in enumerate(mapped):
        if d is None:
            continue
        if not -aval.ndim <= d < aval.ndim:
            raise ValueError(f"pmap maps over axis {d} of argument {names()[n]}, which has shape {aval.shape} and no such "
                             "axis.")
        if aval.shape[d] != 1:
            raise ValueError(f"pmap maps over the devices, and there is 1: axis {d} of argument {names()[n]} of shape "
                             f"{aval.shape} has size {aval.shape[d]}. Reshape it to (device_count(), ...), or use vmap.")


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
