"""Productions of operations: every record of `lax`, at random shapes and on the cases of its samples."""
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from numjet.core.op import Missing, Op, all_ops
from numjet.foundation import dtypes
from numjet.testing import records
from numjet.testing.grammar import DIMENSIONS, FEW, Draft, Generator, Term, production

# ------------------------------------------------------------------------------------------------ records

@cache
def sampled() -> tuple[str, ...]:
    """Records with samples."""
    return tuple(sorted(n for n, op in all_ops().items() if Missing not in (type(op.samples), type(op.cpu))))


@cache
def elementwise() -> tuple[str, ...]:
    ops = all_ops()
    return tuple(n for n in sampled() if ops[n].elementwise and ops[n].samples.make is None and not ops[n].params)


def record_text(g: Generator, d: Draft, name: str) -> str:
    """A record applied: at random shapes where its parameters can be drawn, else on one of its samples' cases."""
    op = all_ops()[name]
    if name in elementwise() and g.rng.random() < 0.8:
        return _elementwise(g, d, op)
    rule = _BY_PARAMS.get(tuple(op.params))
    if rule is not None and g.rng.random() < 0.75:
        made = rule(g, d, op)
        if made is not None:
            return made
    return _case(g, d, op)


@production(6, portable=False)
def _record(g: Generator, d: Draft) -> str | None:
    """Any record; the seed chooses the first one in a program, so that all are covered."""
    names = sampled()
    name = names[g.seed % len(names)] if not g.used["record"] else g.rng.choice(names)
    text = record_text(g, d, name)
    d.tuple = all_ops()[name].multiple
    return text


@production(4)
def _scalar_function(g: Generator, d: Draft) -> str | None:
    """Elementwise records, weighted up; through lax."""
    return _elementwise(g, d, all_ops()[g.rng.choice([n for n in elementwise() if n in _LAX])], "lax.{}")


def _elementwise(g: Generator, d: Draft, op: Op, way: str = "rec") -> str:
    """An elementwise record at any shape, in a dtype of the samples or, rarely, another."""
    s = op.samples
    entry = g.rng.choice(s.dtypes)
    names = entry if isinstance(entry, tuple) else (entry,) * op.nargs
    names = tuple(n if g.x64 or n not in ("float64", "int64", "uint64", "complex128") else _NARROW[n] for n in names)
    first = g.term(d, dtype=names[0])
    near = (s.low, s.high) if g.rng.random() < 0.8 else None
    text = [f"between({first.text}, {s.low}, {s.high})" if near else first.text]
    text += [g.fitted(d, first.shape, n, near).text for n in names[1:]]
    head = f"rec('{op.name}', None, " if way == "rec" else way.format(op.name) + "("
    return head + ", ".join(text) + ")"


_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
_LAX = frozenset(
    """abs acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clz cos cosh digamma div eq erf
erf_inv erfc exp exp2 expm1 floor ge gt igamma igammac is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter
population_count pow rem rsqrt shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh zeta
""".split()
)


def _case(g: Generator, d: Draft, op: Op) -> str:
    """One of the samples' cases, its operands taken from values; perhaps mapped over a new axis of any size."""
    grid = records.grid(op)
    cases = [k for k, (_, *c) in enumerate(grid) if g.x64 or not any(n in str(c) for n in _NARROW)]
    if not cases:
        return "None"
    case = g.rng.choice(cases)
    operands = _operands(g, d, op, case)
    call = f"rec('{op.name}', {case}, "
    if g.rng.random() < 0.65 or not operands:
        return call + ", ".join(t.text for t in operands) + ")"
    return _mapped(g, call, operands)


def _operands(g: Generator, d: Draft, op: Op, case: int) -> list[Term]:
    """Values converted to the case's shapes, or arguments drawn by the samples, perturbed by a value."""
    made = records.made_operands(op, case, np.random.default_rng(0))
    keep = op.samples.make is not None
    terms = []
    for k, x in enumerate(made):
        name = str(x.dtype)
        if dtypes.kind(x.dtype) == "V":
            terms.append(Term(d.use(g.argument(x.shape, name, f"record {op.name} {case} {k}")), x.shape, name))
            continue
        if not keep:
            terms.append(g.fitted(d, x.shape, name, (op.samples.low, op.samples.high)))
            continue
        v = g.argument(x.shape, name, f"record {op.name} {case} {k}")
        text = d.use(v)
        other = g.pick(lambda v: v.kind == "f")
        if x.dtype.kind in "fc" and other is not None and g.rng.random() < 0.5:
            text = f"({text} * to(1 + 0.01 * jnp.tanh(total({d.use(other)})), '{name}'))"
        terms.append(Term(text, x.shape, name))
    return terms


