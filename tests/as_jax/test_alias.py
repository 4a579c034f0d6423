"""`import jax` means numjet: modules, versions, placeholders, ways to switch it on."""
import importlib.util
import os
import shutil
import textwrap
from pathlib import Path

import pytest

import numjet

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(numjet.__file__).parent / "as_jax"


def test_modules_and_classes_are_numjets_own(run_as_jax):
    run_as_jax("""
        import sys, pickle, typing
        import numjet
        kind = type(numjet.numpy.ones(2))   # libraries that pickle classes look for it among the imported modules
        assert getattr(sys.modules[kind.__module__], kind.__qualname__) is kind
        import jax, jax.numpy as jnp, jax.scipy.special, jax.numpy.linalg
        from jax import lax, numpy, random, tree_util
        from jax.experimental import pallas
        assert jnp is numpy is jax.numpy is numjet.numpy is sys.modules["jax.numpy"]
        assert lax is numjet.lax and jax.scipy.special is numjet.scipy.special and jax.numpy.linalg is numjet.numpy.linalg
        assert numjet.numpy.__spec__.name == "numjet.numpy"
        assert jax.jit is numjet.jit and jax.config is numjet.config and jax.Array is numjet.Array
        import numjet.as_jax
        assert numjet.as_jax.install() is numjet.as_jax.install()
        assert sum(type(f).__name__ == "AliasFinder" for f in sys.meta_path) == 1
        x = jnp.arange(3.0)
        assert isinstance(x, jax.Array) and pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]
        assert pickle.loads(pickle.dumps(jnp.sin)) is jnp.sin
        def f(x: jax.Array, y: "jax.sharding.Mesh | None") -> jax.typing.ArrayLike: ...
        assert typing.get_type_hints(f)["x"] is jax.Array
        assert jax.jit(jax.grad(lambda x: jnp.sum(x ** 2)))(x).tolist() == [0, 2, 4]
        assert {"jit", "pmap", "numpy", "__version__"} <= set(dir(jax)) and "cpu" not in dir(jax)
    """)


def test_modules_say_jaxs_names_and_are_pickled_by_their_own(run_as_jax):
    run_as_jax("""
        import pickle, sys
        known = {"jax.core", "jax.numpy", "jax.version", "jaxlib._jax"}
        assert not known & set(sys.modules)
        import jax, jax.tree_util, jax.scipy.special
        assert known <= set(sys.modules)
        assert [m.__name__ for m in (jax, jax.numpy, jax.core, jax.lax, jax.scipy.special, jax.tree_util)] == [
            "jax", "jax.numpy", "jax.core", "jax.lax", "jax.scipy.special", "jax.tree_util"]
        assert jax.numpy.ones(1).__array_namespace__() is jax.numpy
        assert b"numjet.numpy" in pickle.dumps(jax.numpy) and pickle.loads(pickle.dumps(jax.numpy)) is jax.numpy
        assert jax.numpy.__spec__.name == "numjet.numpy" and "sin" in vars(jax.numpy) and "Tracer" in vars(jax.core)
        from jax.core import *
        assert jax.core.max_dim(3, 2) == 3 and not jax.core.is_constant_shape(jax.export.symbolic_shape("n"))
    """)


def test_numjets_modules_import_submodules_of_packages_that_have_jaxs_names(run_as_jax):
    run_as_jax("""
        import sys, jax
        assert jax.lax.__name__ == "jax.lax" and "numjet.lax.sharding" not in sys.modules
        from jax import export
        assert export.symbolic_shape("n") and "numjet.lax.sharding" in sys.modules and not hasattr(jax.lax, "nonsense")
    """)


def test_the_alias_imports_names_when_they_are_used(run_as_jax):
    run_as_jax("""
        import sys, jax, jax.numpy as jnp
        assert "numjet.numpy.signal" not in sys.modules and jnp.ones(2).sum() == 2
        assert "numjet.numpy.signal" not in sys.modules and "numjet.extend.core" not in sys.modules
        assert jnp.convolve(jnp.ones(2), jnp.ones(2)).tolist() == [1, 2, 1] and "numjet.numpy.signal" in sys.modules
    """)


