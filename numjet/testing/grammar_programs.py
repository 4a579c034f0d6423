"""Productions that hold programs: loops, branches, calls, and transformations of functions."""
from __future__ import annotations

from numjet.testing.grammar import Draft, Generator, Term, production
from numjet.testing.programs import Program, Shape, Value

Type = tuple[Shape, str, bool]
WRAPPERS = (
    "nj.checkpoint({f})", "nj.checkpoint({f}, policy=nj.checkpoint_policies.dots_saveable)", "lax.composite({f}, 'my.call')",
    "nj.named_call({f}, name='part')", "with_vjp({f})", "with_jvp({f})",
    "(lambda *a: lax.platform_dependent(*a, cpu={f}, default={f}))", "(lambda *a: lax.optimization_barrier({f}(*a)))")
COLLECTIVES = ("lax.psum(r, 'i')", "lax.pmean(r, 'i')", "lax.pmax(r, 'i')", "r + lax.axis_index('i')", "lax.all_gather(r, 'i')",
               "lax.psum(1, 'i') * r")


def _type(v: Value) -> Type:
    return v.shape, v.dtype, v.weak


def _carries(g: Generator, d: Draft, most: int = 3) -> list[Value]:
    """Distinct values to carry around a loop; their weak types are dropped."""
    found: list[Value] = []
    for _ in range(g.rng.randint(1, most)):
        v = g.pick(lambda v: v.kind != "k" and v not in found)
        if v is not None:
            found.append(v)
    if found and g.rng.random() < 0.5:  # another of the same type, to swap with
        v = g.pick(lambda v: _type(v) == _type(found[0]) and v not in found)
        found += [v] if v is not None else []
    return found


def _mappable(g: Generator) -> Value | None:
    """A value with a short first axis."""
    return g.pick(lambda v: v.kind != "k" and len(v.shape) > 0 and v.shape[0] <= 40)


def _strong(d: Draft, v: Value) -> str:
    return f"to({d.use(v)}, '{v.dtype}')" if v.weak else d.use(v)


def _types(vs: list[Value]) -> list[Type]:
    return [(v.shape, v.dtype, False) for v in vs]


def _tuple(texts: list[str]) -> str:
    return "(" + "".join(t + ", " for t in texts) + ")"


@production(3.5, deep=True)
def _scan(g: Generator, d: Draft) -> str | None:
    """scan over none, one or more inputs, of lengths 0, 1 and more, reversed, unrolled, and with a budget."""
    carry = _carries(g, d) if g.rng.random() < 0.9 else []
    length = g.rng.choice((0, 1, 1, 2, 3, 5, 8, 9, 17))
    xs: list[Term] = []
    v = _mappable(g)
    if v is not None and g.rng.random() < 0.8:
        xs.append(Term(d.use(v), v.shape, v.dtype))
        length = v.shape[0]
    if g.rng.random() < 0.4:
        xs.append(g.fitted(d, (length, *g.shape(g.rng.choice((0, 1, 2))))[:3], g.dtype()))
    steps = [(t.shape[1:], t.dtype, False) for t in xs]
    ys = [g.rng.choice(steps + _types(carry) + [((), "float32", False)]) for _ in range(g.rng.choice((0, 1, 1, 2)))]
    if not carry and not ys:
        return None
    inner = g.inner([*_types(carry), *steps], [*_types(carry), *ys])
    n = len(carry)
    step = f"lambda c, x: (lambda r: (r[:{n}], r[{n}:]))({d.hold(inner)}(*c, *x))"
    more = ", reverse=True" if g.rng.random() < 0.3 else ""
    more += g.rng.choice(("", "", "", ", unroll=2", ", unroll=True", ", budget=2"))
    scan = "nj.checkpoint_scan" if "budget" in more else "lax.scan"
    d.tuple = True
    start = _tuple([_strong(d, v) for v in carry])
    return f"leaves({scan}({step}, {start}, {_tuple([t.text for t in xs])}, length={length}{more}))"


