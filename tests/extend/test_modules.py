"""Flat functions, source information, keys, backends, and what is refused when it is used."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.extend as extend
import numjet.numpy as jnp
from numjet.extend import backend, linear_util as lu, source_info_util

# ------------------------------------------------------------------------------------------------ linear_util

@lu.transformation
def scaled(k: int, *args: int) -> Iterator[Any]:
    result = yield [k * a for a in args], {}
    yield result + 1


@lu.transformation_with_aux
def with_count(*args: int) -> Iterator[Any]:
    result = yield args, {}
    yield result, len(args)


@lu.transformation2
def doubled(f: Callable[..., int], *args: int) -> int:
    return 2 * f(*args)


@lu.transformation_with_aux2
def with_sum(f: Callable[..., int], store: Any, *args: int) -> int:
    store.store(sum(args))
    return f(*args)


def test_transformations_compose_outwards() -> None:
    fun = lu.wrap_init(lambda x, y, z=0: x * y + z, {"z": 5})
    assert fun.call_wrapped(2, 3) == 11 and fun.__name__ == "<lambda>"
    assert scaled(fun, 10).call_wrapped(2, 3) == 20 * 30 + 5 + 1
    assert doubled(scaled(fun, 10)).call_wrapped(2, 3) == 2 * 606
    assert scaled(doubled(fun), 10).call_wrapped(2, 3) == 2 * 605 + 1


def test_auxiliary_output() -> None:
    fun, count = with_count(lu.wrap_init(max))
    fun, total = with_sum(fun)
    with pytest.raises(lu.StoreException, match="has not run"):
        count()
    assert (fun.call_wrapped(1, 5, 3), count(), total()) == (5, 3, 9)
    with pytest.raises(lu.StoreException, match="already there"):
        fun.call_wrapped(1, 2)
    _, other = with_count(lu.wrap_init(min))
    assert lu.merge_linear_aux(count, other) == (True, 3) and lu.merge_linear_aux(other, count) == (False, 3)
    with pytest.raises(lu.StoreException, match="both"):
        lu.merge_linear_aux(count, total)


def test_cached_calls() -> None:
    runs: list[int] = []

    @lu.cache
    def run(fun: Any, x: int) -> int:
        runs.append(x)
        return fun.call_wrapped(x)

    def square(x: int) -> int:
        return x * x

    first, aux = with_count(lu.wrap_init(square))
    again, aux_again = with_count(lu.wrap_init(square))
    assert [run(first, 3), run(again, 3), run(lu.wrap_init(square), 4)] == [9, 9, 16]
    assert (runs, aux(), aux_again()) == ([3, 4], 1, 1)
    assert lu.wrap_init(square) == lu.wrap_init(square) and hash(lu.wrap_init(square)) == hash(lu.wrap_init(square))
    run.cache_clear()
    run(lu.wrap_init(square), 4)
    assert runs == [3, 4, 4]


# ------------------------------------------------------------------------------------------------ source information

def test_source_information() -> None:
    eqn = nj.make_jaxpr(jnp.sin)(1.0).eqns[0]
    info = eqn.source_info
    assert "test_modules.py" in source_info_util.summarize(info) and len(info.name_stack) == 0
    with source_info_util.user_context(info.traceback, name_stack=source_info_util.new_name_stack("outer")):
        copy = nj.make_jaxpr(lambda x: x + 1)(1.0).eqns[0]
        assert str(source_info_util.current_name_stack() + source_info_util.new_name_stack("inner")) == "outer/inner"
    assert copy.source == eqn.source and source_info_util.current_name_stack() == source_info_util.new_name_stack()
    with source_info_util.extend_name_stack("a") as stack, source_info_util.transform_name_stack("vmap"):
        assert str(stack) == "a" and str(source_info_util.current_name_stack()) == "a/vmap()"
        with source_info_util.reset_name_stack():
            assert not len(source_info_util.current_name_stack())
    assert source_info_util.new_source_info().replace(name_stack=source_info_util.new_name_stack("x")).traceback is None
    assert "test_modules.py" in source_info_util.summarize(source_info_util.current())


# ------------------------------------------------------------------------------------------------ keys

def test_keys() -> None:
    random = extend.random
    assert (random.random_seed(3, random.threefry_prng_impl) == nj.random.key(3)).all()
    many = random.seed_with_impl(random.threefry_prng_impl, jnp.arange(3))
    np.testing.assert_array_equal(nj.random.key_data(many), nj.random.key_data(nj.vmap(nj.random.key)(jnp.arange(3))))
    words = random.threefry_2x32(jnp.zeros(2, jnp.uint32), jnp.arange(4, dtype=jnp.uint32))
    assert words.tolist() == [4146024105, 967050713, 2718843009, 1272950319]
    assert random.threefry_2x32(jnp.zeros(2, jnp.uint32), jnp.arange(3, dtype=jnp.uint32).reshape(3, 1)).shape == (3, 1)
    with pytest.raises(TypeError, match="takes uint32 words"):
        random.threefry_2x32(jnp.zeros(2), jnp.arange(4))
    with pytest.raises(NotImplementedError, match="2 or 4 words"):
        random.define_prng_impl(key_shape=(1,), seed=None, split=None, random_bits=None, fold_in=None)


# ------------------------------------------------------------------------------------------------ backends

def test_backends() -> None:
    cpu = backend.get_backend("cpu")
    assert backend.backends()["cpu"] == cpu == backend.get_backend(cpu)
    assert (cpu.platform, cpu.device_count(), cpu.devices(), cpu.process_index()) == ("cpu", 1, nj.devices("cpu"), 0)
    assert backend.get_default_device() == nj.devices()[0] and backend.backend_xla_version() is None
    with pytest.raises(RuntimeError, match="Unknown backend 'abacus'"):
        backend.get_backend("abacus")
    cleared = []

    class Cache:
        def cache_clear(self) -> None:
            cleared.append(1)

    cache = Cache()
    assert backend.register_backend_cache(cache, "a test") is cache
    backend.clear_backends()
    backend._users_caches.pop()
    assert cleared == [1] and float(nj.jit(lambda x: x + 1)(1.0)) == 2


REFUSED: dict[str, Callable[[], Any]] = {
    "GridMapping": lambda: extend.pallas.GridMapping((), (), (), None, (), (), (), 0, 0, 0),
    "Pallas rule": lambda: extend.pallas.register_lowering_rule(int, None, "gpu"),
    "dialects": lambda: extend.mlir.dialects.stablehlo,
    "StableHLO": lambda: extend.mlir.hlo_to_stablehlo(b""),
    "context": extend.lowering.JaxIrContext,
    "GSPMDSharding": extend.sharding.GSPMDSharding,
    "shardings": lambda: extend.sharding.get_serialized_proto_from_hlo_sharding(None),
    "passes": lambda: extend.xla.register_hlo_module_transformation(None, name="x"),
    "no passes": lambda: extend.xla.clear_hlo_module_transformation("x"),
    "factory": lambda: backend.register_backend_factory("x", None),
    "compile options": lambda: backend.get_compile_options(1, 1),
    "proxy": lambda: backend.ifrt_proxy.get_client("x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_used(name: str) -> None:
    with pytest.raises(NotImplementedError):
        REFUSED[name]()
