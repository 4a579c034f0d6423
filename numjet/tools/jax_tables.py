"""Differential testing against JAX by tables of expressions: each is computed by both libraries, eagerly and jitted.

    python -m numjet.tools.jax_tables --jax-python /path/to/python [--table kinks] [--write tests/jax_outcomes]

The tables in `jax_diff_cases.py` are source text, so that one process without JAX and one without numjet can run them
(this file is run there as a script). An outcome is all that a user can observe: dtypes, weak types, shapes, values with NaN,
infinities and the signs of zeros, or the class of the error. `--write` keeps JAX's outcomes as text, which tests read where
JAX is not installed.
"""
from __future__ import annotations

import argparse
import importlib
import lzma
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Case = tuple[str, str, bool]  # table, expression, with 64 bits
Outcome = Any  # the class of an error, or a list of leaves (dtype, weak, shape, nested lists of values)
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 4e-5, "float64": 1e-11, "complex128": 1e-11}
SUBMODULES = (*(f"scipy.{part}" for part in ("special", "linalg", "stats", "fft", "signal", "ndimage", "cluster.vq",
              "integrate", "interpolate", "optimize", "sparse.linalg", "spatial.transform")), "image", "ops")
MODES = ("eager", "jit")
KEPT = 300  # approximate number of cases in a table of the tests
FUNCTION_TABLES = ("functions", "distributions", "matrices", "lax", "lax matrices")


# ------------------------------------------------------------------------------------------------ running expressions

def namespace(library: str) -> dict[str, Any]:
    """The namespace of expressions: the public modules under JAX's usual abbreviations."""
    root = importlib.import_module(library)
    modules = {"jnp": "numpy", "lax": "lax", "nn": "nn", "random": "random", "jsp": "scipy", "linalg": "numpy.linalg"}
    names = {short: importlib.import_module(f"{library}.{long}") for short, long in modules.items()}
    for part in SUBMODULES:
        importlib.import_module(f"{library}.{part}")
    found = {name: getattr(root, name) for name in ("grad", "jit", "vmap", "jvp", "vjp", "jacfwd", "jacrev", "hessian")}
    return {**names, **found, "total": partial(total, names["jnp"], root.tree_util), "np": np, "nan": np.nan, "inf": np.inf,
            "J": root}


def total(jnp: Any, tree_util: Any, result: Any) -> Any:
    """The sum of a result's elements, each with a weight of its own: a number to differentiate."""
    leaves = [jnp.ravel(jnp.real(x)) for x in tree_util.tree_leaves(result)]
    return sum(jnp.sum(x * (1 + jnp.cos(jnp.arange(1.0, x.size + 1))).astype(x.dtype)) for x in leaves)


def operands(names: dict[str, Any], table: dict[str, tuple[str, Any]], x64: bool) -> dict[str, Any]:
    """The arrays that expressions name, in the available dtypes."""
    made = {}
    for name, (dtype, values) in table.items():
        if x64 or dtype not in ("int64", "uint64", "float64", "complex128"):
            kind = np.bool_ if dtype == "bool" else getattr(names["jnp"], dtype)
            made[name] = names["jnp"].asarray(np.array(values).astype(np.dtype(kind)))
    return made


