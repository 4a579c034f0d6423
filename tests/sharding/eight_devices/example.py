"""The example: a transformer trained over several meshes gives the losses of one device; and the page's snippets run."""
import doctest
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet.sharding import Mesh

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("sharded_transformer", ROOT / "examples" / "sharded_transformer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def alone(example):
    return example.train()


@pytest.mark.parametrize(("data", "model"), [(4, 1), (1, 4), (2, 2)])
def test_meshes_give_the_losses_of_one_device(example, alone, data, model):
    mesh = Mesh(np.array(nj.devices())[:data * model].reshape(data, model), ("data", "model"))
    losses, p = example.train(mesh)
    assert model == 1 or p["up"].sharding.spec == nj.P(None, "model")
    assert len(p["up"].devices()) == data * model
    np.testing.assert_allclose(losses, alone[0], rtol=1e-5, atol=1e-6)
    for name, x in p.items():
        np.testing.assert_allclose(x, alone[1][name], rtol=1e-3, atol=1e-5)


def test_the_snippets_of_the_page_run():
    text = (ROOT / "docs" / "sharding.md").read_text(encoding="utf8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        test = doctest.DocTestParser().get_doctest(block, {}, "sharding.md", None, 0)
        test.globs = names
        report = []
        assert doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False).failed == 0, \
            "".join(report)
