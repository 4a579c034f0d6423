"""Examples in docstrings of the libraries and tools print what they say."""
import doctest
import importlib
import inspect
import pkgutil

import pytest

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
PACKAGES = ("numpy", "scipy", "random", "nn", "image", "experimental", "example_libraries", "api",
            "tools", "testing", "ops", "flatten_util")


def modules(package):
    found = importlib.import_module(f"numjet.{package}")
    below = pkgutil.walk_packages(getattr(found, "__path__", ()), f"{found.__name__}.")
    return [found, *(importlib.import_module(info.name) for info in below)]


def examples(module):
    """The docstrings with examples of what a module defines, by name: also of functions that decorators or factories made."""
    own = {name: x for name, x in vars(module).items() if getattr(x, "__module__", None) == module.__name__}
    own |= {f"{name}.{k}": x for name, cls in own.items() if inspect.isclass(cls) for k, x in vars(cls).items()}
    return {name: x.__doc__ for name, x in {"": module, **own}.items() if ">>>" in (getattr(x, "__doc__", None) or "")}


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_in_docstrings(package):
    report = []
    for module in modules(package):
        for name, text in examples(module).items():
            test = doctest.DocTestParser().get_doctest(text, dict(vars(module)), f"{module.__name__}.{name}", None, None)
            doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)
