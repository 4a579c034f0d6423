"""IndexError of x[i] out of bounds: outside of jit by default, in compiled programs by the flag numjet_index_checks."""
from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.compiler import optimized
from numjet.cpu.ir.nodes import If
from numjet.cpu.ir.printer import show
from numjet.cpu.ir.traversal import walk
from numjet.cpu.native_code import jit
from numjet.cpu.verification.verifier import check
from numjet.experimental import checkify
from numjet.foundation.config import index_checks
from numjet.transforms.simplify import simplify

X = jnp.arange(5.0)
M = jnp.ones((3, 4))
I = jnp.array
LARGE = jnp.zeros(100_000, jnp.int32).at[77].set(9)

EAGER = {
    "array": (lambda: X[I([1, 7])], "index 7 is out of bounds for axis 0 with size 5"),
    "negative": (lambda: X[I([1, -6])], "index -6 is out of bounds for axis 0 with size 5"),
    "number": (lambda: X[7], "index 7 is"),
    "NumPy's number": (lambda: X[np.int64(-6)], "index -6 is"),
    "scalar": (lambda: X[jnp.int32(5)], "index 5 is"),
    "list": (lambda: X[[0, 9],], "index 9 is"),
    "second axis": (lambda: M[1, None, I([4])], "index 4 is out of bounds for axis 1 with size 4"),
    "beside a slice": (lambda: M[:, I([[0, -5]])], "index -5 is out of bounds for axis 1 with size 4"),
    "beside a mask": (lambda: M[np.array([True, False, True]), I([0, 8])], "index 8 is out of bounds for axis 1"),
    "after a mask of rank 0": (lambda: M[True, I([3])], "index 3 is out of bounds for axis 0 with size 3"),
    "large": (lambda: X[LARGE], "index 9 is"),
    "unsigned": (lambda: X[np.array([2 ** 64 - 1], np.uint64)], "index 18446744073709551615 is"),
}
JITTED = {
    "array": (lambda x, i: x[i], (X, I([1, 7])), "index 7 is out of bounds for axis 0 with size 5, at .*test_index_checks.py:"),
    "number": (lambda x: x[7], (X,), "index 7 is"),
    "scalar": (lambda x, i: x[i], (X, -6), "index -6 is"),
    "second axis": (lambda m, i, j: m[i, :, None][..., j], (M, I([0, 2]), I([1])),
                    "index 1 is out of bounds for axis 2 with size 1"),
    "vmap": (nj.vmap(lambda m, i: m[i], (None, 0)), (M, I([0, 3])), "index 3 is out of bounds for axis 0 with size 3"),
    "gradient": (nj.grad(lambda x, i: x[i].sum()), (X, I([7])), "index 7 is"),
    "scan": (lambda x, i: lax.scan(lambda c, k: (c + x[k], c), 0.0, i), (X, I([0, 2, 9])), "index 9 is"),
    "while": (lambda x: lax.while_loop(lambda s: s[0] < 8, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0)), (X,), "index 5 is"),
    "taken branch": (lambda x, i: lax.cond(i > 5, lambda: x[i], lambda: 0.0), (X, 9), "index 9 is"),
    "small integers": (lambda x, i: x[i], (X, I([255], jnp.uint8)), "index 255 is"),
    "large": (lambda x, i: x[i].sum(), (X, LARGE), "index 9 is"),
}
INSIDE = {
    "array": (lambda x, i: x[i], (X, I([4, -5]))),
    "narrow integers": (lambda x, i: x[i], (jnp.arange(200.0), I([-128, 127], jnp.int8))),
    "other branch": (lambda x, i: lax.cond(i < 5, lambda: x[i], lambda: -1.0), (X, 9)),
    "not needed": (lambda x, i: (x[i], x)[1], (X, 9)),
    "no index": (lambda x, i: x[i], (X, jnp.zeros((0,), jnp.int32))),
    "scan": (lambda m, i: lax.scan(lambda c, k: (c + m[k], c.sum()), m[0], i), (M, I([0, 2]))),
    "mode": (lambda x, i: x.at[i].get(mode="clip"), (X, I([9]))),
    "fill": (lambda x, i: x.at[i].get(mode="fill", fill_value=0), (X, I([9]))),
    "take": (lambda x, i: jnp.take(x, i, mode="clip"), (X, I([9]))),
    "second derivative": (nj.jacfwd(nj.grad(lambda x, i: (x[i] ** 3).sum())), (X, I([0, -1]))),
    "vmap of scan": (nj.vmap(lambda s: lax.scan(lambda c, i: (c + X[i], c), s, I([0, 2, 4]))[0]), (X,)),
}


@pytest.mark.parametrize("name", EAGER)
def test_outside_of_jit(name):
    read, message = EAGER[name]
    with pytest.raises(IndexError, match=message):
        read()
    with index_checks("off"):
        read()


@pytest.mark.parametrize("name", JITTED)
def test_compiled_programs_check_if_asked(name):
    fun, args, message = JITTED[name]
    clipped = nj.jit(fun)(*args)
    with index_checks("all"):
        jitted = nj.jit(fun)
        with pytest.raises(IndexError, match=message):
            nj.block_until_ready(jitted(*args))
    nj.tree.map(np.testing.assert_array_equal, nj.jit(fun)(*args), clipped)


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_in_bounds_or_has_a_mode_stays(name):
    fun, args = INSIDE[name]
    expected = nj.jit(fun)(*args)
    with index_checks("all"):
        nj.tree.map(np.testing.assert_array_equal, nj.jit(fun)(*args), expected)