def test_functions_of_scipy_are_traced_as_with_jax(run_as_jax):
    run_as_jax("""
        import os
        os.environ["SCIPY_ARRAY_API"] = "1"
        import jax, jax.numpy as jnp, numpy as np, scipy.special, scipy.stats
        x = jnp.arange(1.0, 5.0)
        for f in (scipy.special.logsumexp, scipy.special.erf, scipy.special.softmax, scipy.stats.zscore):
            values = f(x), jax.jit(f)(x)
            assert all(isinstance(v, jax.Array) for v in values)
            np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)
        slopes = jax.jit(jax.grad(scipy.special.logsumexp))(x)
        np.testing.assert_allclose(slopes, jax.nn.softmax(x), rtol=1e-5)
    """)


def test_versions(run_as_jax):
    run_as_jax("""
        from importlib.metadata import metadata, version
        import jax, jax.lib, jax.version, jaxlib, jaxlib.version
        assert jax.__version__ == jax.version.__version__ == jaxlib.__version__ == jax.lib.__version__ == "0.10.2"
        assert jax.__version_info__ == jax.version.__version_info__ == (0, 10, 2)
        assert jaxlib.version.__version__ == version("jax") == version("jaxlib") == "0.10.2"
        assert metadata("jax")["Name"] == "jax" and version("numpy")
    """)


def test_what_numjet_lacks_raises_when_it_is_used(run_as_jax):
    run_as_jax("""
        import jax
        from jax.experimental import pallas
        from jax.experimental.pallas import pallas_call, BlockSpec
        class Mine(BlockSpec): ...
        def f(x: BlockSpec | None, y: pallas.GridSpec[int]): ...
        assert not isinstance(3, BlockSpec) and pallas.DeviceIdType.MESH is not None
        for use, name in [(lambda: pallas_call(f), "pallas_call"), (lambda: BlockSpec(), "BlockSpec"), (Mine, "BlockSpec"),
                          (lambda: pallas.DeviceIdType.MESH(), "DeviceIdType.MESH"), (lambda: bool(BlockSpec), "BlockSpec"),
                          (lambda: [*BlockSpec], "BlockSpec")]:
            try:
                use()
            except NotImplementedError as error:
                assert str(error).startswith(f"jax.experimental.pallas.{name} is part of JAX 0.10.2 and not supported"), error
            else:
                raise AssertionError(name)
    """)


@pytest.mark.parametrize(("module", "name"), [
    ("jax.experimental.pallas.ops.tpu.splash_attention", "make_splash_mha"),
    ("jax.experimental.pallas.ops.gpu.attention", "mha"), ("jax.experimental.mosaic.gpu", "as_gpu_kernel")])
def test_kernels_of_accelerators_can_be_imported(run_as_jax, module, name):
    run_as_jax(f"""
        from {module} import {name}
        try:
            {name}()
        except NotImplementedError as error:
            assert str(error).startswith("{module}.{name} is part of JAX 0.10.2 and not supported"), error
        else:
            raise AssertionError
    """)


@pytest.mark.parametrize("module", ["jax.cpu", "jax.numpy.ufuncs", "jax.experimental.nothing", "jax.tools"])
def test_modules_that_jax_lacks_are_not_found(run_as_jax, module):
    assert f"No module named '{module}'" in run_as_jax(f"""
        try:
            import {module}
        except ModuleNotFoundError as error:
            print(error)
    """)


@pytest.mark.parametrize("name", ["jax.nothing", "jax.numpy.nothing", "jax.foundation", "jax.explain"])
def test_names_that_jax_lacks_are_attribute_errors(run_as_jax, name):
    module, _, attribute = name.rpartition(".")
    assert run_as_jax(f"""
        import jax
        try:
            {name}
        except AttributeError as error:
            print(error)
    """) == f"module '{module}' has no attribute '{attribute}'\n"


def test_every_public_module_of_jax_is_imported_and_shows_its_names(run_as_jax):
    run_as_jax("""
        import importlib, warnings
        from numjet.as_jax import names
        warnings.simplefilter("ignore")
        for module, shown in names.table().items():
            found = importlib.import_module(module)
            for name in shown - {names.ANY}:
                getattr(found, name)
    """)


