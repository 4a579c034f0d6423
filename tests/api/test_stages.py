"""Stages of ahead-of-time compilation: what each shows of the call, texts and objects of all dialects, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import stages


@pytest.fixture(scope="module")
def traced():
    fun = nj.jit(lambda x, y, *, n, unused=0: {"r": (x + y["a"]) * n}, donate_argnums=0, static_argnames="n")
    return fun.trace(jnp.ones(3), {"a": 1}, n=2, unused=1.0)


def test_all_stages_show_arguments_and_results(traced):
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        (x, y), named = stage.in_avals
        assert (x.shape, y["a"].dtype, y["a"].weak_type, named["unused"].shape) == ((3,), "int32", True, ())
        (info, other), _ = stage.args_info
        assert (info.shape, info.dtype, info.donated, other["a"].donated) == ((3,), "float32", True, False)
        assert stage.donate_argnums == (0,)
        assert stage.out_avals["r"].shape == stage.out_info["r"].shape == (3,)
        assert nj.tree.structure(((0, {"a": 0}), {"unused": 0})) == stage.in_tree
        assert nj.tree.structure({"r": 0}) == stage.out_tree
    assert len(traced.jaxpr.jaxpr.invars) == 3 and traced.fun_name == "<lambda>"


def test_compiled_calls(traced):
    compiled = traced.lower().compile()
    assert compiled(jnp.ones(3), {"a": 1}, unused=0.0)["r"].tolist() == [4, 4, 4]
    assert compiled.call(jnp.zeros(3), {"a": 1}, unused=0.0)["r"].tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"does not match the input pytree.*\n.*at args, seen tuple of length 2"):
        compiled(jnp.ones(3), unused=0.0)
    with pytest.raises(TypeError, match=r"Argument 'x' compiled with float32\[3\] and called with float32\[4\]"):
        compiled(jnp.ones(4), {"a": 1}, unused=0.0)
    with pytest.raises(TypeError, match="Argument 'unused' compiled with"):
        compiled(jnp.ones(3), {"a": 1}, unused=jnp.ones(2))
    with pytest.raises(TypeError, match="Cannot apply JAX transformations"):
        nj.grad(lambda x: compiled(x, {"a": 1}, unused=0.0)["r"].sum())(jnp.ones(3))
    assert compiled.runtime_executable() is not None and "define" in compiled.as_text()


def test_dialects(traced):
    lowered = traced.lower()
    assert lowered.compiler_ir("jaxpr") is lowered.jaxpr and str(lowered.jaxpr) == lowered.as_text("jaxpr")
    assert lowered.as_text() == lowered.as_text("stablehlo") and lowered.as_text("loops").startswith("function")
    assert lowered.compiler_ir("loops").name in lowered.as_text("loops")
    assert "stablehlo.multiply" in lowered.as_text("stablehlo")
    for show in (lowered.as_text, lowered.compiler_ir):
        with pytest.raises(ValueError, match=r"unknown dialect: mhlo\. Expected one of 'loops'"):
            show("mhlo")


def test_dialects_of_jaxlib(traced):
    pytest.importorskip("jaxlib")
    lowered = traced.lower()
    assert "stablehlo.multiply" in str(lowered.compiler_ir("stablehlo"))
    assert "HloModule" in lowered.as_text("hlo")
    assert "HloModule" in lowered.compiler_ir("hlo").as_hlo_text()


def test_lowering_platforms(traced):
    text = traced.lower(lowering_platforms=("cuda", "tpu")).as_text()
    assert "// platform cuda" in text and "// platform tpu" in text and text.count("func.func public") == 2
    assert traced.lower(lowering_platforms=("tpu", "cpu")).compile() is not None
    with pytest.raises(ValueError, match="lowered for tpu, but the arguments are on cpu:0"):
        traced.lower(lowering_platforms=("tpu",)).compile()
    with pytest.raises(ValueError, match="one program per platform"):
        traced.lower(lowering_platforms=("cuda", "tpu")).compiler_ir()
    for bad in (("abacus",), ()):
        with pytest.raises(ValueError, match="must name some of cpu"):
            traced.lower(lowering_platforms=bad)
    with pytest.raises(TypeError, match="_private_parameters"):
        traced.lower(_private_parameters=1)


def test_options_are_refused(traced):
    with pytest.raises(nj.errors.JaxRuntimeError, match="No such compile option: 'fast'"):
        traced.lower().compile({"fast": True})
    with pytest.raises(ValueError, match="device_assignment calculated from array shardings"):
        traced.lower().compile(device_assignment=(nj.Device("cpu", 1),))


def test_wrapped():
    class Mine:
        def __call__(self):
            return 1

        def trace(self):
            return 2

        def lower(self):
            return 3
    assert isinstance(nj.jit(abs), stages.Wrapped) and isinstance(Mine(), stages.Wrapped)
    assert not isinstance(abs, stages.Wrapped)


def test_all_arrays_that_a_function_closes_over_are_constants_of_its_jaxpr():
    """Whatever their values: programs of the same function of other arrays have the same constants."""
    scalar, vector = jnp.array(3), jnp.zeros(3)
    closed = nj.make_jaxpr(lambda x: x * scalar + vector + np.float32(1))(1.0)
    assert sorted(np.shape(c) for c in closed.consts) == [(), (3,)]
    assert nj.make_jaxpr(lambda x: x + 1)(1.0).consts == []


def test_descriptions_stand_for_values_where_shapes_are_asked_for():
    inner = nj.jit(lambda x: x + 1)
    assert nj.eval_shape(lambda: inner(nj.ShapeDtypeStruct((2,), jnp.float32))).shape == (2,)
    with pytest.raises(TypeError):
        inner(nj.ShapeDtypeStruct((2,), jnp.float32))


def test_device_put_copies_where_aliases_are_refused():
    x = nj.device_put(jnp.arange(3), nj.devices()[0])
    assert nj.device_put(x, may_alias=True) is x
    copy = nj.device_put(x, may_alias=False)
    assert copy is not x and copy.tolist() == [0, 1, 2] and copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match=r"may_alias and donate cannot be True at the same time\."):
        nj.device_put(x, may_alias=True, donate=True)


def test_the_number_of_devices_is_settled_once_they_are_listed():
    nj.devices()
    with pytest.raises(RuntimeError, match="jax_num_cpu_devices config should be updated before backends are initialized"):
        nj.config.update("jax_num_cpu_devices", nj.config.jax_num_cpu_devices + 1)
    nj.config.update("jax_num_cpu_devices", nj.config.jax_num_cpu_devices)


def test_eval_shape_says_out_shardings():
    s = nj.sharding.SingleDeviceSharding(nj.devices()[0])
    assert nj.jit(lambda x: {"a": x * 2}, out_shardings=s).eval_shape(np.arange(8))["a"].sharding == s
    assert nj.jit(lambda x: x).eval_shape(1.0).sharding is None


def test_a_numpy_array_that_is_read_and_returned_is_one_constant():
    c = np.ones(3, np.float32)
    closed = nj.make_jaxpr(lambda: (jnp.array(c), jnp.sum(c), c, c))()
    assert len(closed.consts) == 1
    first, second = nj.jit(lambda: (c, c))()
    c[:] = 5
    assert first.tolist() == second.tolist() == [1, 1, 1]


def paths_of(program):
    return program.debug_info.result_paths


def test_programs_name_the_leaves_of_their_results():
    def f(x, *, y):
        return {"sum": x + y, "both": (x, [y])}
    program = nj.jit(f).trace(1.0, y=2.0).jaxpr
    assert paths_of(program) == paths_of(program.jaxpr) == ("result['both'][0]", "result['both'][1][0]", "result['sum']")
    assert paths_of(nj.make_jaxpr(f)(1.0, y=2.0)) == paths_of(program)
    branches = nj.make_jaxpr(lambda x: nj.lax.cond(x > 0, lambda a: (a + 1, a * 2), lambda b: (b * 3, b - 1), x))(1.0).eqns[-1]
    assert [paths_of(b) for b in branches.params["branches"]] == [("result[0]", "result[1]")] * 2
    loop = nj.make_jaxpr(lambda x: nj.lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))(1.0).eqns[-1]
    assert paths_of(loop.params["body_jaxpr"]) == ("result",)


def test_derived_programs_with_other_results_name_none():
    call = nj.make_jaxpr(lambda x: nj.jvp(nj.jit(lambda y: nj.lax.sin(y)), (x,), (x,)))(1.0).eqns[0]
    assert len(call.outvars) == 2 and paths_of(call.params["jaxpr"]) is None


def test_results_have_their_paths_in_lowered_text():
    text = nj.jit(lambda x: (x, {"a": x * 2})).lower(1.0).as_text()
    assert 'jax.result_info = "result[0]"' in text and """jax.result_info = "result[1]['a']\"""" in text
    assert 'jax.result_info = "result"' in nj.jit(nj.vmap(lambda x: x + 1)).lower(np.ones(3)).as_text()
    assert "result_info" not in nj.jit(lambda x: None).lower(1.0).as_text()