def _mapped(g: Generator, call: str, operands: list[Term]) -> str:
    """The call under vmap, over axes at any position."""
    size = g.rng.choice(FEW) if sum(max(1, math.prod(t.shape)) for t in operands) > 60 else g.rng.choice(DIMENSIONS)
    axes: list[int | None] = [g.rng.randint(0, t.rank) if g.rng.random() < 0.7 else None for t in operands]
    if all(a is None for a in axes):
        axes[0] = 0
    names = [f"x{k}" for k in range(len(operands))]
    text = [t.text if a is None else f"batch({t.text}, {size}, {a})" for t, a in zip(operands, axes, strict=True)]
    shown = tuple(a - t.rank - 1 if a is not None and g.rng.random() < 0.3 else a for t, a in zip(operands, axes, strict=True))
    return f"nj.vmap(lambda {', '.join(names)}: {call}{', '.join(names)}), in_axes={shown})({', '.join(text)})"


# -- parameters at random shapes, by the names of the parameters


def _of(g: Generator, d: Draft, op: Op, **how: Any) -> Term:
    """An operand in one of the samples' dtypes."""
    entry = g.rng.choice(op.samples.dtypes)
    name = entry[0] if isinstance(entry, tuple) else entry
    return g.term(d, dtype=name if g.x64 else _NARROW.get(name, name), **how)


def axes_of(g: Generator, rank: int) -> tuple[int, ...]:
    return tuple(sorted(g.rng.sample(range(rank), g.rng.randint(0, rank))))


def _reducer(g: Generator, d: Draft, op: Op) -> str | None:
    t = _of(g, d, op)
    return f"rec('{op.name}', None, {t.text}, axes={axes_of(g, t.rank)})"


def _cumulative(g: Generator, d: Draft, op: Op) -> str | None:
    t = _of(g, d, op, least=1)
    more = f", {g.fitted(d, t.shape, t.dtype).text}" if op.name == "linear_recurrence" else ""
    return f"rec('{op.name}', None, {t.text}{more}, axis={g.rng.randrange(t.rank)}, reverse={g.rng.random() < 0.5})"


def _argument_reducer(g: Generator, d: Draft, op: Op) -> str | None:
    t = _of(g, d, op, least=1)
    index = g.rng.choice(("int32", "uint8", "uint32"))
    return f"rec('{op.name}', None, {t.text}, axes=({g.rng.randrange(t.rank)},), index_dtype=np.dtype('{index}'))"


