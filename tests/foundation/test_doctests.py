import doctest
import importlib

import pytest

MODULES = (
    "config dtype_table dtypes errors events flags pretty promotion source tree tree_keys tree_partial tree_prefix "
    "tree_register types util"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"numjet.foundation.{name}")
    options = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.testmod(module, optionflags=options).failed == 0
