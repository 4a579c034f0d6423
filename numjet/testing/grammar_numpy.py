"""Productions of numjet.numpy: operators and functions, indexing, updates by index, random numbers, linear algebra."""
from __future__ import annotations

from numjet.testing.grammar import DIMENSIONS, FEW, Draft, Generator, Term, alternatives, production
from numjet.testing.grammar_ops import axes_of

UNARY = alternatives("""
-{x}|jnp.abs({x})|jnp.sin({x})|jnp.exp(-jnp.abs({x}))|{x} * {x}|jnp.sqrt(jnp.abs({x}))|jnp.log1p(jnp.abs({x}))|{x} + 1
2.5 * {x}|jnp.floor({x})|jnp.round({x}, 1)|jnp.clip({x}, -1, 1)|jnp.sign({x})|{x}.T|jnp.isnan({x})|jnp.nan_to_num({x})
{x} ** 2|{x} ** 3|1 / (2 + {x})|jnp.square({x})|jnp.conj({x})|jnp.real({x})|jnp.imag({x})|jnp.angle({x})
nj.nn.relu({x})|nj.nn.gelu({x})|nj.nn.silu({x})|nj.nn.softplus({x})|jnp.sinc({x})|jnp.exp2({x})
jnp.log2(jnp.abs({x}) + 1)|jnp.trunc({x})|jnp.rint({x})|jnp.signbit({x})|~({x} > 0)|jnp.ravel({x})|squash({x})
jnp.atleast_2d({x})|{x}[None]|jnp.logical_not({x})|jnp.deg2rad({x})|jnp.i0({x})|jnp.cosh({x})|jnp.arcsinh({x})
jnp.arctan({x})|jnp.expm1({x})|jnp.tanh({x})|nj.nn.sigmoid({x})|jnp.reciprocal({x} + 3)|jnp.spacing({x})|{x} * True
{x} % 3|{x} // 2|nj.scipy.special.gammaln(jnp.abs({x}) + 1)|nj.scipy.special.xlogy({x}, jnp.abs({x}))
nj.scipy.special.ndtr({x})
""")
BINARY = alternatives("""
{x} + {y}|{x} - {y}|{x} * {y}|{x} / (3 + {y})|jnp.maximum({x}, {y})|jnp.minimum({x}, {y})
jnp.where({x} > {y}, {x}, {y})|{x} > {y}|{x} == {y}|{x} <= {y}|{x} != {y}|jnp.arctan2({x}, {y})|jnp.hypot({x}, {y})
jnp.logaddexp({x}, {y})|jnp.where({x} != 0, {y}, 1)|{x} // ({y} + 3)|{x} % ({y} + 5)|jnp.copysign({x}, {y})
jnp.fmax({x}, {y})|jnp.fmin({x}, {y})|jnp.heaviside({x}, {y})|jnp.logical_and({x}, {y})|jnp.logical_xor({x}, {y})
jnp.power(jnp.abs({x}) + 0.5, {y})|jnp.float_power(jnp.abs({x}) + 1, {y})|jnp.ldexp({x}, 2)|jnp.nextafter({x}, {y})
jnp.isclose({x}, {y})|jnp.gcd({x}, {y})|jnp.lcm({x}, {y})|{x} & {y}|{x} | {y}|{x} ^ {y}|{x} << ({y} & 3)
{x} >> ({y} & 3)|jnp.remainder({x}, {y})|jnp.fmod({x}, {y})|jnp.floor_divide({x}, {y})|jnp.true_divide({x}, {y})
jnp.divmod({x}, {y})[0]|jnp.logaddexp2({x}, {y})|jnp.array_equal({x}, {y})|jnp.multiply({x}, {y}) + {x}
({x} + {y}) * ({x} - {y})|jnp.where({x} < 0, -{x}, {y})
""")
REDUCE = """
sum max min mean prod any all var std argmax argmin nansum nanmax nanmean ptp count_nonzero median""".split()
ALONG = alternatives("""jnp.cumsum({x}, axis={a})|jnp.cumprod(squash({x}), axis={a})|lax.cummax({x}, axis={p}, reverse={r})
lax.cummin({x}, axis={p})|lax.cumlogsumexp({x}, axis={p}, reverse={r})|lax.cumsum({x}, axis={p}, reverse={r})
jnp.sort({x}, axis={a})|jnp.argsort({x}, axis={a})|jnp.flip({x}, axis={a})|jnp.roll({x}, {s}, axis={a})
jnp.diff({x}, axis={a})|jnp.repeat({x}, {m}, axis={a})|jnp.moveaxis({x}, {a}, 0)|jnp.gradient({x}, axis={a})
jnp.expand_dims({x}, {a})|nj.nn.softmax({x}, axis={a})|nj.nn.logsumexp({x}, axis={a})|nj.nn.log_softmax({x}, axis={a})
jnp.stack([{x}, {x}], axis={a})|jnp.concatenate([{x}, {x}], axis={a})|jnp.partition({x}, {k}, axis={a})
jnp.percentile({x}, 30, axis={a})|jnp.take({x}, jnp.array([0, -1, 2]), axis={a}, mode="{mode}")
jnp.take_along_axis({x}, jnp.argsort({x}, axis={a}), axis={a})|jnp.quantile({x}, 0.4, axis={a})
jnp.linalg.norm({x}, axis={a})|lax.associative_scan(jnp.add, {x}, axis={p}, reverse={r})
lax.associative_scan(jnp.maximum, {x}, axis={p})|jnp.unwrap({x}, axis={p})|lax.top_k({x}, {k1})[0]
nj.nn.standardize({x}, axis={a})|jnp.nancumsum({x}, axis={a})|jnp.trapezoid({x}, axis={a})|jnp.swapaxes({x}, 0, {a})
lax.index_in_dim({x}, {k}, {p})|lax.approx_max_k({x}, {k1})[0]|jnp.array_split({x}, 3, axis={a})[1]
jnp.delete({x}, {k}, axis={p})|jnp.insert({x}, {k}, 1, axis={p})|jnp.digitize({x}, jnp.array([-1., 0., 1.]))
""")
WHOLE = alternatives("""
jnp.pad({x}, 1, mode="{pad}")|jnp.pad({x}, [(1, 2)] * {n})|jnp.tile({x}, 2)|jnp.rot90({x})|jnp.tril({x}, {s})
jnp.triu({x}, {s})|jnp.trace({x})|jnp.diagonal({x})|jnp.diag({x})|jnp.outer({x}, {x})|jnp.kron({x}, jnp.ones(2))
jnp.vander({x}, 3)|jnp.convolve({x}, jnp.array([1., 2., 3.]))|jnp.bincount(to({x}, 'int32'), length=5)
jnp.histogram({x}, bins=4)[0]|jnp.searchsorted(jnp.sort({x}), {x})|jnp.unique({x}, size=4)
jnp.nonzero({x}, size=5, fill_value=-1)[0]|jnp.interp({x}, jnp.array([-1., 0., 1.]), jnp.array([2., 5., 3.]))
jnp.einsum('ij,ij->i', {x}, {x})|jnp.einsum('ij,kj->ik', {x}, {x})|jnp.einsum('ii->i', {x})|jnp.cov({x})
jnp.fft.fft({x})|jnp.fft.rfft({x})|jnp.fft.irfft({x})|jnp.correlate({x}, jnp.ones(3))
jnp.array([[1., 2.], [3., 4.]]) @ {x}[:2]|jnp.cross({x}, {x}[::-1])|jnp.argwhere({x}, size=3)|jnp.resize({x}, (3, 5))
jnp.broadcast_to({x}, (2, *{x}.shape))|jnp.median({x})|jnp.vdot({x}, {x})|jnp.tensordot({x}, {x}, {x}.ndim)
jnp.polyval(jnp.array([1., -2., 3.]), {x})|jnp.ediff1d({x})|jnp.squeeze({x})
jnp.select([{x} > 1, {x} < -1], [{x}, -{x}], 0)|jnp.piecewise({x}, [{x} < 0], [lambda u: u * 2, lambda u: u - 1])
jnp.apply_along_axis(jnp.sum, 0, {x})|jnp.vectorize(lambda a: a * 2 + 1)({x})|jnp.linalg.matrix_power({x}[:3, :3], 3)
jnp.packbits({x} > 0)|lax.population_count({x})|{x}.view('{d}')|nj.nn.one_hot(to({x}, 'int32'), 4)
jnp.compress(jnp.array([True, False]), {x}, axis=0)|jnp.choose(jnp.abs(to({x}, 'int32')) % 2, [{x}, {x} + 1])
""")