@production(3, deep=True)
def _fori(g: Generator, d: Draft) -> str | None:
    """fori_loop with known and computed bounds."""
    carry = _carries(g, d)
    if not carry:
        return None
    inner = g.inner([((), "int32", False), *_types(carry)], _types(carry))
    low, high = g.rng.choice(("00", "01", "02", "05", "14", "31", "0n", "n4", "09"))
    v = g.pick()
    bound = f"(jnp.abs(fit({d.use(v)}, (), 'int32')) % 4)" if v is not None and "n" in low + high else "3"
    low, high = low.replace("n", bound), high.replace("n", bound)
    d.tuple = True
    unroll = ", unroll=2" if low.isdigit() and high.isdigit() and g.rng.random() < 0.15 else ""
    return (
        f"lax.fori_loop({low}, {high}, lambda i, c: {d.hold(inner)}(to(i, 'int32'), *c), "
        f"{_tuple([_strong(d, v) for v in carry])}{unroll})"
    )


@production(2.5, deep=True)
def _while(g: Generator, d: Draft) -> str | None:
    """while_loop that ends after a computed count, or by a condition on what it carries."""
    carry = _carries(g, d)
    if not carry:
        return None
    inner = g.inner(_types(carry), _types(carry))
    test = g.inner(_types(carry), [((), "bool", False)], length=g.rng.choice((0, 0, 1)))
    most = g.rng.choice((0, 1, 2, 3, 5))
    v = g.pick()
    limit = f"jnp.abs(fit({d.use(v)}, (), 'int32')) % 4" if v is not None and g.rng.random() < 0.5 else str(most)
    d.tuple = True
    body = d.hold(inner)
    condition = f"(c[0] < {limit})" + (f" & {d.hold(test)}(*c[1:])[0]" if g.rng.random() < 0.4 else "")
    if len(d.programs) < 2:
        d.programs = d.programs[:1]
    return (
        f"lax.while_loop(lambda c: {condition}, lambda c: (c[0] + 1, *{body}(*c[1:])), "
        f"(jnp.int32(0), *{_tuple([_strong(d, v) for v in carry])}))"
    )


@production(3, deep=True)
def _cond(g: Generator, d: Draft) -> str | None:
    """cond and switch, of two to four branches, with an index out of bounds."""
    operands = _carries(g, d)
    if not operands:
        return None
    types = [_type(v) for v in operands]
    outs = [((s, t, False)) for s, t, _ in g.rng.choices(types, k=g.rng.randint(1, 2))]
    count = g.rng.choice((2, 2, 2, 1, 3, 4))
    branches = ", ".join(d.hold(g.inner(types, outs)) for _ in range(count))
    v = g.pick()
    if v is None:
        return None
    values = ", ".join(d.use(o) for o in operands)
    d.tuple = True
    if count == 2 and g.rng.random() < 0.7:
        return f"lax.cond(fit({d.use(v)}, (), '{g.rng.choice(('bool', 'int32'))}'), {branches}, {values})"
    return f"lax.switch(fit({d.use(v)}, (), 'int32'), [{branches}], {values})"


@production(1.5, deep=True)
def _map(g: Generator, d: Draft) -> str | None:
    v = _mappable(g)
    if v is None:
        return None
    inner = g.inner([(v.shape[1:], v.dtype, False)])
    d.tuple = True
    size = f", batch_size={g.rng.choice((1, 2, 3, 5))}" if g.rng.random() < 0.3 else ""
    return f"lax.map({d.hold(inner)}, {_strong(d, v)}{size})"


def _call(g: Generator, d: Draft, wrap: str) -> str | None:
    operands = _carries(g, d)
    if not operands:
        return None
    alone = "with_" in wrap  # functions with custom rules must not close over differentiated values
    inner = g.inner([_type(v) for v in operands], alone=alone)
    d.tuple = True
    return wrap.replace("{f}", d.hold(inner)) + f"({', '.join(d.use(v) for v in operands)})"


@production(2.5, deep=True)
def _jit(g: Generator, d: Draft) -> str | None:
    options = g.rng.choice(("", "", ", inline=True", ", keep_unused=True", ", donate_argnums=0"))
    return _call(g, d, f"nj.jit({{f}}{options})")


