import enum
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.dtypes
from numjet.core.aval import ShapedArray
from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64

PLAIN = [d for d in dtypes.ALL if d not in dtypes.NARROW]


class Aval:
    shape = ()

    def __init__(self, dtype, weak_type=False):
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_names_read_back(dtype):
    assert dtypes.from_short_name(dtypes.short_name(dtype)) == dtype
    assert dtypes.as_dtype(dtype.name) == dtype
    assert dtypes.as_dtype(dtype.type) == dtype
    assert dtypes.as_dtype(Aval(dtype)) == dtype
    assert dtypes.long_name(dtype) == dtype.name


@pytest.mark.parametrize(
    "dtype, name",
    [
        ("bool", "bool"),
        ("int4", "i4"),
        ("uint2", "u2"),
        ("int64", "i64"),
        ("bfloat16", "bf16"),
        ("float16", "f16"),
        ("complex128", "c128"),
        ("float8_e4m3b11fnuz", "f8_e4m3b11fnuz"),
        ("float4_e2m1fn", "f4_e2m1fn"),
        (dtypes.float0, "float0"),
        (dtypes.key_dtype, "key<fry>"),
    ],
)
def test_short_names_are_those_of_printed_programs(dtype, name):
    assert dtypes.short_name(dtype) == name


def test_unknown_short_name_lists_known_ones():
    with pytest.raises(ValueError, match=r"'f31' is not a dtype.*'f32'"):
        dtypes.from_short_name("f31")


def test_keys_are_opaque_elements_of_eight_bytes():
    keys = np.zeros((3, 2), dtypes.key_dtype)
    assert keys.shape == (3, 2) and keys.itemsize == 8
    assert np.concatenate([keys, keys[::-1]]).T.shape == (2, 6)


def test_strings_of_numpy_are_names():
    """As they come out of arrays of names and files, with a dtype of their own: that of strings."""
    for name in (np.str_("float32"), np.bytes_(b"float32"), np.array(["int8", "float32"])[1]):
        assert dtypes.as_dtype(name) == np.float32 and nj.numpy.zeros(2, name).dtype == np.float32


def test_foreign_byte_order_becomes_native():
    assert dtypes.as_dtype(">f4") == np.float32 and dtypes.as_dtype(">f4").isnative
    assert dtypes.result_type(np.zeros(2, ">i2"), 1) == np.int16
    for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "c8", "c16", "?"):
        swapped = np.dtype(dtype).newbyteorder("S").newbyteorder("S")   # native, but another object than NumPy's own
        assert dtypes.as_dtype(swapped) is np.dtype(dtype) and dtypes.is_numpys(swapped)


def test_as_dtype_knows_classes_with_a_dtype():
    class Scalar:
        dtype = dtypes.bfloat16

    assert dtypes.as_dtype(Scalar) == dtypes.as_dtype(Scalar()) == dtypes.bfloat16
    with pytest.raises(TypeError):
        dtypes.as_dtype("foo")
    with pytest.raises(TypeError):
        dtypes.as_dtype(1.0)


@pytest.mark.parametrize("wide, narrow", list(dtypes.NARROW.items()), ids=str)
def test_canonicalize_cuts_64_bits_unless_x64(wide, narrow):
    assert dtypes.canonicalize_dtype(wide) == narrow
    assert dtypes.canonicalize_dtype(narrow) == narrow
    with enable_x64(True):
        assert dtypes.canonicalize_dtype(wide) == wide


