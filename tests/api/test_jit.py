"""jit: caching, arguments, donation, errors, stages."""
import copy
import inspect
import warnings
import weakref
from functools import partial, wraps

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, errors, lax
from numjet.foundation import events


def traced(fun, **options):
    """A jitted function and the list of its traces."""
    traces = []

    def spy(*args, **kwargs):
        traces.append(args)
        return fun(*args, **kwargs)
    return nj.jit(spy, **options), traces


def test_traces_once_per_signature():
    f, traces = traced(lambda x: x + 1)
    for x in (1.0, 2.0, np.float32(1), jnp.float32(3), np.ones(3, np.float32), jnp.ones(3), np.ones(3, np.int32)):
        f(x)
    assert len(traces) == 4  # weak f32, f32, f32[3], i32[3]


def test_second_call_compiles_nothing():
    f = nj.jit(lambda x: jnp.sin(x) * 2)
    f(jnp.ones(3))
    before = dict(events.counters())
    f(jnp.zeros(3))
    f(np.ones(3, np.float32))
    after = dict(events.counters())
    assert after.get("compile") == before.get("compile") and after.get("trace") == before.get("trace")


def test_weak_types_go_through():
    assert nj.jit(lambda x: x * 2)(1.0).weak_type
    assert not nj.jit(lambda x: x * 2)(jnp.float32(1)).weak_type
    assert (nj.jit(lambda x: x)(3) + jnp.ones(2, jnp.int8)).dtype == jnp.int8


def test_config_is_part_of_the_key():
    f, traces = traced(lambda x: x * 1.5)
    assert f(2).dtype == np.float32
    with nj.enable_x64():
        assert f(2).dtype == np.float64
    f(2)
    assert len(traces) == 2


def test_static_arguments():
    f, traces = traced(lambda x, n, flag=True: x * n if flag else x, static_argnums=1, static_argnames="flag")
    assert float(f(2.0, 3)) == 6 and float(f(2.0, 3, flag=False)) == 2 and float(f(2.0, 4)) == 8
    assert float(f(5.0, 3)) == 15 and len(traces) == 3
    g = nj.jit(lambda x, shape: jnp.zeros(shape) + x, static_argnames=("shape",))
    assert g(1.0, (2, 3)).shape == g(1.0, shape=(2, 3)).shape == (2, 3)
    assert float(nj.jit(lambda x, k: x * k, static_argnums=-1)(1.0, 2)) == 2.0


def test_static_values_of_different_type_do_not_mix():
    f = nj.jit(lambda x, k: x * k, static_argnums=1)
    assert f(jnp.int32(1), 1).dtype == np.int32 and f(jnp.int32(1), 1.0).dtype == np.float32
    assert f(jnp.int32(1), True).dtype == np.int32


@pytest.mark.parametrize("bad, error", [([1], ValueError), ({1: 2}, ValueError), (np.ones(2), ValueError)])
def test_unhashable_static_argument(bad, error):
    with pytest.raises(error, match="hashable"):
        nj.jit(lambda x, y: x, static_argnums=1)(1.0, bad)


def test_bad_static_numbers_and_names():
    with pytest.raises(ValueError, match="static_argnums"):
        nj.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="static_argnums=\\(-2,\\)"):
        nj.jit(lambda x: x, static_argnums=-2)
    with pytest.raises(ValueError, match="static_argnames"):
        nj.jit(lambda x: x, static_argnames="y")


def test_arguments_that_are_no_arrays():
    with pytest.raises(TypeError, match=r"params\['a'\]"):
        nj.jit(lambda params: params["a"])({"a": "text"})
    with pytest.raises(TypeError, match="not a valid JAX type"):
        nj.jit(lambda x: "text")(1.0)


def test_integer_that_does_not_fit():
    with pytest.raises(OverflowError):
        nj.jit(lambda x: x)(2 ** 40)
    f = nj.jit(lambda x: x + 1)
    f(1)
    with pytest.raises(OverflowError):
        f(2 ** 31)


def test_branch_on_traced_value_names_argument_and_line():
    @nj.jit
    def f(x, negative):
        return -x if negative else x
    with pytest.raises(errors.TracerBoolConversionError, match="argument negative") as info:
        f(1.0, True)
    assert "test_jit.py" in str(info.value) and "lax.cond" in str(info.value)


