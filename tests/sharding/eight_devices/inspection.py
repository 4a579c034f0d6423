"""Pictures of placements, inspection of shardings, and functions that say how they are divided."""

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental.custom_partitioning import ArrayMapping, CompoundFactor, SdyShardingRule, custom_partitioning
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(nj.devices()).reshape(4, 2), ("x", "y"))
WHOLE = np.arange(64, dtype=np.float32).reshape(8, 8)


def over(*spec):
    return NamedSharding(MESH, P(*spec))


def test_pictures(capsys):
    nj.debug.visualize_array_sharding(nj.device_put(WHOLE, over("x", "y")))
    assert (
        capsys.readouterr().out
        == """\
┌──────────┬──────────┐
│  CPU 0   │  CPU 1   │
├──────────┼──────────┤
│  CPU 2   │  CPU 3   │
├──────────┼──────────┤
│  CPU 4   │  CPU 5   │
├──────────┼──────────┤
│  CPU 6   │  CPU 7   │
└──────────┴──────────┘
"""
    )
    nj.debug.visualize_sharding((8,), over("y"))
    assert (
        capsys.readouterr().out
        == """\
┌───────────┬───────────┐
│CPU 0,2,4,6│CPU 1,3,5,7│
└───────────┴───────────┘
"""
    )
    with pytest.raises(ValueError, match="only works for shapes with 1 and 2 dimensions"):
        nj.debug.visualize_sharding((2, 2, 2), over("y"))


def test_shardings_are_told_when_a_program_is_compiled():
    told = []

    def f(x):
        y = x @ x.T
        nj.debug.inspect_array_sharding(y, callback=told.append)
        return jnp.sin(y).sum()

    nj.jit(f)(nj.device_put(WHOLE, over("x", "y")))
    assert told == [over("x")]
    nj.jit(nj.grad(f))(WHOLE)
    assert told[1].device_set == {nj.devices()[0]}
    nj.debug.inspect_array_sharding({"a": nj.device_put(WHOLE, over("y"))}, callback=told.append)
    assert told[2] == over("y")


def _transform(rule, **kinds):
    asked = []

    @custom_partitioning
    def transform(x):
        return jnp.fft.fft(x)

    def partition(mesh, args, result):
        asked.append((args[0].sharding.spec, result.sharding.spec))
        rows = NamedSharding(mesh, P(*args[0].sharding.spec[:1]))
        return mesh, lambda x: jnp.fft.fft(x), rows, (rows,)

    transform.def_partition(partition, sharding_rule=rule, **kinds)
    return transform, asked


@pytest.mark.parametrize("rule", ["... i -> ... i", lambda mesh, operands, results: "b i -> b i"])
def test_a_function_says_how_it_is_divided(rule):
    transform, asked = _transform(rule)
    x = nj.device_put(WHOLE.astype(np.complex64), over("x", "y"))
    for f in (transform, nj.jit(transform)):
        np.testing.assert_allclose(f(x), np.fft.fft(WHOLE), rtol=1e-5, atol=1e-4)
    assert asked[0][0] == P("x", "y")
    np.testing.assert_allclose(nj.jit(transform)(WHOLE), np.fft.fft(WHOLE), rtol=1e-5, atol=1e-4)
    assert "need_replication={j}" in nj.jit(_transform("b i -> b i", need_replication_factors=("i",))[0]).lower(x).as_text()


def test_several_operands_results_and_static_arguments():
    def product(transposed, x, w):
        return {"product": x @ (w.T if transposed else w), "sum": x.sum(1)}

    f = custom_partitioning(product, static_argnums=(0,))

    def partition(transposed, mesh, args, result):
        ins = NamedSharding(mesh, P(args[0].sharding.spec[0] if args[0].sharding.spec else None)), NamedSharding(mesh, P())
        outs = {"product": ins[0], "sum": ins[0]}
        return mesh, lambda x, w: product(transposed, x, w), outs, ins

    f.def_partition(
        partition,
        sharding_rule=SdyShardingRule(
            (ArrayMapping("i", "k"), ArrayMapping("k", "j")),
            (ArrayMapping("i", "j"), ArrayMapping("i")),
            reduction_factors=("k",),
        ),
    )
    out = nj.jit(f, static_argnums=0)(True, nj.device_put(WHOLE, over("x")), WHOLE)
    np.testing.assert_allclose(out["product"], WHOLE @ WHOLE.T, rtol=1e-6)
    np.testing.assert_allclose(out["sum"], WHOLE.sum(1), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i j", "There is no -> in rule"),
        ("i -> (j", "Brackets are not balanced"),
        ("i (j k) -> i", "must specify its size"),
        ("... ... -> i", "at the beginning"),
        ("1 -> i", "start with a letter"),
    ],
)
def test_errors_of_rules(text, message):
    with pytest.raises(ValueError, match=message):
        _transform(text)
    with pytest.raises(TypeError, match="rule must be a str"):
        custom_partitioning(lambda x: x).def_partition(lambda *given: None, sharding_rule=3)
    with pytest.raises(ValueError, match="at least two factors"):
        CompoundFactor("i")


def test_errors_of_functions():
    x = nj.device_put(WHOLE, over("x"))
    with pytest.raises(ValueError, match="has no partition function"):
        custom_partitioning(lambda x: x)(x)
    with pytest.raises(ValueError, match="has rank 1, but the operation has rank 2"):
        nj.jit(_transform("i -> i")[0])(x)
    transform, _ = _transform("... -> ...")
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'custom_partitioning' not implemented"):
        nj.grad(lambda x: abs(transform(x)).sum())(WHOLE)
    wrong = custom_partitioning(lambda x: x * 2)
    wrong.def_partition(
        lambda mesh, args, result: (mesh, lambda x: x[:1], result.sharding, (args[0].sharding,)), sharding_rule="i j -> i j"
    )
    with pytest.raises(nj.errors.JaxRuntimeError, match="Mismatch in result shapes"):
        nj.jit(wrong)(x)


def test_shard_map_under_its_former_name():
    from numjet.experimental.shard_map import shard_map

    assert float(shard_map(lambda a: nj.lax.psum(a.sum(), ("x", "y")), MESH, P("x", "y"), P())(WHOLE)) == WHOLE.sum()
