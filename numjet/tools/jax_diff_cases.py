"""Tables of expressions that `jax_tables.py` compares with JAX: classes of edge cases, each for all its members."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from numjet.tools.jax_diff_functions import function_cases

Case = tuple[str, str, bool]

_FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_INTS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
         "u64": "uint64"}
_COMPLEX = {"c64": "complex64", "c128": "complex128"}
DTYPES = {"b": "bool", **_INTS, **_FLOATS, **_COMPLEX}
_WIDE = ("i64", "u64", "f64", "c128")
_BITS = {name: int(name[1:]) for name in _INTS}


def _integers(name: str) -> list[int]:
    bits = _BITS[name]
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return [low, high, 0, 1, 2, 7] + ([-1, -7] if low else [high // 2])


_SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0]
_PARTS = [complex(a, b) for a, b in product((float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -2.0), repeat=2)]


def _operands() -> dict[str, tuple[str, Any]]:
    """NAME are 4 plain numbers of a dtype, NAME_s the special ones, NAME_0 none, NAME_1 a scalar, NAME_2 a 2 x 3 matrix."""
    out: dict[str, tuple[str, Any]] = {"m": ("bool", [True, False, True, False]), "m_0": ("bool", [])}
    for name, dtype in DTYPES.items():
        plain = [True, False, True, True] if name == "b" else [3, 1, 2, 5] if name[0] in "iu" else [0.75, -1.5, 2.0, 0.25]
        special = plain if name == "b" else _integers(name) if name in _INTS else _PARTS if name in _COMPLEX else _SPECIAL
        out |= {name: (dtype, plain), f"{name}_s": (dtype, special), f"{name}_0": (dtype, []), f"{name}_1": (dtype, plain[0]),
                f"{name}_2": (dtype, [[1, 0, 2], [3, 1, 1]]), f"{name}_03": (dtype, [[], [], []]), f"{name}_00": (dtype,
                [[]] * 0)}
        out[f"{name}_30"] = out.pop(f"{name}_03")
    return out


OPERANDS = _operands()
KNOWN: dict[str, str] = {  # pattern of "table kind: expression" -> reason of the known difference
    r"^(integers|taking) should raise": "the dtype of the result holds the number",
    r"should raise": "answers where JAX raises",
    r"^integers error's class": "the dtypes are refused before the number is looked at",
    r"^taking error's class: jnp.choose": "the dtypes are refused first",
    r"sign of zero": "the sign of a zero",
    r"weak type": "weak types of gradients and of what meets bool",
    r"^kinks .*logaddexp|ndtri|hypot|jsp.special.i0|digamma|lgamma|exp1": "the limit, where JAX gives NaN",
    r"^kinks .*(power|x \*\* x)": "the derivative of x ** 0 is 0",
    r"^kinks .*(rel_entr|kl_div|cumlogsumexp|arccosh|nan|inf)": "derivatives at infinity and outside of the domain",
    r"^kinks .*(complex|holomorphic)": "complex derivatives at infinity and 0",
    r"^kinks value: grad\(grad": "rounding errors of a zero",
    r"^kinks value: .*(mean\(v\) / |reduce_window)": "rounding errors of a zero; NaN in windows",
    r"^reductions .*c64_s": "NaN of complex numbers wins, as in NumPy",
    r"^reductions error's class": "both raise",
    r"^updates .*nonsense": "a mode that does not exist is refused",
    r"^specials NaN: .*(c64|\(-?(\d\.\d|nan|inf)\) (\*\*|/) )": "complex numbers with an infinite or NaN part",
    r"^(specials|dtypes) .*modf": "the fraction of infinity is 0, as in NumPy",
    r"^(specials|dtypes) .*spacing": "spacing has the sign of its operand, as in NumPy",
    r"^(specials|dtypes) (NaN|value): .*(expi|poch|spence|gamma|betaln|zeta|xlog|entr|log_ndtr)": "the limit, as in SciPy",
    r"^dtypes NaN: jnp.pow": "0 to a complex power",
    r"^specials value: jnp.arctan2\(c64": "branches of complex numbers whose zeros have other signs",
    r"^(specials|dtypes) error's class": "both raise",
    r"^(specials|dtypes) .*sici": "not there",
    r"^specials should not raise: lax.clamp\(c64": "complex numbers have no order",
}


def _x64(names: str) -> bool:
    return any(wide in names.replace("_", " ").split() for wide in _WIDE)


# ------------------------------------------------------------------------------------------------ Python integers

_BINARY = """
    add subtract multiply floor_divide remainder mod fmod power float_power maximum minimum fmax fmin equal not_equal less
    less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm true_divide arctan2
    hypot copysign logical_and logaddexp heaviside divmod nextafter ldexp isclose
