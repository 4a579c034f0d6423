"""The package's imports keep to the picture of layers, without cycles; files and functions stay small.

The picture (docs/architecture.md): foundation <- core <- {lax <- transforms <- control} and {cpu, xla <- runtime} <-
api <- {numpy, random, nn, scipy, ...} <- {testing, tools, demo}. A facade is a module that only gives public names to
what others define; facades stand on top of what they show.
"""
from __future__ import annotations

import ast
import gc
import graphlib
import importlib
import inspect
import subprocess
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from numjet.core.op import all_ops
from numjet.cpu.ir.nodes import ARITHMETIC, MATH

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES, MAX_FUNCTION = 800, 60

FOUNDATION = {"foundation", "_native"}
CORE = {"core"} | FOUNDATION
PROGRAMS = {"lax", "transforms", "control"}
API = PROGRAMS | {"runtime"} | CORE
LIBRARIES = {"numpy", "random", "nn", "scipy", "image", "experimental", "example_libraries"}
COMPATIBILITY = {"interpreters", "extend", "as_jax"}  # JAX's names for what others define; as_jax is imported by none
FACADES = {"", "lax facade", *(p.stem for p in (ROOT / "numjet").glob("*.py") if p.stem != "__init__")}
TOP = {"testing", "tools", "demo"}

# What the modules of a layer may import besides their own layer. runtime finds a backend by name (runtime/backends.py).
MAY_IMPORT: dict[str, set[str]] = {
    "foundation": {"_native"},
    "core": FOUNDATION,
    "lax": CORE,
    "transforms": {"lax"} | CORE,
    "control": {"lax", "transforms"} | CORE,
    "cpu": CORE,
    "xla": CORE,
    "runtime": CORE,
    "api": API,
    **dict.fromkeys(LIBRARIES, LIBRARIES | API | {"api"} | FACADES - {""}),
    "interpreters": LIBRARIES | API | {"api"} | FACADES,
    "extend": {"interpreters"} | LIBRARIES | API | {"api"} | FACADES,
    "as_jax": COMPATIBILITY | LIBRARIES | API | {"api"} | FACADES,
    **dict.fromkeys(TOP, TOP | LIBRARIES | API | {"api", "cpu"} | FACADES),
}
UNRESTRICTED = FACADES

# The subpackages and modules of a package, lowest first: each imports only those in front of it.
ORDER: dict[str, tuple[str, ...]] = {
    "cpu": ("target", "threads", "ir", "remarks", "kernels", "mathlib", "analysis", "verification", "lowering", "passes",
            "generic", "codegen", "native_code", "compile_report", "probes", "compiler", "standalone"),
}
# Subpackages that only some of those behind them may import.
RESERVED: dict[str, set[str]] = {"cpu.verification": {"cpu.compiler"}}