def test_dir_lists_jaxs_names_only(run_as_jax):
    run_as_jax("""
        import sys, jax, jax.lax.linalg, jax.scipy.special, jax.nn.initializers
        from numjet.as_jax import names
        for name in ("jax", "jax.numpy", "jax.lax", "jax.lax.linalg", "jax.scipy.special", "jax.nn.initializers"):
            shown = {n for n in dir(sys.modules[name]) if not n.startswith("__")}
            assert names.table()[name] <= shown, name
            assert all(names.is_module(f"{name}.{n}") for n in shown - names.table()[name]), name
        assert not {"Any", "numjet", "names"} & set(dir(jax)) and "np" not in dir(jax.nn.initializers)
        assert "airy" not in dir(jax.scipy.special) and callable(jax.scipy.special.airy)   # numjet's additions stay reachable
        assert {"__name__", "__doc__"} <= set(dir(jax.numpy))
    """)


def test_what_numjet_has_is_no_placeholder(run_as_jax):
    run_as_jax("""
        import importlib
        import jax, numjet
        from numjet.as_jax import finder, names, unsupported
        lacking = lambda module, known: {n for n in known if isinstance(getattr(module, n), unsupported.PLACEHOLDERS)}
        assert lacking(jax, names.table()["jax"]) == {
            "jax2tf_associative_scan_reductions", "thread_guard"}
        for name in sorted(names.table()):
            own = name.replace("jax", "numjet", 1)
            if finder.implementation(name) == own:
                known = names.table()[name] & vars(importlib.import_module(own)).keys()   # dir() has JAX's
                assert not lacking(importlib.import_module(name), known), name
        assert jax.checkpoint_policies.dots_saveable is numjet.checkpoint_policies.dots_saveable
        jaxpr = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, _: (c, None), x, length=2))(1.0)
        assert jaxpr.eqns[0].primitive is jax.lax.scan_p
        from jax.experimental.sparse.bcoo import bcoo_dot_general
        assert bcoo_dot_general is jax.experimental.sparse.bcoo_dot_general
        assert jax.host_id() == 0 and jax.host_count() == 1 and jax.host_ids() == [0]
    """)


def test_private_modules_that_libraries_touch(run_as_jax):
    run_as_jax("""
        import jax, jax._src.core, jax._src.dispatch, jax._src.traceback_util, jax._src.util
        from jax._src import compiler, xla_bridge
        from jax._src.dtypes import TypePromotionError
        assert jax._src.core.trace_state_clean() and jax._src.core.Tracer is jax.core.Tracer
        assert not jax.jit(lambda x: x * jax._src.core.trace_state_clean())(1)
        assert jax._src.xla_bridge.device_count() == 1 and jax._src.dispatch.wait_for_tokens() is None
        assert jax._src.util.safe_map(lambda x, y: x + y, [1, 2], (3, 4)) == [4, 6]
        assert TypePromotionError is jax.dtypes.TypePromotionError
        from jax._src.lib import xla_client
        assert xla_client.XlaRuntimeError is jax.errors.JaxRuntimeError
        try:
            import jax._src.nothing
        except ModuleNotFoundError as error:
            assert error.name == "jax._src.nothing"
    """)


def test_slices_with_traced_starts_have_pallas_names(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        from jax.experimental.pallas import BlockSpec, dslice
        from jax.experimental import pallas as pl
        from jax._src.state.indexing import Slice
        assert Slice is pl.Slice is type(jax.ds(1, 2)) is type(dslice(1, 2)) and pl.ds is jax.ds
        assert jnp.arange(5)[dslice(1, 2)].tolist() == [1, 2]
        try:
            pl.pallas_call(lambda *refs: None)
        except NotImplementedError:
            pass
        else:
            raise AssertionError
    """)


def test_private_names_that_haliax_and_levanter_import(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp, numpy as np, opt_einsum
        from jax._src.ad_checkpoint import checkpoint_name, saved_residuals
        from jax._src.mesh import Mesh, get_concrete_mesh
        from jax._src.numpy import einsum
        mesh = jax.make_mesh((1,), ("x",))
        assert get_concrete_mesh().empty
        with jax.set_mesh(mesh):
            assert get_concrete_mesh() is mesh and jax.jit(lambda x: x * (get_concrete_mesh() == mesh))(2) == 2
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            assert get_concrete_mesh().empty
        assert len(saved_residuals(lambda x: jnp.sin(x) * x, 1.0)) == 3
        a, b, c = (np.arange(6.0, dtype="float32").reshape(2, 3) + k for k in range(3))
        given, plan = opt_einsum.contract_path("ij,kj,kl->il", a, b, c, einsum_call=True)
        steps = tuple((step[0], frozenset(step[1]), step[2]) for step in plan)
        result = jax.jit(lambda *xs: einsum._einsum(xs, steps, "highest", jnp.float32, jax.lax.dot_general))(*given)
        assert np.array_equal(result, a @ b.T @ c)
    """)


