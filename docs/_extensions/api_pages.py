"""Reference pages: one for each public module, and one for each family of functions of a large module.

A family is the subpackage or file that defines the functions; its docstring's first sentence is the heading. So the reference
has the order of the code, and a new function appears without being listed anywhere.
"""
from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path
from types import ModuleType

from docstrings import prose
from sphinx.application import Sphinx

from numjet.core.op import Op

# Public modules, in reading order.
MODULES = (
    "numjet", "numjet.numpy", "numjet.numpy.linalg", "numjet.numpy.fft", "numjet.lax", "numjet.lax.linalg", "numjet.random",
    "numjet.nn", "numjet.nn.initializers", "numjet.tree", "numjet.tree_util", "numjet.flatten_util", "numjet.scipy.cluster.vq",
    "numjet.scipy.fft", "numjet.scipy.integrate", "numjet.scipy.interpolate", "numjet.scipy.linalg", "numjet.scipy.ndimage",
    "numjet.scipy.optimize", "numjet.scipy.signal", "numjet.scipy.sparse.linalg", "numjet.scipy.spatial.transform",
    "numjet.scipy.special", "numjet.scipy.stats", "numjet.image", "numjet.ops", "numjet.debug", "numjet.errors",
    "numjet.profiler", "numjet.testing", "numjet.test_util", "numjet.export", "numjet.stages", "numjet.ffi", "numjet.sharding",
    "numjet.distributed", "numjet.custom_derivatives", "numjet.custom_batching", "numjet.ad_checkpoint",
    "numjet.checkpoint_policies", "numjet.ref", "numjet.dlpack", "numjet.dtypes", "numjet.typing", "numjet.experimental",
    "numjet.experimental.checkify", "numjet.experimental.jet", "numjet.experimental.ode", "numjet.experimental.sparse",
    "numjet.example_libraries.stax", "numjet.example_libraries.optimizers")
LARGE = 90   # a page with more names is divided by families


def public_names(module: ModuleType) -> list[str]:
    """Functions and classes that a module shows. Operations have a page of their own (ops.md)."""
    shown = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    values = {n: getattr(module, n) for n in sorted(shown)}
    return [n for n, x in values.items() if documented(x)]


def documented(value: object) -> bool:
    foreign = str(getattr(value, "__module__", "")).split(".")[0] != "numjet"
    skipped = isinstance(value, (ModuleType, Op)) or foreign or not callable(value)
    return not skipped and bool(inspect.getdoc(value))


def home(value: object, module: str) -> str:
    """The module that defines a value; the public one where that cannot be told."""
    defined = str(getattr(value, "__module__", None) or module)
    return defined if defined.startswith("numjet") else module


def heading(module: str, otherwise: str) -> str:
    """A module's docstring up to its first stop."""
    text = (inspect.getdoc(importlib.import_module(module)) or otherwise).split("\n\n")[0]
    return first_clause(text)


def first_clause(text: str) -> str:
    """A text up to the first mark that ends a clause."""
    clause = re.split(r"[.:;,] | \(|\.$", " ".join(text.split()))[0]
    return clause.replace("`", "").replace("*", r"\*")


def families(module: ModuleType) -> dict[str, list[str]]:
    """The names of a module by the file that defines them, the largest families first."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in public_names(module):
        found[home(getattr(module, name), module.__name__)].append(name)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


class Entries:
    """Directives for names. A class that several modules show is indexed at the first of them."""

    def __init__(self) -> None:
        self.indexed: set[type] = set()

    def __call__(self, module: ModuleType, name: str) -> str:
        value = getattr(module, name)
        function = inspect.isroutine(value) or hasattr(value, "__wrapped__")
        kind = "autoclass" if inspect.isclass(value) else "autofunction" if function else "autodata"
        options = self.of_class(value) if inspect.isclass(value) else [":no-value:"] if kind == "autodata" else []
        return "\n".join((f".. {kind}:: {module.__name__}.{name}", *("   " + option for option in options), ""))

    def of_class(self, cls: type) -> list[str]:
        options = [] if issubclass(cls, tuple) else [":members:"]   # fields of a named tuple stand in its docstring
        if cls in self.indexed:
            options.append(":no-index:")
        self.indexed.add(cls)
        return options


entry = Entries()


def underlined(title: str, mark: str) -> str:
    return f"{title}\n{mark * len(title)}\n"


def table(module: ModuleType, names: list[str]) -> str:
    rows = "\n".join(f"   {n}" for n in names)
    return f".. autosummary::\n   :nosignatures:\n\n{rows}\n"


def section(module: ModuleType, family: str, names: list[str], mark: str) -> str:
    return "\n".join((underlined(heading(family, family), mark), *(entry(module, n) for n in names)))


def group_of(family: str, module: str) -> str:
    """The package below a large module that a file belongs to, such as numjet.numpy.ufuncs; the module for all other files."""
    parts, own = family.split("."), module.split(".")
    inside = module == "numjet" or parts[:len(own)] == own
    return ".".join(parts[:len(own) + 1]) if inside else module


def pages_of(module: ModuleType) -> dict[str, str]:
    """File names and texts of a module's pages."""
    name, parts = module.__name__, families(module)
    title = underlined(name, "=") + f"\n.. currentmodule:: {name}\n\n" + about(module)
    if sum(map(len, parts.values())) <= LARGE:
        everything = [n for names in parts.values() for n in names]
        body = [table(module, sorted(everything)), *(section(module, f, n, "-") for f, n in parts.items())]
        return {name: "\n".join((title, *body))}
    groups: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for family, names in parts.items():
        groups[group_of(family, name)][family] = names
    files = {f"{name}-{group.rpartition('.')[2]}": group_page(module, group, inside) for group, inside in groups.items()}
    tree = "\n".join(f"   {file}" for file in files)
    summary = "\n".join(underlined(title_of(module, g), "-") + "\n" + table(module, sorted(chain(*inside.values())))
                        for g, inside in groups.items())
    return {name: f"{title}\n.. toctree::\n   :hidden:\n\n{tree}\n\n{summary}", **files}


def group_page(module: ModuleType, group: str, inside: dict[str, list[str]]) -> str:
    return "\n".join((underlined(title_of(module, group), "="), f".. currentmodule:: {module.__name__}\n",
                      *(section(module, f, n, "-") for f, n in inside.items())))


def title_of(module: ModuleType, group: str) -> str:
    return "Types and others" if group == module.__name__ else heading(group, group)


def about(module: ModuleType) -> str:
    """The first sentence of a module's docstring."""
    text = " ".join((inspect.getdoc(module) or module.__name__).split("\n\n")[0].split())
    return prose(re.split(r"(?<=\.) ", text)[0]) + "\n\n"


def write(app: Sphinx) -> None:
    """Writes pages that changed; the others keep their times, so that Sphinx reads only what is new."""
    folder = Path(app.confdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {file: text for name in MODULES for file, text in pages_of(importlib.import_module(name)).items()}
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for file, text in pages.items():
        path = folder / f"{file}.rst"
        if not path.exists() or path.read_text(encoding="utf8") != text:
            path.write_text(text, encoding="utf8")
    listing = "\n".join(f"   generated/{name}" for name in MODULES)
    index = Path(app.confdir) / "api" / "index.rst"
    text = underlined("Reference", "=") + f"\nAll public modules.\n\n.. toctree::\n   :maxdepth: 1\n\n{listing}\n"
    if not index.exists() or index.read_text(encoding="utf8") != text:
        index.write_text(text, encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