""".split()
_OPERATORS = "+ - * // % & | ^ << >> == != < <= > >= /".split()
_TAKING = (
    "jnp.where(X > 1, X, K)", "jnp.where(X > 1, K, X)", "jnp.clip(X, K, None)", "jnp.clip(X, None, K)", "X.clip(K)",
    "jnp.select([X > 1], [X], K)", "jnp.select([X > 1], [K], X)", "X.at[0].set(K)", "X.at[0].add(K)", "X.at[0].multiply(K)",
    "X.at[0].max(K)", "X.at[0].min(K)", "X.at[:2].set(K)", "X.at[X > 1].set(K)", "X.at[jnp.array([1, 9])].set(K, mode='drop')",
    "X.at[jnp.array([1, 9])].get(mode='fill', fill_value=K)", "jnp.take(X, jnp.array([9]), mode='fill', fill_value=K)",
    "jnp.full((2,), K, X.dtype)", "jnp.full_like(X, K)", "lax.full((2,), K, X.dtype)", "lax.full_like(X, K)",
    "jnp.array(K, X.dtype)", "jnp.asarray(K, X.dtype)", "jnp.array([K, 1], X.dtype)", "X.dtype.type(K)",
    "lax.convert_element_type(K, X.dtype)", "jnp.append(X, K)", "jnp.hstack([X, K])", "jnp.pad(X, 1, constant_values=K)",
    "jnp.sum(X, initial=K)", "jnp.max(X, initial=K)", "jnp.min(X, initial=K, where=X > 1)", "jnp.prod(X, initial=K)",
    "jnp.arange(K, K + 3, dtype=X.dtype)", "jnp.isin(X, K)", "jnp.searchsorted(jnp.sort(X), K)", "jnp.diff(X, prepend=K)",
    "jnp.insert(X, 0, K)", "jnp.put(X, 0, K, inplace=False)", "jnp.fill_diagonal(X.reshape(2, 2), K, inplace=False)",
    "jnp.unique(X, size=6, fill_value=K)", "jnp.piecewise(X, [X > 1], [K, 1])", "jnp.broadcast_arrays(X, K)", "jnp.dot(X, K)",
    "jnp.linspace(K, K, 2, dtype=X.dtype)", "jnp.nan_to_num(X, nan=K)", "jnp.outer(X, K)", "jnp.tensordot(X, K, axes=0)",
    "jnp.stack([X[0], K])", "jnp.compress(X > 1, X, size=5, fill_value=K)", "jnp.choose(X * 0, [K, X])",
    "jnp.asarray(K).astype(X.dtype)", "jnp.kron(X, K)", "jnp.cross(X[:3], X[:3]) + K", "jnp.ediff1d(X, to_end=K)",
    "jnp.polyval(X, K)", "jnp.interp(K, X, X)", "jnp.full((2,), jnp.asarray(K), X.dtype)",
    "jnp.zeros(2, X.dtype).at[0].apply(lambda v: v + K)", "jnp.trapezoid(X, dx=K)", "lax.clamp(X, X, X) + K",
    "jnp.union1d(X, K, size=5)", "jnp.cumsum(X) + K", "jnp.matmul(X, X) * K", "jnp.average(X) * K",
    "lax.fori_loop(0, 2, lambda i, c: c + K, X)", "lax.cond(True, lambda v: v + K, lambda v: v, X)", "abs(X - K)",
    "jnp.vdot(X, K)", "jnp.inner(X, K)", "jnp.square(X) + K", "pow(X, K)", "K - X", "K // X", "K ** X[:0]", "jnp.round(X) + K",
    "nn.one_hot(K, 3, dtype=X.dtype)", "lax.select(X > 1, X, jnp.full_like(X, K))",
    "lax.scan(lambda c, x: (c + K, x), X[0], X)",
)


KS = ("-1", "300", str(2**31), str(2**70))


def _python_integers() -> Iterator[Case]:
    """Python integers beside every narrow dtype: within its range, beyond it, beyond 32 bits, beyond 64."""
    for name, k, x64 in product(("u8", "i8", "u32", "i32", "f16", "f32", "b"), KS, (False, True)):
        if not x64 or (name, k) in (("u8", "300"), ("u8", str(2**31)), ("i32", str(2**31)), ("u32", "-1")):
            yield from (("integers", f"{name} {op} ({k})", x64) for op in _OPERATORS)
            yield from (("integers", f"({k}) {op} {name}", x64) for op in ("+", "-", "<", "//"))
    for name, k in product(("u8", "i8", "u32", "i32", "f32", "b"), KS):
        yield from (("integers", f"jnp.{f}({name}, {k})", False) for f in _BINARY)
    for name, k, x64 in product(("u8", "u32", "i32", "f32"), KS, (False, True)):
        if not x64 or (name, k) == ("u8", str(2**31)):
            yield from (("taking", text.replace("X", name).replace("K", f"({k})"), x64) for text in _TAKING)


# ------------------------------------------------------------------------------------------------ dtypes

_UNARY = """
    abs absolute fabs sign negative positive invert bitwise_count logical_not sqrt cbrt square reciprocal exp exp2 expm1 log
    log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint round fix
    isnan isinf isfinite isposinf isneginf signbit conj real imag angle deg2rad rad2deg degrees radians sinc i0 nan_to_num
    spacing frexp modf iscomplex isreal unwrap ldexp
""".split()
_PAIRS = ("b", "u8", "i32", "u32", "f16", "bf16", "f32", "c64")
_SPECIAL_FUNCTIONS = """
    erf erfc erfinv expit logit gammaln gamma digamma entr i0 i0e i1 i1e ndtr ndtri log_ndtr sici spence expi exp1 log_softmax
    softmax