def test_private_names_that_brainstate_and_brainevent_import(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        from jax._src.core import JaxprEqnContext, trace_ctx
        from jax._src.dispatch import apply_primitive
        from jax._src.interpreters.batching import BatchTrace, BatchTracer, make_iota, to_elt
        from jax._src.sharding_impls import UNSPECIFIED
        JaxprEqnContext(None, True)
        assert jax.jit(jnp.sin, in_shardings=UNSPECIFIED, out_shardings=UNSPECIFIED)(0.0) == 0
        assert apply_primitive(jax.lax.neg_p, 2.0) == -2 and make_iota(3).tolist() == [0, 1, 2]
        state = jnp.ones(2)
        def reads_state(x):
            value = trace_ctx.trace.new_arg(jax.core.ShapedArray(state.shape, state.dtype), source_info=None)
            return x * value
        program = jax.make_jaxpr(reads_state)(3.0)
        assert [len(v.aval.shape) for v in program.jaxpr.invars] == [0, 1]
        assert jax.core.eval_jaxpr(program.jaxpr, program.consts, 3.0, state)[0].tolist() == [3, 3]
        def column(x):
            assert type(x._trace) is BatchTrace and type(x) is BatchTracer
            whole = jnp.arange(6.0).reshape(3, 2)
            return x + to_elt(x._trace, lambda: 0, whole, -2)[1] + to_elt(x._trace, lambda: 0, 1.0, None)
        assert jax.vmap(column)(jnp.zeros(3)).tolist() == [2, 4, 6]
    """)


def test_the_registry_takes_nodes_apart_and_puts_them_together_as_jaxlie_does(run_as_jax):
    run_as_jax("""
        import collections, jax
        from jax._src.tree_util import _registry
        class Pair:
            def __init__(self, a, b): self.a, self.b = a, b
        jax.tree_util.register_pytree_node(Pair, lambda p: ((p.a, p.b), "pair"), lambda aux, parts: Pair(*parts))
        for tree in ((1, 2), [1, [2]], {"b": 1, "a": (2,)}, collections.OrderedDict(z=1)):
            entry = _registry[type(tree)]
            children, aux = entry.to_iter(tree)
            assert entry.from_iter(aux, children) == tree
        children, aux = _registry[Pair].to_iter(Pair(3, {"x": 4}))
        assert (children, aux) == ((3, {"x": 4}), "pair")
        again = _registry[Pair].from_iter(aux, [5, None])
        assert type(again) is Pair and (again.a, again.b) == (5, None)
        assert Pair in _registry and int not in _registry
        try:
            _registry[int]
        except KeyError as error:
            assert error.args == (int,)
        else:
            raise AssertionError
    """)


def test_functions_of_flat_arguments(run_as_jax):
    run_as_jax("""
        import jax
        from jax import api_util
        from jax.extend import linear_util
        from jax.tree_util import tree_structure
        def f(x, y, *, z=1):
            return {"sum": x + y, "z": z}
        info = api_util.debug_info("test", f, (1.0, 2.0), {"z": 3})
        assert info.traced_for == "test" and info.func_src_info.startswith("f at") and info.arg_names == ("x", "y", "z")
        leaves, tree = jax.tree.flatten(((1.0, 2.0), {"z": 3}))
        flat, out = api_util.flatten_fun(linear_util.wrap_init(f, debug_info=info), tree)
        assert flat.call_wrapped(*leaves) == [3.0, 3] and out() == tree_structure({"sum": 0, "z": 0})
        flat, out = api_util.flatten_fun_nokwargs(linear_util.wrap_init(f), tree_structure((0, 0)))
        assert flat.call_wrapped(1.0, 2.0) == [3.0, 1] and out().num_leaves == 2
        assert api_util.flatten_axes("axes", tree_structure((1, (2, 3))), (0, None)) == [0, None, None]
        part, dynamic = api_util.argnums_partial(linear_util.wrap_init(f), (1,), (5.0, 6.0))
        assert dynamic == (6.0,) and part.call_wrapped(7.0) == {"sum": 12.0, "z": 1}
        try:
            api_util.argnums_partial(linear_util.wrap_init(f), 0, (5.0, [6.0]))
        except ValueError as error:
            assert "Non-hashable static arguments" in str(error)
        donated = api_util.donation_vector((0,), ("b",), tree_structure(((1, (2, 3)), {"a": 4, "b": 5})))
        assert donated == (True, False, False, False, True)
        assert api_util.rebase_donate_argnums((0, 2), (1,)) == (0, 1)
        assert api_util.rebase_donate_argnums((3, 3), (0, 1)) == (1,)
    """)


def test_private_names_that_equinox_flax_and_others_import(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        from jax.extend import ifrt_programs
        from jax._src.distributed import global_state
        from jax._src import ad_util, api_util, checkify, flatten_util, literals, tree_util
        from jax._src.dtypes import DType, ExtendedDType
        from jax._src.numpy.index_tricks import CClass, RClass
        assert type(jnp.c_) is CClass and RClass()[1:3, 7].tolist() == [1, 2, 7]
        assert CClass()[jnp.ones(2), jnp.ones(2)].shape == (2, 2)
        from jax._src.state.types import AbstractRef
        from jax._src.traceback_util import api_boundary
        assert api_boundary(len, repro_api_name="x")([1]) == 1 and AbstractRef is jax.ref.AbstractRef
        assert tree_util.prefix_errors((1, 2), [3, 4]) and not tree_util.prefix_errors(1, [3, 4])
        assert list in tree_util._registry and int not in tree_util._registry and tree_util.tree_leaves([1]) == [1]
        assert flatten_util.ravel_pytree({"a": 1.0})[0].shape == (1,) and checkify.Out and checkify.user_checks
        assert global_state.client is None and global_state.num_processes == 1 == jax.process_count()
        assert "not supported" in repr(ifrt_programs.ifrt_programs)
        assert not isinstance(1, literals.typed_scalar_types) and not isinstance(jnp.ones(1), literals.TypedNdArray)
        assert ad_util.stop_gradient_p is jax.lax.stop_gradient_p and DType is not ExtendedDType
    """)


