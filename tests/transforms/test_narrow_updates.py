"""Updates by values of a wider dtype: exact, and at the cost of what they change."""
import itertools

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.walk import all_eqns
from numjet.transforms.narrow_updates import holds_all
from numjet.transforms.simplify import simplify
from tests.cpu.traffic import written

pytestmark = pytest.mark.filterwarnings("ignore:Casting (from )?complex")
DTYPES = [jnp.dtype(n) for n in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                                 "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2")]
UPDATES = {
    "element": lambda x, v: x.at[3].set(v),
    "slice": lambda x, v: x.at[2:5].set(v),
    "places": lambda x, v: x.at[jnp.array([1, 1, 20, -1])].set(v),
    "mapped": lambda x, v: nj.vmap(lambda v: x.at[3].set(v))(jnp.stack([v, v])),
    "twice": lambda x, v: x.at[0].set(v).at[8].set(v),
    "read besides": lambda x, v: (lambda wide: (wide.astype(x.dtype), wide))(x.astype(v.dtype).at[1].set(v)),
}


@pytest.fixture(autouse=True)
def _wide():
    with nj.enable_x64(True):
        yield


def numbers(dtype, n):
    """Any bits, and NaN where they stand for none."""
    bits = np.random.default_rng(0).bytes(dtype.itemsize * n)
    return np.frombuffer(bits, np.uint8) > 127 if dtype.kind == "b" else np.frombuffer(bits, dtype)


def comparable(x):
    """Values in a dtype of which NumPy knows that NaNs are equal."""
    return np.asarray(x) if x.dtype.kind in "biu" else np.asarray(x).astype(np.complex128)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("narrow", DTYPES, ids=str)
def test_there_and_back_changes_no_number(narrow):
    x = jnp.asarray(numbers(narrow, 3000))
    for wide in DTYPES:
        if holds_all(wide, narrow):
            np.testing.assert_array_equal(comparable(x.astype(wide).astype(narrow)), comparable(x))
    assert holds_all(narrow, narrow) and not holds_all(jnp.dtype("float32"), jnp.dtype("int32"))
    assert not holds_all(jnp.dtype("float16"), jnp.dtype("bfloat16")) and holds_all(jnp.dtype("float64"), jnp.dtype("int32"))


@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")
@pytest.mark.parametrize("name", UPDATES)
def test_results_are_those_of_the_wide_update(name):
    update = UPDATES[name]
    values = np.arange(9) * 7 % 5
    for narrow, wide in itertools.product(DTYPES[3:15:3], DTYPES[:15:2]):
        x, v = jnp.asarray(values).astype(narrow), jnp.asarray(1.7).astype(wide)
        for got, want in zip(nj.tree.leaves(nj.jit(update)(x, v)), nj.tree.leaves(update(x, v)), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")
@pytest.mark.parametrize("update", [
    lambda x, i, v: x.at[i].set(v), lambda x, i, v: x.at[0].set(v),
    lambda x, i, v: lax.dynamic_update_slice(x.astype(v.dtype), v[None], (i,)).astype(x.dtype),
], ids=["index", "known", "slice"])
@pytest.mark.parametrize("narrow, wide", [
    ("float32", "float64"), ("int32", "int64"), ("bfloat16", "float32"), ("int8", "float64")])
def test_an_update_in_a_loop_costs_what_it_changes(update, narrow, wide):
    x, v = jnp.zeros(5000, narrow), jnp.asarray(2, wide)
    fun = lambda x, v: lax.fori_loop(0, 50, lambda i, x: update(x, i, v * x[i]), x)
    got = written(fun, x, v, trips=50)
    assert got.stored <= 500 and got.copied <= 5000


@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")
def test_a_dtype_that_does_not_hold_all_numbers_rounds_them_all():
    x = jnp.asarray([2 ** 24 + 1, 5], jnp.int32)
    fun = lambda x, v: x.at[1].set(v)
    v = jnp.float32(3)
    assert nj.jit(fun)(x, v).tolist() == fun(x, v).tolist() == [2 ** 24, 3]
    assert [e.primitive.name for e in all_eqns(simplify(nj.make_jaxpr(fun)(x, v)).jaxpr)].count("convert_element_type") == 2