def _fill(text: str, x: str, y: str = "") -> str:
    return text.replace("{x}", x).replace("{y}", y)


@production(6)
def _unary(g: Generator, d: Draft) -> str | None:
    return _fill(g.rng.choice(UNARY), g.term(d).text)


@production(9)
def _binary(g: Generator, d: Draft) -> str | None:
    text = g.rng.choice(BINARY)
    t = g.term(d, kinds="iub" if any(s in text for s in (" & ", " | ", " ^ ", "<<", ">>", "gcd", "lcm")) else "")
    return _fill(text, t.text, g.same(d, t).text)


@production(4)
def _reduce(g: Generator, d: Draft) -> str | None:
    t = g.term(d)
    name = g.rng.choice(REDUCE)
    axes = axes_of(g, t.rank)
    if name.startswith("arg"):
        axis: object = g.rng.choice((None, *range(-t.rank, t.rank)))
    else:
        axis = g.rng.choice((None, axes, axes, -1))
    keep = ", keepdims=True" if g.rng.random() < 0.3 else ""
    if name in ("sum", "max", "prod", "mean") and g.rng.random() < 0.15:
        keep += f", where={g.fitted(d, t.shape, 'bool').text}" + (", initial=1" if name == "max" else "")
    return f"jnp.{name}({t.text}, axis={axis}{keep})"


