"""Examples in docstrings of the libraries and tools print what they say."""
import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import numjet as nj

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
PACKAGES = ("numpy", "scipy", "random", "nn", "image", "experimental", "example_libraries", "api",
            "tools", "testing", "ops", "flatten_util", "dlpack", "core.trace", "foundation.dtypes")
STRICT = ("scipy", "nn", "image", "experimental", "ops")


def modules(package):
    found = importlib.import_module(f"numjet.{package}")
    below = pkgutil.walk_packages(getattr(found, "__path__", ()), f"{found.__name__}.")
    return [found, *(importlib.import_module(info.name) for info in below)]


def examples(module):
    """The docstrings with examples of what a module defines, by name: also of functions that decorators or factories made."""
    own = {name: x for name, x in vars(module).items() if getattr(x, "__module__", None) == module.__name__}
    own |= {f"{name}.{k}": x for name, cls in own.items() if inspect.isclass(cls) for k, x in vars(cls).items()
            if not _is_lent(x, module)}
    return {name: x.__doc__ for name, x in {"": module, **own}.items() if ">>>" in (getattr(x, "__doc__", None) or "")}


def _is_lent(x, module):
    """Whether another module wrote it: the methods of arrays are functions of numjet.numpy."""
    writer = x.fget if isinstance(x, property) else x
    return getattr(writer, "__module__", module.__name__) != module.__name__


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_in_docstrings(package):
    """Those of libraries under strict promotion: what their code combines has equal dtypes and ranks, whatever users allow."""
    report = []
    promotion = ("strict", "raise") if package in STRICT else ("standard", "allow")
    with nj.numpy_dtype_promotion(promotion[0]), nj.numpy_rank_promotion(promotion[1]):
        for module in modules(package):
            for name, text in examples(module).items():
                test = doctest.DocTestParser().get_doctest(text, dict(vars(module)), f"{module.__name__}.{name}", None, None)
                doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)


LIBRARIES = ("numpy numpy.linalg numpy.fft scipy.special scipy.stats scipy.linalg scipy.fft scipy.integrate scipy.interpolate "
             "scipy.ndimage scipy.optimize scipy.signal scipy.sparse.linalg scipy.spatial.transform scipy.cluster.vq random nn "
             "nn.initializers image ops dlpack experimental.sparse experimental.sparse.linalg experimental.jet "
             "experimental.ode experimental.rnn experimental.sparse_derivatives").split()
_EXPORT = re.compile(r"\b(\w+) as (\w+)\b")


def public_names(library):
    """The functions and classes that a library defines or exports, by name; those of the modules of distributions, too."""
    module = importlib.import_module(f"numjet.{library}")
    facades = [module] + ([importlib.import_module("numjet.numpy.lazy_exports")] if library == "numpy" else [])
    exported = {name for facade in facades for own, name in _EXPORT.findall(inspect.getsource(facade))
                if own == name or hasattr(module, "__path__")}
    found = {f"{library}.{name}": x for name, x in ((n, getattr(module, n)) for n in dir(module) if n[0] != "_")
             if name in exported or getattr(x, "__module__", None) == module.__name__}
    for name in [n for n, x in found.items() if library == "scipy.stats" and inspect.ismodule(x)]:
        part = found.pop(name)
        found |= {f"{name}.{k}": x for k, x in vars(part).items() if k[0] != "_"
                  and getattr(x, "__module__", None) == part.__name__}
    return {name: x for name, x in found.items() if callable(x) and not _is_foreign(x)}


def _is_foreign(x):
    """Whether another package documents it: NumPy's abstract dtypes, finfo of ml_dtypes."""
    return (getattr(x, "__module__", None) or "numjet").partition(".")[0] != "numjet"


def test_every_public_name_has_an_example_that_runs():
    run = {text for package in PACKAGES for module in modules(package) for text in examples(module).values()}
    found = {name: x for library in LIBRARIES for name, x in public_names(library).items()}
    lacking = sorted(name for name, x in found.items() if x.__doc__ not in run)
    assert len(found) > 1100
    assert not lacking, "\n".join(lacking)