def test_other_concretizations():
    with pytest.raises(errors.TracerIntegerConversionError):
        nj.jit(lambda x: list(range(3))[x])(1)
    with pytest.raises(errors.TracerArrayConversionError):
        nj.jit(lambda x: np.asarray(x))(1.0)
    with pytest.raises(errors.ConcretizationTypeError):
        nj.jit(lambda x: float(x))(1.0)
    with pytest.raises(errors.NonConcreteBooleanIndexError):
        nj.jit(lambda x: x[x > 0])(jnp.ones(3))


def test_values_known_while_tracing_can_be_asked_for():
    assert nj.jit(lambda x: x[int(jnp.array(1) + 1)])(jnp.arange(3.0)) == 2.0
    assert nj.jit(lambda x: x if jnp.array(2) > 1 else -x)(1.0) == 1.0


def test_leaked_tracer():
    box = []
    nj.jit(lambda x: box.append(x) or x)(1.0)
    with pytest.raises(errors.UnexpectedTracerError, match="leak"):
        box[0] + 1
    with pytest.raises(errors.UnexpectedTracerError):
        nj.jit(lambda y: y + box[0])(1.0)


def test_methods_partials_and_pytrees():
    class Model:
        scale = 3.0

        @nj.jit
        def apply(x):
            return x + 1

        @partial(nj.jit, static_argnums=0)
        def scaled(self, x):
            return {"y": self.scale * x, "none": None}
    assert float(Model.apply(1.0)) == 2 and float(Model().scaled(2.0)["y"]) == 6
    assert float(nj.jit(partial(lambda a, b: a - b, b=1.0))(3.0)) == 2
    assert nj.jit(lambda t: (t["a"], [t["b"][0]]))({"a": 1.0, "b": (2.0,)})[1][0] == 2.0


def test_closed_over_arrays_and_nested_jits():
    big = jnp.arange(100.0)
    inner = nj.jit(lambda x: x * big)
    outer = nj.jit(lambda x: inner(x).sum() + inner(x)[1])
    assert float(outer(2.0)) == 2 * 4950 + 2
    assert float(nj.grad(lambda x: nj.jit(lambda y: y * x)(x))(3.0)) == 6.0


def test_recursive_jit():
    @partial(nj.jit, static_argnums=1)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)
    assert float(power(2.0, 5)) == 32


def test_an_error_in_the_function_leaves_everything_usable():
    f = nj.jit(lambda x, bad: 1 / 0 if bad else x, static_argnums=1)
    with pytest.raises(ZeroDivisionError):
        f(1.0, True)
    assert float(f(1.0, False)) == 1.0 and float(jnp.sin(0.0)) == 0.0


def test_donation():
    step = nj.jit(lambda s, v: {"x": s["x"].at[0].add(v), "k": s["k"] + 1}, donate_argnums=0)
    state = {"x": jnp.zeros(100_000), "k": jnp.int32(0)}
    for _ in range(3):
        old, state = state, step(state, 1.0)
        assert old["x"].is_deleted() and old["k"].is_deleted()
    assert float(state["x"][0]) == 3.0 and int(state["k"]) == 3
    with pytest.raises(RuntimeError, match="deleted"):
        old["x"] + 1


def test_an_update_of_a_donated_array_costs_what_it_writes():
    """No copy, no new memory, and no hand-over to the queue, however large the array is."""
    update = nj.jit(lambda x, i, v: x.at[i].set(v), donate_argnums=0)
    x, i, v = jnp.zeros(4_000_000), jnp.arange(5), jnp.arange(5.0)
    x = update(update(x, i, v), i, v).block_until_ready()
    before, address = _native.counters(), x.unsafe_buffer_pointer()
    for _ in range(10):
        x = update(x, i, v)
    after = _native.counters()
    assert x.unsafe_buffer_pointer() == address and x[:6].tolist() == [0, 1, 2, 3, 4, 0]
    assert after["enqueued"] == before["enqueued"] and after["executions"] == before["executions"] + 10
    assert after["allocations"] == before["allocations"]