""".split()
_ACTIVATIONS = """
    relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu log_sigmoid leaky_relu hard_sigmoid hard_silu
    hard_tanh elu celu selu gelu glu squareplus mish identity log1mexp softmax log_softmax standardize logsumexp
""".split()


def _dtypes() -> Iterator[Case]:
    """Every ufunc on every dtype, and on pairs of dtypes."""
    for f, name in product(_UNARY, DTYPES):
        yield "dtypes", f"jnp.{f}({name})", _x64(name)
    for f, name in product(_UNARY, ("b", "i32", "u8")):
        yield "dtypes", f"jnp.{f}({name})", True
    functions = (*_BINARY, "pow", "bitwise_left_shift", "logaddexp2", "logical_xor", "polyval")
    for (k, f), (i, a), (j, b) in product(enumerate(functions), enumerate(_PAIRS), enumerate(_PAIRS)):
        if (i + j + k) % 4 == 0 or i == j == 0 or f in ("floor_divide", "mod"):  # each dtype twice on each side
            yield "dtypes", f"jnp.{f}({a}, {b})", False
    for f, (a, b) in product((*_BINARY, "logaddexp2"), (("b", "b"), ("u8", "b"), ("i32", "u64"), ("i32", "f64"), ("i64",
    "f32"))):
        yield "dtypes", f"jnp.{f}({a}, {b})", True
    for op, a, b in product(_OPERATORS, ("b", "u8", "f32"), ("True", "2", "2.5", "1j", "np.int8(3)", "np.float16(2)", "b",
    "jnp.asarray(2)")):
        yield "dtypes", f"{a} {op} {b}", False
    for f, name in product(_ACTIVATIONS, ("b", "i32", "f16", "f32_1", "f32_0", "f32_2")):
        yield "dtypes", f"nn.{f}({name})", False
    for f, name in product(_SPECIAL_FUNCTIONS, ("b", "i32", "f16", "bf16", "f32_1", "f32_0")):
        yield "dtypes", f"jsp.special.{f}({name})", False


# ------------------------------------------------------------------------------------------------ reductions

_REDUCE = """
    sum prod max min any all mean std var argmax argmin nansum nanprod nanmax nanmin nanmean nanstd nanvar nanargmax nanargmin
    median nanmedian ptp count_nonzero amax amin average
