"""The example: a transformer trained over several meshes gives the losses of one device; and the page's snippets run."""
import doctest
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet.foundation.config import mesh_in_use
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
    return example.results()


@pytest.mark.parametrize(("data", "model"), [(8, 1), (1, 4), (2, 2)])
def test_meshes_give_the_losses_and_gradients_of_one_device(example, alone, data, model):
    mesh = Mesh(np.array(nj.devices())[:data * model].reshape(data, model), ("data", "model"))
    losses, parameters = example.differences(example.results(mesh), alone)
    assert losses < 1e-5 and parameters < 1e-4, (losses, parameters)


def test_parameters_stay_divided(example):
    mesh = Mesh(np.array(nj.devices())[:4].reshape(2, 2), ("data", "model"))
    p = {name: nj.device_put(x, nj.NamedSharding(mesh, example.SPECS[name]))
         for name, x in example.init(nj.random.key(0)).items()}
    p, *_ = example.step(p, nj.device_put(next(example.batches()), nj.NamedSharding(mesh, nj.P("data"))))
    assert p["up"].sharding.spec == nj.P(None, "model") and len(p["up"].devices()) == 4


def test_the_snippets_of_the_page_run():
    text = (ROOT / "docs" / "sharding.md").read_text(encoding="utf8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        test = doctest.DocTestParser().get_doctest(block, {}, "sharding.md", None, 0)
        test.globs = names
        report = []
        assert doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False).failed == 0, \
            "".join(report)
    mesh_in_use.clear_local()   # the page sets one for the rest of its program