@production(6)
def _along(g: Generator, d: Draft) -> str | None:
    """Functions along an axis; cumulative ones along middle axes too."""
    t = g.term(d, least=1)
    p = g.rng.randrange(t.rank)
    a = p - t.rank if g.rng.random() < 0.3 else p
    text = g.rng.choice(ALONG)
    holes = {"a": a, "p": p, "r": g.rng.random() < 0.5, "s": g.rng.randint(-3, 9), "m": g.rng.choice((0, 1, 2, 3)),
             "k": g.rng.randrange(max(1, t.shape[p])), "k1": g.rng.randint(0, t.shape[-1]),
             "mode": g.rng.choice(("clip", "wrap", "fill"))}
    for name, value in holes.items():
        text = text.replace("{" + name + "}", str(value))
    return _fill(text, t.text)


@production(4)
def _whole(g: Generator, d: Draft) -> str | None:
    text = g.rng.choice(WHOLE)
    t = g.term(d)
    modes = ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean", "maximum", "constant")
    text = text.replace("{pad}", g.rng.choice(modes)).replace("{n}", str(t.rank)).replace("{s}", str(g.rng.randint(-3, 3)))
    return _fill(text.replace("{d}", g.dtype("fiu")), t.text)


@production(2)
def _product(g: Generator, d: Draft) -> str | None:
    """Matrix products of all ranks."""
    a = g.term(d, kinds="fciu" if g.rng.random() < 0.3 else "f", least=1)
    n = a.shape[-1]
    rank = g.rng.choice((1, 2, 2, 3))
    lead = a.shape[:-2][-1:] if rank == 3 and a.rank >= 3 else ((1,) if rank == 3 else ())
    b = g.fitted(d, (n,) if rank == 1 else (*lead, n, g.rng.choice(DIMENSIONS)), a.dtype)
    forms = ("{x} @ {y}", "jnp.matmul({x}, {y})", "jnp.dot({x}, {y})", "jnp.tensordot({x}, {y}, 1)", "jnp.inner({x}, {y}.T)")
    return _fill(g.rng.choice(forms), a.text, b.text)


# ------------------------------------------------------------------------------------------------ indexing

