"""Single elements are computed again where that spares an array, and checks of indices store none."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.passes import single_elements
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import check
from numjet.experimental import checkify

TEXT = """function f(x: int32[8], k: int32[1]) -> (y: int32[8], z: int32[1]) scratch 0 {
  temp t: int32[8]
  for i in 0 .. 8 vector () {
    store t[i] = add(x[i], 3:int32)
    store y[i] = mul(t[i], %s)
  } -> ()
  %s
}
"""


@pytest.mark.parametrize(("factor", "reader", "replaced"), [
    ("2:int32", "store z[0] = t[int64(k[0])]", True),
    ("2:int32", "if gt(k[0], 0:int32) {\n    store z[0] = t[2]\n    yield ()\n  } else {\n    yield ()\n  } -> ()", True),
    ("t[sub(7, i)]", "store z[0] = t[int64(k[0])]", False),    # another iteration reads it, too
    ("2:int32", "for j in 0 .. 1 serial () {\n    store z[0] = t[3]\n  } -> ()", False),
])
def test_reads_outside_of_loops(factor, reader, replaced):
    function, same = parse(TEXT % (factor, reader)), parse(TEXT % (factor, reader))
    single_elements.compute_again(function)
    check(function)
    assert (show(function) != show(same)) == replaced
    given = [np.arange(8, dtype=np.int32), np.array([5], np.int32)]
    for got, want in zip(interpret(function, given).outputs, interpret(same, given).outputs, strict=True):
        np.testing.assert_array_equal(got, want)


def test_checked_gathers():
    run = nj.jit(checkify.checkify(lambda x, i: (x[i], x[i[0], 1]), errors=checkify.index_checks))
    x = jnp.arange(30.0).reshape(10, 3)
    for at, message in (([1, 9, -10], None), ([0, 10, 11], "10"), ([3, -12, 99], "-2")):
        error, (rows, _) = run(x, jnp.array(at))
        assert (error.get() is None) == (message is None) and rows.shape == (3, 3)
        assert message is None or f"index {message} " in error.get()
    errors, _ = nj.vmap(run, (None, 0))(x, jnp.array([[1, 2], [3, 44]]))
    assert "44" in errors.get()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize("n", [1, 7, 16, 63, 65, 129, 1000])
def test_any_and_all_beside_sums(n, dtype):
    x = (np.arange(n) % 100).astype(dtype)
    run = nj.jit(lambda x: ((x > 110).any(), (x < 110).all(), (x == x[n // 2]).any(), jnp.sum(x * 0 + 1), (x > 40).sum()))
    x = np.asarray(jnp.asarray(x))
    assert [v.item() for v in run(x)] == [False, True, True, *(v.item() for v in (jnp.sum(x * 0 + 1), (x > 40).sum()))]
    x = x.copy()
    x[-1] = 120
    assert [bool(v) for v in run(x)[:2]] == [True, False]