# Only these layers may import these packages: what is heavy or belongs to one backend stays behind it.
PACKAGES: dict[str, set[str]] = {
    "llvmlite": {"cpu"},
    "jaxlib": {"xla"},
    "jax": set(),
    "sklearn": set(),
    "matplotlib": {"demo"},
    "tqdm": {"api", "demo"},
}
# Files that touch the environment or load modules by name, and why.
ENVIRONMENT = {
    "numjet/foundation/config.py": "reads the flags",
    "numjet/xla/plugin.py": "sets the variable that jaxlib reads while it loads",
    "numjet/as_jax/__main__.py": "sets the variable that child processes read",
    "numjet/foundation/processes.py": "reads what launchers of several processes say",
    "numjet/tools/launch.py": "sets the environment of the processes that it starts",
    "numjet/tools/replay.py": "sets the environment of the processes that it starts",
}
LOADS_BY_NAME = {
    "numjet/xla/plugin.py": "jaxlib and its plugins need not be installed",
    "numjet/xla/libraries.py": "as the plugins; LAPACK's functions need SciPy, which is slow to import",
    "numjet/as_jax/__init__.py": "gives the loader of modules one that knows the installed jaxlib",
    "numjet/as_jax/classes.py": "tracers are found among the subclasses of their base, once their modules are loaded",
    "numjet/as_jax/finder.py": "imports the modules that JAX's names mean",
    "numjet/as_jax/installed.py": "JAX need not be installed",
    "numjet/core/op.py": "records that most programs do without are made when all, or an unknown one, are asked for",
    "numjet/foundation/locks.py": "the one loader of modules, which forks wait for",
    "numjet/foundation/lazy_import.py": "the loader of what follows",
    "numjet/runtime/backends.py": "a backend is imported when it first compiles",
    "numjet/runtime/verification.py": "the reference is imported only when programs are verified",
    "numjet/tools/show.py": "imports the module that the user names",
    "numjet/tools/jax_diff.py": "runs in two Pythons, one without numjet, one without JAX",
    "numjet/tools/jax_tables.py": "runs in two Pythons, one without numjet, one without JAX",
}
# Modules that are imported with the first use of an attribute (foundation.lazy_import), so that import numjet stays quick:
# those that take long to import, while most programs do without them.
LAZY = {
    "numjet/__init__.py": ["numjet.lazy_exports"],
    "numjet/api/aot.py": ["numjet.api.costs", "numjet.api.stage_html", "numjet.core.sharding.shardings"],
    "numjet/api/diagnostics.py": ["numjet.control.call.body_tracing"],
    "numjet/api/eager_gradients.py": ["numjet.api.tape_recorder", "numjet.transforms.inline"],
    "numjet/api/eager_plans.py": ["numjet.api.tape_recorder"],
    "numjet/api/grad.py": ["numjet.api.wanted_cotangents"],
    "numjet/api/jit.py": ["numjet.api.autograph.function", "numjet.api.dynamic.axes", "numjet.api.dynamic.call",
                          "numjet.api.key_reuse", "numjet.api.export.programs", "numjet.api.sharding.placement",
                          "numjet.lax.sharding", "numjet.api.aot", "numjet.api.cache_misses", "numjet.api.stored_calls",
                          "numjet.control.call.call", "numjet.core.sharding.distribution", "numjet.transforms.dce",
                          "numjet.transforms.simplify"],
    "numjet/api/jit_stages.py": ["numjet.api.sharding.placement"],
    "numjet/api/progress.py": ["tqdm.auto"],
    "numjet/api/stages.py": ["numjet.api.sharding.placement", "numjet.api.refs"],
    "numjet/api/transfer.py": ["numjet.api.sharding.placement", "numjet.lax.sharding",
                               "traceback"],  # for errors nobody has seen at the end
    "numjet/control/__init__.py": ["numjet.control.lazy_exports"],
    "numjet/core/__init__.py": ["numjet.core.lazy_exports"],
    "numjet/experimental/__init__.py": ["numjet.experimental.lazy_exports"],
    "numjet/control/custom/custom_vjp.py": ["numjet.control.custom.remat_opt"],
    "numjet/control/host/breakpoint.py": ["pdb"],
    "numjet/control/host/debug_print.py": ["logging", "numjet.control.host.format_check"],
    "numjet/control/loops/scan_op.py": ["numjet.control.simplify.loops"],
    "numjet/cpu/kernels/lapack.py": ["numjet.cpu.kernels.blas"],
    "numjet/cpu/compiler.py": ["numjet.cpu.generic.independence", "numjet.cpu.generic.unification",
                               "numjet.cpu.verification.verifier"],
    "numjet/cpu/ir/semantics.py": ["fractions", "statistics"],
    "numjet/cpu/native_code/jit.py": ["numjet.cpu.native_code.binding_generator", "numjet.cpu.native_code.linker",
                                      "numjet.cpu.native_code.perf_map"],
    "numjet/cpu/native_code/machines.py": ["numjet.cpu.native_code.binding_generator"],  # for versions that are not known
    "numjet/cpu/native_code/stored.py": ["numjet.cpu.compiler", "numjet.cpu.native_code.jit", "numjet.cpu.native_code.tiers"],
    "numjet/foundation/absl_flags.py": ["absl.app", "absl.flags"],
    "numjet/control/loops/while_op.py": ["numjet.control.simplify.loops", "numjet.control.loops.while_reverse"],
    "numjet/cpu/ir/printer.py": ["json"],
    "numjet/foundation/disk_cache.py": ["_blake2"],  # for the cache on disk
    "numjet/core/benchmark_report.py": ["matplotlib.figure"],
    "numjet/core/compile_report.py": ["numjet.core.report_html"],  # for notebooks
    "numjet/core/check.py": ["numjet.core.printer"],
    "numjet/core/ir.py": ["numjet.core.notebook", "numjet.core.printer"],
    "numjet/core/sharding/layouts.py": ["numjet.core.sharding.shardings"],
    "numjet/core/aval.py": ["numjet.core.sharding.explicit"],
    "numjet/runtime/one_device.py": ["numjet.core.sharding.partition_spec", "numjet.core.sharding.shardings"],
    "numjet/experimental/sparse/linalg.py": ["scipy.sparse", "scipy.sparse.linalg"],
    "numjet/experimental/sparse_derivatives/values.py": ["scipy.sparse"],
    "numjet/foundation/events.py": ["logging"],
    "numjet/foundation/flags.py": ["difflib"],  # for misspelled flags
    "numjet/foundation/xla_metadata.py": ["json"],  # for attributes for XLA
    "numjet/foundation/tree/register.py": ["dataclasses"],  # for dataclasses that become pytrees
    "numjet/lax/__init__.py": ["numjet.lax.lazy_exports"],
    "numjet/lax/sharding_later.py": ["numjet.lax.sharding", "numjet.lax.sharding_rules", "numjet.lax.collective.sums"],
    "numjet/lax/contraction/precision.py": ["numjet.lax.contraction.dot_algorithms"],
    "numjet/lax/indexing/gather.py": ["numjet.lax.indexing.counted_rows"],
    "numjet/lax/linalg/lapack.py": ["scipy.linalg.blas", "scipy.linalg.lapack"],
    "numjet/lax/elementwise/arithmetic.py": ["numjet.lax.elementwise.complex_rules"],
    "numjet/lax/elementwise/compare.py": ["numjet.lax.elementwise.complex_rules"],
    "numjet/lax/elementwise/transcendental.py": ["numjet.lax.elementwise.complex_rules"],
    "numjet/lax/elementwise/scipy_functions.py": ["scipy.special"],
    "numjet/numpy/__init__.py": ["numjet.numpy.lazy_exports"],
    "numjet/numpy/contraction/einsum.py": ["opt_einsum"],
    "numjet/numpy/core/dlpack.py": ["ctypes"],
    "numjet/numpy/core/arrays.py": ["numjet.lax.sharding"],
    "numjet/numpy/core/methods.py": ["numjet.numpy.core.namespace_info", "numjet.numpy.core.numpy_protocols",
                                     "numjet.numpy.core.printing", "numjet.api.sharding.shards"],
    "numjet/numpy/core/shape_methods.py": ["numjet.numpy.indexing.selection"],
    "numjet/numpy/indexing/update.py": ["numjet.api.vmap"],
    "numjet/numpy/indexing/subscript.py": ["numjet.numpy.indexing.large"],
    "numjet/numpy/ufuncs/ufunc_class.py": ["numjet.numpy.ufuncs.vectorize"],
    "numjet/runtime/device.py": ["numjet.core.sharding.distribution"],
    "numjet/runtime/dispatch.py": ["numjet.runtime.stored_programs", "numjet.core.sharding.distribution"],
    "numjet/scipy/integrate/steps.py": ["scipy.integrate"],  # coefficients of DOP853
    "numjet/scipy/signal/design.py": ["scipy.signal"],  # designs of filters from numbers
    "numjet/scipy/signal/segments.py": ["scipy.signal.windows"],  # tables of windows
    "numjet/scipy/signal/windows.py": ["scipy.signal.windows"],
}

