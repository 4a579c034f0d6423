"""Making arrays: from Python and NumPy values, constants, ranges, grids, patterned matrices, files; dtypes and errors."""
import io
import warnings

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import assert_same, check, check_grad

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("value, dtype, weak", [
    (1, "int32", True), (1.0, "float32", True), (1j, "complex64", True), (True, "bool", False), ([1, 2], "int32", False),
    ([1, 2.5, True], "float32", False), ([], "float32", False), ([[]], "float32", False), ([1j, 2], "complex64", False),
    ([np.int8(1), np.int8(2)], "int8", False), ([np.float16(1), 2.0], "float16", False), (np.float64(3), "float32", False),
    (np.arange(3), "int32", False), (np.arange(3)[::-1], "int32", False), (X.T, "float32", False), (range(3), "int32", False),
    (np.array([1, 2], ">i4"), "int32", False), (memoryview(b"abc"), "uint8", False), ([True, False], "bool", False),
    (np.array([1, 2], ml_dtypes.bfloat16), "bfloat16", False), (np.float16(1), "float16", False)])
def test_values(value, dtype, weak):
    for fn in (jnp.array, jnp.asarray):
        out = fn(value)
        assert out.dtype == dtype and out.weak_type is weak
        assert_same(out, np.asarray(value), dtype=False)


def test_lists_of_arrays_and_tracers():
    x = jnp.arange(3.0)
    assert_same(jnp.array([x, x + 1]), np.array([[0, 1, 2], [1, 2, 3]], np.float32))
    assert jnp.array([[x[0], 1], [2, x[1]]]).tolist() == [[0, 1], [2, 1]]
    assert nj.jit(lambda a: jnp.array([a, 2 * a, 3]))(1.5).tolist() == [1.5, 3.0, 3.0]
    assert jnp.asarray([jnp.float16(1), 2]).dtype == "float16"
    check_grad(lambda a: jnp.array([[a[0], 1.0], [a[1] ** 2, a[0] * a[1]]]), [0.5, 1.5])


def test_dtype_argument():
    assert jnp.array([1.7, 2], dtype=int).tolist() == [1, 2]
    assert jnp.array([1.5, 0], dtype=bool).tolist() == [True, False]
    assert jnp.array(5, ndmin=3).shape == (1, 1, 1)
    assert jnp.asarray(1 << 31, dtype="uint32").tolist() == 1 << 31
    assert jnp.array(X, dtype="bfloat16").dtype == "bfloat16"
    with pytest.warns(UserWarning, match="float64.*truncated"):
        assert jnp.zeros(2, "float64").dtype == "float32"
    with nj.enable_x64(True):
        assert jnp.zeros(2).dtype == "float64" and jnp.array([1, 2]).dtype == "int64"