@pytest.mark.parametrize("size", [3, 5000])
def test_what_is_computed_element_by_element_takes_over_donated_memory(size):
    step = nj.jit(lambda x, y: (x * 2 + y, jnp.sin(y) - 1, x.sum()), donate_argnums=(0, 1))
    x, y = jnp.zeros(size) + 1, jnp.ones(size)
    before = [x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer()]
    a, b, total = step(x, y)
    if size > 100:   # small arrays are in registers, and stored elsewhere
        assert [b.unsafe_buffer_pointer()] == before[1:] or [a.unsafe_buffer_pointer()] == before[:1]
    np.testing.assert_array_equal(a, np.full(size, 3, np.float32))
    np.testing.assert_allclose(b, np.full(size, np.sin(1) - 1), rtol=1e-6)
    assert float(total) == size
    shifted = nj.jit(lambda x: x[::-1] + x, donate_argnums=0)(jnp.arange(float(size)))   # reads what it would overwrite
    np.testing.assert_array_equal(shifted, np.full(size, size - 1, np.float32))
    update, given = nj.jit(lambda x: x + 1, donate_argnums=0), jnp.zeros(size)
    address = given.unsafe_buffer_pointer()
    assert (update(given).unsafe_buffer_pointer() == address) == (size > 100)


def test_the_copy_of_what_cannot_be_taken_over_is_queued():
    update = nj.jit(lambda x: x.at[0].set(1.0), donate_argnums=0)
    x = update(jnp.zeros(4_000_000)).block_until_ready()
    before = _native.counters()["enqueued"]
    y = update(x)
    seen = np.asarray(y)
    z = update(y)
    assert _native.counters()["enqueued"] == before + 1
    assert z[0] == seen[0] == 1.0


def test_donated_array_seen_elsewhere_is_not_overwritten():
    x = jnp.zeros(100_000)
    view = np.asarray(x)
    nj.jit(lambda v: v.at[0].set(1.0), donate_argnums=0)(x)
    assert view[0] == 0.0


def test_unused_and_forwarded_arguments():
    f = nj.jit(lambda x, unused: (x, x, 3.0))
    a, b, c = f(jnp.arange(3.0), jnp.ones(1000))
    assert a.tolist() == b.tolist() == [0, 1, 2] and float(c) == 3.0


def test_disable_jit_runs_python():
    seen = []
    with nj.disable_jit():
        nj.jit(lambda x: seen.append(float(x)) or x)(2.0)
    assert seen == [2.0]


def test_stages():
    f = nj.jit(lambda x, y: {"s": x @ y, "n": x.sum()})
    args = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    lowered = f.lower(*args)
    assert "dot_general" in lowered.as_text("jaxpr") and len(lowered.as_text()) > 50
    with pytest.raises(ValueError, match="dialect"):
        lowered.as_text("mhlo")
    compiled = lowered.compile()
    assert compiled(*args)["s"].tolist() == [[4, 4]] * 3
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 80 and memory.output_size_in_bytes == 28
    with pytest.raises(TypeError):
        compiled(args[0], args[1].T)
    assert f.eval_shape(*args)["s"].shape == (3, 2)
    assert f.lower(nj.ShapeDtypeStruct((3, 4), np.float32), args[1]).out_info["n"].shape == ()


def test_eval_shape_of_functions_that_describe_their_results():
    described = nj.ShapeDtypeStruct((3,), np.float64), nj.ShapeDtypeStruct((), np.int32, weak_type=True)
    one, two, three = nj.eval_shape(lambda x: (*described, x), 1.0)
    assert (one.shape, one.dtype) == ((3,), np.float32) and (two.dtype, two.weak_type) == (np.int32, True) and three.shape == ()
    assert nj.eval_shape(lambda: nj.eval_shape(lambda: one)) == one


def test_eval_shape_and_make_jaxpr():
    out = nj.eval_shape(lambda x: {"a": x[None], "b": x.astype(jnp.int8)}, nj.ShapeDtypeStruct((3,), np.float32))
    assert out["a"].shape == (1, 3) and out["b"].dtype == np.int8
    text = str(nj.make_jaxpr(lambda x: jnp.sin(x) + 1)(np.ones(3, np.float32)))
    assert text == "{ lambda ; a:f32[3]. let\n    b:f32[3] = sin a\n    c:f32[3] = add b 1.0:f32[]\n  in (c,) }"
    assert "jit[" in str(nj.make_jaxpr(nj.jit(jnp.sin))(1.0))