@production(1.5, deep=True)
def _wrapped(g: Generator, d: Draft) -> str | None:
    return _call(g, d, g.rng.choice(WRAPPERS))


@production(3.5, deep=True)
def _vmap(g: Generator, d: Draft) -> str | None:
    """vmap over axes at any position, of some operands or of all, perhaps with a named axis and collectives over it."""
    first = g.pick(lambda v: v.kind != "k" and len(v.shape) > 0)
    if first is None:
        return None
    axis = g.rng.randrange(len(first.shape))
    size = first.shape[axis]
    operands, axes = [d.use(first)], [axis]
    element = lambda shape, a: shape[:a] + shape[a + 1 :]
    types: list[Type] = [(element(first.shape, axis), first.dtype, first.weak)]
    for _ in range(g.rng.choice((0, 1, 1, 2))):
        v = g.pick()
        if v is None:
            break
        same = [k for k, n in enumerate(v.shape) if n == size]
        a = g.rng.choice(same) if same and g.rng.random() < 0.7 else None
        operands.append(d.use(v))
        axes.append(a)  # type: ignore[arg-type]
        types.append(_type(v) if a is None else (element(v.shape, a), v.dtype, v.weak))
    inner = g.inner(types)
    out = [g.rng.choice((0, 0, -1, *range(len(v.shape) + 1))) for v in inner.results]
    shown = tuple(a - len(t[0]) - 1 if a is not None and g.rng.random() < 0.2 else a for a, t in zip(axes, types, strict=True))
    d.tuple = True
    call = d.hold(inner)
    if g.rng.random() < 0.2:
        call = f"lambda *a: nj.tree.map(lambda r: {g.rng.choice(COLLECTIVES)}, {call}(*a))"
        return f"nj.vmap({call}, in_axes={shown}, axis_name='i')({', '.join(operands)})"
    return f"nj.vmap({call}, in_axes={shown}, out_axes={tuple(out)})({', '.join(operands)})"


def _differentiable(g: Generator, d: Draft, alone: bool = False) -> tuple[str, list[Value], Program] | None:
    """A program of floating-point operands, and its hole."""
    found: list[Value] = []
    for _ in range(g.rng.randint(1, 2)):
        v = g.pick(lambda v: v.kind == "f")
        found += [v] if v is not None and v not in found else []
    if not found:
        return None
    inner = g.inner(_types(found), alone=alone)
    return d.hold(inner), found, inner


@production(2.5, deep=True)
def _jvp(g: Generator, d: Draft) -> str | None:
    made = _differentiable(g, d)
    if made is None:
        return None
    f, xs, _ = made
    primals = _tuple([_strong(d, v) for v in xs])
    tangents = _tuple([g.fitted(d, v.shape, v.dtype).text for v in xs])
    d.tuple = True
    return g.rng.choice((
        f"leaves(nj.jvp(lambda *a: floats({f}(*a)), {primals}, {tangents}))",
        f"leaves((lambda out, push: (out, push(*{tangents})))(*nj.linearize(lambda *a: floats({f}(*a)), *{primals})))"))