@pytest.mark.parametrize("call, error, text", [
    (lambda: jnp.array(None), ValueError, "None is not a valid value"),
    (lambda: jnp.array([1, None]), ValueError, "None is not a valid value"),
    (lambda: jnp.array("a"), TypeError, "not a valid JAX array type"),
    (lambda: jnp.array(object()), TypeError, "object"),
    (lambda: jnp.array(np.array([1, None])), TypeError, "object"),
    (lambda: jnp.array(np.array(["a"], object), float), ValueError, "could not convert"),
    (lambda: jnp.asarray({}), TypeError, "object"),
    (lambda: jnp.array([[1, 2], [3]]), ValueError, "inhomogeneous"),
    (lambda: jnp.array([jnp.ones(3), jnp.ones(2)]), ValueError, "inhomogeneous"),
    (lambda: jnp.array(2 ** 40), OverflowError, "1099511627776"),
    (lambda: jnp.array([2 ** 40]), OverflowError, "1099511627776"),
    (lambda: jnp.array([2 ** 70]), OverflowError, "out of bounds"),
    (lambda: jnp.array([300], dtype="int8"), OverflowError, "300"),
    (lambda: jnp.array(-1, dtype="uint8"), OverflowError, "-1"),
    (lambda: jnp.array([1], order="F"), NotImplementedError, "order"),
    (lambda: jnp.zeros(-1), TypeError, "nonnegative"),
    (lambda: jnp.zeros(2.5), TypeError, "integer type"),
    (lambda: jnp.zeros((2, "a")), TypeError, "integer type"),
    (lambda: jnp.zeros(3, object), TypeError, "object"),
    (lambda: jnp.full(2, [1, 2]), TypeError, "full requires ndarray"),
    (lambda: jnp.full((2,), np.ones(3)), ValueError, "broadcast"),
    (lambda: jnp.zeros_like([1]), TypeError, "zeros_like requires ndarray"),
    (lambda: jnp.arange(0, 3, 0), ZeroDivisionError, "zero"),
    (lambda: jnp.arange("a"), TypeError, "expected a number as stop"),
    (lambda: jnp.arange(0, 5, 2 + 1j), ValueError, "complex start/stop/step"),
    (lambda: nj.jit(lambda n: jnp.arange(2, 9, n))(3), nj.errors.ConcretizationTypeError, "jnp.arange argument 'step'"),
    (lambda: jnp.zeros(2, 3), TypeError, r"when you meant `jax.numpy.zeros\(\(2, 3\)\)`"),
    (lambda: jnp.array(3, [("a", "i4")]), TypeError, "only supports number, bool"),
    (lambda: jnp.array(X, None, True, copy=False), TypeError, "multiple values for argument 'copy'"),
    (lambda: nj.jit(lambda x: x.tolist())(X), nj.errors.ConcretizationTypeError, r"tolist\(\) method"),
    (lambda: nj.jit(lambda x: x.tobytes())(X), nj.errors.ConcretizationTypeError, r"tobytes\(\) method"),
    (lambda: jnp.size(X, (0, -2)), ValueError, "repeated axis"),
    (lambda: jnp.linspace(0, 1, -1), ValueError, "non-negative"),
    (lambda: jnp.eye(-1), ValueError, "negative dimensions"),
    (lambda: jnp.tril(np.ones(3)), ValueError, "2D"),
    (lambda: jnp.diag(np.ones((2, 2, 2))), ValueError, "1d or 2d"),
    (lambda: jnp.meshgrid(X), ValueError, "1D"),
    (lambda: jnp.meshgrid(X[0], indexing="no"), ValueError, "xy"),
    (lambda: nj.jit(lambda n: jnp.arange(n))(3), nj.errors.ConcretizationTypeError, "arange"),
    (lambda: nj.jit(lambda n: jnp.zeros(n))(3), TypeError, "n"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_copies_share_nothing():
    source = np.ones(3, np.float32)
    a = jnp.asarray(source)
    source[0] = 5
    assert a.tolist() == [1, 1, 1]
    b = jnp.array(a)
    assert b is not a and b.unsafe_buffer_pointer() != a.unsafe_buffer_pointer()
    assert jnp.asarray(a) is a
    buffer = np.zeros(2, np.float32)

    def program(x):
        for k in range(2):
            buffer[:] = k + 1
            x = x + buffer
        return x
    assert nj.jit(program)(jnp.zeros(2)).tolist() == [3, 3]


def test_array_by_position_and_masked_arrays():
    x = jnp.arange(3)
    with pytest.warns(DeprecationWarning, match="positionally"):
        assert jnp.array(x, None, False) is x
    assert jnp.asarray(np.arange(3), copy=False).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="masked"):
        jnp.sin(np.ma.array([1.0], mask=[True]))


def test_intermediate_results_do_not_promote_strictly():
    x, y = np.arange(4, dtype=np.int32), np.ones(4, np.int32)
    with nj.numpy_dtype_promotion("strict"), nj.numpy_rank_promotion("raise"):
        assert jnp.linspace(5, 6, 3, dtype="bfloat16").tolist() == [5, 5.5, 6]
        assert jnp.convolve(x, y, preferred_element_type=np.int32).tolist() == [0, 1, 3, 6, 6, 5, 3]
        assert jnp.where(np.array([True, False]), np.ones((2, 1)), 0).shape == (2, 2)
        assert jnp.trapezoid(np.ones((2, 3)), dx=np.ones(2)).tolist() == [2, 2]


def test_steps_of_linspace_have_the_broadcast_shape():
    got, want = (f.linspace(np.zeros(2), np.ones((3, 1)), 1, endpoint=False, retstep=True) for f in (jnp, np))
    assert_same(got[1], want[1].astype(np.float32))


def test_constants():
    for fn, value in ((jnp.zeros, 0), (jnp.ones, 1), (jnp.empty, 0)):
        assert_same(fn((2, 3)), np.full((2, 3), value, np.float32))
        assert_same(fn(2, dtype="int8"), np.full(2, value, np.int8))
        assert fn(()).shape == ()
    assert_same(jnp.full((2, 3), X[0]), np.full((2, 3), X[0]))
    assert jnp.full(2, 1.0).weak_type and not jnp.full(2, 1.0, float).weak_type
    assert jnp.zeros(np.array([2, 3])).shape == (2, 3) and jnp.zeros(jnp.array([2, 3])).shape == (2, 3)
    assert_same(jnp.zeros_like(X), np.zeros_like(X))
    assert_same(jnp.ones_like(X, dtype=int, shape=3), np.ones(3, np.int32))
    assert_same(jnp.full_like(X, 7), np.full_like(X, 7))
    assert jnp.zeros_like(jnp.asarray(1.0)).weak_type
    assert nj.jit(lambda x: jnp.zeros(x.shape[0] * 2) + x.sum())(X).shape == (4,)


@pytest.mark.parametrize("args", [(5,), (2, 10, 3), (10, 0, -3), (5, 0), (0.5, 3), (0, 1, 0.25), (3.0,), (1, 2, 0.3)])
def test_arange(args):
    assert_same(jnp.arange(*args), np.arange(*args), rtol=1e-6)


def test_arange_dtypes():
    assert jnp.arange(3, dtype="float16").dtype == "float16"
    assert jnp.arange(np.uint8(250), np.uint8(255)).tolist() == [250, 251, 252, 253, 254]
    assert jnp.arange(0.0, 1, 0.25, dtype=int).tolist() == [0, 0, 0, 0]
    assert jnp.arange(start=2).tolist() == [0, 1]
    assert len(nj.make_jaxpr(lambda: jnp.arange(5))().eqns) == 1


@pytest.mark.parametrize("args, kwargs", [
    ((0, 1, 5), {}), ((0, 1, 5), {"endpoint": False}), ((0, 10, 7), {"dtype": int}), ((1, 2, 1), {}), ((1, 2, 0), {}),
    ((X, 9.0, 4), {}), ((X, X + 2, 3), {"axis": 1}), ((0, 1j, 3), {})])
def test_linspace(args, kwargs):
    assert_same(jnp.linspace(*args, **kwargs), np.linspace(*args, **kwargs))
    got, step = jnp.linspace(0, 1, 5, retstep=True)
    assert float(step) == 0.25 and float(got[-1]) == 1
    check_grad(lambda a, b: jnp.linspace(a, b, 4), 0.5, 2.0)


def test_logspace_geomspace():
    assert_same(jnp.logspace(0, 2, 3), np.logspace(0, 2, 3), rtol=1e-5)
    assert_same(jnp.logspace(0, 2, 3, base=2, dtype=int), np.array([1, 2, 4]))
    assert_same(jnp.geomspace(1, 1000, 4), np.geomspace(1, 1000, 4), rtol=1e-5)
    assert_same(jnp.geomspace(-1, -100, 3), np.geomspace(-1, -100, 3), rtol=1e-5)
    assert np.isnan(np.asarray(jnp.geomspace(1, -1, 3))).all()


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_matrices(k):
    assert_same(jnp.eye(3, 4, k), np.eye(3, 4, k, dtype=np.float32))
    assert_same(jnp.tri(3, 4, k), np.tri(3, 4, k, dtype=np.float32))
    big = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(lambda x: jnp.tril(x, k), np.tril(big, k), big)
    check(lambda x: jnp.triu(x, k), np.triu(big, k), big)
    check(lambda x: jnp.diag(x, k), np.diag(X, k), X)
    check(lambda x: jnp.diag(x, k), np.diag(X[0], k), X[0])
    check(lambda x: jnp.diagflat(x, k), np.diagflat(X, k), X)
    check_grad(lambda x: jnp.diag(x, k), X[0])
    check_grad(lambda x: jnp.tril(x, k), X)
    assert_same(nj.jit(lambda n: jnp.eye(3, k=n))(k), np.eye(3, k=k, dtype=np.float32))


def test_grids():
    a, b = np.arange(2), np.arange(3)
    for kwargs in ({}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij"}):
        assert_same(jnp.meshgrid(a, b, **kwargs), list(np.meshgrid(a, b, **kwargs)))
    assert_same(jnp.mgrid[0:2, 0:1:3j], np.mgrid[0:2, 0:1:3j].astype(np.float32))
    assert_same(jnp.mgrid[1:7:2], np.mgrid[1:7:2])
    assert_same(jnp.ogrid[0:2, 0:3], list(np.ogrid[0:2, 0:3]))
    assert_same(jnp.indices((2, 3)), np.indices((2, 3)))
    assert_same(jnp.indices((2, 3), sparse=True), np.indices((2, 3), sparse=True))
    assert_same(jnp.fromfunction(lambda i, j, k: i * j + k, (2, 3), dtype=int, k=2), np.fromfunction(
        lambda i, j: i * j + 2, (2, 3), dtype=int))


def test_conversions():
    x = np.array([1.7, -2.2, np.nan, np.inf, -np.inf, 300], np.float32)
    assert jnp.asarray(x).astype(int).tolist() == [1, -2, 0, 2 ** 31 - 1, -2 ** 31, 300]
    assert jnp.asarray(x).astype("uint8").tolist() == [1, 0, 0, 255, 0, 255]
    assert jnp.astype(jnp.arange(2), None).dtype == "float32"
    with pytest.warns(DeprecationWarning, match="Casting from complex"):
        assert jnp.asarray([1 + 2j]).astype("float32").tolist() == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jnp.asarray(np.float64(1e300)).tolist() == np.inf


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "complex64", "bool"])
def test_arrays_share_their_buffer_by_dlpack_unless_copied(dtype):
    x = jnp.zeros((2, 3), dtype)
    for copy in (None, False, True):
        y = jnp.from_dlpack(x, copy=copy)
        assert y.dtype == x.dtype and y.shape == x.shape
        assert (y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()) == (copy is not True)


def test_dlpack_of_other_objects_and_keys_is_refused():
    with pytest.raises(TypeError, match="must have __dlpack__ and __dlpack_device__"):
        jnp.from_dlpack(jnp.zeros(2).__dlpack__())
    with pytest.raises(BufferError, match="no code for dtype"):
        jnp.from_dlpack(nj.random.key(0))


def test_readers_and_files():
    assert jnp.frombuffer(b"\x01\x02", dtype="uint8").tolist() == [1, 2]
    assert jnp.fromiter((i * i for i in range(3)), dtype="int32").tolist() == [0, 1, 4]
    assert jnp.from_dlpack(np.arange(3, dtype=np.float32)).tolist() == [0, 1, 2]
    file = io.BytesIO()
    jnp.save(file, jnp.asarray(X))
    file.seek(0)
    assert_same(jnp.load(file), X)
    file = io.BytesIO()
    jnp.savez(file, jnp.asarray(X), y=jnp.arange(2))
    file.seek(0)
    found = jnp.load(file)
    assert_same(found["arr_0"], X)
    assert found["y"].tolist() == [0, 1]


def test_dtype_names():
    assert jnp.float32 == np.float32 and jnp.float32 == np.dtype("float32") and hash(jnp.float32) == hash(np.float32)
    assert np.dtype(jnp.bfloat16) == ml_dtypes.bfloat16 and jnp.dtype(jnp.int4).name == "int4"
    assert jnp.float32(1.5).dtype == "float32" and not jnp.float32(1.5).weak_type
    assert jnp.int32([1.7, 2]).tolist() == [1, 2] and nj.jit(lambda x: jnp.int32(x))(2.7).tolist() == 2
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and jnp.issubdtype(jnp.float32, np.float32)
    assert not jnp.issubdtype("int8", jnp.floating)
    assert isinstance(np.float32(1), jnp.float32) and not isinstance(1.0, jnp.float32)
    assert jnp.result_type(1, 2.0) == "float32" and jnp.promote_types("int8", "uint8") == "int16"
    assert jnp.can_cast("int8", "int16") and not jnp.can_cast("float32", "int32")
    assert jnp.finfo(jnp.bfloat16).bits == 16 and jnp.iinfo("int4").max == 7
    assert jnp.isdtype("int8", "integral") and jnp.bool is jnp.bool_
    assert repr(jnp.float32) == "<class 'numjet.numpy.float32'>"


def test_questions():
    with pytest.warns(DeprecationWarning, match="shape requires ndarray or scalar arguments"):
        assert jnp.shape([[1, 2]]) == (1, 2)
    assert jnp.ndim(3) == 0 and jnp.size(X) == 6 and jnp.size(X, (0, 1)) == 6
    assert jnp.isscalar(1) and jnp.isscalar(jnp.float32(1)) and not jnp.isscalar([1])
    assert jnp.iscomplexobj(1j) and jnp.isrealobj(X) and not jnp.iscomplexobj("a") and jnp.iscomplexobj([1j])
    assert jnp.iterable(X) and not jnp.iterable(1)
    nan = np.array([1, np.nan, np.inf], np.float32)
    assert bool(jnp.array_equal(X, X)) and not bool(jnp.array_equal(X, X[0])) and not bool(jnp.array_equal(nan, nan))
    assert bool(jnp.array_equal(nan, nan, equal_nan=True)) and bool(jnp.array_equiv(np.ones((2, 3)), 1))
    check(jnp.isclose, np.isclose(nan, nan), nan, nan)
    check(lambda a, b: jnp.isclose(a, b, equal_nan=True), np.isclose(nan, nan, equal_nan=True), nan, nan)
    check(lambda a: jnp.isclose(a, 1, rtol=0.5), np.isclose(X, 1, rtol=0.5), X)
    assert bool(jnp.allclose(X, X * (1 + 1e-6))) and not bool(jnp.allclose(X, X + 1))


def test_descriptions_in_place_of_arrays():
    described = nj.ShapeDtypeStruct((2, 3), jnp.int8)
    assert (jnp.shape(described), jnp.ndim(described), jnp.size(described)) == ((2, 3), 2, 6)
    for like in (jnp.zeros_like(described), jnp.full_like(described, 0), nj.lax.full_like(described, 0)):
        assert like.shape == (2, 3) and like.dtype == jnp.int8


def test_python_numbers_are_saved_with_all_their_bits():
    for value, dtype in ((1.5, np.float64), (3, np.int64), (True, np.bool_), (1j, np.complex128), ([1, 2], np.int64)):
        file = io.BytesIO()
        jnp.save(file, value)
        file.seek(0)
        assert np.load(file).dtype == dtype


class Wrapped:
    """A user's class that stands for an array."""

    def __init__(self, x):
        self.x = x

    def __jax_array__(self):
        return jnp.asarray(self.x)


def test_arguments_that_stand_for_arrays():
    assert jnp.roll(Wrapped([1, 2, 3]), Wrapped(1)).tolist() == [3, 1, 2]
    assert jnp.delete(Wrapped([1, 2, 3]), Wrapped(1)).tolist() == [1, 3]
    assert [len(i) for i in jnp.tril_indices_from(Wrapped(np.ones((2, 2))))] == [3, 3]
    assert nj.jit(lambda s: jnp.roll(jnp.arange(3), Wrapped(s)))(1).tolist() == [2, 0, 1]


def test_every_function_goes_by_its_own_name():
    other = [name for name in dir(jnp) if callable(getattr(jnp, name)) and not isinstance(getattr(jnp, name), type)
             and getattr(getattr(jnp, name), "__name__", name) != name and not name.startswith("_")]
    assert not other


def test_copies_are_arrays_of_their_own_in_every_transformation():
    for run in (jnp.copy, nj.vmap(jnp.copy), lambda x: nj.jvp(jnp.copy, (x,), (x,))[1], lambda x: nj.vjp(jnp.copy, x)[1](x)[0]):
        x = jnp.arange(3.0)
        out = run(x)
        x.delete()
        assert out.tolist() == [0, 1, 2]
    check_grad(lambda x: jnp.sum(jnp.copy(x) ** 3), [1.0, 2.0])


def test_bfloat16_files_and_copies_without_masks():
    file = io.BytesIO()
    jnp.save(file, jnp.array([1.5, 2], "bfloat16"))
    file.seek(0)
    assert jnp.load(file).dtype == "bfloat16"
    assert jnp.array(np.ma.array([1, 2], mask=[True, False])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="masked"):
        jnp.asarray(np.ma.array([1, 2], mask=[True, False]))


def test_known_integer_exponents_multiply():
    for n in (2, np.int32(2), jnp.int32(2), np.array(2)):
        out = jnp.power(np.float16(3), n)
        assert out.dtype == "float16" and float(out) == 9
    assert jnp.power(np.int8(3), np.int32(2)).dtype == "int8"
    with pytest.raises(TypeError, match="negative"):
        jnp.power(2, np.int32(-1))


def test_grids_and_empty_steps():
    with nj.numpy_dtype_promotion("strict"):
        assert jnp.mgrid[0:2:3j, 0:2].dtype == "float32"
        assert jnp.histogram2d(np.arange(4), np.arange(4), 2, density=True)[0].dtype == "float32"
    assert jnp.linspace(1, np.ones(2), 1, retstep=True)[1].shape == ()
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values of integer type"):
        nj.jit(jnp.tri)(3)
    with pytest.raises(TypeError, match="Abstract tracer value encountered where concrete value is expected"):
        nj.jit(lambda i: jnp.split(jnp.zeros(4), [2, i]))(3)
    with pytest.raises(OverflowError, match="Python int too large"):
        jnp.array([0, 2**70])


@pytest.mark.parametrize("shape", [np.array([True, True]), jnp.array([True, True]), (np.True_,), np.array([2.0])])
def test_arrays_of_bools_are_no_shapes(shape):
    makers = (jnp.ones, jnp.empty, lambda shape: jnp.full(shape, 1.0), lambda shape: jnp.broadcast_to(1.0, shape),
              lambda shape: nj.random.uniform(nj.random.key(0), shape))
    for make in makers:
        with pytest.raises(TypeError, match="must be 1D sequences of concrete values of integer type"):
            make(shape)
    assert jnp.ones((True, 2)).shape == (1, 2) and jnp.ones(np.array([2, 3])).shape == (2, 3)


def test_objects_are_read_as_numpy_reads_them_if_a_dtype_is_given():
    objects = np.array([1, 2.5, None], object)
    np.testing.assert_array_equal(jnp.array(objects, float), [1, 2.5, np.nan])
    assert jnp.asarray(objects[:2], "int8").tolist() == [1, 2]


NEW = [lambda: jnp.array(1.5), lambda: jnp.array([1, 2]), lambda: jnp.asarray(np.arange(3)), lambda: jnp.ones(()),
       lambda: jnp.zeros(3), lambda: jnp.full((), 2), lambda: jnp.empty(()), lambda: jnp.ones_like(1.0),
       lambda: jnp.zeros_like(np.ones(2))]


@pytest.mark.parametrize("make", NEW)
def test_new_arrays_are_tracers_where_a_program_is_written(make):
    """By which libraries find out whether a function is traced."""
    def is_traced(x):
        found.append(isinstance(make(), nj.core.Tracer))
        return x
    found = []
    nj.jit(is_traced)(1.0), nj.jit(nj.vmap(is_traced))(jnp.ones(2)), nj.jit(nj.grad(is_traced))(1.0)
    assert found == [True] * 3
    found.clear()
    is_traced(1.0), nj.vmap(is_traced)(jnp.ones(2)), nj.grad(is_traced)(1.0)
    assert found == [False] * 3
    assert_same(nj.jit(make)(), make())


def test_new_numbers_are_literals_and_their_values_are_known_while_tracing():
    text = str(nj.make_jaxpr(lambda x: x * jnp.array(3.0) + jnp.ones(()))(2.0))
    assert "mul a 3.0:f32[]" in text and "add b 1.0:f32[]" in text
    def uses(x):
        n = jnp.array(3)
        assert int(n) == 3 and n + 1 == 4 and [1, 2, 3, 4][n] == 4
        return jnp.zeros(n) + jnp.full(6, x).reshape(jnp.array([2, 3]))
    assert nj.jit(uses)(1.0).shape == (2, 3)


def test_indices_made_in_a_traced_function_are_known():
    x = jnp.arange(12.0).reshape(4, 3)
    assert "dynamic_slice" not in str(nj.make_jaxpr(lambda x: x[jnp.array(2)])(x))
    assert "PROMISE_IN_BOUNDS" in str(nj.make_jaxpr(lambda x: x[jnp.array([0, 2])])(x))
    assert nj.jit(lambda x: x[jnp.array([True, False, True, True])])(x).shape == (3, 3)


@pytest.mark.parametrize("fill", [
    lambda x: jnp.full(x.shape, x), lambda x: jnp.full_like(x, x), lambda x: jnp.full_like(x, x, int)])
@pytest.mark.parametrize("axis", [0, 1])
def test_arrays_full_of_a_batch(fill, axis):
    """A traced value of the wanted shape is the result: that of one element, not of the batch."""
    x = jnp.arange(6.0).reshape(3, 2)
    want = np.asarray(x if axis == 0 else x.T)
    np.testing.assert_array_equal(nj.vmap(fill, axis)(x), want)
    np.testing.assert_array_equal(nj.jit(nj.vmap(fill, axis))(x), want)
    np.testing.assert_array_equal(nj.vmap(nj.grad(lambda row: jnp.sum(fill(row) * row).astype("float32")))(x), 2 * x
                                  if fill(x).dtype == x.dtype else x)


def test_arrays_of_objects_go_through_files():
    """Pickled, where that is allowed, and NumPy's arrays as before."""
    file = io.BytesIO()
    jnp.save(file, np.array([1, "two", None], object))
    file.seek(0)
    found = jnp.load(file, allow_pickle=True)
    assert type(found) is np.ndarray and found.tolist() == [1, "two", None]
    file.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        jnp.load(file)


def test_powers_of_halves_have_the_digits_that_are_asked_for():
    start = np.float16(0.3)
    np.testing.assert_allclose(jnp.logspace(start, np.float16(1), 3, dtype=np.float32),
                               np.logspace(np.float32(start), 1, 3), rtol=1e-6)
    assert jnp.logspace(0, 1, 3, dtype=np.int32).tolist() == [1, 3, 10]