# Names of operations that are words of the compiler, too: its own functions, and why others stand in it.
LOOP_IR = {*ARITHMETIC, *MATH}
OTHER_WORDS = {
    "check": "a statement of loop IR",
    "copy": "a statement of loop IR",
    "geqrf": "a routine of LAPACK",
    "name": "a field of buffers",
    "round": "a function of the C library",
    "tile": "a kind of buffer",
    "while": "a statement of loop IR",
}

# Functions over the limit, and why they are not cut.
LONG_FUNCTIONS: dict[str, str] = {}


@dataclass(frozen=True)
class Import:
    """One import in the package: of a module of ours (full dotted name) or of another package."""

    file: str
    line: int
    module: str
    target: str
    inside: bool


@cache
def sources() -> dict[str, ast.Module]:
    """Parsed files of the package, by path from the root. They are out of Python's collections, during which a million nodes
    would be visited: by those while parsing, and by those of later tests."""
    paths = sorted((ROOT / "numjet").rglob("*.py"))
    assert len(paths) > 100
    gc.disable()
    try:
        return {str(p.relative_to(ROOT)): ast.parse(p.read_text(encoding="utf8")) for p in paths}
    finally:
        gc.freeze()
        gc.enable()


def module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def modules() -> frozenset[str]:
    return frozenset({module_name(f) for f in sources()} | {"numjet._native"})


