"""Names that libraries read: in dictionaries of modules, on the class of arrays, in private modules."""


def test_all_names_are_in_the_dictionaries_of_modules(run_as_jax):
    run_as_jax("""
        import jax.numpy as jnp, jax.lax
        names = {}
        exec("from jax.numpy import *\\nfrom jax.lax import *", names)
        assert {"pad", "sin", "scan"} <= names.keys()
        assert vars(jnp)["pad"] is jnp.pad and "custom_linear_solve" in vars(jax.lax)
    """)


def test_attributes_that_libraries_read_from_the_class_of_arrays(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        assert jax.Array.item(jnp.float32(3)) == 3.0 and jax.Array.item(jnp.arange(3), 1) == 1
        assert jax.Array.device.fget(jnp.ones(2)) == jnp.ones(2).device and jax.Array.committed.fget(jnp.ones(2)) is False
    """)


def test_private_names_that_jaxns_s2fft_galax_unxt_bijx_and_jaxoplanet_import(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        from jax.experimental.ode import api_util, ravel_first_arg
        from jax.flatten_util import ravel_pytree
        from jax._src.interpreters.batching import broadcast, is_vmappable
        from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
        from jax._src.dtypes import to_complex_dtype
        from jax._src.numpy.util import promote_dtypes_complex
        from jax._src.numpy.vectorize import _apply_excluded, _check_output_dims
        from jax._src.numpy.vectorize import _parse_gufunc_signature, _parse_input_dimensions
        from jax._src.sharding_impls import canonicalize_sharding
        from jax._src.typing import SupportsDType
        from jax._src.util import HashablePartial, canonicalize_axis
        x = jnp.ones((4, 3, 2))
        assert not is_vmappable(x) and broadcast(x, 2, 0).shape == (2, 4, 3, 2)
        assert isinstance(x.at, _IndexUpdateHelper) and isinstance(x.at[0], _IndexUpdateRef)
        assert [y.dtype for y in promote_dtypes_complex(1, x)] == [jnp.complex64] * 2
        inner, outer = _parse_gufunc_signature("(n,m),(m)->(n)")
        batch, sizes = _parse_input_dimensions((x, x[0, 0]), inner, "")
        assert (batch, sizes) == ((4,), {"n": 3, "m": 2})
        _check_output_dims(jnp.matmul, sizes, outer, "")(x[0], x[0, 0])
        f, args, kwargs = _apply_excluded(lambda a, b, c=1: (a, b, c), {0, "c"}, (1, 2), {"c": 5})
        assert (f(*args, **kwargs), list(args), kwargs) == ((1, 2, 5), [2], {})
        assert canonicalize_sharding(jax.typeof(x).sharding, "map") is None and isinstance(x, SupportsDType)
        spec = jax.P("x")
        try:
            canonicalize_sharding(spec, "map")
        except ValueError:
            pass
        else:
            raise AssertionError
        with jax.set_mesh(jax.make_mesh((1,), ("x",))):
            assert canonicalize_sharding(spec, "map").spec == spec
        assert canonicalize_axis(-1, 3) == 2 and to_complex_dtype(jnp.float32) == jnp.complex64
        add = lambda a, b: a + b
        assert HashablePartial(add, 1) == HashablePartial(add, 1) != HashablePartial(add, 2) and HashablePartial(add, 1)(2) == 3
        assert len({HashablePartial(add, 1), HashablePartial(add, 1)}) == 1
        flat, unravel = ravel_pytree((1.0, jnp.ones(2)))
        fun = lambda y, t: (y[0] * t, y[1])
        fun = ravel_first_arg(fun, unravel, api_util.debug_info("odeint", fun, ((1.0, x), 2.0), {}))
        assert fun(flat, 2.0).tolist() == [2, 1, 1]
    """)


def test_the_current_trace_is_read(run_as_jax):
    run_as_jax("""
        import jax
        from jax._src import core
        outside = core.trace_ctx.trace
        def f(x):
            assert core.trace_ctx.trace is x._trace is not outside
            return x
        jax.jit(f)(1.0)
        assert core.trace_ctx.trace is outside is core.trace_ctx.trace
    """)


def test_dtypes_of_values_for_optree(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp, numpy as np, pytest
        from jax._src.dtypes import dtype
        assert [dtype(x) for x in (200, 2.0, True, 1j, np.float64(3), np.int8(1))] == [
            jnp.int32, jnp.float32, jnp.bool_, jnp.complex64, jnp.float32, jnp.int8]
        assert dtype(jnp.bfloat16) == dtype("bfloat16") == jnp.bfloat16 and dtype(jnp.arange(3)) == dtype(int) == jnp.int32
        with pytest.raises(TypeError, match="Cannot determine dtype of"):
            dtype((1, 2))
        with pytest.raises(ValueError, match="Invalid argument to dtype: None"):
            dtype(None)
    """)


def test_types_of_tangents_for_distrax(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        assert jax.typeof(jnp.ones(2)).at_least_vspace() == jax.typeof(jnp.ones(2))
        assert jax.typeof(jnp.arange(2)).at_least_vspace().dtype == jax.dtypes.float0
    """)
