"""Rules of shardings in types: how results are divided along Explicit axes, given how operands are.

A rule takes the operation, the types of its operands and results, and its parameters, and gives for each result the axes of
each dimension. It raises ShardingTypeError where results may be divided in several ways, or no exchange-free one is known;
then users say which, by `out_sharding` or `reshard`. Elementwise operations have a rule in common; all others are in a table
by name, which a test compares with the operations that there are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.sharding.explicit import NONE, Axes, Parts, Rule, parts, sums_of
from numjet.core.sharding.partition_spec import PartitionSpec, parts_of
from numjet.foundation.errors import ShardingTypeError

Avals = Sequence[ShapedArray]
Params = dict[str, Any]


def rule_of(op: Any) -> Rule:
    """The rule of an operation; one that raises ShardingTypeError where there is none."""
    name = getattr(op, "name", str(op))
    if getattr(op, "elementwise", False):
        return _elementwise
    return RULES.get(name, _none)


def _none(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    raise ShardingTypeError(f"sharding rule for {op.name} is not implemented. Call it in a function under "
                            "`jax.sharding.auto_axes(fun, out_sharding=...)`, in which the compiler divides. Got operands "
                            f"{_texts(avals)}")


def _texts(avals: Avals) -> str:
    return ", ".join(a.str_short() for a in avals)


def _merged(name: str, specs: Sequence[Parts], ndim: int) -> Parts:
    """The axes of each dimension, where operands of equal shapes are divided alike or not at all."""
    found: list[Any] = []
    for entries in zip(*[s for s in specs if len(s) == ndim], strict=True):
        named = {e for e in entries if e is not None}
        if len(named) > 1:
            what = "" if name != "select_n" else _select_text(specs, ndim)
            raise ShardingTypeError(f"{what}{name} got incompatible shardings for broadcasting: "
                                    f"{', '.join(str(s) for s in specs if len(s) == ndim)}.")
        found.append(named.pop() if named else None)
    return tuple(found)


def _select_text(specs: Sequence[Parts], ndim: int) -> str:
    """Which operands of a selection are divided in different ways."""
    cases = {s for s in specs[1:] if any(s)}
    if len(cases) > 1 or len(specs[0]) != ndim:
        return "select cases must have the same shardings: "
    return "select `which` must be scalar or have the same sharding as cases: "


def _elementwise(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Operands are divided alike, or not at all; scalars fit all."""
    ndim = outs[0].ndim
    found = _merged(op.name, [parts(a) for a in avals], ndim) if ndim else ()
    return [found] * len(outs)


