"""The programs in examples/: they run, their page names them all, and both backends agree."""
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet import tree_util

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(p.stem for p in FOLDER.glob("[!_]*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(f"examples_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_both_backends_agree(name):
    want = load(name).run()
    device = nj.devices("xla_cpu")[0]
    with nj.default_device(device):
        got = load(name).run()
    for key, value in want.items():
        for w, g in zip(tree_util.tree_leaves(value), tree_util.tree_leaves(got[key]), strict=True):
            assert g.device == device and w.device.platform == "cpu", key
            assert g.dtype == w.dtype and g.weak_type == w.weak_type, key
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=2e-3, atol=2e-4, err_msg=key)


def test_the_page_names_them():
    page = (FOLDER / "README.md").read_text(encoding="utf8")
    assert sorted(re.findall(r"^\| `(\w+)\.py`", page, re.MULTILINE)) == NAMES