def test_canonicalize_keys():
    assert dtypes.canonicalize_dtype(dtypes.key_dtype) == dtypes.key_dtype
    with pytest.raises(ValueError, match="key<fry>"):
        dtypes.canonicalize_dtype(dtypes.key_dtype, allow_extended_dtype=False)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_kinds_and_abstract_classes_agree(dtype):
    abstract = {"b": np.bool_, "i": np.signedinteger, "u": np.unsignedinteger, "f": np.floating}
    abstract["c"] = np.complexfloating
    for letter, cls in abstract.items():
        assert dtypes.issubdtype(dtype, cls) == (dtypes.kind(dtype) == letter)
    assert dtypes.issubdtype(dtype, np.generic) and dtypes.issubdtype(dtype, dtype)
    assert dtypes.issubdtype(dtype, np.number) == (dtypes.kind(dtype) != "b")
    assert not dtypes.issubdtype(dtype, dtypes.extended)
    assert dtypes.isdtype(dtype, "numeric") == (dtypes.kind(dtype) != "b")
    assert dtypes.isdtype(dtype, "real floating") == (dtypes.kind(dtype) == "f")
    assert dtypes.isdtype(dtype, "integral") == (dtypes.kind(dtype) in "iu")


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (int, np.integer, True),
        ("int32", int, False),
        ("int64", int, True),
        (np.float32, float, False),
        (np.float64, float, True),
        (np.floating, np.inexact, True),
        (np.inexact, np.floating, False),
        (np.floating, "float32", False),
        (dtypes.key_dtype, np.floating, False),
        (dtypes.key_dtype, dtypes.prng_key, True),
        (dtypes.key_dtype, dtypes.extended, True),
        (dtypes.key_dtype, np.generic, True),
        (dtypes.key_dtype, dtypes.key_dtype, True),
        (dtypes.float0, dtypes.prng_key, False),
        (dtypes.float0, np.void, True),
        (dtypes.prng_key, dtypes.extended, True),
        (dtypes.extended, dtypes.prng_key, False),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, True),
        (ml_dtypes.bfloat16, float, False),
        (np.float32(1), np.floating, True),
    ],
)
def test_issubdtype(a, b, expected):
    assert dtypes.issubdtype(a, b) is expected


def test_isdtype_takes_dtypes_and_tuples_and_refuses_the_rest():
    assert dtypes.isdtype("bfloat16", ("integral", "real floating"))
    assert dtypes.isdtype("int8", np.int8) and not dtypes.isdtype("int8", "bool")
    for wrong in ("foo", ("foo",)):
        with pytest.raises(ValueError, match=r"'foo'.*'real floating'"):
            dtypes.isdtype("int8", wrong)
    with pytest.raises(TypeError, match="floating"):
        dtypes.isdtype("int8", np.floating)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if dtypes.kind(d) in "iu"], ids=str)
def test_integer_limits(dtype):
    info = dtypes.iinfo(dtype)
    assert info.bits == dtypes.itemsize_bits(dtype)
    assert int(info.max) - int(info.min) == 2**info.bits - 1
    dtypes.check_int_fits(int(info.max), dtype)
    dtypes.check_int_fits(int(info.min), dtype)
    with pytest.raises(OverflowError, match=f"Python integer {int(info.max) + 1} out of bounds for {dtype.name}"):
        dtypes.check_int_fits(int(info.max) + 1, dtype)
    with pytest.raises(OverflowError):
        dtypes.check_int_fits(int(info.min) - 1, dtype)


def test_integer_limits_name_the_remedy_and_floats_take_all():
    with pytest.raises(OverflowError, match="need jax_enable_x64"):
        dtypes.check_int_fits(2**40, "int32")
    dtypes.check_int_fits(2**40, "float32")
    with pytest.raises(ValueError, match="integer dtype, got float32"):
        dtypes.iinfo("float32")


@pytest.mark.parametrize("dtype", dtypes.INEXACT, ids=str)
def test_finfo_of_every_float(dtype):
    info = dtypes.finfo(dtype)
    assert float(info.eps) > 0 and float(info.max) > 1
    one = info.dtype.type(1)
    assert float(one) + float(info.eps) > float(one)


@pytest.mark.parametrize(
    "x, weak",
    [
        (1, True),
        (1.0, True),
        (1j, True),
        (True, False),
        (np.float64(1), False),
        (np.complex128(1), False),
        (np.ones(2), False),
        (Aval("float32"), False),
        (Aval("float32", True), True),
        (enum.IntEnum("Colour", "RED").RED, True),
    ],
)
def test_is_weakly_typed(x, weak):
    assert dtypes.is_weakly_typed(x) is weak


def test_dtype_of_values():
    assert dtypes.dtype(1) == np.int64 and dtypes.dtype(1, canonicalize=True) == np.int32
    assert dtypes.dtype(True) == np.bool_ and dtypes.dtype(np.float64(1)) == np.float64
    assert dtypes.dtype(1j, canonicalize=True) == np.complex64
    assert dtypes.dtype("int8") == np.int8 and dtypes.dtype(np.ones(2, np.int16)) == np.int16


def test_python_scalar_dtype_follows_x64():
    assert [dtypes.python_scalar_dtype(s).name for s in (bool, 1, float, 1j)] == "bool int32 float32 complex64".split()
    with enable_x64(True):
        assert [dtypes.python_scalar_dtype(s).name for s in (True, int, 1.0)] == ["bool", "int64", "float64"]
    with pytest.raises(TypeError, match="'a' of type str"):
        dtypes.python_scalar_dtype("a")