def test_numbers_with_dtypes(run_as_jax):
    run_as_jax("""
        import copy, pickle
        import jax, jax.numpy as jnp, numpy as np
        from jax._src.literals import TypedComplex, TypedFloat, TypedInt, TypedNdArray
        i, f, c = TypedInt(3, np.int8), TypedFloat(3.5, np.dtype("float16")), TypedComplex(1 + 2j, np.complex64)
        assert [repr(x) for x in (i, f, c)] == ["TypedInt(3, dtype=int8)", "TypedFloat(3.5, dtype=float16)",
                                                "TypedComplex((1+2j), dtype=complex64)"]
        assert (i, f, c) == (3, 3.5, 1 + 2j) and type(i + 1) is int and str(f) == "3.5" and hash(i) == hash(3)
        for x in (i, f, c):
            again, made = pickle.loads(pickle.dumps(x)), jnp.asarray(x)
            assert repr(again) == repr(copy.deepcopy(x)) == repr(x) and again.dtype == x.dtype
            assert made.dtype == jax.typeof(x).dtype == x.dtype and made.weak_type and made == x
            assert jax.jit(lambda v: v)(x).dtype == x.dtype and jax.lax.neg(x).dtype == x.dtype
        assert jnp.asarray(i, "float32").dtype == "float32" and (jnp.ones(2, "int16") + i).dtype == "int16"
        try:
            jnp.asarray(TypedInt(300, np.int8))
        except OverflowError as error:
            assert "int8" in str(error)
        else:
            raise AssertionError("no error")
        a = TypedNdArray(np.ones(2, "float32"), jax.core.ShapedArray((2,), "float32", True))
        assert isinstance(a, np.ndarray) and a.weak_type and a.sum() == 2
    """)


def test_files_of_libraries_are_left_out_of_tracebacks(run_as_jax):
    run_as_jax("""
        import dataclasses
        from types import SimpleNamespace
        from jax._src import traceback_util
        frame = SimpleNamespace(f_code=dataclasses.field.__code__)
        assert traceback_util.include_frame(frame)
        traceback_util.register_exclusion(dataclasses.__file__)
        assert not traceback_util.include_frame(frame)
        traceback_util._exclude_paths.remove(dataclasses.__file__)
        assert traceback_util.include_frame(frame)
    """)