def _convert(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    return f"lax.convert_element_type({t.text}, jnp.dtype('{g.dtype()}'))"


def _pad(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    config = tuple((g.rng.randint(-2, 3), g.rng.randint(-2, 3), g.rng.choice((0, 0, 1, 2))) for _ in t.shape)
    return f"lax.pad({t.text}, {g.fitted(d, (), t.dtype).text}, {config})"


def _slice(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, least=1)
    starts = [g.rng.randint(0, n) for n in t.shape]
    limits = [g.rng.randint(s, n) for s, n in zip(starts, t.shape, strict=True)]
    strides = [g.rng.choice((1, 1, 2, 3)) for _ in t.shape]
    return f"lax.slice({t.text}, {starts}, {limits}, {strides})"


def _index(g: Generator, d: Draft, n: int) -> str:
    """A start along an axis, in and out of bounds, known or computed."""
    if g.rng.random() < 0.5:
        return str(g.rng.randint(-2, n + 2))
    v = g.pick(lambda v: v.kind in "iu" and v.shape == ())
    return d.use(v) if v is not None else f"to(fit({d.use(v_)}, (), 'int32') % {n + 2}, 'int32')" if (v_ := g.pick()) else "0"


def _dynamic_slice(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    starts = ", ".join(f"jnp.asarray({_index(g, d, n)}, 'int32')" for n in t.shape)
    return f"lax.dynamic_slice({t.text}, [{starts}], {[g.rng.randint(0, n) for n in t.shape]})"


def _transpose(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    return f"lax.transpose({t.text}, {tuple(g.rng.sample(range(t.rank), t.rank))})"


def _rev(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    return f"lax.rev({t.text}, {axes_of(g, t.rank)})"


def _sort(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, least=1)
    count = g.rng.choice((1, 1, 2, 3))
    more = [g.fitted(d, t.shape, g.dtype("fiu")) for _ in range(count - 1)]
    text = ", ".join([t.text, *(m.text for m in more)])
    return f"rec('sort', None, {text}, dimension={g.rng.randrange(t.rank)}, is_stable=True, num_keys={g.rng.randint(1, count)})"


def _top_k(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, kinds="fiu", least=1)
    axis = g.rng.randrange(t.rank)
    return f"rec('top_k', None, {t.text}, k={g.rng.randint(0, t.shape[axis])}, axis={axis})"


def _broadcast(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    axes = sorted(g.rng.sample(range(t.rank + 2), t.rank))
    shape = [g.rng.choice(FEW) for _ in range(t.rank + 2)]
    for axis, n in zip(axes, t.shape, strict=True):
        shape[axis] = n if n != 1 or g.rng.random() < 0.5 else g.rng.choice(DIMENSIONS)
    return f"lax.broadcast_in_dim({t.text}, {tuple(shape)}, {tuple(axes)})"


def _dot_general(g: Generator, d: Draft, op: Op) -> str | None:
    """Products over any axes, with batch axes, of any order."""
    a = g.term(d, kinds="fciu" if g.rng.random() < 0.2 else "fc")
    axes = g.rng.sample(range(a.rank), a.rank)
    contracted = axes[: g.rng.randint(0, min(2, a.rank))]
    batched = axes[len(contracted) :][: g.rng.choice((0, 0, 1, 2))]
    kept = [g.rng.choice((0, 1, 2, 3, 5, 8, 9, 17)) for _ in range(g.rng.choice((0, 1, 1, 2)))]
    roles = [("c", x) for x in contracted] + [("b", x) for x in batched] + [("k", n) for n in kept]
    g.rng.shuffle(roles)
    shape = tuple(x if r == "k" else a.shape[x] for r, x in roles)
    where = lambda r, x: roles.index((r, x))
    b = g.fitted(d, shape, a.dtype)
    numbers = ((tuple(contracted), tuple(where("c", x) for x in contracted)),
               (tuple(batched), tuple(where("b", x) for x in batched)))
    wider = g.rng.choice((None, None, None, "'float32'")) if a.kind == "f" else None
    return f"lax.dot_general({a.text}, {b.text}, {numbers}, preferred_element_type={wider})"


def _reduce_window(g: Generator, d: Draft, op: Op) -> str | None:
    t = _of(g, d, op, least=1)
    each = lambda *choices: tuple(g.rng.choice(choices) for _ in t.shape)
    pads = tuple((g.rng.randint(0, 2), g.rng.randint(0, 2)) for _ in t.shape)
    return (
        f"rec('{op.name}', None, {t.text}, window_dimensions={each(1, 2, 3)}, window_strides={each(1, 1, 2)}, padding={pads}, "
        f"base_dilation={each(1, 1, 2)}, window_dilation={each(1, 1, 2)})"
    )


def _concatenate(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, least=1)
    axis = g.rng.randrange(t.rank)
    parts = [t]
    for _ in range(g.rng.randint(0, 3)):
        shape = (*t.shape[:axis], g.rng.choice(FEW), *t.shape[axis + 1 :])
        parts.insert(g.rng.randint(0, len(parts)), g.fitted(d, shape, t.dtype))
    return f"lax.concatenate([{', '.join(p.text for p in parts)}], {axis})"


def _split(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, least=1)
    axis = g.rng.randrange(t.rank)
    n = t.shape[axis]
    sizes: list[int] = []
    while n > 0 and len(sizes) < 3:
        sizes.append(g.rng.randint(0, n))
        n -= sizes[-1]
    return f"rec('split', None, {t.text}, sizes={(*sizes, n)}, axis={axis})"


def _reshape(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    n = math.prod(t.shape)
    shape: list[int] = []
    rest = n
    for _ in range(g.rng.randint(0, 3)):
        factors = [k for k in range(1, 70) if rest and rest % k == 0] or [0, 1, 3]
        shape.append(g.rng.choice(factors))
        rest = rest // shape[-1] if shape[-1] else 0
    if n == 0 and 0 not in shape:
        rest = 0
    return f"lax.reshape({t.text}, {(*shape, rest)})"


def _select_n(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d)
    which = g.fitted(d, t.shape if g.rng.random() < 0.7 else (), "bool")
    return f"lax.select_n({which.text}, {t.text}, {g.fitted(d, t.shape, t.dtype).text})"


def _clamp(g: Generator, d: Draft, op: Op) -> str | None:
    t = g.term(d, kinds="fiu")
    bound = lambda: g.fitted(d, t.shape if g.rng.random() < 0.5 else (), t.dtype).text
    return f"lax.clamp({bound()}, {t.text}, {bound()})"


def _conv(g: Generator, d: Draft, op: Op) -> str | None:
    """Convolutions of one or two spatial axes with all their parameters."""
    n = g.rng.choice((1, 1, 2))
    groups, kind = g.rng.choice((1, 1, 1, 2)), g.rng.choice(("float32", "float32", "bfloat16", "float16", "complex64"))
    batch_groups = g.rng.choice((1, 1, 1, 2)) if groups == 1 else 1
    channels, out = groups * g.rng.choice((1, 2, 3)), groups * batch_groups * g.rng.choice((1, 2, 4))
    space, window = [g.rng.choice((1, 2, 5, 9, 16)) for _ in range(n)], [g.rng.choice((1, 2, 3)) for _ in range(n)]
    x = g.fitted(d, (batch_groups * g.rng.choice((1, 2, 3)), channels, *space), kind)
    w = g.fitted(d, (out, channels // groups, *window), kind)
    each = lambda *choices: tuple(g.rng.choice(choices) for _ in range(n))
    pads = tuple((g.rng.randint(-1, 3), g.rng.randint(0, 3)) for _ in range(n))
    return (
        f"lax.conv_general_dilated({x.text}, {w.text}, {each(1, 1, 2)}, {pads}, {each(1, 1, 2)}, {each(1, 1, 2)}, "
        f"feature_group_count={groups}, batch_group_count={batch_groups})"
    )


_BY_PARAMS: dict[tuple[str, ...], Any] = {
    ("axes",): _reducer,
    ("axis", "reverse"): _cumulative,
    ("axes", "index_dtype"): _argument_reducer,
    ("new_dtype", "weak_type"): _convert,
    ("padding_config",): _pad,
    ("start_indices", "limit_indices", "strides"): _slice,
    ("slice_sizes",): _dynamic_slice,
    ("permutation",): _transpose,
    ("dimensions",): _rev,
    ("dimension", "is_stable", "num_keys"): _sort,
    ("k", "axis"): _top_k,
    ("shape", "broadcast_dimensions"): _broadcast,
    ("dimension_numbers", "precision", "preferred_element_type"): _dot_general,
    ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation"): _reduce_window,
    ("dimension",): _concatenate,
    ("sizes", "axis"): _split,
    ("new_sizes", "dimensions"): _reshape,
    ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count",
     "batch_group_count", "precision", "preferred_element_type"): _conv,
}
_PORTABLE = [_convert, _pad, _slice, _dynamic_slice, _transpose, _rev, _broadcast, _dot_general, _concatenate, _reshape,
             _select_n, _clamp, _conv]


@production(7)
def _structural(g: Generator, d: Draft) -> str | None:
    """Operations that move, join and contract, with parameters at random, through lax."""
    op = all_ops()["add"]
    return g.rng.choice(_PORTABLE)(g, d, op)


@production(1)
def _dynamic_update(g: Generator, d: Draft) -> str | None:
    """A block written at an index that may be out of bounds."""
    t = g.term(d)
    block = g.fitted(d, tuple(g.rng.randint(0, n) for n in t.shape), t.dtype)
    starts = ", ".join(f"jnp.asarray({_index(g, d, n)}, 'int32')" for n in t.shape)
    return f"lax.dynamic_update_slice({t.text}, {block.text}, [{starts}])"
