"""Parameters under JAX's names: descriptions of references, arrays of other libraries, errors."""
import functools
import inspect
import pickle
import typing

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


def test_manual_axes_of_descriptions():
    varying = nj.sharding.ManualAxisType(varying={"i"})
    found = nj.ShapeDtypeStruct((2,), np.float32, manual_axis_type=varying)
    assert found.aval.vma == {"i"} and found.aval.manual_axis_type == varying and found.update(shape=(3,)).aval.vma == {"i"}
    assert found != nj.ShapeDtypeStruct((2,), np.float32) and "varying=frozenset({'i'})" in repr(found)
    assert nj.ShapeDtypeStruct((), np.float32).manual_axis_type is None
    with pytest.raises(TypeError, match="manual_axis_type must be a ManualAxisType"):
        nj.ShapeDtypeStruct((), np.float32, manual_axis_type="i")
    with pytest.raises(NotImplementedError, match="unreduced or reduced axes is not supported"):
        nj.ShapeDtypeStruct((), np.float32, manual_axis_type=nj.sharding.ManualAxisType(unreduced={"i"}))
    with pytest.raises(ValueError, match="varying and reduced cannot have common mesh axes"):
        nj.sharding.ManualAxisType(varying={"i"}, reduced={"i"})


def test_parameters_by_name():
    assert dlpack.from_dlpack(external_array=np.arange(3.0, dtype=np.float32)).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="never share memory"):
        dlpack.from_dlpack(np.arange(3.0), copy=False)
    assert str(errors.UnexpectedTracerError(msg="text")).startswith("text")


@pytest.mark.parametrize(("fun", "positional", "by_name"), [
    (jnp.sin, ["x"], []), (jnp.sum, ["a", "axis", "dtype", "out", "keepdims", "initial", "where", "promote_integers"], []),
    (nj.nn.gelu, ["x", "approximate"], []), (nj.nn.softmax, ["x", "axis", "where"], []),
    (jnp.mean, ["a", "axis", "dtype", "out", "keepdims"], ["where"]), (nj.jit(lambda x, *, y=1: x), ["x"], ["y"])],
    ids=lambda x: getattr(x, "__name__", None))
def test_signatures_of_functions_that_are_not_pythons(fun, positional, by_name):
    """As of JAX's: inspect.getfullargspec follows no __wrapped__."""
    spec = inspect.getfullargspec(fun)
    assert (spec.args, spec.kwonlyargs) == (positional, by_name) and spec.varargs is spec.varkw is None
    signature = inspect.signature(fun)
    assert list(signature.parameters) == [*positional, *by_name] and str(signature).startswith(f"({positional[0]}")
    assert pickle.loads(pickle.dumps(signature)) == signature == inspect.signature(functools.wraps(fun)(lambda *a, **k: 0))
    assert list(signature.replace(parameters=()).parameters) == []
    assert list(inspect.signature(functools.partial(fun, 1)).parameters) == [*positional[1:], *by_name]


@pytest.mark.parametrize("transform", [nj.grad, nj.value_and_grad, nj.vmap, nj.jacfwd, nj.jacrev, jnp.vectorize])
def test_annotations_are_those_of_the_function(transform):
    def f(x: float, y: "int" = 0) -> float:
        return x
    made = transform(f)
    assert typing.get_type_hints(made) == {"x": float, "y": int, "return": float}
    assert typing.get_type_hints(transform(lambda x: x)) == {} and list(inspect.signature(made).parameters) == ["x", "y"]


@pytest.mark.parametrize("transform", [nj.grad, nj.value_and_grad, nj.jacfwd, nj.jacrev, nj.hessian])
def test_numbers_of_arguments(transform):
    f = lambda x, y: x * y
    for argnums in (np.int32(1), jnp.int32(1)):
        assert nj.tree.structure(transform(f, argnums=argnums)(2.0, 3.0)) == nj.tree.structure(transform(f, 1)(2.0, 3.0))
    for argnums, text in (((0, 0.5), "'float' object cannot be interpreted as an integer"), ("x", "'str' object cannot"),
                          (None, "'NoneType' object is not iterable"), (0.5, "'float' object is not iterable")):
        with pytest.raises(TypeError, match=text):
            transform(f, argnums=argnums)(2.0, 3.0)
