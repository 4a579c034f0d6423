"""The promotion table was written by JAX 0.10; entries are dtype names, i*, f*, c* are Python scalars, * is weak."""

import json
import pathlib

import numpy as np
import pytest

from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64, numpy_dtype_promotion

TABLE = json.loads((pathlib.Path(__file__).parent / "promotion_table.json").read_text())
SCALARS = {"i*": 1, "f*": 1.0, "c*": 1j}


class Aval:
    def __init__(self, dtype, weak_type=False):
        self.dtype = dtypes.as_dtype(dtype)
        self.weak_type = weak_type


def value(name):
    return SCALARS[name] if name in SCALARS else Aval(name)


def answer(values):
    try:
        dtype, weak = dtypes.result_type(*values, return_weak_type=True)
    except dtypes.TypePromotionError:
        return "error"
    return dtype.name + "*" * weak


@pytest.mark.parametrize("section", sorted(TABLE))
def test_table(section):
    mode, width = section.split(",")
    expected = TABLE[section]
    assert len(expected) > 400
    with numpy_dtype_promotion("strict" if mode == "strict" else "standard"), enable_x64(width == "x64"):
        got = {key: answer([value(name) for name in key.split(",")]) for key in expected}
        swapped = {key: answer([value(name) for name in reversed(key.split(","))]) for key in expected}
    assert got == expected
    assert swapped == expected


@pytest.mark.parametrize("weak, scalar", [("int32", 1), ("float32", 1.0), ("complex64", 1j)])
def test_weak_avals_are_as_python_scalars(weak, scalar):
    for dtype in dtypes.ALL:
        assert answer([Aval(weak, True), Aval(dtype)]) == answer([scalar, Aval(dtype)])
    assert answer([Aval("bool", True), Aval("bool")]) == "bool"


def test_every_way_to_name_an_operand_promotes_alike():
    for operand in ("int8", np.int8, np.dtype("int8"), np.int8(1), np.ones(2, np.int8), Aval("int8")):
        assert dtypes.result_type(operand, "uint8") == np.int16
    assert dtypes.result_type(float, "float16") == np.float16
    assert dtypes.result_type(None, "float16") == np.float32
    assert dtypes.result_type(np.float64(1), "float16") == np.float32
    assert dtypes.result_type(True, "int8") == np.int8


def test_promote_types_leaves_64_bits():
    assert dtypes.promote_types("int32", "uint32") == np.int64
    assert dtypes.promote_types("float", "float16") == np.float64
    assert dtypes.promote_types(float, "float16") == np.float16
    assert dtypes.promote_types(int, float) == np.float64
    assert dtypes.lattice_result_type("int64", 1) == (np.int64, False)
    assert dtypes.lattice_result_type(1, 1.0) == (np.float64, True)


def test_results_follow_x64_each_time():
    for _ in range(2):
        assert dtypes.result_type("float32", "float64") == np.float32
        with enable_x64(True):
            assert dtypes.result_type("float32", "float64") == np.float64


def test_return_weak_type_flag_is_an_alias():
    assert dtypes.result_type(1, return_weak_type_flag=True) == (np.int32, True)


@pytest.mark.parametrize(
    "operands, text",
    [
        (("float8_e4m3fn", "float32"), r"float8_e4m3fn.*float32.*8-bit floats.*astype\('float32'\)"),
        (("int4", "uint8"), r"int4.*uint8.*2-bit and 4-bit integers.*astype\('int32'\)"),
        (("float8_e4m3fn", 1j), "Python complex"),
    ],
)
def test_no_path_tells_why_and_what_to_do(operands, text):
    with pytest.raises(dtypes.TypePromotionError, match=text):
        dtypes.result_type(*operands)


def test_strict_mode_tells_its_name():
    with numpy_dtype_promotion("strict"):
        assert dtypes.result_type("float32", 1) == np.float32
        with pytest.raises(dtypes.TypePromotionError, match=r"strict.*astype\('int32'\)"):
            dtypes.result_type("int32", "float32")


def test_what_does_not_promote():
    with pytest.raises(ValueError, match="at least one"):
        dtypes.result_type()
    with pytest.raises(ValueError, match="at least one"):
        dtypes.lattice_result_type()
    with pytest.raises(dtypes.TypePromotionError, match="key<fry>"):
        dtypes.result_type(dtypes.key_dtype, "int8")
    with pytest.raises(dtypes.TypePromotionError, match="float0"):
        dtypes.result_type(Aval(dtypes.float0), 1)
    for wrong in (np.array(["a"]), np.longdouble(1), "foo", object(), [1, 2], "M8[s]"):
        with pytest.raises(TypeError):
            dtypes.result_type(wrong, "int8")


# What JAX's sin (inexact) and fft (complex) answer, 64-bit dtypes on.
INEXACT = {"bool": "float32", "int8": "float32", "uint32": "float32", "int64": "float64", "uint64": "float64"}
INEXACT |= {name: name for name in ("bfloat16", "float16", "float64", "complex64", "float8_e4m3fn")}
COMPLEX = {"bool": "complex64", "int32": "complex64", "int64": "complex128", "float32": "complex64"}
COMPLEX |= {"float64": "complex128", "complex128": "complex128", "bfloat16": "complex64"}


def test_kinds_to_compute_in():
    with enable_x64(True):
        assert {name: dtypes.to_inexact_dtype(name).name for name in INEXACT} == INEXACT
        assert {name: dtypes.to_complex_dtype(name).name for name in COMPLEX} == COMPLEX
    assert dtypes.to_inexact_dtype("int64") == np.float32
    assert dtypes.to_complex_dtype("int64") == np.complex64
    assert dtypes.to_floating_dtype("complex128") == np.float64
    assert dtypes.to_floating_dtype("int8") == np.float32
    assert dtypes.to_numeric_dtype("bool") == np.int32
    assert dtypes.to_numeric_dtype("int8") == np.int8
    with pytest.raises(TypeError, match="key<fry>"):
        dtypes.to_inexact_dtype(dtypes.key_dtype)
