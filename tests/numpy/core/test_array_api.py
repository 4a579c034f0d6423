"""The array API standard, 2024.12: names, parameters, and what it says about arrays and namespaces."""
import inspect

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

# Functions and their parameters after the positional ones; a bar begins those that the standard takes by position only.
FUNCTIONS = """
arange(3, dtype device stop step) asarray([1], dtype device copy) empty((2,), dtype device) empty_like(x, dtype device)
eye(2 2, k dtype device) from_dlpack(x, device copy) full((2,) 1, dtype device) full_like(x 1, dtype device)
linspace(0 1 5, dtype device endpoint) meshgrid(x x, indexing) ones(2, dtype device) ones_like(x, dtype device) tril(m, k)
triu(m, k) zeros(2, dtype device) zeros_like(x, dtype device)
astype(x f, copy device) broadcast_arrays(x x,) broadcast_to(x (2,3),) can_cast(f f,) finfo(f,) iinfo(i,) isdtype(f k,)
result_type(f x,)
abs(x,) acos(x,) acosh(x,) add(x x,) asin(x,) asinh(x,) atan(x,) atan2(x x,) atanh(x,) bitwise_and(n n,)
bitwise_left_shift(n n,) bitwise_invert(n,) bitwise_or(n n,) bitwise_right_shift(n n,) bitwise_xor(n n,) ceil(x,)
clip(x, min max) conj(c,) copysign(x x,) cos(x,) cosh(x,) divide(x x,) equal(x x,) exp(x,) expm1(x,) floor(x,)
floor_divide(x x,) greater(x x,) greater_equal(x x,) hypot(x x,) imag(c,) isfinite(x,) isinf(x,) isnan(x,) less(x x,)
less_equal(x x,) log(x,) log1p(x,) log2(x,) log10(x,) logaddexp(x x,) logical_and(b b,) logical_not(b,) logical_or(b b,)
logical_xor(b b,) maximum(x x,) minimum(x x,) multiply(x x,) negative(x,) nextafter(x x,) not_equal(x x,) positive(x,)
pow(x x,) real(c,) reciprocal(x,) remainder(x x,) round(x,) sign(x,) signbit(x,) sin(x,) sinh(x,) square(x,) sqrt(x,)
subtract(x x,) tan(x,) tanh(x,) trunc(x,)
take(x n, axis) take_along_axis(x n, axis) matmul(m m,) matrix_transpose(m,) tensordot(m m, axes) vecdot(x x, axis)
concat([x,x], axis) expand_dims(x, axis) flip(x, axis) moveaxis(m 0 1,) permute_dims(m (1,0),) repeat(x 2, axis)
reshape(x (3,1), copy) roll(x 1, axis) squeeze(x ():T,) stack([x,x], axis) tile(x (2,),) unstack(x, axis)
argmax(x, axis keepdims) argmin(x, axis keepdims) count_nonzero(x, axis keepdims) nonzero(x,) searchsorted(x x, side sorter)
where(b x x,) unique_all(x,) unique_counts(x,) unique_inverse(x,) unique_values(x,)
argsort(x, axis descending stable) sort(x, axis descending stable)
cumulative_prod(x, axis dtype include_initial) cumulative_sum(x, axis dtype include_initial) max(x, axis keepdims)
mean(x, axis keepdims) min(x, axis keepdims) prod(x, axis dtype keepdims) std(x, axis correction keepdims)
sum(x, axis dtype keepdims) var(x, axis correction keepdims) all(b, axis keepdims) any(b, axis keepdims)
diff(x, axis n prepend append)
linalg.cholesky(p, upper) linalg.cross(x x, axis) linalg.det(m,) linalg.diagonal(m, offset) linalg.eigh(p,)
linalg.eigvalsh(p,) linalg.inv(p,) linalg.matmul(m m,) linalg.matrix_norm(m, keepdims ord) linalg.matrix_power(m 2,)
linalg.matrix_rank(m, rtol) linalg.matrix_transpose(m,) linalg.outer(x x,) linalg.pinv(m, rtol) linalg.qr(m, mode)
linalg.slogdet(m,) linalg.solve(p x,) linalg.svd(m, full_matrices) linalg.svdvals(m,) linalg.tensordot(m m, axes)
linalg.trace(m, offset dtype) linalg.vecdot(x x, axis) linalg.vector_norm(x, axis keepdims ord)
fft.fft(x, n axis norm) fft.ifft(x, n axis norm) fft.fftn(x, s axes norm) fft.ifftn(x, s axes norm) fft.rfft(x, n axis norm)
fft.irfft(x, n axis norm) fft.rfftn(x, s axes norm) fft.irfftn(x, s axes norm) fft.hfft(x, n axis norm)
fft.ihfft(x, n axis norm) fft.fftfreq(3, d dtype device) fft.rfftfreq(3, d dtype device) fft.fftshift(x, axes)
fft.ifftshift(x, axes)
"""
CONSTANTS = {"e": np.e, "inf": np.inf, "nan": np.nan, "newaxis": None, "pi": np.pi}
DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128").split()
OPERATORS = """abs add and bool complex eq float floordiv ge getitem gt iadd index int invert le lshift lt matmul mod mul ne neg
or pos pow rshift sub truediv xor radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rsub rtruediv rxor
array_namespace dlpack dlpack_device""".split()
IN_PLACE = {"iadd"}  # `x += y` binds x to a new array: immutable arrays have no method for it
ATTRIBUTES = "dtype device mT ndim shape size T to_device".split()
VALUES = {
    "x": jnp.array([0.25, 0.5, 0.75]), "m": jnp.arange(9.0).reshape(3, 3), "p": jnp.eye(3) * 2 + 0.5, "n": jnp.array([0, 1, 2]),
    "b": jnp.array([True, False, True]), "c": jnp.array([1j, 2]), "f": jnp.float32, "i": jnp.int32, "k": "real floating",
    "T": jnp.ones((1, 2)),
}


