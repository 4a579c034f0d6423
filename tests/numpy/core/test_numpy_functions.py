"""Every function and ufunc of NumPy on our arrays: a result of numjet's, traced, differentiable; or an error that says why."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

ROOMS = {"np": np, "linalg": np.linalg, "fft": np.fft}
F = np.array([0.25, 0.5, 0.75], np.float32)
M = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 0.25], [0.0, 0.25, 4.0]], np.float32)
N = np.array([2, 0, 1], np.int32)
B = np.array([True, False, True])
# Arguments of functions that do not take one array: those that are arrays of ours are traced; the rest stays.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "arccosh": (F + 1,), "acosh": (F + 1,), "astype": (F, np.int32), "can_cast": (F.dtype, np.int32), "geomspace": (F, F, 3),
    "linspace": (F, F, 3), "logspace": (F, F, 3), "tril": (M,), "triu": (M,), "fft2": (M,), "ifft2": (M,), "irfft2": (M,),
    "rfft2": (M,), "allclose": (F, F), "append": (F, F), "apply_along_axis": (np.sum, 0, M),
    "apply_over_axes": (np.sum, M, [0]),
    "array_equal": (F, F), "array_equiv": (F, F), "array_split": (F, 2), "array2string": (F,), "bincount": (N,),
    "block": ([F, F],), "broadcast_to": (F, (2, 3)), "choose": (N, [F, F, F]), "column_stack": ([F, F],), "compress": (B, F),
    "concat": ([F, F],), "concatenate": ([F, F],), "convolve": (F, F), "copyto": (F, F), "correlate": (F, F), "cross": (F, F),
    "delete": (F, 1), "digitize": (F, F), "dot": (M, M), "dsplit": (M.reshape(1, 3, 3), 3), "dstack": ([F, F],),
    "einsum": ("ij,j->i", M, F), "einsum_path": ("ij,j->i", M, F), "expand_dims": (F, 0), "extract": (B, F),
    "fill_diagonal": (M, 1), "fliplr": (M,), "full_like": (F, 2), "histogram2d": (F, F), "hsplit": (F, 3), "hstack": ([F, F],),
    "in1d": (N, N), "inner": (F, F), "insert": (F, 1, 2.0), "interp": (F, F, F), "intersect1d": (N, N), "isclose": (F, F),
    "isin": (N, N), "ix_": (N, N), "kron": (F, F), "lexsort": ((F, F),), "may_share_memory": (F, F), "meshgrid": (F, F),
    "moveaxis": (M, 0, 1), "outer": (F, F), "pad": (F, 1), "partition": (F, 1), "argpartition": (F, 1), "percentile": (F, 50),
    "nanpercentile": (F, 50), "quantile": (F, 0.5), "nanquantile": (F, 0.5), "piecewise": (F, [F > 0.3], [1, 2]),
    "place": (F, B, F), "polyadd": (F, F), "polydiv": (F, F), "polyfit": (F, F, 1), "polymul": (F, F), "polysub": (F, F),
    "polyval": (F, F), "put": (F, N, F), "put_along_axis": (F, N, F, 0), "putmask": (F, B, F),
    "ravel_multi_index": ((N,), (3,)), "repeat": (F, 2), "reshape": (F, (3, 1)), "resize": (F, (2, 3)), "roll": (F, 1),
    "rollaxis": (M, 1),
    "row_stack": ([F, F],),
    "searchsorted": (F, F), "select": ([B], [F]), "setdiff1d": (N, N), "setxor1d": (N, N), "shares_memory": (F, F),
    "split": (F, 3), "stack": ([F, F],), "swapaxes": (M, 0, 1), "take": (F, N), "take_along_axis": (F, N, 0),
    "tensordot": (M, M, 1), "tile": (F, 2), "tril_indices_from": (M,), "triu_indices_from": (M,), "union1d": (N, N),
    "unravel_index": (N, (3,)), "vander": (F,), "vdot": (F, F), "vsplit": (M, 3), "vstack": ([F, F],), "where": (B, F, F),
    "linalg.cross": (F, F), "linalg.lstsq": (M, F), "linalg.matrix_power": (M, 2), "linalg.multi_dot": ([M, M, F],),
    "linalg.outer": (F, F), "linalg.solve": (M, F), "linalg.tensordot": (M, M), "linalg.vecdot": (F, F),
    "linalg.tensorsolve": (M, F), "linalg.tensorinv": (M[:1, :1], 1), "linalg.matmul": (M, M),
    "fft.fftn": (M,), "packbits": (B,), "unpackbits": (N.astype(np.uint8),), "rot90": (M,),
    "argwhere": (B,), "bitwise_count": (N,), "gcd": (N, N), "lcm": (N, N), "ldexp": (F, N),
    "matvec": (M, F), "vecmat": (F, M), "matmul": (M, M), "divmod": (F, F),
}
MATRICES = ("cholesky det eig eigh eigvals eigvalsh inv pinv qr slogdet svd svdvals cond matrix_rank matrix_norm trace "
            "diagonal matrix_transpose diag_indices_from histogramdd").split()
INTEGERS = "bitwise_and bitwise_or bitwise_xor invert bitwise_not bitwise_invert left_shift right_shift bitwise_left_shift " \
           "bitwise_right_shift".split()
# Functions without a counterpart, by what they are about.
WITHOUT = {
    "dates": "busday_count busday_offset datetime_as_string is_busday isnat datetime_data", "writing": "copyto",
    "streams": "save savez savez_compressed savetxt",
}
NO_COUNTERPART = set(" ".join(WITHOUT.values()).split())
ABOUT_VALUES = """array2string array_repr array_str argwhere bincount compress extract flatnonzero nonzero intersect1d setdiff1d
setxor1d union1d unique unique_all unique_counts unique_inverse unique_values in1d trim_zeros choose ravel_multi_index roots
poly real_if_close min_scalar_type shares_memory may_share_memory array_equal piecewise delete insert matrix_rank
polydiv isfortran
""".split()
OTHER_SHAPES = {"einsum_path": "the path is numjet's", "polydiv": "remainders keep their zeros, whose number depends on values",
                "linalg.lstsq": "residuals are there even where NumPy leaves them out"}
NOT_DIFFERENTIABLE = """matrix_rank eig eigvals argsort lexsort sort_complex roots linalg.eig linalg.eigvals nextafter spacing
linalg.cond""".split()


def functions() -> Iterator[tuple[str, Any]]:
    for room, module in ROOMS.items():
        for name in sorted(module.__all__):
            function = getattr(module, name, None)
            if isinstance(function, np.ufunc) or hasattr(function, "_implementation"):
                yield name if room == "np" else f"{room}.{name}", function


def arguments(name: str, function: Any) -> tuple[Any, ...]:
    short = name.rpartition(".")[2]
    if name in ARGUMENTS or short in ARGUMENTS:
        return ARGUMENTS.get(name, ARGUMENTS.get(short))  # type: ignore[return-value]
    if short in INTEGERS:
        return (N,) * function.nin
    if isinstance(function, np.ufunc):
        return (F,) * function.nin
    return (M,) if short in MATRICES or name.startswith("linalg.") else (F,)


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def split(args: Any) -> tuple[list[np.ndarray], Callable[..., Any]]:
    """The arrays among arguments, and what puts others in their places."""
    leaves, tree = nj.tree.flatten(args, is_leaf=lambda x: x is None)
    places = [i for i, x in enumerate(leaves) if is_array(x)]

    def filled(*values: Any) -> Any:
        new = list(leaves)
        for place, value in zip(places, values, strict=True):
            new[place] = value
        return nj.tree.unflatten(tree, new)
    return [leaves[i] for i in places], filled


CASES = dict(functions())
QUIET = pytest.mark.filterwarnings("ignore")


@QUIET
@pytest.mark.parametrize("name", [n for n in CASES if n not in NO_COUNTERPART])
def test_values_are_numpys_and_arrays_ours(name):
    function = CASES[name]
    arrays, filled = split(arguments(name, function))
    extra = {"inplace": False} if name in ("put", "place", "putmask", "put_along_axis", "fill_diagonal") else {}
    if extra:
        with pytest.raises(TypeError, match="immutable"):
            function(*filled(*map(jnp.asarray, arrays)))
        return
    got = function(*filled(*map(jnp.asarray, arrays)))
    want = function(*filled(*arrays)) if name not in OTHER_SHAPES else got
    for g, w in zip(nj.tree.leaves(got), nj.tree.leaves(want), strict=True):
        assert not is_array(g) and (isinstance(g, nj.Array) or not is_array(w)), (type(g), type(w))
        if is_array(w) or isinstance(w, np.generic):
            assert np.shape(g) == np.shape(w)
    if name.rpartition(".")[2] in ABOUT_VALUES:
        return
    traced = nj.jit(lambda *xs: [x for x in nj.tree.leaves(function(*filled(*xs))) if isinstance(x, nj.Array)])(*arrays)
    for g, w in zip(traced, [x for x in nj.tree.leaves(got) if isinstance(x, nj.Array)], strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-3, atol=1e-4)


@QUIET
@pytest.mark.parametrize("name", [n for n in CASES if n not in NO_COUNTERPART and n not in NOT_DIFFERENTIABLE])
def test_derivatives(name):
    """grad of the sum of the first result by the first float array."""
    function = CASES[name]
    arrays, filled = split(arguments(name, function))
    if not arrays or arrays[0].dtype != np.float32 or name in ("put", "place", "putmask", "put_along_axis", "fill_diagonal"):
        pytest.skip("no floats to differentiate by, or a writer")
    found = [x for x in nj.tree.leaves(function(*filled(*map(jnp.asarray, arrays)))) if isinstance(x, nj.Array)]
    if not found or found[0].dtype not in (np.float32, np.complex64):
        pytest.skip("the result has no derivative")

    def scalar(x: Any) -> Any:
        out = next(v for v in nj.tree.leaves(function(*filled(x, *arrays[1:]))) if isinstance(v, nj.Array))
        return jnp.sum(out).real
    assert np.isfinite(nj.grad(scalar)(jnp.asarray(arrays[0]))).all()


@pytest.mark.parametrize("name", [n for n in CASES if n in WITHOUT["dates"].split()])
def test_what_has_no_counterpart_says_so(name):
    function = CASES[name]
    args = {"busday_count": (F, F), "busday_offset": (F, 1)}.get(name, (F,))
    with pytest.raises(TypeError, match=r"no counterpart|ufunc"):
        nj.jit(lambda *xs: function(*xs))(*args)


@pytest.mark.parametrize(("value", "shape"), [
    (None, ()), ("ab", ()), ({}, ()), (object(), ()), ([None, None], (2,)), ([1, "a"], (2,))])
def test_what_holds_no_numbers_has_a_shape_all_the_same(value: Any, shape: tuple[int, ...]) -> None:
    """As NumPy's; with a warning that it is no array, as JAX's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert (jnp.shape(value), jnp.ndim(value), jnp.size(value)) == (shape, len(shape), 2 if shape else 1)
    if not isinstance(value, str):
        with pytest.warns(DeprecationWarning, match="shape requires ndarray or scalar arguments"):
            jnp.shape(value)


@pytest.mark.parametrize("f", [jnp.packbits, jnp.unpackbits, lambda x: jnp.linalg.matrix_power(x.reshape(4, 4, 4), 0)])
def test_programs_hold_no_constants_as_large_as_their_operands(f):
    x = jnp.zeros(64, np.uint8)
    assert sum(np.size(c) for c in nj.make_jaxpr(f)(x).consts) <= 16