def evaluate(library: str, cases: list[Case], table: dict[str, tuple[str, Any]]) -> list[list[Outcome]]:
    """The outcomes of all cases: of eager evaluation, and of jit for numjet (compiling is what takes JAX's time)."""
    names, out = namespace(library), []
    arrays: dict[bool, dict[str, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, text, x64 in cases:
            names["J"].config.update("jax_enable_x64", x64)
            if x64 not in arrays:
                arrays[x64] = operands(names, table, x64)
            out.append([outcome(names, arrays[x64], text, mode) for mode in MODES if mode == "eager" or library == "numjet"])
    names["J"].config.update("jax_enable_x64", False)
    return out


def outcome(names: dict[str, Any], arrays: dict[str, Any], text: str, mode: str) -> Outcome:
    """The outcome of one expression: leaves, or the name of an error's class with its bases."""
    try:
        code = compile(text, "<case>", "eval")
        used = [name for name in arrays if name in names_in(code)]
        function = eval(f"lambda {', '.join(used)}: {text}", names)
        function = names["jit"](function) if mode == "jit" else function
        result = function(*[arrays[name] for name in used])
        return [leaf(x) for x in names["J"].tree_util.tree_leaves(result)]
    except Exception as error:
        return tuple(kind.__name__ for kind in type(error).__mro__ if kind not in (Exception, BaseException, object))


def names_in(code: Any) -> set[str]:
    """All names of a piece of code, of its lambdas too."""
    inner = (names_in(c) for c in code.co_consts if hasattr(c, "co_names"))
    return set(code.co_names).union(*inner)


def leaf(x: Any) -> tuple[str, bool, tuple[int, ...], Any]:
    data = np.asarray(x)
    wide = data if data.dtype.kind in "biuc" and data.dtype.names is None else data.astype(np.float64)
    return data.dtype.name, bool(getattr(x, "weak_type", False)), data.shape, wide.tolist()


# ------------------------------------------------------------------------------------------------ comparing outcomes

def needs_values(found: Outcome) -> bool:
    """Whether a program was refused because it depends on values, so that the eager outcome does not apply to it."""
    return isinstance(found, tuple) and bool({"ConcretizationTypeError", "NonConcreteBooleanIndexError"} & set(found))


def difference(want: Outcome, got: Outcome) -> str | None:
    """The kind of the difference between JAX's outcome and numjet's, or None."""
    if isinstance(want, tuple) or isinstance(got, tuple):
        if isinstance(want, tuple) and isinstance(got, tuple):
            return None if want[0] in got or got[0] in want else "error's class"
        return "should raise" if isinstance(want, tuple) else "should not raise"
    if len(want) != len(got) or any(w[::2] != g[::2] for w, g in zip(want, got, strict=True)):
        return "dtype or shape"
    for w, g in zip(want, got, strict=True):
        found = values_differ(w[0], np.array(w[3]), np.array(g[3]))
        if found:
            return found
    return "weak type" if any(w[1] != g[1] and w[0] != "bool" for w, g in zip(want, got, strict=True)) else None


def values_differ(dtype: str, want: np.ndarray, got: np.ndarray) -> str | None:
    """Compares values of one dtype, complex ones by parts: NaN with NaN, infinities and zeros with their signs."""
    if dtype not in TOLERANCE:
        return None if np.array_equal(want, got) else "value"
    if dtype.startswith("complex"):
        parts = [(want.real, got.real), (want.imag, got.imag)]
    else:
        parts = [(want, got)]
    scale = np.abs(want)
    with np.errstate(all="ignore"):
        for w, g in parts:
            if not np.array_equal(np.isnan(w), np.isnan(g)):
                return "NaN"
            rough = ~(np.abs(w - g) <= TOLERANCE[dtype] * scale + 1e-37) & (w != g) & ~np.isnan(w)
            if np.any(rough):
                return "infinity" if np.any(np.isinf(w) != np.isinf(g)) else "value"
        zeros = [np.signbit(w) != np.signbit(g) for w, g in parts if w.size]
    return "sign of zero" if any(np.any(z & (w == 0)) for z, (w, _) in zip(zeros, parts, strict=False)) else None


# ------------------------------------------------------------------------------------------------ the command

def run(python: str, cases: list[Case], table: dict[str, Any]) -> list[list[Outcome]]:
    """JAX's outcomes of cases, computed by another process."""
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "cases", Path(folder) / "outcomes"
        path.write_bytes(pickle.dumps((cases, table)))
        subprocess.run([python, __file__, "--evaluate", str(path), "--out", str(target)], check=True)
        return pickle.loads(target.read_bytes())


def jax_outcomes(python: str, cases: list[Case], table: dict[str, Any], cache: Path | None) -> list[list[Outcome]]:
    """JAX's outcomes; the file `cache` keeps those of earlier runs."""
    known = pickle.loads(cache.read_bytes()) if cache and cache.exists() else {}
    new = [case for case in cases if case[1:] not in known]
    known |= {case[1:]: found for case, found in zip(new, run(python, new, table), strict=True)} if new else {}
    if cache and new:
        cache.write_bytes(pickle.dumps(known))
    return [known[case[1:]] for case in cases]


def report(cases: list[Case], want: list[list[Outcome]], got: list[list[Outcome]], known: dict[str, str]) -> int:
    """Prints differences, and their numbers by table; returns the number of unknown ones."""
    counts: dict[str, Counter[str]] = {}
    for (table, text, x64), w, g in zip(cases, want, got, strict=True):
        count = counts.setdefault(table, Counter())
        for mode, found in zip(MODES, g, strict=True):
            kind = None if mode == "jit" and needs_values(found) else difference(w[0], found)
            why = kind and next((why for part, why in known.items() if re.search(part, f"{table} {kind}: {text}")), None)
            count["agree" if kind is None else f"on purpose: {why}" if why else kind] += 1
            if kind and not why:
                print(f"{table} [{mode}{' x64' if x64 else ''}] {kind}: {text}\n    JAX    {w[0]}\n    numjet {found}"[:900])
    for table, count in counts.items():
        print(table, dict(count))
    return sum(n for count in counts.values() for kind, n in count.items() if not kind.startswith(("agree", "on purpose")))


def main() -> int:
    """Returns 1 when there are differences that are not known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax-python", default=sys.executable, help="a Python with JAX")
    parser.add_argument("--table", action="append", help="only these tables")
    parser.add_argument("--cache", type=Path, help="a file that keeps JAX's outcomes; delete it when operands change")
    parser.add_argument("--write", type=Path, help="keep JAX's outcomes in this folder")
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.evaluate:
        cases, table = pickle.loads(args.evaluate.read_bytes())
        args.out.write_bytes(pickle.dumps(evaluate("jax", cases, table)))
        return 0
    source = importlib.import_module("numjet.tools.jax_diff_cases")
    cases = sorted((c for c in source.all_cases() if not args.table or c[0] in args.table), key=lambda case: case[2])
    want, got = jax_outcomes(args.jax_python, cases, source.OPERANDS, args.cache), evaluate("numjet", cases, source.OPERANDS)
    if args.write:
        write(args.write, cases, want, got)
    return min(1, report(cases, want, got, source.KNOWN))


def write(folder: Path, cases: list[Case], want: list[list[Outcome]], got: list[list[Outcome]]) -> None:
    """One text file for each table: a line for each case in which both agree, with JAX's outcome as Python literals.

    About KEPT cases of a table; those of functions are kept all, compressed, with as many digits as are compared.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    for (table, text, x64), (w,), found in zip(cases, want, got, strict=True):
        if all(mode == "jit" and needs_values(f) or difference(w, f) is None for mode, f in zip(MODES, found, strict=True)):
            kept = short(w) if table in FUNCTION_TABLES else w
            lines.setdefault(table, []).append(repr((text, x64, kept)))
    for table, texts in lines.items():
        if table in FUNCTION_TABLES:
            (folder / f"{table}.txt.xz").write_bytes(lzma.compress("\n".join(texts).encode()))
        else:
            (folder / f"{table}.txt").write_text("\n".join(texts[::max(1, len(texts) // KEPT)]) + "\n")


def short(found: Outcome) -> Outcome:
    """An outcome with values rounded to the digits that are compared."""
    if isinstance(found, tuple):
        return found
    return [(dtype, weak, shape, rounded(values, 14 if dtype in ("float64", "complex128") else 8))
            for dtype, weak, shape, values in found]


def rounded(values: Any, digits: int) -> Any:
    """Nested lists of numbers, rounded to significant digits.

    >>> rounded([[1.23456, -0.0], [True, complex(0.1, 2 / 3)]], 3)
    [[1.23, -0.0], [True, (0.1+0.667j)]]
    """
    if isinstance(values, list):
        return [rounded(value, digits) for value in values]
    if isinstance(values, complex):
        return complex(rounded(values.real, digits), rounded(values.imag, digits))
    return float(f"{values:.{digits}g}") if isinstance(values, float) else values


def kept_cases(path: Path) -> list[tuple[str, bool, Outcome]]:
    """The cases of a file that `write` made, and JAX's outcomes."""
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    names = {"nan": np.nan, "inf": np.inf, "nanj": complex(0, np.nan), "infj": complex(0, np.inf)}
    return [eval(line, names) for line in text.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