""".split()
_CUMULATIVE = "cumsum cumprod nancumsum nancumprod sort argsort".split()
_LAX_CUMULATIVE = "cumsum cumprod cummax cummin cumlogsumexp".split()
_VARIED = (
    "quantile(X, 0.5", "nanquantile(X, 0.5", "percentile(X, 50", "linalg.norm(X", "ptp(X", "unique(X", "sort(X", "median(X",
)


def _reductions() -> Iterator[Case]:
    """Reductions and cumulative operations on NaN, empty arrays, scalars and bool, with and without axes."""
    for f, name in product(_REDUCE, ("b", "u8", "i32", "f16", "f32_s", "c64", "c64_s", "f32_1", "b_1", "c64_1", "f32_2",
    "b_2")):
        yield "reductions", f"jnp.{f}({name})", False
    keep = [f for f in _REDUCE if f != "average"]
    for f, name in product(keep, ("f32_1", "f32_2", "c64_2", "f32_0", "f32_30", "f32_00", "i32_0", "b_0", "i32_1", "b_1")):
        yield "reductions", f"jnp.{f}({name}, keepdims=True)", False
        if name[-2:] not in ("_1", "_0"):
            yield "reductions", f"jnp.{f}({name}, axis=-1)", False
            yield "reductions", f"jnp.{f}({name}, axis=0, keepdims=True)", False
    for f, name in product(("max", "min", "sum", "prod", "mean", "nanmax", "std"), ("f32_0", "f32_2", "i32_2", "c64_2")):
        yield "reductions", f"jnp.{f}({name}, where={name} > 5{', initial=0' if 'm' in f[-2:] and f != 'sum' else ''})", False
    for f, name in product(_CUMULATIVE, ("b", "u8", "i32_1", "f32_1", "f32_0", "f32_s", "c64_s", "f32_30", "b_2", "f16")):
        yield "reductions", f"jnp.{f}({name})", False
        yield "reductions", f"jnp.{f}({name}, axis=0)", False
    for f, name, extra in product(_LAX_CUMULATIVE, ("b", "u8", "i32", "f32_s", "c64_s", "f32_0", "f32_30", "f16", "bf16",
                                  "f32_2"), ("", ", reverse=True")):
        yield "reductions", f"lax.{f}({name}{extra})", False
    for f, name in product(("reduce_max", "reduce_min", "reduce_sum", "reduce_prod"), ("c64_s", "f32_s", "f32_0", "b",
    "c64_0")):
        yield "reductions", f"lax.{f}({name}, (0,))", False
    for f, name in product(_VARIED, ("f32_1", "f32_0", "f32_s", "f32_2", "i32", "b", "c64", "f32_00", "f32_30")):
        yield "reductions", f"jnp.{f})", False
        yield "reductions", f"jnp.{f})".replace("X", name), False
        if "(X, " in f or "median" in f or "norm" in f:
            yield "reductions", f"jnp.{f}, keepdims=True)".replace("X", name), False
    for f, name in product(("sum", "prod", "mean", "max", "argmax", "cumsum", "cumprod", "count_nonzero", "var", "median"),
                           ("b", "u8", "i8", "i32", "u32", "i64", "u64", "f16", "f32", "c64")):
        yield "reductions", f"jnp.{f}({name})", True
    for k, name in product(("logsumexp(X)", "logsumexp(X, b=2.0)", "logsumexp(X, keepdims=True)",
                           "logsumexp(X, return_sign=True)"), ("f32_s", "f32_0", "f32_1", "i32", "b", "c64", "f16")):
        yield "reductions", f"jsp.special.{k}".replace("X", name), False
    for mode, name in product(("nn.softmax(X)", "nn.log_softmax(X)", "nn.softmax(X, axis=None)", "nn.logmeanexp(X)",
                              "nn.standardize(X)"), ("f32_1", "f32_0", "f32_2", "f32_s", "i32_1", "b", "f16")):
        yield "reductions", mode.replace("X", name), False


# ------------------------------------------------------------------------------------------------ special values

def _specials() -> Iterator[Case]:
    """Every function at NaN, infinities, zeros of both signs and the largest integers, and at all pairs of them."""
    for f, name in product(_UNARY, ("f32_s", "f16_s", "bf16_s", "c64_s", "i32_s", "u8_s", "i8_s")):
        yield "specials", f"jnp.{f}({name})", False
    for f, name in product(_UNARY, ("f64_s", "i64_s", "u64_s")):
        yield "specials", f"jnp.{f}({name})", True
    for f, name in product((*_BINARY, "logaddexp2", "polyval", "minimum"), ("f32_s", "f16_s", "c64_s", "i32_s", "u8_s",
    "i8_s")):
        if f not in ("gcd", "lcm") or name not in ("i32_s", "i8_s"):  # JAX does not return at the least integers
            yield "specials", f"jnp.{f}({name}[:, None], {name}[None])", False
    for f, name in product(_SPECIAL_FUNCTIONS, ("f32_s", "f16_s")):
        yield "specials", f"jsp.special.{f}({name})", False
    for f, name in product(_ACTIVATIONS, ("f32_s", "f16_s", "bf16_s")):
        yield "specials", f"nn.{f}({name})", False
    for f in ("xlogy", "xlog1py", "betaln", "gammainc", "gammaincc", "zeta", "kl_div", "rel_entr", "beta", "poch"):
        yield "specials", f"jsp.special.{f}(f32_s[:, None], f32_s[None])", False
    for f, name in product(("integer_pow(X, 3)", "integer_pow(X, -2)", "integer_pow(X, 0)", "rsqrt(X)", "erf(X)",
                           "is_finite(X)", "population_count(X)", "clz(X)", "sign(X)", "logistic(X)", "cbrt(X)", "square(X)",
                           "exp2(X)", "convert_element_type(X, jnp.int32)", "convert_element_type(X, jnp.uint8)",
                           "convert_element_type(X, jnp.int8)", "convert_element_type(X, jnp.bool_)",
                           "convert_element_type(X, jnp.float16)", "convert_element_type(X, jnp.uint32)",
                           "convert_element_type(X, jnp.complex64)", "reduce_precision(X, 5, 10)", "sort(X)", "clamp(X, X, X)",
                           "top_k(X, 3)", "argmax(X, 0, jnp.int32)", "nextafter(X, X)", "pow(X, X)", "rem(X, X)", "atan2(X, X)",
                           "div(X, X)", "max(X, X[::-1])", "min(X, X[::-1])", "round(X)"), ("f32_s", "f16_s", "bf16_s", "c64_s",
                           "i32_s", "u8_s", "i8_s")):
        yield "specials", f"lax.{f}".replace("X", name), False
    for dtype, name in product(("int8", "uint8", "int16", "int32", "uint32", "bool", "float16", "bfloat16"), ("f32_s",
    "f16_s", "i32_s")):
        yield "specials", f"{name}.astype(jnp.{dtype})", False
        if name[0] == "f":
            yield "specials", f"jnp.full((2,), nan, jnp.{dtype})", False
            yield "specials", f"jnp.full((2,), -inf, jnp.{dtype})", False
            yield "specials", f"jnp.full((2,), 3e9, jnp.{dtype})", False
            yield "specials", f"jnp.full((2,), -1.5, jnp.{dtype})", False
            yield "specials", f"jnp.full_like({name}, nan, jnp.{dtype})", False
            yield "specials", f"jnp.array([nan, 1e10, -7.9]).astype(jnp.{dtype})", False
            yield "specials", f"jnp.asarray(nan, jnp.{dtype})", False
            yield "specials", f"lax.full((2,), nan, jnp.{dtype})", False
            yield "specials", f"jnp.zeros(2, jnp.{dtype}).at[0].set(-2.75)", False
            yield "specials", f"jnp.where(m, jnp.ones(4, jnp.{dtype}), nan)", False
    for y, name in product(("0", "1", "2", "3", "-1", "-2", "0.0", "0.5", "-0.5", "2.0", "1j", "nan", "inf"), ("f32_s",
    "c64_s", "f16_s")):
        yield "specials", f"{name} ** ({y})", False
    for x, name in product(("0.0", "1.0", "-1.0", "2.0", "nan", "inf", "-inf"), ("f32_s", "c64_s", "i32_s")):
        yield from (("specials", f"({x}) {op} {name}", False) for op in ("**", "/", "//", "%", "*", "+"))


# ------------------------------------------------------------------------------------------------ gradients at kinks

_AT = "0. -0. 1. -1. 0.5 -0.5 2. nan inf -inf".split()
_DIFFERENTIABLE = [f for f in _UNARY if f not in ("invert", "bitwise_count", "frexp", "modf", "unwrap", "spacing", "ldexp",
    "isnan",
                   "isinf", "isfinite", "isposinf", "isneginf", "signbit", "iscomplex", "isreal", "logical_not")]
_PAIRS_AT = """
    0.,0. 1.,1. 0.,1. 1.,0. 0.,-1. -1.,0. -1.,2. 2.,-1. 0.,2. 0.,0.5 -2.,0.5 inf,1. 1.,inf inf,inf -inf,1. nan,1. -1.,-1.
    3.,3. -0.,0.
