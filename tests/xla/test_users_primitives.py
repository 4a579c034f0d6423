"""Primitives that users define, compiled by XLA from the same lowering rules."""
import functools

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core.primitive import Primitive
from numjet.interpreters import ad, batching, mlir, xla

XS = np.linspace(0.1, 1.5, 6, dtype=np.float32)


def wave() -> Primitive:
    prim = Primitive("wave")
    prim.def_abstract_eval(lambda x, *, k: x)
    prim.def_impl(functools.partial(xla.apply_primitive, prim))
    ad.defjvp(prim, lambda t, x, *, k: t * k * jnp.cos(x))
    batching.defvectorized(prim)
    return prim


@pytest.mark.parametrize("platform", [None, "cpu"])
def test_lowering_rules(platform) -> None:
    prim = wave()
    mlir.register_lowering(prim, mlir.lower_fun(lambda x, *, k: k * jnp.sin(x), multiple_results=False), platform)
    x = nj.device_put(XS, nj.devices("xla_cpu")[0])
    f = lambda v: prim.bind(v, k=2.0)
    np.testing.assert_allclose(nj.jit(f)(x), 2 * np.sin(XS), rtol=1e-6)
    np.testing.assert_allclose(nj.jit(nj.vmap(nj.grad(f)))(x), 2 * np.cos(XS), rtol=1e-6)


def test_a_rule_of_another_platform() -> None:
    prim = wave()
    mlir.register_lowering(prim, mlir.lower_fun(lambda x, *, k: x, multiple_results=False), platform="tpu")
    with pytest.raises(NotImplementedError, match="not found for platform cpu"):
        nj.jit(lambda v: prim.bind(v, k=2.0))(nj.device_put(XS, nj.devices("xla_cpu")[0]))