def test_jax_imported_before_is_an_error(run_python):
    done = run_python("-c", "import sys, types; sys.modules['jax'] = types.ModuleType('jax')\nimport numjet.as_jax")
    assert "ImportError: numjet.as_jax must come before the first import of jax" in done.stderr


def test_a_second_import_changes_nothing(run_as_jax):
    run_as_jax("import jax, numjet.as_jax\nimport jax as again\nassert jax is again")


PROGRAM = "import sys, jax, numjet\nprint(jax.numpy is numjet.numpy, __name__, *sys.argv[1:])\n"


def test_programs_modules_and_code_are_run_by_the_command(run_python, tmp_path):
    (tmp_path / "program.py").write_text("import helper\n" + PROGRAM)
    (tmp_path / "helper.py").write_text("import jax\n")
    for arguments in (["program.py"], ["-m", "program"], ["-c", PROGRAM]):
        done = run_python("-m", "numjet.as_jax", *arguments, "--flag", "x")
        assert done.stdout == "True __main__ --flag x\n", done.stderr


@pytest.mark.parametrize("arguments", [[], ["-m"], ["--help"]])
def test_the_command_shows_its_usage(run_python, arguments):
    done = run_python("-m", "numjet.as_jax", *arguments)
    assert "python -m numjet.as_jax program.py [arguments]" in done.stderr and done.returncode == 1


@pytest.mark.parametrize(("value", "found"), [("1", "True"), ("0", "False"), ("", "False")])
def test_a_variable_switches_it_on(run_python, tmp_path, value, found):
    """The .pth file is installed beside the package; here it is read from a folder of its own."""
    shutil.copy(FOLDER / "numjet_as_jax.pth", tmp_path)
    program = f"import site, sys; site.addsitedir({str(tmp_path)!r}); print('numjet' in sys.modules)"
    assert run_python("-c", program, NUMJET_AS_JAX=value).stdout == f"{found}\n"


def test_the_xla_backend_gets_the_installed_jaxlib(run_as_jax):
    pytest.importorskip("jaxlib")
    run_as_jax("""
        import numpy as np
        import jax, jax.numpy as jnp, jaxlib.xla_client
        device = jax.devices("xla_cpu")[0]
        x = jax.device_put(jnp.arange(3.0), device)
        assert np.allclose(jax.jit(jnp.sin)(x), np.sin(np.arange(3.0)))
        import jaxlib.xla_client as again
        assert again is jaxlib.xla_client and isinstance(x, again.Array)
    """)


def test_jaxlib_used_before_is_kept_for_the_xla_backend(run_python):
    pytest.importorskip("jaxlib")
    done = run_python("-c", """if True:
        import numjet
        x = numjet.device_put(1.0, numjet.devices("xla_cpu")[0])
        import numjet.as_jax
        import jaxlib.xla_client, jax
        assert isinstance(x, jaxlib.xla_client.Array) and float(jax.jit(lambda x: x + 1)(x)) == 2.0
    """)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_the_installed_jax_is_reachable(run_as_jax):
    run_as_jax("""
        import warnings
        warnings.simplefilter("ignore")
        import numpy as np
        import numjet, numjet.as_jax
        real = numjet.as_jax.real()
        import jax, jax.numpy as jnp
        assert jnp is numjet.numpy and real is not jax and real.numpy is not jnp and numjet.as_jax.real() is real
        x = real.jit(lambda x: real.numpy.sin(x))(np.arange(3.0, dtype=np.float32))
        there, back = jnp.from_dlpack(x), real.numpy.from_dlpack(jnp.sin(jnp.arange(3.0)))
        assert isinstance(there, jax.Array) and isinstance(back, real.Array) and not isinstance(back, jax.Array)
        assert np.allclose(there, back) and np.allclose(real.scipy.stats.norm.pdf(x), jax.scipy.stats.norm.pdf(there))
        assert real.vmap(lambda x: real.lax.cond(x > 0, lambda: 1, lambda: 2))(np.arange(3)).tolist() == [2, 1, 1]
    """)


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="JAX is installed")
def test_without_jax_real_says_what_to_install(run_as_jax):
    assert "numjet.as_jax.real() needs JAX itself, which is not installed: pip install jax" in run_as_jax("""
        try:
            numjet.as_jax.real()
        except ModuleNotFoundError as error:
            print(error)
    """)