def _same(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Each result is divided as the operand at its position."""
    return [parts(a) for a in avals[:len(outs)]]


def _nothing(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Results are divided along no axis."""
    return [(None,) * o.ndim for o in outs]


def _dropped(spec: Parts, axes: Sequence[int]) -> Parts:
    return tuple(p for d, p in enumerate(spec) if d not in axes)


def _reduction(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    axes = params["axes"] if "axes" in params else params["dimensions"]
    first = avals[0]
    merged = _merged(op.name, [parts(a) for a in avals if a.ndim == first.ndim], first.ndim)
    return [_dropped(merged, axes)] * len(outs)


def _undivided(op: Any, aval: ShapedArray, axis: int, message: str) -> None:
    if parts(aval)[axis] is not None:
        raise ShardingTypeError(f"{message} Got input type={aval} and axis={axis}. Move it with reshard before.")


def _along(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Prefix sums and their like: not along a divided axis."""
    _undivided(op, avals[0], params["axis"], "Input should be unsharded over the axis being reduced.")
    return [_merged(op.name, [parts(a) for a in avals], avals[0].ndim)] * len(outs)


def _sort(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    d = params["dimension"]
    for a in avals:
        if parts(a)[d] is not None:
            raise ShardingTypeError(f"Arguments to sort must be unsharded over the sorting dimension. Got arg "
                                    f"sharding={a.sharding} "
                                    f"and sorting dimension={d}")
    return [_merged(op.name, [parts(a) for a in avals], avals[0].ndim)] * len(outs)


def _top_k(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    _undivided(op, avals[0], params["axis" if op.name == "top_k" else "reduction_dimension"],
               "The input should be unsharded over the axis along which to compute the top_k values.")
    return [parts(avals[0])] * len(outs)


# ------------------------------------------------------------------------------------------------ sums still to be made

_SUMS = frozenset("add add_any sub concatenate select_n".split())
_PRODUCTS = frozenset("mul dot_general conv_general_dilated div".split())  # linear in each operand; div in the first


def sums_of_results(op: Any, avals: Avals) -> tuple[Axes, Axes]:
    """(axes whose devices have summands of the results, axes over which cotangents of the results are such).

    Sums of summands are summands, and so is a product of summands with one value that all devices have. NotImplementedError for
    operations that are not linear in summands; ShardingTypeError (inside of shard_map ValueError) where operands do not fit.
    """
    given = [sums_of(a) for a in avals]
    summands, counted = [u for u, _ in given], [r for _, r in given]
    unreduced, reduced = NONE.union(*summands), NONE.union(*counted)
    if not unreduced:
        return NONE, _reduced_of_results(op, avals, counted, reduced)
    arrays = [k for k, a in enumerate(avals) if a.ndim or a.placement is not None]
    if op.name in _SUMS:
        k = next((k for k in arrays if summands[k] != unreduced and not (op.name == "select_n" and k == 0)), None)
        if k is None:
            return unreduced, reduced
        raise _misfit(avals, f"{_different_sums(op.name, summands)}: {_texts(avals)}. `{op.name}` operation does not allow "
                             "this because there will be implicit communication: please reduce the first via `reshard`, or "
                             f"lax.psum, before `{op.name}`")
    if op.name in _PRODUCTS:
        first = next(k for k, u in enumerate(summands) if u)
        if any(u for k, u in enumerate(summands) if k != first):
            raise _misfit(avals, f"lhs and rhs to `{op.name}` cannot be unreduced since {op.name} is bilinear. Got "
                                 f"{_texts(avals)}")
        if any(k != first and counted[k] != unreduced for k in arrays) or (op.name == "div" and first):
            raise _misfit(avals, f"`{op.name}`: the other operand should be reduced along the same axes as one is unreduced "
                                 f"on. Got {_texts(avals)}")
        return unreduced, NONE
    linear = () if op.linear_in is None else op.linear_in
    together = [summands[k] for k in linear if k < len(avals)]
    if any(u != unreduced for u in together) or not all(k in linear or not u for k, u in enumerate(summands)):
        raise NotImplementedError(f"unreduced rule for {op.name} is not implemented: it is not linear in {_texts(avals)}, of "
                                  "which devices have summands. Make the sum before, by reshard, or by lax.psum inside of "
                                  "shard_map")
    return unreduced, reduced


def _reduced_of_results(op: Any, avals: Avals, counted: Sequence[Axes], reduced: Axes) -> Axes:
    """The axes over which cotangents of the results are summands, where no operand is one."""
    if op.name in ("dot_general", "conv_general_dilated"):  # the other operand may be divided along them
        return counted[0] & counted[1]
    for a, own in zip(avals, counted, strict=True):
        used = {axis for part in parts(a) for axis in parts_of(part)} | a.vma
        if used & reduced:
            raise _misfit(avals, "Inputs cannot be sharded/varying on the same axes that another input is reduced on. Reshard "
                                 "the input which is reduced to be sharded on the mesh axes it is reduced on via "
                                 f"`jax.sharding.reshard(inp, jax.P(...))`. Got {op.name} of {_texts(avals)}")
        if a.ndim and own != reduced:
            raise _misfit(avals, "Inputs cannot be replicated on the same axes that another input is reduced on. Got "
                                 f"{op.name} of {_texts(avals)}; reshard one of them")
    return reduced


def _different_sums(name: str, summands: Sequence[Axes]) -> str:
    """How operands that an operation adds differ in the axes along which they are summands."""
    if len(summands) != 2:
        return f"operands to `{name}` are unreduced along different mesh axes"
    left, right = summands
    if left and right:
        return f"lhs and rhs to `{name}` must be unreduced along the same mesh axes. Got lhs={left}, rhs={right}"
    return "lhs is unreduced while rhs is not" if left else "rhs is unreduced while lhs is not"


def _misfit(avals: Avals, message: str) -> Exception:
    """The error for operands whose sums do not fit. Inside of shard_map nothing can be left to the compiler."""
    manual = any(a.placement is not None and a.placement.mesh.manual_axes for a in avals)
    return ValueError(message) if manual else ShardingTypeError(message)


# ------------------------------------------------------------------------------------------------ shapes

def _broadcast(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    found: list[Any] = [None] * len(params["shape"])
    for d, at in enumerate(params["broadcast_dimensions"]):
        found[at] = parts(avals[0])[d] if avals[0].shape[d] == params["shape"][at] else None
    return [tuple(found)]


def _transpose(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    return [tuple(parts(avals[0])[d] for d in params["permutation"])]


def _squeeze(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    return [_dropped(parts(avals[0]), [d % avals[0].ndim for d in params["dimensions"]])]


def _reshape(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Dimensions that stay, are joined or are taken apart keep their axes."""
    aval, new = avals[0], outs[0].shape
    old, spec = aval.shape, parts(aval)
    if params.get("dimensions") is not None:
        order = params["dimensions"]
        old, spec = tuple(old[d] for d in order), tuple(spec[d] for d in order)
    assert aval.placement is not None
    found = _regrouped(old, spec, new, aval.placement.mesh.shape)
    if found is None:
        raise ShardingTypeError("This reshape is not supported. Please specify the sharding of the output via the "
                                "`out_sharding` "
                                f"argument of jax.lax.reshape. Got operand type: {aval}, new sizes: {tuple(new)}")
    return [found]


def _regrouped(old: Sequence[int], spec: Parts, new: Sequence[int], sizes: Any) -> Parts | None:
    """The axes of the dimensions of a reshaped value; None where they are not known."""
    found: list[Any] = [None] * len(new)
    before = [d for d, n in enumerate(old) if n != 1]
    after = [d for d, n in enumerate(new) if n != 1]
    if 0 in old:
        return None
    while before:
        ins, outs = [before.pop(0)], [after.pop(0)]
        count, made = old[ins[0]], new[outs[0]]
        while count != made:
            if count < made:
                ins.append(before.pop(0))
                count *= old[ins[-1]]
            else:
                outs.append(after.pop(0))
                made *= new[outs[-1]]
        if not _regroup(ins, outs, spec, new, sizes, found):
            return None
    return tuple(found)


def _regroup(ins: Sequence[int], outs: Sequence[int], spec: Parts, new: Sequence[int], sizes: Any, found: list[Any]) -> bool:
    """Gives dimensions `outs`, which hold the elements of dimensions `ins`, their axes; False where that cannot be."""
    if len(ins) == 1 == len(outs):
        found[outs[0]] = spec[ins[0]]
        return True
    if len(outs) == 1:  # joined: divided along the first of them
        divided = [spec[d] is not None for d in ins]
        if divided != sorted(divided, reverse=True):
            return False
        axes = tuple(a for d in ins for a in parts_of(spec[d]))
        found[outs[0]] = None if not axes else axes[0] if len(axes) == 1 else axes
        return True
    if any(spec[d] is not None for d in ins[1:]) or (len(ins) > 1 and spec[ins[0]] is not None):
        return False
    if len(ins) > 1 or spec[ins[0]] is None:
        return True
    return _taken_apart(parts_of(spec[ins[0]]), outs, new, sizes, found)


def _taken_apart(axes: tuple[Any, ...], outs: Sequence[int], new: Sequence[int], sizes: Any, found: list[Any]) -> bool:
    """A divided dimension becomes several: along as many axes each as fill it, the last along the rest."""
    left = list(axes)
    for d in outs:
        own: list[Any] = []
        while left and new[d] % prod(sizes[a] for a in [*own, left[0]]) == 0:
            own.append(left.pop(0))
        found[d] = None if not own else own[0] if len(own) == 1 else tuple(own)
        if prod(sizes[a] for a in own) != new[d]:
            break
    return not left


def _concatenate(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    specs = {parts(a) for a in avals}
    if len(specs) > 1:
        raise ShardingTypeError("All operands should have the same sharding. Got shardings "
                                f"{', '.join(str(a.sharding) for a in avals)}")
    return [specs.pop()]


_INDEXED = ". Say how the result is divided, by `x.at[...].get(out_sharding=)`, or reshard the operand before"


def _resized(what: str, aval: ShapedArray, shape: Sequence[int], hint: str = "") -> Parts:
    """The axes of a value whose dimensions changed their sizes."""
    assert aval.placement is not None
    for d, part in enumerate(parts(aval)):
        count = prod(aval.placement.mesh.shape[a] for a in parts_of(part))
        if shape[d] != aval.shape[d] and shape[d] % count:
            raise ShardingTypeError(f"{what} on sharded dims where out dim ({shape[d]}) is not divisible by mesh axes "
                                    f"({count}) "
                                    f"with spec ({part}) is not implemented. Got input type={aval.str_short()} and output "
                                    f"shape={tuple(shape)}{hint}")
    return parts(aval)


def _resizing(what: str, hint: str = "") -> Rule:
    def rule(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
        return [(None,) * o.ndim if avals[0].placement is None else _resized(what, avals[0], o.shape, hint) for o in outs]
    return rule


def _update_slice(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    if parts(avals[0]) != parts(avals[1]):
        raise ShardingTypeError("dynamic_update_slice operand sharding must be equal to update sharding, got operand sharding "
                                f"{avals[0]} and update sharding {avals[1]}.")
    return [parts(avals[0])]


def _tile(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    aval, reps = avals[0], params["reps"]
    lead = outs[0].ndim - aval.ndim
    for d, part in enumerate(parts(aval)):
        if part is not None and reps[len(reps) - aval.ndim + d] != 1:
            raise ShardingTypeError(f"Operand cannot be sharded on dimension {d} when the tiling is non-trivial. Got input "
                                    f"type: "
                                    f"{aval} with reps: {tuple(reps)}")
    return [(*[None] * lead, *parts(aval))]


def _bitcast(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    spec = parts(avals[0])
    if outs[0].ndim >= len(spec):
        return [(*spec, *[None] * (outs[0].ndim - len(spec)))]
    if spec[-1] is not None:
        raise ShardingTypeError(f"bitcast_convert_type: the last dimension is joined to one element, and must not be "
                                f"divided. Got "
                                f"{avals[0]}")
    return [spec[:-1]]


# ------------------------------------------------------------------------------------------------ products

def _dot(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    (contract, batch), specs = params["dimension_numbers"], [parts(a) for a in avals]
    batched = [tuple(s[d] for d in dims) for s, dims in zip(specs, batch, strict=True)]
    joint = []
    for own, other in zip(*batched, strict=True):
        if None not in (own, other) and own != other:
            raise ShardingTypeError("dot_general requires lhs batch dimensions and rhs batch dimensions to have the consistent "
                                    f"sharding, got {batched[0]} and {batched[1]}.")
        joint.append(other if own is None else own)
    left, right = [tuple(s[d] for d in dims) for s, dims in zip(specs, contract, strict=True)]
    for own, other in zip(left, right, strict=True):
        if own is not None and other is not None:
            if own != other:
                raise ShardingTypeError("dot_general requires contracting dimensions to have consistent sharding, got "
                                        f"{left} and {right}.")
            raise ShardingTypeError("Contracting dimensions are sharded and it is ambiguous how the output should be sharded. "
                                    "Please specify the output sharding via the `out_sharding` parameter. Got "
                                    f"lhs_contracting_spec={left} and rhs_contracting_spec={right}")
    rest = [p for s, c, b in zip(specs, contract, batch, strict=True) for d, p in enumerate(s) if d not in c and d not in b]
    return [(*joint, *rest)]


def _convolution(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Images may be divided, among devices and each into areas; features and kernels may not."""
    numbers = params["dimension_numbers"]
    images, features, *areas = numbers.lhs_spec
    spec = parts(avals[0])
    others = [spec[features], *parts(avals[1])]
    if any(p is not None for p in others) or (params["batch_group_count"] > 1 and spec[images] is not None):
        raise ShardingTypeError("Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`: "
                                "only images, along their batch and their spatial dimensions, may be sharded. Got "
                                f"{_texts(avals)}")
    sizes, found = list(avals[0].shape), [None] * outs[0].ndim
    for own, other in zip(areas, numbers.out_spec[2:], strict=True):
        sizes[own] = outs[0].shape[other]
    if avals[0].placement is not None:
        _resized("conv_general_dilated", avals[0], sizes)
    for own, other in zip((images, *areas), (numbers.out_spec[0], *numbers.out_spec[2:]), strict=True):
        found[other] = spec[own]
    return [tuple(found)]


def _window(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Windows must not reach from one device's part to another's."""
    first = avals[0]
    for a in avals[:len(outs)]:
        _resized("reduce_window", a, outs[0].shape) if a.placement is not None else None
    return [_merged(op.name, [parts(a) for a in avals if a.ndim == first.ndim], first.ndim)] * len(outs)


def _of_operand(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """The transpose of a choice in windows: divided as what it was chosen from."""
    return [parts(a) for a in avals if a.shape == outs[0].shape][-1:]


def _matrices(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Factorizations of each matrix of a batch: only batches may be divided. The smallest operand gives how long a batch is."""
    count = min(a.ndim - (1 if op.name in _VECTORS and k in _VECTORS[op.name] else 2) for k, a in enumerate(avals))
    for k, a in enumerate(avals):
        if any(p is not None for p in parts(a)[count:]):
            raise ShardingTypeError(f"Input {k} to {op.name} must be unsharded on non-batch dimensions, but got "
                                    f"{PartitionSpec(*parts(a))}.")
    batch = _merged(op.name, [parts(a)[:count] for a in avals], count) if count else ()
    return [(*batch, *[None] * (o.ndim - count)) for o in outs]


# operands that have one axis less than matrices
_VECTORS = {"householder_product": (1,), "lu_solve": (2,), "lu_pivots_to_permutation": (0,), "tridiagonal_solve": (0, 1, 2),
            "lu_inverse": (1,), "cholesky_update": (1,), "ormqr": (1,)}


def _fft(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    return [_resized("fft", avals[0], outs[0].shape)]


# ------------------------------------------------------------------------------------------------ indexing

_GATHER = ("Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing as out sharding could "
           "not be "
           "resolved unambiguously (or would require collectives on inputs). Got operand={!r}, indices={!r}")
_SCATTER = ("Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the scatter update as out "
            "sharding "
            "could not be resolved unambiguously (or would require collectives on inputs). Got operand={!r}, indices={!r}, "
            "updates={!r}")


def _gather(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Dimensions that slices have in whole stay divided, as do batches that operand and indices have in common."""
    operand, indices = avals
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    batching = tuple(numbers.operand_batching_dims)
    spec, where = parts(operand), parts(indices)[:-1]
    hidden = {*numbers.collapsed_slice_dims, *batching}
    error = ShardingTypeError(_GATHER.format(operand, indices))
    for d, part in enumerate(spec):
        if part is not None and d not in batching and (d in hidden or sizes[d] != operand.shape[d]):
            raise error
    at = dict(zip(numbers.start_indices_batching_dims, batching, strict=True))
    found = []
    for d, part in enumerate(where):
        own = spec[at[d]] if d in at else None
        if part is not None and (d not in at or own not in (None, part)):
            raise error
        found.append(part if own is None else own)
    windows = [p for d, p in enumerate(spec) if d not in hidden]
    rows, columns = iter(found), iter(windows)
    return [tuple(next(columns) if d in numbers.offset_dims else next(rows) for d in range(outs[0].ndim))]


def _scatter(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """The operand stays divided along dimensions that updates have in whole, and along batches in common."""
    operand, indices, updates = avals
    numbers = params["dimension_numbers"]
    batching = tuple(numbers.operand_batching_dims)
    spec = parts(operand)
    error = ShardingTypeError(_SCATTER.format(operand, indices, updates))
    hidden = {*numbers.inserted_window_dims, *batching}
    windows = [d for d in range(operand.ndim) if d not in hidden]
    own = dict(zip(windows, numbers.update_window_dims, strict=True))
    for d, part in enumerate(spec):
        if part is not None and d not in batching and (d not in own or updates.shape[own[d]] != operand.shape[d]):
            raise error
        if d in own and parts(updates)[own[d]] not in (None, part):
            raise error
    at = dict(zip(numbers.scatter_indices_batching_dims, batching, strict=True))
    rows = [p for d, p in enumerate(parts(updates)) if d not in numbers.update_window_dims]
    for d, (index, row) in enumerate(zip(parts(indices)[:-1], rows, strict=True)):
        for part in (index, row):
            if part is not None and (d not in at or spec[at[d]] != part):
                raise error
    return [spec]


# ------------------------------------------------------------------------------------------------ exchanges and calls

def _gathered(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """all_gather and reduce_scatter, tiled or with an axis more or less."""
    spec, ndim = list(parts(avals[0])), outs[0].ndim
    d = params["all_gather_dimension" if "all_gather_dimension" in params else "scatter_dimension"]
    if ndim > len(spec):
        spec.insert(d, None)
    elif ndim < len(spec):
        del spec[d]
    return [tuple(spec)]


def _exchanged(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    if any(p is not None for p in parts(avals[0])) and outs[0].ndim != avals[0].ndim:
        return _none(op, avals, outs, params)
    return [parts(avals[0])]


def _callback(op: Any, avals: Avals, outs: Avals, params: Params) -> Sequence[Parts]:
    """Python functions see whole arrays, and give such."""
    return _nothing(op, avals, outs, params)


def _table() -> dict[str, Callable[..., Sequence[Parts]]]:
    found: dict[str, Any] = {}
    for rule, names in (
            (_reduction, "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor reduce argmax argmin"),
            (_along, "cumsum cumprod cummax cummin cumlogsumexp linear_recurrence"),
            (_sort, "sort"), (_top_k, "top_k approx_top_k"),
            (_broadcast, "broadcast_in_dim"), (_transpose, "transpose"), (_squeeze, "squeeze"), (_reshape, "reshape"),
            (_concatenate, "concatenate"), (_resizing("padding"), "pad"), (_resizing("slicing", _INDEXED), "slice"),
            (_resizing("split"), "split"),
            (_resizing("dynamic_slice", _INDEXED), "dynamic_slice"),
            (_update_slice, "dynamic_update_slice"), (_tile, "tile"), (_bitcast, "bitcast_convert_type"),
            (_dot, "dot_general"), (_convolution, "conv_general_dilated"), (_fft, "fft"),
            (_window, "reduce_window reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add"),
            (_of_operand, "select_and_scatter_add"),
            (_matrices, "cholesky cholesky_update eig eigh eigvalsh geqrf hessenberg householder_product lu lu_inverse "
                        "lu_pivots_to_permutation lu_solve ormqr qr schur svd symmetric_product triangular_solve tridiagonal "
                        "tridiagonal_solve"),
            (_gather, "gather"),
            (_scatter, "scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub"),
            (_same, "rev optimization_barrier sharding_constraint psum pmax pmin psum_invariant pvary ppermute pbroadcast "
                    "expect_size inspect_sharding leading random_mark check_index note_index progress"),
            (_elementwise, "igamma igammac igamma_grad_a log_igamma log_igammac polygamma zeta regularized_incomplete_beta "
                           "betaincc log_betainc log_betaincc random_gamma_grad igamma_grad_a_a igamma_grad_a_x "
                           "random_gamma_grad_a random_gamma_grad_x threefry2x32"),
            (_gathered, "all_gather all_gather_invariant reduce_scatter"), (_exchanged, "all_to_all"),
            (_nothing, "rng_bit_generator rng_uniform after_all axis_index bind_size check check_sizes dce_sink debug_callback "
                       "debug_print dim_as_value iota platform_index"),
            (_callback, "buffer_callback ffi_call io_callback pure_callback")):
        found.update(dict.fromkeys(names.split(), rule))
    return found


RULES: dict[str, Rule] = _table()
_OF_OPERANDS = {  # the operands in whose memory results are, of operations that have others
    "gather": (0,), **dict.fromkeys("scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub".split(), (0, 2)),
    **{name: () for name, rule in RULES.items() if rule in (_nothing, _callback)}}
_RESHAPES = frozenset(("broadcast_in_dim", "reshape"))


def data_operands(op: Any, avals: Avals) -> list[ShapedArray]:
    """The types of the operands that say in which memory results are: of arrays that are no indices, as numbers fit all.
    Results of operations without such are in the device's own memory, as those of sorts by several operands."""
    name = getattr(op, "name", str(op))
    if name == "sort" and len(avals) > 1:
        return []
    chosen = _OF_OPERANDS.get(name)
    return [a for k, a in enumerate(avals) if (a.ndim or name in _RESHAPES) and (chosen is None or k in chosen)]

