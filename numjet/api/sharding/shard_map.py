"""Functions of shards: `shard_map` runs a function on each device's part of the arguments, with collectives over the axes of
a mesh. Over a mesh of one device the part is the whole, and the program is one of numjet's own compiler.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Set
from math import prod
from typing import Any

from numjet import _native
from numjet.api.arguments import check_arrays, check_callable
from numjet.api.sharding.shard_values import HINT, ShardValues, are_evaluated
from numjet.api.vmap import with_one_participant
from numjet.control.call.body_tracing import trace_body
from numjet.control.call.jaxpr_transforms import without_consts
from numjet.control.call.ref_threading import holds_refs
from numjet.control.shards.shard_map_op import inside, part_type, shard_map_p, varied_to
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.named_axes import dividing_axes, named_axes
from numjet.core.nan_checks import of_shards
from numjet.core.refs import Ref, read, write
from numjet.core.sharding import explicit
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh, current_mesh
from numjet.core.sharding.partition_spec import PartitionSpec, axes_of, entries_of, parts_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.stage import DebugInfo, trace_to_closed
from numjet.core.trace import Array, Tracer, aval_of, is_array_like
from numjet.core.user_functions import debug_info
from numjet.core.walk import eval_closed
from numjet.foundation.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from numjet.foundation.tree.prefix import broadcast_prefix, prefix_errors
from numjet.foundation.util import function_name, wraps
from numjet.lax.sharding import resharded
from numjet.runtime import dispatch


class _Infer:
    def __repr__(self) -> str:
        return "Infer"


INFER = _Infer()


def shard_map(f: Callable[..., Any] | None = None, /, *, out_specs: Any, in_specs: Any = INFER,
              mesh: Mesh | AbstractMesh | None = None, axis_names: Set[Any] = frozenset(), check_vma: bool = True) -> Any:
    """A function that applies `f` to each device's part of its arguments and puts the parts of the results together.

    Args:
      out_specs, in_specs: a PartitionSpec, or a pytree prefix of them, for the results and the tuple of arguments; without
        in_specs arguments are divided as they are. None for arguments that are no arrays.
      mesh: default the mesh in use (set_mesh).
      axis_names: the axes over which `f` has collectives, and which the specifications name; along the others the compiler
        divides. Default: all.
      check_vma: whether types in `f` say over which axes values vary. Then a result must not vary over axes that its
        specification leaves out, and derivatives taken in `f` are those of the whole.
    Raises:
      ValueError: without a mesh; for arguments and results that their specifications do not fit, and for results that may
        vary where their specification says that they do not.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> total = shard_map(lambda a: nj.lax.psum(a.sum(), "x"), mesh=mesh, in_specs=nj.P("x"), out_specs=nj.P())
    >>> float(total(jnp.arange(4.0)))
    6.0
    """
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
                                 check_vma=check_vma)
    check_callable(f)
    name = function_name(f)
    if not isinstance(axis_names, (set, frozenset)):
        raise TypeError("`axis_names` argument of shard_map should be of type `frozenset` or `set`. Got type: "
                        f"{type(axis_names)}: {axis_names!r}")
    chosen = frozenset(axis_names)

    @wraps(f)
    def mapped(*args: Any) -> Any:
        over = _checked_mesh(name, current_mesh() if mesh is None else mesh)
        _check_nested(over)
        over = explicit.with_types(over, current_mesh().manual_axes, AxisType.Manual)
        axes = chosen or frozenset(over.axis_names) - {n for n, _ in named_axes()}
        if not axes <= set(over.axis_names):
            raise ValueError(f"jax.shard_map requires axis_names={set(axes)} to be a subset of mesh.axis_names="
                             f"{over.axis_names}")
        if in_specs is INFER:
            _check_explicit(over, axes)
        mapped_over = chosen & dividing_axes() & set(over.explicit_axes)
        if mapped_over:
            raise ValueError(f"jax.shard_map requires axis_names={set(axes)} to be a subset of "
                             f"mesh.axis_names={over.axis_names} without {set(mapped_over)}, along which the batch of the vmap "
                             "around it is divided")
        if over.is_abstract and current_mesh().empty:
            _check_meshes(over, args)
        run = lambda fun, ins, outs, args: _Call(fun, name, over, axes, check_vma)(ins, outs, args)
        with of_shards():
            if holds_refs(args):
                return _with_refs(run, f, in_specs, out_specs, args, axes)
            return run(f, in_specs, out_specs, args)
    return mapped


def _with_refs(run: Callable[..., Any], f: Callable[..., Any], in_specs: Any, out_specs: Any, args: Any,
               axes: frozenset[Any]) -> Any:
    """A call with mutable references among the arguments: shards have references to their parts, whose last values are more
    results, which the references then get."""
    leaves, tree = tree_flatten(tuple(args))
    places = [k for k, x in enumerate(leaves) if isinstance(x, Ref)]
    given = [read(x) if isinstance(x, Ref) else x for x in leaves]
    values = tree_unflatten(tree, given)
    specs = [_spec_of(x, axes) for x in given] if in_specs is INFER else _specs_of("shard_map", "in_specs", in_specs, values)

    def with_parts(*parts: Any) -> Any:
        inner = tree_flatten(tuple(parts))[0]
        for k in places:
            inner[k] = Ref(aval_of(inner[k]), inner[k], leaves[k].aval.kind)
        out = f(*tree_unflatten(tree, inner))
        return out, [read(inner[k]) for k in places]
    with_parts.__name__ = function_name(f)
    whole = lambda: (out_specs() if callable(out_specs) else out_specs, [specs[k] for k in places])
    out, last = run(with_parts, in_specs, whole, values)
    for k, value in zip(places, last, strict=True):
        write(leaves[k], value, "shard_map")
    return out


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
    mapped = shard_map(f, out_specs=specs(out_axes), in_specs=INFER if in_axes is INFER else specs(in_axes),
                       axis_names={axis_name})

    @wraps(f)
    def moved(*args: Any) -> Any:
        mesh = current_mesh()
        if in_axes is INFER and axis_name in mesh.auto_axes:
            raise TypeError(f"in_axes was not specified when axis_name={axis_name!r} was of type Auto: only types of Explicit "
                            "axes say how arguments are divided. Pass in_axes")
        return mapped(*args) if in_axes is INFER else mapped(*_divided_as(args, specs(in_axes), axis_name))
    return moved


def _divided_as(args: tuple[Any, ...], specs: Any, axis: Any) -> Any:
    """Arguments whose types say that they are divided along an axis in another dimension than their specification."""
    leaves, tree = tree_flatten(args)
    given = _specs_of("smap", "in_axes", specs, args)
    return tree_unflatten(tree, [_along(x, s, axis) for x, s in zip(leaves, given, strict=True)])


def _along(x: Any, spec: Any, axis: Any) -> Any:
    there = aval_of(x).placement if spec is not None and is_array_like(x) else None
    if there is None or axis not in there.mesh.explicit_axes or len(spec) > len(there.parts):
        return x
    wanted = entries_of(spec, len(there.parts))
    parts = [(*parts_of(w), *[a for a in parts_of(p) if a != axis]) for w, p in zip(wanted, there.parts, strict=True)]
    return resharded(x, NamedSharding(there.mesh, PartitionSpec(*parts)))


def _check_meshes(mesh: AbstractMesh, args: Any) -> None:
    """ValueError for arguments none of which says on which devices a mesh without devices is."""
    leaves = [x for x in tree_leaves(args) if is_array_like(x)]
    given = [x.sharding for x in leaves if isinstance(x, Array) and not isinstance(x, Tracer)]
    meshes = [s.mesh for s in given if isinstance(s, NamedSharding)]
    if leaves and not meshes and not any(isinstance(x, Tracer) for x in leaves):
        raise ValueError("Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` when passing `AbstractMesh` "
                         f"to the mesh argument. Got {mesh}, which has no devices: pass a Mesh, or set one with jax.set_mesh")
    for other in meshes:
        if other.shape_tuple != mesh.shape_tuple:
            raise ValueError(f"Mesh shape of the input {other.shape_tuple} does not match the mesh shape passed to shard_map "
                             f"{mesh.shape_tuple}")


def _checked_mesh(name: str, mesh: Any) -> Mesh | AbstractMesh:
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for its mesh, got "
                        f"{mesh!r} for {name}")
    if mesh.empty:
        raise ValueError(f"shard_map of {name}: The mesh passed to shard_map cannot be empty. The context mesh cannot be empty "
                         "where none is passed: pass mesh=, or call it in `with jax.set_mesh(mesh):`")
    return mesh


def _check_nested(mesh: Mesh | AbstractMesh) -> None:
    """ValueError for a function of shards within another one that is over a mesh with other axes, or with axes of other
    types."""
    around = current_mesh()
    if not around.manual_axes:
        return
    if mesh.shape_tuple != around.shape_tuple or set(mesh.manual_axes) != set(around.manual_axes):
        raise ValueError(f"The context mesh {around.abstract_mesh} should match the mesh passed to shard_map {mesh}: a "
                         "shard_map, or pmap, inside of another one divides along other axes of the same mesh. Leave out mesh=")


def _check_explicit(mesh: Mesh | AbstractMesh, axes: frozenset[Any]) -> None:
    """TypeError for axes along which types do not say how arguments are divided."""
    others = {n: t for n, t in zip(mesh.axis_names, mesh.axis_types, strict=True) if n in axes and t is AxisType.Auto}
    if others:
        raise TypeError("shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but it was "
                        f"`None` when axis_names={set(others)} are of type {', '.join(map(str, others.values()))}: only "
                        "types of Explicit axes say how arguments are divided")


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _specs_of(name: str, what: str, specs: Any, values: Any) -> list[Any]:
    """A specification, or None, for each leaf of the values. ValueError for specifications of another structure."""
    try:
        found = broadcast_prefix(specs, values, is_leaf=_is_spec)
    except ValueError:
        for error in prefix_errors(specs, values, is_leaf=_is_spec):
            raise error(f"shard_map {what}") from None
        raise
    for spec in found:
        if not _is_spec(spec):
            raise TypeError(f"shard_map of {name}: {what} must be a pytree of `jax.sharding.PartitionSpec` instances, got "
                            f"{spec!r}")
    return found


class _Call:
    """One call of a function of shards over several devices."""

    def __init__(self, f: Callable[..., Any], name: str, mesh: Mesh | AbstractMesh, axes: frozenset[Any], check_vma: bool):
        self.f, self.name, self.mesh, self.axes, self.check_vma = f, name, mesh, axes, check_vma
        self._of = f"shard_map applied to the function '{name}'"

    def __call__(self, in_specs: Any, out_specs: Any, args: Sequence[Any]) -> Any:
        leaves, tree = tree_flatten(tuple(args))
        given = [None] * len(leaves) if in_specs is INFER else _specs_of(self.name, "in_specs", in_specs, tuple(args))
        if in_specs is INFER:
            given = [_spec_of(x, self.axes) for x in leaves]
        passed = [x for x, s in zip(leaves, given, strict=True) if s is not None]
        check_arrays(passed, lambda: [keystr(p) for p, _ in tree_flatten_with_path(tuple(args))[0]], "shard_map")
        specs = [s for s in given if s is not None]
        self._check("args", [p for (p, _), s in zip(tree_flatten_with_path(tuple(args))[0], given, strict=True)
                              if s is not None], passed, specs)
        out_specs_flat: list[Any] = []

        def parts(*arrays: Any) -> Any:
            given_arrays = iter(arrays)
            whole = [x if s is None else next(given_arrays) for x, s in zip(leaves, given, strict=True)]
            out = self.f(*tree_unflatten(tree, whole))
            return self._results(out, out_specs, out_specs_flat)
        parts.__name__ = self.name
        values = None
        if isinstance(self.mesh, Mesh) and are_evaluated(passed):
            values = ShardValues(self.mesh, self.axes, self.check_vma, self._run)
        avals = self._part_types(passed, specs)
        with inside(self.mesh, self.axes, self.check_vma):
            body = trace_body(parts if values is None else values.known_in(parts, passed, specs),
                              _native.pytree_structure(tuple(range(len(avals)))), avals, "shard_map",
                              info=self._described(tree, given, "" if values is None else HINT))
        outs = self._applied(body.jaxpr, body.consts, passed, specs, out_specs_flat)
        return tree_unflatten(body.out_tree, list(map(self._as_given, outs, out_specs_flat)))

    def _part_types(self, operands: Sequence[Any], specs: Sequence[PartitionSpec]) -> list[ShapedArray]:
        return [part_type(aval_of(x), self.mesh, s, self.axes, self.check_vma) for x, s in zip(operands, specs, strict=True)]

    def _run(self, fun: Callable[..., list[Any]], operands: Sequence[Any], ins: Sequence[PartitionSpec],
             outs: Sequence[PartitionSpec]) -> list[Any]:
        """The results of a function of parts."""
        with inside(self.mesh, self.axes, self.check_vma):
            program = trace_to_closed(fun, self._part_types(operands, ins))
        return self._applied(without_consts(program), program.consts, operands, ins, outs)

    def _applied(self, program: ClosedJaxpr, consts: Sequence[Any], operands: Sequence[Any], ins: Sequence[PartitionSpec],
                 outs: Sequence[PartitionSpec]) -> list[Any]:
        """The results of a program of parts, whose first inputs are constants. On one device the parts are the whole, and the
        program is a part of the one around it."""
        if self.mesh.size == 1:
            whole: Callable[..., Any] = functools.partial(eval_closed, program)
            return functools.reduce(with_one_participant, self.axes, whole)(*consts, *operands)
        return shard_map_p.bind(*consts, *operands, jaxpr=program, mesh=self.mesh,
                                in_specs=(*[PartitionSpec()] * len(consts), *ins), out_specs=tuple(outs),
                                manual_axes=self.axes, check_vma=self.check_vma)

    def _described(self, tree: PyTreeDef, given: Sequence[Any], hint: str) -> DebugInfo:
        """The function of shards, and the names of the arguments that are passed to its program."""
        info = debug_info(self.f, tree, "shard_map")
        return info.replace(hint=hint, arg_names=tuple(n for n, s in zip(info.arg_names, given, strict=True) if s is not None))

    def _as_given(self, x: Any, spec: PartitionSpec) -> Any:
        """A result that shows its specification as it was given; one over some axes alone is divided as the compiler chose."""
        if isinstance(x, Tracer) or self.mesh.is_abstract or self.axes != frozenset(self.mesh.axis_names):
            return x
        return dispatch.put_under(x, NamedSharding(self.mesh, spec))

    def _results(self, out: Any, out_specs: Any, flat: list[Any]) -> Any:
        """The results of a shard, checked against their specifications."""
        if callable(out_specs):  # of pmap, which knows them after the function has run
            out_specs = out_specs()
        leaves, tree = tree_flatten(out)
        paths = [p for p, _ in tree_flatten_with_path(out)[0]]
        specs = [PartitionSpec() if s is None else s for s in _specs_of(self.name, "out_specs", out_specs, out)]
        for path, x, spec in zip(paths, leaves, specs, strict=True):
            aval = aval_of(x)
            self._check_axes("out_specs", path, spec)
            if len(spec) > aval.ndim:
                raise ValueError(f"{self._of} was given out_specs which don't fit its output: out_specs{keystr(path)} is "
                                 f"{spec} which has length {len(spec)}, but the output has shape {aval.str_short()}, "
                                 f"which has rank {aval.ndim}")
            self._check_same(path, aval, spec)
        flat[:] = specs
        return tree_unflatten(tree, varied_to(leaves, specs, self.axes) if self.check_vma else leaves)

    def _check_same(self, path: Any, aval: Any, spec: PartitionSpec) -> None:
        """ValueError for a result that may vary over axes that its specification leaves out."""
        self._check_sums(path, aval, spec)
        over, named = aval.vma & self.axes, {*axes_of(spec), *spec.unreduced}
        if not over <= named:
            left, every = sorted(map(str, self.axes - named)), ",".join(sorted(map(str, over)))
            says = f"only varying across mesh axes {{{','.join(sorted(map(str, named)))}}} and not {{{','.join(left)}}}" \
                if named else f"replicated across mesh axes {{{','.join(left)}}}"
            raise ValueError(
                f"{self._of} was given out_specs which require replication which can't be statically inferred given the "
                f"mesh:\n\nThe mesh given has shape {self.mesh.axis_sizes} with corresponding axis names "
                f"{self.mesh.axis_names}.\n"
                f"out_specs{keystr(path)} or its out_specs is {spec} which implies that the corresponding output value is "
                f"{says}, but it was inferred to be possibly varying over {{{every}}}.\n\n"
                "Check if these output values are meant to be the same over those mesh axes. If not, name them in out_specs; "
                "if so, make them so with lax.psum or lax.pmax, or pass check_vma=False to shard_map to leave the check out.")

    def _check_sums(self, path: Any, aval: ShapedArray, spec: PartitionSpec) -> None:
        """ValueError for a result whose sums over some axes are still to be made, or which is reduced, where its specification
        does not say so."""
        named_sums = spec.unreduced, spec.reduced
        for what, own, named in zip(("unreduced", "reduced"), explicit.sums_of(aval), named_sums, strict=True):
            left = (own & self.axes) - named
            if left:
                raise ValueError(f"{self._of} was given out_specs{keystr(path)} {spec}, but the result {aval.str_short()} is "
                                 f"{what} over {{{', '.join(sorted(map(str, left)))}}}: name these by P(..., {what}=...)"
                                 + (", or make the sum, by lax.psum or lax.psum_scatter" if what == "unreduced" else ""))

    def _check_axes(self, what: str, path: Any, spec: PartitionSpec) -> None:
        if spec.unreduced or spec.reduced:
            self._check_explicit(what, spec)
        try:
            NamedSharding(self.mesh, spec)
        except ValueError as error:
            raise ValueError(f"{self._of} was given {what}{keystr(path)} that do not fit its mesh: {error}") from None
        for axis in (*axes_of(spec), *spec.unreduced, *spec.reduced):
            if axis not in self.axes:
                raise ValueError(f"{self._of}: {what} refers to {axis!r}, which is not among "
                                 f"the axis_names {sorted(map(str, self.axes))}: {what} is {spec}")

    def _check_explicit(self, what: str, spec: PartitionSpec) -> None:
        """Raises for sums that are left where no type can say so."""
        rest = set(self.mesh.axis_names) - self.axes
        if rest - set(self.mesh.explicit_axes) - set(self.mesh.manual_axes):
            raise NotImplementedError(f"{self._of}: unreduced and reduced axes can only be passed to {what} when shard_map is "
                                      f"in full manual mode, or its other axes are Explicit. Got {what}={spec} and axis_names="
                                      f"{sorted(map(str, self.axes))} of {self.mesh}")
        if self.mesh.auto_axes:
            raise ValueError(f"{self._of}: unreduced and reduced axes can only be used when the mesh passed to shard_map "
                             f"contains axis names all of type `Explicit`. Got {what}={spec} and {self.mesh}")

    def _check_type(self, aval: ShapedArray, spec: PartitionSpec) -> None:
        """ValueError for an argument whose type says that it is divided along Explicit axes in another way."""
        there = aval.placement
        if not explicit.divides(aval) or len(spec) > aval.ndim:
            return
        typed = self.axes & set(there.mesh.explicit_axes) - explicit.left_out(there.mesh)
        own = lambda parts: [tuple(a for a in parts_of(p) if a in typed) for p in parts]
        given = spec.update(partitions=tuple(entries_of(spec, aval.ndim)))
        sums = [s & self.axes for s in (there.unreduced, there.reduced)]
        if own(there.parts) != own(given) or sums != [spec.unreduced, spec.reduced]:
            raise ValueError(f"in_specs passed to shard_map: {given} does not match the specs of the input: "
                             f"{there.spec} for arg: {aval}. `in_specs` is an optional argument so you can "
                             f"omit "
                             "specifying it and shard_map will infer the in_specs from the arguments. If you want to "
                             "reshard your "
                             "inputs, you can use `jax.reshard` on the arguments and then pass those args to shard_map.")

    def _check(self, what: str, paths: Sequence[Any], values: Sequence[Any], specs: Sequence[PartitionSpec]) -> None:
        """ValueError for arguments of lower rank than their specifications, and for those that these cannot divide."""
        for path, x, spec in zip(paths, values, specs, strict=True):
            aval, at = aval_of(x), f"{what}{keystr(path)} of shape {aval_of(x).str_short()}"
            self._check_axes("in_specs", path, spec)
            self._check_type(aval, spec)
            if len(spec) > aval.ndim:
                hint = "" if aval.ndim else " For a scalar, consider using an in_specs entry of `P()`."
                raise ValueError(f"{self._of} was given argument arrays with lower rank than their in_specs: {at}, which has "
                                 f"rank {aval.ndim}, has the specification {spec} of length {len(spec)}.{hint}")
            for d, part in enumerate(spec):
                count = prod(self.mesh.shape[axis] for axis in parts_of(part))
                if aval.shape[d] % count:
                    raise ValueError(
                        f"{self._of} was given argument arrays with axis sizes that are not evenly divisible by the "
                        f"corresponding mesh axis sizes: {at} corresponds to in_specs entry {spec}, which divides axis {d} (of "
                        f"size {aval.shape[d]}) along mesh axes {parts_of(part)} (of total size {count})")


def _spec_of(x: Any, axes: frozenset[Any]) -> PartitionSpec:
    """How an array is divided along axes of a mesh."""
    sharding = aval_of(x).sharding if isinstance(x, Tracer) else getattr(x, "sharding", None)
    if not isinstance(sharding, NamedSharding):
        return PartitionSpec()
    spec = sharding.spec
    return PartitionSpec(*[tuple(a for a in parts_of(p) if a in axes) for p in spec], unreduced=spec.unreduced & axes,
                         reduced=spec.reduced & axes)
