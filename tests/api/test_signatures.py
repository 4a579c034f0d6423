"""Parameters under JAX's names: descriptions of references, arrays of other libraries, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import dlpack, errors

REF = nj.ShapeDtypeStruct((3,), np.float32, is_ref=True)


def doubled(r):
    r[...] = r[...] * 2
    return r[0]


def test_descriptions_of_references():
    plain = nj.ShapeDtypeStruct((3,), np.float32)
    assert repr(REF) == "ShapeDtypeStruct(shape=(3,), dtype=float32, is_ref=True)"
    assert plain != REF and REF.update(is_ref=False) == plain and hash(REF.update(shape=(4,))) != hash(REF)
    assert nj.jit(doubled).eval_shape(REF).shape == () == nj.eval_shape(doubled, REF).shape
    ref = nj.new_ref(jnp.ones(3))
    assert nj.jit(doubled).lower(REF).compile()(ref) == 2 and ref[...].tolist() == [2, 2, 2]
    assert "mul" in str(nj.make_jaxpr(doubled)(REF))


def test_manual_axes_are_refused():
    assert nj.ShapeDtypeStruct((), np.float32).manual_axis_type is None
    with pytest.raises(NotImplementedError, match="leave out manual_axis_type"):
        nj.ShapeDtypeStruct((), np.float32, manual_axis_type="i")


def test_parameters_by_name():
    assert dlpack.from_dlpack(external_array=np.arange(3.0, dtype=np.float32)).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="never share memory"):
        dlpack.from_dlpack(np.arange(3.0), copy=False)
    assert str(errors.UnexpectedTracerError(msg="text")).startswith("text")
