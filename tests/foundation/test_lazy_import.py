"""foundation.lazy_import."""
from __future__ import annotations

import copy
import pickle

import pytest

import numjet as nj


@pytest.mark.parametrize("module", [nj, nj.numpy, nj.lax], ids=lambda module: module.__name__)
def test_modules_are_pickled_by_name(module):
    """Libraries that pickle functions by value pickle the modules among their globals."""
    assert pickle.loads(pickle.dumps(module)) is module
    assert copy.deepcopy({"module": module})["module"] is module
