"""StableHLO text: what is written is what MLIR reads, for every platform; constants are exact."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, all_ops
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.runtime import dispatch
from numjet.testing import records
from numjet.xla import backend, plugin, text

NAMES = sorted(n for n, op in all_ops().items() if not isinstance(op.samples, Missing) and not isinstance(op.hlo, Missing))


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
@pytest.mark.parametrize("name", NAMES)
def test_programs_for_accelerators_are_valid(name, platform):
    """No accelerator is needed to write a program for one; MLIR's verifier checks it."""
    for case in records.cases(all_ops()[name], 2):
        closed = dispatch.one_equation(case.op, [aval_of(x) for x in case.operands], case.params)
        try:
            written = backend.as_text(closed, name, platform)
        except NotImplementedError as error:
            assert "has no counterpart on platform" in str(error) and "device_put" in str(error)
            continue
        plugin.parsed(written)


@pytest.mark.parametrize("value", [0.1, -0.0, 1e-45, 1e38, np.inf, -np.inf, np.nan, 1.5])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_constants_are_exact(value, dtype):
    with nj.enable_x64(True), np.errstate(over="ignore"):
        scalar = np.asarray(value).astype(dtypes.as_dtype(dtype))
        array = np.stack([scalar, np.asarray(1).astype(scalar.dtype), scalar])
        for constant in (scalar, array):
            got = nj.jit(lambda c=constant: jnp.asarray(c), backend="xla_cpu")()
            assert np.asarray(got).tobytes() == constant.tobytes()


def test_types():
    assert text.tensor(ShapedArray((), np.dtype(np.bool_))) == "tensor<i1>"
    assert text.tensor(ShapedArray((2, 0), dtypes.bfloat16)) == "tensor<2x0xbf16>"
    assert text.tensor(ShapedArray((3,), np.dtype(np.complex64))) == "tensor<3xcomplex<f32>>"
    assert text.tensor(ShapedArray((3,), dtypes.key_dtype)) == "tensor<3xui64>"


def test_attributes():
    assert text.attribute((1, 2)) == "array<i64: 1, 2>" and text.attribute(()) == "array<i64>"
    assert text.attribute(True) == "true" and text.attribute(3) == "3 : i64"
    assert text.quoted('a"b\n') == '"a\\22b\\0A"'