@production(4, deep=True)
def _grad(g: Generator, d: Draft) -> str | None:
    """Reverse mode, in all its forms, and forward over reverse."""
    ruled = g.rng.random() < 0.2
    made = _differentiable(g, d, alone=ruled)
    if made is None:
        return None
    f, xs, _ = made
    where = tuple(range(len(xs)))
    primals = _tuple([_strong(d, v) for v in xs])
    scalar = f"lambda *a: total({f}(*a))"
    forms = [
        f"nj.grad({scalar}, argnums={where})(*{primals})",
        f"leaves(nj.value_and_grad({scalar}, argnums={where})(*{primals}))",
        f"leaves((lambda out, pull: pull(out))(*nj.vjp(lambda *a: floats({f}(*a)), *{primals})))",
        f"leaves(nj.jit(nj.grad(nj.checkpoint({scalar}), argnums={where}))(*{primals}))",
    ]
    d.tuple = True
    if ruled:
        rule, options = g.rng.choice((("with_vjp", ""), ("with_vjp", ", optimize_remat=True"), ("with_jvp", "")))
        inner = f"{rule}(lambda *b: floats({f}(*b)){options})"
        return f"leaves(nj.grad(lambda *a: total({inner}(*a)), argnums={where})(*{primals}))"
    choice = g.rng.random()
    if choice < 0.15:
        tangents = _tuple([g.fitted(d, v.shape, v.dtype).text for v in xs])
        return f"leaves(nj.jvp(nj.grad({scalar}, argnums={where}), {primals}, {tangents}))"
    if choice < 0.25 and xs[0].size <= 9:
        way = g.rng.choice(("jacfwd", "jacrev", "hessian"))
        return f"leaves(nj.{way}({scalar})(*{primals}))"
    return g.rng.choice(forms)


@production(0.7, deep=True)
def _rows_of_gradients(g: Generator, d: Draft) -> str | None:
    """vmap of grad."""
    v = g.pick(lambda v: v.kind == "f" and len(v.shape) > 0)
    if v is None:
        return None
    axis = g.rng.randrange(len(v.shape))
    inner = g.inner([(v.shape[:axis] + v.shape[axis + 1 :], v.dtype, False)])
    return f"nj.vmap(nj.grad(lambda a: total({d.hold(inner)}(a))), in_axes={axis}, out_axes={axis})({_strong(d, v)})"


@production(0.4, deep=True)
def _linear_solve(g: Generator, d: Draft) -> str | None:
    """custom_linear_solve of a system that is easy to solve."""
    v = g.pick(lambda v: v.kind == "f")
    if v is None:
        return None
    return (
        f"lax.custom_linear_solve(lambda x: x * 2, {_strong(d, v)}, lambda mv, b: b / 2, "
        f"transpose_solve=lambda mv, b: b / 2, symmetric={g.rng.random() < 0.5})"
    )


@production(0.4, deep=True)
def _linear_or_batched_by_rule(g: Generator, d: Draft) -> str | None:
    """Functions with a transpose or a batch rule of their own. The second have no reverse mode."""
    v = g.pick(lambda v: v.kind == "f")
    if v is None:
        return None
    return g.rng.choice((
        f"nj.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, t: t * r, 2.0, {_strong(d, v)})",
        f"nj.custom_batching.sequential_vmap(lambda x: jnp.sin(x) * 2)(lax.stop_gradient({_strong(d, v)}))"))


@production(0.3, deep=True)
def _callback(g: Generator, d: Draft) -> str | None:
    """Functions of Python called from programs."""
    t = g.term(d, kinds="f")
    result = f"nj.ShapeDtypeStruct({t.shape}, '{t.dtype}')"
    return g.rng.choice((
        f"nj.pure_callback(lambda x: np.asarray(x) * 2, {result}, {t.text}, vmap_method='sequential')",
        f"nj.io_callback(lambda x: np.asarray(x) + 1, {result}, {t.text})",
        f"(lambda x: (nj.debug.callback(lambda y: None, x), x + 1)[1])({t.text})",
        f"(lambda x: (nj.debug.print('', ordered=False), x + 1)[1])({t.text})"))


@production(0.3)
def _windows(g: Generator, d: Draft) -> str | None:
    """Reductions and windows by a function."""
    t = g.term(d, kinds="fi", least=1)
    f = g.rng.choice(("lambda a, b: a + b * 0 + b", "lambda a, b: jnp.maximum(a, b)", "lambda a, b: a * b"))
    one = f"jnp.array(1, '{t.dtype}')"
    window = tuple(g.rng.choice((1, 2, 3)) for _ in t.shape)
    return g.rng.choice((
        f"lax.reduce({t.text}, {one}, {f}, ({g.rng.randrange(t.rank)},))",
        f"lax.reduce_window({t.text}, {one}, {f}, {window}, {tuple(g.rng.choice((1, 2)) for _ in t.shape)}, 'SAME')"))