def test_integer_division_by_zero_does_not_crash():
    f = nj.jit(lambda a, b: (lax.div(a, b), lax.rem(a, b), a // b, a % b))
    a, b = np.array([5, -5, np.iinfo(np.int32).min], np.int32), np.array([0, 0, -1], np.int32)
    q, r, _, _ = f(a, b)
    assert q.tolist() == [-1, -1, np.iinfo(np.int32).min] and r.tolist() == [5, -5, 0]
    shifts = nj.jit(lax.shift_left)(np.int32(1), np.int32(40))
    assert int(shifts) == 0
    assert nj.jit(lambda x: x.astype(jnp.int32))(np.array([np.nan, np.inf, -np.inf, 1e20], np.float32)).tolist() == [
        0, 2 ** 31 - 1, -2 ** 31, 2 ** 31 - 1]


def test_cost_analysis():
    def fun(x, y):
        return jnp.sum(jnp.exp(x @ y) * 2)
    lowered = nj.jit(fun).lower(np.ones((10, 20), np.float32), np.ones((20, 30), np.float32))
    with events.counting() as counts:
        before = lowered.cost_analysis()
    assert not counts.get("compile")
    after = lowered.compile().cost_analysis()
    for costs in (before, after):
        assert costs["flops"] == 2 * 10 * 20 * 30 + 2 * 300 and costs["transcendentals"] == 300
    assert before["bytes accessed"] == 4 * (200 + 600 + 300 + 2 * (300 + 300) + 1 + 300 + 1)
    assert before["bytes accessed"] > after["bytes accessed"] >= 4 * (200 + 600 + 1) and after["nanoseconds"] > 0


def test_cost_analysis_before_compilation_counts_what_is_written():
    """Flax's tables add the operations of modules: twice the same counts twice."""
    once = lambda x, w: x @ w * jnp.sqrt(w[0] + 1)
    twice = lambda x, w: once(once(x, w), w)
    x, w = np.ones((4, 8), np.float32), np.ones((8, 8), np.float32)
    one, two = (nj.jit(f).lower(x, w).cost_analysis()["flops"] for f in (once, twice))
    assert two == 2 * one


def test_cost_analysis_of_loops():
    def fun(x):
        return lax.scan(lambda s, _: (jnp.sin(s) * 2, None), x, None, length=5)[0]
    costs = nj.jit(fun).lower(np.ones(8, np.float32)).cost_analysis()
    assert (costs["flops"], costs["transcendentals"]) == (40, 40)


def test_signature_of_a_jitted_function():
    f = nj.jit(lambda x, y=1, *, z: x)
    assert str(inspect.signature(f)) == "(x, y=1, *, z)" and inspect.getfullargspec(f).kwonlyargs == ["z"]


def test_donations_that_no_result_can_take_are_warned_of_and_kept():
    x = jnp.ones(5)
    for f in (nj.jit(lambda x: x.at[0].set(3.0).sum(), donate_argnums=0), nj.jit(lambda x: x.sum(), donate_argnums=0)):
        with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: float32\[5\]"):
            f(x)
        f(x)
        f.lower(x).compile()(x)
    nj.jit(lambda x: jnp.ones(5), donate_argnums=0)(x)  # reads it not
    assert x.tolist() == [1.0] * 5
    nj.jit(lambda x: jnp.ones(5), donate_argnums=0, keep_unused=True)(x)
    assert x.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nj.jit(lambda x: x.astype(jnp.int32), donate_argnums=0)(jnp.ones(5))
        nj.jit(lambda x, y: y, donate_argnums=0)(jnp.ones(5), 1.0)


OPTIONS = [lambda o: nj.jit(lambda x: x, compiler_options=o)(1.0), lambda o: nj.jit(lambda x: x).lower(1.0).compile(o)]


@pytest.mark.parametrize("call", OPTIONS)
def test_compiler_options(call, caplog):
    with pytest.raises(nj.errors.JaxRuntimeError, match="No such compile option: 'invalid_key'"):
        call({"invalid_key": 1})
    for name, kind in [("xla_embed_ir_in_executable", "bool"), ("xla_dump_max_hlo_modules", "int32"),
                       ("xla_gpu_auto_spmd_partitioning_memory_budget_ratio", "float")]:
        with pytest.raises(nj.errors.JaxRuntimeError, match=f"While setting option {name}, 'x' is not a valid {kind} value"):
            call({name: "x"})
    call({"xla_embed_ir_in_executable": True})
    assert "numjet's own compiler, which compiles this program for the CPU, does not read it" in caplog.text


def test_compiler_options_of_inner_functions_are_refused():
    f = nj.jit(lambda x: x, compiler_options={"xla_embed_ir_in_executable": True})
    with pytest.raises(ValueError, match=r"`compiler_options` can only be passed to top-level `jax\.jit`"):
        nj.jit(f)(1.0)


def test_compiled_functions_say_what_they_were_compiled_for():
    compiled = nj.jit(lambda x: jnp.sqrt(x)).lower(1.0).compile()
    for call, message in ((lambda: compiled([1.0]), "does not match the input pytree it was called with"),
                          (lambda: compiled(1), "Argument 'x' compiled with float32.. and called with int32"),
                          (lambda: nj.vmap(compiled)(jnp.ones(3)), "Detected argument of Tracer type BatchTracer")):
        with pytest.raises(TypeError, match=message):
            call()


def test_calls_wait_without_asynchronous_dispatch():
    def fails(x):
        raise ValueError("no")
    f = nj.jit(lambda x: nj.pure_callback(fails, nj.ShapeDtypeStruct((), jnp.float32), x))
    nj.config.update("jax_cpu_enable_async_dispatch", False)
    try:
        with pytest.raises(nj.errors.JaxRuntimeError, match="ValueError: no"):
            f(1.0)
    finally:
        nj.config.update("jax_cpu_enable_async_dispatch", True)


def test_cache_misses_are_explained_by_the_closest_call(caplog):
    f = nj.jit(lambda x, y: x + y)
    f(np.float32(1), np.ones(1, "float32"))
    with nj.explain_cache_misses(True):
        f(np.float32(1), np.ones(2, "float32"))
        f(1.0, np.ones(2, "float32"))
        f(1.0, y=np.ones(2, "float32"))
        with nj.default_matmul_precision("high"):
            f(1.0, np.ones(2, "float32"))
        for _ in range(2):
            nj.jit(lambda x: 2 * x)(3)
    texts = [record.getMessage() for record in caplog.records]
    assert all("TRACING CACHE MISS at test_jit.py" in text for text in texts)
    for text, expected in zip(texts, [
        "different input types: at y, now f32[2] and before f32[1]",
        "at x, now f32[]{weak_type=True} and before f32[]{weak_type=False}",
        "now 1 args and kwargs with keys ['y'] and before 2 args and kwargs with keys []",
        "different tracing context", "never seen function", "another function defined on the same line",
    ], strict=True):
        assert expected in text


def test_inline_writes_the_equations_into_the_caller():
    double = nj.jit(lambda x: x * 2, inline=True)
    assert "jit" not in str(nj.make_jaxpr(lambda x: double(x) + 1)(3.0))
    assert nj.grad(lambda x: double(x) * x)(3.0) == 12


@pytest.mark.parametrize(("make", "message"), [
    (lambda: nj.jit(staticmethod(abs)), "staticmethod arguments are not supported"),
    (lambda: nj.jit(generator), "got a generator function: generator at test_jit.py"),
    (lambda: nj.jit(lambda a, /, b: b, static_argnames="a"), "invalid argnames {'a'}"),
    (lambda: nj.jit(lambda x: x, static_argnames="x", donate_argnames="x"), "static_argnames and donate_argnames cannot inter"),
    (lambda: nj.jit(lambda x: x, static_argnums=0, donate_argnums=0), "static_argnums and donate_argnums cannot intersect"),
    (lambda: nj.jit(lambda *args, b: b, donate_argnames="args"), "invalid argnames {'args'}"),
    (lambda: nj.jit(lambda x: x, static_argnames=["x", 3]), "Argument names must be strings, got 3"),
    (lambda: nj.jit(lambda x: x, donate_argnames=3), "not iterable"),
    (lambda: nj.jit(lambda x: x, static_argnums="x"), "'str' object cannot be interpreted as an integer"),
])
def test_functions_that_cannot_be_jitted(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def generator(x):
    yield x


def test_numbers_of_arguments_are_what_python_can_index_with():
    assert nj.jit(lambda n, x: x + len("a" * n), static_argnums=np.int64(0))(2, 1) == 3
    assert nj.jit(lambda n, x: x + len("a" * n), static_argnums=(np.uint8(0),), donate_argnums=np.array([1]))(2, 1) == 3


def test_static_arguments_that_do_not_compare():
    class Bad:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise NotImplementedError("no")

    f = nj.jit(lambda x, static: x + 3, static_argnums=1)
    with pytest.raises(ValueError, match=r"static arguments should be comparable using __eq__.*of a call of <lambda>.*: no"):
        f(1, Bad())
        f(1, Bad())


def test_an_int_that_does_not_fit_is_named():
    f = nj.jit(lambda x, y: y["a"])
    for _ in range(2):  # traced, and from the cache
        with pytest.raises(OverflowError, match=r"An overflow .* whose argument path is y\['a'\]. Got <class 'int'>"):
            f(1, {"a": 1 << 31})
        f(1, {"a": 2})


def test_numbers_of_arguments_from_the_end():
    def last(first, *rest):
        return first if rest[-1] == "first" else rest[0]
    f = nj.jit(last, static_argnums=-1)
    assert int(f(1, 2, "first")) == 1 and int(f(1, 2, 3, "second")) == 2
    with pytest.raises(ValueError, match="but got value -4 for len"):
        nj.jit(last, static_argnums=-4)(1, 2, 3)
    x = jnp.ones(3)
    nj.jit(lambda *xs: xs[-1] + 1, donate_argnums=-1)(1, x)
    assert x.is_deleted()


def test_text_of_a_jitted_function():
    f = nj.jit(abs)
    assert repr(f) == "<PjitFunction of <built-in function abs>>"
    del f.__wrapped__
    assert repr(f) == "<PjitFunction>"


def test_compilations_are_logged(caplog):
    f = nj.jit(lambda x: x * 2)
    with nj.log_compiles(True):
        f(1.0)
        f(2.0)
    steps = [r.getMessage().split(" in ")[0] for r in caplog.records]
    assert steps == ["Finished tracing <lambda> for jit",
                     "Compiling jit(<lambda>) with global shapes and types (ShapedArray(float32[], weak_type=True))",
                     "Finished jaxpr to loop IR conversion jit(<lambda>)",
                     "Finished XLA compilation of jit(<lambda>) (by numjet's own compiler)"]


def test_options_without_a_function_make_a_decorator():
    @nj.jit(static_argnums=1, donate_argnums=0, control_flow=True)
    def f(x, n):
        if x[0] > 0:
            x = x * n
        return x
    assert f(jnp.ones(2), 3).tolist() == [3, 3]
    assert copy.copy(f) is f


def test_functions_are_traced_once_however_often_they_are_jitted():
    seen = []

    def f(x, n=2):
        seen.append(n)
        return x * n
    assert [nj.jit(f)(k).item() for k in range(3)] == [0, 2, 4] and seen == [2]
    assert nj.jit(f, static_argnames="n")(1, n=5) == 5 == nj.jit(f, static_argnums=1)(1, n=5) and seen == [2, 5]
    nj.jit(f).clear_cache()
    assert nj.jit(f)(3) == 6 and seen == [2, 5, 2]


def test_traces_that_jitted_objects_share_die_with_the_function():
    def made():
        def f(x):
            return jnp.sin(x)
        nj.jit(f)(1.0)
        return weakref.ref(f)
    assert made()() is None


def test_a_wrapper_made_by_functools_has_no_stages_of_the_function_that_it_wraps():
    f = nj.jit(lambda x: x + 1)
    wrapper = wraps(f)(lambda x: f(x) * 2)
    for name in ("lower", "trace", "eval_shape", "clear_cache"):
        assert hasattr(f, name) and not hasattr(wrapper, name)
    assert f.lower(1.0).compile()(1.0) == 2


def test_types_stand_for_arguments_of_programs_that_are_not_run():
    f = nj.jit(lambda x: x["a"] + 1)
    for kind in (nj.core.ShapedArray, nj.ShapeDtypeStruct):
        x = {"a": kind((2,), np.dtype("float32"))}
        assert f.lower(x).out_info.shape == f.eval_shape(x).shape == nj.eval_shape(f, x).shape == (2,)
        with pytest.raises(TypeError, match=r"Argument 'x\['a'\]' of shape float32\[2\] .* is not a valid JAX type"):
            f(x)