def _parsed() -> list[tuple[str, list[str], list[str]]]:
    entries = " ".join(FUNCTIONS.split()).replace(") ", ")\n").split("\n")
    found = [e.strip() for e in _joined(entries)]
    return [(e[:e.index("(")], e[e.index("(") + 1:e.rindex(",")].split(" "), e[e.rindex(",") + 1:-1].split()) for e in found]


def _joined(parts: list[str]) -> list[str]:
    """Entries whose parentheses are balanced."""
    out, open_part = [], ""
    for part in parts:
        open_part = f"{open_part} {part}".strip()
        if open_part.count("(") == open_part.count(")"):
            out.append(open_part)
            open_part = ""
    return out


def _found(name: str):
    return getattr(jnp.linalg, name[7:]) if name.startswith("linalg.") else \
        getattr(jnp.fft, name[4:]) if name.startswith("fft.") else getattr(jnp, name)


@pytest.mark.parametrize(("name", "given", "named"), _parsed(), ids=[e[0] for e in _parsed()])
def test_functions(name, given, named):
    function = _found(name)
    arguments = [VALUES[v] if v in VALUES else eval(v.replace("():T", "()"), dict(VALUES)) for v in given]
    if name == "squeeze":
        arguments = [VALUES["T"], 0]
    function(*arguments, **({"axis": 0} if name == "expand_dims" else {}))
    parameters = inspect.signature(function).parameters
    assert set(named) <= set(parameters), sorted(set(named) - set(parameters))


def test_constants_and_dtypes():
    for name, value in CONSTANTS.items():
        np.testing.assert_equal(getattr(jnp, name), value)
    assert all(np.dtype(getattr(jnp, name)) == np.dtype(name) for name in DTYPES)


def test_arrays():
    def holds(x):
        assert x.__array_namespace__(api_version="2024.12") is jnp
        missing = [n for n in OPERATORS if n not in IN_PLACE and not hasattr(x, f"__{n}__")]
        assert not missing and all(hasattr(x, n) for n in ATTRIBUTES if n != "mT")
        return x.mT
    holds(VALUES["m"])
    y = VALUES["x"]
    y += 1
    assert y.tolist() == [1.25, 1.5, 1.75] and VALUES["x"].tolist() == [0.25, 0.5, 0.75]
    y.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=None)
    nj.jit(lambda x: x.__array_namespace__().sin(x))(y)
    with pytest.raises(ValueError, match=r"2024\.12"):
        y.__array_namespace__(api_version="2030.01")


def test_the_namespace_says_what_it_has(x64):
    info = jnp.__array_namespace_info__()
    assert jnp.__array_api_version__ == "2024.12"
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    assert info.default_device() is None and set(info.devices()) == {None, *nj.devices()}
    assert {k: v.name for k, v in info.default_dtypes().items()} == {
        "real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
    assert set(info.dtypes()) == set(DTYPES) and all(jnp.zeros(1, d).dtype == d for d in info.dtypes().values())
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert set(info.dtypes(kind=("bool", "complex floating"), device=nj.devices()[0])) == {"bool", "complex64", "complex128"}
    for kind in ("float", 3, ["bool"], ("bool", "float")):
        with pytest.raises(ValueError, match="real floating"):
            info.dtypes(kind=kind)
    with pytest.raises(ValueError, match="device"):
        info.default_dtypes(device="tpu")


def test_without_64_bits_the_namespace_has_none():
    info = jnp.__array_namespace_info__()
    assert not {"int64", "float64"} & set(info.dtypes()) and info.default_dtypes()["indexing"] == "int32"


@pytest.mark.parametrize("name, signed", [("floor_divide", 1), ("remainder", 0)])
def test_quotients_and_remainders_are_numpys_but_for_the_sign_of_zeros(x64, name, signed):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 0.1, -0.1]
    for dtype in (np.float16, np.float32, np.float64):
        pairs = [a.ravel() for a in np.meshgrid(*[np.array(special, dtype)] * 2)]
        with np.errstate(all="ignore"):
            want = getattr(np, name)(*pairs)
        for f in (getattr(jnp, name), nj.jit(getattr(jnp, name))):
            got = np.asarray(f(*pairs))
            np.testing.assert_array_equal(got, want, strict=True)
            zero = got == 0
            assert np.array_equal(np.signbit(got[zero]), np.signbit(pairs[signed][zero]))