def test_programs_change_only_if_asked():
    assert "check_index" not in str(nj.make_jaxpr(lambda x, i: x[i])(X, I([1])))
    with index_checks("all"):
        assert str(nj.make_jaxpr(lambda x, i: x[i])(X, I([1]))).count("check_index") == 1


def test_updates_out_of_bounds_are_dropped():
    assert X.at[I([1, 7])].set(9.0).tolist() == [0.0, 9.0, 2.0, 3.0, 4.0]


def test_programs_that_import_jax_clip():
    program = "import numjet.as_jax, jax.numpy as jnp\nprint(jnp.arange(5.)[jnp.array([1, 7])].tolist())"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[1.0, 4.0]\n"


@pytest.mark.parametrize("fun", [
    lambda x: x + 2 ** 40, lambda x: -2 ** 31 - 1 - x, lambda x: x * 2 ** 64, lambda x: jnp.maximum(x, 2 ** 31),
    lambda x: x < 2 ** 40, lambda x: lax.max(x, 2 ** 40), lambda x: x[2 ** 40],
    lambda x: jnp.where(x > 0, x, 2 ** 40), lambda x: jnp.hypot(x, 2 ** 40)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_large_python_integers_as_operands(fun, dtype):
    """They are integers first, as JAX has them."""
    for call in (fun, nj.jit(fun)):
        with pytest.raises(OverflowError):
            call(jnp.ones(3, dtype))


def test_large_python_integers_with_64_bits():
    with nj.enable_x64():
        assert (jnp.ones(1) + 2 ** 40).tolist() == [2.0 ** 40 + 1]
        with pytest.raises(OverflowError):
            jnp.ones(1) + 2 ** 64
    with pytest.raises(OverflowError):
        jnp.ones(1) + 2 ** 40


def test_large_python_integers_as_values():
    """What names the dtype takes any integer."""
    for made in (jnp.full(2, 2 ** 40, "float32"), jnp.full_like(X[:2], 2 ** 40), jnp.array([2 ** 40] * 2, "float32")):
        assert made.tolist() == [2.0 ** 40] * 2


def test_programs_that_import_numjet_as_jax_read_the_nearest_element(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=nj.Array))
    assert X[7].item() == 4.0 and X[I([1, 7])].tolist() == [1.0, 4.0]
    with index_checks("all"), pytest.raises(IndexError, match="index 7 is out of bounds"):
        X[I([1, 7])]
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=object))  # another library of that name
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        X[I([1, 7])]


def loop_ir(fun, *args):
    """The loop IR of a function, without what is hardly ever run."""
    function, _ = optimized(simplify(nj.make_jaxpr(fun)(*args)), "f", jit.host())
    assert show(check(function)).count("rarely") == sum(isinstance(s, If) and s.rare for s in walk(function.body))
    for stmt in walk(function.body):
        if isinstance(stmt, If) and stmt.rare:
            stmt.then.clear()
    return show(function)


CHECKED = {
    "the flag": lambda fun, *args: loop_ir(fun, *args),
    "checkify": lambda fun, *args: loop_ir(checkify.checkify(fun, errors=checkify.index_checks), *args),
}
SMALL = jnp.arange(1000, dtype=jnp.int32)


@pytest.mark.parametrize("way", CHECKED)
def test_a_gather_is_checked_by_one_operation_for_each_index(way):
    """In the loop that gathers, flat or row by row."""
    rows, many = jnp.ones((64, 100)), jnp.zeros((64, 5000), jnp.int32)
    for fun, args in ((lambda x, i: x[i], (X, LARGE)), (lambda x, i: x[i], (jnp.ones((3000, 4)), LARGE)),
                      (nj.vmap(lambda x, i: x[i]), (rows, many))):
        plain = loop_ir(fun, *args)
        with index_checks("all" if way == "the flag" else "off"):
            text = CHECKED[way](fun, *args)
        loops = [line for line in text.split("\n") if " for " in line and "partial" not in line]
        combined = text.count("combine max")
        assert text.count("rarely") == 1 and 1 <= combined <= 2 and "combine min" not in text   # and over chunks
        assert len(loops) <= plain.count(" for ") + 1


@pytest.mark.parametrize("way", CHECKED)
@pytest.mark.parametrize("fun", [lambda x, i: lax.scan(lambda c, k: (c + x[k], None), 0.0, i)[0],
                                 lambda x, i: lax.fori_loop(0, 1000, lambda k, c: c + x[i[k]] * k, 0.0)])
def test_a_step_is_checked_by_one_comparison(way, fun):
    """It takes the place of what moves the index into bounds."""
    plain = loop_ir(fun, X, SMALL)
    with index_checks("all" if way == "the flag" else "off"):
        text = CHECKED[way](fun, X, SMALL)
    assert text.count("rarely") == 1 and text.count("le(bitcast.uint32(") == 1
    assert "max(" in plain and text.count("max(min(int64(v") == 0


def test_a_check_that_cannot_fail_leaves_no_trace():
    fun = lambda x: lax.fori_loop(0, 5, lambda k, x: x.at[k].set(x[k] * x[4 - k]), x)
    plain = loop_ir(fun, X)
    with index_checks("all"):
        assert loop_ir(fun, X) == plain
    assert "lt(" not in plain and "if" not in plain   # the index is not counted from the end, and no update dropped