def test_scalar_type_of():
    cases = {"bool": bool, "int4": int, "uint8": int, "bfloat16": float, "float8_e5m2": float, "complex64": complex}
    for dtype, scalar in cases.items():
        assert dtypes.scalar_type_of(dtype) is scalar
    assert dtypes.scalar_type_of(3j) is complex
    with pytest.raises(TypeError, match="key<fry>"):
        dtypes.scalar_type_of(dtypes.key_dtype)


@pytest.mark.parametrize("asked", ["float64", np.int64, np.dtype("uint64"), np.complex128], ids=str)
def test_explicit_64_bits_warn_at_the_user_s_line(asked):
    with pytest.warns(UserWarning, match="Explicitly requested dtype .* requested in zeros is not available") as seen:
        got = dtypes.check_user_dtype(asked, "zeros")
    assert got == dtypes.NARROW[np.dtype(asked)]
    assert "truncated to dtype" in str(seen[0].message) and "jax_enable_x64" in str(seen[0].message)
    assert seen[0].filename == __file__
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.check_user_dtype(asked, "zeros") == np.dtype(asked)


@pytest.mark.parametrize("asked", [int, float, complex, bool, "int8", ml_dtypes.bfloat16, dtypes.key_dtype])
def test_what_is_available_does_not_warn(asked):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.check_user_dtype(asked, "zeros") == dtypes.canonicalize_dtype(asked)


@pytest.mark.parametrize("asked", [object, "S3", "M8[s]", np.longdouble, str])
def test_what_arrays_cannot_hold_raises(asked):
    with pytest.raises(TypeError, match=r"JAX only supports number, bool, and string dtypes, got dtype .* in zeros"):
        dtypes.check_user_dtype(asked, "zeros")


def test_itemsize_bits():
    cases = {"bool": 8, "int2": 2, "int4": 4, "float4_e2m1fn": 4, "float8_e5m2": 8, "float32": 32, "complex64": 64}
    for dtype, bits in cases.items():
        assert dtypes.itemsize_bits(dtype) == bits
    with pytest.raises(ValueError, match="dtype cannot be None"):
        dtypes.itemsize_bits(None)


def test_numbers_that_no_array_has_are_known():
    assert dtypes.itemsize_bits("int1") == 1 and dtypes.itemsize_bits("float6_e2m3fn") == 6
    assert dtypes.issubdtype("int1", np.signedinteger) and dtypes.issubdtype("float6_e3m2fn", np.floating)
    with pytest.raises(TypeError, match="float6"):
        dtypes.check_user_dtype("float6_e3m2fn", "zeros")


def test_public_names():
    names = "TypePromotionError bfloat16 canonicalize_dtype extended finfo float0 iinfo issubdtype itemsize_bits"
    for name in [*names.split(), "prng_key", "result_type", "scalar_type_of"]:
        assert hasattr(numjet.dtypes, name)
    assert numjet.dtypes.bfloat16 is ml_dtypes.bfloat16


def test_the_type_of_the_dtype_of_random_keys_is_of_their_class():
    """Libraries ask a dtype for its type, and this for its name, which tells keys from structures of NumPy."""
    assert issubclass(dtypes.key_dtype.type, dtypes.prng_key) and dtypes.key_dtype.type.__name__ == "prng_key"
    assert pickle.loads(pickle.dumps(dtypes.key_dtype)) == dtypes.key_dtype
    assert str(ShapedArray((2,), dtypes.key_dtype)) == "key<fry>[2]"


def test_named_64_bit_dtypes_may_raise():
    nj.config.update("jax_explicit_x64_dtypes", "error")
    try:
        with pytest.raises(ValueError, match="Explicitly requested dtype float64 requested in zeros is not available"):
            nj.numpy.zeros(3, "float64")
    finally:
        nj.config.update("jax_explicit_x64_dtypes", "warn")


def test_float0_has_no_operations():
    zero = nj.grad(lambda x: x + 0.0, allow_int=True)(1)
    for call in (lambda: zero + nj.numpy.zeros(()), lambda: nj.lax.add(zero, 1.0), lambda: nj.lax.neg(zero)):
        with pytest.raises(TypeError, match="float0s do not support any operations by design"):
            call()
    assert nj.jit(lambda x: x)(zero) == zero and not nj.jit(lambda x: x)(zero) != zero


def test_python_integers_that_fit_no_default_dtype_do_not_promote():
    with pytest.raises(OverflowError):
        nj.numpy.multiply(2**100, 3.0)
    assert nj.lax.convert_element_type(2**100, "float32") == np.float32(2**100)