def test_variables_are_read_when_jax_is_first_imported(run_as_jax):
    run_as_jax("""
        import os
        os.environ["JAX_ENABLE_X64"], os.environ["JAX_NUMPY_RANK_PROMOTION"] = "1", "warn"
        import jax, jax.numpy as jnp
        assert jnp.ones(2).dtype == jnp.float64 and jax.config.jax_numpy_rank_promotion == "warn"
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
        assert jax.device_count() == 3
    """)


def test_private_modules_give_the_names_that_public_ones_show(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp
        import jax._src.scipy.stats.norm
        from jax._src import core, effects, mesh, nn, pjit, sharding_impls
        from jax._src.interpreters import partial_eval, pxla
        from jax._src.lax import control_flow, lax
        from jax._src.nn.functions import softmax
        from jax._src.numpy import lax_numpy
        assert lax_numpy.concatenate is jnp.concatenate and lax.add is jax.lax.add and control_flow.scan is jax.lax.scan
        assert softmax is jax.nn.softmax and pjit.jit_p is jax.extend.core.primitives.jit_p and mesh.Mesh is jax.sharding.Mesh
        assert sharding_impls.NamedSharding is jax.sharding.NamedSharding and jax._src.random.normal is jax.random.normal
        assert not hasattr(lax, "no_such_name") and not hasattr(lax_numpy, "scan")
        try:
            import jax._src.no_such_module
        except ModuleNotFoundError as error:
            assert "jax._src.no_such_module" in str(error)
        else:
            raise AssertionError
    """)


def test_deprecated_names_are_there(run_as_jax):
    run_as_jax("""
        import jax
        assert jax.core.Effects is jax.extend.core.Effects and jax.core.Effect
        assert jax.core.pytype_aval_mappings[float](1.0).weak_type
        try:
            jax.core.abstract_token()
        except NotImplementedError as error:
            assert "jax.core.abstract_token" in str(error)
        else:
            raise AssertionError
    """)


def test_types_of_users_become_arrays(run_as_jax):
    run_as_jax("""
        import jax, jax.numpy as jnp, numpy as np
        class Variable:
            def __init__(self, value):
                self.value = value
            def __array__(self, dtype=None, copy=None):
                return np.asarray(self.value, dtype)
        handlers = jax.interpreters.xla.canonicalize_dtype_handlers
        handlers[Variable] = handlers[np.ndarray]
        jax.core.pytype_aval_mappings[Variable] = jax.core.pytype_aval_mappings[np.ndarray]
        x = Variable(np.arange(3.0, dtype=np.float32))
        assert jnp.sin(x).shape == (3,) and jax.jit(lambda y: x + y)(1.0).tolist() == [1, 2, 3]
        assert jnp.sum(Variable(np.zeros(0, np.float32))) == 0
    """)


def test_the_native_module_of_jaxlib(run_as_jax):
    run_as_jax("""
        from functools import singledispatch
        import jax, jax.numpy as jnp
        from jaxlib import _jax
        assert isinstance(jax.jit(jnp.sin), _jax.PjitFunction) and not isinstance(lambda x: x, _jax.PjitFunction)
        assert isinstance(jnp.ones(2), _jax.Array) and isinstance(jax.devices()[0], _jax.Device)
        name = singledispatch(lambda f: "other")
        name.register(_jax.PjitFunction, lambda f: "jitted")
        assert name(jax.jit(abs)) == "jitted" and name(abs) == "other"
        try:
            _jax.no_such_name
        except AttributeError as error:
            assert str(error) == "module 'jaxlib._jax' has no attribute 'no_such_name'"
    """)


def test_backends_are_known_once_devices_were_asked_for(run_as_jax):
    run_as_jax("""
        import os
        import jax
        assert jax._src.xla_bridge._backends == {}
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
        assert jax.device_count() == 3 and list(jax._src.xla_bridge._backends) == ["cpu"]
    """)


def test_primitives_that_numjet_lacks_are_primitives(run_as_jax):
    run_as_jax("""
        import jax
        from jax.extend.core import Primitive
        from numjet.as_jax import unsupported
        stack_p = unsupported.placeholder("jax.lax.stack_p")
        assert isinstance(stack_p, Primitive) and stack_p.name == "stack"
        jax.interpreters.batching.primitive_batchers[stack_p] = lambda args, dims: None
        try:
            stack_p.bind(1.0)
        except NotImplementedError as error:
            assert "jax.lax.stack_p is part of JAX 0.10.2 and not supported" in str(error)
        else:
            raise AssertionError("no error")
    """)


def test_private_names_that_e3nn_tinygp_and_quax_import(run_as_jax):
    run_as_jax("""
        import inspect
        import jax, numpy as np
        from jax._src.api_util import infer_argnums_and_argnames as infer
        from jax._src.public_test_util import check_close, check_grads
        from jax._src.random import threefry2x32
        from jax._src.traceback_util import UnfilteredStackTrace
        signature = inspect.signature(lambda x, y=1, *, z=2: 0)
        assert infer(signature, None, None) == ((), ()) and infer(signature, 0, None) == ((0,), ("x",))
        assert infer(signature, None, ("y", "z")) == ((1,), ("y", "z")) and infer(signature, 0, "z") == ((0,), ("z",))
        check_close({"a": np.float32(1)}, {"a": np.float32(1.0001)})
        words = threefry2x32.threefry_seed(3)
        key = jax.random.key(3)
        assert (words == jax.random.key_data(key)).all()
        assert (threefry2x32.threefry_split(words, (4,)) == jax.random.key_data(jax.random.split(key, 4))).all()
        assert (threefry2x32.threefry_random_bits(words, 16, (4,)) == jax.random.bits(key, (4,), "uint16")).all()
    """)


def test_random_keys_are_constants_of_programs_on_several_devices(run_as_jax):
    pytest.importorskip("jaxlib")
    run_as_jax("""
        import os
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
        import jax, jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding
        mesh = jax.make_mesh((2,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
        whole = NamedSharding(mesh, P())
        key = jax.random.key(3)
        found, x = jax.jit(lambda x: (key, x), out_shardings=(whole, whole))(jnp.ones(2))
        assert found.dtype == key.dtype and (jax.random.key_data(found) == jax.random.key_data(key)).all()
        assert whole._addressable_device_assignment == tuple(jax.devices())
        assert SingleDeviceSharding(jax.devices()[1])._addressable_device_assignment == (jax.devices()[1],)
    """)


def test_arrays_and_tracers_are_of_packages_that_libraries_dispatch_on(run_as_jax):
    run_as_jax("""
    import pickle
    import jax, jax.numpy as jnp
    from jaxlib._jax import ArrayImpl
    x, seen = jnp.ones(2), []
    package = lambda x: (seen.append(type(x).__module__.split(".")[0]), x.sum())[1]
    package(x), jax.jit(package)(x), jax.grad(package)(x), jax.vmap(package)(jnp.ones((2, 2)))
    assert seen == ["jaxlib", "jax", "jax", "jax"] and type(x) is ArrayImpl and isinstance(x, jax.Array)
    assert pickle.loads(pickle.dumps(type(x))) is ArrayImpl and pickle.loads(pickle.dumps(x)).tolist() == [1, 1]
    """)


def test_lines_of_the_log_have_the_names_of_jax_s_loggers(run_as_jax):
    run_as_jax("""
        import logging, jax
        seen = []
        handler = logging.Handler()
        handler.emit = lambda record: seen.append((record.name, record.getMessage().split()[0]))
        logging.getLogger("jax").addHandler(handler)
        jax.config.update("jax_debug_log_modules", "jax._src.dispatch")
        jax.jit(lambda x: x + 1)(1)
        assert {name for name, _ in seen} == {"jax._src.dispatch"}, seen
        assert {word for _, word in seen} == {"Finished"}, seen
    """)


def test_libraries_hide_their_frames(run_python, tmp_path):
    """As Flax does: its files are registered, and its methods are boundaries, at which errors lose their frames."""
    (tmp_path / "library.py").write_text(textwrap.dedent("""
        from jax._src import traceback_util
        traceback_util.register_exclusion(__file__)
        def inner(fun, x):
            return fun(x)
        @traceback_util.api_boundary
        def apply(fun, x):
            return inner(fun, x)
        """), encoding="utf8")
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import numjet.as_jax
        import traceback
        import jax
        import library
        def bad(x):
            raise ValueError("bad")
        try:
            library.apply(jax.jit(bad), 1.0)
        except ValueError as error:
            files = [f.f_code.co_name for f, _ in traceback.walk_tb(error.__traceback__)]
        assert files == ["<module>", "bad"], files
        """), encoding="utf8")
    done = run_python("program.py", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert done.returncode == 0, done.stderr