def layer(module: str) -> str:
    """The layer of a module of ours; "" is the package's own facade."""
    if module in ("numjet.lax", "numjet.lax.lazy_exports"):
        return "lax facade"
    return module.split(".")[1] if "." in module else ""


def targets(node: ast.Import | ast.ImportFrom, file: str) -> Iterator[str]:
    """Full names of the modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (a.name for a in node.names)
        return
    base = node.module or ""
    if node.level:
        package = module_name(file).split(".") if file.endswith("__init__.py") else module_name(file).split(".")[:-1]
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, base] if base else package)
    for a in node.names:
        full = f"{base}.{a.name}"
        yield full if full in modules() else base


def for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def walk(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes that run, and whether they are in a function."""
    for child in ast.iter_child_nodes(node):
        if for_types_only(child):
            continue
        yield child, inside
        yield from walk(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


@cache
def imports() -> list[Import]:
    return [
        Import(file, node.lineno, module_name(file), target, inside)
        for file, tree in sources().items()
        for node, inside in walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for target in targets(node, file)
    ]


def ours(target: str) -> bool:
    return target == "numjet" or target.startswith("numjet.")


def test_imports_go_up_the_picture_only():
    wrong = []
    for i in imports():
        if not ours(i.target):
            continue
        here, there = layer(i.module), layer(i.target)
        if here not in UNRESTRICTED and there != here and there not in MAY_IMPORT[here]:
            wrong.append(f"{i.file}:{i.line}: {here} imports {i.target} ({there})")
    assert not wrong, "\n".join(wrong)


def test_every_package_is_in_the_picture():
    found = {layer(m) for m in modules()} - {"_native"}
    assert found <= set(MAY_IMPORT) | UNRESTRICTED, "add new packages to MAY_IMPORT"


def subpackage(module: str) -> str:
    """The package and the subpackage, or module, that a module of ours is in, such as cpu.ir."""
    return ".".join(module.split(".")[1:3])


def test_subpackages_import_those_in_front_of_them():
    wrong = []
    for i in imports():
        (package, _, here), (other, _, there) = (subpackage(m).partition(".") for m in (i.module, i.target))
        if package != other or package not in ORDER or here == there or not here:
            continue
        before, name = ORDER[package][:ORDER[package].index(here)], subpackage(i.module)
        if there not in before or name not in RESERVED.get(subpackage(i.target), {name}):
            wrong.append(f"{i.file}:{i.line}: {here} imports {i.target}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ORDER)
def test_every_subpackage_has_its_place(package):
    found = {subpackage(m).partition(".")[2] for m in modules() if m.startswith(f"numjet.{package}.")}
    assert found == set(ORDER[package]), "give new subpackages their place in ORDER"


def test_no_import_cycles():
    graph: dict[str, set[str]] = {}
    for i in imports():
        if ours(i.target) and i.target != i.module:
            graph.setdefault(i.module, set()).add(i.target)
    try:
        list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_the_walk_sees_imports_in_functions_and_spares_those_for_types():
    tree = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from c import d\n")
    found = [(ast.unparse(n), inside) for n, inside in walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert found == [("import a", False), ("from c import d", True)]


def test_no_imports_inside_functions():
    wrong = [f"{i.file}:{i.line}: {i.target}" for i in imports() if i.inside]
    assert not wrong, "\n".join(wrong)


@cache
def names_used() -> dict[str, set[str]]:
    """Files by the names and attributes that their code mentions."""
    found: dict[str, set[str]] = {}
    for f, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Attribute, ast.Name)):
                found.setdefault(node.attr if isinstance(node, ast.Attribute) else node.id, set()).add(f)
    return found


def test_modules_are_loaded_by_name_in_known_places():
    assert names_used()["import_module"] | names_used().get("__import__", set()) == set(LOADS_BY_NAME)


LAZY_CALLS = ("lazy_import.Module", "lazy_import.Functions", "_lazy_import.names")


def lazy_imports() -> dict[str, list[str]]:
    """Files, and the modules that they import lazily."""
    found: dict[str, list[str]] = {}
    for file, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in LAZY_CALLS:
                found.setdefault(file, []).append(ast.literal_eval(node.args[:2][-1]))
    return found


def test_modules_are_imported_lazily_in_known_places():
    assert lazy_imports() == LAZY


def test_what_is_imported_lazily_is_in_the_layer_of_the_file_and_exists():
    for file, names in lazy_imports().items():
        here = layer(module_name(file))
        for name in filter(ours, names):
            assert name in modules() and (here in UNRESTRICTED or layer(name) in MAY_IMPORT[here] | {here})


@pytest.mark.parametrize("facade", ["numjet", "numjet.control", "numjet.lax", "numjet.numpy"])
def test_lazy_names_are_not_those_of_files(facade):
    """Importing a file gives its package an attribute of the file's name, which would hide a function of that name."""
    folder = ROOT / facade.replace(".", "/")
    exports = vars(importlib.import_module(f"{facade}.lazy_exports"))
    public = {name for name, value in exports.items() if not inspect.ismodule(value)}
    assert public & {p.stem for p in folder.glob("*.py")} == set()


@pytest.mark.parametrize("facade", ["numjet", "numjet.control", "numjet.core", "numjet.lax", "numjet.numpy"])
def test_facades_import_each_name_by_itself(facade):
    code = f"""if True:
        import importlib, sys, {facade} as m
        from numjet.foundation.lazy_import import sources
        more = "{facade}.lazy_exports"
        names = set(sources(more))
        assert names and set(dir(m)) >= names and not hasattr(m, "__nothing__")
        shown = {{name: getattr(m, name) for name in names}}
        assert more not in sys.modules
        bare = lambda x: getattr(x, "__wrapped__", x)   # without the tapes that numjet.numpy puts in front
        real = vars(importlib.import_module(more))
        assert all(bare(real[name]) is bare(found) for name, found in shown.items())
        assert {{n for n in real if n[0] != "_"}} == names
        m.nothing
    """
    error = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stderr
    assert error.splitlines()[-1] == f"AttributeError: module {facade!r} has no attribute 'nothing'"


def test_lists_of_exports_hold_nothing_but_imports():
    files = [file for file in sources() if file.endswith("lazy_exports.py")]
    assert len(files) > 5
    for file in files:
        assert ast.get_docstring(sources()[file])
        assert all(isinstance(node, ast.ImportFrom) for node in sources()[file].body[1:]), file


def test_importing_numjet_imports_nothing_that_it_does_not_need():
    code = "import numpy, ml_dtypes, sys; before = set(sys.modules); import numjet; print(*sorted(set(sys.modules) - before))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    others = {name for name in shown if not ours(name)}
    assert others <= {"__future__", "atexit", "gc", "threading"}, "import these lazily: see foundation/lazy_import.py"
    lazy = {name for names in LAZY.values() for name in names}
    assert not set(shown) & lazy
    assert len([name for name in shown if ours(name)]) < 160
    found = {layer(name) for name in shown if ours(name)}
    assert found & {"cpu", "xla", "random", "nn", "scipy", "testing", "tools", "demo"} == set()


def test_the_environment_is_touched_in_known_places():
    assert names_used()["environ"] | names_used().get("getenv", set()) == set(ENVIRONMENT)


def test_packages_stay_in_their_layers():
    wrong = [
        f"{i.file}:{i.line}: {i.target}" for i in imports()
        if (package := i.target.split(".")[0]) in PACKAGES and layer(i.module) not in PACKAGES[package]
    ]
    assert not wrong, "\n".join(wrong)


def test_files_are_short():
    folders = ("numjet", "native", "tests", "benchmarks")
    files = [p for d in folders for p in (ROOT / d).rglob("*") if p.suffix in (".py", ".cpp", ".h", ".pyi")]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf8").splitlines()) for p in files}
    assert {f: n for f, n in lengths.items() if n > MAX_LINES} == {}


def function_lengths() -> Iterator[tuple[str, int]]:
    """Every function of the package and its lines, docstring not counted."""
    for file, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0]
                doc = ast.get_docstring(node, clean=False)
                spared = first.end_lineno - first.lineno + 1 if doc is not None else 0
                yield f"{file}:{node.name}", node.end_lineno - node.lineno + 1 - spared


