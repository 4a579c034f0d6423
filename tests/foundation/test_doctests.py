import doctest
import importlib

import pytest

MODULES = (
    "config dtypes dtypes.promotion dtypes.table errors events flags monitoring pretty source tree tree.keys tree.partial "
    "tree.prefix tree.register types util"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"numjet.foundation.{name}")
    options = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.testmod(module, optionflags=options).failed == 0
