"""vmap: vectorization of functions; a function of one example becomes one of a batch."""
from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.arguments import check_arrays, check_callable, debug_info, flatten_result, path_names
from numjet.core import hooks
from numjet.core.aval import explicit, placements_in_use
from numjet.core.named_axes import BatchAxis
from numjet.core.refs import Ref, check_distinct, read, write
from numjet.core.snapshots import frozen
from numjet.core.trace import aval_of
from numjet.foundation import source
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, keystr, tree_flatten, tree_leaves, tree_map, tree_unflatten, treedef_paths
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import function_name, wraps
from numjet.lax.shape.rearrange import squeeze
from numjet.transforms.vmap import batch_flat, divided_batch, move_to


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None, axis_size: int | None = None,
         spmd_axis_name: Any = None, sum_match: bool = False) -> Callable[..., Any]:
    """Vectorizes `fun`: it is traced once, on one element, and its operations run on the whole batch.

    Args:
      in_axes: which axis of each positional argument to map over: an int, None (not mapped), or a sequence with one
        entry, or pytree of entries, per argument. Keyword arguments are mapped over axis 0.
      out_axes: where the batch axis stands in the results (int, None for results that don't depend on it, or pytree).
      axis_name: name for collectives such as lax.psum inside `fun`.
      axis_size: the batch size, needed only when nothing is mapped.
      spmd_axis_name: the axis of a mesh, or a tuple of them, along which the batch is divided: sharding constraints and
        shard_map inside of `fun` say it of their values.
    Raises:
      ValueError: sizes of mapped axes differ, in_axes does not fit the arguments, out_axes=None for a mapped result.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.vmap(jnp.dot, in_axes=(0, None))(jnp.eye(2), jnp.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    check_callable(fun)
    del sum_match
    axis = axis_name if spmd_axis_name is None else BatchAxis(axis_name, _spmd_axes(spmd_axis_name))
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    options = {"axis_name": axis_name, "axis_size": axis_size, "spmd_axis_name": spmd_axis_name}
    if hooks.types_above and hooks.above["has_specs"](in_axes, out_axes):
        return hooks.above["vmap"](vmap, fun, in_axes, out_axes, options)
    _check_axes(in_axes, out_axes)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__", "__annotations__"))
    @source.api_boundary
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                             f"arguments passed to the function, but got {len(in_axes)=}, {len(args)=}")
        if hooks.holds_above((args, kwargs)):
            return hooks.above["vmap"](vmap, fun, in_axes, out_axes, options)(*args, **kwargs)
        if (containers := _containers((args, kwargs), (in_axes, 0)) if _mapped_types else None) is not None:
            args, kwargs = containers.arguments
        leaves, in_tree = tree_flatten((args, kwargs))
        axes = flatten_axes("vmap in_axes", in_tree, (in_axes, 0))
        names = functools.partial(path_names, fun, args, kwargs)
        mapped: dict[int, Ref] = {}
        if any(isinstance(x, Ref) for x in leaves):
            leaves, mapped = _with_values(leaves, axes, names, function_name(fun))
        check_arrays([x for x, d in zip(leaves, axes, strict=True) if d is not None],
                     lambda: [n for n, d in zip(names(), axes, strict=True) if d is not None], "vmap")
        leaves = [frozen(x) for x in leaves]
        dims = [None if d is None else _check_axis(aval_of(x), d) for x, d in zip(leaves, axes, strict=True)]
        if not leaves and axis_size is None:
            raise ValueError("vmap wrapped function must be passed at least one argument containing an array or axis_size "
                             f"must be specified, got empty *{args=} and **{kwargs=}")
        size = _batch_size(leaves, dims, axis_size, names, len(tree_leaves(args)))
        out_tree: list[PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            inner = {i: Ref(aval_of(xs[i]), xs[i], ref.aval.kind) for i, ref in mapped.items()}
            a, k = tree_unflatten(in_tree, [inner.get(i, x) for i, x in enumerate(xs)])
            if containers is not None:
                a, k = containers.elements((a, k))
            out = flatten_result(fun(*a, **k), out_tree, fun, "vmap")
            changed[:] = [i for i, ref in inner.items() if ref.value is not xs[i]]
            return [*out, *[inner[i].value for i in changed]]
        changed: list[int] = []
        debug = debug_info("vmap", fun, args, kwargs) if config.check_tracer_leaks else None
        with source.transformed("vmap"):
            outs, out_dims = batch_flat(flat, size, leaves, dims, axis, debug)
        for i, value, d in zip(changed, outs[out_tree[0].num_leaves:], out_dims[out_tree[0].num_leaves:], strict=True):
            write(mapped[i], move_to(value, d, dims[i], size))  # type: ignore[arg-type]
        targets = flatten_axes("vmap out_axes", out_tree[0], out_axes)
        for k, (d, target) in enumerate(zip(out_dims, targets, strict=False)):
            if target is None and d is not None:
                raise _mapped_result(_result_path(out_tree[0], k), d, axis_name)
        with source.transformed("vmap"), explicit.mapping(divided_batch(leaves, dims) if placements_in_use else None):
            batch = tree_unflatten(out_tree[0], _with_batch_axes(outs, out_dims, targets, size))
        return batch if not _mapped_types else _batches(batch, out_axes, size)
    vmap_fun.__doc__ = _documentation(fun)
    return vmap_fun


def _spmd_axes(given: Any) -> tuple[Any, ...]:
    """The axes of a mesh that spmd_axis_name gives."""
    return given if isinstance(given, tuple) else (given,)


def with_one_participant(fun: Callable[..., Any], axis_name: Any) -> Callable[..., Any]:
    """`fun` where collectives know an axis of size 1, which neither arguments nor results have."""
    mapped = vmap(fun, None, 0, axis_name=axis_name, axis_size=1)
    return lambda *args: tree_map(lambda x: squeeze(x, (0,)), mapped(*args))


class _MappedType(Record):
    """How vmap treats a pytree type that has a shape besides its arrays."""
    whole: Callable[[Any, int], Any]
    element: Callable[[Any, int], Any]
    batch: Callable[[Any, int, int], Any]


_mapped_types: dict[type, _MappedType] = {}


def register_mapped(kind: type, whole: Callable[[Any, int], Any], element: Callable[[Any, int], Any],
                    batch: Callable[[Any, int, int], Any]) -> None:
    """Tells vmap of a pytree type that has a shape besides its arrays, which all have the batch axis where the type has it.

    whole(x, axis): x, checked, with arrays that have the axis in full. element(x, axis): x, whose arrays have lost the axis,
    with the shape of an element. batch(x, size, axis): x, whose arrays have gained an axis, with the shape of the batch.
    """
    _mapped_types[kind] = _MappedType(whole, element, batch)


def unregister_mapped(kind: type) -> None:
    """Makes a type one of pytrees of arrays again."""
    del _mapped_types[kind]


def _is_mapped(x: Any) -> bool:
    return type(x) in _mapped_types


class _Containers(Record):
    """Arguments with values of mapped types. axes: those of the leaves, where such a value counts as one."""
    arguments: Any
    axes: tuple[Any, ...]

    def elements(self, arguments: Any) -> Any:
        """The arguments of one element."""
        leaves, structure = tree_flatten(arguments, is_leaf=_is_mapped)
        return tree_unflatten(structure, [_mapped_types[type(x)].element(x, d) if _is_mapped(x) and d is not None else x
                                          for x, d in zip(leaves, self.axes, strict=True)])


def _containers(arguments: Any, in_axes: Any) -> _Containers | None:
    """The arguments, if there are values of mapped types among them."""
    leaves, structure = tree_flatten(arguments, is_leaf=_is_mapped)
    if not any(map(_is_mapped, leaves)):
        return None
    axes = flatten_axes("vmap in_axes", structure, in_axes)
    whole = [_mapped_types[type(x)].whole(x, d) if _is_mapped(x) and d is not None else x
             for x, d in zip(leaves, axes, strict=True)]
    return _Containers(tree_unflatten(structure, whole), tuple(axes))


def _batches(out: Any, out_axes: Any, size: int) -> Any:
    """The results, with the shape of the batch where they are values of mapped types."""
    leaves, structure = tree_flatten(out, is_leaf=_is_mapped)
    if not any(map(_is_mapped, leaves)):
        return out
    axes = flatten_axes("vmap out_axes", structure, out_axes)
    return tree_unflatten(structure, [_mapped_types[type(x)].batch(x, size, d) if _is_mapped(x) and d is not None else x
                                      for x, d in zip(leaves, axes, strict=True)])


def _documentation(fun: Callable[..., Any]) -> str | None:
    """The docstring of the vectorized function."""
    text = getattr(fun, "__doc__", None)
    return None if not text else (
        f"Vectorized version of {function_name(fun)}. Takes similar arguments, with additional array axes over which it is "
        f"mapped.\n\nOriginal documentation:\n\n{text}")


def _check_axes(in_axes: Any, out_axes: Any) -> None:
    if not (in_axes is None or type(in_axes) is int or isinstance(in_axes, tuple)):
        raise TypeError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                        f"passed to the function, but got {in_axes!r}.")
    _check_entries("in_axes", in_axes)
    _check_entries("out_axes", out_axes)


def _check_entries(name: str, axes: Any) -> None:
    """TypeError for an entry of in_axes or out_axes that is no axis."""
    for entry in tree_leaves(axes):
        if type(entry) is not int:
            raise TypeError(f"vmap {name} must be an int, None, or a tuple of entries (or pytree of them) that are ints or "
                            f"None, but got {entry!r} of type {type(entry).__name__} in {axes!r}.")


def _with_values(leaves: list[Any], axes: Sequence[Any], names: Callable[[], Sequence[str]], fun: str
                 ) -> tuple[list[Any], dict[int, Ref]]:
    """The leaves with the values of mutable references that are mapped over, and those references by position."""
    check_distinct(leaves, names, fun, "vmap")
    mapped = {i: x for i, (x, d) in enumerate(zip(leaves, axes, strict=True)) if isinstance(x, Ref) and d is not None}
    return [read(x) if i in mapped else x for i, x in enumerate(leaves)], mapped


def _check_axis(aval: Any, axis: int) -> int:
    if not -aval.ndim <= axis < aval.ndim:
        raise ValueError(f"vmap was requested to map its argument along axis {axis}, which implies that its rank should be at "
                         f"least {axis + 1 if axis >= 0 else -axis}, but is only {aval.ndim} (its shape is {aval.shape})")
    return axis % aval.ndim


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None], axis_size: int | None,
                names: Callable[[], Sequence[str]], positional: int) -> int:
    """The common size of the mapped axes. positional: how many of the leaves are of positional arguments."""
    sizes = {n: aval_of(x).shape[d] for n, (x, d) in enumerate(zip(leaves, dims, strict=True)) if d is not None}
    found = set(sizes.values()) | ({axis_size} if axis_size is not None else set())
    if len(found) == 1:
        return found.pop()
    if not found:
        raise ValueError("vmap must have at least one non-None value in in_axes, or axis_size")
    labels = names()

    def place(n: int) -> str:
        label = f"argument {labels[n]}" if n < positional else _as_keyword(labels[n])
        return f"axis {dims[n]} of {label} of type {aval_of(leaves[n])}"
    lines = [] if axis_size is None else [f"  * the `axis_size` argument was {axis_size}"]
    counts = Counter(sizes.values()).most_common()
    for k, (s, count) in enumerate(counts):
        first = place(next(n for n, other in sizes.items() if other == s))
        most = k == 0 and count > 1 and counts[1:2] != [] and count > counts[1][1]
        if count == 1:
            lines.append(f"  * one axis had size {s}: {first}")
        else:
            lines.append(f"  * {'most' if most else 'some'} axes ({count} of them) had size {s}, e.g. {first}")
    raise ValueError("vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines))


def _as_keyword(label: str) -> str:
    """`kwargs['y'][0]`, of the path `y[0]`."""
    end = next((k for k, c in enumerate(label) if c in "[."), len(label))
    return f"kwargs[{label[:end]!r}]{label[end:]}"


def _result_path(tree: PyTreeDef, k: int) -> str:
    """`['a'][0]`: where the result with number k is."""
    return keystr(treedef_paths(tree)[k])


def _mapped_result(path: str, dim: int, axis_name: Any) -> ValueError:
    return ValueError(f"vmap has mapped output ({axis_name=!s}) but out_axes is None: at vmap out_axes{path}, got axis spec "
                      f"None but output was batched on axis {dim}. The result depends on the mapped argument. Give its "
                      "out_axes an int, or don't return it.")


def _with_batch_axes(outs: Sequence[Any], dims: Sequence[int | None], targets: Sequence[Any], size: int) -> list[Any]:
    """Results with their batch axes where out_axes has them."""
    return [_with_batch_axis(o, d, t, size) for o, d, t in zip(outs, dims, targets, strict=False)]


def _with_batch_axis(out: Any, dim: int | None, target: Any, size: int) -> Any:
    """A result with its batch axis at the position in out_axes."""
    if target is None:
        return out
    ndim = aval_of(out).ndim + (dim is None)
    if not -ndim <= target < ndim:
        raise ValueError(f"vmap out_axes: axis {target} is out of bounds for array of dimension {ndim} (batch axis included)")
    return move_to(out, dim, target % ndim, size)
