"""vmap: vectorization of functions; a function of one example becomes one of a batch."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.arguments import check_arrays, check_callable, debug_info, flatten_result, path_names
from numjet.core.snapshots import frozen
from numjet.core.trace import aval_of
from numjet.foundation.config import config
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.transforms.vmap import batch_flat, move_to


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None, axis_size: int | None = None,
         spmd_axis_name: Any = None, sum_match: bool = False) -> Callable[..., Any]:
    """Vectorizes `fun`: it is traced once, on one element, and its operations run on the whole batch.

    Args:
      in_axes: which axis of each positional argument to map over: an int, None (not mapped), or a sequence with one
        entry, or pytree of entries, per argument. Keyword arguments are mapped over axis 0.
      out_axes: where the batch axis stands in the results (int, None for results that don't depend on it, or pytree).
      axis_name: name for collectives such as lax.psum inside `fun`.
      axis_size: the batch size, needed only when nothing is mapped.
    Raises:
      ValueError: sizes of mapped axes differ, in_axes does not fit the arguments, out_axes=None for a mapped result.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.vmap(jnp.dot, in_axes=(0, None))(jnp.eye(2), jnp.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    check_callable(fun)
    del spmd_axis_name, sum_match
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple, dict))):
        raise TypeError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                        f"passed to the function, but got {in_axes!r}.")

    @functools.wraps(fun, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                             f"arguments passed to the function, but got {len(in_axes)=}, {len(args)=}")
        leaves, in_tree = tree_flatten((args, kwargs))
        axes = flatten_axes("vmap in_axes", in_tree, (in_axes, 0))
        names = functools.partial(path_names, fun, args, kwargs)
        check_arrays(leaves, names, "vmap")
        leaves = [frozen(x) for x in leaves]
        dims = [_check_axis(aval_of(x), d, n) for n, (x, d) in enumerate(zip(leaves, axes, strict=True))]
        size = _batch_size(leaves, dims, axis_size, names)
        out_tree: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            a, k = tree_unflatten(in_tree, xs)
            return flatten_result(fun(*a, **k), out_tree, fun)
        debug = debug_info("vmap", fun, args, kwargs) if config.check_tracer_leaks else None
        outs, out_dims = batch_flat(flat, size, leaves, dims, axis_name, debug)
        targets = flatten_axes("vmap out_axes", out_tree[0], tuple(out_axes) if isinstance(out_axes, list) else out_axes)
        placed = [_with_batch_axis(o, d, t, size) for o, d, t in zip(outs, out_dims, targets, strict=True)]
        return tree_unflatten(out_tree[0], placed)
    return vmap_fun


def _check_axis(aval: Any, axis: Any, position: int) -> int | None:
    if axis is None:
        return None
    if not isinstance(axis, int):
        raise TypeError(f"vmap in_axes leaves must be ints or None, got {axis!r}")
    if not -aval.ndim <= axis < aval.ndim:
        raise ValueError(f"vmap was requested to map its argument along axis {axis}, which implies that its rank should be at "
                         f"least {axis + 1 if axis >= 0 else -axis}, but is only {aval.ndim} (its shape is {aval.shape})")
    return axis % aval.ndim


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None], axis_size: int | None,
                names: Callable[[], Sequence[str]]) -> int:
    """The common size of the mapped axes."""
    sizes = {n: aval_of(x).shape[d] for n, (x, d) in enumerate(zip(leaves, dims, strict=True)) if d is not None}
    found = set(sizes.values()) | ({axis_size} if axis_size is not None else set())
    if len(found) == 1:
        return found.pop()
    if not found:
        raise ValueError("vmap must have at least one non-None value in in_axes, or axis_size")
    if axis_size is not None and len(set(sizes.values())) == 1:
        raise ValueError(f"vmap got axis_size={axis_size}, but the mapped axes of the arguments have size "
                         f"{set(sizes.values()).pop()}")
    labels = names()
    lines = [f"  * size {s} in axis {dims[n]} of argument {labels[n]} of type {aval_of(leaves[n]).str_short()}"
             for n, s in sizes.items()]
    raise ValueError("vmap got inconsistent sizes for array axes to be mapped:\n" + "\n".join(lines))


def _with_batch_axis(out: Any, dim: int | None, target: Any, size: int) -> Any:
    """A result with its batch axis at the position in out_axes."""
    if target is None:
        if dim is not None:
            raise ValueError("vmap has mapped output but out_axes is None: the result depends on the mapped argument. "
                             "Give its out_axes an int, or don't return it.")
        return out
    ndim = aval_of(out).ndim + (dim is None)
    if not -ndim <= target < ndim:
        raise ValueError(f"vmap out_axes {target} is out of range for a result of rank {ndim} (batch axis included)")
    return move_to(out, dim, target % ndim, size)