def test_functions_are_short():
    long = {name: n for name, n in function_lengths() if n > MAX_FUNCTION}
    assert set(long) == set(LONG_FUNCTIONS), f"cut these, or give the reason in LONG_FUNCTIONS: {long}"
    assert all(LONG_FUNCTIONS.values())


def operation_names(tree: ast.AST, spared: Container[str]) -> Iterator[tuple[int, str]]:
    """Strings that are names of operations, and decisions by the name of an operation, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in all_ops().keys() - set(spared):
            yield node.lineno, repr(node.value)
        decides = isinstance(node, (ast.Compare, ast.Subscript)) or isinstance(node, ast.Call) and (
            isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "startswith", "endswith"))
        parts = [p for n in ast.iter_child_nodes(node) for p in (n, getattr(n, "value", None))] if decides else []
        yield from ((p.lineno, ast.unparse(p)) for p in parts
                    if isinstance(p, ast.Attribute) and ast.unparse(p).endswith(("op.name", "primitive.name")))


def test_no_operation_is_known_by_its_name_in_the_compiler_and_in_transformations():
    """Passes ask records (core/traits.py); rules about one operation import its record."""
    spared = {"cpu": LOOP_IR | set(OTHER_WORDS), "transforms": ()}
    wrong = [f"{file}:{line}: {found}" for file, tree in sources().items() if (room := layer(module_name(file))) in spared
             for line, found in operation_names(tree, spared[room])]
    assert not wrong, "\n".join(wrong)
    said = {n.value for f, t in sources().items() if layer(module_name(f)) == "cpu"
            for n in ast.walk(t) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert set(OTHER_WORDS) <= said & set(all_ops()), "drop the exceptions that are not needed any more"


@pytest.mark.parametrize("code", ['x = "reduce_sum"', 'op.name == x', 'x in COSTS and COSTS[eqn.primitive.name]',
                                  'eqn.primitive.name.startswith(x)', 'COSTS.get(op.name, 1.0)'])
def test_the_walk_sees_names_of_operations(code):
    assert len(list(operation_names(ast.parse(code), ()))) == 1
    assert not list(operation_names(ast.parse("raise TypeError(f'no rule for {op.name}')"), ()))