def index_of(g: Generator, d: Draft, t: Term, known: bool = False) -> str:
    """An index: numbers, slices, None, ..., arrays of indices (out of bounds, too) and masks."""
    parts: list[str] = []
    forms = g.rng.choice(("basic", "basic", "arrays", "mixed", "mask", "ellipsis"))
    if forms == "mask" and t.rank:
        mask = f"np.resize([True, False, True, True], {t.shape})"
        return mask if known or g.rng.random() < 0.3 else g.fitted(d, t.shape, "bool").text
    shape = g.rng.choice(((), (3,), (1,), (0,), (2, 2), (9,), (17,)))
    for n in t.shape[: g.rng.randint(1, max(1, t.rank))]:
        kinds = ("slice", "number", "array" if forms == "mixed" else "slice", "traced")
        kind = "array" if forms == "arrays" else g.rng.choice(kinds)
        if kind == "array":
            v = g.pick(lambda v: v.kind in "iu" and v.size <= 100)
            if v is not None and g.rng.random() < 0.5:
                parts.append(d.use(v) if len(parts) == 0 else f"fit({d.use(v)}, {shape}, 'int32')")
            else:
                parts.append(f"jnp.array({_listed(g, shape, n)}, 'int32')")
        elif kind == "number":
            parts.append(str(g.rng.randint(-n, n - 1)) if n else ":")
        elif kind == "traced":
            v = g.pick()
            parts.append(f"fit({d.use(v)}, (), 'int32')" if v is not None else ":")
        else:
            ends = [g.rng.choice(("", "", str(g.rng.randint(-n - 1, n + 1)))) for _ in range(2)]
            parts.append(":".join([*ends, g.rng.choice(("", "", "2", "-1", "-2", "3"))]))
    if g.rng.random() < 0.15:
        parts.insert(g.rng.randint(0, len(parts)), "None")
    if forms == "ellipsis":
        parts.insert(0, "...")
    return ", ".join(parts) or "..."


def _listed(g: Generator, shape: tuple[int, ...], n: int) -> str:
    if not shape:
        return str(g.rng.randint(-n - 2, n + 2))
    return "[" + ", ".join(_listed(g, shape[1:], n) for _ in range(shape[0])) + "]"


@production(4)
def _indexing(g: Generator, d: Draft) -> str | None:
    t = g.term(d, least=1)
    index = index_of(g, d, t, known=True)
    if g.rng.random() < 0.5:
        return f"{t.text}[{index}]"
    in_bounds = "jnp.array" not in index and "fit(" not in index and "{" not in index
    mode = g.rng.choice(("'clip'", "'fill'", "'promise_in_bounds'" if in_bounds else "'drop'", "None"))
    return f"{t.text}.at[{index}].get(mode={mode})"


@production(6)
def _update(g: Generator, d: Draft) -> str | None:
    """.at in all its methods and modes."""
    t = g.term(d, least=1)
    index = index_of(g, d, t)
    method = g.rng.choice(("set", "set", "add", "add", "subtract", "multiply", "divide", "power", "min", "max", "apply"))
    mode = g.rng.choice(("", "", ", mode='clip'", ", mode='drop'", ", mode='fill'"))
    if "jnp.array" in index and g.rng.random() < 0.1:
        mode += ", indices_are_sorted=False"
    if method == "apply":
        return f"{t.text}.at[{index}].apply(jnp.{g.rng.choice(('abs', 'negative', 'square'))}{mode})"
    values = [str(g.rng.choice((2, 0, 1))), "0.5" if t.kind in "fc" else "3", g.fitted(d, (), t.dtype).text]
    get = f"{t.text}.at[{index}].get(mode='clip')"
    values.append(f"({get} * 2 + 1)" if t.kind != "b" else f"({get} == False)")
    if mode == "" and "{" not in index and "jnp" not in index and "None" not in index and "::-" not in index:
        values.append(f"jnp.flip({t.text}[{index}])")
    return f"{t.text}.at[{index}].{method}({g.rng.choice(values)}{mode})"


@production(1)
def _argument_free(g: Generator, d: Draft) -> str | None:
    """Created values, without operands."""
    shape = g.shape()
    texts = [
        f"jnp.zeros({shape}, '{g.dtype()}')",
        f"jnp.arange({g.dim()})",
        f"jnp.linspace(-1, 2, {g.dim()})",
        f"jnp.eye({g.rng.choice(FEW)}, {g.dim()})",
        f"jnp.full({shape}, {g.rng.choice(('1.5', '2', 'jnp.nan', 'True', '1j'))})",
        f"lax.broadcasted_iota('{g.dtype('fiu')}', {shape or (3,)}, 0)",
        f"jnp.array({g.rng.choice(('1.5', '[1, 2, 3]', '[[0.5], [2.]]', '[]'))})",
        f"jnp.tri({g.rng.choice(FEW)})",
        f"jnp.ones({shape}, '{g.dtype()}')",
    ]
    return g.rng.choice(texts)


# ----------------------------------------------------------------------------------------------- random numbers, linear algebra