""".split()
_OF_ARRAYS = (
    "jnp.max(v)", "jnp.min(v)", "jnp.prod(v)", "jnp.cumprod(v)[-1]", "jnp.cumprod(v).sum()", "jnp.sort(v)[0]",
    "jnp.sort(v) @ w", "jnp.median(v)", "jnp.linalg.norm(v)", "jnp.linalg.norm(v, 1)", "jnp.linalg.norm(v, jnp.inf)",
    "jnp.linalg.norm(v, 3)", "jnp.linalg.norm(v, 0)", "jnp.linalg.norm(v, -jnp.inf)", "jnp.linalg.norm(v, 0.5)", "jnp.std(v)",
    "jnp.var(v)", "jnp.ptp(v)", "jnp.quantile(v, 0.3)", "nn.softmax(v)[0]", "nn.log_softmax(v)[0]", "jsp.special.logsumexp(v)",
    "jnp.cumsum(v) @ w", "lax.cummax(v) @ w", "lax.cummin(v) @ w", "lax.cumlogsumexp(v) @ w", "jnp.maximum(v, v[::-1]) @ w",
    "jnp.clip(v, 0., 1.) @ w", "jnp.nanmax(v)", "jnp.nansum(v)", "jnp.nanmean(v)", "jnp.abs(v).sum()",
    "jnp.linalg.norm(v[:, None] * v[None])", "jnp.sqrt(jnp.sum(v * v))", "jnp.where(v > 0, jnp.sqrt(v), 0.).sum()",
    "lax.top_k(v, 2)[0] @ w[:2]", "jnp.nanprod(v)", "jnp.var(v, ddof=3)", "jnp.mean(v) / jnp.std(v)", "nn.standardize(v) @ w",
    "jnp.amax(v, initial=0.)", "jnp.unwrap(v) @ w", "jnp.interp(0., jnp.sort(v), w)", "jnp.convolve(v, v).max()",
    "lax.reduce_max(v, (0,))", "lax.reduce_prod(v, (0,))",
    "lax.reduce_window(v, -jnp.inf, lax.max, (2,), (1,), 'VALID') @ w[:2]", "jnp.prod(v, where=v != 0)",
    "jnp.cumprod(v[::-1]) @ w", "v.at[0].max(0.) @ w", "v.at[jnp.array([0, 0])].multiply(v[:2]) @ w", "jax_segment(v) @ w",
    "jnp.dot(v, v) ** 0.5", "jnp.hypot(v, v).sum()", "jnp.trapezoid(jnp.abs(v))", "jnp.nan_to_num(v).sum()",
    "jnp.sinc(v).sum()", "jnp.partition(v, 1)[0]", "jnp.percentile(v, 50)",
)


def _kinks() -> Iterator[Case]:
    """Gradients where functions have kinks, ties, poles and branch points."""
    for f, x in product(_DIFFERENTIABLE, _AT):
        yield "kinks", f"grad(lambda x: jnp.{f}(x).real)({x})", False
    for f, x in product(_ACTIVATIONS, _AT[:-2]):
        if f not in ("glu", "standardize", "softmax", "log_softmax", "logsumexp"):
            yield "kinks", f"grad(nn.{f})({x})", False
    for f, x in product(_SPECIAL_FUNCTIONS, ("0.", "1.", "-1.", "0.5", "2.")):
        if f not in ("sici", "spence", "softmax", "log_softmax"):
            yield "kinks", f"grad(jsp.special.{f})({x})", False
    for f, xy in product(("power", "float_power", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
                         "logaddexp2", "mod", "fmod", "copysign", "true_divide", "multiply", "floor_divide", "heaviside",
                         "ldexp", "remainder"), _PAIRS_AT):
        if f != "ldexp":
            yield "kinks", f"grad(jnp.{f}, (0, 1))({xy})", False
    for f, xy in product(("xlogy", "xlog1py", "rel_entr", "kl_div"), _PAIRS_AT):
        yield "kinks", f"grad(jsp.special.{f}, (0, 1))({xy})", False
    for f, v in product(_OF_ARRAYS, ("[1., 1., 0.]", "[0., 0., 0.]", "[2., 0., 3.]", "[1., 1., 1.]", "[-1., 2., 2.]",
    "[nan, 1., 1.]", "[inf, 1., inf]")):
        if "jax_segment" not in f:
            yield "kinks", f"grad(lambda v, w=jnp.array([1., 10., 100.]): {f})(jnp.array({v}))", False
    for e, x in product(("jnp.sqrt(jnp.abs(x))", "jnp.abs(x) ** 0.5", "jnp.clip(x, 0., 1.)", "jnp.clip(x, -1., 1.)", "x ** 0",
                        "x ** 1", "x ** 2", "x ** 3", "x ** -1", "x ** 0.5", "x ** 1.5", "x ** 2.", "x ** x", "0. ** x",
                        "2. ** x", "(-1.) ** x", "x / x", "x * jnp.inf", "jnp.where(x > 0, x, 0.)",
                        "jnp.where(x > 0, jnp.log(x), 0.)", "jnp.maximum(x, 0.)", "jnp.minimum(x, 1.)", "lax.max(x, 0.)",
                        "lax.clamp(0., x, 1.)", "jnp.sqrt(x * x)", "jnp.sqrt(x) ** 2", "jnp.log(jnp.exp(x))",
                        "jnp.arccos(jnp.cos(x))", "jnp.abs(x) * x", "jnp.sign(x) * x", "lax.rsqrt(x)", "lax.integer_pow(x, 3)",
                        "lax.integer_pow(x, -1)", "lax.cbrt(x)", "jnp.abs(jnp.array(x, jnp.complex64) * 1j)",
                        "jnp.abs(lax.complex(x, x))", "jnp.angle(lax.complex(x, 0. * x))",
                        "jnp.sqrt(lax.complex(x, 0. * x)).real", "lax.erf_inv(x)", "lax.lgamma(x)", "lax.digamma(x)",
                        "jnp.log1p(-x)", "jnp.expm1(x) / x", "jnp.nextafter(x, 2.)", "lax.reduce_precision(x, 5, 10)",
                        "jnp.real(lax.complex(x, x) ** 2)", "jnp.log(lax.complex(x, x)).real", "lax.exp2(x)", "lax.logistic(x)",
                        "lax.tan(x)"), _AT):
        yield "kinks", f"grad(lambda x: {e})({x})", False
        if x in ("0.", "1.", "-1."):
            yield "kinks", f"grad(grad(lambda x: {e}))({x})", False
            yield "kinks", f"jvp(lambda x: {e}, ({x},), (1.,))", False
    for f, z in product(("abs", "sqrt", "log", "exp", "square", "reciprocal", "sin", "tanh", "conj", "angle", "sign", "real",
                        "imag", "log1p", "arcsin"), ("0j", "1j", "1+0j", "-1+0j", "complex(0, inf)")):
        yield "kinks", f"grad(lambda z: jnp.{f}(z).real, holomorphic=False)(jnp.complex64({z}))", False


# ------------------------------------------------------------------------------------------------ empty arrays, scalars

_SHAPED = (
    "flip(X)", "ravel(X)", "squeeze(X)", "transpose(X)", "atleast_2d(X)", "expand_dims(X, 0)", "repeat(X, 2)", "tile(X, 2)",
    "roll(X, 1)", "diff(X)", "ediff1d(X)", "gradient(X)", "cumsum(X)", "trapezoid(X)", "unique(X)", "unique(X, size=3)",
    "unique(X, size=3, return_counts=True)", "unique(X, size=3, return_index=True)", "unique(X, size=3, return_inverse=True)",
    "unique(X, return_counts=True, return_inverse=True)", "unique_values(X)", "unique_counts(X)", "unique_all(X)", "nonzero(X)",
    "nonzero(X, size=2)", "argwhere(X)", "argwhere(X, size=2)", "flatnonzero(X)", "where(X)", "sort(X)", "argsort(X)",
    "lexsort((X, X))", "searchsorted(X, 1.)", "searchsorted(X, X)", "digitize(X, X)", "histogram(X)", "histogram(X, bins=3)",
    "histogram_bin_edges(X, bins=2)", "bincount(X.astype(int))", "bincount(X.astype(int), length=3)", "interp(X, X, X)",
    "interp(1., X, X)", "convolve(X, X)", "correlate(X, X)", "polyfit(X, X, 1)", "polyval(X, X)", "roots(X)", "poly(X)",
    "polyadd(X, X)", "polymul(X, X)", "polyder(X)", "polyint(X)", "dot(X, X)", "vdot(X, X)", "inner(X, X)", "outer(X, X)",
    "matmul(X, X)", "kron(X, X)", "tensordot(X, X, 0)", "einsum('i,i', X, X)", "einsum('...->...', X)", "cov(X)", "corrcoef(X)",
    "median(X)", "quantile(X, 0.5)", "nanmedian(X)", "percentile(X, 50)", "mean(X)", "average(X, weights=X)", "var(X, ddof=1)",
    "ptp(X)", "diag(X)", "diagflat(X)", "diagonal(X)", "trace(X)", "tril(X)", "triu(X)", "tri(0)", "eye(0)", "identity(0)",
    "vander(X)", "meshgrid(X, X)", "ix_(X, X)", "concatenate([X, X])", "stack([X, X])", "vstack([X, X])", "hstack([X, X])",
    "dstack([X, X])", "column_stack([X, X])", "append(X, X)", "insert(X, 0, 1)", "delete(X, 0)",
    "delete(X, jnp.array([], int))", "split(X, 1)", "array_split(X, 3)", "take(X, 0)", "take(X, jnp.array([], int))",
    "take(X, jnp.array([0, 5]), mode='clip')", "take(X, jnp.array([0, 5]), mode='wrap')",
    "take(X, jnp.array([0, 5]), mode='fill')", "take_along_axis(X, jnp.array([0]), 0)",
    "take_along_axis(X, jnp.array([0]), 0, mode='clip')", "take_along_axis(X, jnp.array([], int), 0, mode='clip')",
    "take_along_axis(X, jnp.array([0]), 0, mode='fill')", "put_along_axis(X, jnp.array([0]), 1, 0, inplace=False)",
    "choose(X.astype(int), [X, X], mode='clip')", "compress(X > 0, X)", "extract(X > 0, X)", "select([X > 0], [X])",
    "piecewise(X, [X > 0], [1, 2])", "place(X, X > 0, X, inplace=False)", "put(X, 0, 1, inplace=False)", "isin(X, X)",
    "in1d(X, X)", "intersect1d(X, X)", "union1d(X, X)", "setdiff1d(X, X)", "setxor1d(X, X)", "array_equal(X, X)",
    "array_equiv(X, X)", "allclose(X, X)", "isclose(X, X)", "pad(X, 1)", "pad(X, 1, mode='edge')", "pad(X, 1, mode='reflect')",
    "pad(X, 1, mode='wrap')", "pad(X, 1, mode='mean')", "pad(X, (0, 0), mode='maximum')", "rot90(X)", "flipud(X)", "fliplr(X)",
    "swapaxes(X, 0, 0)", "moveaxis(X, 0, 0)", "broadcast_to(X, (2, 3))", "reshape(X, (0,))", "reshape(X, (-1, 2))",
    "reshape(X, -1)", "resize(X, (3,))", "trim_zeros(X)", "packbits(X.astype(bool))", "unpackbits(X.astype(jnp.uint8))",
    "fft.fft(X)", "fft.rfft(X)", "fft.irfft(X)", "fft.fftshift(X)", "fft.fft2(X)", "linalg.norm(X)", "linalg.norm(X, 1)",
    "linalg.norm(X, 2)", "linalg.norm(X, 'nuc')", "linalg.norm(X, jnp.inf)", "linalg.norm(X, -2)", "linalg.norm(X, axis=0)",
    "linalg.norm(X, keepdims=True)", "linalg.norm(X, 'fro')", "linalg.vector_norm(X)", "linalg.matrix_norm(X)", "linalg.det(X)",
    "linalg.slogdet(X)", "linalg.inv(X)", "linalg.pinv(X)", "linalg.matrix_rank(X)", "linalg.matrix_power(X, 2)",
    "linalg.matrix_power(X, 0)", "linalg.eigh(X)", "linalg.eigvalsh(X)", "linalg.svd(X)", "linalg.svdvals(X)", "linalg.qr(X)",
    "linalg.cholesky(X)", "linalg.solve(X, X)", "linalg.lstsq(X, X)", "linalg.cond(X)", "linalg.multi_dot([X, X])",
    "linalg.trace(X)", "linalg.eigvals(X)", "linalg.tensorinv(X, 1)", "linalg.cross(X, X)", "apply_along_axis(jnp.sum, 0, X)",
    "apply_over_axes(jnp.sum, X, 0)", "vectorize(lambda v: v + 1)(X)", "block([X, X])", "max(X)", "argmax(X)", "nanmax(X)",
    "nanargmin(X)", "sum(X)", "prod(X)", "any(X)", "count_nonzero(X)", "nan_to_num(X)", "round(X)", "clip(X, 0, 1)",
    "copysign(X, X)", "frexp(X)", "modf(X)", "unwrap(X)", "i0(X)", "sinc(X)", "fill_diagonal(X, 0, inplace=False)",
    "tril_indices(0)", "triu_indices_from(X)", "diag_indices_from(X)", "mask_indices(0, jnp.triu)", "linspace(X, X, 3)",
    "linspace(0, 1, 0)", "linspace(0, 1, 1)", "logspace(0, 1, 0)", "geomspace(1, 2, 1)", "arange(0)", "arange(3, 0)",
    "arange(0, 3, -1)", "indices((0, 2))", "bartlett(0)", "hanning(1)", "hamming(0)", "blackman(1)", "kaiser(0, 1.)",
    "partition(X, 0)", "argpartition(X, 0)", "cross(X, X)", "histogram2d(X, X)", "nancumsum(X)", "cumulative_sum(X)",
    "cumulative_prod(X)", "cumulative_sum(X, include_initial=True)", "matvec(X, X)", "vecmat(X, X)", "vecdot(X, X)",
    "permute_dims(X, (0,))", "unstack(X)", "unravel_index(X.astype(int), (2, 2))",
    "ravel_multi_index((X.astype(int),), (9,), mode='clip')", "angle(X)", "nanvar(X)", "nanquantile(X, 0.5)", "std(X)",
    "sort_complex(X)", "iscomplexobj(X)", "result_type(X)", "size(X)", "shape(X)", "ndim(X)", "astype(X, jnp.int32)",
)
_SCIPY = (
    "special.logsumexp(X)", "special.softmax(X)", "special.log_softmax(X)", "special.multigammaln(X + 5, 2)",
    "special.betainc(X, X, X)", "linalg.det(X)", "linalg.inv(X)", "linalg.cholesky(X)", "linalg.lu(X)", "linalg.lu_factor(X)",
    "linalg.qr(X)", "linalg.svd(X)", "linalg.eigh(X)", "linalg.expm(X)", "linalg.solve(X, X)", "linalg.solve_triangular(X, X)",
    "linalg.block_diag(X, X)", "linalg.toeplitz(X)", "linalg.hilbert(1)", "linalg.sqrtm(X)", "linalg.schur(X)",
    "linalg.polar(X)", "linalg.funm(X, lambda v: v)", "linalg.hessenberg(X)", "stats.mode(X)", "stats.rankdata(X)",
    "stats.sem(X)", "stats.norm.logpdf(X)", "stats.norm.cdf(X)", "stats.gaussian_kde(X)", "integrate.trapezoid(X)",
    "special.erf(X)", "stats.invert_permutation(X.astype(int))",
)


def _empties() -> Iterator[Case]:
    """Public functions on arrays without elements, of rank 0 and of size 1."""
    for f, name in product(_SHAPED, ("f32_0", "f32_1", "f32_00", "f32_30", "i32_0", "b", "f32_1[None]", "f32_1[None, None]")):
        if "X" in f or name == "f32_0":
            yield "empties", f"jnp.{f}".replace("X", name), False
    for f, name in product(_SCIPY, ("f32_0", "f32_1", "f32_00", "f32_1[None, None]", "i32")):
        yield "empties", f"jsp.{f}".replace("X", name), False
    for f, name in product(("linalg.matrix_rank(X)", "linalg.eigh(X)", "argmax(X)", "nonzero(X, size=2)",
                           "unique(X, size=3, return_counts=True)", "searchsorted(X[0], 1)", "argsort(X)", "count_nonzero(X)",
                           "bincount(X[0].astype(int), length=3)", "linalg.slogdet(X)", "digitize(X, X[0])", "histogram(X)",
                           "frexp(X)", "bitwise_count(X.astype(int))", "indices((2,))", "tril_indices(2)", "argpartition(X, 0)",
                           "unravel_index(1, (2, 2))", "lexsort(X)", "flatnonzero(X, size=2)",
                           "intersect1d(X, X, return_indices=True)"), ("f32_2", "f32_2 @ f32_2.T")):
        yield "empties", f"jnp.{f}".replace("X", name), True


# ------------------------------------------------------------------------------------------------ updates

_INDICES = (
    "0", "5", "-1", "-9", ":", "1:3", "::-1", "...", "None", "jnp.array([0, 9])", "jnp.array([-1, -9])", "jnp.array([], int)",
    "V > 1", "jnp.array(2)", "jnp.array([[0, 1], [1, 9]])",
)


def _updates() -> Iterator[Case]:
    """The methods of `.at[]` in all modes, at indices in and out of bounds, on arrays with and without elements."""
    modes = ("", ", mode='wrap'", ", mode='clip'", ", mode='fill'", ", mode='drop'", ", mode='promise_in_bounds'",
    ", mode='nonsense'")
    for index, mode, name in product(_INDICES, modes, ("f32", "f32_0", "u8", "f32_2", "f32_30")):
        at = f"{name}.at[{index}]".replace("V", name)
        if "> 1" in at and "promise" in mode or (name in ("f32_2", "f32_30", "u8") and index in ("5", "...", "None", "1:3",
        "::-1")):
            continue
        if "promise" in mode and ("9" in index or index in ("5", "jnp.array(2)") or "0" in name[-2:]):
            continue
        yield "updates", f"{at}.get({mode[2:]})", False
        yield "updates", f"{at}.set(7{mode})", False
        if name in ("f32", "f32_0"):
            yield "updates", f"{at}.add(7{mode})", False
    for method, index, name in product(("add(2)", "subtract(2)", "multiply(2)", "divide(2)", "power(2)", "min(2)", "max(2)",
                                       "apply(jnp.sin)", "apply(lambda v: v > 1)", "apply(lambda v: v.astype(int))",
                                       "apply(lambda v: v * 1j)", "set(2.5)", "add(2.5)", "set(True)", "mul(2)", "set(1j)",
                                       "apply(jnp.exp, mode='clip')", "get(fill_value=3, mode='fill')", "divide(0)", "set(nan)",
                                       "power(0.5)", "multiply(True)", "apply(lambda v: v.astype(jnp.int8))"), ("0", ":",
                                       "jnp.array([0, 0, 9])", "V > 1", "jnp.array([], int)"), ("f32", "i32", "u8", "b",
                                       "f32_0", "f16", "c64")):
        yield "updates", f"{name}.at[{index}].{method}".replace("V > 1", f"{name} != 0"), False


def all_cases() -> Iterator[Case]:
    """Every case, without repetition."""
    seen = set()
    for make in (_python_integers, _dtypes, _reductions, _specials, _kinks, _empties, _updates, function_cases):
        for case in make():
            if case not in seen:
                seen.add(case)
                yield case