DRAWS = alternatives("""
normal({k}, {s})|uniform({k}, {s}, minval=-1)|bernoulli({k}, 0.3, {s})|randint({k}, {s}, 0, 9)|permutation({k}, {n})
categorical({k}, jnp.zeros(4), shape={s})|gumbel({k}, {s})|exponential({k}, {s})|truncated_normal({k}, -1, 1, {s})
choice({k}, {n}, {s})|bits({k}, {s})|laplace({k}, {s})|rademacher({k}, {s})|randint({k}, {s}, -50, 100, 'int8')
uniform({k}, {s}, 'bfloat16')|normal({k}, {s}, 'float16')|cauchy({k}, {s})|beta({k}, 2., 3., {s})|gamma({k}, 1.5, {s})
poisson({k}, 3., {s})|dirichlet({k}, jnp.ones(3), {s})|orthogonal({k}, 3)|normal({k}, {s}, 'complex64')
logistic({k}, {s})|ball({k}, 2, shape={s})|permutation({k}, {x})|shuffled({k})|maxwell({k}, {s})
multivariate_normal({k}, jnp.zeros(2), jnp.eye(2), {s})|t({k}, 4., {s})|rayleigh({k}, 1., {s})
""")


@production(2)
def _random(g: Generator, d: Draft) -> str | None:
    """Random numbers from keys: made of numbers, split, folded in."""
    v = g.pick()
    key = f"nj.random.key({g.rng.randrange(100)})"
    if v is not None and g.rng.random() < 0.5:
        key = f"nj.random.fold_in({key}, fit({d.use(v)}, (), 'int32'))"
    if g.rng.random() < 0.3:
        key = f"nj.random.split({key}, 3)[{g.rng.randrange(3)}]"
    if g.rng.random() < 0.2:
        return f"nj.random.key_data({key})"
    x = g.term(d, least=1)
    text = g.rng.choice(DRAWS).replace("{k}", key).replace("{s}", str(g.shape()))
    text = text.replace("{n}", str(g.rng.choice((1, 2, 5, 9, 33))))
    if "shuffled" in text:
        return f"nj.random.key_data(nj.random.split({key}, {g.rng.choice((1, 2, 9))}))"
    return "nj.random." + text.replace("{x}", x.text)


LINALG = alternatives("""
jnp.linalg.solve({a} + 3 * jnp.eye({n}, dtype={a}.dtype), {b})|jnp.linalg.inv({a} + 3 * jnp.eye({n}, dtype={a}.dtype))
jnp.linalg.det({a})|jnp.linalg.cholesky({a} @ jnp.conj(jnp.swapaxes({a}, -1, -2)) + 2 * jnp.eye({n}, dtype={a}.dtype))
jnp.linalg.eigvalsh({a})|jnp.linalg.svd({a}, compute_uv=False)|jnp.abs(jnp.linalg.qr({a})[1])
jnp.linalg.slogdet({a})[1]
lax.linalg.triangular_solve({a} + 4 * jnp.eye({n}, dtype={a}.dtype), {b}, left_side=True, lower={r})
nj.scipy.linalg.expm({a} * 0.3)|jnp.linalg.lstsq({a} + 3 * jnp.eye({n}, dtype={a}.dtype), {b})[0]
jnp.linalg.pinv({a} + 3 * jnp.eye({n}, dtype={a}.dtype))
nj.scipy.linalg.lu_solve(nj.scipy.linalg.lu_factor({a} + 3 * jnp.eye({n}, dtype={a}.dtype)), {b})
jnp.linalg.matrix_rank({a})
""")


@production(1.5)
def _linear_algebra(g: Generator, d: Draft) -> str | None:
    n = g.rng.choice((0, 1, 2, 3, 4, 5, 8, 9, 16, 17))
    kind = g.rng.choice(("float32", "float32", "complex64"))
    kind = {"float32": "float64", "complex64": "complex128"}[kind] if g.x64 and g.rng.random() < 0.5 else kind
    batch = g.rng.choice(((), (), (2,), (0,), (1, 3)))
    a, b = g.fitted(d, (*batch, n, n), kind, (-1, 1)), g.fitted(d, (*batch, n, g.rng.choice((0, 1, 3))), kind)
    text = g.rng.choice(LINALG).replace("{a}", a.text).replace("{b}", b.text)
    return text.replace("{n}", str(n)).replace("{r}", str(g.rng.random() < 0.5))
